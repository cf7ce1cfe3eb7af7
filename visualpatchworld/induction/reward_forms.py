"""Forms of rewards: sums of the fewest columns, products of factors that fall off from 1, and peaks over a distance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import least_squares

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.transitions import bell, dome, tail

EXACT = 1e-6  # of the target's spread: a residual that small is rounding of single precision
MOST_FACTORS = 5
WIDTHS = np.geomspace(0.05, 3.0, 16)  # of the largest value seen
SHARES = (0.0, 0.5, 0.8)
SHAPES: Mapping[str, Callable[..., Any]] = {"bell": bell, "dome": dome, "tail": tail}


Found = tuple[str, float, tuple[Callable[..., Any], ...]]  # expression, what is left of the spread, functions it calls


class Sum(NamedTuple):
    """Chosen columns, what each counts, and the root mean square that is left, in units of the target's spread."""

    columns: Int[np.ndarray, " C"]
    weights: Float[np.ndarray, " C"]
    left: float


def stepwise(
    library: Float[np.ndarray, "N M"],
    target: Float[np.ndarray, " N"],
    most: int,
    exact: float = EXACT,
    clock: Clock = NO_LIMIT,
) -> Sum:
    """Forward selection with swaps and a backward pass: it stops
    as soon as the target is met exactly, or at `most` columns.

    Columns that others make up already are never chosen, so that what is found is one of the shortest ways to say it.
    """
    spread = max(float(np.sqrt(np.mean(target**2))), 1e-300)
    sizes = np.sqrt(np.mean(library**2, axis=0))
    scaled = library / np.where(sizes > 0, sizes, 1.0)
    best = _least_squares(scaled, target, np.array([], int), spread)
    while best.left > exact and len(best.columns) < most and not (clock.over and len(best.columns)):
        grown = _least_squares(scaled, target, np.append(best.columns, _next(scaled, target, best.columns)), spread)
        grown = _swapped(scaled, target, grown, spread)
        if grown.left > best.left * 0.999:
            break
        best = grown
    for column in best.columns.tolist():
        shorter = _least_squares(scaled, target, best.columns[best.columns != column], spread)
        if shorter.left <= max(exact, best.left * 1.001):
            best = shorter
    return Sum(best.columns, best.weights / sizes[best.columns], best.left)


def sparsest(
    library: Float[np.ndarray, "N M"], target: Float[np.ndarray, " N"], exact: float = EXACT, clock: Clock = NO_LIMIT
) -> Sum | None:
    """The fewest columns found by reweighting, where all columns
    together meet the target exactly; None where they do not.

    Columns of a library that overlap much lead a stepwise search astray; here all begin, and what others can do as well
    dies out.
    """
    spread = max(float(np.sqrt(np.mean(target**2))), 1e-300)
    sizes = np.sqrt(np.mean(library**2, axis=0))
    scaled = library / np.where(sizes > 0, sizes, 1.0)
    whole = _least_squares(scaled, target, np.arange(library.shape[1]), spread)
    if whole.left > exact or library.shape[1] >= len(target) / 2:
        return None
    weights = whole.weights
    for _ in range(60):
        if clock.over:
            return None
        power = np.sqrt(np.abs(weights))
        weights = power * np.linalg.lstsq(scaled * power, target, rcond=1e-10)[0]
    best = _least_squares(scaled, target, np.flatnonzero(np.abs(weights) > 1e-5 * np.abs(weights).max()), spread)
    if best.left > exact:
        return None
    for column in best.columns[np.argsort(np.abs(best.weights))].tolist():
        shorter = _least_squares(scaled, target, best.columns[best.columns != column], spread)
        best = shorter if shorter.left <= exact else best
    return Sum(best.columns, best.weights / sizes[best.columns], best.left)


def fewest(library: Float[np.ndarray, "N M"], target: Float[np.ndarray, " N"], found: Sum, enough: float) -> Sum:
    """The sum without the columns that it can lose, the least needed first, while it leaves no more than `enough`."""
    spread = max(float(np.sqrt(np.mean(target**2))), 1e-300)
    while len(found.columns) > 1:
        kept = (np.delete(found.columns, i) for i in range(len(found.columns)))
        shorter = min((_least_squares(library, target, columns, spread) for columns in kept), key=lambda s: s.left)
        if shorter.left > enough:
            break
        found = shorter
    return found


def _next(library: np.ndarray, target: np.ndarray, chosen: np.ndarray) -> int:
    """The column that explains most of what the chosen ones leave; judged after they were taken out of it, too."""
    if len(chosen):
        basis = np.linalg.qr(library[:, chosen])[0]
        rest, target = library - basis @ (basis.T @ library), target - basis @ (basis.T @ target)
    else:
        rest = library
    size = np.sqrt(np.sum(rest**2, axis=0))
    gain = np.where(size > 1e-7 * np.sqrt(len(target)), np.abs(rest.T @ target) / np.maximum(size, 1e-300), -1.0)
    gain[chosen] = -1.0
    # Of columns that are the same but for rounding, the first, which is the plainest.
    return int(np.argmax(gain >= (1 - 1e-12) * gain.max()))


def _swapped(library: np.ndarray, target: np.ndarray, found: Sum, spread: float) -> Sum:
    """Each column but the newest once more: is another one better in its place?"""
    for i in range(len(found.columns) - 1):
        others = np.delete(found.columns, i)
        changed = np.insert(others, i, _next(library, target, others))
        trial = _least_squares(library, target, changed, spread)
        if trial.left < found.left * 0.9:
            found = trial
    return found


def _least_squares(library: np.ndarray, target: np.ndarray, columns: np.ndarray, spread: float) -> Sum:
    weights = np.linalg.lstsq(library[:, columns], target, rcond=None)[0] if len(columns) else np.array([])
    left = float(np.sqrt(np.mean((target - library[:, columns] @ weights) ** 2))) / spread
    return Sum(columns.astype(int), weights, left)


@dataclass(frozen=True)
class Factor:
    """`share + (1 - share) * shape(z)`: all of it, or all but a share,
    is lost when z is far off; nothing within a distance `inner`.

    Beside the shapes of a width there is the "line" of a cosine, (1 + z) / 2.
    """

    expression: str
    shape: str
    share: float
    width: float
    inner: float = 0.0

    @property
    def is_length(self) -> bool:
        return self.expression.startswith("np.sqrt(")

    def value(self, z: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
        outside = np.maximum(z - self.inner, 0.0) if self.is_length else z
        shape = (1 + z) / 2 if self.shape == "line" else SHAPES[self.shape](outside, self.width)
        return self.share + (1 - self.share) * shape

    def text(self) -> str:
        outside = (
            self.expression if abs(self.inner) < 1e-9 else f"np.maximum({self.expression} - {number(self.inner)}, 0.0)"
        )
        shape = (
            f"(1 + {self.expression}) / 2" if self.shape == "line" else f"{self.shape}({outside}, {number(self.width)})"
        )
        if abs(self.share) < 1e-9:
            return f"({shape})" if self.shape == "line" else shape
        return f"({number(self.share)} + {number(1 - self.share)} * {shape})"


def number(value: float) -> str:
    """A number as it stands in a program."""
    return repr(float(f"{value:.9g}"))


def find_factors(
    values: Mapping[str, Float[np.ndarray, " N"]],
    target: Float[np.ndarray, " N"],
    judged: Bool[np.ndarray, " N"],
    clock: Clock = NO_LIMIT,
) -> Found:
    """Factors are added one at a time from a grid of shapes and widths,
    each tried anew beside the others, and then fitted together.
    """
    grid = []
    for atom, z in values.items():
        if atom.startswith("np.cos("):
            grid += [Factor(atom, "line", share, 1.0) for share in SHARES]
        grid += [
            Factor(atom, *rest) for rest in itertools.product(SHAPES, SHARES, float(np.abs(z).max() or 1.0) * WIDTHS)
        ]
    # Logarithms turn the product into a sum, in which a factor shows wherever the others are small, too.
    fit = ~judged & (target > 0)
    logs = np.log(np.maximum(np.stack([factor.value(values[factor.expression]) for factor in grid])[:, fit], 1e-30))
    logs, wanted = logs - logs.mean(axis=1, keepdims=True), np.log(target[fit])
    chosen: list[int] = []
    best, scale, left = [], 1.0, np.inf
    for _ in range(MOST_FACTORS):
        if best and clock.over:
            break
        chosen.append(_best_factor(logs, chosen, wanted))
        for _ in range(3):
            for i in range(len(chosen)):
                chosen[i] = _best_factor(logs, chosen[:i] + chosen[i + 1 :], wanted)
        factors, new_scale, now = _reshaped([grid[i] for i in chosen], values, target, judged)
        if now > 0.8 * left:
            break
        best, scale, left = factors, new_scale, now
        if left <= EXACT:
            break
    for factor in list(best) if not clock.over else ():
        fewer = [other for other in best if other is not factor]
        if fewer:
            shorter, new_scale = _fitted(fewer, values, target, judged)
            now = _left(shorter, new_scale, values, target, judged)
            if now <= max(EXACT, 1.5 * left):
                best, scale, left = shorter, new_scale, now
    expression = " * ".join(factor.text() for factor in best)
    expression = expression if abs(scale - 1) < 1e-9 else f"{number(scale)} * {expression}"
    return (
        expression,
        left,
        tuple(function for name, function in SHAPES.items() if any(factor.shape == name for factor in best)),
    )


def _reshaped(
    factors: list[Factor], values: Mapping[str, np.ndarray], target: np.ndarray, judged: np.ndarray
) -> tuple[list[Factor], float, float]:
    """The factors fitted together, with every shape tried in the place of every other: from afar they look alike."""
    best, scale = _fitted(factors, values, target, judged)
    left = _left(best, scale, values, target, judged)
    for i, name in itertools.product(range(len(best)), SHAPES):
        same = best[i].shape == name and not best[i].is_length
        if left <= EXACT or best[i].shape == "line" or same:
            continue
        inner = best[i].width if best[i].is_length else 0.0
        trial, new_scale = _fitted(
            [*best[:i], replace(best[i], shape=name, inner=inner), *best[i + 1 :]], values, target, judged
        )
        now = _left(trial, new_scale, values, target, judged)
        if now < left:
            best, scale, left = trial, new_scale, now
    return best, scale, left


def _best_factor(logs: Float[np.ndarray, "G N"], others: Sequence[int], wanted: Float[np.ndarray, " N"]) -> int:
    """The factor that beside the others comes closest to the target, whatever the scale."""
    rest = wanted - wanted.mean() - logs[list(others)].sum(axis=0)
    return int(np.argmin((logs**2).sum(axis=1) - 2 * logs @ rest))


def _product(factors: Sequence[Factor], values: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.prod([factor.value(values[factor.expression]) for factor in factors], axis=0)


def _left(
    factors: Sequence[Factor], scale: float, values: Mapping[str, np.ndarray], target: np.ndarray, judged: np.ndarray
) -> float:
    off = scale * _product(factors, values) - target
    return float(np.sqrt(np.mean(off[judged] ** 2))) / max(float(np.std(target)), 1e-300)


def _fitted(
    factors: Sequence[Factor], values: Mapping[str, np.ndarray], target: np.ndarray, judged: np.ndarray
) -> tuple[list[Factor], float]:
    product = np.maximum(_product(factors, values)[~judged], 1e-300)
    wanted = target[~judged]
    # Where everything is positive, logarithms weigh a faint tail as much as the top.
    logs = bool(wanted.min() > 0)
    first = (
        float(np.mean(np.log(wanted) - np.log(product)))
        if logs
        else float(np.log(max(product @ wanted / (product @ product), 1e-300)))
    )
    parts = [[f.share, np.log(f.width), *([f.inner / f.width] if f.is_length else [])] for f in factors]
    start = np.array([number for part in parts for number in part] + [first])
    edges = np.cumsum([len(part) for part in parts])
    size = float(np.std(np.log(wanted) if logs else wanted)) or 1.0

    def at(place: np.ndarray) -> tuple[list[Factor], float]:
        moved = []
        for factor, part in zip(factors, np.split(place[:-1], edges[:-1]), strict=True):
            width = float(np.exp(part[1]))
            moved.append(
                replace(
                    factor, share=float(part[0]), width=width, inner=float(part[2]) * width if factor.is_length else 0.0
                )
            )
        return moved, float(np.exp(np.clip(place[-1], -700, 700)))

    def residuals(place: np.ndarray) -> np.ndarray:
        moved, scale = at(place)
        product = _product(moved, values)[~judged]
        if logs:
            return (place[-1] + np.log(np.maximum(product, 1e-300)) - np.log(wanted)) / size
        return (scale * product - wanted) / size

    low = np.array([bound for part in parts for bound in (-0.01, -20.0, -0.001)[: len(part)]] + [-2000.0])
    high = np.array([bound for part in parts for bound in (0.999, 20.0, 100.0)[: len(part)]] + [2000.0])
    start, bounds = np.clip(np.nan_to_num(start), low + 1e-9, high - 1e-9), (low, high)
    try:
        found = least_squares(
            residuals, start, bounds=bounds, x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300
        ).x
    except (np.linalg.LinAlgError, ValueError):  # slopes so unequal that they overflow or do not decompose
        found = start
    moved, scale = at(found)
    return _shortened(moved, scale, values, target, judged)


def _shortened(
    factors: list[Factor], scale: float, values: Mapping[str, np.ndarray], target: np.ndarray, judged: np.ndarray
) -> tuple[list[Factor], float]:
    """Numbers with fewer digits where the error does not rise."""
    bound = max(EXACT, 1.05 * _left(factors, scale, values, target, judged))
    for digits in range(0, 7):
        if _left(factors, round(scale, digits), values, target, judged) <= bound:
            scale = round(scale, digits)
            break
    for i, factor in enumerate(factors):
        for digits in range(1, 8):
            trial = list(factors)
            short = {"width": float(f"{factor.width:.{digits}e}"), "inner": round(factor.inner, digits + 1)}
            trial[i] = replace(factor, share=round(factor.share, digits), **short)
            if _left(trial, scale, values, target, judged) <= bound:
                factors = trial
                break
    return factors, scale


def find_peak(
    library: Sequence[str],
    columns: Sequence[Float[np.ndarray, " N"]],
    target: Float[np.ndarray, " N"],
    judged: Bool[np.ndarray, " N"],
) -> Found:
    """`exp(-max(sqrt(square) - inner, 0)^2)` with a square that is
    a sum of terms: a bell beyond some distance, and 1 within it.

    With y = -log(reward), y = square - 2 inner sqrt(y) - inner^2: that is linear in all that is unknown.
    """
    top = float(target.max())
    if top <= 0 or top > 1 + 1e-9 or (target <= 0).mean() > 0.5:
        return "0.0", np.inf, ()
    y = -np.log(np.maximum(target, 1e-300))
    fit = ~judged & (target > 1e-290) & (target < 1 - 1e-12)
    if fit.sum() < 5 * len(library) / 2:
        return "0.0", np.inf, ()
    whole = np.stack([*columns, np.sqrt(y)], axis=1)
    weight = 1.0 / np.maximum(y[fit], 1e-6 * float(np.median(y[fit])))
    weighed, wanted = whole[fit] * weight[:, None], y[fit] * weight
    found = stepwise(weighed, wanted, 8, 1e-9)
    if found.left > 1e-9:
        found = sparsest(weighed, wanted, 1e-9) or found
    weights = dict(zip(found.columns.tolist(), found.weights.tolist(), strict=True))
    inner = -weights.pop(len(library), 0.0) / 2
    terms = {str(library[int(i)]): w for i, w in weights.items()}
    constant = terms.pop("1.0", 0.0) + inner**2
    known = dict(zip(library, columns, strict=True))
    square = constant + sum(w * known[name] for name, w in terms.items())
    predicted = np.exp(-(np.maximum(np.sqrt(np.maximum(square, 0.0)) - inner, 0.0) ** 2))
    spread = max(float(np.std(target)), 1e-300)
    left = float(np.sqrt(np.mean((predicted - target)[judged] ** 2))) / spread
    text = " + ".join([number(constant), *(f"{number(w)} * {name}" for name, w in terms.items())]).replace("+ -", "- ")
    return f"np.exp(-np.maximum(np.sqrt(np.maximum({text}, 0.0)) - {number(inner)}, 0.0) ** 2)", left, ()
