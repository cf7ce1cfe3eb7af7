"""Logs as LeRobot keeps them: a folder with `meta/info.json` and Parquet tables, read without LeRobot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld.errors import BadTrace
from visualpatchworld.world.flat import identifier, numbered
from visualpatchworld.world.log import Recording
from visualpatchworld.world.log_table import Columns, parquet_columns, recording_of_table

INFO = Path("meta", "info.json")
_NUMBERS = ("float", "int", "bool")


def read_lerobot(folder: Path) -> Recording:
    """The recording in a LeRobot folder: all observations that are numbers, in the order of its features."""
    try:
        info = json.loads((folder / INFO).read_text(encoding="utf-8"))
        features: dict[str, Any] = info["features"]
        rate_hz = float(info["fps"])
    except FileNotFoundError:
        raise BadTrace(f"'{folder}' is no LeRobot folder: it has no {INFO}.") from None
    except (OSError, KeyError, TypeError, ValueError):
        raise BadTrace(f"'{folder / INFO}' does not say its features and fps as LeRobot does.") from None
    files = sorted((folder / "data").rglob("*.parquet"))
    if not files:
        raise BadTrace(f"'{folder}' has no Parquet file under data/.")
    tables = [parquet_columns(file) for file in files]
    table = {name: np.concatenate([part[name] for part in tables]) for name in tables[0]}
    for name in ("episode_index", "frame_index"):
        if name not in table:
            raise BadTrace(f"'{folder}' has no column '{name}'.")
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
        size = int(np.prod(about.get("shape") or [1]))
        stored = [feature] if feature in table else [f"{feature}_{i}" for i in range(size)]
        if any(name not in table for name in stored):
            raise BadTrace(f"The feature '{feature}' has no column of {size} numbers.")
        told = about.get("names")
        told = next(iter(told.values())) if isinstance(told, dict) and told else told
        short = feature.removeprefix(f"{prefix}.")
        plain = list(told) if isinstance(told, list) and len(told) == len(stored) else numbered(short, len(stored))
        found |= {old: identifier(f"{'action_' if prefix == 'action' else ''}{new}") for old, new in zip(stored, plain, strict=True)}
    return found
