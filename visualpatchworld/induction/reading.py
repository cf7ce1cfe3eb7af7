"""What the fields of a world are: coordinates, angles, velocities, each with its evidence; and states read off observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    weight: float | None = None  # of the old velocity in the coordinate's motion: 1 explicit, 0 semi-implicit, 1/2 in the limit

    @property
    def state_names(self) -> tuple[str, ...]:
        velocities = tuple(coordinate.velocity for coordinate in self.coordinates if coordinate.velocity is not None)
        return (*(coordinate.name for coordinate in self.coordinates), *velocities, *(name for name, _ in self.parameters))

    @property
    def hidden(self) -> tuple[str, ...]:
        """Velocities that no column shows."""
        return tuple(c.velocity for c in self.coordinates if c.velocity is not None and c.velocity_column is None)

    def states(self, trajectory: Trajectory) -> Float[np.ndarray, "T+1 S"]:
        """The states of a trajectory; angles go on beyond a turn, and hidden velocities are differences that suit the integrator."""
        seen = trajectory.observations
        places = [_place(seen, coordinate) for coordinate in self.coordinates]
        speeds = []
        for coordinate, place in zip(self.coordinates, places, strict=True):
            if coordinate.velocity is not None:
                column = coordinate.velocity_column
                speeds.append(self._difference(place) / coordinate.velocity_scale if column is None else seen[:, column])
        return np.stack([*places, *speeds, *(seen[:, column] for _, column in self.parameters)], axis=-1)

    def _difference(self, place: Float[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
        """A velocity from places alone: the step before is the velocity now if new velocities move coordinates, the step after if old ones do."""
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
