"""Does induction find the form and the constants? Many seeds,
nominal, varied and changed worlds; resumable, one JSON line per run.

Usage: python benchmarks/recovery.py DOMAIN --out FILE.jsonl [--seeds 20] [--cases nominal varied changed siblings]
[--fit [--plan 50]]

The siblings, end to end: for d in tworoom reacher pusht cube: recovery.py $d --cases siblings --seeds 1 --fit --plan 50
--out results/siblings/$d.jsonl --keep runs/siblings; `python benchmarks/recovery.py --table results/siblings` prints
what is there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld.cli._verb import keep_compiled
from visualpatchworld.cli.plan import TASK_EPISODES, TASK_EPISODES_SEED
from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.domains.pusht.simulator import PHYSICS_STEP_S, build
from visualpatchworld.files import make_folder
from visualpatchworld.induction.blackbox import black_box
from visualpatchworld.induction.induce import choose_form, induce, induce_from, summary
from visualpatchworld.induction.windows import errors_by_horizon, trajectories_of
from visualpatchworld.paper.evaluation import EvalConfig, measure, measure_floors, report
from visualpatchworld.program.program import Program
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import collect, for_tasks

EPISODES = 50

# Constants that are varied together, by factors between these limits that are drawn anew for every seed; narrower than
# 0.5 to 2 where a world would otherwise leave no room to act (a block as wide as the table, a door narrower than the
# agent).
VARIED = {
    "pusht": {
        "gain": (0.5, 2),
        "damping": (0.5, 1.5),
        "reach": (0.5, 1.5),
        "agent_radius": (0.7, 1.5),
        "block_scale": (0.7, 1.2),
        "moment": (0.5, 2),
    },
    "tworoom": {
        "speed": (0.5, 2),
        "radius": (0.6, 1.4),
        "wall_thickness": (0.5, 2),
        "door_center": (0.8, 2),
        "door_half_width": (0.9, 2),
    },
    "reacher": {"link1": (0.5, 2), "link2": (0.5, 2), "density": (0.5, 2), "damping": (0.5, 2), "gear": (0.5, 2)},
    "cube": {"reach_scale": (0.5, 1.5), "yaw_scale": (0.5, 2), "cube_half_size": (0.8, 1.2)},
}

# Worlds in which another form of the family is true, and the choices that must then be recognised.
CHANGED: dict[str, list[tuple[dict[str, Any], dict[str, str]]]] = {
    "pusht": [
        ({"drive": "direct"}, {"drive": "direct", "block": "pushed", "response": "quasi-static", "contact": "smooth"}),
        ({"block": "frozen"}, {"drive": "PD", "block": "frozen"}),
        ({"response": "inertial"}, {"drive": "PD", "block": "pushed", "response": "inertial", "contact": "smooth"}),
        ({"friction": 0.5}, {"drive": "PD", "block": "pushed", "response": "quasi-static", "contact": "rough"}),
    ],
    "tworoom": [
        ({"wall": "none"}, {"transport": "linear", "obstacles": "border"}),
        ({"transport": "cubic"}, {"transport": "nonlinear", "obstacles": "border-and-wall"}),
    ],
    "reacher": [
        ({"space": "cartesian"}, {"space": "cartesian", "order": "first"}),
        ({"order": "first"}, {"space": "joint", "order": "first", "limits": "wrist"}),
        ({"limits": "none"}, {"space": "joint", "order": "second", "limits": "none"}),
    ],
    "cube": [
        ({"object": "coupled"}, {"object": "coupled"}),
        ({"object": "free"}, {"object": "free"}),
        ({"effector": "direct"}, {"object": "gripped", "effector": "direct", "release": "falls"}),
        ({"release": "floats"}, {"object": "gripped", "effector": "lagged", "release": "floats"}),
    ],
}
# Worlds that hold something else, for which nobody wrote a line: their forms follow from the scene.
SIBLINGS: dict[str, list[tuple[dict[str, Any], dict[str, str]]]] = {
    "pusht": [
        ({"block_shape": shape}, {"drive": "PD", "block": "pushed", "response": "quasi-static", "contact": "smooth"})
        for shape in ("square", "hexagon", "disc", "L")
    ]
    + [
        ({"friction": 0.5}, {"drive": "PD", "block": "pushed", "response": "quasi-static", "contact": "rough"}),
        ({"response": "inertial"}, {"drive": "PD", "block": "pushed", "response": "inertial", "contact": "smooth"}),
        (
            {"blocks": 2},
            {"drive": "PD", "block": "pushed", "response": "quasi-static", "contact": "smooth", "blocks": "meet"},
        ),
    ],
    "tworoom": [({"rooms": 3}, {"transport": "linear", "obstacles": "border-and-wall"})],
    "reacher": [({"links": 3}, {"space": "joint", "order": "second", "limits": "elbow-and-wrist"})],
    "cube": [({"blocks": 2}, {"object": "gripped", "effector": "lagged", "release": "falls", "blocks": "stack"})],
}
# What a sibling's foresight is judged by: the quantity of its task, against a tenth of the success radius.
JUDGED = {
    "pusht": ("block_px", 20.0),
    "tworoom": ("agent_px", 16.0),
    "reacher": ("finger_m", 0.05),
    "cube": ("block_m", 0.04),
}
FORESEEN_STEPS = 25
TASK_SEED = 42
NOMINAL = {
    "pusht": {"drive": "PD", "block": "pushed", "response": "quasi-static", "contact": "smooth"},
    "tworoom": {"transport": "linear", "obstacles": "border-and-wall"},
    "reacher": {"space": "joint", "order": "second", "limits": "wrist"},
    "cube": {"object": "gripped", "effector": "lagged", "release": "falls"},
}


def stated(name: str, constants: Any) -> dict[str, float]:
    """The constants of a domain's law that its simulator states, under their names in the program; of Cube's, which
    sums up what six joints under a controller do, none.
    """
    if name == "pusht":
        _, _, (block, *_) = build(constants)
        drive = {"AGENT_REACH": constants.reach, "AGENT_GAIN": constants.gain, "AGENT_DAMPING": constants.damping}
        return drive | {
            "STEP_SECONDS": constants.substeps * PHYSICS_STEP_S,
            "SUBSTEPS": constants.substeps,
            "BLOCK_INERTIA": block.moment / block.mass,
            "BLOCK_CENTER_Y": block.center_of_gravity.y,
        }
    if name == "tworoom":
        return {"AGENT_SPEED": constants.speed}
    if name == "reacher":
        lengths = {"UPPER_ARM_LENGTH": constants.link1, "FOREARM_LENGTH": constants.link2}
        return lengths | {
            "HINGE_DAMPING": constants.damping / constants.gear,
            "WRIST_LIMIT": float(np.radians(constants.wrist_limit)),
        }
    return {}


def off(name: str, constants: Any, values: Mapping[str, float | int]) -> dict[str, float]:
    """How far found constants are from the stated ones, as shares of these."""
    return {
        constant: abs(values[constant] / truth - 1)
        for constant, truth in stated(name, constants).items()
        if truth and constant in values
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("domain", nargs="?", choices=sorted(NOMINAL))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--cases", nargs="+", default=["nominal", "varied", "changed"])
    parser.add_argument("--fit", action="store_true", help="also collect episodes and run level 2")
    parser.add_argument(
        "--plan", type=int, default=0, metavar="N", help="with --fit: also plan N tasks with the program alone"
    )
    parser.add_argument("--planner", default="paper", help="with --plan: a planner's name; `paper` is the frozen one")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME=VALUE",
        help="of changed worlds and siblings, only those with such a constant",
    )
    parser.add_argument(
        "--keep", type=Path, help="with --fit: folder for programs; one that is there is not induced anew"
    )
    parser.add_argument("--table", type=Path, help="print the rows of the siblings in this folder, and do nothing else")
    options = parser.parse_args()
    if options.table is not None:
        print_table(options.table)
        return
    if options.domain is None or options.out is None or (options.plan and not options.fit):
        parser.error("a domain and --out are needed, and --plan needs --fit")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    keep_compiled()
    domain = load_domain(options.domain)
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    with options.out.open("a") as file:
        for case in options.cases:
            for seed in range(options.seeds):
                for vary, expected in worlds(domain, case, seed):
                    if options.only and not any(f"{name}={value}" in options.only for name, value in vary.items()):
                        continue
                    key = {"domain": domain.name, "case": case, "seed": seed, "vary": vary, "fit": options.fit}
                    key |= {"tasks": options.plan, "planner_name": options.planner} if options.plan else {}
                    if any(all(row.get(name) == value for name, value in key.items()) for row in done):
                        continue
                    if options.plan:
                        row = key | end_to_end(domain, vary, expected, seed, options)
                    else:
                        row = key | run(domain, vary, expected, seed, fit=options.fit)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
                    print(
                        f"{case} {seed} {vary or ''}: {row['sketch']} "
                        f"{'right' if row['right'] else 'WRONG'} {row['seconds']:.0f} s",
                        flush=True,
                    )


def worlds(domain: Domain, case: str, seed: int) -> list[tuple[dict[str, Any], Mapping[str, str]]]:
    """The constants to change in one run of a case, and the choices that are then right."""
    if case in ("changed", "siblings"):
        return [(vary, expected) for vary, expected in (CHANGED if case == "changed" else SIBLINGS)[domain.name]]
    if case == "nominal":
        return [({}, NOMINAL[domain.name])]
    rng = np.random.default_rng(1000 + seed)
    factors = {name: float(np.exp(rng.uniform(*np.log(limits)))) for name, limits in VARIED[domain.name].items()}
    nominal = {row["name"]: row["value"] for row in domain.constants.table()}
    return [({name: float(f"{factor * nominal[name]:.4g}") for name, factor in factors.items()}, NOMINAL[domain.name])]


def run(
    domain: Domain, vary: Mapping[str, Any], expected: Mapping[str, str], seed: int, *, fit: bool
) -> dict[str, Any]:
    """Level 1, and with `fit` level 2 as well, on one world."""
    constants = domain.constants.varied(vary)
    domain = domain.of(constants)
    box = black_box(domain, constants)
    began = time.perf_counter()
    if fit:
        recordings = trajectories_of(collect(domain, constants, episodes=EPISODES, seed=seed, pixels=False))
        induction = induce(domain, box, recordings, seed=seed)
        assert induction.evidence is not None
        evidence, values, errors = induction.evidence, dict(induction.fit.values), induction.errors
    else:
        evidence = choose_form(domain, box, np.random.default_rng(seed))
        values, errors = dict(evidence.winner.fit.values) if evidence.winner.fit else {}, {}
    choices = evidence.winner.sketch.choices
    return {
        "sketch": evidence.winner.sketch.name,
        "right": all(choices[axis] == value for axis, value in expected.items()),
        "explained": evidence.winner.explained,
        "probes": len(evidence.probes),
        "unexplained": list(evidence.unexplained),
        "constants": values,
        "off": off(domain.name, constants, values),
        "rollout_error": errors,
        "seconds": time.perf_counter() - began,
    }


def end_to_end(
    domain: Domain, vary: Mapping[str, Any], expected: Mapping[str, str], seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Both levels on one world, then foresight and planning with the program on episodes that it was not fitted to."""
    constants = domain.constants.varied(vary)
    domain, keep = domain.of(constants), options.keep
    folder = (
        make_folder(keep / "-".join([domain.name, *(f"{name}={value}" for name, value in vary.items()), str(seed)]))
        if keep
        else None
    )
    found = induced(domain, constants, seed, folder)
    program = Program(found["text"]).check(domain.scene.state_space, domain.layout.action.width)
    episodes = tuple(collect(domain, constants, episodes=TASK_EPISODES, seed=TASK_EPISODES_SEED, pixels=False))
    rng = np.random.default_rng(TASK_SEED)
    errors = errors_by_horizon(program, trajectories_of(for_tasks(episodes)), domain, rng, FORESEEN_STEPS)
    quantity, radius = JUDGED[domain.name]
    config = EvalConfig(
        domain=domain, constants=constants, vary={name: str(value) for name, value in vary.items()}, method="vpw", program=program,
        observe="oracle", score="induced", episodes=episodes, source="collected", count=options.plan, offset=25, seed=TASK_SEED,
        metric=next(iter(domain.metrics)), planner_name=options.planner,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as fresh:
        results = folder / "results" if folder else Path(fresh)
        began = time.perf_counter()
        planned = report(config, list(measure(make_folder(results), config)), measure_floors(results, config))
    best = found["candidates"][0]
    return {
        "sketch": found["sketch"],
        "right": all(found["choices"][axis] == value for axis, value in expected.items()),
        "explained": best["explained"],
        "probes": best["probes"],
        "lines": len(found["text"].splitlines()),
        "rollout_error": errors,
        "error_of_radius": {key: errors[quantity][FORESEEN_STEPS][key] / radius for key in ("median", "mean", "p90")},
        **{
            name: planned[name]
            for name in ("success", "n", "success_unsolved", "n_unsolved", "floor_zero", "floor_random", "planner")
        },
        "seconds": found["seconds"],
        "seconds_planning": time.perf_counter() - began,
    }


def induced(domain: Domain, constants: Constants, seed: int, folder: Path | None) -> dict[str, Any]:
    """What `vpw induce` says, and the program's text; read from the folder where it is there."""
    if folder is not None and (folder / "induction.json").exists():
        return json.loads((folder / "induction.json").read_text()) | {"text": (folder / "world_model.py").read_text()}
    episodes = list(collect(domain, constants, episodes=EPISODES, seed=seed, pixels=False))
    induction = induce_from(domain, constants, episodes, seed=seed)
    found = summary(domain, induction, None)
    if folder is not None:
        (folder / "world_model.py").write_text(induction.program.text)
        (folder / "induction.json").write_text(json.dumps(found) + "\n")
    return found | {"text": induction.program.text}


def print_table(folder: Path) -> None:
    """One line per sibling."""
    print(
        "| world | form | probes | 25-step error / radius: median, p90 | planned | at rest, at random | s to induce |"
    )
    print("|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.jsonl")):
        for row in map(json.loads, path.read_text().splitlines()):
            world = " ".join([row["domain"], *(f"{name}={value}" for name, value in row["vary"].items())])
            error, form = row["error_of_radius"], row["sketch"] + ("" if row["right"] else " (WRONG)")
            floors = f"{row['floor_zero']:.0f}, {row['floor_random']:.0f} %"
            print(
                f"| {world} | {form} | {row['explained']}/{row['probes']} | {error['median']:.2g}, {error['p90']:.2g} "
                f"| {row['success']:.0f} % of {row['n']} | {floors} | {row['seconds']:.0f} |"
            )


if __name__ == "__main__":
    main()
