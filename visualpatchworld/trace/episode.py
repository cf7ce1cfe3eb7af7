"""Episodes as values: states, engine states and actions in memory, pictures only when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadTrace
from visualpatchworld.simulator import Constants


@dataclass(frozen=True)
class FramesInFile:
    """The pictures of one episode, left in their file; `frames[t]` or `frames[a:b]` reads just those."""

    path: Path
    column: str
    offset: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, steps: int | slice) -> UInt8[np.ndarray, "*T 224 224 3"]:
        rows = range(self.offset, self.offset + self.count)[steps]
        where = rows if isinstance(rows, int) else slice(rows.start, rows.stop, rows.step)
        try:
            with h5py.File(self.path) as file:
                return file[self.column][where]  # pyright: ignore[reportIndexIssue, reportReturnType]
        except OSError as error:
            raise BadTrace(f"'{self.path}': the pictures of rows {rows} can not be read; the file is damaged.") from error


@dataclass(frozen=True)
class Episode:
    """One episode; row t holds the state before action t, and the last row's action has no recorded effect."""

    index: int
    states: Float[np.ndarray, "T S"]
    engine_states: Float[np.ndarray, "T E"]
    actions: Float[np.ndarray, "T A"]
    frames: UInt8[np.ndarray, "T 224 224 3"] | FramesInFile | None = None

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        pictures = "" if self.frames is None else ", with pictures"
        return f"<Episode {self.index}: {len(self)} rows{pictures}>"


@dataclass(frozen=True)
class Traces:
    """Episodes of one collection, and the constants of the simulator they came from."""

    path: Path | None  # the file they were read from
    domain: str
    constants: Constants
    episodes: tuple[Episode, ...]
    seed: int | None = None

    def __repr__(self) -> str:
        pictures = " with pictures" if any(episode.frames is not None for episode in self.episodes) else ""
        place = "" if self.path is None else f", from {self.path}"
        return f"<Traces of {self.domain}: {len(self.episodes)} episodes{pictures}, {self.num_rows} rows{place}>"

    @property
    def num_rows(self) -> int:
        return sum(len(episode) for episode in self.episodes)

    def locate(self, row: int) -> tuple[Episode, int]:
        """The episode and the step within it that a row of the file is."""
        if not 0 <= row < self.num_rows:
            raise BadTrace(f"'{self.path or self.domain}' has the rows 0 to {self.num_rows - 1}, not {row}.")
        ends = np.cumsum([len(episode) for episode in self.episodes])
        position = int(np.searchsorted(ends, row, side="right"))
        episode = self.episodes[position]
        return episode, row - int(ends[position]) + len(episode)
