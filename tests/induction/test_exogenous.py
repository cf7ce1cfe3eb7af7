"""Columns that nothing predicts but that others depend on: laws are
found given them, and a column of mere noise stays what it is.
"""

import numpy as np
import pytest
from draws import SEED
from zoo import extra_columns

from visualpatchworld.induction.discover import discover
from visualpatchworld.induction.exogenous import find_outside
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.world.log import LogWorld, Recording
from visualpatchworld.world.trajectory import Trajectory

DT = 0.1


def sailing(rng, keep: float, push: float, gain: float) -> LogWorld:
    """A boat in a wind that comes as it will; what is paid is the wind's price of what was done."""
    episodes = []
    for _ in range(8):
        x, v, wind = rng.normal(), 0.0, rng.normal()
        seen, acted, paid = [(x, v, wind)], [], []
        for _ in range(100):
            action = rng.uniform(-1, 1)
            paid.append(wind * action - 0.5 * x)
            v += DT * (gain * action + push * wind - 0.4 * v)
            x += DT * v
            wind = keep * wind + np.sqrt(1 - keep**2) * rng.normal()
            seen.append((x, v, wind))
            acted.append((action,))
        episodes.append(Trajectory(np.array(seen), np.array(acted), np.array(paid)))
    names, bounds = ("place", "speed", "wind"), ((-1.0,), (1.0,))
    return LogWorld(Recording(tuple(episodes), names, dt=DT, choices=False, bounds=bounds), "sailing")


@pytest.mark.parametrize("keep", [0.0, 0.9], ids=("anew in every step", "slowly"))
def test_laws_are_found_given_a_random_wind(keep):
    rng = np.random.default_rng(SEED)
    push, gain = rng.uniform(0.5, 1.5, 2)
    found = discover(sailing(rng, keep, push, gain))
    shown = f"seed {SEED}: {found}\n{found.program.text}"
    assert found.verdict == "explained" and "wind is exogenous" in found.why, shown
    assert [field.role for field in found.reading.fields] == ["coordinate", "velocity", "exogenous"], shown
    values = [value for value in found.program.constants.values() if isinstance(value, float)]
    for truth in (push, gain):
        assert any(abs(value / truth - 1) < 1e-3 for value in values), shown
    assert found.reward.exact and "wind" in found.reward.expression, shown
    model = found.program.bind("numpy")
    state = model.State(place=0.0, speed=0.0, wind=2.0)
    after = model.step(state, np.array([0.0]))
    assert after.speed == pytest.approx(2 * DT * push, rel=1e-3), shown
    assert after.wind == pytest.approx(2 * keep, abs=0.3), shown


def test_noise_that_nothing_depends_on_is_left_out():
    animal = extra_columns(np.random.default_rng(SEED))
    reading = read_fields(animal.trajectories, animal.space)
    assert "noise" in [field.role for field in reading.fields], f"seed {SEED}"
    assert find_outside(reading, animal.trajectories, animal.space).columns == (), f"seed {SEED}"
