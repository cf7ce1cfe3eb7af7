"""Logs in all layouts: what is read is what was recorded, and what does not fit is one sentence."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace, UnknownName, VpwError
from visualpatchworld.trace.episode import Episode
from visualpatchworld.world.log import LogWorld
from visualpatchworld.world.log_table import Columns
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import NoPower

RNG = np.random.default_rng(0)
RUNS = [
    (RNG.normal(size=(length + 1, 2)), RNG.normal(size=(length, 1)), RNG.normal(size=length)) for length in (5, 3, 7)
]


def opened(world: Any, **settings: Any) -> LogWorld:
    found = open_world(world, **settings)
    assert isinstance(found, LogWorld)
    return found


def same_runs(world: LogWorld, runs: Any = RUNS, rewards: bool = True) -> None:
    assert [len(one) for one in world.logged()] == [len(run[1]) for run in runs]
    for one, (observations, actions, earned) in zip(world.logged(), runs, strict=True):
        np.testing.assert_allclose(one.observations, observations)
        np.testing.assert_allclose(one.actions, actions)
        if rewards:
            assert one.rewards is not None
            np.testing.assert_allclose(one.rewards, earned)


def padded() -> dict[str, np.ndarray]:
    arrays = {
        "observations": np.full((3, 8, 2), np.nan),
        "actions": np.full((3, 7, 1), np.nan),
        "rewards": np.full((3, 7), np.nan),
    }
    for i, run in enumerate(RUNS):
        for key, values in zip(arrays, run, strict=True):
            arrays[key][i, : len(values)] = values
    return arrays


@pytest.mark.parametrize("with_lengths", [True, False])
def test_padded_episodes(tmp_path: Path, with_lengths: bool):
    extra: dict[str, Any] = {"lengths": [5, 3, 7]} if with_lengths else {}
    np.savez(tmp_path / "log.npz", **padded(), **extra, terminated=[0, 1, 0], names=["angle", "angle speed"], dt=0.05)
    world = opened(tmp_path / "log.npz")
    same_runs(world)
    assert [one.terminated for one in world.logged()] == [False, True, False]
    assert (world.field_names, world.dt, world.powers) == (("angle", "angle_speed"), 0.05, {"reward"})


def test_padded_choices():
    arrays = padded()
    choices = np.where(np.isnan(arrays["actions"]), -1, arrays["actions"] > 0).astype(int)
    world = opened({**arrays, "actions": choices[..., 0]})
    assert (world.action_space.kind, world.action_space.counts) == ("discrete", (2,))
    assert all((one.actions >= 0).all() for one in world.logged())


def test_rows_one_after_another():
    observations, actions, rewards = (np.concatenate([run[i] for run in RUNS]) for i in range(3))
    same_runs(
        opened({"observations": observations, "actions": actions, "rewards": rewards, "episode_lengths": [5, 3, 7]})
    )
    same_runs(
        opened({"observations": observations, "actions": actions, "rewards": rewards, "episode_lengths": [6, 4, 8]})
    )
    per_row = np.concatenate([np.vstack([run[1], [[9.0]]]) for run in RUNS])
    same_runs(opened({"states": observations, "actions": per_row, "episode_lengths": [6, 4, 8]}), rewards=False)


def test_states_alone_with_pieces_held_out():
    observations = np.concatenate([run[0] for run in RUNS])
    world = opened({"states": observations, "episode_lengths": [6, 4, 8], "held_out": [0, 1, 0]})
    assert [len(one) for one in world.logged()] == [5, 7]
    assert [len(one) for one in world.held_out()] == [3]
    assert len(world.action_space) == 0 and world.powers == set()


def transitions() -> dict[str, np.ndarray]:
    starts = np.repeat([0, 5, 8], [5, 3, 7])
    return {
        "observations": np.concatenate([run[0][:-1] for run in RUNS]),
        "next_observations": np.concatenate([run[0][1:] for run in RUNS]),
        "actions": np.concatenate([run[1] for run in RUNS]),
        "rewards": np.concatenate([run[2] for run in RUNS]),
        "dones": np.append(np.diff(starts) != 0, True),
        "trajectory_start": starts,
    }


def test_transitions():
    world = opened(transitions())
    same_runs(world)
    assert [one.terminated for one in world.logged()] == [True, True, True]
    arrays = transitions()
    del arrays["trajectory_start"], arrays["dones"]
    same_runs(opened(arrays))


@pytest.mark.parametrize(("last_is_done", "ends"), [(True, [True, False, False]), (False, [True, True, False])])
def test_a_longest_length_that_all_end_at_is_a_time_limit(last_is_done: bool, ends: list[bool]):
    runs = [RNG.normal(size=(length + 1, 1)) for length in (4, 6, 6)]
    dones = np.concatenate([np.arange(len(run) - 1) == len(run) - 2 for run in runs])
    dones[-1] = last_is_done
    starts = np.repeat([0, 4, 10], [4, 6, 6])
    seen, after = (np.concatenate([run[part] for run in runs]) for part in (slice(None, -1), slice(1, None)))
    world = opened(
        {"observations": seen, "next_observations": after, "actions": seen, "dones": dones, "trajectory_start": starts}
    )
    assert [one.terminated for one in world.logged()] == ends


def test_gaps_cut_an_episode():
    observations, actions, rewards = (part.copy() for part in RUNS[2])
    observations[3] = np.nan
    world = opened((observations, actions, rewards))
    assert [len(one) for one in world.logged()] == [2, 3]
    np.testing.assert_array_equal(world.logged()[1].observations, observations[4:])


def test_arrays_in_memory():
    same_runs(opened(RUNS[0]), RUNS[:1])
    same_runs(opened(tuple([run[i] for run in RUNS] for i in range(3))))
    same_runs(opened([Trajectory(*run) for run in RUNS]))
    same_runs(opened(padded()))


def write_csv(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_table_with_names_that_leave_no_doubt(tmp_path: Path):
    rows = ["episode,time,pos,vel,action,reward"]
    for i, (observations, actions, rewards) in enumerate(RUNS):
        for t in range(len(observations)):
            acted, earned = (actions[t, 0], rewards[t]) if t < len(actions) else ("", "")
            rows.append(f"run{i},{0.1 * t},{observations[t, 0]},{observations[t, 1]},{acted},{earned}")
    world = opened(write_csv(tmp_path / "log.csv", rows))
    same_runs(world)
    assert (
        world.field_names == ("pos", "vel")
        and world.dt == pytest.approx(0.1)
        and world.action_space.names == ("action",)
    )


@pytest.mark.parametrize("typed", ["Heater", "Heater [kW]", "Heater_kW"])
def test_a_column_is_found_without_its_unit(tmp_path: Path, typed: str):
    path = write_csv(tmp_path / "log.csv", ["T_oven [degC],Heater [kW]", "20.5,1", "21.5,2", "22.5,3"])
    world = opened(path, columns=Columns(action=typed))
    assert (world.field_names, world.action_space.names) == (("T_oven_degC",), ("Heater [kW]",))


def test_a_name_that_two_columns_may_mean_is_refused(tmp_path: Path):
    path = write_csv(tmp_path / "log.csv", ["T [degC],T [K],u", "20.5,293.6,1", "21.5,294.6,2", "22.5,295.6,3"])
    with pytest.raises(UnknownName, match="No column 'T'"):
        opened(path, columns=Columns(state="T"))


def test_a_table_without_a_clue_asks(tmp_path: Path):
    path = write_csv(tmp_path / "log.csv", ["beam,ball", "0,1", "1,2", "0,3"])
    with pytest.raises(BadTrace, match=r"which columns are actions\? Say --action"):
        opened(path)
    world = opened(path, columns=Columns(action=("beam",), dt=0.1))
    assert world.field_names == ("ball",) and world.dt == 0.1 and len(world.logged()[0]) == 2
    assert opened(path, columns=Columns(action=())).field_names == ("beam", "ball")
    with pytest.raises(UnknownName, match="Did you mean 'beam'"):
        opened(path, columns=Columns(action=("beem",)))


def test_a_value_far_beyond_all_others_was_not_measured(tmp_path: Path):
    rows = [f"{np.sin(t)},0.5" for t in range(100)]
    rows[40] = "1e20,0.5"
    assert [len(one) for one in opened(write_csv(tmp_path / "one.csv", ["x,u", *rows])).logged()] == [39, 58]
    large = [f"{1e20 * np.sin(t)},0.5" for t in range(100)]
    assert [len(one) for one in opened(write_csv(tmp_path / "all.csv", ["x,u", *large])).logged()] == [99]


def test_numbers_with_a_decimal_comma_are_numbers(tmp_path: Path):
    world = opened(write_csv(tmp_path / "comma.csv", ["x;u", "0,5;1", "-1,25;2,5e1", "2;3"]))
    np.testing.assert_allclose(world.logged()[0].observations[:, 0], [0.5, -1.25, 2.0])
    np.testing.assert_allclose(world.logged()[0].actions[:, 0], [1, 25])


def test_uneven_times_are_a_caution(tmp_path: Path):
    times = np.cumsum(np.random.default_rng(0).uniform(0.7, 1.3, 50))
    world = opened(write_csv(tmp_path / "uneven.csv", ["t,x,u", *(f"{t},{t * t},0.5" for t in times)]))
    assert world.caution.startswith("'t' is uneven")
    assert not opened(write_csv(tmp_path / "even.csv", ["t,x,u", *(f"{t},{t * t},0.5" for t in range(50))])).caution


def test_files_without_rows_are_one_sentence(tmp_path: Path):
    with pytest.raises(BadTrace, match="has no rows, only the names of columns: x, u"):
        opened(write_csv(tmp_path / "none.csv", ["x,u"]))
    with pytest.raises(BadTrace, match="is empty"):
        opened({"observations": np.zeros((0, 2)), "actions": np.zeros((0, 1))})


def test_time_that_runs_late_is_a_gap_and_backwards_a_mistake(tmp_path: Path):
    rows = ["t,x,u", *(f"{t},{t * t},0.5" for t in (0, 1, 2, 3, 9, 10, 11))]
    assert [len(one) for one in opened(write_csv(tmp_path / "late.csv", rows)).logged()] == [3, 2]
    with pytest.raises(BadTrace, match="'t' does not rise from row 1 to row 2"):
        opened(write_csv(tmp_path / "back.csv", ["t,x,u", "0,1,1", "1,1,1", "0.5,1,1", "2,1,1"]))


def test_a_column_that_changes_whenever_time_begins_anew_counts_episodes(tmp_path: Path):
    rows = [f"{part},{t},{t * t},{(4.5, 3.5)[part]},0.5" for part in (0, 1) for t in range(5)]
    world = opened(write_csv(tmp_path / "parts.csv", ["part,t,x,goal,u", *rows]))
    assert [len(one) for one in world.logged()] == [4, 4]
    assert world.field_names == ("x", "goal")
    with pytest.raises(BadTrace, match="say --episode COL"):
        opened(write_csv(tmp_path / "goals.csv", ["t,x,goal,u", *(row.partition(",")[2] for row in rows)]))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (["a,x", "1,2", "3"], "row 2 has 1 cells"),
        (["a,x,x", "1,2,3"], "two columns of one name"),
        (["episode,a,x", "0,1,1", "1,1,1", "0,1,1", "0,1,1"], "do not lie together"),
        (["a,x", "1,red", "2,blue", "3,red"], "no column left"),
        (["a,x", "1,2"], "no two rows"),
    ],
)
def test_tables_that_do_not_fit_are_one_sentence(tmp_path: Path, rows: list[str], sentence: str):
    with pytest.raises(VpwError, match=sentence):
        opened(write_csv(tmp_path / "log.csv", rows))


def test_rows_that_are_written_twice_count_once_and_words_are_choices(tmp_path: Path):
    path = tmp_path / "log.csv"
    path.write_text("t,x,action\n0,0.5,left\n0.1,0.25,right\n0.1,0.25,right\n0.2,0.75,left\n0.3,0.5,\n")
    world = opened(path)
    assert world.name == "log.csv" and world.labels == (("left", "right"),)
    assert world.action_space.kind == "discrete" and world.action_space.counts == (2,)
    np.testing.assert_allclose(world.logged()[0].observations[:, 0], [0.5, 0.25, 0.75, 0.5])
    np.testing.assert_allclose(world.logged()[0].actions[:, 0], [0, 1, 0])


def test_pixels_are_no_fields(tmp_path: Path):
    path = tmp_path / "log.csv"
    shown = RNG.integers(0, 256, size=(20, 9))
    header = ",".join(["x", "u", *(f"pixel_{i}" for i in range(9))])
    path.write_text("\n".join([header, *(f"{0.1 * i},0.5," + ",".join(map(str, row)) for i, row in enumerate(shown))]))
    with pytest.raises(BadTrace, match=r"pixel_0 to pixel_8 look like pixels.*--state x"):
        open_world(path)
    assert opened(path, columns=Columns(state=("x",))).field_names == ("x",)


def test_parquet_with_lists(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    rows = {"episode": [0] * 6 + [1] * 4, "obs": np.vstack([RUNS[0][0], RUNS[1][0]]).tolist()}
    rows["action"] = [*RUNS[0][1][:, 0], None, *RUNS[1][1][:, 0], None]
    write_table(pyarrow.table(rows), tmp_path / "log.parquet")
    same_runs(opened(tmp_path / "log.parquet"), RUNS[:2], rewards=False)


def test_lerobot(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    (tmp_path / "meta").mkdir()
    (tmp_path / "data" / "chunk-000").mkdir(parents=True)
    features = {
        "observation.state": {"dtype": "float32", "shape": [2], "names": {"motors": ["hip", "knee"]}},
        "observation.image": {"dtype": "video", "shape": [3, 9, 9]},
        "action": {"dtype": "float32", "shape": [1], "names": None},
    }
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"fps": 20, "features": features}), encoding="utf-8")
    for i, (observations, actions, _) in enumerate(RUNS):
        table = {
            "observation.state": observations.tolist(),
            "action": [[value] for value in [*actions[:, 0], 0.0]],
            "episode_index": [i] * len(observations),
            "frame_index": list(range(len(observations))),
            "timestamp": [t / 20 for t in range(len(observations))],
        }
        write_table(pyarrow.table(table), tmp_path / "data" / "chunk-000" / f"episode_{i:06d}.parquet")
    world = opened(f"lerobot:{tmp_path}")
    same_runs(world, rewards=False)
    assert world.dt == pytest.approx(0.05) and world.field_names == ("hip", "knee")
    (tmp_path / "meta" / "info.json").write_text("{}", encoding="utf-8")
    with pytest.raises(BadTrace, match="does not say its features"):
        opened(f"lerobot:{tmp_path}")


def test_minari(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "toys" / "cart-v0"
    (folder / "data").mkdir(parents=True)
    with h5py.File(folder / "data" / "main_data.hdf5", "w") as file:
        for i, (observations, actions, rewards) in enumerate(RUNS):
            group = file.create_group(f"episode_{i}")
            group.create_group("observations")["cart"] = observations
            group["actions"], group["rewards"] = actions, rewards
            group["terminations"] = np.arange(len(actions)) == (len(actions) - 1 if i == 1 else -1)
    space = {"type": "Box", "low": [-4.0], "high": [4.0]}
    (folder / "data" / "metadata.json").write_text(json.dumps({"action_space": json.dumps(space)}), encoding="utf-8")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    for place in ("minari:toys/cart-v0", f"minari:{folder}", folder):
        world = opened(place)
        same_runs(world)
        assert [one.terminated for one in world.logged()] == [False, True, False]
    assert world.field_names == ("cart_0", "cart_1") and world.action_space.high == (4.0,)
    with pytest.raises(BadTrace, match=r"no Minari dataset 'toys/card-v0'.*found: toys/cart-v0"):
        opened("minari:toys/card-v0")


def test_a_trace_file_of_a_domain(toy_file: Path, toy: Domain, toy_episodes: list[Episode]):
    world = opened(toy_file)
    assert world.field_names == toy.scene.state_space.names
    np.testing.assert_allclose(world.logged()[1].observations, toy_episodes[1].observations)
    np.testing.assert_allclose(world.logged()[1].actions, toy_episodes[1].actions)


def test_a_trace_file_of_nobody(tmp_path: Path):
    path = tmp_path / "trace.h5"
    with h5py.File(path, "w") as file:
        file["action"] = np.concatenate([np.vstack([run[1], [[0.0]]]) for run in RUNS])
        file["cart"] = np.concatenate([run[0] for run in RUNS])
        file["ep_len"] = [6, 4, 8]
    with pytest.raises(BadTrace, match="which columns are the state"):
        opened(path)
    same_runs(opened(path, columns=Columns(state=("cart",))), rewards=False)


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"actions": np.zeros(3)}, "no 'observations'"),
        ({"observations": np.zeros((2, 4, 1)), "actions": np.zeros((2, 5, 1))}, "need actions of shape"),
        ({"observations": np.zeros((6, 1)), "actions": np.zeros((4, 1))}, "do not fit together"),
        (
            {"observations": np.zeros((6, 1)), "actions": np.zeros((6, 1)), "episode_lengths": [2, 2]},
            "do not fit together",
        ),
        ({"observations": np.array(["a", "b"]), "actions": np.zeros(2)}, "must be an array of numbers"),
        ({"observations": np.zeros((4, 2)), "actions": np.zeros(3), "names": ["a"]}, "1 names for 2 fields"),
        ({"observations": np.zeros((4, 2)), "states": np.zeros((4, 2))}, "both 'observations' and 'states'"),
        ({"observations": np.zeros((4, 2)), "actions": np.zeros(3), "dt": -1.0}, "positive number of seconds"),
    ],
)
def test_arrays_that_do_not_fit_are_one_sentence(arrays: dict[str, Any], sentence: str):
    with pytest.raises(VpwError, match=sentence):
        opened(arrays)


def test_files_that_are_damaged_or_hold_objects(tmp_path: Path):
    np.savez(tmp_path / "objects.npz", observations=np.array([object()], dtype=object))
    with pytest.raises(BadTrace, match="Python objects"):
        opened(tmp_path / "objects.npz")
    for name in ("damaged.npz", "damaged.h5", "damaged.csv"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00nothing")
        with pytest.raises(BadTrace):
            opened(tmp_path / name)


def test_a_log_can_only_be_read():
    world = opened(RUNS[0])
    with pytest.raises(NoPower, match="it is a log"):
        world.step(np.zeros(1))


def test_an_undriven_log_keeps_its_times_and_its_rows_across_gaps(tmp_path: Path):
    times = [0.0, 0.1, 0.2, 0.5, 0.6, 0.7, 0.8, 1.2]
    lines = ["t,x", *(f"{t},{t * t}" for t in times)]
    (tmp_path / "log.csv").write_text("\n".join(lines), encoding="utf-8")
    world = open_world(tmp_path / "log.csv", columns=Columns(action=()))
    assert isinstance(world, LogWorld)
    ((seen, rows),) = world.curves
    assert seen.tolist() == times and rows[:, 0].tolist() == [t * t for t in times]


def test_the_reference_logs_are_read(reference: Path):
    pendulum = opened(reference / "real" / "single_pendulum.npz")
    assert (len(pendulum.logged()), len(pendulum.held_out()), pendulum.dt) == (4, 2, pytest.approx(0.001))
    assert sum(len(one) for one in opened(reference / "real" / "silverbox.csv").logged()) == 131071
    for path in sorted((reference / "cwmb").glob("*.npz")):
        with np.load(path) as file:
            rows = len(file["observations"])
        assert sum(len(one) for one in opened(path).logged()) == rows, path
