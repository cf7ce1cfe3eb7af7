"""Logs that are damaged, lie, or are too large to read end in one sentence, before they are unpacked."""

import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from fuzz.inputs import make_logs

from visualpatchworld import files
from visualpatchworld.errors import BadTrace
from visualpatchworld.world.log import MOST_FIELDS
from visualpatchworld.world.log_table import Columns
from visualpatchworld.world.open import open_world

ROWS, ACTIONS = np.arange(12.0).reshape(6, 2), np.linspace(-1, 1, 6)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return make_logs(tmp_path / "logs")


def with_byte(path: Path, mark: bytes, place: int, value: int) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(mark) + place] = value
    path.write_bytes(content)


def another_method(path: Path) -> None:
    with_byte(path, b"PK\x01\x02", 10, 99)


def encrypted(path: Path) -> None:
    with_byte(path, b"PK\x01\x02", 8, 1)


def spoiled_stream(path: Path) -> None:
    with zipfile.ZipFile(path) as packed:
        first = packed.infolist()[0]
    content = bytearray(path.read_bytes())
    start = (
        first.header_offset + 30 + int.from_bytes(content[26:28], "little") + int.from_bytes(content[28:30], "little")
    )
    content[start : start + first.compress_size] = b"\xff" * first.compress_size
    path.write_bytes(content)


def spoiled_header(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("observations.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f8',")


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


@pytest.mark.parametrize("damage", [another_method, encrypted, spoiled_stream, spoiled_header, cut_short])
def test_packed_arrays_that_are_damaged(logs: Path, damage: Callable[[Path], None]):
    damage(logs / "flat.npz")
    with pytest.raises(BadTrace, match=r"can not be read; it is damaged or not an \.npz file"):
        open_world(logs / "flat.npz")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"observations": 3.0}, "not a single number"),
        ({"observations": np.zeros((0, 2, 2))}, "is empty"),
        ({"observations": np.zeros((3, 2, 0)), "actions": np.zeros((3, 1, 1))}, "is empty"),
        ({"observations": np.zeros((0, 2)), "next_observations": np.zeros((0, 2))}, "is empty"),
        ({"observations": ROWS, "actions": np.zeros((6, 0))}, None),
        ({"observations": ROWS, "actions": ACTIONS, "dt": []}, "'dt' is empty"),
        ({"observations": ROWS, "actions": ACTIONS, "dt": "soon"}, "'dt' must be an array of numbers"),
        ({"observations": ROWS, "actions": ACTIONS, "lengths": []}, "'lengths' must hold"),
        ({"observations": ROWS, "actions": ACTIONS, "lengths": [np.nan]}, "'lengths' must hold"),
        ({"observations": np.zeros((2, 4, 1)), "lengths": [np.nan, 1]}, "'lengths' must hold"),
        ({"observations": ROWS, "actions": ACTIONS, "action_names": ["a", "b"]}, "2 names for 1 actions"),
        ({"observations": ROWS, "next_observations": ROWS, "trajectory_start": [0]}, "'trajectory_start' has 1 values"),
    ],
)
def test_arrays_that_are_empty_or_of_the_wrong_kind(arrays: dict[str, Any], sentence: str | None):
    if sentence is None:
        assert len(open_world(arrays).action_space) == 0
        return
    with pytest.raises(BadTrace, match=sentence):
        open_world(arrays)


@pytest.mark.parametrize("actions", [[-1, 0, 1, 2, 3, 0], [10**9, 1, 2, 3, 4, 5]])
def test_whole_numbers_that_can_not_be_choices_are_a_quantity(actions: list[int]):
    space = open_world({"observations": ROWS, "actions": np.array(actions)}).action_space
    assert (space.kind, space.low, space.high) == ("continuous", (min(actions),), (max(actions),))


def large_arrays(path: Path) -> None:
    np.savez_compressed(path.with_suffix(".npz"), observations=np.zeros((2000, 2), np.uint8))


def large_table(path: Path) -> None:
    path.with_suffix(".csv").write_text("x,u\n" + "0,1\n" * 2000)


def large_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": np.zeros(2000), "u": np.ones(2000)}), path.with_suffix(".parquet"))


def large_hdf5(path: Path) -> None:
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file.create_dataset("state", data=np.zeros((2000, 2), np.uint8), compression="gzip")
        file["action"], file["ep_len"] = np.zeros(2000), [2000]


@pytest.mark.parametrize("write", [large_arrays, large_table, large_parquet, large_hdf5])
def test_a_log_that_is_large_once_unpacked_is_refused_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
):
    write(tmp_path / "log")
    (path,) = tmp_path.iterdir()
    columns = Columns(action="u" if path.suffix in (".csv", ".parquet") else None)
    assert open_world(path, columns=columns).logged()
    monkeypatch.setattr(files, "MOST_UNPACKED", 8 * 3000)
    with pytest.raises(BadTrace, match="MB unpacked, and at most"):
        open_world(path, columns=columns)


def test_arrays_that_mean_nothing_stay_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "log.npz"
    np.savez_compressed(path, observations=ROWS, actions=ACTIONS, pictures=np.zeros(10**5), more=np.array([{}]))
    monkeypatch.setattr(files, "MOST_UNPACKED", 8 * 100)
    assert len(open_world(path).logged()[0]) == 5


def test_one_long_text_does_not_make_all_cells_long(tmp_path: Path):
    rows, long = 5_000, "a" * 50_000
    words = [long, *["b"] * (rows - 1)]
    table = tmp_path / "log.csv"
    table.write_text("x,u,said\n" + "".join(f"{i},1,{word}\n" for i, word in enumerate(words)))
    packed = tmp_path / "log.parquet"
    said = pyarrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), [long])
    pyarrow.parquet.write_table(pyarrow.table({"x": np.arange(rows), "u": np.ones(rows), "said": said}), packed)
    assert packed.stat().st_size < 10 * len(long)
    for path in (table, packed):
        tracemalloc.start()
        assert len(open_world(path).logged()[0]) == rows - 1
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < rows * len(long) / 2


def elsewhere(file: h5py.File, name: str, folder: Path) -> None:
    file[name] = h5py.ExternalLink(str(folder / "other.h5"), "/state")


def by_a_detour(file: h5py.File, name: str, folder: Path) -> None:
    file["way"] = h5py.ExternalLink(str(folder / "other.h5"), "/")
    file[name] = h5py.SoftLink("/way/state")


def stored_elsewhere(file: h5py.File, name: str, folder: Path) -> None:
    file.create_dataset(name, (123, 2), "f8", external=[(str(folder / "other.h5"), 0, h5py.h5f.UNLIMITED)])


def virtual(file: h5py.File, name: str, folder: Path) -> None:
    layout = h5py.VirtualLayout((123, 2), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "state", (123, 2))
    file.create_virtual_dataset(name, layout)


@pytest.mark.parametrize("lead", [elsewhere, by_a_detour, stored_elsewhere, virtual])
@pytest.mark.parametrize(
    ("place", "name"), [("plain.h5", "state"), ("minari/data/main_data.hdf5", "episode_1/observations/speed")]
)
def test_columns_in_other_files_are_refused(logs: Path, lead: Callable[..., None], place: str, name: str):
    with h5py.File(logs / "other.h5", "w") as other:
        other["state"] = np.zeros((123, 2))
    with h5py.File(logs / place, "r+") as file:
        del file[name]
        lead(file, name, logs)
    with pytest.raises(BadTrace, match="lies in another file"):
        open_world(logs / place if place.endswith(".h5") else logs / "minari")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"fps": 0}, "features and fps"),
        ({"fps": None}, "features and fps"),
        ({"features": []}, "features and fps"),
        ({"features": {"observation.state": 3}}, "features and fps"),
        ({"features": {"observation.state": {"dtype": "float32", "shape": [10**12]}}}, "no column of the shape"),
        ({"features": {"observation.state": {"dtype": "float32", "shape": {"x": 1}}}}, "no column of the shape"),
    ],
)
def test_a_lerobot_folder_that_describes_itself_wrongly(logs: Path, change: dict[str, Any], sentence: str):
    about = logs / "lerobot" / "meta" / "info.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | change))
    with pytest.raises(BadTrace, match=sentence):
        open_world(logs / "lerobot")


def test_a_pipe_in_a_lerobot_folder_is_not_waited_for(logs: Path):
    part = next((logs / "lerobot").rglob("*.parquet"))
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(BadTrace, match="There is no file"):
        open_world(logs / "lerobot")


@pytest.mark.parametrize("space", [{"type": "Discrete", "n": 10**9}, {"type": "Discrete", "n": 2}])
def test_choices_that_minari_describes_wrongly(logs: Path, space: dict[str, Any]):
    about = logs / "minari" / "data" / "metadata.json"
    about.write_text(json.dumps({"action_space": json.dumps(space)}))
    with pytest.raises(BadTrace, match="choices of action"):
        open_world(logs / "minari")


def test_a_log_of_hundreds_of_columns_is_refused_unless_some_are_named(tmp_path: Path):
    path, many = tmp_path / "wide.csv", 300
    names = [f"field{i}x" for i in range(many)]
    rows = np.random.default_rng(0).normal(size=(20, many + 1)).tolist()
    path.write_text("\n".join([",".join([*names, "u"]), *(",".join(map(str, row)) for row in rows)]))
    with pytest.raises(BadTrace, match=f"300 fields, and at most {MOST_FIELDS} are looked at"):
        open_world(path)
    assert open_world(path, columns=Columns(state=names[:3])).field_names == tuple(names[:3])
