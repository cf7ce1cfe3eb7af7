"""How a world looks, declared by its domain: paints, parts to see in them and the order of reading them;
and the camera.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import SceneObject

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

    `softness` is the distance between colours, in levels of 255, at which membership fades:
    small where paints are alike.
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
        np.min([((colors - np.array(shade, np.float32)) ** 2).sum(-1) for shade in paint.shades], axis=0)
        for paint in palette.paints
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
        return Sighting(
            {**self.numbers, **other.numbers}, (*self.hidden, *other.hidden), {**self.outlines, **other.outlines}
        )


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
class PaintedPart(Part):
    """One object in a paint of its own."""

    object: str
    kind: str
    paint: str

    @property
    def name(self) -> str:
        return self.object

    def locate(self, masks: Masks) -> Float[np.ndarray, " 2"] | None:
        return patch_center(masks[self.paint])


@dataclass(frozen=True)
class Look:
    """The parts in the order in which they are seen;
    the known positions of the `anchor`, else of the first, calibrate the camera.

    `seen_constants` are the simulator's constants that change a picture:
    with others the same calibration serves, but for velocities.
    """

    palette: Palette
    parts: tuple[Part, ...]
    projection: Literal["planar", "perspective"] = "planar"
    anchor: str = ""
    seen_constants: tuple[str, ...] = ()
    num_episodes: int = 4  # to calibrate with
    # Further ones with random actions, where the policy shows too little of what there is to see.
    num_wandering: int = 0
    every: int = 1  # one picture in so many is taken; more than 1 only where no velocity is asked for


def look_at(look: Look, masks: Masks, camera: Camera, measures: Mapping[str, Measures]) -> Sighting:
    """What a picture shows of every part of a look."""
    sighting = Sighting()
    for part in look.parts:
        sighting = sighting.and_also(part.see(masks, camera, measures[part.name], sighting))
    return sighting


SMALLEST_PX = 6  # a patch with less is noise


def largest_patch(mask: np.ndarray) -> np.ndarray | None:
    """The largest connected region that a paint mostly covers; None where there is none worth the name."""
    return next(iter(patches(mask, 1)), None)


def patches(mask: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Connected regions that a paint mostly covers, the largest first."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats((mask > 0.5).astype(np.uint8), connectivity=8)
    areas = stats[1:count, cv2.CC_STAT_AREA]
    for region in np.argsort(-areas)[:most]:
        if areas[region] >= SMALLEST_PX:
            yield labels == region + 1


def centroid(weights: np.ndarray) -> np.ndarray:
    """The mean pixel under these weights, as x and y."""
    rows, columns = np.arange(weights.shape[0]), np.arange(weights.shape[1])
    return np.array([weights.sum(axis=0) @ columns, weights.sum(axis=1) @ rows]) / weights.sum()


def sharpened(mask: np.ndarray) -> np.ndarray:
    """A mask without the faint shares that lit and shaded surfaces leave everywhere."""
    return np.clip((mask - 0.3) / 0.4, 0.0, 1.0)


def patch_center(mask: np.ndarray, within: np.ndarray | None = None) -> Float[np.ndarray, " 2"] | None:
    """The middle of the largest patch of a mask, or of what it shares with the largest patch of another;
    None where there is none.
    """
    patch = largest_patch(mask if within is None else within)
    return None if patch is None else centroid(mask * patch)


def rotation(angle: float, axes: int = 2) -> np.ndarray:
    """The matrix that turns rows of points about the upright axis, when they are multiplied by it from the right."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])[:axes, :axes]


PLANAR_COLUMNS = (0, 1, 3)  # of a 3 x 4 projection: those that a world without height has


@dataclass(frozen=True)
class Camera:
    """A 3 x 4 projection of x, y, z to pixels; pixel (0, 0) is the middle of the first one."""

    matrix: Float[np.ndarray, "3 4"]

    def project(self, points: Float[np.ndarray, "*B D"]) -> Float[np.ndarray, "*B 2"]:
        """Pixels of points that have two coordinates, on the ground, or three."""
        depth = points.shape[-1]
        homogeneous = points @ self.matrix[:, :depth].T + self.matrix[:, 3]
        return homogeneous[..., :2] / homogeneous[..., 2:]

    def ground(self, pixels: Float[np.ndarray, "*B 2"], height: float = 0.0) -> Float[np.ndarray, "*B 2"]:
        """The points at this height that appear at these pixels."""
        flat = self.matrix[:, PLANAR_COLUMNS].copy()
        flat[:, 2] += self.matrix[:, 2] * height
        homogeneous = np.concatenate([pixels, np.ones((*pixels.shape[:-1], 1))], axis=-1) @ np.linalg.inv(flat).T
        return homogeneous[..., :2] / homogeneous[..., 2:]

    def pixels_per_unit(self, point: Float[np.ndarray, " D"]) -> float:
        """How many pixels a unit of length takes near a point."""
        ahead = point + np.eye(len(point))[0]
        return float(np.linalg.norm(self.project(ahead) - self.project(point)))


STURDY_ROUNDS = 5
OUTLIER = 4.0  # times the median error
SURE_PX = 0.05


def fit_robust(fit: Callable[[np.ndarray, np.ndarray], Camera], points: np.ndarray, pixels: np.ndarray) -> Camera:
    """A camera fitted again and again to the points it explains: some things were taken for others."""
    camera = fit(points, pixels)
    for _ in range(STURDY_ROUNDS):
        far = np.linalg.norm(camera.project(points) - pixels, axis=1)
        kept = far <= max(OUTLIER * float(np.median(far)), SURE_PX)
        camera = fit(points[kept], pixels[kept])
    return camera


def fit_planar(points: Float[np.ndarray, "N 2"], pixels: Float[np.ndarray, "N 2"]) -> Camera:
    """The affine camera of a flat world."""
    known = np.column_stack([points, np.ones(len(points))])
    solution = np.linalg.lstsq(known, pixels, rcond=None)[0].T
    if np.ptp(points[:, 1]) < 1e-9 * np.ptp(points[:, 0]):
        # All lay on one line: pixels are square, and y points up.
        solution[:, 1] = solution[1, 0], -solution[0, 0]
    matrix = np.zeros((3, 4))
    matrix[:2, PLANAR_COLUMNS] = solution
    matrix[2, 3] = 1.0
    return Camera(matrix)


def fit_perspective(points: Float[np.ndarray, "N 3"], pixels: Float[np.ndarray, "N 2"]) -> Camera:
    """The perspective camera by direct linear transformation;
    both sides are scaled first, so that the equations are well set.
    """
    to_unit3, to_unit2 = _unit_scaling(points), _unit_scaling(pixels)
    x = np.column_stack([points, np.ones(len(points))]) @ to_unit3.T
    u, v, _ = (np.column_stack([pixels, np.ones(len(pixels))]) @ to_unit2.T).T[:, :, None]
    none = np.zeros_like(x)
    equations = np.concatenate([np.column_stack([x, none, -u * x]), np.column_stack([none, x, -v * x])])
    smallest = np.linalg.svd(equations, full_matrices=False)[2][-1].reshape(3, 4)
    matrix = np.linalg.inv(to_unit2) @ smallest @ to_unit3
    # The third coordinate is the depth: positive, and in the world's unit.
    depth = (matrix[2, :3] @ points.mean(axis=0)) + matrix[2, 3]
    return Camera(matrix * np.sign(depth) / np.linalg.norm(matrix[2, :3]))


def fit_pinhole(points: Float[np.ndarray, "N 3"], pixels: Float[np.ndarray, "N 2"], size_px: int) -> Camera:
    """The perspective camera with square pixels that looks through the picture's middle, robustly,
    from a first linear guess.

    Things mostly lie on the ground, which leaves a general projection open;
    one focal length, a turn and a place are well determined.
    """
    from scipy.optimize import least_squares  # here, because every domain has a look and SciPy is slow to load

    start = free_numbers(fit_perspective(points, pixels), size_px)
    found = least_squares(
        lambda x: (from_free_numbers(x, size_px).project(points) - pixels).ravel(), start, loss="soft_l1", f_scale=0.3
    )
    return from_free_numbers(found.x, size_px)


def free_numbers(camera: Camera, size_px: int) -> Float[np.ndarray, " 7"]:
    """The nearest such camera as seven numbers: the logarithm of its focal length, its turn and its place."""
    flat = np.linalg.inv(_centered(1.0, size_px)) @ camera.matrix
    focal = float(np.linalg.norm(flat[:2, :3], axis=1).mean())
    from scipy.spatial.transform import Rotation

    pose = np.diag([1 / focal, 1 / focal, 1.0]) @ flat
    left, _, right = np.linalg.svd(pose[:, :3])
    return np.array([np.log(focal), *Rotation.from_matrix(left @ right).as_rotvec(), *pose[:, 3]])


def from_free_numbers(numbers: Float[np.ndarray, " 7"], size_px: int) -> Camera:
    """The camera that seven numbers describe."""
    from scipy.spatial.transform import Rotation

    pose = np.column_stack([Rotation.from_rotvec(numbers[1:4]).as_matrix(), numbers[4:]])
    return Camera(_centered(float(np.exp(numbers[0])), size_px) @ pose)


def _centered(focal: float, size_px: int) -> np.ndarray:
    middle = (size_px - 1) / 2
    return np.array([[focal, 0.0, middle], [0.0, focal, middle], [0.0, 0.0, 1.0]])


def _unit_scaling(points: np.ndarray) -> np.ndarray:
    """The map that moves points to the origin and to a mean distance of one."""
    middle = points.mean(axis=0)
    scale = 1.0 / np.linalg.norm(points - middle, axis=1).mean()
    count = points.shape[1]
    return np.block([[np.eye(count) * scale, -scale * middle[:, None]], [np.zeros((1, count)), np.ones((1, 1))]])
