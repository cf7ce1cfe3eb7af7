"""From a world to a program, nothing given but the world: every
world of the table, beside what users would take instead; resumable.

Usage: python benchmarks/worlds.py [--only NAME ...] [--seeds 0] [--seconds 60] [--sindy PYTHON]
       python benchmarks/worlds.py --rivals 5 [--sindy PYTHON] [--only NAME ...]
       python benchmarks/worlds.py --plan [--episodes 20] [--plan-seconds 400] [--true-seconds 300] [--workers 1]
       [--only NAME ...]

A line per world and seed goes to results/worlds/worlds.jsonl, of planning to results/worlds/plans.jsonl; the programs
to programs/worlds/. A line of planning is measured again where the program is another one since. Several of these may
run side by side, each with --only.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lines import Lines
from rivals import NoSindy, as_world, last_of, network_ensemble, sparse_regression

from visualpatchworld.cli._verb import keep_compiled
from visualpatchworld.errors import VpwError
from visualpatchworld.induction.discover import BUDGET, discover, summary
from visualpatchworld.induction.windows import last_observations, window_errors, windows_of
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import read_program
from visualpatchworld.world.collect import collect
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

HORIZON = 25
HELD_OUT_STEPS = 2000
LEAST_WINDOWS = 50
HELD_OUT_SEED = 10_000  # added to a run's seed: episodes that judge come from elsewhere than those that teach
PATIENCE = 15  # times the seconds of a search, after which a run is given up


@dataclass(frozen=True)
class Goal:
    """A world of the table: the error after 25 steps that is asked
    for, none where it is only tried, and its return when solved.
    """

    error: float | None
    solved: float | None = None


WORLDS: dict[str, Goal] = {
    "Pendulum-v1": Goal(1e-3),
    "CartPole-v1": Goal(1e-3, 475),
    "MountainCar-v0": Goal(1e-3, -110),
    "MountainCarContinuous-v0": Goal(1e-3, 90),
    "Acrobot-v1": Goal(1e-3, -100),
    "InvertedPendulum-v5": Goal(1e-3, 950),
    "InvertedDoublePendulum-v5": Goal(1e-3, 9100),
    "dmc:pendulum/swingup": Goal(1e-3, 819),
    "dmc:cartpole/swingup": Goal(1e-3, 876),
    "dmc:cartpole/two_poles": Goal(1e-3),
    "dmc:cartpole/three_poles": Goal(1e-3),
    "dmc:acrobot/swingup": Goal(1e-3, 518),
    "dmc:point_mass/easy": Goal(1e-3),
    "Reacher-v5": Goal(0.05, -5),
    "dmc:reacher/hard": Goal(0.05),
    "Swimmer-v5": Goal(None),
    "LunarLander-v3": Goal(None),
    "Pusher-v5": Goal(None),
    "dmc:ball_in_cup/catch": Goal(None),
    "Hopper-v5": Goal(None),
}
ROOT = Path(__file__).parents[1]


def folder_name(name: str) -> str:
    """A world's name as that of a folder."""
    return name.replace("dmc:", "dmc-").replace("/", "-")


class Watch:
    """Keeps every transition of a world, whoever steps it, so that rivals learn from the very data of the search."""

    def __init__(self, world: World):
        self.world, self.pieces, self._fresh = world, [], True
        step, reset, set_place, restore = world.step, world.reset, world.set_place, world.restore

        def begun(observation, shown: bool = True):
            self.pieces.append(([observation] if shown else [], []))
            return observation

        def stepped(action):
            outcome = step(action)
            observations, actions = self.pieces[-1]
            if observations:
                actions.append(np.array(action, dtype=float))
            observations.append(outcome.observation)
            return outcome

        world.step = stepped  # type: ignore[method-assign]
        world.reset = lambda seed: begun(reset(seed))  # type: ignore[method-assign]
        world.set_place = lambda place: begun(set_place(place), world.shows_places_alike)  # type: ignore[method-assign]
        world.restore = lambda snapshot: begun(restore(snapshot))  # type: ignore[method-assign]

    @property
    def trajectories(self) -> list[Trajectory]:
        """What was seen, without rewards."""
        return [Trajectory(np.array(seen), np.array(done)) for seen, done in self.pieces if len(done) >= 1]


def measure(
    name: str, seed: int, seconds: float, sindy: Path | None, data: Path, programs: Path, say
) -> dict[str, Any]:
    """One run: the discovery as `vpw induce` writes it, and its
    errors and those of the rivals on episodes collected anew.
    """
    world = open_world(name)
    seen = Watch(world)
    began, cpu = time.perf_counter(), time.process_time()
    found = discover(world, budget=BUDGET, seed=seed, seconds=seconds, progress=say)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    path = program_path(programs, name, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(found.program.text, encoding="utf-8")
    say("collecting episodes that judge")
    judge = open_world(name)
    held = collect(judge, HELD_OUT_STEPS, np.random.default_rng(HELD_OUT_SEED + seed))
    # Where most episodes end early, the longest horizon that enough windows have.
    far = max(h for h in range(1, HORIZON + 1) if h == 1 or sum(max(0, len(t) - h + 1) for t in held) >= LEAST_WINDOWS)
    windows = {steps: w for steps in (1, far) if (w := windows_of(held, steps)) is not None}
    record: dict[str, Any] = {"name": name, "seed": seed, "ok": True, "horizon": max(windows)}
    record |= {"wall_seconds": round(wall, 1), "cpu_seconds": round(cpu, 1), "limit_seconds": seconds}
    record |= {
        "lines": len(found.program.text.splitlines()),
        "held_out_steps": sum(map(len, held)),
        "held_out_episodes": len(held),
    }
    record["errors"] = {
        h: window_errors(last_observations(found.program, w.starts, w.actions), w)[0] for h, w in windows.items()
    }
    told = summary(found, str(path.relative_to(programs.parent)))
    record |= {
        key: told[key]
        for key in ("form", "laws", "fields", "dt", "integrator", "constants", "reward", "terminated", "verdict")
    }
    record |= {key: told[key] for key in ("why", "env_steps", "program", "program_hash")}
    learned = seen.trajectories
    record["same_data_steps"] = sum(map(len, learned))
    kept = data_path(data, name, seed)
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as file:
        pickle.dump({"learned": learned, "held": held, "horizon": far, "program_hash": found.program.hash}, file)
    return record | rivals(name, seed, data, sindy, 0, programs, say)


def data_path(data: Path, name: str, seed: int) -> Path:
    """Where the transitions of a search, and the episodes that judge, are kept for the rivals."""
    return data / f"{folder_name(name)}-{seed}.pickle"


def rivals(name: str, seed: int, data: Path, sindy: Path | None, episodes: int, programs: Path, say) -> dict[str, Any]:
    """Errors of the rivals on the data of a search, and returns of planning
    with them as with the program, where episodes are asked for.
    """
    from visualpatchworld.plan.reward import choose_planner, evaluate_return

    path = data_path(data, name, seed)
    if not path.is_file():
        raise VpwError(f"the data of {name}, seed {seed}, are not kept in {data}: measure the world first")
    with path.open("rb") as file:
        kept = pickle.load(file)
    space, windows = open_world(name).action_space, {h: windows_of(kept["held"], h) for h in {1, kept["horizon"]}}
    windows = {h: w for h, w in windows.items() if w is not None}
    say("a network ensemble and sparse regression on the same data")
    steps = {"networks": network_ensemble(space, kept["learned"], seed)}
    record: dict[str, Any] = {
        "networks": {
            h: window_errors(last_of(steps["networks"], w.starts, w.actions), w)[0] for h, w in windows.items()
        }
    }
    try:
        ends, terms, steps["sindy"] = sparse_regression(
            sindy, space, kept["learned"], {h: (w.starts, w.actions) for h, w in windows.items()}
        )
        record["sindy"] = {h: window_errors(ends[h], w)[0] for h, w in windows.items()} | {"terms": terms}
    except NoSindy as absent:
        record["sindy"] = {"why": str(absent)}
    if not episodes:
        return record
    found = imagine(read_program(program_path(programs, name, seed)))
    starts = [int(one) for one in np.random.default_rng(HELD_OUT_SEED + seed).integers(2**31, size=episodes)]
    planner = choose_planner(open_world(name), found, starts)
    for rival, step in steps.items():
        say(f"planning with {rival}, {planner.title}")
        done = evaluate_return(
            name, as_world(step, found), planner, episodes=episodes, seed=HELD_OUT_SEED + seed
        ).report
        record[f"{rival}_plan"] = {key: done[key] for key in ("return_mean", "return_std", "n", "planner", "returns")}
    return record


def program_path(programs: Path, name: str, seed: int) -> Path:
    """Where the program of a world and a seed lies."""
    return programs / folder_name(name) / ("world_model.py" if seed == 0 else f"world_model_{seed}.py")


def plan(
    name: str,
    seed: int,
    episodes: int,
    plan_seconds: float | None,
    true_seconds: float,
    workers: int,
    programs: Path,
    say,
) -> dict[str, Any]:
    """Returns of planning in the true world with the program's own reward and end."""
    from visualpatchworld.plan.reward import evaluate_return

    path = program_path(programs, name, seed)
    program = read_program(path)
    began = time.perf_counter()
    done = evaluate_return(
        name,
        program,
        episodes=episodes,
        seed=HELD_OUT_SEED + seed,
        seconds=plan_seconds,
        true_world_episodes=episodes if true_seconds else 0,
        true_world_seconds=true_seconds,
        true_world_workers=workers,
        on_episode=lambda number, earned: say(f"episode {number + 1}: {earned:.1f}"),
        on_true_episode=lambda number, earned: say(f"episode {number + 1} in the true world: {earned:.1f}"),
    )
    record: dict[str, Any] = {
        "name": name,
        "seed": seed,
        "episodes": episodes,
        "ok": True,
        "program_hash": program.hash,
    }
    return record | done.report | {"seconds": round(time.perf_counter() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only",
        nargs="*",
        default=list(WORLDS),
        metavar="NAME",
        help="these worlds; any Gymnasium id or dmc: task will do",
    )
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="that a search may take")
    parser.add_argument("--sindy", type=Path, help="an interpreter that has PySINDy")
    parser.add_argument("--plan", action="store_true", help="measure returns with the programs that are there")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--true-seconds", type=float, default=300.0, help="that planning in copies of a world may take")
    parser.add_argument("--plan-seconds", type=float, help="after which no further episode is planned")
    parser.add_argument(
        "--workers", type=int, default=1, help="processes that copies of a world are in, for planning in them"
    )
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "worlds")
    parser.add_argument("--programs", type=Path, default=ROOT / "programs" / "worlds")
    parser.add_argument(
        "--rivals", type=int, metavar="N", help="only the rivals, on kept data, with N episodes planned with each"
    )
    parser.add_argument(
        "--data", type=Path, default=ROOT / "runs" / "worlds", help="where the data of searches are kept"
    )
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # in this very process
    options = parser.parse_args()
    lines = Lines(options.results / ("plans.jsonl" if options.plan else "worlds.jsonl"), ("name", "seed"))
    for name in options.only:
        for seed in options.seeds:
            if options.rivals is not None:
                _add_rivals(name, seed, options, lines)
            elif _measured(lines, name, seed, options) and not options.again:
                print(f"{name}, seed {seed}: measured before", flush=True)
            elif options.here:
                lines.put(_safe(name, seed, options))
            else:
                _apart(name, seed, options, lines)


def _add_rivals(name: str, seed: int, options: argparse.Namespace, lines: Lines) -> None:
    """The line of a world with its rivals measured anew."""
    keep_compiled()
    mine = [line for line in lines.read() if line.get("name") == name and line.get("seed") == seed and line["ok"]]
    if not mine:
        print(f"{name}, seed {seed}: not measured yet", flush=True)
        return
    try:
        found = rivals(
            name,
            seed,
            options.data,
            options.sindy,
            options.rivals,
            options.programs,
            lambda text: print(name, text, flush=True),
        )
        lines.put(mine[-1] | found)
    except VpwError as error:
        print(f"{name}, seed {seed}: {error}", flush=True)


def _measured(lines: Lines, name: str, seed: int, options: argparse.Namespace) -> bool:
    """Whether a line is there, and of planning one with the program that is there now and as many episodes."""
    if not options.plan:
        return lines.has(name=name, seed=seed)
    path = program_path(options.programs, name, seed)
    now = read_program(path).hash if path.is_file() else None
    mine = [line for line in lines.read() if line.get("name") == name and line.get("seed") == seed]
    return any(line.get("program_hash") == now and line.get("episodes") == options.episodes for line in mine)


def _safe(name: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()

    def say(text: str) -> None:
        print(f"{name} {time.perf_counter() - began:6.1f} s  {text}", flush=True)

    keep_compiled()
    try:
        if options.plan:
            return plan(
                name,
                seed,
                options.episodes,
                options.plan_seconds,
                options.true_seconds,
                options.workers,
                options.programs,
                say,
            )
        return measure(name, seed, options.seconds, options.sindy, options.data, options.programs, say)
    except Exception as error:  # a failure is a result, too; what is no sentence of ours is shown in full
        why = (
            str(error)
            if isinstance(error, VpwError)
            else f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        )
        if not isinstance(error, VpwError):
            traceback.print_exc()
        say(f"failed: {why}")
        return {
            "name": name,
            "seed": seed,
            "episodes": options.episodes,
            "ok": False,
            "failed": why,
            "seconds": round(time.perf_counter() - began, 1),
        }


def _apart(name: str, seed: int, options: argparse.Namespace, lines: Lines) -> None:
    """A run in a process of its own, so that a world that hangs or breaks its process takes no other with it."""
    given = [
        "--here",
        "--again",
        "--only",
        name,
        "--seeds",
        str(seed),
        "--seconds",
        str(options.seconds),
        "--episodes",
        str(options.episodes),
        "--true-seconds",
        str(options.true_seconds),
        "--workers",
        str(options.workers),
    ]
    given += ["--results", str(options.results), "--programs", str(options.programs)] + ["--plan"] * options.plan
    given += ["--data", str(options.data)]
    given += ["--sindy", str(options.sindy)] if options.sindy else []
    given += ["--plan-seconds", str(options.plan_seconds)] if options.plan_seconds is not None else []
    try:
        done = subprocess.run(
            [sys.executable, __file__, *given], timeout=None if options.plan else PATIENCE * options.seconds
        )
        failed = f"the process ended with {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        failed = f"nothing came within {PATIENCE * options.seconds:.0f} s"
    if failed:
        lines.put({"name": name, "seed": seed, "ok": False, "failed": failed})
    print(f"{name}, seed {seed}: {failed or 'done'}", flush=True)


if __name__ == "__main__":
    main()
