"""What the fields of a world are and are called: coordinates, angles,
velocities, with evidence; and states read off observations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.program.quoting import commented, python_name
from visualpatchworld.world.trajectory import Trajectory

Role = Literal["coordinate", "velocity", "angle", "cos", "sin", "derived", "constant", "noise", "exogenous"]
Integrator = Literal["none", "explicit", "semi-implicit", "rk4", "unknown"]


class Names:
    """Python names for fields, each given once."""

    def __init__(self, labels: Sequence[str], given: bool):
        self.labels, self.given = labels, given
        self.used: set[str] = set()

    def coordinate(self, columns: Sequence[int], angle: bool) -> str:
        """The name of a coordinate that these columns show."""
        label = self.labels[columns[0]]
        if len(columns) == 2:
            bare = (
                re.sub(r"(?i)\b(cos|sin|cosine|sine)\b|_?(cos|sin)_?", " ", label)
                .replace("(", " ")
                .replace(")", " ")
                .strip()
            )
            return self._unique(
                bare if self.given and bare and not re.fullmatch(r"[\d\W_]*", bare) and bare != label else "angle"
            )
        if self.given:
            return self._unique(label)
        return self._unique("angle" if angle else f"x{columns[0]}")

    def velocity(self, column: int | None, coordinate: str) -> str:
        """The name of a coordinate's velocity, which a column shows or none."""
        return self._unique(self.labels[column] if self.given and column is not None else f"{coordinate}_speed")

    def plain(self, column: int) -> str:
        """The name of a column that is in the state as it is."""
        return self._unique(self.labels[column])

    def shift(self, column: int) -> str:
        """The name of what is added to a column all through an episode."""
        return self._unique(f"{self.labels[column]}_shift")

    def _unique(self, name: str) -> str:
        return python_name(name.lower(), self.used)


@dataclass(frozen=True)
class FieldRole:
    """One column of the observation: what it is, of what, and how that shows."""

    name: str
    role: Role
    of: str | None
    evidence: str


@dataclass(frozen=True)
class Coordinate:
    """A number that evolves. It has a velocity where motion is
    remembered; a velocity without a column is not observed.
    """

    name: str  # in the program's State, a Python identifier
    columns: tuple[int, ...]  # of the observation: its own, or the two of its cosine and sine
    angle: bool = False
    velocity: str | None = None  # the velocity's name in the State; None where the coordinate is of first order
    velocity_column: int | None = None
    wraps: bool = False  # its column jumps by a whole turn at the end of its range
    turn_from: float = -np.pi  # where the range of a column that wraps begins
    # The column shows this coordinate on top of what that one's shows (an absolute angle of a chain).
    relative_to: str | None = None
    velocity_scale: float = 1.0  # the coordinate moves by this times the velocity (a gear, another unit)


@dataclass(frozen=True)
class Derived:
    """A column that follows from the state: a Python expression over `state` in the program's own names."""

    column: int
    expression: str


@dataclass(frozen=True)
class Reading:
    """How observations become states: S = all coordinates, then
    all velocities, then what is constant within an episode.
    """

    fields: tuple[FieldRole, ...]  # one per column of the observation
    coordinates: tuple[Coordinate, ...]
    # Name and column of what stays the same within an episode, such as a goal; where the column is derived, it is part
    # of its expression.
    parameters: tuple[tuple[str, int], ...] = ()
    derived: tuple[Derived, ...] = ()
    dt: float = 1.0  # seconds per step
    integrator: Integrator = "unknown"
    constants: Mapping[int, float] = field(default_factory=dict)  # by column: what never changes, and the mean of noise
    # Of the old velocity in the coordinate's motion: 1 explicit, 0 semi-implicit, 1/2 in the limit.
    weight: float | None = None
    turning: tuple[str, ...] = ()  # coordinates of which the law has the sine or cosine, whether or not they wrap

    @property
    def state_names(self) -> tuple[str, ...]:
        velocities = tuple(coordinate.velocity for coordinate in self.coordinates if coordinate.velocity is not None)
        return (
            *(coordinate.name for coordinate in self.coordinates),
            *velocities,
            *(name for name, _ in self.parameters),
        )

    @property
    def hidden(self) -> tuple[str, ...]:
        """Velocities that no column shows."""
        return tuple(c.velocity for c in self.coordinates if c.velocity is not None and c.velocity_column is None)

    def without_hidden(self) -> Reading:
        """The same with coordinates whose velocity is not observed taken to be of first order."""
        coordinates = tuple(c if c.velocity_column is not None else replace(c, velocity=None) for c in self.coordinates)
        paired = any(c.velocity is not None for c in coordinates)
        return replace(self, coordinates=coordinates, integrator=self.integrator if paired else "none")

    def states(self, trajectory: Trajectory) -> Float[np.ndarray, "T+1 S"]:
        """The states of a trajectory; angles go on beyond a turn, and
        hidden velocities are differences that suit the integrator.
        """
        seen = trajectory.observations
        shown = {coordinate.name: self._shown(seen, coordinate) for coordinate in self.coordinates}
        places = [shown[c.name] - (0.0 if c.relative_to is None else shown[c.relative_to]) for c in self.coordinates]
        speeds = []
        for coordinate, place in zip(self.coordinates, places, strict=True):
            if coordinate.velocity is not None:
                column = coordinate.velocity_column
                speeds.append(
                    self._difference(place) / coordinate.velocity_scale if column is None else seen[:, column]
                )
        return np.stack([*places, *speeds, *self._parameter_values(seen, places, speeds)], axis=-1)

    def _shown(self, seen: Float[np.ndarray, "T O"], coordinate: Coordinate) -> Float[np.ndarray, " T"]:
        """What a coordinate's columns show; an angle goes on beyond a turn, by its velocities where steps are wide."""
        by_name = {c.name: c for c in self.coordinates}
        moving = [by_name[name] for name in (coordinate.name, *self._bases(coordinate))]
        columns = [c.velocity_column for c in moving if c.velocity_column is not None]
        if len(seen) < 2 or not coordinate.angle or len(columns) < len(moving):
            return _place(seen, coordinate)
        speed = np.sum([seen[:, k] * c.velocity_scale for k, c in zip(columns, moving, strict=True)], axis=0)
        predicted = self.dt * (speed[1:] + speed[:-1]) / 2
        if np.abs(predicted).max() < 0.8 * np.pi:
            return _place(seen, coordinate)
        place = _place(seen, coordinate)
        apart = (np.diff(place) - predicted + np.pi) % (2 * np.pi) - np.pi
        return place[0] + np.concatenate([[0.0], np.cumsum(predicted + apart)])

    def _parameter_values(
        self, seen: Float[np.ndarray, "T O"], places: Sequence[np.ndarray], speeds: Sequence[np.ndarray]
    ) -> list[Float[np.ndarray, " T"]]:
        """What stays the same within an episode: a column, or what an expression of the state leaves of it."""
        known = dict(zip(self.state_names, (*places, *speeds), strict=False))
        known |= {name: seen[:, column] for name, column in self.parameters if self._expression(column) is None}
        values = []
        for name, column in self.parameters:
            expression = self._expression(column)
            if expression is not None:
                state = SimpleNamespace(**known, **{name: 0.0})
                # Our own text, as in programs.
                known[name] = seen[:, column] - eval(expression, {"np": np, "state": state})
            values.append(known[name])
        return values

    def _expression(self, column: int) -> str | None:
        return next((derived.expression for derived in self.derived if derived.column == column), None)

    def _bases(self, coordinate: Coordinate) -> list[str]:
        """The coordinates on top of which a column shows this one, the nearest first."""
        by_name, found = {c.name: c for c in self.coordinates}, []
        while coordinate.relative_to is not None:
            found.append(coordinate.relative_to)
            coordinate = by_name[coordinate.relative_to]
        return found

    def functions(self) -> list[str]:
        """Source text of `observe(state)` and `read(observation)`,
        where an observation is not the state itself; else nothing.
        """
        names = [field.name for field in self.fields]
        plain = [
            c.columns[0] for c in self.coordinates if len(c.columns) == 1 and not c.wraps and c.relative_to is None
        ]
        plain += [c.velocity_column for c in self.coordinates if c.velocity_column is not None] + [
            column for _, column in self.parameters
        ]
        if plain == list(range(len(names))) and not self.hidden:
            return []
        shown = self._columns()
        read: list[str] = []
        speeds: list[str] = []
        for c in self.coordinates:
            base = "".join(f" - {name}" for name in self._bases(c))
            if len(c.columns) == 2:
                read.append(f"{c.name} = np.arctan2(observation[{c.columns[1]}], observation[{c.columns[0]}]){base}")
            else:
                read.append(f"{c.name} = observation[{c.columns[0]}]{base}")
            if c.velocity is not None:
                known = c.velocity_column is not None
                speeds.append(
                    f"{c.velocity} = observation[{c.velocity_column}]"
                    if known
                    else f"{c.velocity} = 0.0  # not observed"
                )
        for name, column in self.parameters:
            expression = shown[column]
            rest = "" if expression == f"state.{name}" else f" - ({_without(expression, name)})"
            speeds.append(f"{name} = observation[{column}]{rest}")
        values = [commented(f"        {shown[k]},", f"{name}{self._note(k)}") for k, name in enumerate(names)]
        observe = ["def observe(state):", '    """What is seen of a state."""', "    return (", *values, "    )"]
        arguments = ", ".join(f"{name}={name}" for name in self.state_names)
        back = [
            "def read(observation):",
            '    """A state that gives this observation."""',
            *(f"    {line}" for line in (*read, *speeds)),
        ]
        return ["\n".join(observe), "\n".join([*back, f"    return State({arguments})"])]

    def _columns(self) -> dict[int, str]:
        """What each column shows, as an expression over `state`."""
        shown: dict[int, str] = {derived.column: derived.expression for derived in self.derived}
        for c in self.coordinates:
            place = " + ".join(f"state.{name}" for name in (*self._bases(c)[::-1], c.name))
            wrapped = f"({place} - {c.turn_from!r}) % (2 * np.pi) + {c.turn_from!r}" if c.wraps else place
            ways = (f"np.cos({place})", f"np.sin({place})") if len(c.columns) == 2 else (wrapped,)
            shown |= dict(zip(c.columns, ways, strict=True))
            shown |= {} if c.velocity_column is None else {c.velocity_column: f"state.{c.velocity}"}
        for name, column in self.parameters:
            shown.setdefault(column, f"state.{name}")

        def whole(column: int) -> str:
            text = shown.get(column, repr(self.constants.get(column, 0.0)))
            return re.sub(r"COLUMN_(\d+)", lambda found: f"({whole(int(found[1]))})", text)

        return {column: whole(column) for column in range(len(self.fields))}

    def spelled_out(self) -> Reading:
        """The same with columns that follow from other columns written as expressions over the state alone."""
        shown = self._columns()
        return replace(self, derived=tuple(replace(one, expression=shown[one.column]) for one in self.derived))

    def _note(self, column: int) -> str:
        return (
            {"noise": ", noise: its mean", "constant": ", the same in every row"}.get(self.fields[column].role, "")
            if self.fields
            else ""
        )

    def _difference(self, place: Float[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
        """A velocity from places alone: the last step where new
        velocities move coordinates, the next step where old ones do.
        """
        if len(place) < 2 or self.integrator not in ("explicit", "semi-implicit"):
            return np.gradient(place, self.dt) if len(place) > 1 else np.zeros(len(place))
        steps = np.diff(place) / self.dt
        return np.append(steps, steps[-1]) if self.integrator == "explicit" else np.insert(steps, 0, steps[0])


def _without(expression: str, parameter: str) -> str:
    """An expression over plain names without the parameter that it begins with."""
    rest = expression.removeprefix(f"state.{parameter} ").removeprefix("+ ")
    return re.sub(r"\bstate\.", "", "-" + rest[2:] if rest.startswith("- ") else rest)


def _place(observations: Float[np.ndarray, "T O"], coordinate: Coordinate) -> Float[np.ndarray, " T"]:
    if len(coordinate.columns) == 2:
        cosine, sine = (observations[:, column] for column in coordinate.columns)
        return np.unwrap(np.arctan2(sine, cosine))
    place = observations[:, coordinate.columns[0]]
    return np.unwrap(place) if coordinate.angle else place


def table(fields: Sequence[FieldRole]) -> list[dict[str, str | None]]:
    """The roles as plain data, a row per column: the `fields` of `vpw look --json`."""
    return [{"name": field.name, "role": field.role, "of": field.of, "evidence": field.evidence} for field in fields]
