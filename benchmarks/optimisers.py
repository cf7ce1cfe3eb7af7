"""How constants are best fitted: least squares against Adam,
and exact Jacobians against differences, on PushT's contact law.

Usage: python benchmarks/optimisers.py [--out results/optimisers.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from recovery import off

from visualpatchworld.domain import load_domain
from visualpatchworld.induction.fit import descend
from visualpatchworld.induction.loss import Loss, Model, Stage, Trial, motion_weights, softness
from visualpatchworld.induction.windows import cut_windows, trajectories_of
from visualpatchworld.program.source import unfitted
from visualpatchworld.trace.episode import collect

SKETCH = "PD+pushed+quasi-static+smooth"
EPISODES, NUM_WINDOWS, DRAWS = 40, 24, 256
HORIZONS = (1, 5, 25)
ROUNDS, EVALUATIONS = 4, 50  # of least squares, for each horizon
ADAM_STEPS, ADAM_RATES = ROUNDS * EVALUATIONS, (0.003, 0.01, 0.03)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/optimisers.json"))
    options = parser.parse_args()
    with jax.enable_x64(True):
        found = measure()
    options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def measure() -> dict[str, Any]:
    domain, rng = load_domain("pusht"), np.random.default_rng(0)
    recordings = trajectories_of(collect(domain, domain.constants, episodes=EPISODES, seed=0, pixels=False))
    windows = cut_windows(recordings, HORIZONS[-1], NUM_WINDOWS, rng)
    form, space = domain.family().named(SKETCH), domain.scene.state_space
    weights, jacobians = motion_weights(windows, space), {}
    for name, exact in (("differences", False), ("exact", True)):
        model = Model(unfitted(form), form.constants, space, exact=exact)
        loss = Loss(model, windows, weights, HORIZONS[-1])
        substeps = domain.constants.substeps  # pyright: ignore[reportAttributeAccessIssue]
        middle = Trial(np.full(len(model.free), 0.5), (substeps,))
        began = time.process_time()
        loss.jacobian(middle)
        compiled = time.process_time() - began
        jacobians[name] = {
            "compile_cpu_s": compiled,
            "evaluate_s": _median_seconds(lambda loss=loss, trial=middle: loss.jacobian(trial)),
        }
    places = rng.uniform(size=(DRAWS, len(model.free)))
    start = Trial(places[int(np.argmin(loss.costs(places, middle.options)))], middle.options)
    stages = [Stage(horizon=horizon, trials=1, rounds=ROUNDS, evaluations=EVALUATIONS) for horizon in HORIZONS]
    methods: dict[str, Callable[[], Trial]] = {
        "trust-region least squares (scipy)": lambda: _least_squares(model, loss, start, stages)
    }
    for rate in ADAM_RATES:
        methods[f"Adam, step {rate}, {ADAM_STEPS * len(HORIZONS)} steps"] = lambda rate=rate: _adam(loss, start, rate)
    rows = []
    for name, method in methods.items():
        began = time.perf_counter()
        trial = method()
        seconds = time.perf_counter() - began
        values = {name: float(value) for name, value in model.values(trial.place, trial.options).items()}
        rows.append({"method": name, "seconds": seconds, "off": off("pusht", domain.constants, values)})
        print(rows[-1], flush=True)
    return {"jacobians": jacobians, "optimisers": rows}


def _least_squares(model: Model, loss: Loss, trial: Trial, stages: list[Stage]) -> Trial:
    for stage in stages:
        trial = descend(model, loss, trial, stage)
    return trial


def _adam(loss: Loss, trial: Trial, rate: float) -> Trial:
    """Kingma and Ba's Adam on the same robust cost, with its usual constants, inside the unit box."""
    place = trial.place.copy()
    for horizon in HORIZONS:
        mean, square = np.zeros_like(place), np.zeros_like(place)
        soft = softness(loss.residuals(Trial(place, trial.options), horizon))
        for step in range(1, ADAM_STEPS + 1):
            here = Trial(place, trial.options)
            residuals = loss.residuals(here, horizon)
            slope = loss.jacobian(here, horizon).T @ (residuals / np.sqrt(1 + (residuals / soft) ** 2))
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            move = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
            place = np.clip(place - rate * move, 0.0, 1.0)
    return Trial(place, trial.options)


def _median_seconds(work: Callable[[], object], repeats: int = 9) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


if __name__ == "__main__":
    main()
