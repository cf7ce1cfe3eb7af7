"""Shapes of a scene graph as they appear in the picture."""

from __future__ import annotations

import itertools

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import SceneGraph, SceneObject
from visualpatchworld.scene.tool.camera import Camera

ROUND = np.linspace(0, 2 * np.pi, 49)
MARK_PX = 5.0  # half of a cross for what has a place but no shape

Line = Float[np.ndarray, "N 2"]


def outlines(graph: SceneGraph, camera: Camera) -> dict[str, list[Line]]:
    """Lines in pixels for every object that moves and has a place."""
    placed = [item for item in graph.objects if not item.fixed and item.pose.x is not None and item.pose.y is not None]
    return {item.name: _lines(item, camera) for item in placed}


def _lines(item: SceneObject, camera: Camera) -> list[Line]:
    shape, place = item.geometry, np.array([item.pose.x, item.pose.y, item.pose.z or 0.0])
    cosine, sine = np.cos(item.pose.angle or 0.0), np.sin(item.pose.angle or 0.0)
    turn = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])

    def pixels(points: np.ndarray) -> Line:
        flat = np.concatenate([points, np.zeros((len(points), 3 - points.shape[1]))], axis=1)
        return camera.project(flat @ turn + place)

    if shape.polygons is not None:
        return [pixels(np.array([*polygon, polygon[0]])) for polygon in shape.polygons]
    if shape.half_sizes is not None:
        corners = np.array(list(itertools.product(*[(-size, size) for size in shape.half_sizes])))
        hull = cv2.convexHull(pixels(corners).astype(np.float32))[:, 0]
        return [np.concatenate([hull, hull[:1]])]
    if shape.length is not None:
        return [pixels(np.array([[0.0, 0.0], [shape.length, 0.0]]))]
    if shape.radius is not None:
        return [pixels(shape.radius * np.stack([np.cos(ROUND), np.sin(ROUND)], axis=1))]
    return [camera.project(place) + MARK_PX * np.array(arm) for arm in ([[-1.0, 0.0], [1.0, 0.0]], [[0.0, -1.0], [0.0, 1.0]])]
