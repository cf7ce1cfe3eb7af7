"""An arm of two links on a fixed base: both joints together are turned until the drawn arm covers the seen one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.tool.look import (
    Camera,
    Masks,
    Measures,
    Numbers,
    Part,
    Sighting,
    centroid,
    patch_center,
    patches,
)

# At first edges are soft, in radii of the first link, so that they feel a link further away.
ROUGH_BLURS, FINE_STEPS = (1.0, 0.5, 0.25), 8
MARGIN_PX = 3
LEAST_AGREEMENT, SURE_AGREEMENT = 0.6, 0.75  # of drawn and seen arm
MOST_PATCHES = 6
NUM_SHAPE_PICTURES = 24  # from which the widths of the links are fitted


class Arm(NamedTuple):
    """What an arm measures, in the world's unit."""

    base: Float[np.ndarray, " 2"]
    lengths: Float[np.ndarray, " 2"]  # the second link reaches to the tip's centre
    # Radii of the links and of the tip, the second link's drawn length, and how far an edge is blurred.
    widths: Float[np.ndarray, " 5"]


@dataclass(frozen=True)
class Chain(Part):
    """The base and the tip have paints of their own; the base may hide the beginning of the first link."""

    base: str
    links: tuple[str, str]
    tip: str
    base_paint: str
    link_paint: str
    tip_paint: str

    @property
    def name(self) -> str:
        return self.tip

    @property
    def periods(self) -> Mapping[str, float]:
        return {f"{link}.pose.angle": 2 * math.pi for link in self.links}

    def locate(self, masks: Masks) -> np.ndarray | None:
        return patch_center(masks[self.tip_paint])

    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        joints = np.array([[numbers[f"{link}.pose.angle"] for link in self.links] for numbers in known])
        tips = [self.locate(masks) for masks in pictures]
        given = np.array([[numbers[f"{self.tip}.pose.{axis}"] for axis in "xy"] for numbers in known])
        seen = [
            i
            for i, tip in enumerate(tips)
            if tip is not None and np.linalg.norm(camera.project(given[i]) - tip) < MARGIN_PX
        ]
        base, lengths = _fit_lengths(joints[seen], camera.ground(np.array([tips[i] for i in seen])))
        size = lengths.sum()
        sample = seen[:: max(len(seen) // NUM_SHAPE_PICTURES, 1)]
        views = [self._pixels(pictures[i], camera) for i in sample]

        def misfit(widths: np.ndarray) -> np.ndarray:
            drawn = [
                weight * (cover - draw(joints[i], where, Arm(base, lengths, widths))[0])
                for i, (where, cover, weight) in zip(sample, views, strict=True)
            ]
            return np.concatenate(drawn)

        guess = np.array([0.04 * size, 0.04 * size, 0.04 * size, 0.9 * lengths[1], 0.02 * size])
        return {"base": base, "lengths": lengths, "widths": least_squares(misfit, guess).x}

    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        base, lengths, widths = _arm(measures)
        upper, lower, tip = (float(radius) for radius in widths[:3])
        return (
            SceneObject(
                name=self.base,
                kind="base",
                fixed=True,
                pose=Pose(x=float(base[0]), y=float(base[1])),
                geometry=Geometry(radius=upper),
            ),
            SceneObject(name=self.links[0], kind="link", geometry=Geometry(length=float(lengths[0]), radius=upper)),
            SceneObject(name=self.links[1], kind="link", geometry=Geometry(length=float(lengths[1]), radius=lower)),
            SceneObject(name=self.tip, kind="fingertip", geometry=Geometry(radius=tip)),
        )

    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        arm = _arm(measures)
        where, cover, weight = self._pixels(masks, camera)
        joints, agreement = np.zeros(2), 0.0
        rough = [max(blur * arm.widths[0], arm.widths[4]) for blur in ROUGH_BLURS]
        # Light on the links can look like the tip, so the next patch of its paint has a chance, too.
        for patch in patches(masks[self.tip_paint], MOST_PATCHES):
            tip = camera.ground(centroid(masks[self.tip_paint] * patch))
            tries = [_turn(joints, where, cover, weight, arm, rough) for joints in _bends(tip, arm)]
            joints, agreement = max([(joints, agreement), *tries], key=lambda found: found[1])
            if agreement > SURE_AGREEMENT:
                break
        joints, agreement = _turn(joints, where, cover, weight, arm, [arm.widths[4]] * FINE_STEPS)
        if agreement < LEAST_AGREEMENT:
            return Sighting(hidden=(*self.links, self.tip))
        joints = np.mod(joints + math.pi, 2 * math.pi) - math.pi
        _, elbow, end, _ = _points(joints, arm)
        numbers = dict(zip((f"{link}.pose.angle" for link in self.links), map(float, joints), strict=True))
        numbers |= {f"{self.tip}.pose.x": float(end[0]), f"{self.tip}.pose.y": float(end[1])}
        lines = {
            self.links[0]: np.stack([arm.base, elbow]),
            self.links[1]: np.stack([elbow, end]),
            self.tip: _circle(end, arm.widths[2]),
        }
        return Sighting(numbers, outlines={name: (camera.project(line),) for name, line in lines.items()})

    def _pixels(self, masks: Masks, camera: Camera) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points of the ground at and near the arm, how much of each it covers, and how much say each has."""
        arm = masks[self.link_paint] + masks[self.tip_paint]
        near = cv2.dilate((arm > 0.2).astype(np.uint8), np.ones((2 * MARGIN_PX + 1, 2 * MARGIN_PX + 1), np.uint8))
        rows, columns = np.nonzero(near)
        where = camera.ground(np.column_stack([columns, rows]).astype(np.float64))
        return where, arm[rows, columns], 1.0 - masks[self.base_paint][rows, columns]


def draw(joints: np.ndarray, where: Float[np.ndarray, "N 2"], arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """How much an arm with these joints covers each point, and how that changes with each joint."""
    base, elbow, tip, end = _points(joints, arm)
    upper, lower, ball, _, blur = arm.widths
    pieces = ((base, elbow, upper, (base, None)), (elbow, end, lower, (base, elbow)), (tip, tip, ball, (base, elbow)))
    cover, slopes = np.zeros(len(where)), np.zeros((2, len(where)))
    for start, stop, radius, pivots in pieces:
        x, y, far, near_x, near_y = _from_segment(where, start, stop)
        here = np.clip(0.5 + (radius - far) / blur, 0.0, 1.0)
        wins = here > cover
        edge = wins & (here < 1.0)
        cover = np.where(wins, here, cover)
        for joint, pivot in enumerate(pivots):
            # The nearest point of the piece swings about the pivot, and the distance shrinks as it comes closer.
            swing = (
                0.0
                if pivot is None
                else (x * -(near_y - pivot[1]) + y * (near_x - pivot[0])) / np.maximum(far, 1e-9) / blur
            )
            slopes[joint] = np.where(edge, swing, np.where(wins, 0.0, slopes[joint]))
    return cover, slopes


def _from_segment(where: np.ndarray, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, ...]:
    """Offset of each point from the nearest one of a segment, its length, and that nearest point."""
    along = stop - start
    share = np.clip(((where - start) @ along) / max(float(along @ along), 1e-12), 0.0, 1.0)
    near_x, near_y = start[0] + share * along[0], start[1] + share * along[1]
    x, y = where[:, 0] - near_x, where[:, 1] - near_y
    return x, y, np.hypot(x, y), near_x, near_y


def _turn(
    joints: np.ndarray, where: np.ndarray, cover: np.ndarray, weight: np.ndarray, arm: Arm, blurs: Sequence[float]
) -> tuple[np.ndarray, float]:
    """Gauss-Newton on the difference of drawn and seen arm, with these edges:
    the joints, and how well the two agree in the end.
    """
    for blur in blurs:
        drawn, slopes = draw(joints, where, arm._replace(widths=np.append(arm.widths[:4], blur)))
        slopes = slopes * weight
        move = np.linalg.solve(slopes @ slopes.T + 1e-6 * np.eye(2), slopes @ ((cover - drawn) * weight))
        joints = joints + np.clip(move, -0.2, 0.2)
        if np.abs(move).max() < 1e-5:
            break
    drawn, _ = draw(joints, where, arm)
    return joints, float(
        (weight * np.minimum(drawn, cover)).sum() / max((weight * np.maximum(drawn, cover)).sum(), 1e-6)
    )


def _bends(tip: np.ndarray, arm: Arm) -> list[np.ndarray]:
    """The two ways to bend the arm so that it reaches the tip;
    a half bend beside them where it is nearly straight or folded.
    """
    (a, b), (x, y) = arm.lengths, tip - arm.base
    cosine = np.clip((x * x + y * y - a * a - b * b) / (2 * a * b), -0.999, 0.999)
    bends = []
    for wrist in (math.acos(cosine), -math.acos(cosine)):
        shoulder = math.atan2(y, x) - math.atan2(b * math.sin(wrist), a + b * math.cos(wrist))
        bends.append(np.array([shoulder, wrist]))
    return bends


def _points(joints: np.ndarray, arm: Arm) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Base, elbow, tip, and where the drawn second link ends."""
    upper = np.array([math.cos(joints[0]), math.sin(joints[0])])
    lower = np.array([math.cos(joints[0] + joints[1]), math.sin(joints[0] + joints[1])])
    elbow = arm.base + arm.lengths[0] * upper
    return arm.base, elbow, elbow + arm.lengths[1] * lower, elbow + arm.widths[3] * lower


def _fit_lengths(joints: Float[np.ndarray, "N 2"], tips: Float[np.ndarray, "N 2"]) -> tuple[np.ndarray, np.ndarray]:
    """Base and link lengths from where the tip was seen under known joint angles."""
    upper, whole = joints[:, 0], joints.sum(axis=1)
    one, none = np.ones(len(joints)), np.zeros(len(joints))
    equations = np.concatenate(
        [
            np.column_stack([one, none, np.cos(upper), np.cos(whole)]),
            np.column_stack([none, one, np.sin(upper), np.sin(whole)]),
        ]
    )
    solution = np.linalg.lstsq(equations, tips.T.reshape(-1), rcond=None)[0]
    return solution[:2], solution[2:]


def _arm(measures: Measures) -> Arm:
    return Arm(measures["base"], measures["lengths"], measures["widths"])


def _circle(middle: np.ndarray, radius: float) -> np.ndarray:
    turn = np.linspace(0, 2 * math.pi, 17)
    return middle + radius * np.column_stack([np.cos(turn), np.sin(turn)])
