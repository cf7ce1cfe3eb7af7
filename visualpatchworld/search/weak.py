"""The weak form of a smooth world: rows with their times, noise, smooth curves through them, and averages of rates.

No derivative of rows is taken. A law holds for the averages of both of its sides under short bumps, and moving the
derivative from the field to the bump gives the left side straight from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float
from scipy.interpolate import BSpline, CubicSpline, PchipInterpolator
from scipy.linalg import eigh, solve_triangular

from visualpatchworld.grammar.expr import Expr, columns

ORDER = 5  # of the differences that show noise: solutions are close to polynomials of this degree over as many rows
BARE = 1e-3  # of a noise proportional to the value: what is left of it where the value is zero
FINEST = 1e-4  # of the spread of a field: nothing that predicts needs more, and integrators of data give less
CLEAN = 3e-4  # of the spread: below, a curve goes through the rows
RIDGE = 0.01  # of the variance of an average: differences of bumps that overlap are no better known than this
NODES = 3  # Gauss points between two rows
BUMPS = (0.02, 0.06, 0.2)  # half widths, of all the time
LEAST_ROWS = 4.0  # in half of a bump
APART = 0.5  # half widths between the centres of two bumps
EDGE = 4.0  # the power of a bump: how smoothly it vanishes
LEAST_SMOOTHED = 12  # rows that a smoothing spline needs
DEGREE = 5  # of a smoothing spline
KNOTS = 0.3  # of the rows
WARPS = 2  # smoothings, each with knots where the last one moves fast
SLOWEST = 5.0  # how much faster than a field at rest time runs for a field of usual speed
WIDE = 4  # rows on either side that a speed is averaged over

Spline = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Curve:
    """One undriven trajectory: its times, its rows, and how noisy each value is."""

    times: Float[np.ndarray, " T"]
    rows: Float[np.ndarray, "T F"]
    noise: Float[np.ndarray, "T F"]  # standard deviations

    def part(self, start: int, end: int) -> Curve:
        """Some of the rows."""
        return Curve(self.times[start:end], self.rows[start:end], self.noise[start:end])

    @cached_property
    def noisy(self) -> Bool[np.ndarray, " F"]:
        """Whether a curve through the rows would show their noise, by field."""
        return np.median(self.noise, axis=0) > CLEAN * np.std(self.rows, axis=0)

    @cached_property
    def _smooth(self) -> list[Spline]:
        return [
            _smoothed_spline(self.times, x, s) if noisy and len(x) >= LEAST_SMOOTHED else CubicSpline(self.times, x)
            for x, s, noisy in zip(self.rows.T, self.noise.T, self.noisy, strict=True)
        ]

    def at(self, times: Float[np.ndarray, " G"]) -> Float[np.ndarray, "G F"]:
        """Smooth values at these times."""
        return np.stack([spline(times) for spline in self._smooth], axis=-1)

    @cached_property
    def nodes(self) -> tuple[Float[np.ndarray, " G"], Float[np.ndarray, " G"]]:
        """Times between the rows at which integrals are taken, and their weights."""
        places, weights = np.polynomial.legendre.leggauss(NODES)
        gaps = np.diff(self.times)
        parts = np.maximum(np.round(gaps / np.median(gaps)), 1.0).astype(int)  # a gap of several rows has as many parts
        half = np.repeat(gaps / parts, parts)[:, None] / 2
        start = np.concatenate([t + gap / n * np.arange(n) for t, gap, n in zip(self.times, gaps, parts, strict=False)])
        return (start[:, None] + half * (1 + places)).ravel(), (half * weights).ravel()

    @cached_property
    def smooth(self) -> Float[np.ndarray, "G F"]:
        """Smooth values at the nodes."""
        return self.at(self.nodes[0])

    @cached_property
    def _bumps(self) -> tuple[Float[np.ndarray, "K G"], Float[np.ndarray, "K T"]]:
        """Averages under each bump from values at the nodes, and the left side of a law from rows."""
        times, weights = self.nodes
        start, end = self.times[0], self.times[-1]
        bumps = []
        usual = float(np.median(np.diff(self.times)))
        for half in sorted({max(share * (end - start), LEAST_ROWS * usual) for share in BUMPS}):
            if 2 * half > end - start:
                continue
            count = 1 + int(np.ceil((end - start - 2 * half) / (APART * half)))
            for centre in np.linspace(start + half, end - half, count):
                s = np.clip((times - centre) / half, -1.0, 1.0)
                bumps.append((1 - s**2) ** EDGE / half)
        bump = np.array(bumps).reshape(-1, len(times)) * weights
        # With the same nodes on both sides, errors of the integrals cancel.
        return bump, bump @ CubicSpline(self.times, np.eye(len(self.times)))(times, 1)

    def sides(self, k: int) -> tuple[Float[np.ndarray, "K G"], Float[np.ndarray, " K"]]:
        """What makes averages of a term from its values at the nodes, and the left side, both in units of their noise."""
        bump, left = self._bumps
        target = left @ self.rows[:, k]
        # Noise in the rows is independent, noise of bumps that overlap is not.
        cover = (left * self.noise[:, k] ** 2) @ left.T
        own = np.sqrt(np.diag(cover)) + FINEST * np.sqrt(np.mean(target**2))
        cover += np.diag(RIDGE * own**2 + 1e-300)
        factor = np.linalg.cholesky(cover)
        whitened = solve_triangular(factor, np.column_stack([bump, target]), lower=True)
        return whitened[:, :-1], whitened[:, -1]


def curves_of(pieces: Sequence[tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T F"]]]) -> list[Curve]:
    """Times and rows of trajectories as curves; those with too few rows to tell noise from motion are left out."""
    long = [(times, rows) for times, rows in pieces if len(times) >= LEAST_SMOOTHED]
    if not long:
        return []
    noise = [
        noise_of([times for times, _ in long], [rows[:, k] for _, rows in long]) for k in range(long[0][1].shape[1])
    ]
    return [
        Curve(times, rows, np.stack([one[place] for one in noise], axis=-1)) for place, (times, rows) in enumerate(long)
    ]


def noise_of(times: Sequence[np.ndarray], values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The standard deviation of the noise in each value, the same for all or in proportion to the value.

    Differences of high order of a smooth solution are noise; divided differences hold for uneven times.
    """
    left, scale = (np.concatenate(part) for part in zip(*map(_differences, times, values), strict=True))
    spread = float(np.std(np.concatenate(values)))
    finest = FINEST * spread + 1e-12
    even, growing = float(np.sqrt(np.mean(left**2))), float(np.sqrt(np.mean((left / scale) ** 2)))
    # The likelier of both, each with the size of noise that suits it best.
    if np.log(even + 1e-300) <= np.mean(np.log(growing * scale + 1e-300)):
        return [np.full(len(x), max(even, finest)) for x in values]
    return [np.maximum(growing * np.hypot(x, BARE * spread), finest) for x in values]


def _differences(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divided differences that have the variance of one value, and the same of noise in proportion to the value."""
    count = ORDER + 1
    near = np.lib.stride_tricks.sliding_window_view(times, count)
    apart = near[:, :, None] - near[:, None, :] + np.eye(count)
    weights = 1.0 / np.prod(apart / np.median(np.diff(times)), axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    left = np.sum(weights * np.lib.stride_tricks.sliding_window_view(values, count), axis=1)
    inside = np.lib.stride_tricks.sliding_window_view(values**2, count)
    return left, np.sqrt(np.sum(weights**2 * inside, axis=1)) + 1e-300


def _smoothed_spline(times: np.ndarray, values: np.ndarray, noise: np.ndarray) -> Spline:
    """A smooth curve near the rows."""
    speed = np.zeros(len(times) - 1)
    for _ in range(WARPS):
        # Knots lie densely, and curves may bend more, where the field moves fast.
        pace = np.diff(times) * (1.0 + SLOWEST * speed / max(float(np.mean(speed)), 1e-300))
        warped = np.append(0.0, np.cumsum(pace))
        spline = _smoothed(warped / warped[-1], values, noise)
        found = spline(warped / warped[-1])
        speed = np.abs(np.diff(found)) / np.diff(times)
        speed = np.convolve(np.pad(speed, WIDE, mode="edge"), np.ones(2 * WIDE + 1) / (2 * WIDE + 1), "valid")
    clock = PchipInterpolator(times, warped / warped[-1])
    return lambda t: spline(clock(t))


def _smoothed(times: np.ndarray, values: np.ndarray, noise: np.ndarray) -> BSpline:
    """The spline of the least expected error among those with penalised third differences; the noise is known."""
    inner = max(int(len(times) * KNOTS), 8)
    knots = np.concatenate([np.zeros(DEGREE), np.linspace(0.0, 1.0, inner), np.ones(DEGREE)])
    basis = BSpline.design_matrix(np.clip(times, 0.0, 1.0), knots, DEGREE).toarray()
    scaled, target = basis / noise[:, None], values / noise
    penalty = np.diff(np.eye(basis.shape[1]), 3, axis=0)
    gram = scaled.T @ scaled
    gram += 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))
    bends, modes = eigh(penalty.T @ penalty, gram)
    size = modes.T @ (scaled.T @ target)
    best = None
    for stiffness in np.geomspace(1e-8, 1e12, 81):
        shrunk = 1.0 / (1.0 + stiffness * np.maximum(bends, 0.0))
        risk = float(np.sum((shrunk**2 - 2 * shrunk) * size**2) + 2 * np.sum(shrunk))
        if best is None or risk < best[0]:
            best = risk, shrunk
    assert best is not None
    return BSpline(knots, modes @ (best[1] * size), DEGREE)


def averaged(whitened: Float[np.ndarray, "K G"], terms: Sequence[Expr], values: dict[str, np.ndarray]) -> np.ndarray:
    """Averages of terms under each bump, K x m; not a number where a term has none."""
    found = columns(terms, values, whitened.shape[1])
    fine = np.isfinite(found).all(axis=0)
    return np.where(fine, whitened @ np.where(fine, found, 0.0), np.nan)
