"""Shooting: a law's constants and the starts of several stretches, fitted to rows at any times by rollouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import least_squares

from visualpatchworld.grammar.expr import Expr, var
from visualpatchworld.search.motion import Rate
from visualpatchworld.search.weak import Curve

STRETCHES = 8  # that all rows are cut into
STEP = 1e-6  # relative, of the differences that give derivatives by constants
NUDGE = 1e-3  # of the noise: of those that give derivatives by starts
BLOWN_UP = 1e8  # times the largest value seen
LOST = 1e4  # residual of a row that a rollout does not reach
CALLS = 14  # rollouts of one fit
TOLERANCE = 1e-4  # of the sum of squares: a step that gains less is the last one
LONG_GAP = 1.01  # of the usual one: a longer gap takes several steps

States = np.ndarray  # fields first, then any batch


@dataclass(frozen=True)
class Shot:
    """Rates that were fitted, and their residuals in units of the noise."""

    rates: Mapping[str, Rate]
    residual: Float[np.ndarray, "R F"]
    errors: Mapping[str, tuple[tuple[float, ...], ...]]  # standard errors of weights and inner numbers


def roll(
    slope: Callable[[States], States], start: States, gaps: Float[np.ndarray, "L S"], usual: float, most: float
) -> np.ndarray:
    """Rows after these gaps by rk4, in steps of about the usual gap; not a number once beyond the most."""
    found = np.empty((len(gaps) + 1, *start.shape))
    found[0] = state = start
    with np.errstate(all="ignore"):
        for row, gap in enumerate(gaps):
            parts = max(int(np.ceil(float(np.max(gap)) / (LONG_GAP * usual))), 1)
            h = gap / parts
            for _ in range(parts):
                k1 = slope(state)
                k2 = slope(state + h / 2 * k1)
                k3 = slope(state + h / 2 * k2)
                k4 = slope(state + h * k3)
                state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            state = np.where(np.abs(state) < most, state, np.nan)
            found[row + 1] = state
    return found


def slope_of(rates: Mapping[str, Rate], names: Sequence[str]) -> Callable[[States], States]:
    """How fast each field changes, by the rates."""
    opened = _Opened.of(rates)
    return opened.slope(names, opened.values)


@dataclass(frozen=True)
class _Opened:
    """Rates with their constants taken out: places of weights and of inner numbers among all values."""

    fields: tuple[str, ...]
    weights: tuple[tuple[int, ...], ...]
    terms: tuple[tuple[Expr, ...], ...]  # with variables for inner numbers
    numbers: Mapping[str, int]
    values: Float[np.ndarray, " P"]

    @classmethod
    def of(cls, rates: Mapping[str, Rate]) -> _Opened:
        values: list[float] = []
        weights, terms, numbers = [], [], {}
        for rate in rates.values():
            places, opened = [], []
            for term, weight in zip(rate.terms, rate.weights, strict=True):
                places.append(len(values))
                first = len(values) + 1
                inner = [f"#{first + k}" for k in range(len(term.free_values))]
                numbers |= {name: first + k for k, name in enumerate(inner)}
                values += [weight, *term.free_values]
                opened.append(_named(term, iter(inner)) if inner else term)
            weights.append(tuple(places))
            terms.append(tuple(opened))
        return cls(tuple(rates), tuple(weights), tuple(terms), numbers, np.array(values, float))

    def slope(self, names: Sequence[str], values: np.ndarray) -> Callable[[States], States]:
        order = [names.index(name) for name in self.fields]
        known = {name: values[p] for name, p in self.numbers.items()}

        def slope(state: States) -> States:
            given = {name: state[k] for k, name in enumerate(names)} | known
            found = np.zeros_like(state)
            for k, places, terms in zip(order, self.weights, self.terms, strict=True):
                for p, term in zip(places, terms, strict=True):
                    found[k] += values[p] * term.evaluate(given)
            return found

        return slope

    def closed(
        self, rates: Mapping[str, Rate], values: np.ndarray, spread: np.ndarray
    ) -> tuple[dict[str, Rate], dict[str, tuple[tuple[float, ...], ...]]]:
        """The rates with other constants, and the standard errors in their order."""
        found, errors = {}, {}
        for (name, rate), places in zip(rates.items(), self.weights, strict=True):
            ends = [p + 1 + len(term.free_values) for p, term in zip(places, rate.terms, strict=True)]
            terms = [t.with_free(values[p + 1 : e].tolist()) for t, p, e in zip(rate.terms, places, ends, strict=True)]
            found[name] = Rate(tuple(terms), tuple(float(values[p]) for p in places))
            errors[name] = tuple(tuple(map(float, spread[p:e])) for p, e in zip(places, ends, strict=True))
        return found, errors


def _named(expr: Expr, names: Iterator[str]) -> Expr:
    if expr.op == "number" and expr.free:
        return var(next(names))
    return replace(expr, args=tuple(_named(arg, names) for arg in expr.args)) if expr.args else expr


class Shooting:
    """Curves cut into stretches of about equal numbers of rows, each with a start of its own."""

    def __init__(self, curves: Sequence[Curve], names: Sequence[str], finest: Float[np.ndarray, " F"]):
        self.names = tuple(names)
        rows = np.concatenate([curve.rows for curve in curves])
        noise = np.concatenate([np.maximum(curve.noise, finest) for curve in curves])
        times = np.concatenate([curve.times for curve in curves])
        smooth = np.concatenate([curve.at(curve.times) for curve in curves])
        length = -(-(len(rows) - 1) // STRETCHES)
        ends = np.cumsum([len(curve.times) for curve in curves])
        cuts = [
            (k, end)
            for curve, end in zip(curves, ends, strict=True)
            for k in range(end - len(curve.times), end - 1, length)
        ]
        firsts, lasts = np.array(cuts).T
        # The last row of a stretch is the first one of the next: both are compared with it.
        places = firsts[:, None] + np.arange(length + 1)
        self.real: Bool[np.ndarray, "S L+1"] = places < lasts[:, None]
        self.places: Int[np.ndarray, "S L+1"] = np.minimum(places, lasts[:, None] - 1)
        self.gaps = np.diff(times[self.places], axis=1).T  # (L, S)
        self.usual = float(np.median(np.concatenate([np.diff(curve.times) for curve in curves])))
        self.most = BLOWN_UP * max(float(np.abs(rows).max()), 1.0)
        self.starts: Float[np.ndarray, "F S"] = smooth[firsts].T
        self.nudge = np.median(noise, axis=0)
        # As (L + 1, F, S), the order in which rollouts come.
        self.seen, self.noise = (np.moveaxis(x[self.places], 0, -1) for x in (rows, noise))
        self.used = np.broadcast_to(self.real.T[:, None], self.seen.shape)

    def fit(self, rates: Mapping[str, Rate], calls: int = CALLS) -> Shot | None:
        """The same rates with constants and starts that give the rows best; None where rollouts run away."""
        opened = _Opened.of(rates)
        first, fields, stretches = opened.values, *self.starts.shape
        count = len(first)
        steps = STEP * np.maximum(np.abs(first), 1e-4)
        last: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

        def both(point: Float[np.ndarray, " X"]) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, "R X"]]:
            """Residuals and their derivatives, from one batch of rollouts."""
            if (key := point.tobytes()) in last:
                return last[key]
            values, starts = point[:count], point[count:].reshape(fields, stretches)
            batch = 1 + count + fields
            moved = np.repeat(values[:, None, None], batch, axis=1)
            begin = np.repeat(starts[:, None], batch, axis=1)
            moved[np.arange(count), 1 + np.arange(count)] += steps[:, None]
            begin[np.arange(fields), 1 + count + np.arange(fields)] += NUDGE * self.nudge[:, None]
            rolled = roll(opened.slope(self.names, moved), begin, self.gaps[:, None], self.usual, self.most)
            with np.errstate(all="ignore"):
                off = np.where(self.used[:, :, None], (rolled - self.seen[:, :, None]) / self.noise[:, :, None], 0.0)
                base = off[:, :, 0]
                slopes = off[:, :, 1:] - base[:, :, None]
                slopes[:, :, :count] /= steps[:, None]
                slopes[:, :, count:] /= NUDGE * self.nudge[:, None]
            jac = np.zeros((*base.shape, count + fields * stretches))
            jac[..., :count] = np.moveaxis(slopes[:, :, :count], 2, -1)
            for s in range(stretches):
                jac[:, :, s, count + s :: stretches] = slopes[:, :, count:, s]
            fine = np.isfinite(base)
            jac[~fine | ~np.isfinite(jac).all(axis=-1)] = 0.0
            last.clear()
            last[key] = np.where(fine, base, LOST).ravel(), jac.reshape(base.size, -1)
            return last[key]

        start = np.concatenate([first, self.starts.ravel()])
        scale = np.concatenate([np.maximum(np.abs(first), 1e-6), np.repeat(np.maximum(self.nudge, 1e-12), stretches)])
        done = least_squares(
            lambda p: both(p)[0],
            start,
            lambda p: both(p)[1],  # pyright: ignore[reportArgumentType]
            method="lm",
            x_scale=scale,
            max_nfev=calls,
            ftol=TOLERANCE,
        )
        residual, jac = both(done.x)
        if np.any(residual == LOST):
            return None
        shaped = residual.reshape(self.seen.shape)
        size = np.maximum(np.linalg.norm(jac, axis=0), 1e-300)
        cover = np.linalg.pinv((jac / size).T @ (jac / size), rcond=1e-12, hermitian=True)
        left = np.moveaxis(shaped, 1, -1)[self.real.T]
        spread = np.sqrt(np.maximum(np.diag(cover), 0.0)) / size * max(1.0, float(np.sqrt(np.mean(left**2))))
        found, errors = opened.closed(rates, done.x[:count], spread[:count])
        return Shot(found, left, errors)
