"""How a world looks, declared by its domain: paints, parts to see, and the order in which a picture is read."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.scene.schema import SceneObject

if TYPE_CHECKING:  # cameras load SciPy, and every domain has a look
    from visualpatchworld.scene.tool.camera import Camera

Rgb = tuple[int, int, int]

LEVEL_BITS = 6  # colours are looked up at 64 levels a channel
LARGEST_GAIN = 1.6  # a picture that would need more is not one of this world


@dataclass(frozen=True)
class Paint:
    """A named colour with the shades it takes where light, outlines and edges change it."""

    name: str
    shades: tuple[Rgb, ...]


@dataclass(frozen=True)
class Palette:
    """Every paint of a world, and the background's colour, against which the light of a picture is measured.

    `softness` is the distance between colours, in levels of 255, at which membership fades: small where paints are alike.
    """

    paints: tuple[Paint, ...]
    background: Rgb
    softness: float = 30.0
    background_percentile: float = 50.0  # of each channel's levels, at which a picture shows its background

    def masks(self, image: UInt8[np.ndarray, "h w 3"]) -> Mapping[str, Float[np.ndarray, "h w"]]:
        """For every paint the share of each pixel that it covers, from 0 to 1."""
        levels = [lookup[image[..., channel]] for channel, lookup in enumerate(self._levels(image))]
        shares = _table(self)[levels[0] + levels[1] + levels[2]]
        return {paint.name: shares[..., i] for i, paint in enumerate(self.paints)}

    def _levels(self, image: np.ndarray) -> list[np.ndarray]:
        """For every channel the place in the table that each of its 256 values has, once the light is evened out."""
        seen = np.percentile(image[::4, ::4].reshape(-1, 3), self.background_percentile, axis=0)
        # A background that is white already can not say whether the light has grown.
        gains = np.clip(np.array(self.background) / np.maximum(seen, 1.0), 1 / LARGEST_GAIN, LARGEST_GAIN)
        values = np.minimum(np.arange(256) * gains[:, None], 255).astype(np.int32) >> (8 - LEVEL_BITS)
        return [values[channel] << (LEVEL_BITS * (2 - channel)) for channel in range(3)]


@functools.lru_cache(maxsize=16)
def _table(palette: Palette) -> Float[np.ndarray, "colors paints"]:
    """The shares of every paint for every colour there is: a soft choice of the nearest shade."""
    step = 256 >> LEVEL_BITS
    axis = (np.arange(0, 256, step) + step / 2 - 0.5).astype(np.float32)
    colors = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    nearest = [
        np.min([((colors - np.array(shade, np.float32)) ** 2).sum(-1) for shade in paint.shades], axis=0) for paint in palette.paints
    ]
    squared = np.stack(nearest, axis=-1) / (2 * palette.softness**2)
    weights = np.exp(squared.min(axis=-1, keepdims=True) - squared)
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


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


@dataclass(frozen=True)
class Look:
    """The parts in the order in which they are seen; the known positions of the `anchor`, else of the first, calibrate the camera.

    `seen_constants` are the simulator's constants that change a picture: with others the same calibration serves, but for velocities.
    """

    palette: Palette
    parts: tuple[Part, ...]
    projection: Literal["planar", "perspective"] = "planar"
    anchor: str = ""
    seen_constants: tuple[str, ...] = ()
    num_episodes: int = 4  # to calibrate with
    num_wandering: int = 0  # further ones with random actions, where the policy shows too little of what there is to see
    every: int = 1  # one picture in so many is taken; more than 1 only where no velocity is asked for


def look_at(look: Look, masks: Masks, camera: Camera, measures: Mapping[str, Measures]) -> Sighting:
    """What a picture shows of every part of a look."""
    sighting = Sighting()
    for part in look.parts:
        sighting = sighting.and_also(part.see(masks, camera, measures[part.name], sighting))
    return sighting
