"""A scene as rules see it: which things there are by kind and shape,
which of their numbers the state has, and how large it all is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import StateSpace

Box = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Scene:
    """The objects of a scene graph, the state and the number of
    actions; `workspace` is where an experimenter may put things.
    """

    objects: tuple[SceneObject, ...]
    space: StateSpace
    action_dim: int
    length_unit: str
    workspace: Box | None = None

    def of_kind(self, *kinds: str) -> tuple[SceneObject, ...]:
        return tuple(item for item in self.objects if item.kind in kinds)

    def fields(self, item: SceneObject, *places: str) -> tuple[str, ...]:
        """The names of the state's fields at these places of an object,
        as `pose.x`; those that the state does not have are left out.
        """
        at = {field.at: field.name for field in self.space}
        return tuple(at[f"{item.name}.{place}"] for place in places if f"{item.name}.{place}" in at)

    @property
    def units(self) -> dict[str, str]:
        return {field.name: field.unit for field in self.space}

    @property
    def size(self) -> float:
        """The power of ten above the extent of what is fixed, of the
        longest chain of links, or of where things may be put.
        """
        spans = [0.0]
        corners = np.array([corner for item in self.objects if item.fixed for corner in _corners(item)])
        if len(corners):
            spans += np.ptp(corners, axis=0).tolist()
        spans.append(sum(item.geometry.length or 0.0 for item in self.objects))
        if self.workspace is not None:
            spans += np.ptp(np.array(self.workspace), axis=0).tolist()
        spans.append(max((2 * (item.geometry.radius or 0.0) for item in self.objects), default=0.0))
        return 10.0 ** math.ceil(math.log10(max(spans) or 1.0))

    def start(self, numbers: Mapping[str, float]) -> Float[np.ndarray, " S"]:
        """The state with these numbers at their fields, and zeros elsewhere."""
        state = np.array([float(numbers.get(field.name, 0.0)) for field in self.space])
        assert set(numbers) <= set(self.space.names)
        return self.space.wrap(state)


def _corners(item: SceneObject) -> Sequence[tuple[float, float]]:
    x, y = item.pose.x or 0.0, item.pose.y or 0.0
    if item.geometry.half_sizes is not None:
        half_x, half_y = item.geometry.half_sizes[:2]
        return ((x - half_x, y - half_y), (x + half_x, y + half_y))
    if item.geometry.segment is not None:
        return tuple((x + dx, y + dy) for dx, dy in item.geometry.segment)
    return ((x, y),)
