"""Noise of observations: the form is still found, and standard errors mean what they say."""

import numpy as np
import pytest
from draws import FIXED
from small_worlds import PUSH, hidden_velocity, pendulum, run, viscous

from visualpatchworld.induction.draft import Draft, Stretches
from visualpatchworld.induction.search import search_dynamics
from visualpatchworld.induction.shooting import refine_noisy
from visualpatchworld.program.program import Program
from visualpatchworld.world.trajectory import Trajectory

TEXT = '''"""A pendulum with wrong constants to start from."""

from typing import NamedTuple

import jax.numpy as np

DT = 0.05
PULL = 7.5
GAIN = 3.7
DRAG = 0.2


class State(NamedTuple):
    q: float
    v: float


def step(state, action):
    v = state.v + DT * (PULL * np.sin(state.q) + GAIN * action[0] - DRAG * state.v)
    return state._replace(q=state.q + DT * v, v=v)
'''
TRUTH = {"PULL": 8.0, "GAIN": 4.0, "DRAG": 0.3}


def noised(trajectories, rng, part=0.01):
    """Noise of this part of every field's one-step spread."""
    spread = np.std(np.concatenate([np.diff(t.observations, axis=0) for t in trajectories]), axis=0)
    return [
        Trajectory(t.observations + rng.normal(size=t.observations.shape) * spread * part, t.actions)
        for t in trajectories
    ]


def noisy_windows(rng, windows=24, length=20):
    starts, actions, truths = [], [], []
    for _ in range(windows):
        q, v = rng.uniform(-2, 2, 2)
        states, acted = [(q, v)], rng.uniform(-1, 1, (length, 1))
        for a in acted:
            v = v + 0.05 * (8.0 * np.sin(q) + 4.0 * a[0] - 0.3 * v)
            q = q + 0.05 * v
            states.append((q, v))
        seen = np.array(states) + rng.normal(size=(length + 1, 2)) * [0.01, 0.05]
        starts.append(seen[0])
        actions.append(acted)
        truths.append(seen[1:])
    return Stretches(np.array(starts), np.array(actions), np.array(truths))


def test_standard_errors_hold():
    draft = Draft("pendulum", Program(TEXT), tuple(TRUTH))
    off = []
    for k in range(15):
        shot = refine_noisy(draft, noisy_windows(np.random.default_rng((FIXED, k))))
        off.append([(shot.draft.program.constants[name] - TRUTH[name]) / shot.draft.stderr[name] for name in TRUTH])
    spread = float(np.sqrt(np.mean(np.square(off))))
    assert 0.65 < spread < 1.45, f"errors are {spread:.2f} of what is stated"


def test_forms_are_found_under_noise():
    for make in (viscous, pendulum):
        rng = np.random.default_rng(FIXED)
        animal = make(rng)
        found = search_dynamics(noised(animal.trajectories, rng), animal.space)
        constants = [abs(value) for value in found.draft.program.constants.values() if isinstance(value, int | float)]
        for name, truth in animal.constants.items():
            assert any(abs(value / abs(truth) - 1) < 0.05 for value in constants), (
                f"{name} = {truth}\n{found.draft.program}"
            )
        assert found.verdict == "explained", found.why


def test_hidden_velocities_are_found():
    animal = hidden_velocity(np.random.default_rng(FIXED))
    found = search_dynamics(animal.trajectories, animal.space)
    assert found.reading.hidden


def test_standard_errors_cover_the_truth():
    """Two standard errors hold the truth about as often as they should, also where a velocity is not observed."""
    draft = Draft("pendulum", Program(TEXT), tuple(TRUTH))
    for seen in ([True, True], [True, False]):
        inside = []
        for k in range(12):
            windows = noisy_windows(np.random.default_rng((FIXED, 1, k)))
            shot = refine_noisy(draft, windows, seen=np.array(seen))
            inside += [
                abs(shot.draft.program.constants[name] - TRUTH[name]) < 1.96 * shot.draft.stderr[name] for name in TRUTH
            ]
        # 36 trials at 95 %: fewer than 29 would be seen once in a thousand times.
        assert np.sum(inside) >= 29, f"{np.mean(inside):.2f} of the constants within two standard errors, seen {seen}"


def test_a_clip_is_found_under_noise():
    def step(state, action):
        v = np.clip(state[1] + 0.05 * (gain * action[0] - drag * state[1]), -top, top)
        return np.array([state[0] + 0.05 * v, v])

    rng = np.random.default_rng(FIXED)
    gain, drag, top = rng.uniform(6, 9), rng.uniform(0.2, 0.4), rng.uniform(1.0, 1.5)
    trajectories = run(rng, step, lambda: 0.5 * rng.normal(size=2), PUSH, hold=6)
    found = search_dynamics(noised(trajectories, rng), PUSH)
    constants = [abs(value) for value in found.draft.program.constants.values() if isinstance(value, int | float)]
    for truth in (gain, top):
        assert any(abs(value / truth - 1) < 0.02 for value in constants), f"{truth}\n{found.draft.program.text}"
    assert found.verdict == "explained" and "clip" in {law for law, _ in found.draft.laws}, found.why


def test_noise_of_the_world_itself_is_found():
    rng = np.random.default_rng(FIXED)
    pull, gain = rng.uniform(4, 8), rng.uniform(1, 3)

    def step(state, action):
        v = state[1] + 0.05 * (gain * action[0] - pull * np.sin(state[0])) + 0.02 * rng.normal()
        return np.array([state[0] + 0.05 * v, v])

    # A fifth is held out. Of ten episodes that is about ten stretches that do not overlap, whose error differs by a quarter
    # from draw to draw, and the verdict compares it with the error that noise alone is expected to make.
    found = search_dynamics(run(rng, step, lambda: rng.normal(size=2), PUSH, hold=5, episodes=30), PUSH)
    assert found.verdict == "explained" and "noise in the world" in found.why, f"{found.verdict}, {found.why}"


def chaotic(state, action):
    """A map that stretches far and folds at irregular places: no short sum over its fields."""
    return np.array(
        [(7 * np.exp(3 * state[0]) + 0.1 * action[0]) % 1.0, (11 * state[0] ** 2 + 5 / (0.1 + state[1])) % 1.0]
    )


def looked_up(table):
    """Every cell of the plane has its own push."""

    def step(state, action):
        i, j = np.clip(((state + 2) * 2).astype(int), 0, 7)
        return np.clip(state + 0.3 * table[i, j] + 0.02 * action[0], -2, 2)

    return step


@pytest.mark.parametrize("kind", ["chaotic map", "lookup table"])
def test_worlds_without_an_answer_are_unexplained(kind):
    rng = np.random.default_rng(FIXED)
    step = chaotic if kind == "chaotic map" else looked_up(rng.normal(size=(8, 8, 2)))
    start = (lambda: rng.uniform(0, 1, 2)) if kind == "chaotic map" else (lambda: rng.uniform(-2, 2, 2))
    # Short episodes: left to itself a table ends in one cell, and what happens in one cell is soon explained.
    found = search_dynamics(run(rng, step, start, PUSH, episodes=32, steps=20), PUSH, seconds=8)
    assert found.verdict == "unexplained", f"{found.verdict}, {found.why}\n{found.draft.program.text}"
    assert any(name in found.why for name in ("x0", "x1")), f"the sentence names the field: {found.why}"


def test_pure_noise_is_unexplained():
    rng = np.random.default_rng(FIXED)
    animal = viscous(rng)
    worlds = [Trajectory(rng.normal(size=t.observations.shape), t.actions) for t in animal.trajectories]
    found = search_dynamics(worlds, animal.space)
    assert found.verdict == "unexplained" and "predict" in found.why, found.why
