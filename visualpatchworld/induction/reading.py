"""What the fields of a world are: coordinates, angles, velocities, each with its evidence; and states read off observations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.world.trajectory import Trajectory

Role = Literal["coordinate", "velocity", "angle", "cos", "sin", "derived", "constant", "noise"]
Integrator = Literal["none", "explicit", "semi-implicit", "rk4", "unknown"]


@dataclass(frozen=True)
class FieldRole:
    """One column of the observation: what it is, of what, and how that shows."""

    name: str
    role: Role
    of: str | None
    evidence: str


@dataclass(frozen=True)
class Coordinate:
    """A number that evolves. It has a velocity where motion is remembered; a velocity without a column is not observed."""

    name: str  # in the program's State, a Python identifier
    columns: tuple[int, ...]  # of the observation: its own, or the two of its cosine and sine
    angle: bool = False
    velocity: str | None = None  # the velocity's name in the State; None where the coordinate is of first order
    velocity_column: int | None = None
    wraps: bool = False  # its column jumps by a whole turn at the end of its range
    turn_from: float = -np.pi  # where the range of a column that wraps begins
    relative_to: str | None = None  # the column shows this coordinate plus that one (an absolute angle of a chain)
    velocity_scale: float = 1.0  # the coordinate moves by this times the velocity (a gear, another unit)


@dataclass(frozen=True)
class Derived:
    """A column that follows from the state: a Python expression over `state` in the program's own names."""

    column: int
    expression: str


@dataclass(frozen=True)
class Reading:
    """How observations become states: S = all coordinates, then all velocities, then what is constant within an episode."""

    fields: tuple[FieldRole, ...]  # one per column of the observation
    coordinates: tuple[Coordinate, ...]
    parameters: tuple[tuple[str, int], ...] = ()  # name and column of what stays the same within an episode, such as a goal
    derived: tuple[Derived, ...] = ()
    dt: float = 1.0  # seconds per step
    integrator: Integrator = "unknown"
    constants: Mapping[int, float] = field(default_factory=dict)  # by column: what never changes, and the mean of noise
    weight: float | None = None  # of the old velocity in the coordinate's motion: 1 explicit, 0 semi-implicit, 1/2 in the limit

    @property
    def state_names(self) -> tuple[str, ...]:
        velocities = tuple(coordinate.velocity for coordinate in self.coordinates if coordinate.velocity is not None)
        return (*(coordinate.name for coordinate in self.coordinates), *velocities, *(name for name, _ in self.parameters))

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
        """The states of a trajectory; angles go on beyond a turn, and hidden velocities are differences that suit the integrator."""
        seen = trajectory.observations
        places: list[Float[np.ndarray, " T"]] = []
        for coordinate in self.coordinates:
            place = _place(seen, coordinate)
            if coordinate.relative_to is not None:
                base = [c.name for c in self.coordinates].index(coordinate.relative_to)
                place = _place(seen, coordinate) - places[base]
            places.append(place)
        speeds = []
        for coordinate, place in zip(self.coordinates, places, strict=True):
            if coordinate.velocity is not None:
                column = coordinate.velocity_column
                speeds.append(self._difference(place) / coordinate.velocity_scale if column is None else seen[:, column])
        return np.stack([*places, *speeds, *(seen[:, column] for _, column in self.parameters)], axis=-1)

    def functions(self) -> list[str]:
        """Source text of `observe(state)` and `read(observation)`, where an observation is not the state itself; else nothing."""
        names = [field.name for field in self.fields]
        plain = [c.columns[0] for c in self.coordinates if len(c.columns) == 1 and not c.wraps and c.relative_to is None]
        plain += [c.velocity_column for c in self.coordinates if c.velocity_column is not None] + [column for _, column in self.parameters]
        if plain == list(range(len(names))) and not self.hidden:
            return []
        shown: dict[int, str] = {derived.column: derived.expression for derived in self.derived}
        read: list[str] = []
        speeds: list[str] = []
        for c in self.coordinates:
            place = f"state.{c.name}" if c.relative_to is None else f"state.{c.relative_to} + state.{c.name}"
            base = "" if c.relative_to is None else f" - {c.relative_to}"
            if len(c.columns) == 2:
                shown[c.columns[0]], shown[c.columns[1]] = f"np.cos({place})", f"np.sin({place})"
                read.append(f"{c.name} = np.arctan2(observation[{c.columns[1]}], observation[{c.columns[0]}]){base}")
            else:
                wrapped = f"({place} - {c.turn_from!r}) % (2 * np.pi) + {c.turn_from!r}"
                shown[c.columns[0]] = wrapped if c.wraps else place
                read.append(f"{c.name} = observation[{c.columns[0]}]{base}")
            if c.velocity is not None:
                known = c.velocity_column is not None
                speeds.append(f"{c.velocity} = observation[{c.velocity_column}]" if known else f"{c.velocity} = 0.0  # not observed")
                if c.velocity_column is not None:
                    shown[c.velocity_column] = f"state.{c.velocity}"
        for name, column in self.parameters:
            shown[column] = f"state.{name}"
            speeds.append(f"{name} = observation[{column}]")
        for column in range(len(names)):
            value = self.constants.get(column, 0.0)
            shown.setdefault(column, f"{value!r}")
        for column, text in shown.items():
            shown[column] = re.sub(r"COLUMN_(\d+)", lambda found: f"({shown[int(found.group(1))]})", text)
        values = [f"        {shown[column]},  # {names[column]}{self._note(column)}" for column in range(len(names))]
        observe = ["def observe(state):", '    """What is seen of a state."""', "    return (", *values, "    )"]
        arguments = ", ".join(f"{name}={name}" for name in self.state_names)
        back = ["def read(observation):", '    """A state that gives this observation."""', *(f"    {line}" for line in (*read, *speeds))]
        return ["\n".join(observe), "\n".join([*back, f"    return State({arguments})"])]

    def _note(self, column: int) -> str:
        return (
            {"noise": ", noise: its mean", "constant": ", the same in every row"}.get(self.fields[column].role, "") if self.fields else ""
        )

    def _difference(self, place: Float[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
        """A velocity from places alone: the last step where new velocities move coordinates, the next step where old ones do."""
        if len(place) < 2 or self.integrator not in ("explicit", "semi-implicit"):
            return np.gradient(place, self.dt) if len(place) > 1 else np.zeros(len(place))
        steps = np.diff(place) / self.dt
        return np.append(steps, steps[-1]) if self.integrator == "explicit" else np.insert(steps, 0, steps[0])


def _place(observations: Float[np.ndarray, "T O"], coordinate: Coordinate) -> Float[np.ndarray, " T"]:
    if len(coordinate.columns) == 2:
        cosine, sine = (observations[:, column] for column in coordinate.columns)
        return np.unwrap(np.arctan2(sine, cosine))
    place = observations[:, coordinate.columns[0]]
    return np.unwrap(place) if coordinate.angle else place


def table(fields: Sequence[FieldRole]) -> list[dict[str, str | None]]:
    """The roles as plain data, a row per column: the `fields` of `vpw look --json`."""
    return [{"name": field.name, "role": field.role, "of": field.of, "evidence": field.evidence} for field in fields]
