"""The tool path of a domain: calibrated with its own simulator's pictures, once, and held against the oracle."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from visualpatchworld import __version__
from visualpatchworld.domain import Domain, find_domains, held_actions
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.files import make_folder, read_bytes, read_text, write_text
from visualpatchworld.scene.extractor import Moment, ToolExtractor
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.scene.tool.calibration import Calibration, calibrate, parse_calibration, sources
from visualpatchworld.scene.tool.look import Sighting
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants
from visualpatchworld.trace.episode import collect
from visualpatchworld.world.trajectory import Trajectory

SEED = 7000  # of the episodes to calibrate with; data that others collect has other seeds
WANDERING_SEED = SEED + 1
SHIPPED = "calibration.json"  # beside a domain's look: the calibration for its nominal constants


def extractor(domain: Domain, constants: Constants | None = None) -> ToolExtractor:
    """The tool extractor of a world; calibrated at the first call, from then on read from a file."""
    constants = constants or domain.constants
    return ToolExtractor(domain.scene, domain.seen(), _calibration(domain, constants), FRAME_SIZE_PX)


def fresh_calibration(domain: Domain, constants: Constants) -> Calibration:
    """A calibration from episodes collected now."""
    look = domain.seen()
    found = pictured(domain, constants, SEED, look.num_episodes)
    if look.num_wandering:
        found += pictured(
            dataclasses.replace(domain, policy=held_actions), constants, WANDERING_SEED, look.num_wandering
        )
    return calibrate(look, domain.scene.state_space, found)


def pictured(domain: Domain, constants: Constants, seed: int, episodes: int) -> list[Trajectory]:
    """Episodes of the domain's policy with pictures, one step in as many as its look takes."""
    every, simulator = domain.seen().every, domain.simulator(constants)
    found = []
    for episode in collect(domain, constants, episodes=episodes, seed=seed):
        steps = slice(None, None, every)
        frames = []
        for engine_state in episode.engine_states[steps]:
            simulator.set_engine_state(engine_state)
            frames.append(simulator.render())
        states = episode.observations[steps]
        found.append(Trajectory(states, episode.actions[steps][: len(states) - 1], frames=np.array(frames)))
    return found


def calibration_path(domain: Domain, constants: Constants) -> Path:
    """Where the calibration lies: with the domain for its nominal constants, in the user's cache for others."""
    if _key(domain, constants) == _key(domain, domain.constants):
        place = find_domains().get(domain.name)
        if place is not None and (place / SHIPPED).is_file():
            return place / SHIPPED
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "visualpatchworld" / "calibration" / f"{domain.name}-{_key(domain, constants)}.json"


def _calibration(domain: Domain, constants: Constants) -> Calibration:
    path = calibration_path(domain, constants)
    if path.is_file():
        try:
            return parse_calibration(read_text(path, "calibration", VpwError))
        except VpwError as error:
            raise VpwError(f"'{path}': {error}") from error
    text = fresh_calibration(domain, constants).text()
    make_folder(path.parent)
    write_text(path, text)
    # As the next process reads it: its numbers are rounded, and pictures must be read alike.
    return parse_calibration(text)


def _key(domain: Domain, constants: Constants) -> str:
    """A short name for what a calibration depends on:
    the look, and the constants that change pictures or velocities.
    """
    values = dataclasses.asdict(constants)
    if not sources(domain.scene.state_space)[0]:
        values = {name: values[name] for name in domain.seen().seen_constants}
    return hashlib.sha256(json.dumps([__version__, repr(domain.look), values]).encode()).hexdigest()[:16]


# From states to the pixels of every object that has a place in them.
Ways = Callable[[Float[np.ndarray, "T S"]], Mapping[str, Float[np.ndarray, "T 2"]]]


def ways_in(domain: Domain) -> Ways:
    """Where objects lie in the picture: the state space says which numbers are their places,
    the calibrated camera where those appear.
    """
    camera = extractor(domain).calibration.camera  # constants that vary change what is drawn, not how it is looked at
    column = {field.at: i for i, field in enumerate(domain.scene.state_space)}
    named = dict.fromkeys(place.split(".")[0] for place in column)
    axes = {
        name: [column[f"{name}.pose.{axis}"] for axis in "xyz" if f"{name}.pose.{axis}" in column] for name in named
    }
    return lambda states: {name: camera.project(states[:, where]) for name, where in axes.items() if len(where) >= 2}


SAME_PX = 8.0  # an object that is reported so near to a true one is that one
LARGEST = 1e6  # number of a state that could be anywhere near a picture; what is larger is not known
MOST_BYTES = 2**31  # of pictures in a file, which are all held in memory
RECENT = 4  # frames that a moment of an episode is read from


@dataclass(frozen=True)
class AuditedMoment:
    """One audited moment: what was seen in its last picture, and the state that was read,
    or None where something was hidden.
    """

    moment: Moment
    sighting: Sighting
    graph: SceneGraph
    state: Float[np.ndarray, " S"] | None
    seconds: float


@dataclass(frozen=True)
class Audit:
    """Shares of right reports among all reports and among all that was to be seen, and errors by quantity.

    A mean hides a few pictures that are read quite wrongly, so the 99th percentile and the worst stand beside it.
    """

    precision: float
    recall: float
    rmse: dict[str, float]
    p99: dict[str, float]
    worst: dict[str, float]
    frames: int
    seconds_per_frame: float  # the median: the first takes longer, while libraries load


def read_moments(extractor: ToolExtractor, moments: Iterable[Moment]) -> Iterator[AuditedMoment]:
    """Every moment, read as a planner would; only the last picture of each is timed,
    since the ones before were seen before.
    """
    for moment in moments:
        before = [extractor.see(frame) for frame in moment.frames[:-1]]
        started = time.process_time()
        last = extractor.see(moment.frames[-1])
        # Full turns are not to be seen, so they are not judged.
        near = np.nan_to_num(_truth(moment))
        graph = extractor.graph([*before, last], moment.actions, near=near)
        state = None if last.hidden else extractor.state(graph)
        yield AuditedMoment(moment, last, graph, state, time.process_time() - started)


def audit(domain: Domain, extractor: ToolExtractor, readings: Iterable[AuditedMoment]) -> Audit:
    """Precision, recall and errors over these readings."""
    readings = list(readings)
    right = reported = present = 0
    for reading in readings:
        for name, true_px in _in_picture(extractor, _truth(reading.moment)).items():
            seen = name not in reading.sighting.hidden
            found_px = _pixel(extractor, name, reading.sighting.numbers) if seen else None
            right += found_px is not None and float(np.linalg.norm(found_px - true_px)) < SAME_PX
            reported += seen
            present += 1
    errors = _errors(domain, [reading for reading in readings if reading.state is not None])
    return Audit(
        precision=right / max(reported, 1),
        recall=right / max(present, 1),
        rmse={name: float(np.sqrt(np.mean(error**2))) for name, error in errors.items()},
        p99={name: float(np.percentile(error, 99)) for name, error in errors.items()},
        worst={name: float(error.max()) for name, error in errors.items()},
        frames=len(readings),
        seconds_per_frame=float(np.median([reading.seconds for reading in readings])) if readings else 0.0,
    )


def _truth(moment: Moment) -> Float[np.ndarray, " S"]:
    assert moment.state is not None, "only moments whose state is known are audited"
    return moment.state


def _errors(domain: Domain, readings: list[AuditedMoment]) -> dict[str, np.ndarray]:
    """How far off each reading is, by quantity; readings whose truth is not known have no say."""
    if not readings:
        return {}
    space = domain.scene.state_space
    read = np.array([reading.state for reading in readings])
    true = np.array([_truth(reading.moment) for reading in readings])
    errors = {name: quantity(read, true) for name, quantity in domain.error_metrics.items()}
    # One picture alone says nothing about velocities.
    followed = np.array([len(reading.moment.frames) > 1 for reading in readings])
    errors |= {
        field.name: (read - true)[followed, i]
        for i, field in enumerate(space)
        if ".velocity." in field.at and followed.any()
    }
    known = {name: np.abs(error[np.isfinite(error)]) for name, error in errors.items()}
    return {name: error for name, error in known.items() if len(error)}


def _in_picture(extractor: ToolExtractor, state: np.ndarray) -> dict[str, np.ndarray]:
    """The objects whose position the state holds and whose point lies well within the picture, with its pixel."""
    numbers = {field.at: float(value) for field, value in zip(extractor.space, state, strict=True)}
    names = dict.fromkeys(place.split(".")[0] for place in numbers if place.endswith(".pose.x"))
    pixels = {name: _pixel(extractor, name, numbers) for name in names}
    low, high = SAME_PX, extractor.size_px - 1 - SAME_PX  # nearer to the edge, a thing is cut off
    return {
        name: pixel for name, pixel in pixels.items() if pixel is not None and np.all((pixel >= low) & (pixel <= high))
    }


def _pixel(extractor: ToolExtractor, name: str, numbers: Mapping[str, float]) -> np.ndarray | None:
    axes = [axis for axis in "xyz" if f"{name}.pose.{axis}" in numbers]
    if "x" not in axes:
        return None
    point = np.array([numbers.get(f"{name}.pose.{axis}", 0.0) for axis in ("xyz" if "z" in axes else "xy")])
    return extractor.calibration.camera.project(point)


def moments_of_episodes(domain: Domain, constants: Constants, *, episodes: int, seed: int) -> Iterator[Moment]:
    """Every step of newly collected episodes, with the frames before it."""
    for episode in collect(domain, constants, episodes=episodes, seed=seed, pixels=True):
        assert episode.frames is not None
        for step in range(episode.num_rows):
            first = max(step - RECENT + 1, 0)
            yield Moment(episode.frames[first : step + 1], episode.actions[first:step], episode.observations[step])


def moments_of_file(domain: Domain, path: Path) -> list[Moment]:
    """Single pictures with known states: an .npz file with `frames` and the columns of the domain's state.

    A column may be named with `_` in place of `/`, and with `_rendered` where the picture
    shows another moment than the row.
    """
    arrays = _read_arrays(path)
    frames, shape = arrays.get("frames"), (FRAME_SIZE_PX, FRAME_SIZE_PX, 3)
    if frames is None or frames.shape[1:] != shape or frames.dtype != np.uint8 or len(frames) == 0:
        said = ", ".join(f"{name} {array.shape} of {array.dtype}" for name, array in arrays.items()) or "none"
        raise BadTrace(
            f"'{path}' has no pictures in an array 'frames', (N, {', '.join(map(str, shape))}) of uint8; "
            f"its arrays are {said}."
        )
    states = np.concatenate([_column(arrays, column.name, column.width) for column in domain.layout.state], axis=1)
    if np.isnan(states).all():
        names = ", ".join(column.name for column in domain.layout.state)
        raise BadTrace(f"'{path}' holds no state of '{domain.name}': it has none of the columns {names}.")
    return [Moment(frame[None], None, state) for frame, state in zip(frames, states, strict=True)]


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    content = read_bytes(path, "file of pictures", BadTrace, most=MOST_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(item.file_size for item in packed.infolist()) > MOST_BYTES:
                raise BadTrace(f"'{path}' holds more than {MOST_BYTES} bytes; give fewer pictures at once.")
        with np.load(io.BytesIO(content)) as file:
            return {name: file[name] for name in file.files if file[name].dtype.kind in "biuf"}
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        MemoryError,
        zipfile.BadZipFile,
        zlib.error,
    ):
        raise BadTrace(f"'{path}' is not an .npz file of numbers that can be read.") from None


def _column(arrays: dict[str, np.ndarray], name: str, width: int) -> np.ndarray:
    plain, rows = name.replace("/", "_"), len(arrays["frames"])
    for key in (f"{plain}_rendered", plain, name):
        if key in arrays and arrays[key].size == rows * width:
            values = arrays[key].reshape(rows, width).astype(np.float64)
            return np.where(np.abs(values) < LARGEST, values, np.nan)
    return np.full((rows, width), np.nan)
