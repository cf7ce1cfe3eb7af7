"""Terms: the small expressions that sums are made of, as code of the program and as columns of a regression."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

INNER = "{inner}"  # where a term's own constant goes


@dataclass(frozen=True)
class Term:
    """One summand without its factor: code over `state`, `new` and
    `action`, the law it belongs to, and what its factor is called.

    `new.FIELD` is the value that the same step has just given to a field: worlds that update one field after another
    use it.

    A term may hold one constant of its own (a frequency, a threshold): `grid` has the values that are tried, `inner`
    the one taken.
    """

    code: str
    law: str
    label: str
    cost: float = 1.0
    of: tuple[str, ...] = ()
    grid: tuple[float, ...] = ()
    inner: float | None = None
    inner_label: str = ""
    smooth: bool = True  # whether a small change of the inner constant changes anything smoothly
    reach: tuple[float, float] | None = None  # the range of the grid that the inner constant was taken from

    def at(self, inner: float) -> Term:
        """The term with its own constant set."""
        return replace(
            self, inner=float(inner), grid=(), reach=(min(self.grid), max(self.grid)) if self.grid else self.reach
        )

    @property
    def within_reach(self) -> bool:
        """Whether its own constant is about where it was looked
        for; far outside a term degenerates into another one.
        """
        if self.inner is None or self.reach is None:
            return True
        slack = 0.5 * (self.reach[1] - self.reach[0])
        return self.reach[0] - slack <= self.inner <= self.reach[1] + slack

    def with_new(self, fields: Sequence[str]) -> Term:
        """The term with the new values of these fields in place of the old ones."""
        return replace(self, code=re.sub(rf"\bstate\.({'|'.join(map(re.escape, fields))})\b", r"new.\1", self.code))

    def column(self, namespace: Mapping[str, Any], count: int) -> Float[np.ndarray, " N"]:
        """The term's value in every row."""
        values = dict(namespace) if self.inner is None else {**namespace, "inner_": self.inner}
        text = self.code.replace(INNER, "inner_")
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(eval(text, {"np": np}, values), float), (count,))


class Rows(NamedTuple):
    """N steps: states before and after, the actions between, and the trajectory and time each step is from."""

    names: tuple[str, ...]  # of the columns of states
    before: Float[np.ndarray, "N S"]
    after: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N A"]
    episode: Int[np.ndarray, " N"]
    time: Int[np.ndarray, " N"]
    angles: tuple[int, ...] = ()  # columns of states that act through their sine and cosine


def rows_of(
    names: Sequence[str],
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    angles: tuple[int, ...] = (),
) -> Rows:
    """Every step of these trajectories."""
    lengths = [len(acted) for acted in actions]
    return Rows(
        tuple(names),
        np.concatenate([s[:-1] for s in states]),
        np.concatenate([s[1:] for s in states]),
        np.concatenate(list(actions)),
        np.concatenate([np.full(n, i) for i, n in enumerate(lengths)]),
        np.concatenate([np.arange(n) for n in lengths]),
        angles,
    )


def joined(one: Rows, other: Rows) -> Rows:
    """All steps of both, as of different trajectories."""
    later = other.episode + int(one.episode.max(initial=-1)) + 1
    return Rows(
        one.names,
        np.concatenate([one.before, other.before]),
        np.concatenate([one.after, other.after]),
        np.concatenate([one.actions, other.actions]),
        np.concatenate([one.episode, later]),
        np.concatenate([one.time, other.time]),
        one.angles,
    )


def namespace(
    names: Sequence[str],
    states: Float[np.ndarray, "N S"],
    actions: Float[np.ndarray, "N A"],
    after: Float[np.ndarray, "N S"] | None = None,
) -> dict[str, Any]:
    """What code of a term may speak of: `state` with arrays as its
    fields, `action`, and `new` where the states after are given.
    """
    known: dict[str, Any] = {"state": SimpleNamespace(**dict(zip(names, states.T, strict=True))), "action": actions.T}
    if after is not None:
        known["new"] = SimpleNamespace(**dict(zip(names, after.T, strict=True)))
    return known


def _at_rows(space: Mapping[str, Any], rows: Int[np.ndarray, " P"]) -> dict[str, Any]:
    return {
        name: part[:, rows]
        if name == "action"
        else SimpleNamespace(**{field: values[rows] for field, values in vars(part).items()})
        for name, part in space.items()
    }


class Samples(NamedTuple):
    """Where along a step the terms are looked at, and with what
    weights: their mean is taken as the term's mean over the step.
    """

    weights: tuple[float, ...]
    spaces: tuple[dict[str, Any], ...]
    count: int
    # Where terms are averaged over windows of steps: the first row of each.
    windows: Int[np.ndarray, " M"] | None = None
    length: int = 1
    picked: Int[np.ndarray, " P"] | None = None  # where only some rows or windows are looked at

    def column(self, term: Term) -> Float[np.ndarray, " N"]:
        """The term's mean over the step, in every row (or over the steps of every window)."""
        values = np.asarray(
            sum(
                weight * term.column(space, self.count) for weight, space in zip(self.weights, self.spaces, strict=True)
            ),
            float,
        )
        pooled = self.pooled(values)
        return pooled if self.picked is None else pooled[self.picked]

    def only(self, rows: Int[np.ndarray, " P"]) -> Samples:
        """The same at these rows (or windows) alone."""
        if self.windows is not None:
            return self._replace(picked=rows)
        return self._replace(spaces=tuple(_at_rows(space, rows) for space in self.spaces), count=len(rows))

    def pooled(self, values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " M"]:
        """Means over the windows; the values themselves where there are none."""
        if self.windows is None:
            return values
        total = np.concatenate([[0.0], np.cumsum(values)])
        return (total[self.windows + self.length] - total[self.windows]) / self.length


def samples_at_start(rows: Rows) -> Samples:
    """Terms as they are when the step begins: exact for integrators that look there alone."""
    return Samples((1.0,), (namespace(rows.names, rows.before, rows.actions, rows.after),), len(rows.before))


def samples_along(rows: Rows, pairs: Sequence[tuple[int, int]], dt: float) -> Samples:
    """Terms at the start, the middle and the end, weighted as Simpson
    does; `pairs` are columns of coordinates and their velocities.
    """
    middle = (rows.before + rows.after) / 2
    for place, speed in pairs:
        moved = rows.after[:, place] - rows.before[:, place]
        middle[:, place] += dt * (rows.before[:, speed] - rows.after[:, speed]) / 8
        middle[:, speed] = 1.5 * moved / dt - (rows.before[:, speed] + rows.after[:, speed]) / 4
    spaces = tuple(namespace(rows.names, states, rows.actions) for states in (rows.before, middle, rows.after))
    return Samples((1 / 6, 4 / 6, 1 / 6), spaces, len(rows.before))


def samples_in_windows(samples: Samples, rows: Rows, usable: Bool[np.ndarray, " N"], length: int) -> Samples:
    """The same terms averaged over windows of steps: noise of
    observations counts once per window, a law in every step of it.
    """
    last = len(rows.episode) - length
    first = np.arange(0, max(last + 1, 0), max(1, length // 2))
    whole = (rows.episode[first] == rows.episode[first + length - 1]) & (
        rows.time[first + length - 1] - rows.time[first] == length - 1
    )
    bad = np.concatenate([[0], np.cumsum(~usable)])
    clear = bad[first + length] == bad[first]
    return samples._replace(windows=first[whole & clear], length=length)
