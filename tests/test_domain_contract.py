"""What every discovered domain keeps, whatever its engine."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import BadConstant, BadPicture, BadState, UnknownName
from visualpatchworld.scene.schema import parse_graph
from visualpatchworld.trace.episode import collect, record


def random_actions(domain: Domain, *shape: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1, 1, (*shape, domain.layout.action.width))


def test_observation_follows_state_space(domain: Domain):
    simulator = domain.make()
    state, _ = simulator.reset(seed=1)
    assert state.shape == (len(simulator.state_space),)
    assert state.dtype == np.float64
    np.testing.assert_array_equal(state, simulator.get_state())
    np.testing.assert_array_equal(simulator.state_space.wrap(state), state)
    assert domain.scene.state_space == simulator.state_space


def test_reset_repeats_under_seed(domain: Domain):
    simulator = domain.make()
    first, _ = simulator.reset(seed=5)
    again, _ = simulator.reset(seed=5)
    other, _ = simulator.reset(seed=6)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_engine_state_continues_exactly(domain: Domain):
    simulator = domain.make()
    simulator.reset(seed=2)
    actions = random_actions(domain, 8)
    for action in actions[:4]:
        simulator.step(action)
    saved = simulator.get_engine_state()
    onward = [simulator.step(action)[0] for action in actions[4:]]
    fresh = domain.make()
    fresh.reset(seed=9)
    fresh.reset(options={"engine_state": saved})
    np.testing.assert_array_equal([fresh.step(action)[0] for action in actions[4:]], onward)


def test_rollout_equals_stepping(domain: Domain):
    simulator = domain.make()
    simulator.reset(seed=4)
    start = simulator.get_engine_state()
    actions = random_actions(domain, 3, 4)
    rolled = simulator.rollout(start, actions)
    np.testing.assert_array_equal(simulator.get_engine_state(), start, err_msg="a rollout must not move the world")
    for sequence, states in zip(actions, rolled, strict=True):
        simulator.set_engine_state(start)
        stepped = np.array([simulator.step(action)[0] for action in sequence])
        np.testing.assert_allclose(simulator.state_space.difference(states, stepped), 0, atol=1e-9)


def test_set_state_puts_an_observed_state_back(domain: Domain):
    simulator = domain.make()
    state, _ = simulator.reset(seed=8)
    placed, _ = domain.make().reset(options={"state": state})
    position = [i for i, field in enumerate(simulator.state_space) if ".pose." in field.at]
    difference = simulator.state_space.difference(placed, state)
    scale = np.maximum(np.abs(state), 1)
    np.testing.assert_allclose((difference / scale)[position], 0, atol=5e-3)


def test_goal_is_met_where_it_lies(domain: Domain):
    simulator = domain.make()
    goal, _ = simulator.reset(seed=3)
    assert simulator.get_goal() is None
    simulator.set_goal(goal)
    np.testing.assert_array_equal(simulator.get_goal(), goal)
    for metric in domain.metrics.values():
        assert bool(metric(goal, goal))
        assert metric(np.tile(goal, (2, 3, 1)), goal).shape == (2, 3)
    main = next(iter(domain.metrics.values()))
    starts = np.array([simulator.reset(seed=seed)[0] for seed in range(20)])
    assert not main(starts, goal).all()
    simulator.reset(options={"state": goal})
    *_, success = simulator.step(np.zeros(simulator.action_dim))[4].values()
    assert success == bool(main(simulator.get_state(), goal))
    simulator.set_goal(None)
    assert simulator.get_goal() is None


def test_error_metrics_measure_distance(domain: Domain):
    simulator = domain.make()
    state, other = simulator.reset(seed=3)[0], simulator.reset(seed=4)[0]
    for name, quantity in domain.error_metrics.items():
        assert float(quantity(state, state)) == pytest.approx(0, abs=1e-6), name
        assert float(quantity(state, other)) > 0, name
        assert quantity(np.tile(state, (2, 3, 1)), other).shape == (2, 3), name


def test_picture(domain: Domain):
    simulator = domain.make()
    simulator.reset(seed=1)
    if not simulator.has_pictures:
        with pytest.raises(BadPicture, match="has no pictures"):
            simulator.render()
        return
    first = simulator.render()
    assert first.shape == (224, 224, 3)
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(simulator.render(), first)
    simulator.reset(seed=2)
    assert not np.array_equal(simulator.render(), first)


def test_bad_input_is_named(domain: Domain):
    simulator = domain.make()
    simulator.reset(seed=1)
    with pytest.raises(BadState, match="not finite"):
        simulator.step(np.full(simulator.action_dim, np.nan))
    with pytest.raises(BadState, match="shape"):
        simulator.step(np.zeros(simulator.action_dim + 1))
    with pytest.raises(BadState, match="shape"):
        simulator.set_goal(np.zeros(len(simulator.state_space) + 1))
    with pytest.raises(UnknownName, match="No constant 'nonsense'"):
        domain.make({"nonsense": 1})
    for row in domain.constants.table():
        with pytest.raises(BadConstant, match=row["name"]):
            domain.make({row["name"]: "nonsense"})


def test_layout_has_the_widths_of_the_simulator(domain: Domain):
    simulator = domain.make()
    simulator.reset(seed=1)
    layout = domain.layout
    assert sum(column.width for column in layout.state) == len(simulator.state_space)
    assert sum(column.width for column in layout.engine_state) == len(simulator.get_engine_state())
    assert layout.action.width == simulator.action_dim
    columns = layout.split(simulator.get_engine_state()[None], simulator.get_state()[None])
    np.testing.assert_array_equal(layout.join_engine_state(columns)[0], simulator.get_engine_state())
    np.testing.assert_array_equal(layout.join_state(columns)[0], simulator.get_state())


def test_state_graph_state_is_the_identity(domain: Domain):
    simulator = domain.make()
    for seed in range(5):
        state, _ = simulator.reset(seed=seed)
        graph = domain.scene.oracle(state, simulator.constants, step=seed)
        np.testing.assert_array_equal(simulator.state_space.read(graph), state)
        assert parse_graph(graph.text()) == graph
        assert domain.scene.oracle(simulator.state_space.read(graph), simulator.constants, step=seed) == graph


def test_collected_episode_replays_and_depends_on_its_seed_alone(domain: Domain):
    *_, last = collect(domain, domain.constants, episodes=2, seed=11)
    children = np.random.SeedSequence(11).spawn(2)
    alone = record(domain, domain.make(), 1, children[1], pixels=False)
    np.testing.assert_array_equal(alone.observations, last.observations)
    np.testing.assert_array_equal(alone.actions, last.actions)
    assert 2 <= last.num_rows <= domain.episode_steps
    simulator = domain.make()
    simulator.set_engine_state(last.engine_states[0])
    for t, action in enumerate(last.actions):
        state = simulator.step(action)[0]
        np.testing.assert_allclose(simulator.state_space.difference(state, last.observations[t + 1]), 0, atol=1e-6)


def test_gymnasium_accepts_it(domain: Domain):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        environment = gym.make(f"vpw/{domain.gym_id}")
        check_env(environment.unwrapped)
    assert type(environment.unwrapped) is type(domain.make())


def test_unknown_domain_is_named():
    with pytest.raises(UnknownName, match=r"No domain 'slidr'\. Found: .*slider.* Did you mean 'slider'\?"):
        load_domain("slidr")
