"""ODEBench: laws of 63 ordinary differential equations from one trajectory each, beside PySINDy; resumable.

Usage: python benchmarks/odebench.py --data strogatz_extended.json [--sindy PYTHON] [--only 1 24] [--conditions clean]

The data are odeformer/odebench/strogatz_extended.json of github.com/sdascoli/odeformer (MIT), as they are or packed
by gzip; VPW_ODEBENCH may name the file instead. A line per system, condition and method goes to
results/odebench/odebench.jsonl.

A law is found from the first trajectory alone, then simulated from the noise-free first row of either trajectory and
compared with its noise-free rows.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lines import ROOT, Lines, stamp
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.program.env import imagine
from visualpatchworld.program.program import Program, read_program

WHERE = "odeformer/odebench/strogatz_extended.json of github.com/sdascoli/odeformer"
SINDY = Path(__file__).with_name("odebench_sindy.py")
SINDY_S = 600.0  # that all settings of PySINDy may take
PATIENCE, GRACE_S = 6, 60  # a search that takes so many times its seconds, and so many more, is ended
ENDED_WELL = (0, 3)  # 3: a program was written, but nothing is explained
PROBES = 100  # states in which the law itself is compared
ENOUGH = 0.9  # of the probes have to be as close as is said
SAME_STEP = 1e-6  # relative: rows of a program with this step are rows of the data
FUNCTIONS = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "Abs": np.abs,
             "abs": np.abs, "sign": np.sign, "cot": lambda x: 1 / np.tan(x)}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """How the rows that a law is found from differ from the true ones."""

    noise: float = 0.0  # of each value: x + noise * x * e with a standard normal e
    dropped: float = 0.0  # the probability that a row other than the first is left out; times are kept

    def seen(self, system: System) -> tuple[np.ndarray, np.ndarray]:
        """Times and rows, the same for every method."""
        rng = np.random.default_rng(system.id)
        rows = system.rows[0] + self.noise * system.rows[0] * rng.normal(size=system.rows[0].shape)
        kept = np.append(True, rng.random(len(rows) - 1) >= self.dropped)
        return system.times[kept], rows[kept]


CONDITIONS = {
    "clean": Condition(),
    "noise-1": Condition(noise=0.01),
    "noise-5": Condition(noise=0.05),
    "dropped": Condition(dropped=0.5),
}


@dataclass(frozen=True)
class System:
    """An ODE, and two solutions of it."""

    id: int
    equations: tuple[str, ...]
    times: np.ndarray  # (T)
    rows: np.ndarray  # (2, T, D)

    @property
    def step(self) -> float:
        """The time between two rows."""
        return float(self.times[-1] - self.times[0]) / (len(self.times) - 1)

    def rates(self) -> Callable[[np.ndarray], np.ndarray]:
        """The true law."""
        codes = [compile(_checked(equation), "equation", "eval") for equation in self.equations]

        def rates(x: np.ndarray) -> np.ndarray:
            known = FUNCTIONS | {f"x_{i}": value for i, value in enumerate(x)}
            return np.array([float(eval(code, {"__builtins__": {}}, known)) for code in codes])

        return rates

    def probes(self) -> np.ndarray:
        """States of the box around both trajectories."""
        every = self.rows.reshape(-1, self.rows.shape[-1])
        return np.random.default_rng(self.id).uniform(every.min(axis=0), every.max(axis=0), (PROBES, every.shape[1]))


def _checked(equation: str) -> ast.Expression:
    """An equation of the data file, which may hold arithmetic and known functions alone."""
    tree = ast.parse(equation.replace("^", "**"), mode="eval")
    for node in ast.walk(tree):
        known = isinstance(node, (ast.Expression, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context))
        known |= isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
        known |= isinstance(node, ast.Name) and (node.id in FUNCTIONS or node.id.startswith("x_"))
        known |= isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords
        if not known:
            raise BadTrace(f"'{equation}' is no equation that can be read.")
    return tree


def read_systems(path: Path) -> list[System]:
    """The systems of the data file."""
    try:
        packed = path.read_bytes()
        found = json.loads(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)
        return [
            System(
                int(one["id"]),
                tuple(one["substituted"][0]),
                np.array(one["solutions"][0][0]["t"], float),
                np.array([np.array(run["y"], float).T for run in one["solutions"][0][:2]]),
            )
            for one in found
        ]
    except OSError:
        raise BadTrace(f"There is no file '{path}'; the data are {WHERE}.") from None
    except (ValueError, KeyError, TypeError, IndexError, EOFError):
        raise BadTrace(f"'{path}' does not hold the systems of ODEBench; the data are {WHERE}.") from None


@dataclass(frozen=True)
class Law:
    """What a method found, by what it predicts; what diverges is not finite."""

    runs: Sequence[np.ndarray]  # from either start, (T, D) each
    changes: np.ndarray  # (PROBES, D), over one step from every probe
    step: float
    about: dict[str, Any]


class NoLaw(VpwError):
    """A method that gave no law; the message says why."""


def found_by_vpw(system: System, times: np.ndarray, rows: np.ndarray, *, noisy: bool, seconds: float) -> Law:
    """The program that `vpw induce` writes of a table with these times, simulated with its own step."""
    names = [f"x_{i}" for i in range(rows.shape[1])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = np.column_stack([times, rows])
        text = "\n".join([",".join(["t", *names]), *(",".join(map(repr, row)) for row in table.tolist())])
        (folder / "log.csv").write_text(text + "\n", encoding="utf-8")
        command = ["-m", "visualpatchworld", "induce", str(folder / "log.csv"), "--action", "none", "--out", name]
        command += ["--seconds", str(seconds), "--json"]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        done = _ended([sys.executable, *command], PATIENCE * seconds + GRACE_S, {"PYTHONPATH": paths})
        if done.returncode not in ENDED_WELL:
            raise NoLaw((done.stderr or done.stdout).strip()[-400:] or f"the process ended with {done.returncode}")
        report = json.loads(done.stdout.strip().splitlines()[-1])
        program = read_program(folder / "world_model.py")
    dt = report["dt"] or system.step
    about = {key: report[key] for key in ("verdict", "why", "form", "program_hash", "dt", "seconds")}
    return Law(
        [simulated(program, dt, run[0], system.times) for run in system.rows],
        np.array([predicted(program, probe, 1)[-1] - probe for probe in system.probes()]),
        dt,
        about,
    )


@np.errstate(all="ignore")
def predicted(program: Program, start: np.ndarray, steps: int) -> np.ndarray:
    """The first row and the rows after so many steps without any action; NaN from where the program fails."""
    world = imagine(program, "numpy")
    rows = np.full((steps + 1, len(start)), np.nan)
    rows[0], state = start, world.read(start)
    for k in range(steps):
        try:
            state = world.step(state, np.zeros(0))
            rows[k + 1] = world.observe(state)
        except (ArithmeticError, ValueError):
            break
    return rows


def simulated(program: Program, dt: float, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Rows at these times; where a program has another step than the data, a spline goes through its rows."""
    if np.allclose(np.diff(times), dt, rtol=SAME_STEP):
        return predicted(program, start, len(times) - 1)
    steps = math.ceil((times[-1] - times[0]) / dt - SAME_STEP)
    rows = predicted(program, start, steps)
    if not np.isfinite(rows).all():
        return np.full((len(times), len(start)), np.nan)
    return CubicSpline(times[0] + dt * np.arange(steps + 1), rows)(times)


def found_by_sindy(system: System, times: np.ndarray, rows: np.ndarray, *, noisy: bool, python: Path) -> Law:
    """The law of the best of PySINDy's settings."""
    with tempfile.TemporaryDirectory() as name:
        given, taken = Path(name) / "given.npz", Path(name) / "taken.json"
        starts = system.rows[:, 0]
        np.savez(
            given,
            times=times,
            rows=rows,
            noisy=noisy,
            starts=starts,
            asked=system.times,
            probes=system.probes(),
            step=system.step,
        )
        done = _ended([str(python), str(SINDY), str(given), str(taken)], SINDY_S, {})
        if done.returncode:
            raise NoLaw(done.stderr.strip()[-400:] or f"the process ended with {done.returncode}")
        found = json.loads(taken.read_text(encoding="utf-8"))
    nothing = np.full(rows.shape[1], np.nan)
    changes = [nothing if one is None else np.array(one) for one in found.pop("after")] - system.probes()
    runs = [np.full_like(system.rows[0], np.nan) if run is None else np.array(run) for run in found.pop("runs")]
    return Law(runs, changes, system.step, found)


def _ended(command: list[str], seconds: float, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, env={**os.environ, **settings}, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoLaw(f"nothing came within {seconds:.0f} s") from None


def r2(given: np.ndarray, true: np.ndarray) -> float | None:
    """Variance-weighted over the fields; None of a simulation that diverged."""
    with np.errstate(over="ignore"):
        score = 1 - np.sum((given - true) ** 2) / np.sum((true - true.mean(axis=0)) ** 2)
    return float(score) if np.isfinite(score) else None


@np.errstate(all="ignore")
def law_error(law: Law, system: System) -> float | None:
    """How far changes over one step are from the true ones in most of the probes, in the worst field.

    In units of the true change there and of the usual one: a law is not wrong where hardly anything changes.
    """
    rates, probes = system.rates(), system.probes()
    true = np.full_like(probes, np.nan)
    for i, probe in enumerate(probes):
        done = solve_ivp(lambda _, x: rates(x), (0.0, law.step), probe, method="LSODA", rtol=1e-9, atol=1e-12)
        if done.success:
            true[i] = done.y[:, -1] - probe
    known = np.isfinite(true).all(axis=1)  # the box may hold states in which the equation has no value
    size = np.abs(true[known]) + np.median(np.abs(true[known]), axis=0) + 1e-12
    off = np.nan_to_num(np.abs(law.changes[known] - true[known]) / size, nan=np.inf)
    worst = float(np.quantile(off, ENOUGH, axis=0, method="higher").max())
    return worst if math.isfinite(worst) else None


Find = Callable[..., Law]


def measured(system: System, name: str, method: str, find: Find) -> dict[str, Any]:
    """A line of results; a method that gives no law has one, too."""
    condition = CONDITIONS[name]
    line = {"id": system.id, "condition": name, "method": method, "dim": len(system.equations), **stamp()}
    began = time.perf_counter()
    try:
        law = find(system, *condition.seen(system), noisy=condition.noise > 0)
    except NoLaw as failure:
        spent = round(time.perf_counter() - began, 2)
        return line | {"r2_same": None, "r2_other": None, "law_error": None, "failed": str(failure), "seconds": spent}
    same, other = (r2(run, true) for run, true in zip(law.runs, system.rows, strict=True))
    wall = round(time.perf_counter() - began, 2)
    line |= {"r2_same": same, "r2_other": other, "law_error": law_error(law, system), "wall_seconds": wall}
    return line | law.about | {"seconds": round(law.about["seconds"], 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("VPW_ODEBENCH"), help=f"a copy of {WHERE}")
    parser.add_argument("--sindy", type=Path, metavar="PYTHON", help="an interpreter that has PySINDy")
    parser.add_argument("--methods", nargs="*", choices=("vpw", "sindy"), help="both, if there is an interpreter")
    parser.add_argument("--conditions", nargs="*", default=list(CONDITIONS), choices=CONDITIONS)
    parser.add_argument("--only", nargs="*", type=int, metavar="ID", help="these systems")
    parser.add_argument("--seconds", type=float, default=60.0, help="that a search may take")
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    given = parser.parse_args()
    try:
        run(given)
    except VpwError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def run(given: argparse.Namespace) -> None:
    """Measure what the results do not hold yet."""
    if given.data is None:
        raise BadTrace(f"Give the data with --data FILE or VPW_ODEBENCH; they are {WHERE}.")
    methods: dict[str, Find] = {}
    for method in given.methods or (["vpw", "sindy"] if given.sindy else ["vpw"]):
        if method == "sindy" and given.sindy is None:
            raise VpwError("PySINDy needs --sindy PYTHON, the interpreter of an environment that has it.")
        methods[method] = (
            (lambda *data, noisy: found_by_vpw(*data, noisy=noisy, seconds=given.seconds))
            if method == "vpw"
            else (lambda *data, noisy: found_by_sindy(*data, noisy=noisy, python=given.sindy))
        )
    lines = Lines(given.results / "odebench" / "odebench.jsonl", ("id", "condition", "method"))
    for system in read_systems(Path(given.data)):
        for name in given.conditions if given.only is None or system.id in given.only else ():
            for method, find in methods.items():
                if given.again or not lines.has(id=system.id, condition=name, method=method):
                    lines.put(line := measured(system, name, method, find))
                    shown = ["-" if line[key] is None else f"{line[key]:.4f}" for key in ("r2_same", "r2_other")]
                    print(f"{system.id} {name} {method}: R2 {', '.join(shown)}, {line['seconds']:.1f} s", flush=True)


if __name__ == "__main__":
    main()
