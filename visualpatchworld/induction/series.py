"""What may be a coordinate: a column as it is, a column that wraps, or the angle of a column pair on the unit circle, as time series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.events import repeated
from visualpatchworld.world.trajectory import Trajectory

CIRCLE = 0.02  # a cosine and a sine leave at most this part of their squares' spread

Told = Mapping[int, tuple[str, int | None]]  # by column: the role that a user gave it, and the column that it is of


@dataclass(frozen=True)
class Series:
    """A possible coordinate: its columns, and its values in every trajectory."""

    columns: tuple[int, ...]
    values: tuple[Float[np.ndarray, " T"], ...]
    angle: bool
    wraps: bool
    turn_from: float = -np.pi

    @property
    def moved(self) -> Float[np.ndarray, " N"]:
        """How far it goes in every step."""
        return np.concatenate([np.diff(part) for part in self.values])


def circles(seen: Float[np.ndarray, "N O"], live: Sequence[int], told: Told) -> list[tuple[int, int]]:
    """Pairs of columns whose squares add up to one, the surest first; a column is in one pair at most."""
    tame = [i for i in live if np.abs(seen[:, i]).max() < 1.2 and told.get(i, ("cos", None))[0] in ("cos", "sin")]
    found = []
    for n, i in enumerate(tame):
        for j in tame[n + 1 :]:
            total = seen[:, i] ** 2 + seen[:, j] ** 2
            spread = min(float(np.std(seen[:, i] ** 2)), float(np.std(seen[:, j] ** 2)))
            if spread > 0 and (left := float(np.sqrt(np.mean((total - 1) ** 2))) / spread) < CIRCLE:
                found.append((left, (i, j)))
    taken: set[int] = set()
    chosen = []
    for _, pair in sorted(found):
        if not taken & set(pair):
            taken |= set(pair)
            chosen.append(tuple(pair[::-1]) if told.get(pair[0], ("cos", None))[0] == "sin" else pair)
    return sorted(chosen)


def on_circle(trajectories: Sequence[Trajectory], circle: tuple[int, ...]) -> Series:
    """The angle whose cosine and sine these columns are."""
    angles = tuple(np.unwrap(np.arctan2(t.observations[:, circle[1]], t.observations[:, circle[0]])) for t in trajectories)
    return Series(circle, angles, True, False)


def plain(trajectories: Sequence[Trajectory], column: int, told: Told) -> Series:
    """A column as it is, or unwrapped where it jumps by whole turns."""
    raw = [t.observations[:, column] for t in trajectories]
    everything = np.concatenate(raw)
    low, high = float(everything.min()), float(everything.max())
    jumps = np.concatenate([np.abs(np.diff(part)) for part in raw])
    far = jumps > 1.5 * np.pi
    inside = (low >= -np.pi - 0.2 and high <= np.pi + 0.2) or (low >= -0.2 and high <= 2 * np.pi + 0.2)
    # A wrap jumps by nearly a whole turn, and nothing is seen between the usual steps and such jumps.
    wraps = bool(inside and far.any() and (jumps[~far] < np.pi / 2).all() and high - low > 1.8 * np.pi)
    angle = wraps or told.get(column, ("", None))[0] == "angle"
    values = tuple(np.unwrap(part) if wraps else part for part in raw)
    return Series((column,), values, angle, wraps, 0.0 if low >= -0.2 else -np.pi)


def away_from_edges(series: Series) -> Bool[np.ndarray, " N"]:
    """Steps that do not end at a value that is met again and again: a wall. Without them the coordinate follows its velocity."""
    after = np.concatenate([part[1:] for part in series.values])
    before = np.concatenate([part[:-1] for part in series.values])
    free = ~(repeated(after) & (after != before)) & ~(repeated(after) & repeated(before))
    return free if not series.angle and free.mean() > 0.2 else np.ones(len(after), bool)
