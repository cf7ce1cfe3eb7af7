"""What every kind of thing a look is made of can do: be measured once on pictures with known states, then be seen in any picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.tool.camera import Camera

Masks = Mapping[str, Float[np.ndarray, "h w"]]  # per paint, the share of each pixel that it covers
Numbers = Mapping[str, float]  # per place in a scene graph, as `object.pose.x`
Measures = Mapping[str, np.ndarray]  # what a part measured when it was calibrated
Line = Float[np.ndarray, "N 2"]  # pixels to draw over a picture, one after the other


@dataclass(frozen=True)
class Sighting:
    """What one picture shows: numbers at their places in a graph, objects that are hidden, and outlines in pixels."""

    numbers: Numbers = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    outlines: Mapping[str, tuple[Line, ...]] = field(default_factory=dict)

    def and_also(self, other: Sighting) -> Sighting:
        """Both sightings in one."""
        return Sighting({**self.numbers, **other.numbers}, (*self.hidden, *other.hidden), {**self.outlines, **other.outlines})


class Part(ABC):
    """A kind of thing to see; its fields say in which paint and by what means."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name among the parts of a look."""

    @property
    def periods(self) -> Mapping[str, float]:
        """For the places of its angles, the turn after which a picture looks the same."""
        return {}

    @abstractmethod
    def locate(self, masks: Masks) -> Float[np.ndarray, " 2"] | None:
        """The pixel of its reference point, roughly; None where it is hidden."""

    def refine(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera, size_px: int) -> Camera:
        """The camera, better known by how this part covers pictures in known poses."""
        return camera

    @abstractmethod
    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        """Its shape in the world's unit, from pictures in which the numbers are known."""

    @abstractmethod
    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        """The objects it contributes to a graph, with their measured shapes."""

    @abstractmethod
    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        """What a picture shows of it, given what the parts before it have seen."""
