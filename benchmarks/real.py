"""Logs of real machines: a program from the part to learn from, simulated freely over the part that judges; resumable.

Usage: python benchmarks/real.py [--only pendulum silverbox ball_and_beam] [--data ../shared/reference/real] [--seconds
60]

A line per log and reading of its input goes to results/worlds/real.jsonl; the programs to programs/worlds/.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from lines import Lines

from visualpatchworld.cli._verb import keep_compiled
from visualpatchworld.induction.discover import Discovery, discover, summary
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout
from visualpatchworld.world.log import neighbours
from visualpatchworld.world.open import open_world

ROOT = Path(__file__).parents[1]
SILVERBOX_HZ = 610.35
ARROW = 40_000  # samples of the test record
BALL_HZ = 10.0
BALL_TRAIN = 700
ARX_ORDERS = (1, 2, 3, 4)

Say = Callable[[str], None]


def simulated(program: Program, start: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """A free simulation, in double precision."""
    with jax.enable_x64(True):
        dynamics = program.bind("jax")
        return np.asarray(jax.jit(lambda s, a: rollout(dynamics, s, a))(jnp.asarray(start), jnp.asarray(actions)))


def root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def told(found: Discovery, name: str, programs: Path, began: float, cpu: float) -> dict[str, Any]:
    """The discovery as a line holds it; its program goes to its folder."""
    path = programs / name / "world_model.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(found.program.text, encoding="utf-8")
    full = summary(found, str(path.relative_to(programs.parent)))
    kept = ("form", "laws", "fields", "dt", "integrator", "constants", "verdict", "why", "program", "program_hash")
    record = {"name": name, "ok": True} | {key: full[key] for key in kept}
    spent = {"wall_seconds": round(time.perf_counter() - began, 1), "cpu_seconds": round(time.process_time() - cpu, 1)}
    return record | {"lines": len(found.program.text.splitlines())} | spent


def pendulum(folder: Path, programs: Path, seconds: float, say: Say) -> list[dict[str, Any]]:
    """A pendulum that swings freely: both fields are recorded, the last pieces are held out by the log itself."""
    began, cpu = time.perf_counter(), time.process_time()
    world = open_world(str(folder / "single_pendulum.npz"))
    found = discover(world, seconds=seconds, progress=say)
    record = told(found, "real-pendulum", programs, began, cpu)
    scores, again = [], []
    for piece in world.held_out():
        given = simulated(found.program, piece.observations[0], piece.actions)
        scores.append(root_mean_square(given[:, 0] - piece.observations[1:, 0]))
        second = round(1 / found.reading.dt)
        for first in range(0, len(piece) - second, second):
            given = simulated(found.program, piece.observations[first], piece.actions[first : first + second])
            again.append(root_mean_square(given[:, 0] - piece.observations[first + 1 : first + second + 1, 0]))
    record |= {
        "unit": "rad",
        "rmse": scores,
        "rmse_of_seconds": float(np.mean(again)),
        "test": "free simulation of each held-out piece",
    }
    return [record]


def silverbox(folder: Path, programs: Path, seconds: float, say: Say) -> list[dict[str, Any]]:
    """An oscillator in electronics whose velocity is hidden: how
    its input goes between samples is asked, and told to be held.
    """
    table = np.loadtxt(folder / "silverbox.csv", delimiter=",", skiprows=1)
    inputs, outputs = table.T
    records = []
    for reading in ("asked", "held"):
        began, cpu = time.perf_counter(), time.process_time()
        learn = {
            "observations": outputs[ARROW:, None],
            "actions": inputs[ARROW:-1, None],
            "dt": 1 / SILVERBOX_HZ,
            "names": ["output_v"],
        }
        found = discover(open_world(learn), seconds=seconds, held_input=reading == "held", progress=say)
        shown = outputs[1:-1]
        acted = neighbours(inputs[:, None]) if "_next" in found.program.text.split('"""')[1] else inputs[1:-1, None]
        arrays = learn | {"observations": shown[:ARROW, None], "actions": acted[: ARROW - 1]}
        record = told(found, f"real-silverbox-{reading}", programs, began, cpu)
        start = found.reading.states(open_world(arrays).logged()[0])[1]
        given = simulated(found.program, start, acted[1 : ARROW - 1])[:, 0]
        off = 1000 * (given - shown[2:ARROW])
        record |= {
            "unit": "mV",
            "rmse": [root_mean_square(off)],
            "rmse_first_30000": root_mean_square(off[:30_000]),
            "input": reading,
        }
        record["linear_rmse"] = 1000 * linear(inputs[ARROW:], outputs[ARROW:], inputs[:ARROW], outputs[:ARROW])[0]
        record["test"] = "free simulation of the first 40,000 samples from their first two outputs"
        records.append(record)
    return records


def ball_and_beam(folder: Path, programs: Path, seconds: float, say: Say) -> list[dict[str, Any]]:
    """A ball on a beam, the velocity hidden: first 700 samples to learn from, last 300 to judge."""
    began, cpu = time.perf_counter(), time.process_time()
    table = np.loadtxt(folder / "ball_and_beam.csv", delimiter=",", skiprows=1)
    angle, place = table.T
    arrays = {
        "observations": place[:, None],
        "actions": angle[:-1, None],
        "dt": 1 / BALL_HZ,
        "names": ["ball_position"],
    }
    first = {**arrays, "observations": place[:BALL_TRAIN, None], "actions": angle[: BALL_TRAIN - 1, None]}
    found = discover(open_world(first), seconds=seconds, progress=say)
    record = told(found, "real-ball-and-beam", programs, began, cpu)
    states = found.reading.states(open_world(arrays).logged()[0])[BALL_TRAIN:]
    acted = angle[BALL_TRAIN:-1, None]
    given = simulated(found.program, states[1], acted[1:])[:, 0]
    record |= {"unit": "recorded units", "rmse": [root_mean_square(given - place[BALL_TRAIN + 2 :])]}
    second = round(BALL_HZ)

    def over(steps: int) -> float:
        """The mean error of simulations that begin anew at every second."""
        starts = range(1, len(acted) - steps, second)
        given = [simulated(found.program, states[t], acted[t : t + steps])[:, 0] for t in starts]
        truth = [place[BALL_TRAIN + t + 1 : BALL_TRAIN + t + 1 + steps] for t in starts]
        return float(np.mean([root_mean_square(a - b) for a, b in zip(given, truth, strict=True)]))

    record["rmse_of_seconds"] = over(second)
    record["rmse_by_seconds"] = {seconds: over(seconds * second) for seconds in (1, 2, 5)}
    record["linear_rmse"], record["linear_order"], record["linear_rmse_of_seconds"] = linear(
        angle[:BALL_TRAIN], place[:BALL_TRAIN], angle[BALL_TRAIN:], place[BALL_TRAIN:], second
    )
    record["linear_rmse_by_seconds"] = {
        seconds: linear(
            angle[:BALL_TRAIN], place[:BALL_TRAIN], angle[BALL_TRAIN:], place[BALL_TRAIN:], seconds * second, second
        )[2]
        for seconds in (1, 2, 5)
    }
    record["spread_of_test"] = float(np.std(place[BALL_TRAIN:]))
    record["test"] = "free simulation of the last 300 samples from their first two positions"
    return [record]


def linear(
    inputs, outputs, test_inputs, test_outputs, second: int = 100, every: int | None = None
) -> tuple[float, int, float]:
    """A linear ARX model, its order chosen by simulating the last fifth
    of what it may learn from: error, order, error over seconds.
    """
    cut = len(inputs) * 4 // 5
    orders = {}
    for order in ARX_ORDERS:
        factors = _arx(inputs[:cut], outputs[:cut], order)
        orders[order] = root_mean_square(
            _simulate_arx(factors, inputs[cut:], outputs[cut:], order) - outputs[cut + order :]
        )
    order = min(orders, key=lambda one: orders[one])
    factors = _arx(inputs, outputs, order)
    off = _simulate_arx(factors, test_inputs, test_outputs, order) - test_outputs[order:]
    pieces = [slice(t, t + second + order) for t in range(0, len(test_inputs) - second - order, every or second)]
    again = [
        root_mean_square(_simulate_arx(factors, test_inputs[p], test_outputs[p], order) - test_outputs[p][order:])
        for p in pieces
    ]
    return root_mean_square(off), order, float(np.mean(again))


def _arx(inputs, outputs, order: int) -> np.ndarray:
    rows = [np.r_[outputs[t - order : t], inputs[t - order : t + 1], 1.0] for t in range(order, len(outputs))]
    return np.linalg.lstsq(np.array(rows), outputs[order:], rcond=None)[0]


def _simulate_arx(factors, inputs, outputs, order: int) -> np.ndarray:
    given = list(outputs[:order])
    for t in range(order, len(inputs)):
        given.append(float(np.clip(np.r_[given[-order:], inputs[t - order : t + 1], 1.0] @ factors, -1e6, 1e6)))
    return np.array(given[order:])


LOGS = {"pendulum": pendulum, "silverbox": silverbox, "ball_and_beam": ball_and_beam}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(LOGS), choices=list(LOGS))
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "reference" / "real")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "worlds")
    parser.add_argument("--programs", type=Path, default=ROOT / "programs" / "worlds")
    options = parser.parse_args()
    keep_compiled()
    lines = Lines(options.results / "real.jsonl", ("name",))
    for name in options.only:
        if not options.again and any(line["log"] == name for line in lines.read()):
            print(f"{name}: measured before")
            continue
        began = time.perf_counter()
        for record in LOGS[name](
            options.data,
            options.programs,
            options.seconds,
            lambda text, n=name, b=began: print(f"{n} {time.perf_counter() - b:6.1f} s  {text}", flush=True),
        ):
            lines.put({"log": name} | record)
            print(f"{record['name']}: {record['rmse']} {record['unit']}", flush=True)


if __name__ == "__main__":
    main()
