"""How fast programs plan, against their engines, in the same run.

    python benchmarks/speed.py                                    all domains, programs from runs/DOMAIN/world_model.py
    python benchmarks/speed.py --planners default,icem,mppi       other planners than the paper's
    python benchmarks/speed.py --export workloads.json            only write down what is to be measured
    python benchmarks/speed.py --workloads workloads.json --program-only --out speed.json

The last runs on a machine with nothing but jax, numpy, jaxtyping, scipy and pydantic, and uses a GPU where JAX finds
one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from workload import Workload, make_workload, read_workloads, without_engines, write_workloads

REPEATS, ENGINE_REPEATS = 15, 3
SAMPLES = (100, 300, 1000, 3000, 10_000)  # candidates per round, for how the time of a plan grows
GPU_SAMPLES = (60_000,)  # as well, where there is a GPU to fill
CANDIDATES, HORIZON = 600, 25  # of the rollouts that steps per second are counted in
ENGINE_SEQUENCES = 12  # of those, per repeat; enough steps for a steady rate
MIB = 2**20


def main() -> None:
    options = _options()
    if options.child:
        print(
            json.dumps(measure(read_workloads(options.workloads)[options.child], options.program_only, options.repeats))
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.workloads or options.export or Path(folder) / "workloads.json"
        if not options.workloads:
            asked = [(name, planner) for name in _names(options.domains) for planner in options.planners.split(",")]
            write_workloads(
                path, [make_workload(name, _program(name, options.programs), planner) for name, planner in asked]
            )
        if options.export:
            return
        names = [
            key
            for key, workload in read_workloads(path).items()
            if not options.domains or workload.domain in options.domains
        ]
        rows = []
        for name in names:  # each in a process of its own: memory and compilation start from nothing
            print(f"{name} ...", file=sys.stderr)
            command = [
                sys.executable,
                __file__,
                "--workloads",
                str(path),
                "--child",
                name,
                "--repeats",
                str(options.repeats),
            ]
            done = subprocess.run(
                [*command, *["--program-only"] * options.program_only], stdout=subprocess.PIPE, text=True, check=True
            )
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(told(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def measure(workload: Workload, program_only: bool, repeats: int) -> dict[str, Any]:
    """One domain: the program alone first, so that the peak of memory is its own, then both in turns."""
    if program_only:
        without_engines()
    import jax

    from visualpatchworld import __version__
    from visualpatchworld.plan.scorer import InducedScorer
    from visualpatchworld.program.program import Program
    from visualpatchworld.program.rollout import compile_rollouts, spread_over_cores

    cores = len(os.sched_getaffinity(0))
    spread_over_cores(cores)
    program, cost, planner = Program(workload.program), workload.cost(), _planner(workload)
    scorer = InducedScorer(program, cost)
    plan = _planning(workload, planner, scorer)
    first = _seconds(plan)
    plan_seconds = [_seconds(plan) for _ in range(repeats)]
    actions = np.random.default_rng(0).uniform(-1, 1, (CANDIDATES, HORIZON, workload.action_dim))
    samples = SAMPLES + (GPU_SAMPLES if jax.default_backend() == "gpu" else ())
    rollouts, state = compile_rollouts(program), np.array(workload.state)

    def roll() -> None:
        rollouts(state, actions).block_until_ready()  # pyright: ignore[reportArgumentType]

    _seconds(roll)
    roll_seconds = [_seconds(roll) for _ in range(repeats)]
    whole = (
        _planning(workload, dataclasses.replace(planner, enough=0.0), scorer)
        if getattr(planner, "enough", 0.0)
        else plan
    )
    whole()
    row = {
        "domain": workload.domain,
        "version": __version__,
        "jax": jax.__version__,
        "program_hash": program.hash,
        "planner_name": workload.planner_name,
        "planner": planner.title,
        "steps_per_sample": planner.horizon * planner.rollouts_per_plan // (len(workload.macros) or planner.samples),
        "whole_plan_s": _spread([_seconds(whole) for _ in range(repeats)]),
        "device": jax.devices()[0].device_kind,
        "num_devices": len(jax.devices()),
        "cores": cores,
        "plan_s": _spread(plan_seconds),
        "compile_s": first - float(np.median(plan_seconds)),
        "steps_per_s": CANDIDATES * HORIZON / float(np.median(roll_seconds)),
        "plan_s_by_samples": {str(n): _plan_seconds_at(workload, n, InducedScorer(program, cost)) for n in samples},
        "peak_host_mib": _peak_host_mib(),
        "peak_device_mib": (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / MIB or None,
    }
    return row if program_only else row | _against_engine(workload, planner, cost, plan, roll)


def _against_engine(
    workload: Workload, planner: Any, cost: Any, plan: Callable[[], None], roll: Callable[[], None]
) -> dict[str, Any]:
    """Program and engine in turns, so that whatever else the machine does falls on both alike."""
    from visualpatchworld.domain import load_domain
    from visualpatchworld.plan.scorer import EngineScorer

    engine = load_domain(workload.domain).make()
    engine_plan = _planning(workload, planner, EngineScorer(engine, cost))
    sequences = np.random.default_rng(0).uniform(-1, 1, (ENGINE_SEQUENCES, HORIZON, workload.action_dim))

    def engine_roll() -> None:
        for sequence in sequences:
            engine.set_engine_state(np.array(workload.engine_state))
            for action in sequence:
                engine.advance(action)

    engine_plan()
    engine_roll()
    plans = [(_seconds(plan), _seconds(engine_plan)) for _ in range(ENGINE_REPEATS)]
    rolls = [(_seconds(roll), _seconds(engine_roll)) for _ in range(REPEATS)]
    return {
        "plan_ratio": _spread([by_engine / by_program for by_program, by_engine in plans]),
        "engine_plan_s": _spread([by_engine for _, by_engine in plans]),
        "steps_ratio": _spread(
            [(by_engine / ENGINE_SEQUENCES) / (by_program / CANDIDATES) for by_program, by_engine in rolls]
        ),
        "engine_steps_per_s": ENGINE_SEQUENCES * HORIZON / float(np.median([by_engine for _, by_engine in rolls])),
    }


def _planner(workload: Workload) -> Any:
    from visualpatchworld.plan.cem import CEM, ICEM, MPPI, Polished
    from visualpatchworld.plan.planner import Shooting

    return {kind.__name__: kind for kind in (CEM, ICEM, Polished, MPPI, Shooting)}[workload.planner_kind](
        **workload.planner
    )


def _planning(workload: Workload, planner: Any, scorer: Any) -> Callable[[], None]:
    """A plan for the workload's task, ready to be made again and again."""
    import jax

    from visualpatchworld.plan.planner import Situation, shooting_search
    from visualpatchworld.plan.sampling import sampling_search

    search = shooting_search(np.array(workload.macros), scorer) if workload.macros else sampling_search(planner, scorer)
    situation = Situation(np.array(workload.state), np.array(workload.goal), np.array(workload.engine_state))
    start, key = np.zeros((planner.horizon, workload.action_dim)), jax.random.key(0)

    def plan() -> None:
        search(situation, start, key)

    return plan


def _plan_seconds_at(workload: Workload, samples: int, scorer: Any) -> float:
    """The median time of a plan with so many candidates per round."""
    planner = _planner(workload)
    if workload.macros:
        macros = np.array(workload.macros)[np.arange(samples) % len(workload.macros)]
        workload, planner = (
            dataclasses.replace(workload, macros=macros.tolist()),
            dataclasses.replace(planner, macros=samples),
        )
    else:
        elites = {"elites": max(1, samples // 10)} if hasattr(planner, "elites") else {}
        planner = dataclasses.replace(planner, samples=samples, **elites)
    plan = _planning(workload, planner, scorer)
    plan()
    return float(np.median([_seconds(plan) for _ in range(5)]))


def told(row: dict[str, Any]) -> str:
    """A row for people: the ratio first, since it means more on another machine than seconds do."""
    ratio, steps = row.get("plan_ratio"), row.get("steps_ratio")
    against = f", engine {row['engine_plan_s']['median']:.3g} s" if ratio else ""
    lines = [
        f"{row['domain']}: {row['planner']}; {row['num_devices']} x {row['device']}, {row['cores']} cores",
        *([f"  plan: {_range(ratio)} times as fast as under the engine"] if ratio else []),
        f"  plan: {row['plan_s']['median']:.4g} s{against}; {row['whole_plan_s']['median']:.4g} s "
        "where nothing ends it early; "
        f"compiled in {row['compile_s']:.1f} s",
        *(
            [f"  rollouts: {_range(steps)} times as many steps per second as the engine in one process"]
            if steps
            else []
        ),
        f"  rollouts: {row['steps_per_s']:,.0f} steps/s"
        + (f", engine {row['engine_steps_per_s']:,.0f}" if steps else ""),
        "  plan by samples: " + ", ".join(f"{n}: {seconds:.3g} s" for n, seconds in row["plan_s_by_samples"].items()),
        f"  planning: up to {_steps_while_planning(row):,.0f} steps/s",
        f"  peak memory: {row['peak_host_mib']:.0f} MiB"
        + (f", on the device {row['peak_device_mib']:.0f}" if row["peak_device_mib"] else ""),
    ]
    return "\n".join(lines)


def _peak_host_mib() -> float:
    """Of this process alone: what getrusage tells begins with what its parent held."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _steps_while_planning(row: dict[str, Any]) -> float:
    """Steps foreseen per second of planning, at the number of samples where that is most."""
    return max(int(n) * row["steps_per_sample"] / seconds for n, seconds in row["plan_s_by_samples"].items())


def _range(spread: dict[str, float]) -> str:
    return f"{spread['median']:.3g} ({spread['min']:.3g} to {spread['max']:.3g})"


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": float(np.median(values)), "min": min(values), "max": max(values), "n": len(values)}


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _names(asked: list[str]) -> list[str]:
    from visualpatchworld.domain import find_domains

    return asked or list(find_domains())


def _program(name: str, folder: Path) -> Path:
    """The program of a domain, induced where there is none yet."""
    path = folder / name / "world_model.py"
    if not path.exists():
        command = [sys.executable, "-m", "visualpatchworld", "induce", name, "--out", str(path.parent), "--json"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return path


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domains", nargs="*", metavar="DOMAIN", help="all when none is named")
    parser.add_argument(
        "--programs", type=Path, default=Path("runs"), metavar="DIR", help="where DIR/DOMAIN/world_model.py lie"
    )
    parser.add_argument(
        "--planners", default="paper", metavar="NAME,NAME", help="of the domains' planners: paper, default, icem, ..."
    )
    parser.add_argument(
        "--export", type=Path, metavar="FILE.json", help="write what is to be measured, and measure nothing"
    )
    parser.add_argument("--workloads", type=Path, metavar="FILE.json", help="measure what was exported")
    parser.add_argument("--program-only", action="store_true", help="leave the engines out; they need not be installed")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also keep the figures as JSON")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
