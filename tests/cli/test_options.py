"""No option is ever ignored: every verb with every option in every kind of world either changes
what reaches the job behind the verb, or is refused in one sentence.

The jobs are replaced by recorders, so that nothing is computed; what counts is what would have been.
"""

import dataclasses
import functools
import importlib
import json
import pkgutil
import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer.main
from cli.conftest import Vpw, without_stages
from toy_program import RIGHT

import visualpatchworld
from visualpatchworld import cli
from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.files import make_folder
from visualpatchworld.scene.calibrate import Audit
from visualpatchworld.trace.episode import Episode, collect
from visualpatchworld.trace.file import write_traces
from visualpatchworld.world.world import World

PENDULUM = "Pendulum-v1"
PROGRAM = ["--program", "model.py"]
VLM = ["--model", "m", "--replay", "tape.jsonl"]
TO_GOAL = ["--task", "goal", "--goal", "angle=0"]

# For every verb: worlds and ways to call it, to which each of its options is added in turn.
CALLS: dict[str, dict[str, list[str]]] = {
    "acquire": {
        "domain": ["slider", *PROGRAM, "--sketch", "push+drag", "--out", "new.py"],
        "domain, traces": ["slider", *PROGRAM, "--sketch", "push+drag", "--out", "new.py", "--traces", "toy.h5"],
    },
    "analyse": {
        "domain": ["rollout", "slider", *PROGRAM],
        "domain, all programs": ["rollout", "slider"],
        "domain, audit": ["audit", "slider"],
    },
    "audit": {
        "domain": ["slider"],
        "domain, frames": ["slider", "--frames", "frames.npz"],
        "domain, overlay": ["slider", "--overlay", "pictures"],
    },
    "baseline": {
        "domain": ["worldcoder", "slider", "--model", "m", "--endpoint", "http://127.0.0.1:9/v1"],
        "domain, replay": ["worldcoder", "slider", "--model", "m", "--replay", "tape.jsonl"],
        "domain, traces": ["worldcoder", "slider", "--model", "m", "--replay", "tape.jsonl", "--traces", "toy.h5"],
    },
    "bench": {
        "domain": ["smoke", "--domain", "slider"],
        "domain, baselines": ["baselines", "--domain", "slider"],
        "domain, a model": ["baselines", "--domain", "slider", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m"],
        "domain, dask": ["smoke", "--domain", "slider", "--dask", "tcp://127.0.0.1:9"],
    },
    "collect": {"domain": ["slider", "--episodes", "2", "--out", "new.h5"]},
    "domains": {"domain": []},
    "edit": {
        "domain": ["model.py", "DRAG=0.5", "--out", "new.py"],
        "domain, sandbox": ["model.py", "DRAG=0.5", "--out", "new.py", "--sandbox"],
    },
    "exhibit": {"domain": ["rollout", "slider", *PROGRAM], "domain, audit": ["audit", "slider"]},
    "export": {
        "domain": ["toy.h5", "--domain", "slider", "--view", "oracle", "--out", "new.jsonl"],
        "domain, vlm": ["toy.h5", "--domain", "slider", "--view", "vlm", "--out", "new.jsonl", *VLM],
        "domain, vlm asked": [
            *["toy.h5", "--domain", "slider", "--view", "vlm", "--out", "new.jsonl"],
            *["--model", "m", "--endpoint", "http://127.0.0.1:9/v1"],
        ],
    },
    "figure": {"domain": ["success"]},
    "induce": {
        "domain": ["slider"],
        "domain, traces": ["slider", "--traces", "toy.h5"],
        "domain, sketch": ["slider", "--sketch", "push+drag"],
        "environment": [PENDULUM],
        "log": ["log.csv"],
        "log, arrays": ["log.npz"],
    },
    "live": {
        "domain": ["model.py", "--world", "slider"],
        "environment": ["model.py", "--world", PENDULUM],
        "log": ["model.py", "--traces", "log.csv"],
        "log, arrays": ["model.py", "--traces", "log.npz"],
    },
    "look": {"domain": ["slider"], "environment": [PENDULUM], "log": ["log.csv"], "log, arrays": ["log.npz"]},
    "plan": {
        "domain": ["slider", *PROGRAM],
        "domain, sandbox": ["slider", *PROGRAM, "--sandbox"],
        "domain, goal": ["slider", *PROGRAM, "--goal", "goal.json"],
        "domain, simulator": ["slider", "--score", "simulator"],
        "domain, reward": ["slider", *PROGRAM, "--task", "reward"],
        "environment": [PENDULUM, *PROGRAM],
        "environment, sandbox": [PENDULUM, *PROGRAM, "--sandbox"],
        "environment, goal": [PENDULUM, *PROGRAM, *TO_GOAL],
        "log": ["log.csv", *PROGRAM],
    },
    "probe": {"domain": ["slider"]},
    "record": {
        "domain": ["model.py", "--world", "slider", "--rerun", "new.rrd"],
        "environment": ["model.py", "--world", PENDULUM, "--rerun", "new.rrd"],
        "environment, film": ["model.py", "--world", PENDULUM, "--film", "new.mp4"],
        "log": ["model.py", "--traces", "log.csv", "--rerun", "new.rrd"],
    },
    "report": {"domain": ["run"], "nothing": [], "domain, paper": ["--paper"], "domain, worlds": ["--worlds"]},
    "rollout": {
        "domain": ["model.py", "--domain", "slider", "--traces", "toy.h5", "--horizon", "2"],
        "domain, sandbox": ["model.py", "--domain", "slider", "--traces", "toy.h5", "--horizon", "2", "--sandbox"],
        "log": ["model.py", "--traces", "log.csv"],
        "log, arrays": ["model.py", "--traces", "log.npz"],
        "log, sandbox": ["model.py", "--traces", "log.csv", "--sandbox"],
    },
    "run": {
        "domain": ["slider", "--tasks", "2"],
        "domain, traces": ["slider", "--tasks", "2", "--traces", "toy.h5"],
        "domain, sketch": ["slider", "--tasks", "2", "--sketch", "push+drag"],
        "environment": [PENDULUM],
        "log": ["log.csv"],
        "log, arrays": ["log.npz"],
    },
    "scene": {
        "domain": ["slider", "toy.h5:1", "--via", "oracle"],
        "domain, tool": ["slider", "toy.h5:1", "--via", "tool"],
        "domain, vlm": ["slider", "toy.h5:1", "--via", "vlm", *VLM],
        "domain, vlm asked": [
            *["slider", "toy.h5:1", "--via", "vlm", "--model", "m", "--endpoint", "http://127.0.0.1:9/v1"]
        ],
    },
    "table": {"domain": ["main"]},
}
# What an option is given; others get a number beside their default, or a name.
VALUES = {
    "--action": "u",
    "--budget": "9",
    "--calibration": "calibration.json",
    "--dask": "tcp://127.0.0.1:10",
    "--domain": "tworoom",
    "--dt": "0.5",
    "--endpoint": "http://127.0.0.1:10/v1",
    "--episode": "lap",
    "--episodes": "4",
    "--fields": "x=coordinate",
    "--film": "other.mp4",
    "--frames": "frames.npz",
    "--goal": "angle=1",
    "--goal-fields": "puck",
    "--goals": "other-episode",
    "--horizon": "9",
    "--last": "2",
    "--metric": "no such metric",
    "--observe": "tool",
    "--on-true-world": "3",
    "--out": "other",
    "--planner": "cem",
    "--program": "other.py",
    "--replay": "other.jsonl",
    "--score": "hybrid",
    "--sketch": "push+free",
    "--state": "x",
    "--task": "goal",
    "--tasks": "3",
    "--tokens": "99",
    "--traces": "other.h5",
    "--vary": "drag=1.4",
    "--via": "tool",
    "--view": "tool",
    "--world": PENDULUM,
}
OWN_VALUES = {
    ("analyse", "--frames"): "7",
    ("exhibit", "--frames"): "7",
    ("bench", "--method"): "worldcoder",
    ("bench", "--model"): "other",
    ("bench", "--traces"): "slider=other.h5",
    ("figure", "--format"): "svg",
    ("figure", "--out"): "other.svg",
    ("live", "--traces"): "other.npz",
    ("plan", "--traces"): "other.h5",
    ("record", "--traces"): "other.npz",
    ("rollout", "--traces"): "other.h5",
    ("table", "--format"): "latex",
}
VALUES_IN = {
    ("domain", "--goal"): "other_goal.json",
    ("domain", "--planner"): "paper",
    ("domain", "--task"): "reward",
}
# Options that are there to be refused, each with a sentence that says why.
NEVER = {("acquire", "--sandbox"), ("live", "--sandbox"), ("record", "--sandbox"), ("run", "--sandbox")}
# A promise that this verb keeps without being asked: it never runs a program anywhere else.
KEPT_ANYWAY = {("report", "--sandbox")}
# The program is checked although the simulator alone predicts: scripts name it for every way to score.
ONLY_CHECKED = {("plan", "--program", "domain, simulator")}


@functools.cache
def load_everything() -> None:
    """Import all modules: one that is first imported among stubs would keep them for the tests that follow."""
    for module in pkgutil.walk_packages(visualpatchworld.__path__, "visualpatchworld."):
        if not module.name.endswith(("__main__", "sandbox_child")):
            importlib.import_module(module.name)


@functools.cache
def app() -> typer.Typer:
    return cli.build_app()


def commands() -> Mapping[str, Any]:
    return typer.main.get_command(app()).commands  # pyright: ignore[reportAttributeAccessIssue]


def options(verb: str) -> list[Any]:
    return [param for param in commands()[verb].params if param.opts[0].startswith("--") and param.name != "help"]


def value_of(verb: str, kind: str, option: Any) -> list[str]:
    """What to type for an option, so that it is not what it is anyway."""
    flag = option.opts[0]
    if option.is_flag:
        return [flag]
    given = OWN_VALUES.get((verb, flag)) or VALUES_IN.get((kind, flag)) or VALUES.get(flag)
    if given is None and option.nargs == 2:
        return [flag, "1", "2"]
    if given is None and isinstance(option.default, int | float):
        given = str(option.default + 1)
    return [flag, given or "other"]


def told(value: Any, depth: int = 0) -> Any:
    """What a value is, as far as options can change it, in a form that can be compared."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, np.random.Generator):
        return str(value.bit_generator.state)
    if isinstance(value, Domain):
        return value.name
    if depth > 8 or callable(value):
        return type(value).__name__
    if isinstance(value, World):
        constants = getattr(getattr(value, "simulator", None), "constants", None)
        return value.name, value.field_names, told(value.action_space, depth + 1), value.dt, told(constants)
    if isinstance(value, Mapping):
        return {str(key): told(one, depth + 1) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [told(one, depth + 1) for one in value]
    if dataclasses.is_dataclass(value) or type(value).__module__.startswith("visualpatchworld"):
        return type(value).__name__, told(vars(value) if hasattr(value, "__dict__") else repr(value), depth + 1)
    return type(value).__name__


CELL = {
    **dict.fromkeys(("success", "floor_zero", "floor_random", "success_unsolved", "engine_rollouts_per_plan"), 0.0),
    **dict.fromkeys(("n", "n_unsolved", "budget", "seed", "offset"), 1),
    **dict.fromkeys(("metric", "observe", "score", "planner", "source", "domain"), "x"),
    **{"ci95": (0.0, 1.0), "seconds_per_plan_median": 0.0, "goals": "same-episode", "tolerance": 1.0},
    **{"goal_fields": [], "program": None},
}
FOUND = {
    **dict.fromkeys(("why", "form", "world", "program", "sketch"), "x"),
    **{name: {} for name in ("constants", "normalised_error", "rollout_error", "probe_tolerances")},
    **{name: [] for name in ("fields", "candidates", "unexplained_probes", "undetermined")},
    **{"verdict": "explained", "env_steps": 1, "seconds": 1.0, "program_hash": "", "domain": "slider"},
    **{"reward": {"why": "x", "paid": True}, "terminated": {"why": "x"}},
}
EARNED = {"return_mean": 0.0, "return_std": 0.0, "random_return": 0.0, "not_filmed": "x"}


class Recorder:
    """Stands in for the jobs behind the verbs, and keeps what reaches them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, episodes: list[Episode]):
        self.calls: list[Any] = []
        found = SimpleNamespace(program=RIGHT, chosen=RIGHT, accepted=True, path=Path("run"), missing=[])
        acquired = ("reason", "surprises", "successes_before", "successes_after", "errors_before", "errors_after")
        vars(found).update(dict.fromkeys(acquired, 0))
        chosen = SimpleNamespace(sketch=SimpleNamespace(name="x", choices={}))
        moment = SimpleNamespace(moment=SimpleNamespace(frames=[None]), sighting=None, graph=None)
        audited = Audit(1.0, 1.0, {}, {}, {}, 1, 0.0)
        readings = SimpleNamespace(fields=[], dt=0.1, integrator="euler")
        goal_found = SimpleNamespace(steps=[1], report={})
        record = {"candidates": [], "chosen": None}
        session = SimpleNamespace(truth=SimpleNamespace(name="x"))
        graph = SimpleNamespace(data=dict, text=str)
        seen = SimpleNamespace(extract=lambda _: graph, sees="pictures")
        stubs: dict[str, Any] = {
            "extras.need": None,
            "films.film_world": {},
            "films.open_filmed": SimpleNamespace(name="x", rolling=False, action_space=None, powers=frozenset()),
            "films.write_films": [],
            "induction.blackbox.black_box": None,
            "induction.discover.discover": found,
            "induction.discover.summary": FOUND,
            "induction.fields.read_fields": readings,
            "induction.induce.choose_form": SimpleNamespace(winner=chosen, unexplained=(), tolerances={}),
            "induction.induce.evidence_rows": [],
            "induction.induce.induce_from": found,
            "induction.induce.summary": FOUND,
            "induction.reading.table": [],
            "induction.windows.prediction_errors": {},
            "induction.windows.replay_errors": ({}, {}),
            "live.start.start": session,
            "llm.Client": SimpleNamespace(usage=SimpleNamespace(retries=0)),
            "paper.acquire.acquire": found,
            "paper.analysis.write_analysis": Path("x"),
            "paper.baselines.study.run": found,
            "paper.baselines.study.summary": record,
            "paper.evaluation.measure": [],
            "paper.evaluation.measure_floors": {},
            "paper.evaluation.report": CELL,
            "paper.figures.draw.make_figure": None,
            "paper.figures.draw.write_figure": None,
            "paper.jobs.run_job": {},
            "paper.jobs.run_jobs": [],
            "paper.jobs.run_on_cluster": [],
            "paper.measure.measure_analysis": None,
            "paper.results.read_results": None,
            "paper.suite.kept_reports": {},
            "paper.tables.make_table": None,
            "plan.goal_state.evaluate_goal": goal_found,
            "plan.reward.evaluate_return": SimpleNamespace(report=EARNED),
            "program.rollout.spread_over_cores": None,
            "program.source.edit": RIGHT.edited({"DRAG": 0.5}),
            "report.overview.write_paper": found,
            "report.overview.write_worlds": found,
            "report.recording.check": {},
            "report.recording.read_for": RIGHT,
            "report.recording.truth_of": SimpleNamespace(world="x", episodes=[]),
            "report.recording.write_recording": {},
            "report.run_page.write_report": found,
            "scene.calibrate.audit": audited,
            "scene.calibrate.moments_of_episodes": [],
            "scene.calibrate.moments_of_file": [],
            "scene.calibrate.read_moments": [moment] * 20,
            "scene.picture.overlay": None,
            "scene.picture.write_picture": None,
            "scene.vlm.VlmExtractor": seen,
            "trace.episode.collect": episodes,
            "trace.episode.export": [],
            "world.collect.collect": list(range(5)),
        }
        load_everything()
        for place, result in stubs.items():
            module, _, name = f"visualpatchworld.{place}".rpartition(".")
            monkeypatch.setattr(importlib.import_module(module), name, self.stub(name, result))
        looking = importlib.import_module("visualpatchworld.scene.calibrate")
        monkeypatch.setattr(looking, "extractor", self.spy("extractor", looking.extractor))
        formats = importlib.import_module("visualpatchworld.paper.table").FORMATS
        for name in formats:
            monkeypatch.setitem(formats, name, self.stub(name, "{}"))
        monkeypatch.setattr("visualpatchworld.paper.jobs.cluster", self.stub("cluster", nullcontext(None)))
        rollouts = nullcontext(SimpleNamespace(told=dict, stops=[], each=None))
        monkeypatch.setattr("visualpatchworld.program.sandbox.sandboxed_rollouts", self.stub("sandbox", rollouts))

        monkeypatch.setattr("visualpatchworld.live.server.serve", self.serve)

    def serve(self, session: Any, saving: Any, port: int, ready: Any) -> bool:
        self.calls.append(("serve", told(saving), port))
        ready("http://127.0.0.1")
        return True

    def stub(self, name: str, result: Any) -> Any:
        return self.spy(name, lambda *_, **__: result)

    def spy(self, name: str, job: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            self.calls.append((name, told(args), told(named)))
            return job(*args, **named)

        return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that the calls name: a program, traces, logs, a goal, pictures, and the folder of a run."""
    folder = tmp_path_factory.mktemp("options")
    (folder / "model.py").write_text(RIGHT.text)
    (folder / "other.py").write_text(RIGHT.text.replace("DRAG = 0.7", "DRAG = 0.6"))
    for name in ("slider", "other"):
        (make_folder(folder / "runs" / "bench" / "programs" / name) / "world_model.py").write_text(RIGHT.text)
    (folder / "run").mkdir()
    (folder / "results").mkdir()
    toy = load_domain("slider")
    for seed, name in ((7, "toy.h5"), (8, "other.h5")):
        episodes = collect(toy, toy.constants, episodes=10, seed=seed, pixels=True)
        write_traces(folder / name, episodes, toy.layout, domain=toy.name, constants=toy.constants, seed=seed)
    rows = [f"{i // 20},{i // 30},{np.sin(i / 5)},{np.cos(i / 5)},{np.cos(i)},{np.sin(i)}" for i in range(60)]
    (folder / "log.csv").write_text("\n".join(["run,lap,x,y,action,u", *rows]))
    for name, length in (("log.npz", 30), ("other.npz", 31)):
        seen = np.sin(np.arange(4.0 * length)).reshape(2, length, 2)
        np.savez(folder / name, observations=seen, actions=seen[:, 1:, :1])
    for name, place in (("goal.json", 0.5), ("other_goal.json", 0.6)):
        (folder / name).write_text(json.dumps({"puck_x": place, "puck_vx": 0.0}))
    (folder / "calibration.json").write_text("[[1, 0, 0], [0, 1, 0]]")
    for name in ("tape.jsonl", "other.jsonl"):
        (folder / name).write_text("")
    return folder


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    toy = load_domain("slider")
    return list(collect(toy, toy.constants, episodes=10, seed=1))


class Trial(NamedTuple):
    """How a call ended, and all that it did: what reached the jobs, and which files it wrote."""

    code: object
    done: Any
    out: str
    sentence: str


class Trials:
    """Calls of the command line, each in a folder of its own, with recorders in place of the jobs."""

    def __init__(self, vpw: Vpw, monkeypatch: pytest.MonkeyPatch, folder: Path, episodes: list[Episode], where: Path):
        self.vpw, self.monkeypatch, self.folder, self.where = vpw, monkeypatch, folder, where
        self.recorder = Recorder(monkeypatch, episodes)
        self.count = 0
        built = app()  # before it takes the place of what builds it
        monkeypatch.setattr(cli, "build_app", lambda: built)

    def __call__(self, *arguments: str) -> Trial:
        self.count += 1
        here = self.where / str(self.count)
        shutil.copytree(self.folder, here)
        self.monkeypatch.chdir(here)
        self.recorder.calls.clear()
        code, out, err = self.vpw.run(*arguments)
        written = sorted(str(path.relative_to(here)) for path in here.rglob("*") if path.is_file())
        shutil.rmtree(here)
        return Trial(code or 0, (list(self.recorder.calls), written), out, without_stages(err))


@pytest.fixture
def trials(vpw: Vpw, monkeypatch: pytest.MonkeyPatch, folder: Path, episodes: list[Episode], tmp_path: Path) -> Trials:
    return Trials(vpw, monkeypatch, folder, episodes, tmp_path)


def test_every_verb_is_called_in_every_kind_of_world_that_it_takes():
    assert sorted(CALLS) == sorted(commands())
    for verb, calls in CALLS.items():
        kinds = {name.partition(",")[0] for name in calls}
        takes_worlds = any(param.name == "world" for param in commands()[verb].params)
        assert kinds == {"domain", "environment", "log"} if takes_worlds else "domain" in kinds


@pytest.mark.parametrize("verb", sorted(CALLS))
def test_no_option_is_ignored(verb: str, trials: Trials):
    wrong, reached = [], set()
    for where, call in CALLS[verb].items():
        base = trials(verb, *call)
        assert base.code == (2 if where == "nothing" else 0), f"{verb}, {where}: {base.sentence}"
        for option in options(verb):
            flag, typed = option.opts[0], value_of(verb, where.partition(",")[0], option)
            trial = trials(verb, *call, *typed)
            case = f"{verb} {flag} ({where}): exit {trial.code}, {trial.sentence}"
            if trial.code == 2:
                named = any(word in trial.sentence for word in (*call, *typed))
                if trial.out or trial.sentence.count("\n") != 1 or not (named or where == "nothing"):
                    wrong.append(case)
                if typed[-1] in trial.sentence and typed[-1] != flag:
                    reached.add(flag)  # the value itself was looked at
            elif trial.code != 0:
                wrong.append(case)
            elif flag == "--json":
                json.loads(trial.out)
                reached.add(flag)
            elif trial.done != base.done:
                reached.add(flag)
            elif (verb, flag) not in KEPT_ANYWAY and (verb, flag, where) not in ONLY_CHECKED and flag not in call:
                wrong.append(f"{case} ignored")
    assert not wrong, "\n".join(wrong)
    never = {flag for name, flag in NEVER | KEPT_ANYWAY if name == verb}
    assert {option.opts[0] for option in options(verb)} - reached == never
