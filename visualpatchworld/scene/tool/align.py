"""Laying a measured template over a mask: the pose at which they agree best, to a small part of a pixel."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.tool.look import Camera

ROUGH_STEPS, FINE_STEPS = 2, 8
MARGIN_PX = 3
NUM_DIRECTIONS = 72
NUM_CUT_TURNS, NUM_REFINED = 24, 3  # first guesses for a shape that the picture's edge cuts off, and how many of them are followed
SURE_AGREEMENT = 0.85


class Placed(NamedTuple):
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


def place(mask: np.ndarray, hidden: np.ndarray, camera: Camera, template: Template, turns: bool, patch: np.ndarray) -> Placed:
    """The pose whose template agrees best with a patch of a mask; pixels that something hides have no say."""
    rows, columns = (np.flatnonzero(patch.any(axis=axis)) for axis in (1, 0))
    cut = turns and bool(_touched(rows, columns, mask).any())
    # Of a shape that the edge cuts off, the longest side may be out of the picture, and must not be thought to lie beside the patch.
    margin = round(len(template.cover) / 2 * template.cell * camera.pixels_per_unit(template.centroid)) if cut else MARGIN_PX
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
    # What is left of a shape that the edge cuts off has another centroid and another spread, so every turn has a chance.
    starts = _cut_starts(rows, columns, mask, camera, template, center)
    tries = [_refine(start, points, observed, weight, template, turns, ROUGH_STEPS) for start in starts]
    likely = sorted(tries, key=lambda found: -found.agreement)[:NUM_REFINED]
    return max([placed, *(_refine(found.pose, points, observed, weight, template, turns, FINE_STEPS) for found in likely)], key=_agreement)


def _refine(
    pose: np.ndarray, points: np.ndarray, observed: np.ndarray, weight: np.ndarray, template: Template, turns: bool, steps: int
) -> Placed:
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
        # In single precision the products of small matrices are quick; the ridge keeps a template without slopes in its place.
        normal = (slope @ slope.T).astype(np.float64) + 1e-9 * np.eye(len(slopes))
        move = np.linalg.solve(normal, slope @ error)
        pose = pose + np.append(move, [] if turns else [0.0])
        if np.abs(move[:2]).max() < 1e-3 * template.cell:
            break
    both = (weight * np.minimum(observed, cover)).sum()
    either = (weight * np.maximum(observed, cover)).sum()
    return Placed(pose, float(both / max(either, 1e-6)), float((weight * cover).sum() / max(cover.sum(), 1e-6)))


def _agreement(placed: Placed) -> float:
    return placed.agreement


def _touched(rows: np.ndarray, columns: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Whether a patch reaches the picture's edges: left and right, top and bottom."""
    return np.array([[columns[0] == 0, columns[-1] == mask.shape[1] - 1], [rows[0] == 0, rows[-1] == mask.shape[0] - 1]])


def _cut_starts(
    rows: np.ndarray, columns: np.ndarray, mask: np.ndarray, camera: Camera, template: Template, center: np.ndarray
) -> Iterator[np.ndarray]:
    """Poses in every direction whose sides lie where the patch has sides that the picture's edge does not cut."""
    sides = np.array([[columns[0], columns[-1]], [rows[0], rows[-1]]], dtype=np.float64)
    whole = ~_touched(rows, columns, mask)
    whole[~whole.any(axis=1)] = True
    for angle in np.arange(NUM_CUT_TURNS) * 2 * math.pi / NUM_CUT_TURNS:
        cos, sin = math.cos(angle), math.sin(angle)
        drawn = camera.project(template.inside @ np.array([[cos, sin], [-sin, cos]]) + center)
        apart = sides - np.stack([drawn.min(axis=0), drawn.max(axis=0)], axis=1)
        shift = np.average(apart, axis=1, weights=whole)
        yield np.array([*camera.ground(camera.project(center) + shift), angle])


def _origin(center: np.ndarray, angle: float, template: Template) -> np.ndarray:
    """Where the shape's origin lies when its centroid is here and it is turned so."""
    cos, sin = math.cos(angle), math.sin(angle)
    return center - np.array([[cos, -sin], [sin, cos]]) @ template.centroid


def _likely_angles(observed: np.ndarray, offsets: np.ndarray, template: Template) -> tuple[float, ...]:
    """The two best turns that bring the template's spread over directions onto the mask's; moments alone leave a half-turn open."""
    match = np.fft.irfft(np.fft.rfft(_spread(observed, offsets)) * np.conj(np.fft.rfft(template.spread)), NUM_DIRECTIONS)
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
