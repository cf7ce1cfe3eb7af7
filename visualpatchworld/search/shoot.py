"""Shooting: a law's constants and the starts of several stretches, fitted to rows at any times by rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from visualpatchworld.grammar.expr import Expr, var
from visualpatchworld.search.motion import Rate

STRETCHES = 8  # that a trajectory is cut into
STEP = 1e-6  # relative, of the differences that give derivatives
BLOWN_UP = 1e8  # times the largest value seen
MOST_CALLS = 14  # rollouts of one fit


@dataclass(frozen=True)
class Shot:
    """Rates that were fitted, and their residuals in units of the noise."""

    rates: Mapping[str, Rate]
    residual: Float[np.ndarray, "T F"]
    errors: Mapping[str, tuple[tuple[float, ...], ...]]  # standard errors of weights and inner numbers


class Shooting:
    """One trajectory cut into stretches of equal numbers of rows, each with a start of its own."""

    def __init__(
        self,
        times: Float[np.ndarray, " T"],
        rows: Float[np.ndarray, "T F"],
        noise: Float[np.ndarray, "T F"],
        smooth: Float[np.ndarray, "T F"],
        names: Sequence[str],
        stretches: int = STRETCHES,
        finest: float = np.inf,
    ):
        self.names = tuple(names)
        self.rows, self.noise = rows, noise
        count = len(times)
        length = -(-(count - 1) // stretches)
        firsts = np.arange(0, count - 1, length)
        # The last row of a stretch is the first one of the next: both are compared with it.
        self.places = np.minimum(firsts[:, None] + np.arange(length + 1), count - 1)  # (S, L + 1)
        self.real = firsts[:, None] + np.arange(length + 1) <= count - 1
        self.gaps = np.diff(times[self.places], axis=1)
        self.starts = smooth[firsts]
        self.usual = float(np.median(np.diff(times)))
        self.finest = min(finest, self.usual)
        self.most = BLOWN_UP * max(float(np.abs(rows).max()), 1.0)

    def rollout(
        self, rates: Mapping[str, Rate], weights: Sequence[Sequence[np.ndarray]], inner: Sequence[Sequence[Expr]],
        numbers: Mapping[str, np.ndarray], starts: Float[np.ndarray, "B S F"],
    ) -> Float[np.ndarray, "B S L+1 F"]:  # fmt: skip
        """Rows of all stretches for a batch of constants and starts."""
        order = [self.names.index(name) for name in rates]

        def slope(state: np.ndarray) -> np.ndarray:
            values = {name: state[k] for k, name in enumerate(self.names)} | dict(numbers)
            found = np.zeros_like(state)
            for k, own, terms in zip(order, weights, inner, strict=True):
                for weight, term in zip(own, terms, strict=True):
                    found[k] += weight * term.evaluate(values)
            return found

        state = np.moveaxis(starts, -1, 0).copy()  # (F, B, S)
        found = np.empty((self.gaps.shape[1] + 1, *state.shape))
        found[0] = state
        with np.errstate(all="ignore"):
            for step in range(self.gaps.shape[1]):
                gaps = self.gaps[:, step]
                parts = max(int(np.ceil(float(gaps.max()) / self.finest - 1e-6)), 1)
                h = gaps / parts
                for _ in range(parts):
                    k1 = slope(state)
                    k2 = slope(state + h / 2 * k1)
                    k3 = slope(state + h / 2 * k2)
                    k4 = slope(state + h * k3)
                    state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
                state = np.where(np.abs(state) < self.most, state, np.nan)
                found[step + 1] = state
        return np.moveaxis(found, (0, 1), (-2, -1))

    def fit(self, rates: Mapping[str, Rate], calls: int = MOST_CALLS) -> Shot | None:
        """The same rates with constants and starts that give the rows best; None where rollouts run away."""
        weights, inner, numbers, first = _opened(rates)
        stretches, fields = self.starts.shape
        count = len(first)
        scale = np.concatenate([np.maximum(np.abs(first), 1e-6), np.tile(self.noise.mean(axis=0), stretches)])
        start = np.concatenate([first, self.starts.ravel()])
        seen, noise = self.rows[self.places], self.noise[self.places]
        real = np.broadcast_to(self.real[:, :, None], seen.shape)

        def batch(points: Float[np.ndarray, "B P"], starts: Float[np.ndarray, "B S F"]) -> np.ndarray:
            column = points[:, :, None]
            own = [[column[:, p] for p in places] for places in weights]
            given = {name: column[:, p] for name, p in numbers.items()}
            return self.rollout(rates, own, inner, given, starts)

        def off(rolled: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                return np.where(real, (rolled - seen) / noise, 0.0)

        kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

        def both(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            key = point.tobytes()
            if key not in kept:
                kept.clear()
                kept[key] = computed(point)
            return kept[key]

        def computed(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            theta, starts = point[:count], point[count:].reshape(stretches, fields)
            steps = STEP * np.maximum(np.abs(theta), 1e-4)
            moves = 1e-3 * np.median(self.noise, axis=0) + 1e-9
            points = np.tile(theta, (1 + count + fields, 1))
            points[1 + np.arange(count), np.arange(count)] += steps
            begins = np.tile(starts, (1 + count + fields, 1, 1))
            for k in range(fields):
                begins[1 + count + k, :, k] += moves[k]
            rolled = off(batch(points, begins))
            base = rolled[0]
            slopes = (rolled[1 : 1 + count] - base).reshape(count, -1) / steps[:, None]
            jac = np.zeros((base.size, count + stretches * fields))
            jac[:, :count] = slopes.T
            blocks = jac[:, count:].reshape(*base.shape, stretches, fields)
            for k in range(fields):
                slope = (rolled[1 + count + k] - base) / moves[k]
                for s in range(stretches):
                    blocks[s, :, :, s, k] = slope[s]
            fine = np.isfinite(base).ravel()
            residual = np.where(fine, base.ravel(), 1e4)
            return residual, np.nan_to_num(np.where(fine[:, None], jac, 0.0), nan=0.0, posinf=0.0, neginf=0.0)

        residual, _ = both(start)
        if not np.isfinite(residual).all():
            return None
        done = least_squares(
            lambda p: both(p)[0], start, lambda p: both(p)[1], x_scale=scale, max_nfev=calls, ftol=1e-4, xtol=1e-8, gtol=1e-12
        )  # fmt: skip
        residual, jac = both(done.x)
        if np.any(residual == 1e4):
            return None
        left = np.zeros_like(self.rows)
        counts = np.zeros(len(self.rows))
        shaped = residual.reshape(seen.shape)
        for s in range(stretches):
            rows = self.places[s][self.real[s]]
            left[rows] += shaped[s][self.real[s]] ** 2
            counts[rows] += 1
        left = np.sqrt(left / counts[:, None])
        try:
            size = np.maximum(np.linalg.norm(jac, axis=0), 1e-300)
            cover = np.linalg.pinv((jac / size).T @ (jac / size), rcond=1e-12)
            spread = np.sqrt(np.maximum(np.diag(cover), 0.0)) / size * max(1.0, float(np.sqrt(np.mean(left**2))))
        except np.linalg.LinAlgError:
            spread = np.full(len(done.x), np.inf)
        found, errors = _closed(rates, weights, done.x[:count], spread[:count])
        return Shot(found, left, errors)


def _opened(
    rates: Mapping[str, Rate],
) -> tuple[list[list[int]], list[list[Expr]], dict[str, int], Float[np.ndarray, " P"]]:
    """The places of weights, terms with variables for their inner numbers, places of those, and all values."""
    values: list[float] = []
    weights, terms, numbers = [], [], {}
    for rate in rates.values():
        places, opened = [], []
        for term, weight in zip(rate.terms, rate.weights, strict=True):
            places.append(len(values))
            values.append(weight)
            inner = []
            for number_ in term.free_values:
                name = f"#{len(values)}"
                numbers[name] = len(values)
                inner.append(name)
                values.append(number_)
            opened.append(_named(term, iter(inner)) if inner else term)
        weights.append(places)
        terms.append(opened)
    return weights, terms, numbers, np.array(values, float)


def _named(expr: Expr, names) -> Expr:
    if expr.op == "number" and expr.free:
        return var(next(names))
    return Expr(expr.op, tuple(_named(a, names) for a in expr.args), expr.name, expr.value, expr.free)


def _closed(
    rates: Mapping[str, Rate], weights: Sequence[Sequence[int]], values: np.ndarray, spread: np.ndarray
) -> tuple[dict[str, Rate], dict[str, tuple[tuple[float, ...], ...]]]:
    found, errors = {}, {}
    for (name, rate), places in zip(rates.items(), weights, strict=True):
        terms, spreads = [], []
        for term, p in zip(rate.terms, places, strict=True):
            count = len(term.free_values)
            terms.append(term.with_free(values[p + 1 : p + 1 + count]) if count else term)
            spreads.append(tuple(float(s) for s in spread[p : p + 1 + count]))
        found[name] = Rate(tuple(terms), tuple(float(values[p]) for p in places))
        errors[name] = tuple(spreads)
    return found, errors
