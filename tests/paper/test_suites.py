"""Suites and the processes that compute them."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from paper.made_results import WHOLE

from visualpatchworld.errors import UnknownName, WorkerFailed
from visualpatchworld.paper.analysis import Analysis, find_analyses, write_analysis
from visualpatchworld.paper.baselines.study import find_methods
from visualpatchworld.paper.cell import Observe
from visualpatchworld.paper.jobs import AnalysisJob, CellJob, Source, Writer, run_job, run_jobs
from visualpatchworld.paper.suite import CONDITIONS, SUITES, analyses, cells, find_suite, sources
from visualpatchworld.program.program import Program

SOURCES = [Source(name, Path(f"{name}.h5"), Path(f"{name}/world_model.py")) for name in ("one", "two")]
WRITER = Writer(endpoint="http://127.0.0.1:9/v1", model="small", calls=8, max_tokens=700, prompt_tokens=1300)


@dataclass(frozen=True)
class Scripted(CellJob):
    """A job whose command is given."""

    code: str = ""

    def command(self, results: Path) -> list[str]:
        return [sys.executable, "-S", "-c", self.code]


def scripted(observe: Observe, code: str) -> Scripted:
    return Scripted(SOURCES[0], observe, "induced", 42, 1, code)


@pytest.mark.parametrize(
    ("suite", "seeds", "tasks"), [("main", [42], 50), ("multiseed", [42, 43, 44, 45, 46], 50), ("smoke", [42], 3)]
)
def test_suites_are_the_protocol_s(suite: str, seeds: list[int], tasks: int):
    made = cells(find_suite(suite), SOURCES)
    assert len(made) == len(set(made)) == len(seeds) * len(SUITES[suite].conditions) * len(SOURCES)
    assert sorted({job.seed for job in made}) == seeds
    assert {job.tasks for job in made} == {tasks}


def test_all_conditions_of_the_protocol_are_in_the_main_suite():
    wanted = {
        ("oracle", "induced"),
        ("oracle", "hybrid"),
        ("oracle", "simulator"),
        ("tool", "induced"),
        ("tool", "hybrid"),
    }
    assert set(find_suite("main").conditions) == wanted


def test_an_unknown_suite_gets_a_sentence():
    with pytest.raises(UnknownName, match=r"No suite 'mian'.*Did you mean 'main'"):
        find_suite("mian")


def test_reports_come_back_and_what_was_said_is_kept(tmp_path: Path):
    code = "import sys; print('warned', file=sys.stderr); print('{\"n\": 1}')"
    rows = list(run_jobs([scripted("oracle", code), scripted("tool", code)], tmp_path, tmp_path, workers=2))
    assert rows == [{"n": 1}, {"n": 1}]
    assert [path.read_text() for path in tmp_path.glob("*.log")] == ["warned\n", "warned\n"]


def test_a_job_that_fails_says_why_and_leaves_the_others_be(tmp_path: Path):
    bad, good = scripted("oracle", "import sys; sys.exit('No program there.')"), scripted("tool", "print('{\"n\": 2}')")
    failure, report = run_jobs([bad, good], tmp_path, tmp_path, workers=1)
    assert isinstance(failure, WorkerFailed) and report == {"n": 2}
    assert str(failure).startswith("'one: oracle + induced, seed 42' failed: No program there. (see ")
    assert Path(str(failure).split("(see ")[1].rstrip(")")).read_text() == "No program there.\n"


def test_a_job_that_dies_silently_is_told_too(tmp_path: Path):
    with pytest.raises(WorkerFailed, match="it said nothing"):
        run_job([sys.executable, "-S", "-c", "import os; os._exit(3)"], tmp_path, "quiet")


def test_a_job_is_a_command_for_this_python(tmp_path: Path):
    job = cells(find_suite("smoke"), SOURCES)[0]
    command = job.command(tmp_path)
    assert command[:5] == [sys.executable, "-m", "visualpatchworld", "plan", "one"]
    assert command[-1] == "--json"
    assert json.dumps(command)


def given(domain: str, stem: str = "") -> Source:
    return Source(domain, Path(f"{stem or domain}.h5"), Path(f"programs/{stem or domain}/world_model.py"))


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def test_an_ablation_fits_the_extra_sketches_of_a_domain():
    suite = find_suite("ablation")
    assert sources(suite, [given("slider")]) == cells(suite, [given("slider")]) == []
    found = sources(suite, [given("pusht", "tasks")])
    assert [source.sketch for source in found] == [None, "linear", "collision-gated"]
    assert found[1].program == Path("programs/tasks-linear/world_model.py")
    command = found[1].making(None)
    assert command is not None and (option(command, "--sketch"), option(command, "--out")) == (
        "linear",
        "programs/tasks-linear",
    )
    made = cells(suite, [given("pusht", "tasks")])
    assert [option(job.command(Path()), "--method") for job in made] == ["vpw", "linear", "collision-gated"]
    assert not any("--sandbox" in job.command(Path()) for job in made)
    assert len({job.title for job in made}) == 3


def test_metrics_are_measured_where_the_paper_tells_them_apart():
    suite = find_suite("metrics")
    assert cells(suite, [given("slider"), given("pusht")]) == []
    made = cells(suite, [given("reacher")])
    assert len(made) == len({job.title for job in made}) == 5 * 4
    assert {job.options for job in made} == {
        (*metric, *horizon)
        for metric in (("--metric", "finger_match"), ("--metric", "qpos_match"))
        for horizon in ((), ("--horizon", "5"))
    }


def test_every_baseline_searches_the_domain_s_own_episodes_and_plans_in_the_sandbox():
    suite = find_suite("baselines")
    assert sources(suite, [given("slider", "others")]) == []
    found = sources(suite, [given("slider")])
    assert [source.rival for source in found] == list(find_methods())
    assert found[0].program == Path(f"programs/{found[0].rival}-slider/world_model.py")
    assert found[0].making(None) is None
    command = found[0].making(WRITER)
    assert command is not None and command[3:6] == ["baseline", found[0].rival, "slider"]
    told = [
        option(command, name)
        for name in ("--endpoint", "--model", "--calls", "--max-tokens", "--prompt-tokens", "--traces", "--out")
    ]
    assert told == [
        "http://127.0.0.1:9/v1",
        "small",
        "8",
        "700",
        "1300",
        "slider.h5",
        f"programs/{found[0].rival}-slider",
    ]
    for job in cells(suite, [given("slider")]):
        planned = job.command(Path())
        assert option(planned, "--method") == job.source.rival and "--sandbox" in planned
        assert (job.observe, job.score, job.seed, job.tasks) == ("oracle", "induced", 42, 50)


def test_a_search_is_over_when_it_is_recorded_with_or_without_a_program(tmp_path: Path):
    source = Source("slider", Path("slider.h5"), tmp_path / "world_model.py", rival="worldcoder")
    source.program.touch()
    assert not source.is_made  # a search that was interrupted, or a program from elsewhere
    source.program.unlink()
    (tmp_path / "search.json").touch()
    assert source.is_made


def test_the_paper_is_every_suite_once_and_quick_things_first():
    paper, domains = find_suite("paper"), [given("slider"), given("reacher")]
    made = cells(paper, domains)
    others = [job for name in SUITES if name not in ("paper", "smoke") for job in cells(find_suite(name), domains)]
    assert set(made) == set(others) and len(made) == len(set(made)) < len(others)
    turns = [CONDITIONS.index((job.observe, job.score)) for job in made]
    assert turns == sorted(turns)
    assert made[0] == cells(find_suite("main"), domains)[0]


def test_the_paper_s_analyses_are_of_every_program_there_is_and_measured_once(tmp_path: Path):
    source = Source("slider", tmp_path / "slider.h5", tmp_path / "programs" / "slider" / "world_model.py")
    kinds = find_analyses()
    assert analyses(find_suite("main"), [source], tmp_path) == []
    assert {job.kind for job in analyses(find_suite("paper"), [source], tmp_path)} == {
        kind for kind in kinds if kinds[kind] != "program"
    }
    rival = tmp_path / "programs" / "worldcoder-slider" / "world_model.py"
    for program in (source.program, rival):
        program.parent.mkdir(parents=True)
        program.write_text(f"# of {program.parent.name}\n")
    made = analyses(find_suite("paper"), [source], tmp_path)
    assert {(job.kind, job.source.method) for job in made} == {
        (kind, method)
        for kind, of in kinds.items()
        for method in (("vpw", "worldcoder") if of == "program" else ("vpw",))
    }
    command = next(job for job in made if job.source.rival and job.kind == "rollout").command(tmp_path)
    assert command[3:6] == ["analyse", "rollout", "slider"] and "--sandbox" in command
    assert (option(command, "--program"), option(command, "--method")) == (str(rival), "worldcoder")

    program = Program(source.program.read_text()).hash
    fields: dict[str, Any] = {
        "domain": "slider",
        "title": "Slider",
        "source": "slider",
        "seed": 0,
        "episodes": "",
        "versions": {},
        "data": WHOLE["rollout"]
        | {"rollout_error": {"puck_m": {name: [0.0] * 25 for name in ("mean", "median", "p90")}}},
    }
    write_analysis(tmp_path, Analysis(kind="rollout", method="vpw", program=program, **fields))
    left = analyses(find_suite("paper"), [source], tmp_path)
    assert set(made) - set(left) == {AnalysisJob(source, "rollout")}
    source.program.write_text("# another\n")
    assert analyses(find_suite("paper"), [source], tmp_path) == made
