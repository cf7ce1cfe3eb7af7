"""A program's whole world in the sandbox: the same numbers as here, and nothing of it runs here."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cart import CART, CART_ID, SPACE
from toy_program import RIGHT

import visualpatchworld as vpw_library
from visualpatchworld.errors import VpwError
from visualpatchworld.induction.windows import replay_errors
from visualpatchworld.plan.return_search import ReturnPlanner
from visualpatchworld.plan.reward import CannotPlan
from visualpatchworld.program import sandbox
from visualpatchworld.program.env import as_env, locked_tracker, tracker
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import SandboxedWorld
from visualpatchworld.program.sandbox_process import Nonsense, width_in, world_in
from visualpatchworld.program.source import edit
from visualpatchworld.world.trajectory import Trajectory

START = np.array([[np.sin(0.7), np.cos(0.7)]])


@pytest.fixture
def nothing_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Program, *_: object) -> None:
        raise AssertionError("the program ran in this process")

    monkeypatch.setattr(Program, "_run", refuse)


def test_a_world_in_the_sandbox_is_the_world_here(nothing_runs_here: None, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(0)
    states, actions = rng.normal(size=(9, 2)), rng.uniform(-1, 1, (4, 9, 1))
    with SandboxedWorld(CART, 1) as world:
        lived, seen = world.live(states, actions), world.observe(states)
        read = world.read(seen)
    assert (world.field_names, world.has_reward) == (("x", "speed"), True)
    monkeypatch.undo()
    here = imagine(CART, "numpy")
    for n, state in enumerate(states):
        assert np.allclose(seen[n], here.observe(state)) and np.allclose(read[n], here.read(seen[n]))
        for t in range(len(actions)):
            after = here.step(state, actions[t, n])
            assert np.allclose(lived.states[t, n], after)
            assert lived.rewards[t, n] == pytest.approx(here.reward(state, actions[t, n], after))
            assert lived.ended[t, n] == here.terminated(after) and lived.valid[t, n] == here.valid(after)
            state = after


def test_hidden_fields_are_followed_as_they_are_here():
    here, rng = tracker(imagine(CART)), np.random.default_rng(1)
    truth, actions = imagine(CART, "numpy"), rng.uniform(-1, 1, (8, 1))
    state = np.array([0.4, 0.0])
    with SandboxedWorld(CART, 1) as world:
        locked = locked_tracker(world)
        ours, theirs = here.first(truth.observe(state)), locked.first(truth.observe(state))
        for action in actions:
            state = truth.step(state, action)
            ours, theirs = (
                track.next(at, action, truth.observe(state)) for track, at in ((here, ours), (locked, theirs))
            )
            assert np.allclose(ours, theirs, atol=1e-3) and np.allclose(theirs, state, atol=1e-3)


BARE = Program("""from typing import NamedTuple


class State(NamedTuple):
    x: float
    v: float


def step(state, action):
    v = 0.8 * state.v + 0.1 * action[0]
    return State(x=state.x + v, v=v)
""")


@pytest.mark.parametrize("program", [CART, BARE], ids=["with a hidden field", "without read and observe"])
def test_a_log_is_replayed_in_the_sandbox(program: Program, nothing_runs_here: None, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(2)
    acted = rng.uniform(-1, 1, (4, 30, 1))
    with SandboxedWorld(program, 1) as world:
        starts = rng.normal(0, 0.3, (4, 2))
        lived = np.concatenate([starts[None], world.live(starts, acted.swapaxes(0, 1)).states])
        seen = world.observe(lived.reshape(-1, 2)).reshape(31, 4, -1) + rng.normal(0, 1e-3, (31, 4, 2))
    log = [Trajectory(seen[:, k], acted[k]) for k in range(4)]
    there = replay_errors(program, log, 10, sandbox=True)
    monkeypatch.undo()
    here = replay_errors(program, log, 10)
    assert 1e-4 < here[0]["10"]["median"] < 0.1
    for ours, theirs in zip(here, there, strict=True):
        assert ours.keys() == theirs.keys()
        for steps, row in ours.items():
            assert theirs[steps] == pytest.approx(row, rel=1e-3)


def test_a_reward_is_planned_for_in_the_sandbox(nothing_runs_here: None, monkeypatch: pytest.MonkeyPatch):
    planner = ReturnPlanner(horizon=8, samples=48, rounds=3, elites=6)
    there = vpw_library.evaluate_return(CART_ID, CART, planner, episodes=2, sandbox=True)
    assert there.report["return_mean"] > there.report["random_return"]
    with pytest.raises(CannotPlan, match="slopes of the program"):
        vpw_library.evaluate_return(CART_ID, CART, ReturnPlanner(horizon=8, feedback=1), episodes=1, sandbox=True)
    monkeypatch.undo()
    here = vpw_library.evaluate_return(CART_ID, CART, planner, episodes=2)
    assert there.report["return_mean"] == pytest.approx(here.report["return_mean"], abs=0.05)
    with pytest.raises(CannotPlan, match="bound already"):
        vpw_library.evaluate_return(CART_ID, imagine(CART), planner, episodes=1, sandbox=True)


def test_an_environment_of_a_program_runs_in_the_sandbox(nothing_runs_here: None, monkeypatch: pytest.MonkeyPatch):
    def walk(**how: Any) -> list[Any]:
        env = as_env(CART, starts=START, action_space=SPACE, time_limit=3, **how)
        told = [env.reset(seed=0)[0].tolist()]
        for action in (1.0, -0.5, 0.2):
            seen, *rest, _ = env.step(np.array([action]))
            told += [seen.tolist(), rest]
        env.close()
        return told

    there = walk(sandbox=True)
    monkeypatch.undo()
    assert there == walk()


def test_an_edit_is_checked_in_the_sandbox(nothing_runs_here: None):
    divides = Program(CART.text.replace("0.1 * GAIN", "0.1 / GAIN"))
    assert edit(divides, {"GAIN": 4.0}, sandbox=True).constants["GAIN"] == 4.0
    with pytest.raises(BadProgram, match=r"GAIN=0\.0"):
        edit(divides, {"GAIN": 0.0}, sandbox=True)


def test_the_library_loads_and_measures_in_the_sandbox(
    nothing_runs_here: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "model.py").write_text(RIGHT.text)
    toy = vpw_library.load_domain("slider")
    program = vpw_library.load_program(toy, tmp_path / "model.py", sandbox=True)
    traces = vpw_library.collect(toy, episodes=10)
    errors = vpw_library.rollout_errors(toy, program, traces, horizon=5, sandbox=True)
    found = vpw_library.evaluate(toy, program, traces, tasks=2, offset=5, sandbox=True)
    with pytest.raises(VpwError, match="without a sandbox"):
        vpw_library.film(found, tmp_path / "films")
    monkeypatch.undo()
    here = vpw_library.rollout_errors(toy, program, traces, horizon=5)
    assert errors.keys() == here.keys()
    for quantity, rows in here.items():
        assert errors[quantity][5] == pytest.approx(rows[5], abs=1e-9)


def test_a_machine_without_a_filter_is_refused_unless_someone_insists(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sandbox, "FILTER", "a filter that no machine has")
    monkeypatch.delitem(os.environ, sandbox.INSIST, raising=False)
    with pytest.raises(sandbox.NoSandbox, match="--unfiltered"):
        as_env(CART, starts=START, action_space=SPACE, sandbox=True)
    as_env(CART, starts=START, action_space=SPACE, sandbox=True, unfiltered=True).close()


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"fields": "x", "defines": []},
        {"fields": ["x"], "defines": [1]},
        {"fields": ["a b"], "defines": []},
        {"fields": ["x"] * 9999, "defines": []},
        {"width": -1},
        {"width": 10**9},
        {"width": True},
    ],
)
def test_nonsense_about_a_world_is_not_believed(answer: dict[str, Any]):
    with pytest.raises(Nonsense):
        (width_in if "width" in answer else world_in)(answer)
