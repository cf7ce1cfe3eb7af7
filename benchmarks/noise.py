"""Noise of observations: laws found from noisy steps of known worlds, and how often standard errors hold; resumable.

Usage: python benchmarks/noise.py [--only Pendulum-v1 ...] [--part 0.01] [--seeds 3] [--coverage 100]

A line per world and seed goes to results/worlds/noise.jsonl: the form, the verdict, the error beside what noise alone
makes, and the noise that was told beside the noise that was added. A line per world of coverage goes to
results/worlds/coverage.jsonl.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from lines import Lines

from visualpatchworld.induction.chains import propose_chains
from visualpatchworld.induction.draft import Stretches
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.march import march
from visualpatchworld.induction.search import Found, search_dynamics
from visualpatchworld.induction.shooting import refine_noisy
from visualpatchworld.induction.verdict import expected_error
from visualpatchworld.world.collect import collect
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

ROOT = Path(__file__).parents[1]
STEPS = 2000
WINDOWS, LENGTH = 40, 20  # of every trial of coverage
HIDDEN = {"Pendulum-v1": (0, 1), "CartPole-v1": (0, 2)}  # columns that stay where velocities are hidden


def quadrotor(steps: int, rng: np.random.Generator) -> tuple[list[Trajectory], ActionSpace, None]:
    """A planar body with two thrusters, moved by its new velocities."""
    space = ActionSpace("continuous", (0.0, 0.0), (1.0, 1.0), names=("left", "right"))
    mass, arm, inertia, most, dt = 1.1, 0.21, 0.025, 8.0, 0.02
    out = []
    for _ in range(steps // 100):
        state, seen, acted = rng.normal(size=6) * [1, 1, 0.3, 0.5, 0.5, 0.5], [], []
        seen.append(state)
        for t in range(100):
            action = np.clip(mass * 9.81 / 2 / most + 0.08 * rng.normal(size=2), 0, 1) if t % 4 == 0 else acted[-1]
            left, right = most * action
            rates = [
                -(left + right) * np.sin(state[2]) / mass,
                (left + right) * np.cos(state[2]) / mass - 9.81,
                (left - right) * arm / inertia,
            ]
            speeds = state[3:] + dt * np.array(rates)
            state = np.concatenate([state[:3] + dt * speeds, speeds])
            seen.append(state)
            acted.append(action)
        out.append(Trajectory(np.array(seen), np.array(acted)))
    return out, space, None


def recorded(name: str, seed: int) -> tuple[list[Trajectory], ActionSpace, tuple[str, ...] | None]:
    """Clean steps of a world; an environment is stepped as `vpw induce` does."""
    rng = np.random.default_rng(seed)
    if name == "quadrotor":
        return quadrotor(STEPS, rng)
    world = open_world(name)
    return collect(world, STEPS, rng), world.action_space, world.field_names


def noised(
    trajectories: list[Trajectory], part: float, rng: np.random.Generator
) -> tuple[list[Trajectory], np.ndarray]:
    """The trajectories with noise of this part of every field's one-step spread, and its level."""
    level = part * np.std(np.concatenate([np.diff(t.observations, axis=0) for t in trajectories]), axis=0)
    return [
        Trajectory(t.observations + rng.normal(size=t.observations.shape) * level, t.actions) for t in trajectories
    ], level


def search(name: str, part: float, seed: int, hidden: bool, seconds: float) -> tuple[Found, np.ndarray]:
    """What the search finds in noisy steps of a world."""
    clean, space, names = recorded(name, seed)
    if hidden:
        columns = list(HIDDEN[name])
        clean = [Trajectory(t.observations[:, columns], t.actions) for t in clean]
        names = tuple(names[c] for c in columns) if names else None
    seen, level = noised(clean, part, np.random.default_rng((seed, 1)))
    seen = [t for t in seen if len(t) >= 4]
    given = None if names is None or all(n.startswith("o") and n[1:].isdigit() for n in names) else names
    reading = read_fields(seen, space, given)
    return search_dynamics(seen, space, reading=reading, chains=propose_chains, seconds=seconds), level


def measured(name: str, part: float, seed: int, hidden: bool, seconds: float) -> dict[str, Any]:
    """One search, as a line holds it."""
    began, cpu = time.perf_counter(), time.process_time()
    found, level = search(name, part, seed, hidden, seconds)
    best = found.evidence[0]
    values = found.draft.program.constants
    return {
        "name": name, "part": part, "seed": seed, "hidden": hidden, "verdict": found.verdict, "why": found.why,
        "form": found.draft.name, "laws": [[law, list(bodies)] for law, bodies in found.draft.laws],
        "constants": {key: {"value": values[key], "stderr": found.draft.stderr.get(key)} for key in found.draft.free},
        "error": best.error, "expected": expected_error(best), "noise_added": level,
        "noise_told": dict(zip(best.experience.names, found.noise, strict=True)),
        "wall_seconds": round(time.perf_counter() - began, 1), "cpu_seconds": round(time.process_time() - cpu, 1),
    }  # fmt: skip


def coverage(name: str, part: float, trials: int, seconds: float) -> dict[str, Any]:
    """How often two standard errors hold the truth: the program found
    without noise gives clean windows, noise is drawn anew each time.
    """
    found, _ = search(name, 0.0, 0, False, seconds)
    draft = found.draft
    truth = {key: float(draft.program.constants[key]) for key in draft.free}
    data = found.evidence[0].experience
    rng = np.random.default_rng(7)
    starts = np.concatenate([s[: max(1, len(s) - 1)] for s in data.states])
    acted = np.concatenate(data.actions)
    level = part * np.std(data.rows.after - data.rows.before, axis=0)
    inside, off = [], []
    for _ in range(trials):
        begin = starts[rng.integers(len(starts), size=WINDOWS)]
        actions = acted[rng.integers(len(acted), size=(WINDOWS, LENGTH))]
        whole = np.concatenate([begin[:, None], march(draft.program, begin, actions)], axis=1)
        seen = whole + rng.normal(size=whole.shape) * level
        shot = refine_noisy(draft, Stretches(seen[:, 0], actions, seen[:, 1:]), seen=data.seen)
        z = np.array(
            [(shot.draft.program.constants[key] - truth[key]) / max(shot.draft.stderr[key], 1e-300) for key in truth]
        )
        inside.append(np.abs(z) < 1.96)
        off.append(z)
    kept = np.mean(inside, axis=0)
    return {
        "name": name, "part": part, "trials": trials, "windows": WINDOWS, "length": LENGTH, "covered_95": float(np.mean(kept)),
        "by_constant": dict(zip(truth, (float(k) for k in kept), strict=True)), "spread_of_errors": float(np.sqrt(np.mean(np.square(off)))),
    }  # fmt: skip


def main() -> None:
    worlds = ("Pendulum-v1", "CartPole-v1", "MountainCarContinuous-v0", "quadrotor")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(worlds), choices=worlds)
    parser.add_argument("--part", type=float, default=0.01, help="noise, as a part of each field's one-step spread")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--hidden", action="store_true", help="with velocities hidden and without noise, where that is asked"
    )
    parser.add_argument(
        "--coverage", type=int, default=0, metavar="TRIALS", help="measure coverage of standard errors instead"
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "worlds")
    options = parser.parse_args()
    if options.coverage:
        lines = Lines(options.results / "coverage.jsonl", ("name", "part", "trials"))
        for name in options.only:
            if not lines.has(name=name, part=options.part, trials=options.coverage):
                lines.put(record := coverage(name, options.part, options.coverage, options.seconds))
                print(
                    f"{name}: {record['covered_95']:.3f} of the constants within 1.96 standard errors, asked 0.95",
                    flush=True,
                )
        return
    lines = Lines(options.results / "noise.jsonl", ("name", "part", "seed", "hidden"))
    part = 0.0 if options.hidden else options.part
    for name in options.only:
        for seed in range(options.seeds):
            if (options.hidden and name not in HIDDEN) or lines.has(
                name=name, part=part, seed=seed, hidden=options.hidden
            ):
                continue
            lines.put(record := measured(name, part, seed, options.hidden, options.seconds))
            told = f"error {record['error']:.2g}, noise alone {record['expected']:.2g}"
            print(f"{name} seed {seed}: {record['verdict']}, {record['form']}; {told}", flush=True)


if __name__ == "__main__":
    main()
