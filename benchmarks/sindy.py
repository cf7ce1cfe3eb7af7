"""PySINDy in discrete time with control, run by an interpreter that
has it: reads transitions and windows, writes where the windows end.

Usage: PYTHON benchmarks/sindy.py GIVEN.npz TAKEN.npz
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pysindy as ps

THRESHOLDS = (1e-4, 1e-3, 1e-2, 1e-1)
MOST_COLUMNS_WITH_WAVES = 12
FAR = 1e6


def model_with(threshold, width, degree):
    """Thresholded least squares over polynomials and, unless there are many columns, sines and cosines."""
    parts = [ps.PolynomialLibrary(degree=degree)]
    if width <= MOST_COLUMNS_WITH_WAVES:
        parts.append(ps.FourierLibrary(n_frequencies=1))
    library = ps.GeneralizedLibrary(parts) if len(parts) > 1 else parts[0]
    return ps.DiscreteSINDy(optimizer=ps.STLSQ(threshold=threshold, alpha=1e-6), feature_library=library)


def trained(model, before, after, inputs):
    acts = {"u": inputs} if inputs[0].shape[1] else {}
    return model.fit(before, 1, x_next=after, **acts)


def next_rows(model, rows, inputs):
    given = model.predict(rows, u=inputs) if inputs.shape[1] else model.predict(rows)
    return np.clip(np.nan_to_num(np.asarray(given), nan=FAR), -FAR, FAR)


def main(given_path, taken_path):
    warnings.filterwarnings("ignore")
    data = np.load(given_path)
    count, degree = int(data["count"]), int(data["degree"])
    rows = [data[f"x{i}"] for i in range(count)]
    before, after = [x[:-1] for x in rows], [x[1:] for x in rows]
    inputs = [data[f"u{i}"] for i in range(count)]
    width = before[0].shape[1] + inputs[0].shape[1]
    # The episodes that the threshold is chosen on are among those that the chosen model is then fitted to.
    held = [i for i in range(count) if i % 5 == 0]
    kept = [i for i in range(count) if i % 5] or held
    scale = np.maximum(np.concatenate([b - a for a, b in zip(before, after, strict=True)]).std(axis=0), 1e-12)
    errors = {}
    for threshold in THRESHOLDS:
        try:
            model = trained(
                model_with(threshold, width, degree), *([part[i] for i in kept] for part in (before, after, inputs))
            )
            off = [next_rows(model, before[i], inputs[i]) - after[i] for i in held]
            errors[threshold] = np.median(np.sqrt(np.mean((np.concatenate(off) / scale) ** 2, axis=1)))
        except Exception as failure:
            print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
    model = trained(model_with(min(errors, key=errors.get), width, degree), before, after, inputs)
    out = {"terms": np.count_nonzero(model.coefficients()), "coefficients": np.asarray(model.coefficients())}
    out["names"] = np.array(model.get_feature_names())
    for steps in data["horizons"]:
        now, taken = data[f"starts{steps}"], data[f"taken{steps}"]
        for k in range(steps):
            now = next_rows(model, now, taken[:, k])
        out[f"ends{steps}"] = now
    np.savez(taken_path, **out)


main(*sys.argv[1:])
