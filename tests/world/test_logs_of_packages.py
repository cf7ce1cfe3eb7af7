"""Logs that Minari and LeRobot themselves write, where those packages are installed."""

from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory

STEPS = 40


def episodes(env: gym.Env, count: int) -> list[Trajectory]:
    """Episodes of random actions."""
    env.action_space.seed(0)
    seen = []
    for seed in range(count):
        rows, actions, rewards, over = [env.reset(seed=seed)[0]], [], [], False
        while not over and len(actions) < STEPS:
            action = env.action_space.sample()
            row, reward, over, _, _ = env.step(action)
            rows.append(row)
            actions.append(np.atleast_1d(action).astype(float))
            rewards.append(float(reward))
        seen.append(Trajectory(np.array(rows), np.array(actions), np.array(rewards), over))
    return seen


def check_same(one: Trajectory, other: Trajectory) -> None:
    assert one.observations == pytest.approx(other.observations, abs=1e-6)
    assert one.actions == pytest.approx(other.actions, abs=1e-6)
    assert one.rewards == pytest.approx(other.rewards, abs=1e-5)
    assert one.terminated == other.terminated


@pytest.mark.parametrize("name", ["Pendulum-v1", "CartPole-v1"])
def test_minari(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    minari = pytest.importorskip("minari", reason="This needs Minari: pip install minari.")
    env = minari.DataCollector(gym.make(name))
    seen = episodes(env, 3)
    env.create_dataset("made/random-v0", algorithm_name="random", eval_env=name)
    world = open_world("minari:made/random-v0")
    for one, other in zip(world.logged(), seen, strict=True):
        check_same(one, other)
    assert world.action_space.kind == ("discrete" if name == "CartPole-v1" else "continuous")


def test_lerobot(tmp_path: Path):
    lerobot = pytest.importorskip("lerobot.datasets.lerobot_dataset", reason="This needs LeRobot: pip install lerobot.")
    number = {"dtype": "float32", "shape": (1,), "names": None}
    features = {
        "observation.state": {"dtype": "float32", "shape": (3,), "names": ["x", "y", "w"]},
        "action": number,
        "next.reward": number,
    }
    dataset = lerobot.LeRobotDataset.create(
        "made/random", fps=20, features=features, root=tmp_path / "made", use_videos=False
    )
    seen = episodes(gym.make("Pendulum-v1"), 3)
    for run in seen:
        assert run.rewards is not None
        for row, action, reward in zip(run.observations[:-1], run.actions, run.rewards, strict=True):
            values = {"observation.state": row, "action": action, "next.reward": np.array([reward])}
            dataset.add_frame({"task": "swing", **{name: value.astype(np.float32) for name, value in values.items()}})
        dataset.save_episode()
    getattr(dataset, "finalize", lambda: None)()
    world = open_world(f"lerobot:{tmp_path / 'made'}")
    assert world.field_names == ("x", "y", "w") and world.dt == pytest.approx(0.05)
    for one, run in zip(world.logged(), seen, strict=True):  # the last row of an episode has no row after it
        assert run.rewards is not None
        check_same(one, Trajectory(run.observations[:-1], run.actions[:-1], run.rewards[:-1]))
