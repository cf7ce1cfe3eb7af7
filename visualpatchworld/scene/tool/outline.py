"""Collision geometry from a template: the corners of its outline, the outline drawn in, and the convex parts it falls into."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.tool.align import Template

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
    polygon = _sharpened(contour, rough)
    # Contour pixels lie inside the region; its border is half a fine pixel further out.
    middle = (size * UPSCALE - 1) / 2
    polygon = inset(_counter_clockwise(polygon - middle), -0.5)
    return polygon / UPSCALE * template.cell


def width_of(template: Template, level: float) -> float:
    """The radius of a disc with the area that is covered more than `level`, in the world's unit."""
    fine = cv2.resize(template.cover.astype(np.float32), None, fx=UPSCALE, fy=UPSCALE, interpolation=cv2.INTER_CUBIC)
    return math.sqrt(float((fine > level).sum()) / math.pi) / UPSCALE * template.cell


def _sharpened(contour: Polygon, rough: Polygon) -> Polygon:
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
