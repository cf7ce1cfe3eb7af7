"""Which columns of a trace file make up a domain's engine state and its observed state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Column:
    """A named column of a trace file; a slash in the name is a group, as LeWM files have it.

    An optional column reads as zeros where a file does not have it.
    """

    name: str
    width: int
    dtype: str = "float64"
    optional: bool = False


@dataclass(frozen=True)
class TraceLayout:
    """The columns whose concatenation is the engine state (E), and those whose concatenation is the observed state (S)."""

    engine_state: tuple[Column, ...]
    state: tuple[Column, ...]
    action: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column once."""
        return tuple({column.name: column for column in (*self.engine_state, *self.state, self.action)}.values())

    def split(self, engine_state: Float[np.ndarray, "T E"], state: Float[np.ndarray, "T S"]) -> dict[str, np.ndarray]:
        """The columns that hold these vectors."""
        return {**_split(self.state, state), **_split(self.engine_state, engine_state)}

    def join_state(self, columns: Mapping[str, np.ndarray]) -> Float[np.ndarray, "T S"]:
        """The observed states that these columns hold."""
        return _join(self.state, columns)

    def join_engine_state(self, columns: Mapping[str, np.ndarray]) -> Float[np.ndarray, "T E"]:
        """The engine states that these columns hold."""
        return _join(self.engine_state, columns)


def _split(columns: tuple[Column, ...], values: np.ndarray) -> dict[str, np.ndarray]:
    ends = np.cumsum([column.width for column in columns])
    parts = np.split(values, ends[:-1], axis=-1)
    return {column.name: part.astype(column.dtype) for column, part in zip(columns, parts, strict=True)}


def _join(columns: tuple[Column, ...], values: Mapping[str, np.ndarray]) -> np.ndarray:
    num_rows = next(len(values[column.name]) for column in columns if column.name in values)
    parts = [_rows(column, values, num_rows) for column in columns]
    return np.concatenate(parts, axis=-1)


def _rows(column: Column, values: Mapping[str, np.ndarray], num_rows: int) -> np.ndarray:
    if column.optional and column.name not in values:
        return np.zeros((num_rows, column.width))
    return np.asarray(values[column.name], dtype=np.float64).reshape(-1, column.width)
