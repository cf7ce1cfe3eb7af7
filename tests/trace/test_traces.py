"""Trace files: what is written is read, files of other people
are read, and damaged ones are refused in one sentence.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import h5py
import hdf5plugin
import numpy as np
import pytest

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import BadTrace, CannotWrite
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.scene.extractor import OracleExtractor
from visualpatchworld.simulator import Column
from visualpatchworld.trace.episode import Episode, Traces, collect, export
from visualpatchworld.trace.file import read_traces, write_traces


def write_toy(path: Path, toy: Domain, episodes: int = 3, seed: int = 7) -> None:
    write_traces(
        path,
        collect(toy, toy.constants, episodes=episodes, seed=seed),
        toy.layout,
        domain=toy.name,
        constants=toy.constants,
        seed=seed,
    )


def change(path: Path, name: str, values: np.ndarray | None) -> None:
    """Replace a column, or delete it."""
    with h5py.File(path, "a") as file:
        del file[name]
        if values is not None:
            file[name] = values


def column(path: Path, name: str) -> np.ndarray:
    with h5py.File(path) as file:
        return file[name][()]  # pyright: ignore[reportIndexIssue, reportReturnType]


def test_what_is_written_is_read(toy: Domain, toy_file: Path, toy_episodes: list[Episode]):
    traces = read_traces(toy_file, toy)
    assert (traces.domain, traces.seed, traces.constants) == ("slider", 7, toy.constants)
    assert len(traces.episodes) == 3
    for read, made in zip(traces.episodes, toy_episodes, strict=True):
        np.testing.assert_array_equal(read.observations, made.observations)
        np.testing.assert_array_equal(read.engine_states, made.engine_states)
        np.testing.assert_array_equal(read.actions, made.actions)
        assert read.frames is not None
        assert made.frames is not None
        np.testing.assert_array_equal(read.frames[:], made.frames[:])
        np.testing.assert_array_equal(read.frames[-1], made.frames[-1])
        np.testing.assert_array_equal(read.frames[2:9:3], made.frames[2:9:3])


def test_layout_is_that_of_lewm(toy_file: Path):
    with h5py.File(toy_file) as file:
        assert set(file) == {"action", "state", "pixels", "ep_idx", "ep_len", "ep_offset", "step_idx"}
        assert file["pixels"].chunks == (1, 224, 224, 3)  # pyright: ignore[reportAttributeAccessIssue]
        assert file["state"].id.get_create_plist().get_filter(0)[0] == hdf5plugin.Blosc.filter_id  # pyright: ignore[reportAttributeAccessIssue]
        assert json.loads(str(file.attrs["constants"]))["drag"] == 0.7
    np.testing.assert_array_equal(column(toy_file, "ep_len"), [31, 31, 31])
    np.testing.assert_array_equal(column(toy_file, "ep_offset"), [0, 31, 62])
    np.testing.assert_array_equal(column(toy_file, "ep_idx"), np.repeat([0, 1, 2], 31))
    np.testing.assert_array_equal(column(toy_file, "step_idx"), np.tile(np.arange(31), 3))


def test_same_seed_same_bytes(tmp_path: Path, toy: Domain):
    for name, seed in (("a.h5", 3), ("b.h5", 3), ("c.h5", 4)):
        write_toy(tmp_path / name, toy, seed=seed)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    assert (tmp_path / "a.h5").read_bytes() != (tmp_path / "c.h5").read_bytes()


def test_reading_states_leaves_pixels_alone(toy: Domain, toy_file: Path, monkeypatch: pytest.MonkeyPatch):
    touched = []
    read = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, *key: touched.append(self.name) or read(self, *key))
    frames = read_traces(toy_file, toy).episodes[0].frames
    assert "/state" in touched
    assert "/pixels" not in touched
    assert frames is not None
    assert frames[0].shape == (224, 224, 3)
    assert touched[-1] == "/pixels"


@pytest.mark.parametrize("kept", ["ep_len", "ep_offset", "ep_idx", "step_idx"])
def test_any_one_index_column_is_enough(toy: Domain, toy_file: Path, kept: str):
    for name in {"ep_len", "ep_offset", "ep_idx", "step_idx"} - {kept}:
        change(toy_file, name, None)
    assert [episode.num_rows for episode in read_traces(toy_file, toy).episodes] == [31, 31, 31]


def test_other_episode_column_name_and_nested_columns(toy: Domain, tmp_path: Path, toy_file: Path):
    with h5py.File(toy_file, "a") as file:
        for name in ("ep_len", "ep_offset"):
            del file[name]
        file.move("ep_idx", "episode_idx")
        file.create_group("proprio")
        file.move("state", "proprio/puck")
    nested = (Column("proprio/puck", 2),)
    domain = _with_layout(toy, engine_state=nested, state=nested)
    assert len(read_traces(toy_file, domain).episodes) == 3
    other = tmp_path / "nested.h5"
    write_traces(
        other, read_traces(toy_file, domain).episodes, domain.layout, domain="slider", constants=toy.constants, seed=7
    )
    np.testing.assert_array_equal(column(other, "proprio/puck"), column(toy_file, "proprio/puck"))


def test_states_are_observed_where_a_file_leaves_them_out(toy: Domain, toy_file: Path, toy_episodes: list[Episode]):
    domain = _with_layout(toy, state=(Column("seen", 2),))
    np.testing.assert_array_equal(read_traces(toy_file, domain).episodes[2].observations, toy_episodes[2].observations)


def test_an_optional_column_may_be_absent(toy: Domain, toy_file: Path):
    domain = _with_layout(toy, engine_state=(*toy.layout.engine_state, Column("memory", 3, optional=True)))
    assert read_traces(toy_file, domain).episodes[0].engine_states.shape == (31, 5)


def test_nan_is_allowed_only_where_no_action_follows(toy: Domain, toy_file: Path):
    actions = column(toy_file, "action")
    actions[[30, 61, 92]] = np.nan
    change(toy_file, "action", actions)
    assert np.isfinite(read_traces(toy_file, toy).episodes[1].actions).all()
    actions[40] = np.nan
    change(toy_file, "action", actions)
    with pytest.raises(BadTrace, match=r"action in row 40 \(episode 1, step 9\) is not finite"):
        read_traces(toy_file, toy)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scramble(path: Path) -> None:
    """Overwrite the compressed chunks of the states."""
    with h5py.File(path) as file:
        chunk = file["state"].id.get_chunk_info(0)  # pyright: ignore[reportAttributeAccessIssue]
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset : chunk.byte_offset + chunk.size] = b"\xff" * chunk.size
    path.write_bytes(data)


def nan_state(path: Path) -> None:
    states = column(path, "state")
    states[33, 1] = np.inf
    change(path, "state", states)


def set_domain(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.attrs["domain"] = "elsewhere"


def set_constants(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.attrs["constants"] = '{"gravity": 9.81}'


def empty(path: Path) -> None:
    change(path, "action", np.zeros((0, 1)))


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.unlink(), "There is no file"),
    (lambda path: path.write_text("time,state\n"), "is not an HDF5 file"),
    (lambda path: path.write_bytes(b""), "is not an HDF5 file"),
    (cut_short, "damaged, cut short"),
    (scramble, "damaged, cut short"),
    (nan_state, r"the state in row 33 \(episode 1, step 2\) is not finite"),
    (set_domain, "collected in the domain 'elsewhere', not in 'slider'"),
    (set_constants, "No constant 'gravity'"),
    (empty, "holds no step"),
    (lambda path: change(path, "action", None), "has no column 'action'; its columns are ep_idx"),
    (lambda path: change(path, "state", None), "has no column 'state'"),
    (lambda path: change(path, "state", np.zeros((93, 7))), "'state' has 7 values .* where this domain has 2"),
    (lambda path: change(path, "state", np.zeros((50, 2))), "50 rows of state but 93 of 'action'"),
    (lambda path: change(path, "state", np.full((93, 2), b"x")), "is it a file of another domain"),
    (lambda path: change(path, "ep_len", np.array([31, 31, 30])), "add up to 92 rows, but 'action' has 93"),
    (lambda path: change(path, "ep_len", np.array([93, 1, -1])), "add up to"),
    (lambda path: change(path, "ep_len", np.array([31.0, 31.0, 31.0])), "whole numbers"),
    (lambda path: change(path, "ep_offset", np.array([0, 30, 62])), "'ep_offset' does not follow"),
    (lambda path: change(path, "ep_idx", np.arange(93)), "'ep_idx' changes within an episode"),
    (lambda path: change(path, "ep_idx", np.arange(9)), "'ep_idx' has 9 rows"),
    (lambda path: change(path, "step_idx", np.arange(93)), "'step_idx' does not count up"),
    (
        lambda path: [change(path, name, None) for name in ("ep_len", "ep_offset", "ep_idx", "step_idx")],
        "where episodes begin",
    ),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[message[:24] for _, message in DAMAGES])
def test_a_damaged_file_is_refused_in_one_sentence(
    toy: Domain, toy_file: Path, damage: Callable[[Path], object], message: str
):
    damage(toy_file)
    with pytest.raises(BadTrace, match=message) as caught:
        read_traces(toy_file, toy)
    assert str(toy_file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_domain_is_refused(reference: Path):
    world = load_domain("tworoom")
    for path in sorted(reference.glob("*.h5")):
        if path.stem == "tworoom":
            assert read_traces(path, world).num_rows == 5735
        else:
            with pytest.raises(BadTrace, match=re.escape(str(path))):
                read_traces(path, world)


def test_rows_are_found(toy: Domain, toy_file: Path):
    traces = read_traces(toy_file, toy)
    assert [(episode.index, step) for episode, step in map(traces.locate, (0, 30, 31, 92))] == [
        (0, 0),
        (0, 30),
        (1, 0),
        (2, 30),
    ]
    for row in (-1, 93):
        with pytest.raises(BadTrace, match="rows 0 to 92"):
            traces.locate(row)


def test_an_interrupted_collection_leaves_nothing(tmp_path: Path, toy: Domain):
    def interrupted():
        yield from collect(toy, toy.constants, episodes=1, seed=0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_traces(tmp_path / "a.h5", interrupted(), toy.layout, domain="slider", constants=toy.constants, seed=0)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_told_before_the_work(tmp_path: Path, toy: Domain):
    def never():
        pytest.fail("the work began")
        yield

    with pytest.raises(CannotWrite, match="there is no folder"):
        write_traces(tmp_path / "no" / "a.h5", never(), toy.layout, domain="slider", constants=toy.constants, seed=0)


@pytest.mark.parametrize("stride", [1, 5, 7, 30, 31])
def test_macro_actions_match_the_stride(toy: Domain, toy_file: Path, stride: int):
    traces = read_traces(toy_file, toy)
    records = [
        json.loads(line)
        for line in export(traces, OracleExtractor(toy.scene, toy.constants), view="oracle", stride=stride)
    ]
    assert [record["episode"] for record in records] == [0, 1, 2]
    for record, episode in zip(records, traces.episodes, strict=True):
        assert [item["t"] for item in record["transitions"]] == list(range(0, episode.num_rows - stride, stride))
        for item in record["transitions"]:
            simulator = toy.make()
            simulator.reset(options={"state": _state(item["before"])})
            assert np.shape(item["action"]) == (stride, 1)
            for action in item["action"]:
                simulator.step(np.array(action))
            np.testing.assert_allclose(simulator.get_state(), _state(item["after"]), atol=1e-12)
            assert item["after"]["metadata"]["step"] == item["t"] + stride


def test_pictures_that_traces_do_not_hold_are_named(toy: Domain):
    traces = Traces(None, toy.name, toy.constants, tuple(collect(toy, toy.constants, episodes=1, seed=0)))
    with pytest.raises(BadTrace, match="holds no pictures; collect it with --pixels"):
        list(export(traces, extractor(toy), view="tool", stride=5))


def _state(graph: dict) -> np.ndarray:
    puck = graph["objects"][0]
    return np.array([puck["pose"]["x"], puck["velocity"]["x"]])


def _with_layout(domain: Domain, **columns: tuple[Column, ...]) -> Domain:
    return replace(domain, layout=replace(domain.layout, **columns))
