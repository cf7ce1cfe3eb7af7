"""Reading the fields: what every column of the observation is,
from observations and actions alone, the most certain first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.pairing import (
    GivenRoles,
    Observed,
    Pair,
    Series,
    circles,
    on_circle,
    plain,
    relative_pairs,
    time_step,
    velocity_pairs,
)
from visualpatchworld.induction.reading import Coordinate, FieldRole, Names, Reading, Role
from visualpatchworld.induction.regress import roundings
from visualpatchworld.induction.unpaired import Note, copies, note_coordinate, place_unpaired
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace


class BadField(VpwError):
    """A correction of a field that cannot be followed."""


def read_fields(
    trajectories: Sequence[Trajectory],
    action_space: ActionSpace | None = None,
    names: Sequence[str] | None = None,
    dt: float | None = None,
    corrections: Mapping[str, str] | None = None,
) -> Reading:
    """The reading of a world's observations; `corrections` are roles
    by field, such as `{"theta": "angle", "w": "velocity:theta"}`.
    """
    width = trajectories[0].observations.shape[1]
    named = bool(names) and len(names or ()) == width
    labels = list(names) if named and names else [f"x{i}" for i in range(width)]
    given = _parsed(corrections or {}, labels)
    seen = np.concatenate([trajectory.observations for trajectory in trajectories])
    noise = roundings(trajectories)
    roles: dict[int, FieldRole] = {}

    def note(column: int, role: Role, of: str | None, evidence: str) -> None:
        roles[column] = FieldRole(labels[column], role, of, evidence)

    parameters = _find_constants(trajectories, seen, noise, note, given)
    live = [i for i in range(width) if i not in roles and i not in parameters]
    for column in live:
        for role in ("noise", "exogenous"):
            if given.get(column, ("", None))[0] == role:
                note(column, role, None, "as corrected")
    live = [i for i in live if i not in roles]
    round_ones = circles(seen, live, given)
    circular = {column for circle in round_ones for column in circle}
    derived = copies(seen, noise, [i for i in live if i not in circular], note, given, labels)
    straight = [i for i in live if i not in roles and i not in circular]

    series = [
        *(on_circle(trajectories, circle) for circle in round_ones),
        *(plain(trajectories, i, given) for i in straight),
    ]
    observed = Observed(trajectories, straight, noise, given)
    pairs = velocity_pairs(observed, series, dt)
    for n, pair in enumerate(pairs):
        if pair.slope < 0 and len(series[pair.coordinate].columns) == 2:
            # The other way round the angle grows with its velocity.
            series[pair.coordinate] = on_circle(trajectories, series[pair.coordinate].columns[::-1])
            pairs[n] = pair._replace(slope=-pair.slope)
    step, weight, integrator = time_step(observed, series, pairs, dt)
    found = ""
    if pairs:
        worst = max(pair.left for pair in pairs)
        given_dt = " (given)" if dt else ""
        found = (
            f"dt = {step:.6g}{given_dt}, weight of the old velocity {weight:.3f}: {integrator}; rest "
            f"{worst:.1g} of the motion"
        )

    pairs, bases, series = relative_pairs(observed, series, pairs, step)
    maker = Names(labels, named)
    coordinates = _paired(series, pairs, bases, step, labels, maker, note, found)
    used = {pair.coordinate for pair in pairs}
    speeds = {pair.column for pair in pairs}
    unpaired = [
        one
        for k, one in enumerate(series)
        if k not in used and not (len(one.columns) == 1 and one.columns[0] in speeds)
    ]
    placed = place_unpaired(trajectories, unpaired, coordinates, parameters, noise, step, given, note, maker)
    derived += placed.derived
    for column in parameters:
        note(column, "constant", "episode", "stays the same within an episode and differs between episodes")
    kept = tuple((maker.plain(column), column) for column in parameters)
    for name, column in kept:
        derived = [replace(one, expression=re.sub(rf"\bparameter_{column}\b", name, one.expression)) for one in derived]
    ordered = sorted(placed.coordinates, key=lambda c: (_depth(c, placed.coordinates), c.columns))
    fields = tuple(roles[column] for column in range(width))
    still = {
        c: float(f"{np.mean(seen[:, c]):.6g}")
        for c in range(width)
        if roles[c].role in ("constant", "noise", "exogenous") and c not in parameters
    }
    parameters_of = (*kept, *placed.parameters)
    return Reading(fields, tuple(ordered), parameters_of, tuple(derived), step, integrator, still, weight).spelled_out()


def _paired(
    series: Sequence[Series],
    pairs: Sequence[Pair],
    bases: Mapping[int, int],
    step: float,
    labels: Sequence[str],
    maker: Names,
    note: Note,
    found: str,
) -> list[Coordinate]:
    """Coordinates that have a velocity, those that others count from first."""
    coordinates: list[Coordinate] = []
    called: dict[int, str] = {}
    order = {pair.coordinate: n for n, pair in enumerate(pairs)}
    for pair in sorted(
        pairs, key=lambda pair: (order[pair.coordinate] if pair.coordinate in bases else -1, pair.coordinate)
    ):
        one = series[pair.coordinate]
        scale = 1.0 if abs(pair.slope / step - 1) < 0.02 else pair.slope / step
        name = maker.coordinate(one.columns, one.angle)
        speed = maker.velocity(pair.column, name)
        base = called[bases[pair.coordinate]] if pair.coordinate in bases else None
        shown = f"shows {name} on top of {base}; " if base else ""
        coordinates.append(
            Coordinate(name, one.columns, one.angle, speed, pair.column, one.wraps, one.turn_from, base, scale)
        )
        called[pair.coordinate] = name
        note_coordinate(note, one, name, f"{shown}moves by the field '{labels[pair.column]}'; {found}")
        units = "" if scale == 1.0 else f", in units of {scale:.6g}"
        note(pair.column, "velocity", name, f"leaves {pair.left:.1g} of the motion of {name}{units}; {found}")
    return coordinates


def _depth(coordinate: Coordinate, coordinates: Sequence[Coordinate]) -> int:
    """How many others a coordinate counts from."""
    depth, base = 0, coordinate.relative_to
    while base is not None:
        depth, base = depth + 1, next(c.relative_to for c in coordinates if c.name == base)
    return depth


def _parsed(corrections: Mapping[str, str], labels: Sequence[str]) -> dict[int, tuple[str, int | None]]:
    given = {}
    for name, text in corrections.items():
        role, _, of = text.partition(":")
        for field in (name, of) if of else (name,):
            if field not in labels:
                raise BadField(f"There is no field '{field}'; there are {', '.join(labels)}.")
        if role not in get_args(Role):
            raise BadField(f"A field is one of {', '.join(get_args(Role))}, not '{role}'.")
        given[labels.index(name)] = (role, labels.index(of) if of else None)
    return given


def _find_constants(
    trajectories: Sequence[Trajectory],
    seen: Float[np.ndarray, "N O"],
    noise: Float[np.ndarray, " O"],
    note: Note,
    given: GivenRoles,
) -> list[int]:
    """Columns that never change get their role; those that change between episodes alone are returned."""
    parameters = []
    for column in range(seen.shape[1]):
        size = max(float(np.abs(seen[:, column]).max()), 1e-12)
        slack = max(1e-9 * size, 4 * noise[column])
        if given.get(column, ("constant", None))[0] != "constant":
            continue
        if np.ptp(seen[:, column]) <= slack:
            apart = float(np.ptp(seen[:, column]))
            same = f"is {seen[0, column]:.6g} in all {len(seen)} rows"
            note(
                column,
                "constant",
                None,
                same if not apart else f"{same} but for {apart:.1g}, too little to tell from rounding",
            )
        elif len(trajectories) > 1 and all(np.ptp(t.observations[:, column]) <= slack for t in trajectories):
            parameters.append(column)
    return parameters


def as_it_is(reading: Reading) -> Reading:
    """The reading with every column a coordinate of first order,
    for worlds in which no field could be seen to evolve.
    """
    maker = Names([f.name for f in reading.fields], True)
    every = tuple(Coordinate(maker.plain(column), (column,)) for column in range(len(reading.fields)))
    return replace(
        reading, coordinates=every, parameters=(), derived=(), dt=1.0, integrator="none", constants={}, weight=None
    )
