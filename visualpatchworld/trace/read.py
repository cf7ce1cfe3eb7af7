"""Reading traces as users have them: LeWM files, Blosc-compressed, with either episode column, checked before anyone relies on them."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401  registers Blosc with HDF5
import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.columns import check_finite, episode_lengths, has_columns, read_columns
from visualpatchworld.trace.episode import Episode, FramesInFile, Traces

PIXELS = "pixels"


def read_traces(path: Path, domain: Domain) -> Traces:
    """The episodes of a file, or `BadTrace` with what is wrong with it; pictures stay in the file until someone asks."""
    if not path.is_file():
        raise BadTrace(f"There is no file '{path}'.")
    try:
        if not h5py.is_hdf5(path):
            raise BadTrace(f"'{path}' is not an HDF5 file; a trace file is HDF5 in the LeWM layout.")
        with h5py.File(path) as file:
            return _read(file, path, domain)
    except (OSError, RuntimeError, KeyError) as error:  # what h5py raises on a damaged file
        raise BadTrace(f"'{path}' can not be read; it is damaged, cut short or not for us to open ({_first_line(error)}).") from error


def _read(file: h5py.File, path: Path, domain: Domain) -> Traces:
    recorded = file.attrs.get("domain", domain.name)
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
    episodes = tuple(
        Episode(i, states[start:end], engine_states[start:end], actions[start:end], _frames(file, path, start, end))
        for i, (start, end) in enumerate(zip(ends - lengths, ends, strict=True))
    )
    seed = file.attrs.get("seed")
    return Traces(path, domain.name, constants, episodes, None if seed is None else int(seed))


def _constants(file: h5py.File, path: Path, domain: Domain) -> Constants:
    """The constants the file says it was collected with; the nominal ones where it does not say."""
    try:
        return domain.constants.varied(json.loads(file.attrs.get("constants", "{}")))
    except (ValueError, TypeError, VpwError) as error:
        raise BadTrace(f"'{path}': its 'constants' are not those of '{domain.name}' ({error}).") from error


def _observed(engine_states: np.ndarray, domain: Domain, constants: Constants) -> np.ndarray:
    """What an observer reads in each engine state, for files that leave it out."""
    simulator = domain.simulator(constants)
    states = []
    for engine_state in engine_states:
        simulator.set_state(engine_state)
        states.append(simulator.observe())
    return np.array(states)


def _frames(file: h5py.File, path: Path, start: int, end: int) -> FramesInFile | None:
    return FramesInFile(path, PIXELS, int(start), int(end - start)) if PIXELS in file else None


def _first_line(error: Exception) -> str:
    return str(error).strip("'\"").splitlines()[0]
