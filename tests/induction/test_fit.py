"""Level 2 on small programs with known answers."""

import jax
import numpy as np
import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace
from visualpatchworld.induction import fit as induction_fit
from visualpatchworld.induction.fit import Fit, fit
from visualpatchworld.induction.loss import Loss, Model, Trial, quick_search_over, search_over
from visualpatchworld.induction.windows import (
    Windows,
    beginnings,
    cut_windows,
    joined,
    split_trajectories,
    trajectories_of,
    window_length,
)
from visualpatchworld.laws.constant import Constant, choice, positive, signed, threshold
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import unfitted
from visualpatchworld.scene.state import StateField, StateSpace
from visualpatchworld.trace.episode import collect
from visualpatchworld.world.trajectory import Trajectory

HEAD = "from typing import NamedTuple\nimport jax.numpy as np\nclass State(NamedTuple):\n    x: float\n"
SPACE = StateSpace((StateField("x", "m", "puck.pose.x"),))


def fitted(
    body: str, constants: dict[str, Constant], truth, *, space: StateSpace = SPACE, horizon: int = 4, search=search_over
) -> Fit:
    """Fit a one-field program to what `truth(x, a)` does."""
    rng = np.random.default_rng(3)
    starts, actions = rng.uniform(-1, 1, (60, 1)), rng.uniform(-1, 1, (60, horizon, 1))
    truths = np.zeros((60, horizon, 1))
    state = starts[:, 0]
    for t in range(horizon):
        state = truth(state, actions[:, t, 0])
        truths[:, t, 0] = state
    windows = Windows(starts, actions, truths)
    return fit(Program(HEAD + body), constants, windows, windows, space, rng, search(horizon))


@pytest.mark.parametrize("search", [search_over, quick_search_over])
def test_smooth_constants_come_back(search):
    body = "def step(state, action):\n    return State(KEEP * state.x + SPEED * action[0])\n"
    constants = {"KEEP": signed("", "", -2, 2), "SPEED": positive("m", "", 0.01, 1000)}
    found = fitted(body, constants, lambda x, a: 0.83 * x + 4.2 * a, search=search)
    assert found.values == pytest.approx({"KEEP": 0.83, "SPEED": 4.2}, rel=1e-6)
    assert all(error is not None and error < 1e-4 for error in found.errors.values())
    assert found.not_finite == 0


def test_a_descent_that_loses_its_step_to_rounding_does_not_end_the_fit(monkeypatch: pytest.MonkeyPatch):
    calls, real = [], induction_fit.least_squares

    def sometimes_lost(*given, **options):
        calls.append(1)
        if len(calls) % 3 == 0:
            raise ValueError("`x` is not within the trust region.")
        return real(*given, **options)

    monkeypatch.setattr(induction_fit, "least_squares", sometimes_lost)
    body = "def step(state, action):\n    return State(KEEP * state.x)\n"
    found = fitted(body, {"KEEP": signed("", "", -2, 2)}, lambda x, a: 0.83 * x)
    assert found.values == pytest.approx({"KEEP": 0.83}, rel=1e-6) and len(calls) >= 3


def test_a_threshold_is_found_by_the_scan():
    body = "def step(state, action):\n    return State(state.x + np.where(action[0] > EDGE, JUMP, 0.0))\n"
    constants = {"EDGE": threshold("", "", -1, 1), "JUMP": positive("m", "", 0.01, 100)}
    found = fitted(body, constants, lambda x, a: x + np.where(a > 0.37, 2.5, 0.0))
    assert found.values["JUMP"] == pytest.approx(2.5, rel=1e-6)
    assert found.values["EDGE"] == pytest.approx(0.37, abs=0.02)
    error = found.errors["EDGE"]
    assert error is not None
    assert abs(found.values["EDGE"] - 0.37) <= error < 0.03


def test_a_threshold_that_no_window_comes_near_is_said_to_be_open():
    body = "def step(state, action):\n    return State(state.x + np.where(action[0] > EDGE, JUMP, 0.0))\n"
    constants = {"EDGE": threshold("", "", -1, 9), "JUMP": positive("m", "", 0.01, 100)}
    found = fitted(body, constants, lambda x, a: x)
    assert "EDGE" in found.undetermined


def test_a_choice_is_made_by_the_data():
    turn = "        state = State(state.x + RATE * state.x * state.x + action[0])\n"
    body = f"def step(state, action):\n    for _ in range(COUNT):\n{turn}    return state\n"
    constants = {"COUNT": choice("", "", 1, 2, 3, 5), "RATE": positive("", "", 0.001, 1)}

    def truth(x, a):
        for _ in range(3):
            x = x + 0.05 * x * x + a
        return x

    found = fitted(body, constants, truth, horizon=2)
    assert found.values["COUNT"] == 3
    assert found.values["RATE"] == pytest.approx(0.05, rel=1e-5)


def test_angles_are_compared_the_short_way_round():
    body = "def step(state, action):\n    return State(np.mod(state.x + TURN, 6.283185307179586))\n"
    space = StateSpace((StateField("x", "rad", "puck.pose.angle", period=2 * np.pi),))
    found = fitted(body, {"TURN": positive("rad", "", 0.01, 3)}, lambda x, a: np.mod(x + 1.1, 2 * np.pi), space=space)
    assert found.values["TURN"] == pytest.approx(1.1, rel=1e-6)


def test_a_constant_the_data_say_nothing_about_is_said_to_be_open():
    body = (
        "def step(state, action):\n    return State(state.x + SPEED * action[0] + np.where(action[0] "
        "> 2.0, GHOST, 0.0))\n"
    )
    constants = {"SPEED": positive("m", "", 0.01, 100), "GHOST": positive("m", "", 0.01, 100)}
    found = fitted(body, constants, lambda x, a: x + 3.0 * a)
    assert found.undetermined == ("GHOST",)


def test_rollouts_that_are_not_finite_are_counted():
    body = "def step(state, action):\n    return State(state.x / (SPEED - SPEED))\n"
    found = fitted(body, {"SPEED": positive("m", "", 0.1, 10)}, lambda x, a: x + a)
    assert found.not_finite > 0


def test_a_few_windows_the_form_cannot_explain_do_not_spoil_the_rest():
    body = "def step(state, action):\n    return State(state.x + SPEED * action[0])\n"
    found = fitted(
        body, {"SPEED": positive("m", "", 0.01, 100)}, lambda x, a: x + 3.0 * a + np.where(a > 0.98, 40.0, 0.0)
    )
    assert found.values["SPEED"] == pytest.approx(3.0, rel=1e-3)


@pytest.mark.parametrize("vary", [{}, {"push": 6.0, "drag": 1.4}, {"push": 1.5, "drag": 0.35}])
def test_the_toys_constants_come_back_nominal_and_varied(toy: Domain, vary: dict[str, float]):
    constants = toy.constants.varied(vary)
    rng = np.random.default_rng(0)
    recordings = trajectories_of(collect(toy, constants, episodes=10, seed=0, pixels=False))
    train, held_out = split_trajectories(recordings, 0.2, rng)
    form = toy.family().named("push+drag")
    fitting, judging = (cut_windows(part, 10, 40, rng) for part in (train, held_out))
    found = fit(unfitted(form), form.constants, fitting, judging, toy.scene.state_space, rng, search_over(10))
    expected = {f"PUCK_{name}".upper(): getattr(constants, name) for name in ("push", "drag")}
    assert {name: found.values[name] for name in expected} == pytest.approx(expected, rel=1e-3)


def test_windows_hold_what_the_recordings_hold():
    states = np.arange(12.0)[:, None]
    recording = Trajectory(states, 10 * states[:-1])
    windows = cut_windows([recording], 3, 100, np.random.default_rng(0))
    assert len(windows) == 9
    np.testing.assert_array_equal(windows.truths[:, :, 0] - windows.starts, np.tile([1.0, 2.0, 3.0], (9, 1)))
    np.testing.assert_array_equal(windows.actions[:, 0, 0], 10 * windows.starts[:, 0])
    with pytest.raises(BadTrace, match="No episode has 20 steps"):
        cut_windows([recording], 20, 5, np.random.default_rng(0))


def test_beginnings_are_the_first_steps_of_recordings_that_are_long_enough():
    long, short = (Trajectory(np.arange(n + 1.0)[:, None], np.zeros((n, 1))) for n in (6, 2))
    windows = joined(*beginnings([long, short, long], 3))
    np.testing.assert_array_equal(windows.starts, np.zeros((2, 1)))
    np.testing.assert_array_equal(windows.truths[:, :, 0], np.tile([1.0, 2.0, 3.0], (2, 1)))


def test_windows_are_as_long_as_experiments_where_episodes_last_as_long_and_never_shorter_than_the_horizon():
    lasting = {n: [Trajectory(np.zeros((n + 1, 1)), np.zeros((n, 1)))] for n in (4, 16, 200)}
    assert window_length(5, lasting[200], lasting[16]) == 16
    assert window_length(5, lasting[16], lasting[200]) == 16
    assert window_length(5, lasting[200], lasting[4]) == 5
    assert window_length(5, lasting[200], []) == 5
    assert window_length(25, lasting[200], lasting[16]) == 25


def losses(body: str, constants: dict[str, Constant], starts: np.ndarray) -> list[Loss]:
    """By differences and exact, on windows of one step in which nothing moves."""
    windows = Windows(starts[:, None], np.ones((len(starts), 1, 1)), starts[:, None, None])
    models = (Model(Program(HEAD + body), constants, SPACE, exact=exact) for exact in (False, True))
    return [Loss(model, windows, np.ones(1), 1) for model in models]


def test_differences_agree_with_gradients_through_the_program():
    body = "def step(state, action):\n    return State(KEEP * state.x + SPEED**2 * np.sin(state.x))\n"
    constants = {"KEEP": signed("", "", -2, 2), "SPEED": positive("m", "", 0.1, 10)}
    trial = Trial(np.array([0.3, 0.7]), ())
    with jax.enable_x64(True):
        by_differences, exact = losses(body, constants, np.linspace(-1, 1, 9))
        np.testing.assert_allclose(by_differences.residuals(trial), exact.residuals(trial), atol=1e-12)
        np.testing.assert_allclose(by_differences.jacobian(trial), exact.jacobian(trial), rtol=1e-4, atol=1e-4)
        places = np.random.default_rng(0).uniform(size=(40, 2))
        np.testing.assert_allclose(by_differences.costs(places, ()), exact.costs(places, ()))


def test_a_jump_is_no_slope():
    body = "def step(state, action):\n    return State(state.x + np.where(state.x > EDGE, PUSH, 0.0))\n"
    constants = {"EDGE": signed("m", "", 0, 1), "PUSH": signed("m", "", -1, 1)}
    with jax.enable_x64(True):
        by_differences, _ = losses(body, constants, np.array([0.3, 0.5 - 1e-9, 0.8]))
        slopes = by_differences.jacobian(Trial(np.array([0.5, 0.9]), ()))
    np.testing.assert_allclose(slopes, [[0, 0], [0, 0], [0, 2]], atol=1e-6)


def test_of_the_last_trials_the_one_that_misses_least_wins():
    body = "def step(state, action):\n    return State(state.x + COUNT * action[0] + SPEED)\n"
    rng = np.random.default_rng(0)
    starts, actions = np.zeros((40, 1)), rng.uniform(0.5, 1.5, (40, 1, 1))
    windows = Windows(starts, actions, 2 * actions + 0.3)
    constants = {"COUNT": choice("", "", 2, 3), "SPEED": signed("m", "", -5, 5)}
    for judged, count in ((lambda states: 0, 2), (lambda states: int(np.ptp(states - 3 * actions) > 1e-6), 3)):
        found = fit(Program(HEAD + body), constants, windows, windows, SPACE, rng, quick_search_over(1), misses=judged)
        assert found.values["COUNT"] == count
        assert found.predicted is not None
        np.testing.assert_allclose(found.predicted, count * actions + found.values["SPEED"], rtol=1e-6)
