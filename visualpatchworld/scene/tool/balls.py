"""A body of small balls in space, some of which move as it opens and closes:
how it is drawn, and how it is fitted to pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.tool.look import Camera, rotation

NUM_BALLS = 96
STEPS, PICTURES_PER_STEP, PIXELS_PER_PICTURE = 1500, 16, 700
LEARNING_RATES = {"centers": 6e-4, "radii": 3e-2, "blur": 1e-2}  # metres, and logarithms
DECAY = ((0.4, 1.0), (0.7, 0.3), (1.0, 0.1))  # until this share of the steps, this factor on the rates
KEPT_SHARE = 0.6  # a point that shows the body's paint in so many pictures is inside
NUM_POINTS = 20_000


class View(NamedTuple):
    """Pixels, how much of each a body covers, and how much say each has."""

    where: Float[np.ndarray, "N 2"]
    cover: Float[np.ndarray, " N"]
    weight: Float[np.ndarray, " N"]


@dataclass(frozen=True)
class Balls:
    """Centres in the body's frame as a polynomial of its opening, and radii;
    `blur_px` is how softly an edge is drawn.
    """

    centers: Float[np.ndarray, "3 N 3"]
    radii: Float[np.ndarray, " N"]  # times the focal length, in pixels
    blur_px: float

    def draw(
        self, pose: Float[np.ndarray, " 5"], where: Float[np.ndarray, "P 2"], camera: Camera, blur_px: float
    ) -> tuple[np.ndarray, ...]:
        """How much the body at x, y, z, angle and opening covers each pixel,
        and how that changes with each of the five.
        """
        x, y, z, angle, opening = pose
        still, first, second = self.centers
        local = still + opening * first + opening**2 * second
        opens = first + 2 * opening * second
        turn = rotation(angle, 3)
        arm = local @ turn
        moves = [np.broadcast_to(axis, arm.shape) for axis in np.eye(3)]
        moves += [np.column_stack([-arm[:, 1], arm[:, 0], np.zeros(len(arm))]), opens @ turn]
        seen = (arm + np.array([x, y, z])) @ camera.matrix[:, :3].T + camera.matrix[:, 3]
        u, v, radius = seen[:, 0] / seen[:, 2], seen[:, 1] / seen[:, 2], self.radii / seen[:, 2]
        shifts = np.stack([move @ camera.matrix[:, :3].T for move in moves], axis=-1)  # (N, 3, 5)
        depth = seen[:, 2:]
        du, dv = (shifts[:, 0] - u[:, None] * shifts[:, 2]) / depth, (shifts[:, 1] - v[:, None] * shifts[:, 2]) / depth
        dr = -radius[:, None] * shifts[:, 2] / depth
        single = np.float32
        right, down = where[:, :1].astype(single) - u.astype(single), where[:, 1:].astype(single) - v.astype(single)
        far = np.sqrt(right * right + down * down + single(1e-6))
        inside = np.exp(np.minimum((radius.astype(single) - far) / single(blur_px), single(30)))
        # 1 - prod(1 - sigmoid) of all balls: each leaves 1 / (1 + inside) of a pixel free.
        with np.errstate(over="ignore"):  # deep inside many balls nothing is left, and one over infinity says so
            free = 1.0 / np.prod(1.0 + inside, axis=1)
        pull = inside / (1.0 + inside)
        swing = pull / far
        slopes = pull @ dr.astype(single) + (swing * right) @ du.astype(single) + (swing * down) @ dv.astype(single)
        return 1.0 - free, slopes * (free / blur_px)[:, None]

    def share_in_picture(self, pose: Float[np.ndarray, " 5"], camera: Camera, size_px: int) -> float:
        """The share of the balls whose centres lie within the picture."""
        local = self.centers[0] + pose[4] * self.centers[1] + pose[4] ** 2 * self.centers[2]
        pixels = camera.project(local @ rotation(pose[3], 3) + pose[:3])
        return float(np.all((pixels >= 0) & (pixels <= size_px - 1), axis=1).mean())


def fit_balls(
    poses: Float[np.ndarray, "T 5"], views: Sequence[View], start: Float[np.ndarray, "N 3"], camera: Camera
) -> Balls:
    """Centres and radii with which the drawn body covers the seen one in pictures with known poses,
    by stochastic gradients.
    """
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    num = len(start)
    radius = 0.008 * float(np.linalg.norm(camera.matrix[0, :3]))
    values: dict[str, Any] = {
        "centers": jnp.array(np.stack([start, np.zeros_like(start), np.zeros_like(start)]), jnp.float32),
        "radii": jnp.full(num, np.log(radius), jnp.float32),
        "blur": jnp.float32(np.log(0.7)),
    }
    matrix = jnp.array(camera.matrix, jnp.float32)

    def cover(values, pose, where):
        local = values["centers"][0] + pose[4] * values["centers"][1] + pose[4] ** 2 * values["centers"][2]
        cos, sin = jnp.cos(pose[3]), jnp.sin(pose[3])
        x, y = cos * local[:, 0] - sin * local[:, 1] + pose[0], sin * local[:, 0] + cos * local[:, 1] + pose[1]
        seen = [
            matrix[k, 0] * x + matrix[k, 1] * y + matrix[k, 2] * (local[:, 2] + pose[2]) + matrix[k, 3]
            for k in range(3)
        ]
        right, down = where[:, 0:1] - seen[0] / seen[2], where[:, 1:2] - seen[1] / seen[2]
        far = jnp.sqrt(right * right + down * down + 1e-6)
        depth = (jnp.exp(values["radii"]) / seen[2] - far) * jnp.exp(-values["blur"])
        return 1 - jnp.exp(-jax.nn.softplus(depth).sum(-1))

    def misfit(values, poses, where, covers, weights):
        drawn = jax.vmap(cover, (None, 0, 0))(values, poses, where)
        return (weights * (drawn - covers) ** 2).sum() / weights.sum()

    slope = jax.jit(jax.grad(misfit))
    mean = jax.tree.map(jnp.zeros_like, values)
    square = jax.tree.map(jnp.zeros_like, values)
    for step in range(STEPS):
        chosen = rng.integers(len(views), size=PICTURES_PER_STEP)
        batch = [_sample(views[i], rng) for i in chosen]
        where, covers, weights = (jnp.array(np.stack(part), jnp.float32) for part in zip(*batch, strict=True))
        found = slope(values, jnp.array(poses[chosen], jnp.float32), where, covers, weights)
        mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, mean, found)
        square = jax.tree.map(lambda old, new: 0.99 * old + 0.01 * new * new, square, found)
        rate = next(factor for share, factor in DECAY if step < share * STEPS)
        for name in values:
            scaled = mean[name] / (1 - 0.9 ** (step + 1)) / (jnp.sqrt(square[name] / (1 - 0.99 ** (step + 1))) + 1e-9)
            values[name] = values[name] - rate * LEARNING_RATES[name] * scaled
    return Balls(
        np.asarray(values["centers"], dtype=np.float64),
        np.exp(np.asarray(values["radii"], dtype=np.float64)),
        float(np.exp(values["blur"])),
    )


def _sample(view: View, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chosen = rng.integers(len(view.cover), size=PIXELS_PER_PICTURE)
    return view.where[chosen], view.cover[chosen], view.weight[chosen]


def carve(
    poses: Float[np.ndarray, "T 5"],
    masks: Sequence[np.ndarray],
    hidden: Sequence[np.ndarray],
    reach: float,
    camera: Camera,
) -> Float[np.ndarray, "N 3"]:
    """Points of the body's frame that show its paint in most pictures, spread evenly: where its balls begin."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-reach, reach, (NUM_POINTS, 3))
    inside, seen = np.zeros(NUM_POINTS), np.full(NUM_POINTS, 1e-6)
    for (x, y, z, angle, _), mask, veil in zip(poses, masks, hidden, strict=True):
        column, row = np.round(camera.project(points @ rotation(angle, 3) + [x, y, z])).astype(int).T
        shown = (column >= 0) & (column < mask.shape[1]) & (row >= 0) & (row < mask.shape[0])
        column, row = column.clip(0, mask.shape[1] - 1), row.clip(0, mask.shape[0] - 1)
        weight = shown * (1.0 - veil[row, column])
        inside += weight * mask[row, column]
        seen += weight
    kept = points[(inside / seen > KEPT_SHARE) & (seen > 0.2 * len(masks))]
    chosen, far = [0], np.full(len(kept), np.inf)
    while len(chosen) < min(NUM_BALLS, len(kept)):
        far = np.minimum(far, ((kept - kept[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(far.argmax()))
    return kept[chosen]
