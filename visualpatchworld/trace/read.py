"""Reading traces as users have them: LeWM files, Blosc-compressed, with either episode column, checked before anyone relies on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  registers Blosc with HDF5
import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants
from visualpatchworld.strict_json import from_json
from visualpatchworld.trace.columns import check_finite, column_dataset, episode_lengths, has_columns, read_columns
from visualpatchworld.trace.episode import Episode, FramesInFile, Traces

PIXELS = "pixels"


def read_traces(path: Path, domain: Domain) -> Traces:
    """The episodes of a file, or `BadTrace` with what is wrong with it; pictures stay in the file until someone asks."""
    try:
        if not path.is_file():
            raise BadTrace(f"There is no file '{path}'.")
        if not h5py.is_hdf5(path):
            raise BadTrace(f"'{path}' is not an HDF5 file; a trace file is HDF5 in the LeWM layout.")
        with h5py.File(path) as file:
            return _read(file, path, domain)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:  # what h5py raises on a damaged file
        raise BadTrace(f"'{path}' can not be read; it is damaged, cut short or not for us to open ({_first_line(error)}).") from error


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
            raise BadTrace(f"'{path}': its columns differ in length, {len(values)} rows of {name} but {len(actions)} of 'action'.")
        check_finite(path, name, values, lengths)
    ends = np.cumsum(lengths)
    # Upstream may write NaN where an episode is over; nothing follows from that action, so it reads as no action.
    unused = ends - 1
    actions[unused] = np.nan_to_num(actions[unused], nan=0.0, posinf=np.inf, neginf=-np.inf)
    check_finite(path, "action", actions, lengths)
    frames = _has_frames(file, path, len(actions))
    episodes = tuple(
        Episode(
            i,
            states[start:end],
            engine_states[start:end],
            actions[start:end],
            FramesInFile(path, PIXELS, int(start), int(end - start)) if frames else None,
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
        raise BadTrace(f"'{path}': its '{name}' must be {'a text' if kind is str else 'a whole number'}, not {_shortened(value)}.")
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
        raise BadTrace(f"'{path}': its 'constants' are not those of '{domain.name}' ({str(error).rstrip('.')}).") from error


def _observed(engine_states: np.ndarray, domain: Domain, constants: Constants) -> np.ndarray:
    """What an observer reads in each engine state, for files that leave it out."""
    simulator = domain.simulator(constants)
    states = []
    for engine_state in engine_states:
        simulator.set_state(engine_state)
        states.append(simulator.observe())
    return np.array(states)


def _has_frames(file: h5py.File, path: Path, num_rows: int) -> bool:
    """Whether there are pictures; they must be those of the rows."""
    if PIXELS not in file:
        return False
    shape, dtype = (num_rows, FRAME_SIZE_PX, FRAME_SIZE_PX, 3), np.dtype(np.uint8)
    found = column_dataset(file, path, PIXELS)
    if (found.shape, found.dtype) != (shape, dtype):
        raise BadTrace(f"'{path}': '{PIXELS}' has the shape {found.shape} of type {found.dtype} where {shape} of {dtype} are needed.")
    return True


def _first_line(error: Exception) -> str:
    return str(error).strip("'\"").splitlines()[0]
