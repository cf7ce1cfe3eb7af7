"""Logs in HDF5: trace files of the LeWM layout, with or without a domain, and datasets of Minari."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.errors import BadTrace, UnknownName
from visualpatchworld.extras import h5py
from visualpatchworld.files import as_floats, check_unpacked, from_json, read_bytes, unpacking
from visualpatchworld.trace.file import EPISODE_LABELS, column_dataset, episode_lengths, opened, read_traces
from visualpatchworld.world.log import Recording, as_rows
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import numbered

_INDICES = ("ep_len", "ep_offset", "step_idx", *EPISODE_LABELS)
_STATES = ("state", "observation", "observations", "obs")
_EPISODE = re.compile(r"episode_\d+")
_MINARI_FILE = Path("data", "main_data.hdf5")


def read_hdf5(path: Path, state: tuple[str, ...] = ()) -> Recording:
    """The recording in a trace file; one of a domain says its state by
    itself, in others the columns called `state` and the like count.
    """
    with unpacking(path, "an HDF5 file"), opened(path) as file:
        domain = file.attrs.get("domain")
        if isinstance(domain, str) and domain in find_domains() and not state:
            return _of_domain(path, domain)
        if "episode_0" in file:
            return _minari(file, path, {})
        return _plain(file, path, state)


def _of_domain(path: Path, name: str) -> Recording:
    domain = load_domain(name)
    traces = read_traces(path, domain)
    return Recording(traces.episodes, domain.scene.state_space.names, choices=False)


def _plain(file: h5py.File, path: Path, state: tuple[str, ...]) -> Recording:
    action = next((name for name in ("action", "actions") if name in file), None)
    if action is None:
        raise BadTrace(f"'{path}' has no column 'action'; it has {', '.join(file)}.")
    done = _numbers(file, path, action)
    lengths = episode_lengths(file, path, len(done))
    columns = list(state) or [name for name in _STATES if isinstance(file.get(name), h5py.Dataset)][:1]
    columns = columns or [name for name in ("qpos", "qvel") if "qpos" in file and name in file]
    for name in columns:
        if name not in file:
            raise UnknownName("column", name, [str(key) for key in file if key not in _INDICES])
    if not columns:
        found = ", ".join(str(key) for key in file if key not in (*_INDICES, action))
        raise BadTrace(f"'{path}': which columns are the state? Say --state COL,COL; there are {found}.")
    parts = [_numbers(file, path, name) for name in columns]
    rewards = _numbers(file, path, "reward")[:, 0] if "reward" in file else None
    if any(len(part) != len(done) for part in (*parts, *([] if rewards is None else [rewards]))):
        raise BadTrace(f"'{path}': its columns differ in length.")
    names = tuple(one for name, part in zip(columns, parts, strict=True) for one in numbered(name, part.shape[1]))
    seen = np.concatenate(parts, axis=1)
    spans = zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True)
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
    with unpacking(folder, "a Minari dataset"), opened(folder / _MINARI_FILE) as file:
        told = from_json(read_bytes(about, "description", BadTrace)) if about.is_file() else {}
        return _minari(file, folder, told)


def _minari(file: h5py.File, path: Path, told: dict[str, Any]) -> Recording:
    keys = sorted((str(key) for key in file if _EPISODE.fullmatch(str(key))), key=lambda key: (len(key), key))
    episodes, names, whole, count = [], (), True, 0
    for key in keys:
        group = file[key]
        if not isinstance(group, h5py.Group) or "observations" not in group or "actions" not in group:
            raise BadTrace(f"'{path}': '{key}' has no observations or no actions.")
        seen, names = _nested(file, path, f"{key}/observations", "")
        done, _ = _nested(file, path, f"{key}/actions", "a")
        actions = group["actions"]
        whole = whole and isinstance(actions, h5py.Dataset) and np.issubdtype(actions.dtype, np.integer)
        rewards = _numbers(file, path, f"{key}/rewards").reshape(-1) if "rewards" in group else None
        over = "terminations" in group and bool(_numbers(file, path, f"{key}/terminations").any())
        episodes.append(Trajectory(seen, done, rewards, over))
        count += seen.size + done.size
        check_unpacked(path, as_floats(count))
    counts, bounds = _told_actions(told.get("action_space"))
    return Recording(tuple(episodes), names, choices=whole, counts=counts, bounds=bounds)


def _told_actions(space: Any) -> tuple[tuple[int, ...], tuple[tuple[float, ...], tuple[float, ...]] | None]:
    """Counts or bounds of actions from a serialised space; nothing where it is of another kind."""
    try:
        space = from_json(space) if isinstance(space, str) else space or {}
        if space.get("type") == "Discrete":
            return (int(space["n"]),), None
        low, high = (np.asarray(space[side], dtype=float).reshape(-1) for side in ("low", "high"))
        return (), (tuple(low.tolist()), tuple(high.tolist())) if np.isfinite([*low, *high]).all() else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return (), None


def _nested(file: h5py.File, path: Path, place: str, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """An array, or arrays under names, side by side."""
    item = file[place]
    if isinstance(item, h5py.Group):
        parts = [_nested(file, path, f"{place}/{key}", f"{name}_{key}" if name else str(key)) for key in item]
        if not parts:
            raise BadTrace(f"'{path}': an observation is empty.")
        return np.concatenate([values for values, _ in parts], axis=1), tuple(
            one for _, names in parts for one in names
        )
    if len(column_dataset(file, path, place).shape) > 3:
        raise BadTrace(f"'{path}': an observation is a picture or text; fields must be numbers.")
    rows = _numbers(file, path, place)
    return rows, numbered(name, rows.shape[1])


def _numbers(file: h5py.File, path: Path, name: str) -> np.ndarray:
    """The rows of a column, which must lie in this file and be numbers."""
    found = column_dataset(file, path, name)
    if found.dtype.kind not in "fiub":
        raise BadTrace(f"'{path}': '{name}' is a picture or text; fields must be numbers.")
    return as_rows(np.asarray(found[()]).astype(np.float64))
