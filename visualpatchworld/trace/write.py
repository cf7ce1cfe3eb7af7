"""Writing traces in the LeWM layout, episode by episode, so that pictures need not fit into memory."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np

from visualpatchworld import __version__
from visualpatchworld.errors import BadTrace
from visualpatchworld.output import writing
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode
from visualpatchworld.trace.layout import TraceLayout
from visualpatchworld.trace.read import PIXELS

CHUNK_ROWS = 1024


def write_traces(path: Path, episodes: Iterable[Episode], layout: TraceLayout, *, domain: str, constants: Constants, seed: int) -> int:
    """Write episodes as they come and say how many rows they have; the file appears only when the last one is in."""
    lengths: list[int] = []
    with writing(path) as aside, h5py.File(aside, "w") as file:
        file.attrs["domain"] = domain
        file.attrs["seed"] = seed
        file.attrs["vpw_version"] = __version__
        file.attrs["constants"] = json.dumps(dataclasses.asdict(constants))
        for episode in episodes:
            _append(file, _columns(episode, layout))
            lengths.append(len(episode))
        if not lengths:
            raise BadTrace("There is no episode to write.")
        file["ep_len"] = np.array(lengths, dtype=np.int32)
        file["ep_offset"] = np.cumsum(lengths) - np.array(lengths, dtype=np.int64)
    return sum(lengths)


def _columns(episode: Episode, layout: TraceLayout) -> dict[str, np.ndarray]:
    columns = layout.split(episode.engine_states, episode.states)
    columns[layout.action.name] = episode.actions.astype(layout.action.dtype)
    columns["ep_idx"] = np.full(len(episode), episode.index, dtype=np.int64)
    columns["step_idx"] = np.arange(len(episode), dtype=np.int64)
    if episode.frames is not None:
        columns[PIXELS] = episode.frames[:]
    return columns


def _append(file: h5py.File, columns: dict[str, np.ndarray]) -> None:
    for name, values in columns.items():
        if name not in file:
            # A picture is a chunk of its own, so that reading one does not unpack its neighbours.
            rows = 1 if name == PIXELS else CHUNK_ROWS
            shape = values.shape[1:]
            file.create_dataset(name, (0, *shape), values.dtype, chunks=(rows, *shape), maxshape=(None, *shape), **hdf5plugin.Blosc())
        dataset = file[name]
        assert isinstance(dataset, h5py.Dataset)
        dataset.resize(len(dataset) + len(values), axis=0)
        dataset[len(dataset) - len(values) :] = values
