"""A box that stands level in space: its drawn silhouette is moved until it covers the seen one,
by what supports or holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import Geometry, SceneObject
from visualpatchworld.scene.tool.balls import View
from visualpatchworld.scene.tool.look import (
    Camera,
    Masks,
    Measures,
    Numbers,
    PaintedPart,
    Sighting,
    free_numbers,
    from_free_numbers,
    largest_patch,
    rotation,
    sharpened,
)

BLURS_PX = (2.0, 1.0, 0.6, 0.6, 0.6, 0.6, 0.6)  # edges that get sharper as the fit goes on
LONG_BLURS_PX = (3.0, 2.0, 2.0, 1.0, 1.0, *[0.6] * 9)  # where nothing is known, and where much is hidden
MARGIN_PX = 4
SMALLEST_PX = 12
NUM_SHAPE_PICTURES = 80  # from which its size and the camera are fitted
SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
QUARTER = math.pi / 2
NUM_TURNS = 4  # first guesses of its angle
NUDGES = np.array([2e-4, 2e-4, 2e-4, 5e-3])  # of x, y, z and the angle, for slopes
LARGEST_STEP = 0.02
PIXEL_ERROR = 0.5  # of a pixel's cover; large, because neighbouring pixels err alike
REST_ERROR, HOLDER_ERROR = 0.0005, 0.006  # in the world's unit: how well the support and the holder are known
ANY = 10.0  # an error that says nothing
NEAR_HOLDER_PX = 15.0
# Of half its edge: first guesses of where between the holder's fingers it is.
SLIDES, DROPS = (-0.5, 0.0, 0.5), (0.0, -0.6)
HOLDING_BONUS, HOLDING_OPENING = 10.0, 0.15  # in the unit of a fit's cost; how near to the usual opening
LEAST_AGREEMENT, SURE_AGREEMENT = 0.5, 0.94
ASIDE = (0.0, -0.8, 0.8)  # of half its edge: how far a half-hidden box may be from the middle of what is seen
HEIGHTS = 15.0 / 8.0 * np.arange(1, 10)  # of half its edge, above where it rests: first guesses for one in the air
FALLING_COST = 6.0  # in the unit of a fit's cost: falling is rare
LEAST_SHOWN = 0.5  # of a box in the air: the depth of one that is mostly hidden is not to be seen


class Guess(NamedTuple):
    """Where a box may be, how surely, and what it costs to think so, in the unit of a fit's cost."""

    starts: Float[np.ndarray, "N 3"]
    expected: Float[np.ndarray, " 3"]
    error: Float[np.ndarray, " 3"]
    cost: float = 0.0


class FittedBox(NamedTuple):
    """A fitted box: its pose, its cost, and how well it agrees with what is seen (0 to 1)."""

    pose: Float[np.ndarray, " 4"]  # x, y, z, angle
    cost: float
    agreement: float


@dataclass(frozen=True)
class Box(PaintedPart):
    """It rests, or a `holder` holds it, or it is in the air where it is as large as it looks:
    whichever explains the picture.
    """

    behind: tuple[str, ...]  # paints that may hide it
    holder: str

    @property
    def periods(self) -> Mapping[str, float]:
        return {f"{self.object}.pose.angle": QUARTER}

    def view(self, masks: Masks) -> View | None:
        """The pixels about the largest patch of its paint."""
        mask = sharpened(masks[self.paint])
        patch = largest_patch(mask)
        if patch is None or patch.sum() < SMALLEST_PX:
            return None
        rows, columns = (np.flatnonzero(patch.any(axis=axis)) for axis in (1, 0))
        top, left = max(rows[0] - MARGIN_PX, 0), max(columns[0] - MARGIN_PX, 0)
        window = slice(top, rows[-1] + MARGIN_PX + 1), slice(left, columns[-1] + MARGIN_PX + 1)
        hidden = sum((sharpened(masks[paint][window]) for paint in self.behind), start=np.zeros_like(mask[window]))
        x, y = np.meshgrid(np.arange(mask[window].shape[1]) + left, np.arange(mask[window].shape[0]) + top)
        where = np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)
        return View(where, mask[window].ravel(), np.clip(1.0 - hidden, 0.0, 1.0).ravel())

    def refine(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera, size_px: int) -> Camera:
        return _fit_camera(*self._known_views(pictures, known), camera, size_px)

    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        poses, views = self._known_views(pictures, known)
        first = np.array([_rough_half(views, poses, camera), 1.0])
        half, _ = least_squares(
            lambda numbers: _misfit(poses, views, camera, *numbers), first, x_scale=(1e-3, 0.1), diff_step=1e-4
        ).x
        heights = np.array([numbers[f"{self.object}.pose.z"] for numbers in known])
        rest = float(np.percentile(heights, 20))
        places = [[f"{name}.pose.{axis}" for axis in "xyz"] for name in (self.object, self.holder)]
        block, holder = (np.array([[numbers[place] for place in names] for numbers in known]) for names in places)
        lifted = heights > rest + half / 2
        firm = np.array([numbers.get(f"{self.holder}.attributes.contact", 0.0) for numbers in known])
        openings = np.array([numbers.get(f"{self.holder}.attributes.opening", 0.0) for numbers in known])
        offsets = (block - holder)[lifted]
        return {
            "half": np.array([half]),
            "rest": np.array([rest]),
            "offset": np.median(offsets, axis=0),
            "offset_error": offsets.std(axis=0),
            "held_opening": np.array([float(np.median(openings[lifted]))]),
            "contact": np.array([float(np.median(firm[lifted]))]),
        }

    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        half = float(measures["half"][0])
        return (SceneObject(name=self.object, kind=self.kind, geometry=Geometry(half_sizes=(half, half, half))),)

    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        view = self.view(masks)
        if view is None:
            return Sighting(hidden=(self.object,))
        center = (view.where * view.cover[:, None]).sum(axis=0) / view.cover.sum()
        half = float(measures["half"][0])
        guesses = {"rest": _resting(center, camera, measures), "held": self._held(center, camera, measures, so_far)}
        tries = {how: _fit(guess, view, camera, half, BLURS_PX) for how, guess in guesses.items() if guess is not None}
        if max(found.agreement for found in tries.values()) < SURE_AGREEMENT:
            guesses |= {
                "rest": _resting(center, camera, measures, ASIDE),
                "in the air": _in_the_air(center, camera, measures),
            }
            longer = {
                how: _fit(guess, view, camera, half, LONG_BLURS_PX)
                for how, guess in guesses.items()
                if guess is not None
            }
            if not _shows_depth(longer["in the air"].pose, view, camera, measures):
                del longer["in the air"]
            tries = {how: min(found, tries.get(how, found), key=_cost) for how, found in longer.items()}
        how, (pose, _, agreement) = min(tries.items(), key=lambda item: item[1].cost)
        if agreement < LEAST_AGREEMENT:
            return Sighting(hidden=(self.object,))
        numbers = {
            f"{self.object}.pose.{key}": float(value) for key, value in zip(("x", "y", "z", "angle"), pose, strict=True)
        }
        if f"{self.holder}.pose.x" in so_far.numbers:
            # Touch is not to be seen; a hand that holds something touches it as firmly as hands that held it did.
            numbers[f"{self.holder}.attributes.contact"] = float(measures["contact"][0]) if how == "held" else 0.0
        edge = _hull(pose, camera, half)
        return Sighting(numbers, outlines={self.object: (np.concatenate([edge, edge[:1]]),)})

    def _held(self, center: np.ndarray, camera: Camera, measures: Measures, so_far: Sighting) -> Guess | None:
        """Where a holder that is near would hold the box."""
        if f"{self.holder}.pose.x" not in so_far.numbers:
            return None
        held = np.array([so_far.numbers[f"{self.holder}.pose.{axis}"] for axis in "xyz"]) + measures["offset"]
        if np.linalg.norm(camera.project(held) - center) >= NEAR_HOLDER_PX:
            return None
        angle = so_far.numbers.get(f"{self.holder}.pose.angle", 0.0)
        slid = [(slide * math.cos(angle), slide * math.sin(angle), drop) for slide in SLIDES for drop in DROPS]
        # A hand that is as closed as hands that hold the box is likely to hold it.
        closed = abs(so_far.numbers.get(f"{self.holder}.attributes.opening", 0.0) - float(measures["held_opening"][0]))
        cost = -HOLDING_BONUS if closed < HOLDING_OPENING else 0.0
        return Guess(
            held + float(measures["half"][0]) * np.array(slid),
            held,
            np.hypot(measures["offset_error"], HOLDER_ERROR),
            cost,
        )

    def _known_views(self, pictures: Sequence[Masks], known: Sequence[Numbers]) -> tuple[list[np.ndarray], list[View]]:
        """As many pictures of the box at rest as of the box lifted, where there are such, with its known poses."""
        keys = ("x", "y", "z", "angle")
        poses = np.array([[numbers[f"{self.object}.pose.{key}"] for key in keys] for numbers in known])
        lifted = poses[:, 2] > np.percentile(poses[:, 2], 20) + 0.03
        rng = np.random.default_rng(0)
        chosen = [
            i for group in (lifted, ~lifted) for i in rng.permutation(np.flatnonzero(group))[: NUM_SHAPE_PICTURES // 2]
        ]
        views = [(poses[i], self.view(pictures[int(i)])) for i in chosen]
        kept = [(pose, view) for pose, view in views if view is not None]
        return [pose for pose, _ in kept], [view for _, view in kept]


def draw(
    pose: np.ndarray, where: Float[np.ndarray, "N 2"], camera: Camera, half: float, blur_px: float
) -> Float[np.ndarray, " N"]:
    """How much a box covers each pixel."""
    hull = _hull(pose, camera, half)
    side = np.roll(hull, -1, axis=0) - hull
    outward = np.stack([side[:, 1], -side[:, 0]], axis=1) / np.linalg.norm(side, axis=1, keepdims=True)
    if (hull.mean(axis=0) - hull[0]) @ outward[0] > 0:
        outward = -outward
    outside = (where @ outward.T - (hull * outward).sum(axis=1)).max(axis=1)
    return np.clip(0.5 - outside / blur_px, 0.0, 1.0)


def _hull(pose: np.ndarray, camera: Camera, half: float) -> Float[np.ndarray, "M 2"]:
    """The corners of a box's silhouette, in pixels."""
    corners = half * SIGNS @ rotation(pose[3], 3) + pose[:3]
    return cv2.convexHull(camera.project(corners).astype(np.float32))[:, 0].astype(np.float64)


def _resting(center: np.ndarray, camera: Camera, measures: Measures, shares: Sequence[float] = (0.0,)) -> Guess:
    """At rest, at the middle of what is seen of it, or beside it by these shares of half its edge:
    a part may be hidden.
    """
    rest = float(measures["rest"][0])
    point = np.array([*camera.ground(center, rest), rest])
    aside = np.array([(right, ahead, 0.0) for right in shares for ahead in shares])
    return Guess(point + float(measures["half"][0]) * aside, point, np.array([ANY, ANY, REST_ERROR]))


def _in_the_air(center: np.ndarray, camera: Camera, measures: Measures) -> Guess:
    """Anywhere on the line of sight, above where it rests."""
    heights = float(measures["rest"][0]) + float(measures["half"][0]) * HEIGHTS
    starts = np.array([[*camera.ground(center, height), height] for height in heights])
    return Guess(starts, starts[0], np.full(3, ANY), FALLING_COST)


def _shows_depth(pose: np.ndarray, view: View, camera: Camera, measures: Measures) -> bool:
    """Whether a box in the air is above the ground, and so much of it is seen that its size says how far away it is."""
    half = float(measures["half"][0])
    area = float(cv2.contourArea(_hull(pose, camera, half).astype(np.float32)))
    return bool(pose[2] > measures["rest"][0] + half / 2 and view.cover @ view.weight > LEAST_SHOWN * area)


def _fit(guess: Guess, view: View, camera: Camera, half: float, blurs_px: Sequence[float]) -> FittedBox:
    """The box that explains a view, given where it is expected and how surely."""
    starts, expected, error, cost = guess
    trust = np.append(1.0 / np.asarray(error) ** 2, 0.0) * PIXEL_ERROR**2
    turns = [np.append(start, turn * QUARTER / NUM_TURNS) for start in starts for turn in range(NUM_TURNS)]
    pose = min(
        turns,
        key=lambda turn: float(
            (view.weight * (draw(turn, view.where, camera, half, blurs_px[0]) - view.cover) ** 2).sum()
        ),
    )
    for blur_px in blurs_px:
        drawn = draw(pose, view.where, camera, half, blur_px)
        nudged = [draw(pose + nudge, view.where, camera, half, blur_px) for nudge in np.diag(NUDGES)]
        slopes = np.stack([(moved - drawn) / size * view.weight for moved, size in zip(nudged, NUDGES, strict=True)])
        pull = slopes @ ((view.cover - drawn) * view.weight) + trust * np.append(expected - pose[:3], 0.0)
        move = np.linalg.solve(slopes @ slopes.T + np.diag(trust + 1e-6), pull)
        pose = pose + np.clip(move, -LARGEST_STEP, np.append(np.full(3, LARGEST_STEP), 0.3))
    drawn = draw(pose, view.where, camera, half, blurs_px[-1])
    cost += float(((view.weight * (drawn - view.cover)) ** 2).sum() + (trust[:3] * (expected - pose[:3]) ** 2).sum())
    both = (view.weight * np.minimum(drawn, view.cover)).sum()
    return FittedBox(pose, cost, float(both / max((view.weight * np.maximum(drawn, view.cover)).sum(), 1e-6)))


def _cost(found: FittedBox) -> float:
    return found.cost


def _rough_half(views: Sequence[View], poses: Sequence[np.ndarray], camera: Camera) -> float:
    """Half of the box's edge from its area; seen at a slant, a box shows about one and a half of its faces."""
    halves = []
    for view, pose in zip(views, poses, strict=True):
        depth = camera.matrix[2, :3] @ pose[:3] + camera.matrix[2, 3]
        halves.append(math.sqrt(float(view.cover.sum()) / 1.5) * depth / np.linalg.norm(camera.matrix[0, :3]) / 2)
    return float(np.median(halves))


def _misfit(
    poses: Sequence[np.ndarray], views: Sequence[View], camera: Camera, half: float, blur_px: float
) -> Float[np.ndarray, " N"]:
    """What boxes in known poses cover too much or too little of what is seen of them, in every pixel."""
    drawn = [
        view.weight * (draw(pose, view.where, camera, half, blur_px) - view.cover)
        for pose, view in zip(poses, views, strict=True)
    ]
    return np.concatenate(drawn)


def _fit_camera(poses: Sequence[np.ndarray], views: Sequence[View], camera: Camera, size_px: int) -> Camera:
    """The camera under which boxes in known poses cover what is seen of them."""

    def misfit(numbers: np.ndarray) -> np.ndarray:
        return _misfit(poses, views, from_free_numbers(numbers[:7], size_px), *numbers[7:])

    start = np.array([*free_numbers(camera, size_px), _rough_half(views, poses, camera), 1.0])
    scale = np.array([*[0.01] * 7, 0.001, 0.1])
    found = least_squares(misfit, start, loss="soft_l1", f_scale=0.3, x_scale=scale, diff_step=1e-5).x
    return from_free_numbers(found[:7], size_px)
