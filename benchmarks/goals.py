"""Long, other and precise goals: every row of the table `goals`, task by task; run it again to go on where it stopped.

Usage: python benchmarks/goals.py [DOMAIN ...] [--seeds 42-46] [--tasks 50] [--rows 25,50,100,150,other,25x0.1]
[--workers 1]
       python benchmarks/goals.py pusht --traces pusht=demos.h5 --planners default,paper
       python benchmarks/goals.py tworoom reacher --rows any,moving
       python benchmarks/goals.py reacher --case torque --rows 25,other

Rows: an offset within an episode, `other` for goals of another episode, `moving` for goals that go another episode's
way, `any` for starts and goals that the world itself draws; xSCALE behind one scales the success radius. A case is one
of benchmarks/edited.py: the world is changed so, and the program edited for it.

Episodes are collected to runs/goals/traces (or where --traces says), programs come from programs/SOURCE; outcomes go to
results/goals.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualpatchworld.domain import Domain
    from visualpatchworld.trace.episode import Episode

ROOT = Path(__file__).parents[1]
EPISODES, SEED = 62, 1  # as `vpw bench` collects
LEAST_STEPS = 200  # of an episode, so that goals can lie 150 steps ahead
ANYWHERE = 1000  # starts that a world draws, a fifth of them for tasks
ROWS = "25,50,100,150,other,25x0.5,25x0.25,25x0.1,100x0.1"


def main() -> None:
    options = _options()
    jobs = [
        (name, row, planner, seed)
        for seed in options.seeds
        for name in options.domains
        for row in options.rows
        for planner in options.planners
    ]
    if options.workers == 1 or len(jobs) == 1:
        for job in jobs:
            _run(options, *job)
        return
    waiting, running, free = list(jobs), {}, list(range(options.workers))
    cores = sorted(os.sched_getaffinity(0))
    for name in options.domains:
        _episodes(options, name)  # before the workers, who would all collect
    while waiting or running:
        while waiting and free:
            lane, (name, row, planner, seed) = free.pop(), waiting.pop(0)
            given = ["--rows", row, "--planners", planner, "--seeds", str(seed)]
            for option in ("tasks", "observe", "score", "results", "programs", "cache", "case", "steps"):
                given += [f"--{option}", str(getattr(options, option))]
            given += [part for pair in options.traces for part in ("--traces", pair)]
            mine = cores[lane :: options.workers]
            process = subprocess.Popen(
                [sys.executable, __file__, name, *given], preexec_fn=lambda mine=mine: os.sched_setaffinity(0, mine)
            )
            running[process] = lane
        time.sleep(0.2)
        for process in [process for process in running if process.poll() is not None]:
            free.append(running.pop(process))


def _run(options: argparse.Namespace, name: str, row: str, planner: str, seed: int) -> None:
    from visualpatchworld.cli._verb import keep_compiled
    from visualpatchworld.errors import VpwError
    from visualpatchworld.paper.evaluation import EvalConfig, measure, measure_floors
    from visualpatchworld.paper.task import Goals, GoalsOf, summarize
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.file import read_traces

    keep_compiled(all_cores=True)
    path = _episodes(options, name)
    domain, vary = _world(options, name)
    where, _, scale = row.partition("x")
    file = (
        next(folder for folder in (options.programs / path.stem, options.programs / name) if folder.is_dir())
        / "world_model.py"
    )
    program = load_program(file, domain.scene.state_space, domain.layout.action.width)
    if options.case:
        program = _case(options.case)[1](program)
    episodes = _anywhere(domain) if where == "any" else read_traces(path, domain).episodes
    kind: GoalsOf = "same-episode" if where.isdigit() else "moving" if where == "moving" else "other-episode"
    for metric in domain.metrics:
        config = EvalConfig(
            domain=domain,
            constants=domain.constants,
            vary={key: str(value) for key, value in vary.items()},
            method="engine" if options.score == "simulator" else "vpw",
            program=None if options.score == "simulator" else program,
            observe=options.observe,
            score=options.score,
            episodes=episodes,
            source=f"{name}-any" if where == "any" else path.stem,
            count=options.tasks,
            offset=int(where) if kind == "same-episode" else 0,
            seed=seed,
            metric=metric,
            planner_name=planner,
            goals=Goals(kind, float(scale or 1)),
            steps_allowed=options.steps or None,
            brief=True,
        )
        told = f"{path.stem}, {row}, {metric}, {planner}, seed {seed}"
        try:
            floors = measure_floors(options.results, config)
            outcomes = []
            for outcome in measure(options.results, config):
                outcomes.append(outcome)
                done = sum(each.success for each in outcomes)
                print(f"{told}: {done} of {len(outcomes)}", end="\r", file=sys.stderr, flush=True)
        except VpwError as error:  # a row that these episodes cannot have
            print(f"{told}: {error}", flush=True)
            continue
        summary = summarize(outcomes)
        low, high = summary.ci95
        seconds, rescored = summary.seconds_per_plan_median, ""
        if options.score in ("hybrid", "sparing"):
            asked, seen = summary.engine_rollouts_per_plan or 0.0, config.planner.rollouts_per_plan
            rescored = f", {100 * asked / seen:.2f} % of candidates re-scored by the engine"
        print(
            f"{told}: {summary.success:.1f} % of {summary.n} [{low:.0f}, {high:.0f}], floors "
            f"{floors['zero'].success:.0f} and "
            f"{floors['random'].success:.0f}, {summary.plans} plans"
            + ("" if seconds is None else f" of {seconds:.3f} s")
            + rescored,
            flush=True,
        )


def _episodes(options: argparse.Namespace, name: str) -> Path:
    """The file of a domain's episodes: given, or collected once with episodes that are long enough."""
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.file import write_traces

    given = dict(pair.partition("=")[::2] for pair in options.traces)
    path = (
        Path(given[name])
        if name in given
        else options.cache / (f"{name}-{options.case}.h5" if options.case else f"{name}.h5")
    )
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        domain, _ = _world(options, name)
        domain = dataclasses.replace(domain, episode_steps=max(domain.episode_steps, LEAST_STEPS))
        print(f"collecting {EPISODES} episodes of {name} ...", file=sys.stderr)
        episodes = collect(domain, domain.constants, episodes=EPISODES, seed=SEED)
        write_traces(path, episodes, domain.layout, domain=name, constants=domain.constants, seed=SEED)
    return path


def _world(options: argparse.Namespace, name: str) -> tuple[Domain, Mapping[str, object]]:
    """The domain, and how its world differs from the nominal one."""
    from visualpatchworld.domain import load_domain

    domain, vary = load_domain(name), _case(options.case)[0].vary if options.case else {}
    constants = domain.constants.varied(vary)
    return dataclasses.replace(domain.of(constants), constants=constants), vary


def _case(name: str) -> tuple[Any, Callable[[Any], Any]]:
    """A changed world, and what edits a program for it."""
    import edited  # it imports this module

    return edited.CASES[name], lambda program: edited.edited(program, edited.CASES[name])


def _anywhere(domain: Domain) -> list[Episode]:
    """Starts that the world itself draws, each an episode of one moment."""
    import numpy as np

    from visualpatchworld.trace.episode import Episode

    world, found = domain.simulator(domain.constants), []
    for index in range(ANYWHERE):
        world.reset(seed=SEED + index)
        state, engine_state = world.get_state()[None], world.get_engine_state()[None]
        found.append(
            Episode(
                observations=state, actions=np.zeros((0, world.action_dim)), index=index, engine_states=engine_state
            )
        )
    return found


def _seeds(text: str) -> list[int]:
    first, dash, last = text.partition("-")
    return list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domains", nargs="*", metavar="DOMAIN", help="all when none is named")
    parser.add_argument("--seeds", type=_seeds, default=[42], metavar="42-46")
    parser.add_argument("--tasks", type=int, default=50, metavar="N")
    parser.add_argument(
        "--rows",
        default=ROWS,
        type=lambda text: text.split(","),
        help="OFFSET or `other`, with xSCALE for a scaled radius",
    )
    parser.add_argument("--planners", default="default", type=lambda text: text.split(","))
    parser.add_argument(
        "--steps", type=int, default=0, metavar="N", help="steps allowed, where that is not what the protocol says"
    )
    parser.add_argument(
        "--case",
        default="",
        metavar="CASE",
        help="a changed world of benchmarks/edited.py, and the program edited for it",
    )
    parser.add_argument("--observe", default="oracle", choices=("oracle", "tool"))
    parser.add_argument("--score", default="induced", choices=("induced", "hybrid", "sparing", "simulator"))
    parser.add_argument("--traces", action="append", default=[], metavar="DOMAIN=FILE.h5")
    parser.add_argument("--programs", type=Path, default=ROOT / "programs", metavar="DIR")
    parser.add_argument(
        "--results", type=Path, default=Path(os.environ.get("VPW_RESULTS", ROOT / "results")) / "goals", metavar="DIR"
    )
    parser.add_argument("--cache", type=Path, default=ROOT / "runs" / "goals" / "traces", metavar="DIR")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="cells side by side, each on its share of the cores"
    )
    options = parser.parse_args()
    if isinstance(options.rows, str):
        options.rows = options.rows.split(",")
    if isinstance(options.planners, str):
        options.planners = options.planners.split(",")
    if not options.domains:
        from visualpatchworld.domain import find_domains

        options.domains = list(find_domains())
    options.results.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    main()
