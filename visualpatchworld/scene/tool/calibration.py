"""What calibrating yields: the camera, the measures of every part and the rules for velocities,
kept as a small JSON text.
"""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.scene.tool.look import (
    Camera,
    Look,
    Masks,
    Measures,
    Numbers,
    fit_pinhole,
    fit_planar,
    fit_robust,
    look_at,
)
from visualpatchworld.world.trajectory import Trajectory

MOST_BEFORE, MOST_AFTER = 3, 2  # frames on either side of a moment that its velocity is read from
RIDGE = 1e-6


@dataclass(frozen=True)
class VelocityRules:
    """The weights of each rule, by its key: frames before, frames after, and whether actions are known."""

    weights: Mapping[str, Float[np.ndarray, "features fields"]]

    def velocities(
        self, tracks: Float[np.ndarray, "T P"], actions: Float[np.ndarray, "T A"] | None, step: int, *, look_ahead: bool
    ) -> Float[np.ndarray, " fields"] | None:
        """The velocities at a step of these tracks, from as many frames around it as there are;
        None from one frame alone.
        """
        seen = np.atleast_1d(np.isfinite(tracks).all(axis=1))
        before = _run(seen[: step + 1][::-1], MOST_BEFORE)
        after = _run(seen[step:], MOST_AFTER) if look_ahead else 0
        if before + after <= 0:
            return None
        features = _features(tracks, actions, np.array([step]), before, after)
        return (features @ self.weights[_key(before, after, actions is not None)])[0]


def fit_motion(episodes: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> VelocityRules:
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
    return VelocityRules(weights)


def sources(space: StateSpace) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The places of a state's velocities, and of the poses whose change they are."""
    places = tuple(field.at for field in space if ".velocity." in field.at)
    return places, tuple(
        place.replace(".velocity.spin", ".pose.angle").replace(".velocity.", ".pose.") for place in places
    )


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


LARGE = 1000  # arrays with more numbers are packed
DIGITS = 9
ROUNDS = 1  # of fitting the camera to what the measured parts see


@dataclass(frozen=True)
class Calibration:
    """A camera, measures by part, rules for velocities, and the root mean square error of every number that is read."""

    camera: Camera
    measures: Mapping[str, Measures]
    motion: VelocityRules
    noise: Numbers

    def text(self) -> str:
        """The calibration as JSON."""
        measures = {
            name: {key: _packed(value) for key, value in parts.items()} for name, parts in self.measures.items()
        }
        weights = {key: _packed(value) for key, value in self.motion.weights.items()}
        return json.dumps(
            {"camera": _packed(self.camera.matrix), "measures": measures, "motion": weights, "noise": dict(self.noise)}
        )


def parse_calibration(text: str) -> Calibration:
    """The calibration that a text of `Calibration.text` holds."""
    try:
        data = json.loads(text)
        measures = {
            name: {key: _unpacked(value) for key, value in parts.items()} for name, parts in data["measures"].items()
        }
        motion = VelocityRules({key: _unpacked(value) for key, value in data["motion"].items()})
        return Calibration(Camera(_unpacked(data["camera"])), measures, motion, data["noise"])
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as error:
        raise VpwError(
            "This is not a calibration that `Calibration.text` wrote; remove it, and it is made anew."
        ) from error


def calibrate(look: Look, space: StateSpace, trajectories: Sequence[Trajectory]) -> Calibration:
    """Measure the camera and every part on pictures of known states, then the
    errors and velocities of what they see.
    """
    pictures = [_Segmented(look, _frames(trajectory)) for trajectory in trajectories]
    known: list[Numbers] = [
        dict(zip(_places(space), map(float, state), strict=True))
        for trajectory in trajectories
        for state in trajectory.observations
    ]
    camera, measures = _measure(
        look, _Segmented(look, [frame for trajectory in trajectories for frame in _frames(trajectory)]), known
    )
    seen = [np.array([_numbers(look, camera, measures, masks, space) for masks in episode]) for episode in pictures]
    return Calibration(
        camera, measures, _motion(look, space, trajectories, seen), _noise(look, space, trajectories, seen)
    )


def _frames(trajectory: Trajectory) -> list[np.ndarray]:
    assert trajectory.frames is not None
    return list(trajectory.frames[:])


class _Segmented(Sequence[Masks]):
    """Pictures that are segmented when someone looks: kept, the masks of a few hundred would fill the memory."""

    def __init__(self, look: Look, frames: Sequence[np.ndarray]):
        self._look, self._frames = look, frames

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._frames[index]
        return _Segmented(self._look, chosen) if isinstance(index, slice) else self._look.palette.masks(chosen)


def _measure(look: Look, pictures: Sequence[Masks], known: list[Numbers]) -> tuple[Camera, dict[str, Measures]]:
    anchor = next((part for part in look.parts if part.name == look.anchor), look.parts[0])
    axes = "xyz" if look.projection == "perspective" else "xy"
    points = np.array([[numbers.get(f"{anchor.name}.pose.{axis}", 0.0) for axis in axes] for numbers in known])
    where = [anchor.locate(masks) for masks in pictures]
    if look.projection == "perspective":
        camera = anchor.refine(
            pictures, known, _fitted(partial(fit_pinhole, size_px=_size(pictures)), points, where), _size(pictures)
        )
        return camera, {part.name: part.measure(pictures, known, camera) for part in look.parts}
    camera, measures = _fitted(partial(fit_robust, fit_planar), points, where), {}
    for _ in range(ROUNDS):
        measures = {part.name: part.measure(pictures, known, camera) for part in look.parts}
        # The measured parts see better than the first glance.
        where = [
            _pixel(anchor.name, look_at(look, masks, camera, measures).numbers, axes, camera) for masks in pictures
        ]
        camera = _fitted(partial(fit_robust, fit_planar), points, where)
    return camera, {part.name: part.measure(pictures, known, camera) for part in look.parts}


def _fitted(
    fit: Callable[[np.ndarray, np.ndarray], Camera], points: np.ndarray, where: Sequence[np.ndarray | None]
) -> Camera:
    shown = [i for i, pixel in enumerate(where) if pixel is not None]
    return fit(points[shown], np.array([where[i] for i in shown]))


def _size(pictures: Sequence[Masks]) -> int:
    return len(next(iter(pictures[0].values())))


def _pixel(name: str, numbers: Numbers, axes: str, camera: Camera) -> np.ndarray | None:
    if f"{name}.pose.x" not in numbers:
        return None
    return camera.project(np.array([numbers[f"{name}.pose.{axis}"] for axis in axes]))


def _places(space: StateSpace) -> list[str]:
    return [field.at for field in space]


def _numbers(
    look: Look, camera: Camera, measures: Mapping[str, Measures], masks: Masks, space: StateSpace
) -> list[float]:
    numbers = look_at(look, masks, camera, measures).numbers
    return [numbers.get(place, np.nan) for place in _places(space)]


def _periods(look: Look) -> dict[str, float]:
    return {place: period for part in look.parts for place, period in part.periods.items()}


def _motion(look: Look, space: StateSpace, trajectories: Sequence[Trajectory], seen: list[np.ndarray]) -> VelocityRules:
    velocities, poses = sources(space)
    if not velocities:
        return VelocityRules({})
    columns, targets = (
        [_places(space).index(place) for place in poses],
        [_places(space).index(place) for place in velocities],
    )
    periods = _periods(look)
    episodes = []
    for trajectory, numbers in zip(trajectories, seen, strict=True):
        tracks = np.stack(
            [unwrap(numbers[:, i], periods.get(place)) for i, place in zip(columns, poses, strict=True)], axis=1
        )
        episodes.append((tracks, trajectory.actions, trajectory.observations[:, targets]))
    return fit_motion(episodes)


def _noise(
    look: Look, space: StateSpace, trajectories: Sequence[Trajectory], seen: list[np.ndarray]
) -> dict[str, float]:
    error = np.concatenate(seen) - np.concatenate([trajectory.observations for trajectory in trajectories])
    periods = _periods(look)
    noise = {}
    for place, column in zip(_places(space), error.T, strict=True):
        if place in periods:
            column = np.mod(column + periods[place] / 2, periods[place]) - periods[place] / 2
        if np.isfinite(column).any():
            noise[place] = float(np.sqrt(np.nanmean(column**2)))
    return noise


def unwrap(values: Float[np.ndarray, " T"], period: float | None) -> Float[np.ndarray, " T"]:
    """Values without jumps by their period; gaps of NaN stay."""
    if period is None:
        return values
    known = np.isfinite(values)
    smooth = values.copy()
    smooth[known] = np.unwrap(values[known], period=period)
    return smooth


def _packed(array: np.ndarray) -> Any:
    array = np.asarray(array, dtype=np.float64)
    if array.size <= LARGE:
        return (
            [float(f"{value:.{DIGITS}g}") for value in array.ravel()] if array.ndim == 1 else _rounded(array.tolist())
        )
    packed = base64.b64encode(zlib.compress(array.astype(np.float32).tobytes(), 9)).decode()
    return {"shape": list(array.shape), "float32": packed}


def _rounded(values: Any) -> Any:
    return [_rounded(value) for value in values] if isinstance(values, list) else float(f"{values:.{DIGITS}g}")


def _unpacked(data: Any) -> np.ndarray:
    if not isinstance(data, dict):
        return np.array(data, dtype=np.float64)
    raw = zlib.decompress(base64.b64decode(data["float32"]))
    return np.frombuffer(raw, dtype=np.float32).reshape(data["shape"]).astype(np.float64)
