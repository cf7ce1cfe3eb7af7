"""Templates: how a flat shape covers its own frame, its corners and convex parts,
and the pose at which it agrees best with a mask.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.tool.look import Camera, rotation

ROUGH_STEPS, FINE_STEPS = 2, 8
MARGIN_PX = 3
NUM_DIRECTIONS = 72
# First guesses for a shape that the picture's edge cuts off, and how many of them are followed.
NUM_CUT_TURNS, NUM_REFINED = 24, 3
SURE_AGREEMENT = 0.85


class Placement(NamedTuple):
    """A template's pose, how well it covers the mask (0 to 1), and the share of it that nothing hides."""

    pose: Float[np.ndarray, " 3"]  # x, y, angle
    agreement: float
    uncovered: float


@dataclass(frozen=True)
class Template:
    """How much of each point of a shape's own frame is covered, on a square grid about its origin."""

    cover: Float[np.ndarray, "n n"]
    cell: float  # side of a grid cell, in the world's unit

    def at(self, x: Float[np.ndarray, "h w"], y: Float[np.ndarray, "h w"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cover and its two derivatives at points of the shape's frame."""
        middle = (len(self.cover) - 1) / 2
        columns, rows = (x / self.cell + middle).astype(np.float32), (y / self.cell + middle).astype(np.float32)
        values = cv2.remap(self._with_slopes, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        return values[..., 0], values[..., 1], values[..., 2]

    @functools.cached_property
    def _with_slopes(self) -> Float[np.ndarray, "n n 3"]:
        return np.stack([self.cover, *reversed(np.gradient(self.cover, self.cell))], axis=-1).astype(np.float32)

    @functools.cached_property
    def grid(self) -> Float[np.ndarray, "n n 2"]:
        """The points of the shape's frame that the grid stands for."""
        axis = (np.arange(len(self.cover)) - (len(self.cover) - 1) / 2) * self.cell
        return np.stack(np.meshgrid(axis, axis), axis=-1)

    @functools.cached_property
    def inside(self) -> Float[np.ndarray, "m 2"]:
        """The points of the grid that the shape covers."""
        return self.grid[self.cover > 0.5]

    @functools.cached_property
    def centroid(self) -> Float[np.ndarray, " 2"]:
        return np.average(self.grid.reshape(-1, 2), axis=0, weights=self.cover.ravel())

    @functools.cached_property
    def spread(self) -> Float[np.ndarray, " directions"]:
        """How far out the shape reaches in each direction from its centroid."""
        return _spread(self.cover, self.grid - self.centroid)


def place(
    mask: np.ndarray, hidden: np.ndarray, camera: Camera, template: Template, turns: bool, patch: np.ndarray
) -> Placement:
    """The pose whose template agrees best with a patch of a mask; pixels that something hides have no say."""
    rows, columns = (np.flatnonzero(patch.any(axis=axis)) for axis in (1, 0))
    cut = turns and bool(_touched(rows, columns, mask).any())
    # Of a shape that the edge cuts off, the longest side may be out of the picture,
    # and must not be thought to lie beside the patch.
    margin = (
        round(len(template.cover) / 2 * template.cell * camera.pixels_per_unit(template.centroid)) if cut else MARGIN_PX
    )
    top, left = max(rows[0] - margin, 0), max(columns[0] - margin, 0)
    window = slice(top, rows[-1] + margin + 1), slice(left, columns[-1] + margin + 1)
    observed, weight = mask[window], 1.0 - hidden[window]
    pixels = np.stack(np.meshgrid(np.arange(observed.shape[1]) + left, np.arange(observed.shape[0]) + top), axis=-1)
    points = camera.ground(pixels.astype(np.float64))
    center = np.average(points.reshape(-1, 2), axis=0, weights=(observed * patch[window]).reshape(-1))
    angles = _likely_angles(observed, points - center, template) if turns else (0.0,)
    starts = [np.array([*_origin(center, angle, template), angle]) for angle in angles]
    tries = [_refine(start, points, observed, weight, template, turns, ROUGH_STEPS) for start in starts]
    best = max(tries, key=lambda placed: placed.agreement)
    placed = _refine(best.pose, points, observed, weight, template, turns, FINE_STEPS)
    if placed.agreement > SURE_AGREEMENT or not cut:
        return placed
    # What is left of a shape that the edge cuts off has another centroid and another spread,
    # so every turn has a chance.
    starts = _cut_starts(rows, columns, mask, camera, template, center)
    tries = [_refine(start, points, observed, weight, template, turns, ROUGH_STEPS) for start in starts]
    likely = sorted(tries, key=lambda found: -found.agreement)[:NUM_REFINED]
    return max(
        [placed, *(_refine(found.pose, points, observed, weight, template, turns, FINE_STEPS) for found in likely)],
        key=_agreement,
    )


def _refine(
    pose: np.ndarray,
    points: np.ndarray,
    observed: np.ndarray,
    weight: np.ndarray,
    template: Template,
    turns: bool,
    steps: int,
) -> Placement:
    """Gauss-Newton on the difference of template and mask."""
    for _ in range(steps):
        cos, sin = math.cos(pose[2]), math.sin(pose[2])
        right, down = points[..., 0] - pose[0], points[..., 1] - pose[1]
        x, y = cos * right + sin * down, cos * down - sin * right
        cover, along, across = template.at(x, y)
        slopes = [sin * across - cos * along, -sin * along - cos * across]
        if turns:
            slopes.append(along * y - across * x)
        slope = np.stack([(part * weight).ravel() for part in slopes])
        error = ((observed - cover) * weight).ravel()
        # In single precision the products of small matrices are quick;
        # the ridge keeps a template without slopes in its place.
        normal = (slope @ slope.T).astype(np.float64) + 1e-9 * np.eye(len(slopes))
        move = np.linalg.solve(normal, slope @ error)
        pose = pose + np.append(move, [] if turns else [0.0])
        if np.abs(move[:2]).max() < 1e-3 * template.cell:
            break
    both = (weight * np.minimum(observed, cover)).sum()
    either = (weight * np.maximum(observed, cover)).sum()
    return Placement(pose, float(both / max(either, 1e-6)), float((weight * cover).sum() / max(cover.sum(), 1e-6)))


def _agreement(placed: Placement) -> float:
    return placed.agreement


def _touched(rows: np.ndarray, columns: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Whether a patch reaches the picture's edges: left and right, top and bottom."""
    return np.array(
        [[columns[0] == 0, columns[-1] == mask.shape[1] - 1], [rows[0] == 0, rows[-1] == mask.shape[0] - 1]]
    )


def _cut_starts(
    rows: np.ndarray, columns: np.ndarray, mask: np.ndarray, camera: Camera, template: Template, center: np.ndarray
) -> Iterator[np.ndarray]:
    """Poses in every direction whose sides lie where the patch has sides that the picture's edge does not cut."""
    sides = np.array([[columns[0], columns[-1]], [rows[0], rows[-1]]], dtype=np.float64)
    whole = ~_touched(rows, columns, mask)
    whole[~whole.any(axis=1)] = True
    for angle in np.arange(NUM_CUT_TURNS) * 2 * math.pi / NUM_CUT_TURNS:
        drawn = camera.project(template.inside @ rotation(angle) + center)
        apart = sides - np.stack([drawn.min(axis=0), drawn.max(axis=0)], axis=1)
        shift = np.average(apart, axis=1, weights=whole)
        yield np.array([*camera.ground(camera.project(center) + shift), angle])


def _origin(center: np.ndarray, angle: float, template: Template) -> np.ndarray:
    """Where the shape's origin lies when its centroid is here and it is turned so."""
    return center - template.centroid @ rotation(angle)


def _likely_angles(observed: np.ndarray, offsets: np.ndarray, template: Template) -> tuple[float, ...]:
    """The two best turns that bring the template's spread over directions onto the mask's;
    moments alone leave a half-turn open.
    """
    match = np.fft.irfft(
        np.fft.rfft(_spread(observed, offsets)) * np.conj(np.fft.rfft(template.spread)), NUM_DIRECTIONS
    )
    best = int(match.argmax())
    apart = np.abs((np.arange(NUM_DIRECTIONS) - best + NUM_DIRECTIONS / 2) % NUM_DIRECTIONS - NUM_DIRECTIONS / 2)
    second = int(np.where(apart > NUM_DIRECTIONS / 12, match, -np.inf).argmax())
    return tuple(2 * math.pi * turn / NUM_DIRECTIONS for turn in (best, second))


def _spread(cover: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """How far out the cover reaches in each direction from its centre."""
    direction = np.arctan2(offsets[..., 1], offsets[..., 0]) / (2 * math.pi) * NUM_DIRECTIONS
    weight = cover * (offsets**2).sum(axis=-1)
    spread = np.bincount(np.floor(direction).astype(int).ravel() % NUM_DIRECTIONS, weight.ravel(), NUM_DIRECTIONS)
    return (spread - spread.mean()) / max(spread.std(), 1e-9)


Polygon = Float[np.ndarray, "N 2"]

UPSCALE = 4  # finer than the template's cells, for corners between them
STRAIGHT_CELLS = 3.0  # an outline within this distance of a straight side is straight


def corners(template: Template, level: float) -> Polygon:
    """The corners of the region covered more than `level`, counter-clockwise in a frame whose y points up."""
    size = len(template.cover)
    fine = cv2.resize(
        template.cover.astype(np.float32), (size * UPSCALE, size * UPSCALE), interpolation=cv2.INTER_CUBIC
    )
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
    """Convex polygons that together make up a counter-clockwise one:
    it is cut at a corner that turns inwards, along one of its sides.
    """
    count = len(polygon)
    ahead, behind = np.roll(polygon, -1, axis=0) - polygon, polygon - np.roll(polygon, 1, axis=0)
    turn = behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0]
    inward = np.flatnonzero(turn < -1e-9 * np.abs(turn).max())
    if len(inward) == 0:
        return (polygon,)
    cuts = [
        cut
        for corner in inward.tolist()
        for cut in (_cut(polygon, corner, behind[corner]), _cut(polygon, corner, -ahead[corner]))
        if cut
    ]
    # A short cut, and best one that ends near another inward corner, which settles both at once.
    size = np.ptp(polygon, axis=0).max()
    settles = [np.linalg.norm(polygon[inward] - cut[2], axis=1).min() < 0.05 * size for cut in cuts]
    corner, side, point, _ = min(
        zip(cuts, settles, strict=True), key=lambda pair: pair[0][3] * (0.5 if pair[1] else 1.0)
    )[0]
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
