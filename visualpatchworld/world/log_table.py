"""Logs that are tables, one row per step: CSV, Parquet, the folders of LeRobot, or columns in memory."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld.errors import BadTrace, UnknownName, printable
from visualpatchworld.extras import pyarrow
from visualpatchworld.files import as_floats, check_unpacked, from_json, read_bytes, read_text, unpacking
from visualpatchworld.program.quoting import python_names
from visualpatchworld.world.log import MOST_CHOICES, Curve, Recording
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import numbered

_EPISODE = (
    "episode",
    "episode_id",
    "episode_index",
    "episode_idx",
    "ep",
    "ep_idx",
    "trajectory",
    "traj",
    "run",
    "trial",
    "batch",
    "rollout",
    "session",
    "trip",
)
_TIME = ("time", "t", "timestamp", "seconds", "time_s", "time_sec", "t_s", "elapsed")
_COUNTER = ("step", "step_idx", "frame_index", "index", "row", "unnamed_0")
_REWARD = ("reward", "rewards", "next_reward")
_TERMINATED = ("terminated", "terminal", "termination")
_OTHER_ENDS = ("done", "next_done", "truncated", "timeout")
_ACTION = re.compile(r"^((actions?|inputs?|controls?|commands?|cmd)([_.\[]?\d+\]?|[_. ].*)?|[au]([_.\[]?\d+\]?)?)$")
_UNIT = re.compile(r"\s*[(\[]\s*(s|sec|seconds|ms|min|h|-)?\s*[)\]]\s*$", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"^(\s*[-+]?\d*),(\d+(?:[eE][-+]?\d+)?\s*)$")
BYTE = 255
PIXELS = 8  # columns of bytes that make an image
UNEVEN = 0.05  # of the time step: what times of most rows may differ by
GAP = 1.5  # a row that comes so many time steps late follows a gap


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what; what is not said is guessed where the names leave no doubt.

    Example: `vpw.induce("machine.csv", columns=vpw.Columns(action="voltage", dt=0.01))`
    """

    action: str | Sequence[str] | None = None  # empty: nothing was done
    state: str | Sequence[str] | None = None
    episode: str | None = None
    dt: float | None = None  # s

    def __post_init__(self):
        for field in ("action", "state"):
            if isinstance(name := getattr(self, field), str):
                object.__setattr__(self, field, (name,))


def read_csv(path: Path, columns: Columns = Columns()) -> Recording:
    """The recording in a text table; separator and header are found by looking."""
    text = read_text(Path(path), "table", BadTrace).removeprefix("\ufeff")
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count) if any(mark in first for mark in ",;\t") else ","
    check_unpacked(path, as_floats(text.count(separator) + text.count("\n")))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error as error:
        raise BadTrace(f"'{path}' can not be read as a table: {error}.") from None
    if not rows:
        raise BadTrace(f"'{path}' is empty.")
    names = [cell.strip() for cell in rows[0]]
    if all(_number(cell) is not None for cell in names):
        names = [f"c{i}" for i in range(len(names))]
    else:
        rows = rows[1:]
    if len(set(names)) < len(names):
        raise BadTrace(f"'{path}' has two columns of one name.")
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(names)), None)
    if wrong is not None:
        raise BadTrace(f"'{path}': row {wrong + 1} has {len(rows[wrong])} cells where there are {len(names)} columns.")
    cells = list(zip(*rows, strict=True)) or [()] * len(names)
    if separator == ";":
        cells = [[_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in column] for column in cells]
    return recording_of_table(
        {name: _column(list(column)) for name, column in zip(names, cells, strict=True)}, str(path), columns
    )


def read_parquet(path: Path, columns: Columns = Columns()) -> Recording:
    """The recording in a Parquet table; a column of lists is as many columns as a list has numbers."""
    return recording_of_table(parquet_columns(path), str(path), columns)


def parquet_columns(path: Path) -> dict[str, np.ndarray]:
    """The columns of a Parquet file that hold numbers or labels; others, pictures among them, stay packed."""
    if not path.is_file():
        raise BadTrace(f"There is no file '{path}'.")
    found: dict[str, np.ndarray] = {}
    with unpacking(path, "a Parquet file"):
        # A text is stored once and may be named by millions of rows, so it is read once, too.
        labels = [field.name for field in pyarrow.parquet.read_schema(path) if _is_text(field.type)]
        with pyarrow.parquet.ParquetFile(path, read_dictionary=labels) as file:
            _check_parquet(path, file.metadata)
            names = [field.name for field in file.schema_arrow if not _is_opaque(field.type)]
            table = file.read(columns=names)
        for name in names:
            values = _cells(table.column(name))
            lists = bool(values) and isinstance(values[0], (list, tuple))
            if lists and len({len(value) if value is not None else -1 for value in values}) == 1:
                array = np.array(values, dtype=np.float64)
                found |= {f"{name}_{i}": array[:, i] for i in range(array.shape[1])} if array.ndim == 2 else {}
            elif not lists:
                found[name] = _column(["" if value is None else str(value) for value in values])
    return found


def _check_parquet(path: Path, about: pyarrow.parquet.FileMetaData) -> None:
    """Refuse a table that says it holds more than is read."""
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    check_unpacked(path, as_floats(max(values, about.num_rows)))


def _is_text(kind: pyarrow.DataType) -> bool:
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)


def _is_opaque(kind: pyarrow.DataType) -> bool:
    """Whether values of a type are neither numbers nor labels nor lists of numbers."""
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind):
        kind = kind.value_type
        return not (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind))
    binary = pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind)
    return binary or pyarrow.types.is_fixed_size_binary(kind) or pyarrow.types.is_nested(kind)


def _cells(column: pyarrow.ChunkedArray) -> list[Any]:
    if not pyarrow.types.is_dictionary(column.type):
        return column.to_pylist()
    cells: list[Any] = []
    for chunk in column.chunks:
        words = [*chunk.dictionary.to_pylist(), None]
        cells += [words[-1 if i is None else i] for i in chunk.indices.to_pylist()]
    return cells


def _meant(columns: Columns, table: Mapping[str, Any]) -> Columns:
    """The columns by their full names: nobody types the unit in `Heater [kW]`."""

    def full(name: str) -> str:
        alike = [key for key in table if name in (re.split(r"\s*[\[(]", key)[0], *python_names([key]))]
        if name not in table and len(alike) != 1:
            raise UnknownName("column", name, table)
        return name if name in table else alike[0]

    action, state = (None if names is None else tuple(map(full, names)) for names in (columns.action, columns.state))
    return replace(columns, action=action, state=state, episode=full(columns.episode) if columns.episode else None)


def recording_of_table(table: Mapping[str, Any], name: str, columns: Columns = Columns()) -> Recording:
    """The recording in named columns: row t holds the state before
    action t, and the last row's action led nowhere that was seen.
    """
    table = {str(key): np.asarray(values) for key, values in table.items()}
    if not max((len(values) for values in table.values()), default=0):
        raise BadTrace(f"{name} has no rows, only the names of columns: {', '.join(table)}.")
    columns = _meant(columns, table)
    episode = columns.episode or _only(table, _EPISODE)
    time, counter, reward, terminated = (_only(table, names) for names in (_TIME, _COUNTER, _REWARD, _TERMINATED))
    if time == "T" and _falls(table[time]):
        time = None  # a temperature
    if time is not None or counter is not None:
        table = _once(table)
    if episode is None and time is not None:
        episode = _begun_anew(table, time)
    ends = {key for key in table if key.lower() in (*_OTHER_ENDS, *_TERMINATED, *_REWARD)}
    free = [key for key in table if key not in {episode, time, counter} | ends and table[key].dtype.kind == "f"]
    if not free:
        raise BadTrace(f"{name} has no column of numbers; there are {', '.join(table)}.")
    told = [key for key in table if key not in {episode, time, counter} | ends and _ACTION.match(key.lower())]
    action = list(columns.action) if columns.action is not None else told
    labels = {key: _labels(table[key], key, name) for key in action if table[key].dtype.kind != "f"}
    table |= {key: _numbered(table[key], names) for key, names in labels.items()}
    if columns.action is None and not action and columns.state is None:
        raise BadTrace(
            f"{name}: which columns are actions? Say --action COL,COL (or --action none), in Python "
            f"columns=vpw.Columns(action=(...)); there are {', '.join(free)}."
        )
    state = list(columns.state) if columns.state is not None else [key for key in free if key not in action]
    if not state:
        raise BadTrace(f"{name} has no column left to be the state; there are {', '.join(table)}.")
    if columns.state is None:
        _refuse_pixels({key: table[key] for key in state}, name)
    for key in (*state, *action):
        if table[key].dtype.kind != "f":
            raise BadTrace(f"{name}: the column '{key}' holds text, not numbers.")
    rows = len(table[state[0]])
    starts = np.zeros(rows, bool)
    starts[:1] = True
    if episode is not None:
        starts[1:] |= table[episode][1:] != table[episode][:-1]
        if starts.sum() > len(np.unique(table[episode])):
            raise BadTrace(f"{name}: rows of one '{episode}' do not lie together; sort the table by it and by time.")
    dt, caution = columns.dt, ""
    whole = starts.copy()
    if time is not None and time not in (*state, *action) and table[time].dtype.kind == "f":
        found = _time_step(table[time], starts, time, name)
        caution = _unevenness(table[time], starts, found, time)
        dt = dt or found
    if (
        counter is not None
        and counter not in (*state, *action)
        and episode is not None
        and table[counter].dtype.kind == "f"
    ):
        _check_rising(table[counter], starts, counter, name)
    edges = [*np.flatnonzero(starts), rows]
    episodes = []
    for start, end in itertools.pairwise(edges):
        seen, done = (
            np.stack([table[key][start:end] for key in keys], -1) if keys else np.zeros((end - start, 0))
            for keys in (state, action)
        )
        rewards = table[reward][start : end - 1] if reward is not None and table[reward].dtype.kind == "f" else None
        # A last row without an action is what the last action led to, so that an end marked there or before was seen.
        seen_end = bool(action) and not np.isfinite(done[-1]).any()
        over = terminated is not None and seen_end and _truth(table[terminated][max(start, end - 2) : end])
        episodes.append(Trajectory(seen, done[:-1], rewards, over))
    choices = True if labels and len(labels) == len(action) else None
    curves = ()
    if time is not None and dt is not None and columns.dt is None and not action:
        curves = _curves(table[time], [table[key] for key in state], whole)
    return Recording(
        tuple(episodes),
        tuple(state),
        tuple(action),
        dt,
        choices,
        labels=tuple(labels.values()) if choices else (),
        caution=caution,
        curves=curves,
    )


def _curves(times: np.ndarray, fields: Sequence[np.ndarray], starts: np.ndarray) -> tuple[Curve, ...]:
    """Times and rows of each episode: without actions a gap is nothing but a longer time between two rows."""
    rows = np.stack(fields, -1)
    edges = [*np.flatnonzero(starts), len(rows)]
    return tuple((times[start:end], rows[start:end]) for start, end in itertools.pairwise(edges))


def _only(table: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The one column with the first of these names that there is, a
    unit of time behind it left out; none where several have it.
    """
    plain = {key: _UNIT.sub("", key).strip().lower().replace(".", "_") for key in table}
    for name in names:
        found = [key for key in table if plain[key] == name]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def _begun_anew(table: Mapping[str, np.ndarray], time: str) -> str | None:
    """The column that counts or names episodes, where there is one: it
    changes in exactly the rows in which time begins anew, and only rises.
    """
    anew = np.diff(table[time]) < 0 if table[time].dtype.kind == "f" else np.zeros(0, bool)
    for key, values in table.items() if anew.any() else ():
        rises = values.dtype.kind != "f" or bool((np.diff(values) >= 0).all() and (values == np.round(values)).all())
        if key != time and rises and np.array_equal(values[1:] != values[:-1], anew):
            return key
    return None


def _once(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The table without rows that repeat the one before in every column: recorders write some twice."""
    same = np.ones(max(len(next(iter(table.values()))) - 1, 0), bool)
    for values in table.values():
        same &= (values[1:] == values[:-1]) | ((values[1:] != values[1:]) & (values[:-1] != values[:-1]))
    kept = np.concatenate([[True], ~same])[: len(same) + 1]
    return {key: values[kept] for key, values in table.items()}


def _labels(values: np.ndarray, key: str, name: str) -> tuple[str, ...]:
    """What a column of words may say, in the order of the alphabet; too many different words are no choices."""
    found = tuple(str(word) for word in np.unique(values) if str(word).strip())
    if len(found) > MOST_CHOICES:
        raise BadTrace(
            f"{name}: the action '{key}' holds {len(found)} different texts, where choices are at most {MOST_CHOICES}."
        )
    return found


def _numbered(values: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    return np.array([labels.index(str(word)) if str(word) in labels else np.nan for word in values], float)


def _refuse_pixels(columns: Mapping[str, np.ndarray], name: str) -> None:
    """Many columns of one name and a number, all of whole numbers
    of a byte, are an image, and no law is found of its pixels.
    """
    stems: dict[str, list[str]] = {}
    for key, values in columns.items():
        known = values[np.isfinite(values)]
        if (
            key[-1:].isdigit()
            and len(known)
            and (known == np.round(known)).all()
            and known.min() >= 0
            and known.max() <= BYTE
        ):
            stems.setdefault(key.rstrip("0123456789_.[]"), []).append(key)
    for keys in stems.values():
        if len(keys) >= PIXELS and max(np.nanmax(columns[key]) for key in keys) > BYTE // 2:
            others = [key for key in columns if key not in keys] or ["COL"]
            raise BadTrace(
                f"{name}: {keys[0]} to {keys[-1]} look like pixels, of which no law is searched for; say "
                f"--state {','.join(others[:6])}."
            )


def _falls(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool(np.mean(np.diff(values) < 0) > 0.1)


def _time_step(times: np.ndarray, starts: np.ndarray, key: str, name: str) -> float | None:
    """The time between rows; a late row begins a new episode in `starts`, and time that runs backwards is refused."""
    _check_rising(times, starts, key, name)
    between = np.diff(times)
    inside = between[~starts[1:]]
    if not len(inside):
        return None
    dt = _short(float(np.median(inside)), float(np.abs(times).max()))
    starts[1:] |= between > GAP * dt
    return dt


def _unevenness(times: np.ndarray, starts: np.ndarray, dt: float | None, key: str) -> str:
    """A sentence on times between rows that differ by more than rounding would make them; else nothing."""
    between = np.diff(times)[~starts[1:]]
    if dt is None or not len(between) or np.median(np.abs(between - dt)) <= UNEVEN * dt:
        return ""
    low, high = np.quantile(between, [0.05, 0.95])
    return (
        f"'{printable(key)}' is uneven: {low:.2g} to {high:.2g} pass between rows, and every step is taken as {dt:.2g}"
    )


def _short(dt: float, latest: float) -> float:
    """The shortest number that differences of times as large as the latest one can not tell from it."""
    slack = 4 * np.finfo(float).eps * latest
    return next((short for digits in range(1, 16) if abs((short := float(f"{dt:.{digits}g}")) - dt) <= slack), dt)


def _check_rising(values: np.ndarray, starts: np.ndarray, key: str, name: str) -> None:
    back = np.flatnonzero((np.diff(values) <= 0) & ~starts[1:])
    if back.size:
        raise BadTrace(
            f"{name}: '{key}' does not rise from row {back[0]} to row {back[0] + 1}; say --episode COL "
            "if episodes begin anew."
        )


def _truth(values: np.ndarray) -> bool:
    return (
        bool((values.astype(float) > 0).any())
        if values.dtype.kind in "fib"
        else any(str(value).lower() in ("true", "yes") for value in values)
    )


def _column(cells: list[str]) -> np.ndarray:
    """A column as numbers where all cells that are not empty are numbers or truth values, as labels otherwise."""
    truths = {"true": 1.0, "false": 0.0}
    numbers = [truths.get(cell.strip().lower(), _number(cell)) for cell in cells]
    # As objects, because an array of texts would give all cells the room of the longest.
    return np.array(cells, object) if any(value is None for value in numbers) else np.array(numbers, dtype=np.float64)


def _number(cell: str) -> float | None:
    if not cell.strip():
        return np.nan
    try:
        return float(cell)
    except ValueError:
        return None


INFO = Path("meta", "info.json")
_NUMBERS = ("float", "int", "bool")


def read_lerobot(folder: Path) -> Recording:
    """The recording in a LeRobot folder: all observations that are numbers, in the order of its features."""
    try:
        info = from_json(read_bytes(folder / INFO, "description", BadTrace))
        features: dict[str, Any] = {str(name): dict(about) for name, about in info["features"].items()}
        rate_hz = float(info["fps"])
        if not rate_hz > 0:
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadTrace(f"'{folder / INFO}' does not say its features and fps as LeRobot does.") from None
    files = sorted((folder / "data").rglob("*.parquet"))
    if not files:
        raise BadTrace(f"'{folder}' has no Parquet file under data/.")
    tables = [parquet_columns(file) for file in files]
    if any(part.keys() != tables[0].keys() for part in tables):
        raise BadTrace(f"'{folder}' has Parquet files with different columns.")
    table = {name: np.concatenate([part[name] for part in tables]) for name in tables[0]}
    for name in ("episode_index", "frame_index"):
        if name not in table or table[name].dtype.kind != "f":
            raise BadTrace(f"'{folder}' has no column '{name}' of numbers.")
    order = np.lexsort((table["frame_index"], table["episode_index"]))
    # Time runs at the rate that the folder tells; what is stored of it is rounded.
    table = {name: values[order] for name, values in table.items() if name != "timestamp"}
    groups = {"state": "observation", "action": "action"}
    columns = {kind: _columns(features, prefix, table) for kind, prefix in groups.items()}
    if not columns["state"]:
        raise BadTrace(f"'{folder}' has no observation of numbers; its features are {', '.join(features)}.")
    renamed = {new: table[old] for kind in columns for old, new in columns[kind].items()}
    renamed |= {name: table[name] for name in ("episode_index", "next.reward") if name in table}
    states, actions = (tuple(columns[kind].values()) for kind in groups)
    return recording_of_table(renamed, str(folder), Columns(actions, states, "episode_index", 1.0 / rate_hz))


def _columns(features: dict[str, Any], prefix: str, table: dict[str, np.ndarray]) -> dict[str, str]:
    """Columns of the table under a prefix, and the names that the features give them."""
    found = {}
    for feature, about in features.items():
        if feature.split(".")[0] != prefix or not str(about.get("dtype", "")).startswith(_NUMBERS):
            continue
        shape = about.get("shape") or [1]
        size = math.prod(shape) if isinstance(shape, list) and all(isinstance(n, int) for n in shape) else 0
        if feature not in table and not 0 < size <= len(table):
            raise BadTrace(f"The feature '{feature}' has no column of the shape {shape}.")
        stored = [feature] if feature in table else [f"{feature}_{i}" for i in range(size)]
        if any(name not in table for name in stored):
            raise BadTrace(f"The feature '{feature}' has no column of {size} numbers.")
        told = about.get("names")
        told = next(iter(told.values())) if isinstance(told, dict) and told else told
        short = feature.removeprefix(f"{prefix}.")
        plain = list(told) if isinstance(told, list) and len(told) == len(stored) else numbered(short, len(stored))
        for old, new in zip(stored, plain, strict=True):
            full = f"{'action_' if prefix == 'action' else ''}{new}"
            found[old] = old if full in found.values() else full  # two features may give one name
    return found
