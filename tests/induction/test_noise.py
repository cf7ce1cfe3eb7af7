"""Noise of observations: the form is still found, and standard errors mean what they say."""

import numpy as np
from draws import SEED
from zoo import hidden_velocity, pendulum, viscous

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
    return [Trajectory(t.observations + rng.normal(size=t.observations.shape) * spread * part, t.actions) for t in trajectories]


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
        shot = refine_noisy(draft, noisy_windows(np.random.default_rng((SEED, k))))
        off.append([(shot.draft.program.constants[name] - TRUTH[name]) / shot.draft.stderr[name] for name in TRUTH])
    spread = float(np.sqrt(np.mean(np.square(off))))
    assert 0.65 < spread < 1.45, f"seed {SEED}: errors are {spread:.2f} of what is stated"


def test_forms_are_found_under_noise():
    for make in (viscous, pendulum):
        rng = np.random.default_rng(SEED)
        animal = make(rng)
        found = search_dynamics(noised(animal.trajectories, rng), animal.space)
        constants = [abs(value) for value in found.draft.program.constants.values() if isinstance(value, int | float)]
        for name, truth in animal.constants.items():
            assert any(abs(value / abs(truth) - 1) < 0.05 for value in constants), f"seed {SEED}: {name} = {truth}\n{found.draft.program}"
        assert found.verdict == "explained", f"seed {SEED}: {found.why}"


def test_hidden_velocities_are_told():
    animal = hidden_velocity(np.random.default_rng(SEED))
    found = search_dynamics(animal.trajectories, animal.space)
    assert found.reading.hidden, f"seed {SEED}"


def test_pure_noise_is_unexplained():
    rng = np.random.default_rng(SEED)
    animal = viscous(rng)
    worlds = [Trajectory(rng.normal(size=t.observations.shape), t.actions) for t in animal.trajectories]
    found = search_dynamics(worlds, animal.space)
    assert found.verdict == "unexplained" and "predict" in found.why, f"seed {SEED}: {found.why}"
