"""Where points of the world appear in the picture, and which points of the ground a pixel shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

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
