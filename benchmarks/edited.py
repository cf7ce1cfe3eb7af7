"""Planning in changed worlds with an edited program, with the program
as it was, and with one induced anew: the table `edited`; resumable.

Usage: python benchmarks/edited.py [CASE ...] [--seeds 42] [--tasks 50] [--without-anew] [--programs programs]

Outcomes go to results/edited; episodes of the changed worlds and programs induced in them to runs/edited.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goals import _seeds

from visualpatchworld import api
from visualpatchworld.cli._verb import keep_compiled
from visualpatchworld.domain import load_domain
from visualpatchworld.paper.evaluation import EvalConfig, measure, measure_floors
from visualpatchworld.paper.task import summarize
from visualpatchworld.program.program import Program, read_program
from visualpatchworld.program.source import edit

ROOT = Path(__file__).parents[1]
EPISODES, SEED = 62, 1
SQUARE = ((-30.0, -30.0), (30.0, -30.0), (30.0, 30.0), (-30.0, 30.0))  # two bars of 30 px wide and high


@dataclass(frozen=True)
class Case:
    """How a world changes, and what a person who knows of it
    writes into the program; `factors` are times the present value.

    A program of another form has other names for the same things: the first edit whose names it has is made.
    """

    domain: str
    vary: Mapping[str, object]
    edits: tuple[Mapping[str, Any], ...]
    factors: Mapping[str, float] = ()  # type: ignore[assignment]
    line: tuple[str, str] | None = None  # where no constant says it: a piece of a line, and what it becomes


CASES = {
    "reach": Case("pusht", {"reach": 60.0}, ({"AGENT_REACH": 60.0}, {"REACH": 60.0})),
    "radius": Case("pusht", {"agent_radius": 22.0}, ({"AGENT_RADIUS": 22.0}, {"RADIUS": 22.0})),
    "shape": Case(
        "pusht",
        {"block_shape": "square"},
        # The middle of a square plate, and its inertia over mass: a sixth of its side squared.
        (
            {
                "BLOCK_PARTS": (SQUARE,),
                "BLOCK_HULL": SQUARE,
                "BLOCK_CENTER_X": 0.0,
                "BLOCK_CENTER_Y": 0.0,
                "BLOCK_INERTIA": 600.0,
            },
            {"BLOCK": (SQUARE,), "HULL": SQUARE, "CENTER_X": 0.0, "CENTER_Y": 0.0, "INERTIA": 600.0},
        ),
    ),
    # Longer by a third: what hangs at its end counts with the square of that, its own rod with the cube; about twice in
    # all.
    "link": Case(
        "reacher",
        {"link1": 0.16},
        ({"UPPER_ARM_LENGTH": 0.16}, {"LINK_1": 0.16}),
        {"UPPER_ARM_INERTIA": 2.0, "UPPER": 2.0},
    ),
    # Constants are told per full torque: a tenth of it makes inertias and losses ten times as large, and the wrist's
    # stop yields less.
    "torque": Case(
        "reacher",
        {"gear": 0.005},
        ({},),
        {"UPPER": 10.0, "FOREARM": 10.0, "DAMPING": 10.0, "YIELD": 0.1}
        | {"UPPER_ARM_INERTIA": 10.0, "FOREARM_INERTIA": 10.0, "HINGE_DAMPING": 10.0, "WRIST_GIVE": 0.1},
    ),
    "door": Case(
        "tworoom", {"door_center": 150.0}, ({"WALLS": ((0, 112.0, 5.0, ((150.0, 14.0),)),)}, {"DOOR_Y": 150.0})
    ),
    "second-door": Case(
        "tworoom",
        {"second_door": 175.0},
        ({"WALLS": ((0, 112.0, 5.0, ((49.0, 14.0), (175.0, 14.0))),)}, {}),
        line=("> door_reach", "> door_reach) & (np.abs(after[1] - 175.0) > door_reach)"),
    ),
    # The gripper closes over 85 mm; a block wider by 8 mm stops it that much earlier.
    "size": Case(
        "cube",
        {"cube_half_size": 0.024},
        ({"BLOCK_HALF": 0.024}, {"HALF": 0.024}),
        {"GRIPPER_STOP": 0.83, "STOP": 0.83},
    ),
}

FAR_ONLY = ("torque",)  # 25 steps with so little torque lead nowhere; benchmarks/goals.py has farther goals


def edited(program: Program, case: Case) -> Program:
    """The program as a person would change it for the case."""
    known = program.constants
    chosen = next(changes for changes in case.edits if all(name in known for name in changes))
    factors = {name: known[name] * factor for name, factor in dict(case.factors).items() if name in known}
    if chosen or factors:
        program = edit(program, {**chosen, **factors})
    if case.line is not None and not chosen:
        before, after = case.line
        lines = [
            line if before not in line else line.replace(" = ", " = (", 1).replace(before, after)
            for line in program.text.splitlines(keepends=True)
        ]
        program = Program("".join(lines))
    return program


def run(name: str, case: Case, seed: int, options: argparse.Namespace) -> None:
    """One changed world with one seed: three programs on the same tasks."""
    domain = load_domain(case.domain)
    path = options.cache / f"{name}.h5"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        print(f"{name}: collecting ...", file=sys.stderr)
        api.save_traces(domain, api.collect(domain, episodes=EPISODES, seed=SEED, vary=case.vary), path)
    traces = api.load_traces(domain, path)
    base = read_program(options.programs / case.domain / "world_model.py")
    programs = {"edited": edited(base, case), "unedited": base}
    if not options.without_anew:
        anew = options.cache / f"{name}.py"
        if not anew.exists():
            print(f"{name}: inducing anew ...", file=sys.stderr)
            anew.write_text(api.induce(domain, traces).program.text, encoding="utf-8")
        programs["induced"] = read_program(anew)
    world = domain.of(traces.constants)
    for method, program in programs.items():
        program.check(world.scene.state_space, world.layout.action.width)
        config = EvalConfig(
            domain=world,
            constants=traces.constants,
            vary={key: str(value) for key, value in case.vary.items()},
            method=method,
            program=program,
            observe="oracle",
            score="induced",
            episodes=traces.episodes,
            source=name,
            count=options.tasks,
            offset=25,
            seed=seed,
            metric=next(iter(world.metrics)),
            planner_name=options.planner,
            brief=True,
        )
        floors = measure_floors(options.results, config)
        summary = summarize(list(measure(options.results, config)))
        low, high = summary.ci95
        told = f"{name}, {method}, seed {seed}: {summary.success:.1f} % of {summary.n} [{low:.0f}, {high:.0f}]"
        print(f"{told}, floors {floors['zero'].success:.0f} and {floors['random'].success:.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help=f"of {', '.join(CASES)}; all but {', '.join(FAR_ONLY)} when none is named",
    )
    parser.add_argument("--seeds", type=_seeds, default=[42], metavar="42-46")
    parser.add_argument("--tasks", type=int, default=50, metavar="N")
    parser.add_argument("--planner", default="default")
    parser.add_argument("--without-anew", action="store_true", help="leave out the programs that are induced anew")
    parser.add_argument("--programs", type=Path, default=ROOT / "programs", metavar="DIR")
    parser.add_argument(
        "--results", type=Path, default=Path(os.environ.get("VPW_RESULTS", ROOT / "results")) / "edited", metavar="DIR"
    )
    parser.add_argument("--cache", type=Path, default=ROOT / "runs" / "edited", metavar="DIR")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    keep_compiled(all_cores=True)
    for seed in options.seeds:
        for name in options.cases or [name for name in CASES if name not in FAR_ONLY]:
            run(name, CASES[name], seed, options)


if __name__ == "__main__":
    main()
