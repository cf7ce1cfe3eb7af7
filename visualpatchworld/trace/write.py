"""Episodes to files: HDF5 as they come, and transition records of scene graphs as lines of JSON."""

from __future__ import annotations

import dataclasses
import io
import json
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld import __version__
from visualpatchworld.errors import BadTrace
from visualpatchworld.extras import h5py, hdf5plugin
from visualpatchworld.files import to_json, writing
from visualpatchworld.scene.extractor import Extractor, Moment
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode, Traces
from visualpatchworld.trace.layout import TraceLayout
from visualpatchworld.trace.read import PIXELS

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
    """A file that keeps a failure to itself until asked, because HDF5 takes the process down when a write fails under it."""

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
    """A patient file for which Ctrl-C is one more failure: raised in the middle of a write it would be one to HDF5, too."""
    with _PatientFile(path, "w+") as disk:
        previous = signal.getsignal(signal.SIGINT)
        if previous is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
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
            file.create_dataset(name, (0, *shape), values.dtype, chunks=(rows, *shape), maxshape=(None, *shape), **hdf5plugin.Blosc())
        dataset = file[name]
        assert isinstance(dataset, h5py.Dataset)
        dataset.resize(len(dataset) + len(values), axis=0)
        dataset[len(dataset) - len(values) :] = values
        disk.raise_failure()


RECENT_FRAMES = 4  # from which velocities are read


def export(traces: Traces, extractor: Extractor, *, view: str, stride: int) -> Iterator[str]:
    """One line per episode; a macro-action is exactly the `stride` raw actions between its two graphs."""
    for episode in traces.episodes:
        yield to_json(_record(traces, episode, extractor, view, stride)) + "\n"


def moment_of(traces: Traces, episode: Episode, step: int, extractor: Extractor) -> Moment:
    """A recorded moment with what an extractor needs of it: its state, or its picture and the few before."""
    if extractor.sees == "state":
        return Moment(state=episode.observations[step], step=step)
    if episode.frames is None:
        raise BadTrace(f"'{traces.path}' holds no pictures; collect it with --pixels.")
    first = max(step - RECENT_FRAMES + 1, 0)
    return Moment(episode.frames[first : step + 1], episode.actions[first:step], step=step)


def _record(traces: Traces, episode: Episode, extractor: Extractor, view: str, stride: int) -> dict[str, Any]:
    steps = range(0, episode.num_rows, stride)
    graphs = {step: extractor.extract(moment_of(traces, episode, step, extractor)).data() for step in steps}
    transitions = [
        {"t": t, "before": graphs[t], "action": episode.actions[t : t + stride].tolist(), "after": graphs[t + stride]}
        for t in steps
        if t + stride < episode.num_rows
    ]
    return {"domain": traces.domain, "episode": episode.index, "view": view, "stride": stride, "transitions": transitions}
