"""A flat shape of one paint on the ground, a disc or a block: its template is measured, then laid over every picture."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import Geometry, SceneObject
from visualpatchworld.scene.tool.align import Template, place
from visualpatchworld.scene.tool.camera import Camera
from visualpatchworld.scene.tool.outline import convex_parts, corners, inset, width_of
from visualpatchworld.scene.tool.part import Masks, Measures, Numbers, Part, Sighting

CELLS_PER_PX = 2
COVER_LEVELS = 200
SMALLEST_PX = 6  # a patch with less is noise
LEAST_AGREEMENT = 0.6  # of template and mask: less, and it is something else or half hidden
LEAST_UNCOVERED = 0.4


@dataclass(frozen=True)
class Shape(Part):
    """`rim` is the width of a line drawn along its edge, half of it outside; a `glow` fades, its radius is its deviation."""

    object: str
    kind: str
    paint: str
    turns: bool = False
    behind: tuple[str, ...] = ()  # paints that may hide it
    rim: float = 0.0
    glow: bool = False

    @property
    def name(self) -> str:
        return self.object

    @property
    def periods(self) -> Mapping[str, float]:
        return {f"{self.object}.pose.angle": 2 * math.pi} if self.turns else {}

    def locate(self, masks: Masks) -> np.ndarray | None:
        patch = largest_patch(masks[self.paint])
        return None if patch is None else centroid(masks[self.paint] * patch)

    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        poses = np.array([self._pose(numbers) for numbers in known])
        reach = max(self._reach(masks, pose, camera) for masks, pose in zip(pictures, poses, strict=True))
        cell = 1.0 / (CELLS_PER_PX * camera.pixels_per_unit(poses[0, :2]))
        half = math.ceil(reach / cell) + 2 * CELLS_PER_PX
        axis = np.arange(-half, half + 1) * cell
        grid = np.stack(np.meshgrid(axis, axis), axis=-1)
        total, seen = np.zeros(grid.shape[:2]), np.full(grid.shape[:2], 1e-6)
        for masks, (x, y, angle) in zip(pictures, poses, strict=True):
            cos, sin = math.cos(angle), math.sin(angle)
            where = camera.project(grid @ np.array([[cos, sin], [-sin, cos]]) + [x, y]).astype(np.float32)
            weight = 1.0 - cv2.remap(self._hidden(masks), where, None, cv2.INTER_LINEAR, borderValue=1.0)  # pyright: ignore
            total += weight * cv2.remap(masks[self.paint], where, None, cv2.INTER_LINEAR)  # pyright: ignore
            seen += weight
        template = Template(np.round(total / seen * COVER_LEVELS) / COVER_LEVELS, cell)  # rounded, a calibration packs small
        return {"cover": template.cover, "cell": np.array(cell), "edge": corners(template, 0.5)}

    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        template = self.template(measures)
        return (SceneObject(name=self.object, kind=self.kind, geometry=self._geometry(template, measures["edge"])),)

    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        patch = largest_patch(masks[self.paint])
        if patch is None:
            return Sighting(hidden=(self.object,))
        template = self.template(measures)
        placed = place(masks[self.paint], self._hidden(masks), camera, template, self.turns, patch)
        if placed.agreement < LEAST_AGREEMENT or placed.uncovered < LEAST_UNCOVERED:
            return Sighting(hidden=(self.object,))
        x, y, angle = (float(value) for value in placed.pose)
        numbers = {f"{self.object}.pose.x": x, f"{self.object}.pose.y": y}
        if self.turns:
            numbers[f"{self.object}.pose.angle"] = angle % (2 * math.pi)
        cos, sin = math.cos(angle), math.sin(angle)
        edge = measures["edge"] @ np.array([[cos, sin], [-sin, cos]]) + [x, y]
        return Sighting(numbers, outlines={self.object: (camera.project(np.concatenate([edge, edge[:1]])),)})

    @staticmethod
    def template(measures: Measures) -> Template:
        """The measured template; it is kept, since what it prepares serves every picture."""
        return _template(measures["cover"].tobytes(), len(measures["cover"]), float(measures["cell"]))

    def _geometry(self, template: Template, edge: np.ndarray) -> Geometry:
        if self.glow:
            # The mask ends where the glow is at half its height, which is further out than one deviation.
            return Geometry(radius=width_of(template, 0.5) / math.sqrt(2 * math.log(2)))
        if not self.turns:
            return Geometry(radius=width_of(template, 0.5) - self.rim / 2)
        polygons = convex_parts(inset(edge, self.rim / 2))
        return Geometry(polygons=tuple(tuple((float(x), float(y)) for x, y in part) for part in polygons))

    def _hidden(self, masks: Masks) -> np.ndarray:
        return sum((masks[paint] for paint in self.behind), start=np.zeros_like(masks[self.paint]))

    def _pose(self, numbers: Numbers) -> tuple[float, float, float]:
        angle = numbers[f"{self.object}.pose.angle"] if self.turns else 0.0
        return numbers[f"{self.object}.pose.x"], numbers.get(f"{self.object}.pose.y", 0.0), angle

    def _reach(self, masks: Masks, pose: np.ndarray, camera: Camera) -> float:
        """How far the shape extends from its known origin."""
        patch = largest_patch(masks[self.paint])
        if patch is None:
            return 0.0
        rows, columns = np.nonzero(patch)
        return float(np.linalg.norm(camera.ground(np.column_stack([columns, rows]).astype(float)) - pose[:2], axis=1).max())


@functools.lru_cache(maxsize=32)
def _template(cover: bytes, size: int, cell: float) -> Template:
    return Template(np.frombuffer(cover).reshape(size, size), cell)


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
