"""Rows to learn from: transitions of named fields, what was done, and how finely each field is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

SINGLE = 6e-8  # relative rounding of float32
DOUBLE = 1e-11  # relative; nothing that plans or predicts needs more digits than this
WHOLE = 1e-6  # of a field of whole numbers: any part of one is too much
FOURTH = 0.6745 * 70**0.5  # the median of fourth differences of noise, in its standard deviations
ROUGHEST = 0.2  # of a field's spread: more is motion, not noise
HIDDEN_NAMES = ("clock", "timer", "mode")  # of fields that memory adds
LEAST_FREE = 80  # rows without marks of rules that are enough to learn motion from
IDLE = 0.1  # of the steps: a choice that moves a field more seldom does not move it
LEAST_INNER = 12  # rows between the edges of a counter that are enough to learn from
ATOM = 4  # times that a value of a continuous field comes back before something is taken to hold it there
OFTEN = 0.2  # of the rows: what jumps more often is how the field moves
SUDDEN = 12.0  # times the usual change: a jump
CIRCLE = 1e-4  # how far the squares of a cosine and a sine may add up to other than one


@dataclass(frozen=True)
class Field:
    """A number of the state and the columns that show it: its own, or those of its cosine and sine."""

    name: str
    columns: tuple[int, ...]  # none where it is hidden
    kind: str = "plain"  # plain, angle (shown as cosine and sine), steady (constant within an episode), whole
    start: float = 0.0  # of a hidden field, in the first row of an episode
    offset: float = 0.0  # what its column shows where the field is zero
    speed_of: str = ""  # the field that moves by this one as it is, where no column shows this one

    @property
    def shown(self) -> bool:
        return bool(self.columns)


@dataclass(frozen=True)
class Rows:
    """N transitions of F fields under U inputs; episodes lie one after the other."""

    fields: tuple[Field, ...]
    before: Float[np.ndarray, "N F"]
    after: Float[np.ndarray, "N F"]
    inputs: Mapping[str, Float[np.ndarray, " N"]]  # as numbers, or one indicator per choice
    episode: Int[np.ndarray, " N"]
    time: Int[np.ndarray, " N"]  # steps since the episode began
    floors: Float[np.ndarray, " F"]  # the rounding of each field, as a standard deviation
    choices: Mapping[str, int] = field(default_factory=dict)  # how many choices a discrete action has, by name
    inputs_after: Mapping[str, Float[np.ndarray, " N"]] | None = None  # at the end of a step, where they are others
    moved: Float[np.ndarray, "N F"] | None = None  # the changes to explain, where they are not after less before

    def __len__(self) -> int:
        return len(self.before)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields)

    def at(self, name: str) -> int:
        return self.names.index(name)

    @cached_property
    def change(self) -> Float[np.ndarray, "N F"]:
        return self.after - self.before if self.moved is None else self.moved

    def values(self, states: Float[np.ndarray, "N F"] | None = None) -> dict[str, np.ndarray]:
        """Columns by name for expressions: these states (those before unless given) and the inputs that belong to them."""
        inputs = self.inputs if self.inputs_after is None or states is not self.after else self.inputs_after
        states = self.before if states is None else states
        return {name: states[:, k] for k, name in enumerate(self.names)} | dict(inputs)

    def taken(self, rows: Bool[np.ndarray, " N"] | Int[np.ndarray, " M"]) -> Rows:
        """Some of the rows."""
        return replace(
            self,
            before=self.before[rows],
            after=self.after[rows],
            inputs={name: column[rows] for name, column in self.inputs.items()},
            episode=self.episode[rows],
            time=self.time[rows],
            inputs_after=self.inputs_after and {name: column[rows] for name, column in self.inputs_after.items()},
            moved=None if self.moved is None else self.moved[rows],
        )

    def with_inputs(self, more: Mapping[str, np.ndarray]) -> Rows:
        return replace(self, inputs={**self.inputs, **more})


def only(rows: Rows, names: Sequence[str]) -> Rows:
    """The same rows with these fields alone."""
    places = [rows.at(name) for name in names]
    return replace(
        rows,
        fields=tuple(rows.fields[k] for k in places),
        before=rows.before[:, places],
        after=rows.after[:, places],
        floors=rows.floors[places],
    )


def shifted(rows: Rows, offsets: Mapping[str, float]) -> Rows:
    """The same rows, some fields counted from another zero."""
    move = np.array([offsets.get(name, 0.0) for name in rows.names])
    fields = tuple(replace(f, offset=f.offset + offsets.get(f.name, 0.0)) for f in rows.fields)
    return replace(rows, fields=fields, before=rows.before - move, after=rows.after - move)


def choice_name(name: str, choice: int) -> str:
    return f"{name}_is_{choice}"


def rows_of(trajectories: Sequence[Trajectory], fields: Sequence[Field], space: ActionSpace) -> Rows:
    """The transitions of all trajectories, fields read off their columns."""
    states = [read(trajectory.observations, fields) for trajectory in trajectories]
    acted = np.concatenate([trajectory.actions for trajectory in trajectories])
    inputs: dict[str, np.ndarray] = {}
    choices: dict[str, int] = {}
    for k in range(acted.shape[1]):
        name = action_name(k)
        if space.kind == "discrete":
            choices[name] = space.counts[k]
            inputs[name] = acted[:, k].astype(float)
            inputs |= {choice_name(name, c): (acted[:, k] == c).astype(float) for c in range(space.counts[k])}
        elif np.ptp(acted[:, k]) > 0:
            inputs[name] = acted[:, k].astype(float)
    return Rows(
        tuple(fields),
        np.concatenate([s[:-1] for s in states]),
        np.concatenate([s[1:] for s in states]),
        inputs,
        np.concatenate([np.full(len(t), k) for k, t in enumerate(trajectories)]),
        np.concatenate([np.arange(len(t)) for t in trajectories]),
        rounding(trajectories, fields, undriven=not acted.shape[1]),
        choices,
    )


def action_name(k: int) -> str:
    return f"action_{k}"


def read(observations: Float[np.ndarray, "T C"], fields: Sequence[Field]) -> Float[np.ndarray, "T F"]:
    """The fields of every row; angles go on beyond a turn, and hidden fields have their first value."""
    found = np.empty((len(observations), len(fields)))
    for k, f in enumerate(fields):
        if not f.columns:
            found[:, k] = f.start
        elif f.kind == "angle":
            found[:, k] = np.unwrap(np.arctan2(observations[:, f.columns[1]], observations[:, f.columns[0]]))
        else:
            found[:, k] = observations[:, f.columns[0]] - f.offset
    return found


def rounding(
    trajectories: Sequence[Trajectory], fields: Sequence[Field], undriven: bool = False
) -> Float[np.ndarray, " F"]:
    """How coarsely each field is known: by its number format or, where nothing is done, by how smooth it is.

    Without actions a solution is smooth, so that what differences of fourth order leave is rounding, an integrator's
    tolerance or noise.
    """
    seen = np.concatenate([trajectory.observations for trajectory in trajectories])
    floors = []
    for f in fields:
        values = seen[:, list(f.columns)] if f.columns else np.ones((1, 1))
        single = bool(np.all(values == values.astype(np.float32)))
        size = float(np.max(np.abs(values), initial=1e-9))
        floor = WHOLE if f.kind == "whole" else (SINGLE if single else DOUBLE) * size
        if undriven and f.kind == "plain":
            bends = [np.diff(t.observations[:, f.columns[0]], 4) for t in trajectories if len(t) > 4]
            rough = float(np.median(np.abs(np.concatenate(bends)))) / FOURTH if bends else 0.0
            floor = max(floor, min(rough, ROUGHEST * float(np.std(values))))
        floors.append(floor)
    return np.array(floors)


def find_fields(trajectories: Sequence[Trajectory], names: Sequence[str]) -> tuple[Field, ...]:
    """The columns as fields: pairs on a circle are angles, and some stay the same within every episode."""
    seen = [trajectory.observations for trajectory in trajectories]
    whole = np.concatenate(seen)
    names = _apart(names)
    width, fields, used = whole.shape[1], [], set()
    scale = np.maximum(np.abs(whole).max(axis=0), 1e-12)
    steady = [max(float(np.ptp(s[:, c])) for s in seen) <= 1e-6 * scale[c] for c in range(width)]
    for c in range(width):
        if c in used:
            continue
        partner = next((d for d in range(c + 1, width) if d not in used and _on_circle(whole, c, d, steady)), None)
        if partner is not None:
            used.add(partner)
            taken = {*names, *(f.name for f in fields)}
            fields.append(Field(_angle_name(names[c], taken), (c, partner), "angle"))
        elif steady[c]:
            fields.append(Field(names[c], (c,), "steady"))
        elif np.all(whole[:, c] == np.round(whole[:, c])):
            fields.append(Field(names[c], (c,), "whole"))
        else:
            fields.append(Field(names[c], (c,)))
    return tuple(fields)


def _apart(names: Sequence[str]) -> list[str]:
    """Names that no input, indicator of a choice or hidden field of the search has."""
    return [f"{name.replace('_is_', '_equals_')}_seen" if _taken(name) else name for name in names]


def _taken(name: str) -> bool:
    return name.startswith("action_") or "_is_" in name or name in HIDDEN_NAMES


def _on_circle(seen: Float[np.ndarray, "T C"], c: int, d: int, steady: Sequence[bool]) -> bool:
    if steady[c] or steady[d]:
        return False
    return bool(np.all(np.abs(seen[:, c] ** 2 + seen[:, d] ** 2 - 1.0) < CIRCLE))


def _angle_name(name: str, used: set[str]) -> str:
    """What an angle is called whose cosine has this name: the rest of it, or plainly an angle."""
    stem = next((name[len(p) :] for p in ("cos_", "cosine_", "sin_", "sine_") if name.startswith(p)), "")
    if not stem:
        stem = "angle" if name[:1] == "x" and name[1:].isdigit() else f"{name}_angle"
    free, count = stem, 2
    while free in used:
        free, count = f"{stem}_{count}", count + 1
    return free


def usual(rows: Rows) -> Bool[np.ndarray, " N"]:
    """Rows in which nothing jumps and no continuous field arrives at a value that comes back again and again.

    Limits, stops and resets leave such marks; laws of motion are found without those rows, and rules explain them later.
    """
    fine = np.ones(len(rows), bool)
    for k, f in enumerate(rows.fields):
        change = np.abs(rows.change[:, k])
        if f.kind not in ("steady", "whole") and f.columns:
            sudden = change > SUDDEN * max(float(np.quantile(change, 0.8)), float(np.median(change)), 1e-12)
            fine &= ~sudden if sudden.mean() < OFTEN else True
        if f.kind == "plain" and f.columns:
            _, place, count = np.unique(rows.after[:, k], return_inverse=True, return_counts=True)
            held = count[place] >= max(ATOM, 0.004 * len(rows))
            fine &= ~held if (~held).sum() >= LEAST_FREE else True
    return fine if fine.sum() >= LEAST_FREE else np.ones(len(rows), bool)


def free_rows(rows: Rows, k: int, used: Bool[np.ndarray, " N"]) -> Bool[np.ndarray, " N"]:
    """Rows to learn the motion of a field from.

    A counter may be held at its edges, and a walker by walls: what a choice does is learned where it does something.
    """
    if rows.fields[k].kind != "whole":
        return used
    value, moved = rows.before[:, k], rows.after[:, k] != rows.before[:, k]
    inner = used & (value != value.min()) & (value != value.max())
    for name, count in rows.choices.items():
        for choice in range(count):
            here = inner & (rows.inputs[name] == choice)
            if here.any() and moved[here].mean() > IDLE:
                inner &= ~(here & ~moved)
    return inner if inner.sum() >= LEAST_INNER else used
