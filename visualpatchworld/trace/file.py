"""Trace files: the columns that a file must have, read into episodes, and episodes written as they come."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from visualpatchworld import __version__
from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.extras import h5py, hdf5plugin
from visualpatchworld.files import as_floats, check_unpacked, from_json, writing
from visualpatchworld.simulator import FRAME_SIZE_PX, Column, Constants, TraceLayout
from visualpatchworld.trace.episode import Episode, FramesInFile, Traces

ALWAYS_FINE = 64 * 2**20  # bytes of a column that need no proof
MOST_PACKED = 1100  # times that compression makes a column smaller, at most
LARGEST = 1e12  # number of a state or action; squares of larger ones leave single precision, and no world has them
EPISODE_LABELS = ("ep_idx", "episode_idx")
PIXELS = "pixels"


def episode_lengths(file: h5py.File, path: Path, num_rows: int) -> Int[np.ndarray, " N"]:
    """The length of each episode from `ep_len`, else `ep_offset`, else the row labels;
    all that are present must agree.
    """
    found = {
        name: _index_column(file, path, name)
        for name in ("ep_len", "ep_offset", *EPISODE_LABELS, "step_idx")
        if name in file
    }
    for name in (*EPISODE_LABELS, "step_idx"):
        if name in found and len(found[name]) != num_rows:
            raise BadTrace(f"'{path}': '{name}' has {len(found[name])} rows where 'action' has {num_rows}.")
    starts = _starts(found, path)
    lengths = found["ep_len"] if "ep_len" in found else np.diff(starts, append=num_rows)
    if (lengths <= 0).any() or lengths.sum() != num_rows:
        raise BadTrace(f"'{path}': its episodes add up to {lengths.sum()} rows, but 'action' has {num_rows}.")
    _check_agreement(found, path, lengths)
    return lengths


def _starts(found: dict[str, np.ndarray], path: Path) -> np.ndarray:
    if "ep_len" in found:
        return np.cumsum(found["ep_len"]) - found["ep_len"]
    if "ep_offset" in found:
        return found["ep_offset"]
    for name in EPISODE_LABELS:
        if name in found:
            return np.flatnonzero(np.diff(found[name], prepend=found[name][0] - 1))
    if "step_idx" in found:
        return np.flatnonzero(found["step_idx"] == 0)
    raise BadTrace(
        f"'{path}' does not say where episodes begin: it has none of ep_len, ep_offset, "
        f"{', '.join(EPISODE_LABELS)}, step_idx."
    )


def _check_agreement(found: dict[str, np.ndarray], path: Path, lengths: np.ndarray) -> None:
    starts = np.cumsum(lengths) - lengths
    if "ep_offset" in found and not np.array_equal(found["ep_offset"], starts):
        raise BadTrace(
            f"'{path}': 'ep_offset' does not follow from the episode lengths; episodes must lie one after another."
        )
    for name in EPISODE_LABELS:
        if name in found and not np.array_equal(found[name], np.repeat(found[name][starts], lengths)):
            raise BadTrace(f"'{path}': '{name}' changes within an episode.")
    if "step_idx" in found and not np.array_equal(
        found["step_idx"], np.arange(lengths.sum()) - np.repeat(starts, lengths)
    ):
        raise BadTrace(f"'{path}': 'step_idx' does not count up from 0 in every episode.")


def _index_column(file: h5py.File, path: Path, name: str) -> np.ndarray:
    dataset = column_dataset(file, path, name)
    if dataset.dtype.kind not in "iu" or dataset.size == 0:
        raise BadTrace(f"'{path}': '{name}' must hold whole numbers, at least one.")
    return np.asarray(dataset[()]).reshape(-1).astype(np.int64)


def has_columns(file: h5py.File, columns: tuple[Column, ...]) -> bool:
    """Whether a file has all of these that it must have."""
    return all(column.name in file or column.optional for column in columns)


def read_columns(file: h5py.File, path: Path, columns: tuple[Column, ...]) -> dict[str, Float[np.ndarray, "T W"]]:
    """These columns and no others, with the widths the domain expects; an optional one may be absent."""
    return {
        column.name: _read_column(file, path, column)
        for column in columns
        if column.name in file or not column.optional
    }


def _read_column(file: h5py.File, path: Path, column: Column) -> np.ndarray:
    dataset = column_dataset(file, path, column.name)
    width = int(np.prod(dataset.shape[1:]))
    if dataset.dtype.kind not in "fiu" or width != column.width:
        raise BadTrace(
            f"'{path}': '{column.name}' has {width} values of type {dataset.dtype} a row where this "
            f"domain has {column.width} numbers; "
            "is it a file of another domain?"
        )
    return dataset[()].reshape(-1, width).astype(np.float64)


def column_dataset(file: h5py.File, path: Path, name: str) -> h5py.Dataset:
    found = file.get(name)
    if not isinstance(found, h5py.Dataset) or not found.shape:
        raise BadTrace(f"'{path}' has no column '{name}'; its columns are {', '.join(_names(file)) or 'none'}.")
    if found.external or found.is_virtual:
        raise BadTrace(f"'{path}': '{name}' lies in another file; a trace file holds all its columns itself.")
    size = found.dtype.itemsize * math.prod(found.shape)
    if size > max(ALWAYS_FINE, MOST_PACKED * found.id.get_storage_size()):
        raise BadTrace(
            f"'{path}': '{name}' says that it has the shape {found.shape}, but the file holds hardly any of it."
        )
    if name != PIXELS:  # they are read one by one
        count = max(math.prod(found.shape), math.prod(found.chunks or ()))
        check_unpacked(path, as_floats(count, found.dtype.itemsize))
    return found


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """An HDF5 file to read, refused where a link of it leads into another file."""
    with h5py.File(path) as file:
        outward = h5py.h5l.TYPE_EXTERNAL  # pyright: ignore[reportAttributeAccessIssue]
        away = file.id.links.visit(lambda name, link: name if link.type >= outward else None, info=True)
        if away is not None:
            name = away.decode("utf-8", "replace")
            raise BadTrace(f"'{path}': '{name}' lies in another file; a trace file holds all its columns itself.")
        yield file


def _names(file: h5py.File) -> list[str]:
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def check_finite(path: Path, name: str, values: np.ndarray, lengths: np.ndarray) -> None:
    """Every value is a number that can be calculated with; the first that is not is named by episode and step."""
    rows = np.flatnonzero(~(np.abs(values) < LARGEST).all(axis=-1))
    if rows.size:
        starts = np.cumsum(lengths) - lengths
        episode = int(np.searchsorted(starts, rows[0], side="right")) - 1
        wrong = f"larger than {LARGEST:g}" if np.isfinite(values[rows[0]]).all() else "not finite"
        raise BadTrace(
            f"'{path}': the {name} in row {rows[0]} (episode {episode}, step {rows[0] - starts[episode]}) is {wrong}."
        )


def read_traces(path: Path, domain: Domain) -> Traces:
    """The episodes of a file, or `BadTrace` with what is wrong with it;
    pictures stay in the file until someone asks.
    """
    try:
        if not path.is_file():
            raise BadTrace(f"There is no file '{path}'.")
        if not h5py.is_hdf5(path):
            raise BadTrace(f"'{path}' is not an HDF5 file; a trace file is HDF5 in the LeWM layout.")
        with opened(path) as file:
            return _read(file, path, domain)
    except VpwError:
        raise
    except Exception as error:  # there is no list of what h5py raises on a damaged file
        raise BadTrace(
            f"'{path}' can not be read; it is damaged, cut short or not for us to open ({_first_line(error)})."
        ) from error


def _read(file: h5py.File, path: Path, domain: Domain) -> Traces:
    recorded = _attribute(file, path, "domain", str, domain.name)
    if recorded != domain.name:
        raise BadTrace(f"'{path}' was collected in the domain '{recorded}', not in '{domain.name}'.")
    constants = _constants(file, path, domain)
    layout = domain.of(constants).layout
    actions = read_columns(file, path, (layout.action,))[layout.action.name]
    if len(actions) == 0:
        raise BadTrace(f"'{path}' is empty: it holds no step at all.")
    lengths = episode_lengths(file, path, len(actions))
    engine_states = layout.join_engine_state(read_columns(file, path, layout.engine_state))
    if has_columns(file, layout.state):
        states = layout.join_state(read_columns(file, path, layout.state))
    else:
        states = _observed(engine_states, domain, constants)
    for name, values in (("state", states), ("engine state", engine_states)):
        if len(values) != len(actions):
            raise BadTrace(
                f"'{path}': its columns differ in length, {len(values)} rows of {name} but {len(actions)} of 'action'."
            )
        check_finite(path, name, values, lengths)
    ends = np.cumsum(lengths)
    # Upstream may write NaN where an episode is over; nothing follows from that action, so it reads as no action.
    unused = ends - 1
    actions[unused] = np.nan_to_num(actions[unused], nan=0.0, posinf=np.inf, neginf=-np.inf)
    check_finite(path, "action", actions, lengths)
    frames = _has_frames(file, path, len(actions))
    episodes = tuple(
        Episode(
            index=i,
            observations=states[start:end],
            engine_states=engine_states[start:end],
            actions=actions[start : end - 1],
            frames=FramesInFile(path, PIXELS, int(start), int(end - start)) if frames else None,
        )
        for i, (start, end) in enumerate(zip(ends - lengths, ends, strict=True))
    )
    return Traces(path, domain.name, constants, episodes, _attribute(file, path, "seed", int, None))


def _attribute(file: h5py.File, path: Path, name: str, kind: type, default: Any) -> Any:
    """What the file says of itself, if it is of the kind that it must be."""
    value = file.attrs.get(name)
    if isinstance(value, h5py.Empty) or value is None:
        return default
    value = value.item() if isinstance(value, (np.generic, np.ndarray)) and np.size(value) == 1 else value
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadTrace(
            f"'{path}': its '{name}' must be {'a text' if kind is str else 'a whole number'}, not {_shortened(value)}."
        )
    return value


def _shortened(value: object) -> str:
    said = " ".join(repr(value).split())
    return said if len(said) < 60 else f"{said[:57]}..."


def _constants(file: h5py.File, path: Path, domain: Domain) -> Constants:
    """The constants the file says it was collected with; the nominal ones where it does not say."""
    try:
        found = from_json(_attribute(file, path, "constants", str, "{}"))
        if not isinstance(found, dict):
            raise ValueError(f"not names with values, but {_shortened(found)}")
        return domain.constants.varied(found)
    except (ValueError, VpwError) as error:
        raise BadTrace(
            f"'{path}': its 'constants' are not those of '{domain.name}' ({str(error).rstrip('.')})."
        ) from error


def _observed(engine_states: np.ndarray, domain: Domain, constants: Constants) -> np.ndarray:
    """What an observer reads in each engine state, for files that leave it out."""
    simulator = domain.simulator(constants)
    states = []
    for engine_state in engine_states:
        simulator.set_engine_state(engine_state)
        states.append(simulator.get_state())
    return np.array(states)


def _has_frames(file: h5py.File, path: Path, num_rows: int) -> bool:
    """Whether there are pictures; they must be those of the rows."""
    if PIXELS not in file:
        return False
    shape, dtype = (num_rows, FRAME_SIZE_PX, FRAME_SIZE_PX, 3), np.dtype(np.uint8)
    found = column_dataset(file, path, PIXELS)
    if (found.shape, found.dtype) != (shape, dtype):
        raise BadTrace(
            f"'{path}': '{PIXELS}' has the shape {found.shape} of type {found.dtype} where {shape} of "
            f"{dtype} are needed."
        )
    return True


def _first_line(error: Exception) -> str:
    return (str(error).strip("'\"") or type(error).__name__).splitlines()[0]


CHUNK_ROWS = 1024


def write_traces(
    path: Path, episodes: Iterable[Episode], layout: TraceLayout, *, domain: str, constants: Constants, seed: int | None
) -> int:
    """Write episodes as they come and say how many rows they have; the file appears only when the last one is in."""
    lengths: list[int] = []
    with writing(path) as aside, _patient(aside) as disk:
        with h5py.File(disk, "w") as file:
            file.attrs["domain"] = domain
            if seed is not None:
                file.attrs["seed"] = seed
            file.attrs["vpw_version"] = __version__
            file.attrs["constants"] = json.dumps(dataclasses.asdict(constants))
            for episode in episodes:
                _append(file, _columns(episode, layout), disk)
                lengths.append(episode.num_rows)
            file["ep_len"] = np.array(lengths, dtype=np.int32)
            file["ep_offset"] = np.cumsum(lengths) - np.array(lengths, dtype=np.int64)
        disk.raise_failure()
    return sum(lengths)


class _PatientFile(io.FileIO):
    """A file that keeps a failure to itself until asked, because HDF5 takes the
    process down when a write fails under it.
    """

    failure: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Keep the first failure."""
        self.failure = self.failure or error

    def raise_failure(self) -> None:
        if self.failure is not None:
            raise self.failure

    def write(self, data: Any) -> int:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.fail(error)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.fail(error)
            return self.tell() if size is None else size


@contextmanager
def _patient(path: Path) -> Iterator[_PatientFile]:
    """A patient file for which Ctrl-C is one more failure:
    raised in the middle of a write it would be one to HDF5, too.
    """
    with _PatientFile(path, "w+") as disk:
        previous = signal.getsignal(signal.SIGINT)
        if not callable(previous) or threading.current_thread() is not threading.main_thread():
            yield disk
            return
        signal.signal(signal.SIGINT, lambda *_: disk.fail(KeyboardInterrupt()))
        try:
            yield disk
        finally:
            signal.signal(signal.SIGINT, previous)


def _columns(episode: Episode, layout: TraceLayout) -> dict[str, np.ndarray]:
    columns = layout.split(episode.engine_states, episode.observations)
    # Nothing follows from the last row's action.
    actions = np.concatenate([episode.actions, np.zeros((1, layout.action.width))])
    columns[layout.action.name] = actions.astype(layout.action.dtype)
    columns["ep_idx"] = np.full(episode.num_rows, episode.index, dtype=np.int64)
    columns["step_idx"] = np.arange(episode.num_rows, dtype=np.int64)
    if episode.frames is not None:
        columns[PIXELS] = episode.frames[:]
    return columns


def _append(file: h5py.File, columns: dict[str, np.ndarray], disk: _PatientFile) -> None:
    for name, values in columns.items():
        if name not in file:
            # A picture is a chunk of its own, so that reading one does not unpack its neighbours.
            rows = 1 if name == PIXELS else CHUNK_ROWS
            shape = values.shape[1:]
            file.create_dataset(
                name, (0, *shape), values.dtype, chunks=(rows, *shape), maxshape=(None, *shape), **hdf5plugin.Blosc()
            )
        dataset = file[name]
        assert isinstance(dataset, h5py.Dataset)
        dataset.resize(len(dataset) + len(values), axis=0)
        dataset[len(dataset) - len(values) :] = values
        disk.raise_failure()
