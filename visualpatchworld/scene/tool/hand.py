"""A hand in space that opens and closes: its body of balls, measured from pictures,
is moved until it covers what is seen of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.tool.balls import Balls, View, carve, fit_balls
from visualpatchworld.scene.tool.look import (
    Camera,
    Masks,
    Measures,
    Numbers,
    PaintedPart,
    Sighting,
    centroid,
    largest_patch,
    patch_center,
    sharpened,
)

NUM_DIRECTIONS = 40  # in which patches differ most
WIDTH = 1.0  # of the kernel, times the spread of the remembered codes
RIDGE = 1e-2
CODE_DIGITS = 3


def memorize(
    patches: Float[np.ndarray, "N D"], extras: Float[np.ndarray, "N E"], targets: Float[np.ndarray, "N Y"]
) -> Measures:
    """What is kept of patches, a few numbers beside each, and the targets that go with them."""
    mean = patches.mean(axis=0)
    directions = np.linalg.svd(patches - mean, full_matrices=False)[2][:NUM_DIRECTIONS]
    codes = (patches - mean) @ directions.T
    spread = float(np.sqrt((codes**2).sum(axis=1).mean()))
    codes = np.round(np.column_stack([codes / spread, extras]), CODE_DIGITS)
    middle, scale = targets.mean(axis=0), targets.std(axis=0) + 1e-9
    weights = np.linalg.solve(_kernel(codes, codes) + RIDGE * np.eye(len(codes)), (targets - middle) / scale)
    return {
        "mean": mean,
        "directions": directions / spread,
        "codes": codes,
        "weights": weights,
        "middle": middle,
        "scale": scale,
    }


def recall(
    memory: Measures, patch: Float[np.ndarray, " D"], extras: Float[np.ndarray, " E"]
) -> Float[np.ndarray, " Y"]:
    """The targets of a patch, as those of similar ones suggest."""
    code = np.concatenate([memory["directions"] @ (patch - memory["mean"]), extras])
    return (_kernel(code[None], memory["codes"]) @ memory["weights"])[0] * memory["scale"] + memory["middle"]


def _kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.exp(-squared / (2 * WIDTH**2))


MARGIN_PX = 6
SMALLEST_PX = 60
PATCH_PX, PATCH_CELLS = 72, 18  # the window about its centroid that is compared with remembered ones
PLACE_PX = 140.0  # where in the picture it is matters a little for how it looks
ROUGH_BLURS_PX, FINE_STEPS = (1.2, 1.2, 1.2, 0.8, 0.8), 5
MOST_PIXELS = 500
LARGEST_STEP = np.array([0.03, 0.03, 0.03, 0.3, 0.3])
LOOSE = np.array([1e2, 1e2, 1e2, 5.0, 5.0])  # ridge: a direction that pixels do not show stays as it was
FIRST_DAMPING = 0.03
LEAST_AGREEMENT, SURE_AGREEMENT = 0.55, 0.74
# Of a hand that the picture's edge cuts off: what is left of it fits many poses.
LEAST_CUT_AGREEMENT, SURE_CUT_AGREEMENT = 0.72, 0.9
OTHER_DISTANCES = (-0.1, 0.1)  # how far away it is can not be guessed from a part
OTHER_TURNS = tuple(np.array([0.0, 0.0, 0.0, turn, 0.0]) for turn in (0.5, -0.5))
LEAST_SHOWN = 0.4  # share of it within the picture
BEYOND = 0.02  # how far a hand may be from where hands were when they were measured
# And how much further a fit is believed: a hand at the end of its room is there, one that is cut off may be read
# anywhere.
ASTRAY = 0.04
ALIKE = 0.04  # distance up to which a guess and a fit speak of the same hand


@dataclass(frozen=True)
class Hand(PaintedPart):
    """It always points down, and looks the same after a half-turn;
    `reach` is how far it extends from its point between the fingertips.
    """

    behind: tuple[str, ...]  # paints that may hide it
    reach: float

    @property
    def periods(self) -> Mapping[str, float]:
        return {f"{self.object}.pose.angle": math.pi}

    @property
    def places(self) -> tuple[str, ...]:
        """The places of the five numbers of its pose."""
        return (*(f"{self.object}.pose.{key}" for key in ("x", "y", "z", "angle")), f"{self.object}.attributes.opening")

    def locate(self, masks: Masks) -> np.ndarray | None:
        return patch_center(masks[self.paint], sharpened(masks[self.paint]))

    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        poses = np.array([[numbers[place] for place in self.places] for numbers in known])
        views, kept, masks, hidden = [], [], [], []
        for i, picture in enumerate(pictures):
            found = self._about(picture)
            if found is not None:
                mask, veil, window = found
                views.append(_view(mask, veil, window, None))
                masks.append((mask * 255).astype(np.uint8))
                hidden.append((veil * 255).astype(np.uint8))
                kept.append(i)
        poses = poses[kept]
        some = slice(None, None, max(len(kept) // 250, 1))
        start = carve(
            poses[some], [mask / 255 for mask in masks[some]], [veil / 255 for veil in hidden[some]], self.reach, camera
        )
        balls = fit_balls(poses, views, start, camera)
        bounds = {"low": poses[:, :3].min(axis=0) - BEYOND, "high": poses[:, :3].max(axis=0) + BEYOND}
        return {
            **bounds,
            "centers": balls.centers,
            "radii": balls.radii,
            "blur": np.array(balls.blur_px),
            **self.remember(poses, masks, camera),
        }

    @staticmethod
    def remember(poses: np.ndarray, masks: Sequence[np.ndarray], camera: Camera) -> Measures:
        """What hands in known poses look like: for first guesses."""
        centers = np.array([centroid(mask.astype(np.float64)) for mask in masks])
        points = np.column_stack([poses[:, :3], np.ones(len(poses))]) @ camera.matrix.T
        offsets = points[:, :2] / points[:, 2:] - centers
        # A half-turn changes nothing that is seen, so the doubled angle is remembered.
        double = np.column_stack([np.cos(2 * poses[:, 3]), np.sin(2 * poses[:, 3])])
        patches = np.array(
            [_patch(mask / np.float32(255), center) for mask, center in zip(masks, centers, strict=True)]
        )
        return memorize(
            patches, centers / PLACE_PX, np.column_stack([offsets, np.log(points[:, 2]), double, poses[:, 4]])
        )

    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        return (SceneObject(name=self.object, kind=self.kind),)

    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        found = self._about(masks)
        if found is None:
            return Sighting(hidden=(self.object,))
        balls = Balls(measures["centers"], measures["radii"], float(measures["blur"]))
        mask, veil, window = found
        guess, view = _guess(mask, measures, camera), _view(mask, veil, window, MOST_PIXELS)
        blurs_px = (*ROUGH_BLURS_PX, *(balls.blur_px,) * FINE_STEPS)
        pose, agreement = _fit(guess, view, balls, camera, blurs_px)
        others = []
        if agreement < SURE_AGREEMENT:
            others += [guess + turn for turn in OTHER_TURNS]
        cut = _is_cut(mask)
        if cut and agreement < SURE_CUT_AGREEMENT:
            others += [_moved_away(guess, camera, distance) for distance in OTHER_DISTANCES]
        tries = [_fit(start, view, balls, camera, blurs_px) for start in others]
        pose, agreement = max([(pose, agreement), *tries], key=lambda found: found[1])
        if agreement < (LEAST_CUT_AGREEMENT if cut else LEAST_AGREEMENT):
            return Sighting(hidden=(self.object,))
        if balls.share_in_picture(pose, camera, len(mask)) < LEAST_SHOWN:
            return Sighting(hidden=(self.object,))
        if np.any((pose[:3] < measures["low"] - ASTRAY) | (pose[:3] > measures["high"] + ASTRAY)):
            pose = guess  # no hand was ever there; one that the picture's edge cuts off has few edges to be fitted to
        # What looks alike and what is drawn err differently: where they agree, their mean is better than either.
        apart = np.linalg.norm(pose[:3] - guess[:3]) / ALIKE
        pose[:3] += (guess[:3] - pose[:3]) * 0.5 / (1 + apart**4)
        pose[4] = np.clip(pose[4], 0.0, 1.0)
        numbers = dict(zip(self.places, map(float, pose), strict=True))
        return Sighting(numbers, outlines={self.object: _contours(pose, balls, camera, window)})

    def _about(self, masks: Masks) -> tuple[np.ndarray, np.ndarray, tuple[slice, slice]] | None:
        """Its mask, what may hide it, and the window it is in."""
        mask = sharpened(masks[self.paint])
        patch = largest_patch(mask)
        if patch is None or patch.sum() < SMALLEST_PX:
            return None
        near = cv2.dilate(patch.astype(np.uint8), np.ones((2 * MARGIN_PX + 1, 2 * MARGIN_PX + 1), np.uint8))
        veil = sum((sharpened(masks[paint]) for paint in self.behind), start=np.zeros_like(mask))
        rows, columns = (np.flatnonzero(near.any(axis=axis)) for axis in (1, 0))
        return mask * near, np.clip(veil, 0.0, 1.0), (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))


def _view(mask: np.ndarray, veil: np.ndarray, window: tuple[slice, slice], most: int | None) -> View:
    """The pixels of a window, or as many of those near an edge of the mask as are asked for."""
    rows, columns = np.mgrid[window]
    chosen = slice(None)
    if most is not None:
        small = (mask[window] > 0.5).astype(np.uint8)
        kernel = np.ones((9, 9), np.uint8)
        band = np.flatnonzero(cv2.dilate(small, kernel) != cv2.erode(small, kernel))
        chosen = band[np.linspace(0, len(band) - 1, min(most, len(band))).astype(int)]
    where = np.stack([columns.ravel(), rows.ravel()], axis=1)[chosen].astype(np.float32)
    return View(where, mask[window].ravel()[chosen], 1.0 - veil[window].ravel()[chosen])


def _patch(mask: np.ndarray, center: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " cells"]:
    """What the hand looks like about its centroid, coarsely."""
    scale = PATCH_PX / PATCH_CELLS
    corner = (PATCH_PX - scale) / 2
    warp = np.array([[scale, 0, center[0] - corner], [0, scale, center[1] - corner]])
    coarse = cv2.blur(mask.astype(np.float32), (round(scale), round(scale)))
    return cv2.warpAffine(
        coarse, warp, (PATCH_CELLS, PATCH_CELLS), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    ).ravel()


def _is_cut(mask: np.ndarray) -> bool:
    """Whether the picture's edge cuts a mask off."""
    return any(bool((side > 0.5).any()) for side in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))


def _moved_away(pose: np.ndarray, camera: Camera, distance: float) -> np.ndarray:
    """The same hand further away along the line of sight."""
    eye = -np.linalg.solve(camera.matrix[:, :3], camera.matrix[:, 3])
    sight = pose[:3] - eye
    return np.concatenate([pose[:3] + distance * sight / np.linalg.norm(sight), pose[3:]])


def _guess(mask: np.ndarray, measures: Measures, camera: Camera) -> np.ndarray:
    """The pose that hands which look alike suggest, moved to where this one is."""
    center = centroid(mask.astype(np.float64))
    right, down, log_depth, double_cos, double_sin, opening = recall(measures, _patch(mask, center), center / PLACE_PX)
    pixel = np.array([center[0] + right, center[1] + down, 1.0])
    point = np.linalg.solve(camera.matrix[:, :3], pixel * np.exp(log_depth) - camera.matrix[:, 3])
    return np.array([*point, math.atan2(double_sin, double_cos) / 2, np.clip(opening, 0.0, 1.0)])


def _fit(
    pose: np.ndarray, view: View, balls: Balls, camera: Camera, blurs_px: Sequence[float]
) -> tuple[np.ndarray, float]:
    """Levenberg-Marquardt on the difference of drawn and seen hand, with edges that get sharper:
    the pose, and how well they agree.
    """
    damping, best, last_px = FIRST_DAMPING, np.inf, 0.0
    drawn, slopes = balls.draw(pose, view.where, camera, blurs_px[0])
    settled, agreement = pose, 0.0
    for blur_px, next_px in zip(blurs_px, (*blurs_px[1:], blurs_px[-1]), strict=True):
        error = (view.cover - drawn) * view.weight
        cost = float(error @ error)
        if cost < best or blur_px != last_px:
            best, settled, damping, last_px = cost, pose, damping / 3, blur_px
            both = (view.weight * np.minimum(drawn, view.cover)).sum()
            agreement = float(both / max((view.weight * np.maximum(drawn, view.cover)).sum(), 1e-6))
            weighted = slopes * view.weight[:, None]
            normal, pull = (weighted.T @ weighted).astype(np.float64), weighted.T @ error
        else:
            damping *= 10
        move = np.linalg.solve(normal + damping * np.diag(np.diag(normal)) + np.diag(LOOSE), pull)
        pose = settled + np.clip(move, -LARGEST_STEP, LARGEST_STEP)
        pose[4] = np.clip(pose[4], -0.1, 1.1)
        drawn, slopes = balls.draw(pose, view.where, camera, next_px)
    return settled, agreement


def _contours(pose: np.ndarray, balls: Balls, camera: Camera, window: tuple[slice, slice]) -> tuple[np.ndarray, ...]:
    """The outline of the drawn hand, for a person to compare."""
    rows, columns = np.mgrid[window]
    where = np.stack([columns.ravel(), rows.ravel()], axis=1)
    drawn = balls.draw(pose, where, camera, balls.blur_px)[0].reshape(rows.shape)
    lines, _ = cv2.findContours((drawn > 0.5).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return tuple(line[:, 0, :] + [window[1].start, window[0].start] for line in lines)
