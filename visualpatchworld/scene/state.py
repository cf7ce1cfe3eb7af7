"""The state of a scene: which number lies where in a graph, and what a domain says about its scenes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadGraph, BadState
from visualpatchworld.scene.schema import Metadata, Pose, SceneGraph, SceneObject, Source, Velocity, relate

# What the end of a field's name says of its place in a scene graph.
PLACES = {
    **{axis: f"pose.{axis}" for axis in "xyz"},
    **{f"v{axis}": f"velocity.{axis}" for axis in "xyz"},
    "angle": "pose.angle",
    "spin": "velocity.spin",
}


@dataclass(frozen=True)
class StateField:
    """One number of the state: `at` is its place in a scene graph, as `object.pose.x` or `object.attributes.opening`.

    A name that ends as those of `PLACES` do says it already: `puck_vx` lies at `puck.velocity.x`.
    """

    name: str
    unit: str
    at: str = ""
    period: float | None = None
    low: float = 0.0  # of the wrapped range [low, low + period)
    predicted: bool = True  # false for readings no program is asked to predict, such as a contact force

    def __post_init__(self):
        if not self.at:
            thing, _, ending = self.name.rpartition("_")
            if not thing or ending not in PLACES:
                endings = ", ".join(f"_{name}" for name in PLACES)
                raise BadState(
                    f"The field '{self.name}' ends in none of {endings}: say where it lies, as "
                    f"at='thing.attributes.{self.name}'."
                )
            object.__setattr__(self, "at", f"{thing}.{PLACES[ending]}")

    def wrapped(self, values: np.ndarray) -> np.ndarray:
        """Values brought into the field's range."""
        if self.period is None:
            return values
        high = self.low + self.period
        turned = self.low + np.mod(values - self.low, self.period)
        # Rounding can carry a value just below the range to its open end, and must not touch one that is inside.
        turned = np.where(turned < high, turned, self.low)
        return np.where((values >= self.low) & (values < high), values, turned)


@dataclass(frozen=True)
class StateSpace:
    """The fields of a state vector, in order."""

    fields: tuple[StateField, ...]

    @staticmethod
    def of(**units: str) -> StateSpace:
        """A space of fields that are named by object and axis, with their units:
        `StateSpace.of(puck_x="m", puck_vx="m/s")`.

        An angle in rad is the same after a full turn.
        """
        turn = {name: 2 * np.pi if name.endswith("_angle") and unit == "rad" else None for name, unit in units.items()}
        return StateSpace(tuple(StateField(name, unit, period=turn[name]) for name, unit in units.items()))

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[StateField]:
        return iter(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    def index(self, *names: str) -> list[int]:
        """Positions of the named fields."""
        return [self.names.index(name) for name in names]

    def checked(self, state: Any) -> Float[np.ndarray, " S"]:
        """The state as a float64 vector, or `BadState` when its length or a value is wrong."""
        vector = np.array(state, dtype=np.float64)
        if vector.shape != (len(self),):
            raise BadState(
                f"A state here has {len(self)} numbers ({', '.join(self.names)}), not the shape {vector.shape}."
            )
        if not np.isfinite(vector).all():
            bad = self.names[int(np.flatnonzero(~np.isfinite(vector))[0])]
            raise BadState(f"The state's '{bad}' is not finite.")
        return vector

    def wrap(self, states: Float[np.ndarray, "*B S"]) -> Float[np.ndarray, "*B S"]:
        """States with every angle brought into its range."""
        return np.stack([field.wrapped(states[..., i]) for i, field in enumerate(self.fields)], axis=-1)

    def difference(self, a: Float[np.ndarray, "*B S"], b: Float[np.ndarray, "*B S"]) -> Float[np.ndarray, "*B S"]:
        """a - b, the short way round for angles."""
        delta = np.asarray(a) - np.asarray(b)
        # Wrap before squaring: 359 and 1 degrees are 2 degrees apart.
        for i, field in enumerate(self.fields):
            if field.period is not None:
                half = field.period / 2
                delta[..., i] = np.mod(delta[..., i] + half, field.period) - half
        return delta

    def read(self, graph: SceneGraph) -> Float[np.ndarray, " S"]:
        """The state vector a graph holds; `BadGraph` names the first value that is missing."""
        return np.array([_value(graph, field) for field in self.fields], dtype=np.float64)

    def pose_objects(self, objects: Sequence[SceneObject], state: Float[np.ndarray, " S"]) -> tuple[SceneObject, ...]:
        """The objects with this state's numbers written at their places."""
        return place_numbers(objects, {field.at: float(value) for field, value in zip(self.fields, state, strict=True)})


def place_numbers(objects: Sequence[SceneObject], numbers: Mapping[str, float]) -> tuple[SceneObject, ...]:
    """The objects with numbers written at their places, `object.pose.x` and the like."""
    parts: dict[str, dict[str, dict[str, float]]] = {}
    for place, value in numbers.items():
        name, part, key = place.split(".")
        parts.setdefault(name, {}).setdefault(part, {})[key] = value
    return tuple(_with_numbers(item, parts.get(item.name, {})) for item in objects)


def _value(graph: SceneGraph, field: StateField) -> float:
    name, part, key = field.at.split(".")
    holder = getattr(graph[name], part)
    value = holder.get(key) if isinstance(holder, dict) else getattr(holder, key)
    if value is None:
        raise BadGraph(
            f"The scene graph ({graph.metadata.source}) does not say {field.at}, which the state's "
            f"'{field.name}' needs."
        )
    return float(value)


def _with_numbers(item: SceneObject, parts: dict[str, dict[str, float]]) -> SceneObject:
    return item.model_copy(
        update={
            "pose": Pose(**{**item.pose.model_dump(), **parts.get("pose", {})}),
            "velocity": Velocity(**{**item.velocity.model_dump(), **parts.get("velocity", {})}),
            "attributes": {**item.attributes, **parts.get("attributes", {})},
        }
    )


@dataclass(frozen=True)
class SceneTemplate:
    """The objects of a domain with their shapes (from a simulator's constants),
    and the units its graphs are written in.

    The name, the state and the unit of lengths are the domain's own where they are left out.
    """

    objects: Callable[[Any], tuple[SceneObject, ...]]
    near: float  # gap below which two objects nearly touch, in the length unit
    state_space: StateSpace = StateSpace(())
    domain: str = ""
    length_unit: str = ""
    y_axis: Literal["up", "down"] = "up"
    # Low and high corner of where an experimenter may put things; not needed where a border, walls or a base say it.
    workspace: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def of_domain(self, name: str, state_space: StateSpace) -> SceneTemplate:
        """This template with what it leaves out: the domain's name, its state,
        and the unit of the first place in it.
        """
        space = self.state_space if len(self.state_space) else state_space
        unit = next((field.unit for field in space if field.at.endswith("pose.x")), "")
        return replace(self, domain=self.domain or name, state_space=space, length_unit=self.length_unit or unit)

    def graph(
        self, objects: Sequence[SceneObject], source: Source, *, step: int | None = None, notes: Sequence[str] = ()
    ) -> SceneGraph:
        """A graph of these objects with their relations."""
        relations = relate(objects, near=self.near, y_axis=self.y_axis)
        metadata = Metadata(
            domain=self.domain,
            source=source,
            length_unit=self.length_unit,
            y_axis=self.y_axis,
            step=step,
            notes=tuple(notes),
        )
        return SceneGraph(metadata=metadata, objects=tuple(objects), relations=relations)

    def oracle(self, state: Float[np.ndarray, " S"], constants: Any, *, step: int | None = None) -> SceneGraph:
        """The oracle path: simulator state and shapes read directly, no perception in between."""
        posed = self.state_space.pose_objects(self.objects(constants), self.state_space.checked(state))
        return self.graph(posed, "oracle", step=step)


def objects_of_fields(space: StateSpace) -> tuple[SceneObject, ...]:
    """The objects that the fields of a state name, without shapes:
    the first is the agent, which actions drive, the others are blocks.
    """
    names = dict.fromkeys(field.at.split(".")[0] for field in space)
    return tuple(SceneObject(name=name, kind="block" if number else "agent") for number, name in enumerate(names))
