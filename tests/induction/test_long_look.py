"""The long look: weak losses are found in noisy logs, and hidden velocities are unknowns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from visualpatchworld.induction.clock import NO_LIMIT
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.long_look import _Look, _Windows, long_look
from visualpatchworld.induction.reading import Coordinate
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

FREE = ActionSpace("continuous")


def swing(pull: float, dry: float, square: float, start: float, rows: int, dt: float, fine: int = 40) -> np.ndarray:
    """A pendulum about its rest with dry and quadratic friction, by small steps."""
    place, speed, seen = start, 0.0, []
    for _ in range(rows):
        seen.append((place, speed))
        for _ in range(fine):
            speed += dt / fine * (-pull * np.sin(place) - dry * np.sign(speed) - square * abs(speed) * speed)
            place += dt / fine * speed
    return np.array(seen)


def test_weak_losses_of_a_swing_are_distinguished():
    # Few long windows: a draw in which the losses are close to a viscous one needs a longer log.
    rng = np.random.default_rng(8)
    pull, dry, square = rng.uniform(20, 60), rng.uniform(0.1, 0.2), rng.uniform(0.003, 0.006)
    logs = []
    for start in (1.2, 1.5, 1.8):
        seen = swing(pull, dry, square, start, 2000, 0.004)
        logs.append(Trajectory(seen + rng.normal(size=seen.shape) * (0.0005, 0.01), np.zeros((1999, 0))))
    look = long_look(read_fields(logs, FREE, ("theta", "omega"), 0.004), logs, FREE)
    assert look is not None
    assert {"quadratic", "dry", "field"} <= {law for law, _ in look.draft.laws}
    found = look.draft.program.constants
    assert abs(found["THETA_PULL"]) == pytest.approx(pull, rel=0.01)
    assert abs(found["THETA_FRICTION"]) == pytest.approx(dry, rel=0.1)
    assert abs(found["THETA_DRAG_SQUARE"]) == pytest.approx(square, rel=0.1)


def test_a_hidden_velocity_is_an_unknown():
    rng = np.random.default_rng(1)
    spring, loss, gain, dt = rng.uniform(20, 40), rng.uniform(0.5, 1.0), rng.uniform(5, 10), 0.02
    inputs = np.repeat(rng.uniform(-1, 1, 200), 10)
    place, speed, seen = 0.0, 0.0, [0.0]
    for given in inputs:
        speed += dt * (-spring * place - loss * speed + gain * given)
        place += dt * speed
        seen.append(place)
    shown = np.array(seen)[:, None] + rng.normal(size=(len(seen), 1)) * 1e-4
    log, space = Trajectory(shown, inputs[:, None]), ActionSpace("continuous", (-1.0,), (1.0,))
    reading = replace(
        read_fields([log], space, ("x",), dt),
        coordinates=(Coordinate("x", (0,), velocity="x_speed"),),
        integrator="semi-implicit",
    )
    look = long_look(reading, [log], space)
    assert look is not None
    found = look.draft.program.constants
    assert found["X_SPRING"] == pytest.approx(-spring, rel=0.01)
    assert found["X_DRAG"] == pytest.approx(-loss, rel=0.05)
    assert found["X_GAIN"] == pytest.approx(gain, rel=0.01)
    assert look.left["x"] < 3e-4


def test_a_window_without_any_slope_is_fitted_without_a_failure():
    """Where a rollout runs away, its slopes are no numbers and count as none."""
    look: Any = object.__new__(_Look)
    look.windows = _Windows(np.ones((5, 1)), np.zeros((5, 3, 0)), np.ones((5, 4, 1)), np.arange(5) == 4)
    look.seen, look.units, look.size, look.clock = np.array([True]), np.ones(2), np.ones(1), NO_LIMIT
    look._run = lambda factors, starts: np.full((5, 4, 1), 1.5)
    look._slopes = lambda factors, starts: (np.full((5, 4, 1, 2), np.nan), np.full((5, 4, 1, 1), np.nan))
    found = look.fit(np.ones(2), (0, 1), np.ones((5, 1)))
    assert found is not None and np.isfinite(found.factors).all()
