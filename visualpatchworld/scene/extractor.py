"""From an observed moment to its scene graph: one interface, and the paths that read states or pictures."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadGraph, BadPicture
from visualpatchworld.scene.schema import SceneGraph, SceneObject
from visualpatchworld.scene.state import SceneTemplate, StateSpace, place_numbers
from visualpatchworld.scene.tool.calibration import Calibration, sources, unwrap
from visualpatchworld.scene.tool.look import Look, Sighting, look_at


@dataclass(frozen=True)
class Moment:
    """Pictures up to a moment, the oldest first, the actions between them, and the true state,
    NaN where it is not known.
    """

    frames: Sequence[UInt8[np.ndarray, "h w 3"]] | UInt8[np.ndarray, "T h w 3"] = ()
    actions: Float[np.ndarray, "T-1 A"] | None = None
    state: Float[np.ndarray, " S"] | None = None
    step: int | None = None


class Extractor(ABC):
    """A path from observation to scene graph: the oracle's, the tools', a vision-language model's, or a user's own."""

    sees: ClassVar[Literal["state", "pictures"]]  # what it needs of a moment

    @abstractmethod
    def extract(self, moment: Moment) -> SceneGraph:
        """The scene graph of a moment."""


@dataclass(frozen=True)
class OracleExtractor(Extractor):
    """Reads the simulator's state and shapes directly, with no perception in between."""

    sees = "state"
    template: SceneTemplate
    constants: Any

    def extract(self, moment: Moment) -> SceneGraph:
        if moment.state is None:
            raise BadPicture(
                "The oracle reads states, and a picture alone has none; give a row of a trace file, as FILE.h5:ROW."
            )
        return self.template.oracle(moment.state, self.constants, step=moment.step)


STILL = 2.0  # times the reading error: what changes less from frame to frame rests, and its readings are averaged
MOST_AVERAGED = 5

Picture = UInt8[np.ndarray, "h w 3"]


@dataclass(frozen=True)
class ToolExtractor(Extractor):
    """Reads pictures of one world; `frames` are one per environment step, the oldest first,
    and the last is the moment that is read.
    """

    template: SceneTemplate
    look: Look
    calibration: Calibration
    size_px: int
    sees = "pictures"

    @property
    def space(self) -> StateSpace:
        return self.template.state_space

    @functools.cached_property
    def objects(self) -> tuple[SceneObject, ...]:
        """Every object with its measured shape, not yet placed."""
        return tuple(item for part in self.look.parts for item in part.objects(self.calibration.measures[part.name]))

    def see(self, frame: Picture) -> Sighting:
        """What one picture shows; sightings can be kept and given to `graph` with later ones."""
        self._check(frame)
        return look_at(self.look, self.look.palette.masks(frame), self.calibration.camera, self.calibration.measures)

    def extract(self, moment: Moment) -> SceneGraph:
        return self.read(list(moment.frames), moment.actions, step=moment.step)

    def read(
        self,
        frames: Sequence[Picture],
        actions: Float[np.ndarray, "T-1 A"] | None = None,
        *,
        step: int | None = None,
    ) -> SceneGraph:
        """The scene graph of the last frame; see `graph`."""
        return self.graph([self.see(frame) for frame in frames], actions, step=step)

    def graph(
        self,
        sightings: Sequence[Sighting],
        actions: Float[np.ndarray, "T-1 A"] | None = None,
        *,
        near: Float[np.ndarray, " S"] | None = None,
        step: int | None = None,
    ) -> SceneGraph:
        """The scene graph of the last sighting.

        What is hidden has no pose and is not `visible`;
        velocities come from the sightings before, and are empty where there are none.
        `actions` are those executed between the frames; `near` is a state whose full turns the angles continue.
        """
        if not sightings:
            raise BadPicture("There is no picture to read.")
        tracks = self._tracks(sightings)
        last = {
            place: self._steady(place, tracks[:, i])
            for i, place in enumerate(self._places)
            if place in sightings[-1].numbers
        }
        last = {**sightings[-1].numbers, **last, **self._velocities(tracks, actions, len(tracks) - 1, look_ahead=False)}
        shown = place_numbers(self.objects, self._turned(last, near))
        hidden = sightings[-1].hidden
        placed = [item.model_copy(update={"visible": False}) if item.name in hidden else item for item in shown]
        notes = [f"{name} is hidden" for name in hidden]
        return self.template.graph(placed, "tool", step=step, notes=notes)

    def state(self, graph: SceneGraph) -> Float[np.ndarray, " S"]:
        """The state that a graph holds; a velocity or attribute that it does not say counts as 0,
        a hidden object is `BadGraph`.
        """
        known = place_numbers(graph.objects, {**self._unsaid(graph)})
        return self.space.wrap(self.space.read(graph.model_copy(update={"objects": known})))

    def observe(
        self,
        frames: Sequence[Picture],
        actions: Float[np.ndarray, "T-1 A"] | None = None,
        *,
        near: Float[np.ndarray, " S"] | None = None,
        expected: Float[np.ndarray, " S"] | None = None,
    ) -> Float[np.ndarray, " S"]:
        """The state at the last frame; what is hidden is taken to be and to move as somebody expects it there,
        else to be where these frames last showed it, else where `near` has it.
        """
        near = expected if near is None else near
        sightings = [self.see(frame) for frame in frames]
        graph = self.graph(sightings, actions, near=near)
        before = {} if near is None else dict(zip(self._places, map(float, near), strict=True))
        hidden = [
            place for place in before if place.split(".")[0] in sightings[-1].hidden and ".velocity." not in place
        ]
        earlier = {place: before[place] for place in hidden}
        earlier |= {place: value for sighting in sightings for place, value in sighting.numbers.items()}
        missing = {place: value for place, value in earlier.items() if place not in sightings[-1].numbers}
        if expected is not None:
            told = zip(self._places, map(float, expected), strict=True)
            missing |= {place: value for place, value in told if place.split(".")[0] in sightings[-1].hidden}
        return self.state(
            graph.model_copy(update={"objects": place_numbers(graph.objects, self._turned(missing, near))})
        )

    def read_episode(
        self, frames: Iterable[Picture], actions: Float[np.ndarray, "T-1 A"] | None = None
    ) -> Float[np.ndarray, "T S"]:
        """The states of a whole episode, read with what comes before and after:
        gaps are bridged, angles do not jump.
        """
        sightings = [self.see(frame) for frame in frames]
        if not sightings:
            raise BadPicture("There is no picture to read.")
        tracks = self._tracks(sightings)
        velocities, _ = sources(self.space)
        for i, place in enumerate(self._places):
            if place in velocities:
                continue
            if not np.isfinite(tracks[:, i]).any():
                if ".attributes." not in place:
                    raise BadGraph(f"{place} is hidden in all {len(tracks)} pictures of the episode.")
                tracks[:, i] = 0.0
            tracks[:, i] = _bridged(tracks[:, i])
        for t in range(len(tracks)):
            for place, value in self._velocities(tracks, actions, t, look_ahead=True).items():
                tracks[t, self._places.index(place)] = value
        return self.space.wrap(np.nan_to_num(tracks))

    def errors(self, error_metrics: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]]) -> dict[str, float]:
        """How far off a reading is by each error metric (root mean square), as the calibration found it."""
        noise = np.array([self.calibration.noise.get(place, 0.0) for place in self._places])
        draws = np.random.default_rng(0).normal(0.0, 1.0, (1000, len(noise))) * noise
        return {
            name: float(np.sqrt(np.mean(metric(draws, np.zeros_like(draws)) ** 2)))
            for name, metric in error_metrics.items()
        }

    @functools.cached_property
    def _places(self) -> list[str]:
        return [field.at for field in self.space]

    @functools.cached_property
    def _periods(self) -> dict[str, float]:
        return {place: period for part in self.look.parts for place, period in part.periods.items()}

    def _check(self, frame: Picture) -> None:
        wanted = (self.size_px, self.size_px, 3)
        if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8 or frame.shape != wanted:
            found = f"{frame.shape} of {frame.dtype}" if isinstance(frame, np.ndarray) else type(frame).__name__
            raise BadPicture(
                f"A picture here is {self.size_px} x {self.size_px} pixels of three colours in bytes, not {found}."
            )

    def _tracks(self, sightings: Sequence[Sighting]) -> Float[np.ndarray, "T S"]:
        """The numbers of the state over time, NaN where nothing was seen, angles without jumps."""
        numbers = np.array([[sighting.numbers.get(place, np.nan) for place in self._places] for sighting in sightings])
        return np.stack(
            [unwrap(numbers[:, i], self._periods.get(place)) for i, place in enumerate(self._places)], axis=1
        )

    def _velocities(
        self, tracks: np.ndarray, actions: np.ndarray | None, step: int, *, look_ahead: bool
    ) -> dict[str, float]:
        places, poses = sources(self.space)
        if not places:
            return {}
        columns = [self._places.index(pose) for pose in poses]
        found = self.calibration.motion.velocities(tracks[:, columns], actions, step, look_ahead=look_ahead)
        return {} if found is None else dict(zip(places, map(float, found), strict=True))

    def _steady(self, place: str, track: Float[np.ndarray, " T"]) -> float:
        """The last reading, averaged with those before it while the thing rests."""
        limit = STILL * self.calibration.noise.get(place, 0.0)
        recent = track[::-1][:MOST_AVERAGED]
        moved = np.flatnonzero(~(np.abs(recent - recent[0]) <= limit))
        return float(recent[: moved[0] if len(moved) else None].mean())

    def _turned(self, numbers: dict[str, float], near: np.ndarray | None) -> dict[str, float]:
        """Angles as near as full turns bring them to those of a state; without one, within a turn about 0."""
        turned = dict(numbers)
        for place, period in self._periods.items():
            if place in numbers:
                goal = 0.0 if near is None or place not in self._places else float(near[self._places.index(place)])
                turned[place] = numbers[place] + period * round((goal - numbers[place]) / period)
        return turned

    def _unsaid(self, graph: SceneGraph) -> dict[str, float]:
        """Zeros for the velocities and attributes of the state that a graph leaves empty."""
        zeros = {}
        for place in self._places:
            name, part, key = place.split(".")
            holder = getattr(graph[name], part)
            value = holder.get(key) if isinstance(holder, dict) else getattr(holder, key)
            if value is None and part != "pose":
                zeros[place] = 0.0
        return zeros


def _bridged(track: Float[np.ndarray, " T"]) -> Float[np.ndarray, " T"]:
    """A track with its gaps filled: evenly between what is known, and as at the nearest end."""
    known = np.isfinite(track)
    steps = np.arange(len(track))
    return np.interp(steps, steps[known], track[known])
