"""Logs in HDF5: trace files of the LeWM layout, with or without a domain, and datasets of Minari."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.errors import BadTrace, UnknownName
from visualpatchworld.extras import h5py
from visualpatchworld.trace.file import EPISODE_LABELS, episode_lengths, read_traces
from visualpatchworld.world.log import Recording
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import identifier, numbered

_INDICES = ("ep_len", "ep_offset", "step_idx", *EPISODE_LABELS)
_STATES = ("state", "observation", "observations", "obs")
_MINARI_FILE = Path("data", "main_data.hdf5")


def read_hdf5(path: Path, state: tuple[str, ...] = ()) -> Recording:
    """The recording in a trace file; one of a domain says its state by
    itself, in others the columns called `state` and the like count.
    """
    try:
        with h5py.File(path) as file:
            domain = file.attrs.get("domain")
            if isinstance(domain, str) and domain in find_domains() and not state:
                return _of_domain(path, domain)
            if "episode_0" in file:
                return _minari(file, path, {})
            return _plain(file, path, state)
    except (OSError, RuntimeError) as error:  # what h5py raises on a damaged file
        raise BadTrace(f"'{path}' can not be read; it is damaged or not an HDF5 file.") from error


def _of_domain(path: Path, name: str) -> Recording:
    domain = load_domain(name)
    traces = read_traces(path, domain)
    return Recording(traces.episodes, domain.scene.state_space.names, choices=False)


def _plain(file: h5py.File, path: Path, state: tuple[str, ...]) -> Recording:
    action = next((name for name in ("action", "actions") if name in file), None)
    if action is None:
        raise BadTrace(f"'{path}' has no column 'action'; it has {', '.join(file)}.")
    done = _rows(file[action])
    lengths = episode_lengths(file, path, len(done))
    columns = list(state) or [name for name in _STATES if isinstance(file.get(name), h5py.Dataset)][:1]
    columns = columns or [name for name in ("qpos", "qvel") if "qpos" in file and name in file]
    for name in columns:
        if name not in file:
            raise UnknownName("column", name, [str(key) for key in file if key not in _INDICES])
    if not columns:
        found = ", ".join(str(key) for key in file if key not in (*_INDICES, action))
        raise BadTrace(f"'{path}': which columns are the state? Say --state COL,COL; there are {found}.")
    parts = [_rows(file[name]) for name in columns]
    if any(len(part) != len(done) for part in parts):
        raise BadTrace(f"'{path}': its columns differ in length.")
    names = tuple(one for name, part in zip(columns, parts, strict=True) for one in numbered(name, part.shape[1]))
    seen = np.concatenate(parts, axis=1)
    spans = zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True)
    rewards = np.asarray(file["reward"], dtype=float).reshape(-1) if "reward" in file else None
    episodes = [
        Trajectory(seen[a:b], done[a : b - 1], None if rewards is None else rewards[a : b - 1]) for a, b in spans
    ]
    return Recording(tuple(episodes), names)


def read_minari(place: str) -> Recording:
    """A Minari dataset, by its folder or by its id under Minari's own folder, read from its files."""
    root = Path(os.environ.get("MINARI_DATASETS_PATH", Path.home() / ".minari" / "datasets"))
    folder = next((one for one in (Path(place), root / place) if (one / _MINARI_FILE).is_file()), None)
    if folder is None:
        known = (
            sorted(str(found.parent.parent.relative_to(root)) for found in root.rglob(_MINARI_FILE.name))
            if root.is_dir()
            else []
        )
        raise BadTrace(f"There is no Minari dataset '{place}' here or in {root}; found: {', '.join(known) or 'none'}.")
    about = folder / "data" / "metadata.json"
    try:
        told = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
        with h5py.File(folder / _MINARI_FILE) as file:
            return _minari(file, folder, told)
    except (OSError, RuntimeError, ValueError) as error:
        raise BadTrace(f"The Minari dataset '{folder}' can not be read; it is damaged.") from error


def _minari(file: h5py.File, path: Path, told: dict[str, Any]) -> Recording:
    numbers = sorted(int(str(key).removeprefix("episode_")) for key in file if str(key).startswith("episode_"))
    episodes, names, whole = [], (), True
    for key in (f"episode_{number}" for number in numbers):
        group = file[key]
        assert isinstance(group, h5py.Group)
        if "observations" not in group or "actions" not in group:
            raise BadTrace(f"'{path}': '{key}' has no observations or no actions.")
        seen, names = _nested(group["observations"], "", path)
        done, _ = _nested(group["actions"], "a", path)
        actions = group["actions"]
        whole = whole and isinstance(actions, h5py.Dataset) and np.issubdtype(actions.dtype, np.integer)
        rewards = np.asarray(group["rewards"], dtype=float).reshape(-1) if "rewards" in group else None
        over = "terminations" in group and bool(np.asarray(group["terminations"]).any())
        episodes.append(Trajectory(seen, done, rewards, over))
    counts, bounds = _told_actions(told.get("action_space"))
    return Recording(tuple(episodes), names, choices=whole, counts=counts, bounds=bounds)


def _told_actions(space: Any) -> tuple[tuple[int, ...], tuple[tuple[float, ...], tuple[float, ...]] | None]:
    """Counts or bounds of actions from a serialised space; nothing where it is of another kind."""
    try:
        space = json.loads(space) if isinstance(space, str) else space or {}
        if space.get("type") == "Discrete":
            return (int(space["n"]),), None
        low, high = (np.asarray(space[side], dtype=float).reshape(-1) for side in ("low", "high"))
        return (), (tuple(low.tolist()), tuple(high.tolist())) if np.isfinite([*low, *high]).all() else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return (), None


def _nested(item: Any, name: str, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """An array, or arrays under names, side by side."""
    if isinstance(item, h5py.Group):
        parts = [_nested(item[key], f"{name}_{identifier(str(key))}".strip("_"), path) for key in item]
        if not parts:
            raise BadTrace(f"'{path}': an observation is empty.")
        return np.concatenate([values for values, _ in parts], axis=1), tuple(
            one for _, names in parts for one in names
        )
    values = np.asarray(item)
    if values.dtype.kind not in "fiub" or values.ndim > 3:
        raise BadTrace(f"'{path}': an observation is a picture or text; fields must be numbers.")
    rows = values.reshape(len(values), -1).astype(np.float64)
    return rows, numbered(name, rows.shape[1])


def _rows(item: Any) -> np.ndarray:
    return np.asarray(item, dtype=np.float64).reshape(len(item), -1)
