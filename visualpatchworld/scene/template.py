"""What a domain says about its scenes: the objects, their shapes, the units; and the oracle path that fills them in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.relations import relate
from visualpatchworld.scene.schema import Metadata, SceneGraph, SceneObject, Source
from visualpatchworld.scene.state import StateSpace


@dataclass(frozen=True)
class SceneTemplate:
    """The objects of a domain with their shapes (from a simulator's constants), and the units its graphs are written in."""

    domain: str
    state_space: StateSpace
    objects: Callable[[Any], tuple[SceneObject, ...]]
    length_unit: str
    near: float  # gap below which two objects nearly touch, in the length unit
    y_axis: Literal["up", "down"] = "up"
    # Low and high corner of where an experimenter may put things; not needed where a border, walls or a base say it.
    workspace: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    def graph(self, objects: Sequence[SceneObject], source: Source, *, step: int | None = None, notes: Sequence[str] = ()) -> SceneGraph:
        """A graph of these objects with their relations."""
        relations = relate(objects, near=self.near, y_axis=self.y_axis)
        metadata = Metadata(
            domain=self.domain, source=source, length_unit=self.length_unit, y_axis=self.y_axis, step=step, notes=tuple(notes)
        )
        return SceneGraph(metadata=metadata, objects=tuple(objects), relations=relations)

    def oracle(self, state: Float[np.ndarray, " S"], constants: Any, *, step: int | None = None) -> SceneGraph:
        """The oracle path: simulator state and shapes read directly, no perception in between."""
        posed = self.state_space.pose_objects(self.objects(constants), self.state_space.checked(state))
        return self.graph(posed, "oracle", step=step)
