"""PySINDy on one trajectory of an ODE, run by an interpreter that has it; writes what its law predicts.

Usage: PYTHON benchmarks/odebench_sindy.py GIVEN.npz TAKEN.json

Of 16 settings, each fitted to the first 70 % of the rows, the one is taken whose simulation from the first row is
closest to the other 30 %; it is then fitted to all rows.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pysindy as ps
from scipy.integrate import solve_ivp

LEARNED = 0.7  # of the rows; the rest chooses the setting
THRESHOLDS = (1e-3, 1e-2, 5e-2, 2e-1)
FUNCTIONS = [lambda x: 1 / (1 + x**2), lambda x: x / (1 + x**2), lambda x: np.exp(-abs(x))]
NAMES = [lambda x: f"1/(1+{x}^2)", lambda x: f"{x}/(1+{x}^2)", lambda x: f"exp(-abs({x}))"]
LIBRARIES = {
    "degree 2": lambda: ps.PolynomialLibrary(degree=2),
    "degree 3": lambda: ps.PolynomialLibrary(degree=3),
    "degree 3 and waves": lambda: ps.GeneralizedLibrary(
        [ps.PolynomialLibrary(degree=3), ps.FourierLibrary(n_frequencies=1)]
    ),
    "degree 3 and quotients": lambda: ps.GeneralizedLibrary(
        [ps.PolynomialLibrary(degree=3), ps.CustomLibrary(FUNCTIONS, NAMES)]
    ),
}
SMOOTHED_ROWS = 25  # of noisy data, around each row
FAR = 1e3  # times the largest value of the data: a simulation that goes there has diverged
TRIAL_S, FINAL_S = 5.0, 20.0  # that a simulation may take


class Diverged(Exception):
    """A simulation that left all reason, or took too long."""


def fitted(library, threshold, rows, times, noisy):
    """A law of the rates, by thresholded least squares."""
    differences = (
        ps.SmoothedFiniteDifference(smoother_kws={"window_length": SMOOTHED_ROWS})
        if noisy
        else ps.FiniteDifference(order=4)
    )
    optimizer = ps.STLSQ(threshold=threshold, alpha=1e-6, max_iter=20)
    model = ps.SINDy(optimizer=optimizer, feature_library=LIBRARIES[library](), differentiation_method=differences)
    return model.fit(rows, t=times)


def rates_of(model, width):
    """The law as a plain function of numbers; the model's own prediction takes a hundred times as long for one row."""
    names = [name.replace("^", "**").replace(" ", "*") for name in model.get_feature_names()]
    sums = [
        " + ".join(f"{float(weight)!r}*({name})" for weight, name in zip(row, names, strict=True) if weight) or "0.0"
        for row in np.asarray(model.coefficients())
    ]
    known = {"sin": math.sin, "cos": math.cos, "exp": math.exp, "abs": abs}
    return eval(f"lambda {', '.join(f'x{i}' for i in range(width))}: [{', '.join(sums)}]", known)


def simulated(rates, start, times, far, seconds):
    """The rows at these times; None where the law diverges."""
    end = time.monotonic() + seconds

    def change(_, x):
        if time.monotonic() > end or not np.all(np.abs(x) < far):
            raise Diverged
        return rates(*x.tolist())

    try:
        done = solve_ivp(change, (times[0], times[-1]), start, t_eval=times, method="LSODA", rtol=1e-6, atol=1e-8)
    except (Diverged, ArithmeticError, ValueError):
        return None
    return done.y.T if done.y.shape[1] == len(times) else None


def chosen(rows, times, noisy, far):
    """The library and the threshold that predict the last rows best; none where every setting fails."""
    cut = int(LEARNED * len(rows))
    scale = np.maximum(rows.std(axis=0), 1e-12)
    errors = {}
    for library in LIBRARIES:
        for threshold in THRESHOLDS:
            try:
                model = fitted(library, threshold, rows[:cut], times[:cut], noisy)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as failure:
                print(f"{library}, {threshold}: {type(failure).__name__}: {failure}", file=sys.stderr)
                continue
            given = simulated(rates_of(model, rows.shape[1]), rows[0], times, far, TRIAL_S)
            errors[library, threshold] = (
                math.inf if given is None else float(np.sum(((given - rows)[cut:] / scale) ** 2))
            )
    return min(errors, key=errors.get) if errors else None


def main(given_path, taken_path):
    warnings.filterwarnings("ignore")
    data = np.load(given_path)
    times, rows, noisy = data["times"], data["rows"], bool(data["noisy"])
    far = FAR * float(np.abs(np.concatenate([rows, data["starts"]])).max())
    began = time.perf_counter()
    setting = chosen(rows, times, noisy, far)
    if setting is None:
        sys.exit("no setting could be fitted")
    model = fitted(*setting, rows, times, noisy)
    taken = {"seconds": time.perf_counter() - began, "form": f"{setting[0]}, threshold {setting[1]:g}"}
    rates = rates_of(model, rows.shape[1])
    taken |= {"terms": int(np.count_nonzero(model.coefficients())), "sindy_version": ps.__version__}
    runs = [simulated(rates, start, data["asked"], far, FINAL_S) for start in data["starts"]]
    step = np.array([0.0, float(data["step"])])
    after = [simulated(rates, probe, step, math.inf, FINAL_S) for probe in data["probes"]]
    taken["runs"] = [None if run is None else run.tolist() for run in runs]
    taken["after"] = [None if one is None else one[-1].tolist() for one in after]
    Path(taken_path).write_text(json.dumps(taken), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
