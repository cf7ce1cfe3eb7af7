"""Where points of the world appear in the picture, and the camera that explains where known points did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

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


def fit_sturdy(fit: Callable[[np.ndarray, np.ndarray], Camera], points: np.ndarray, pixels: np.ndarray) -> Camera:
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
    """The perspective camera by direct linear transformation; both sides are scaled first, so that the equations are well set."""
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
    """The perspective camera with square pixels that looks through the picture's middle, robustly, from a first linear guess.

    Things mostly lie on the ground, which leaves a general projection open; one focal length, a turn and a place are well determined.
    """
    start = free_numbers(fit_perspective(points, pixels), size_px)
    found = least_squares(lambda x: (from_free_numbers(x, size_px).project(points) - pixels).ravel(), start, loss="soft_l1", f_scale=0.3)
    return from_free_numbers(found.x, size_px)


def free_numbers(camera: Camera, size_px: int) -> Float[np.ndarray, " 7"]:
    """The nearest such camera as seven numbers: the logarithm of its focal length, its turn and its place."""
    flat = np.linalg.inv(_centered(1.0, size_px)) @ camera.matrix
    focal = float(np.linalg.norm(flat[:2, :3], axis=1).mean())
    pose = np.diag([1 / focal, 1 / focal, 1.0]) @ flat
    left, _, right = np.linalg.svd(pose[:, :3])
    return np.array([np.log(focal), *Rotation.from_matrix(left @ right).as_rotvec(), *pose[:, 3]])


def from_free_numbers(numbers: Float[np.ndarray, " 7"], size_px: int) -> Camera:
    """The camera that seven numbers describe."""
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
