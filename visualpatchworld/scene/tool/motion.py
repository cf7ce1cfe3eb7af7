"""Velocities from recent positions: linear in the positions' changes and, where they are known, in the actions between them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.state import StateSpace

MOST_BEFORE, MOST_AFTER = 3, 2  # frames on either side of a moment that its velocity is read from
RIDGE = 1e-6


@dataclass(frozen=True)
class Motion:
    """The weights of each rule, by its key: frames before, frames after, and whether actions are known."""

    weights: Mapping[str, Float[np.ndarray, "features fields"]]

    def velocities(
        self, tracks: Float[np.ndarray, "T P"], actions: Float[np.ndarray, "T A"] | None, step: int, *, look_ahead: bool
    ) -> Float[np.ndarray, " fields"] | None:
        """The velocities at a step of these tracks, from as many frames around it as there are; None from one frame alone."""
        seen = np.atleast_1d(np.isfinite(tracks).all(axis=1))
        before = _run(seen[: step + 1][::-1], MOST_BEFORE)
        after = _run(seen[step:], MOST_AFTER) if look_ahead else 0
        if before + after <= 0:
            return None
        features = _features(tracks, actions, np.array([step]), before, after)
        return (features @ self.weights[_key(before, after, actions is not None)])[0]


def fit_motion(episodes: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Motion:
    """One rule for every number of frames before and after, from episodes of tracks, actions and true velocities."""
    weights = {}
    for before, after, acted in itertools.product(range(MOST_BEFORE + 1), range(MOST_AFTER + 1), (False, True)):
        if before + after == 0:
            continue
        rows, targets = [], []
        for tracks, actions, velocities in episodes:
            steps = np.arange(before, len(tracks) - after)
            features = _features(tracks, actions if acted else None, steps, before, after)
            whole = np.isfinite(features).all(axis=1)
            rows.append(features[whole])
            targets.append(velocities[steps][whole])
        x, y = np.concatenate(rows), np.concatenate(targets)
        scale = np.maximum(np.abs(x).max(axis=0), 1e-12)
        normal = (x / scale).T @ (x / scale) + RIDGE * len(x) * np.eye(x.shape[1])
        weights[_key(before, after, acted)] = np.linalg.solve(normal, (x / scale).T @ y) / scale[:, None]
    return Motion(weights)


def sources(space: StateSpace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The places of a state's velocities, and of the poses whose change they are."""
    places = tuple(field.at for field in space if ".velocity." in field.at)
    return places, tuple(place.replace(".velocity.spin", ".pose.angle").replace(".velocity.", ".pose.") for place in places)


def _run(seen: np.ndarray, most: int) -> int:
    """How many frames beyond the first are seen without a gap."""
    gaps = np.flatnonzero(~seen[: most + 1])
    return (int(gaps[0]) if len(gaps) else min(len(seen), most + 1)) - 1


def _key(before: int, after: int, acted: bool) -> str:
    return f"{before} before, {after} after, {'with' if acted else 'without'} actions"


def _features(tracks: np.ndarray, actions: np.ndarray | None, steps: np.ndarray, before: int, after: int) -> np.ndarray:
    """The changes from frame to frame around each step, the actions that made them, and a constant."""
    around = range(-before, after)
    parts = [tracks[steps + lag + 1] - tracks[steps + lag] for lag in around]
    if actions is not None:
        parts += [actions[steps + lag] for lag in around]
    return np.concatenate([*parts, np.ones((len(steps), 1))], axis=1)
