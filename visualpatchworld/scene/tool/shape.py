"""A flat shape of one paint on the ground, a disc or a block: its template is measured, then laid over every picture."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import Geometry, SceneObject
from visualpatchworld.scene.tool.align import Template, place
from visualpatchworld.scene.tool.look import Camera, Masks, Measures, Numbers, Part, Sighting

Polygon = Float[np.ndarray, "N 2"]

UPSCALE = 4  # finer than the template's cells, for corners between them
STRAIGHT_CELLS = 3.0  # an outline that strays less than this from a straight side is straight


def corners(template: Template, level: float) -> Polygon:
    """The corners of the region covered more than `level`, counter-clockwise in a frame whose y points up."""
    size = len(template.cover)
    fine = cv2.resize(template.cover.astype(np.float32), (size * UPSCALE, size * UPSCALE), interpolation=cv2.INTER_CUBIC)
    contours, _ = cv2.findContours((fine > level).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    contour = max(contours, key=cv2.contourArea)[:, 0, :].astype(np.float64)
    rough = cv2.approxPolyDP(contour.astype(np.float32), STRAIGHT_CELLS * UPSCALE, True)[:, 0, :]
    polygon = _with_corners(contour, rough)
    # Contour pixels lie inside the region; its border is half a fine pixel further out.
    middle = (size * UPSCALE - 1) / 2
    polygon = inset(_counter_clockwise(polygon - middle), -0.5)
    return polygon / UPSCALE * template.cell


def width_of(template: Template, level: float) -> float:
    """The radius of a disc with the area that is covered more than `level`, in the world's unit."""
    fine = cv2.resize(template.cover.astype(np.float32), None, fx=UPSCALE, fy=UPSCALE, interpolation=cv2.INTER_CUBIC)
    return math.sqrt(float((fine > level).sum()) / math.pi) / UPSCALE * template.cell


def _with_corners(contour: Polygon, rough: Polygon) -> Polygon:
    """Corners where neighbouring sides meet, each side a line through the contour's points along it."""
    starts = [int(np.linalg.norm(contour - corner, axis=1).argmin()) for corner in rough]
    sides = []
    for start, end in zip(starts, np.roll(starts, -1), strict=True):
        along = np.arange(start, end if end > start else end + len(contour)) % len(contour)
        cut = len(along) // 5  # corners are rounded by the pixels' size
        points = contour[along[cut : len(along) - cut]]
        middle = points.mean(axis=0)
        sides.append((middle, np.linalg.svd(points - middle)[2][1]))  # a point of the side and its normal
    meets = []
    for (point, normal), (other, other_normal) in zip(sides[-1:] + sides[:-1], sides, strict=True):
        meets.append(np.linalg.solve(np.stack([normal, other_normal]), [normal @ point, other_normal @ other]))
    return np.array(meets)


def _counter_clockwise(polygon: Polygon) -> Polygon:
    return polygon if _area(polygon) > 0 else polygon[::-1]


def _area(polygon: Polygon) -> float:
    x, y = polygon.T
    return float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def inset(polygon: Polygon, distance: float) -> Polygon:
    """A counter-clockwise polygon with every side moved inwards."""
    ahead = np.roll(polygon, -1, axis=0) - polygon
    inward = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1) / np.linalg.norm(ahead, axis=1, keepdims=True)
    moved = []
    for corner, normal, before in zip(polygon, inward, np.roll(inward, 1, axis=0), strict=True):
        moved.append(corner + np.linalg.solve(np.stack([normal, before]), [distance, distance]))
    return np.array(moved)


def convex_parts(polygon: Polygon) -> tuple[Polygon, ...]:
    """Convex polygons that together make up a counter-clockwise one: it is cut at a corner that turns inwards, along one of its sides."""
    count = len(polygon)
    ahead, behind = np.roll(polygon, -1, axis=0) - polygon, polygon - np.roll(polygon, 1, axis=0)
    turn = behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0]
    inward = np.flatnonzero(turn < -1e-9 * np.abs(turn).max())
    if len(inward) == 0:
        return (polygon,)
    cuts = [
        cut for corner in inward.tolist() for cut in (_cut(polygon, corner, behind[corner]), _cut(polygon, corner, -ahead[corner])) if cut
    ]
    # A short cut, and best one that ends near another inward corner, which settles both at once.
    size = np.ptp(polygon, axis=0).max()
    settles = [np.linalg.norm(polygon[inward] - cut[2], axis=1).min() < 0.05 * size for cut in cuts]
    corner, side, point, _ = min(zip(cuts, settles, strict=True), key=lambda pair: pair[0][3] * (0.5 if pair[1] else 1.0))[0]
    walk = [polygon[(corner + step) % count] for step in range((side - corner) % count + 1)]
    rest = [polygon[(side + 1 + step) % count] for step in range((corner - side - 1) % count + 1)]
    return convex_parts(_simplified([*walk, point])) + convex_parts(_simplified([point, *rest]))


def _cut(polygon: Polygon, corner: int, direction: np.ndarray) -> tuple[int, int, np.ndarray, float] | None:
    """Where a ray from a corner first meets another side: corner, that side, the point and how far it is."""
    best = None
    for side in range(len(polygon)):
        start, end = polygon[side], polygon[(side + 1) % len(polygon)]
        if corner in (side, (side + 1) % len(polygon)):
            continue
        system = np.stack([direction, start - end], axis=1)
        if abs(np.linalg.det(system)) < 1e-12:
            continue
        far, along = np.linalg.solve(system, start - polygon[corner])
        if far > 1e-9 and -0.05 <= along <= 1.05 and (best is None or far < best[3]):
            best = (corner, side, start + np.clip(along, 0, 1) * (end - start), far)
    return best if best is None else (*best[:3], best[3] * float(np.linalg.norm(direction)))


def _simplified(points: list[np.ndarray]) -> Polygon:
    """The polygon without corners that coincide or lie on a side."""
    polygon = np.array(points)
    size = np.ptp(polygon, axis=0).max()
    apart = np.linalg.norm(polygon - np.roll(polygon, 1, axis=0), axis=1) > 0.02 * size
    polygon = polygon[apart]
    ahead, behind = np.roll(polygon, -1, axis=0) - polygon, polygon - np.roll(polygon, 1, axis=0)
    lengths = np.linalg.norm(ahead, axis=1) * np.linalg.norm(behind, axis=1)
    turn = (behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0]) / lengths
    return polygon[np.abs(turn) > 0.05]


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
