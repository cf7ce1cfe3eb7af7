"""Every small world of the zoo is found with nothing given: no names,
no time step, no form; its constants are drawn anew in every run.
"""

import numpy as np
import pytest
from draws import SEED
from small_worlds import ZOO

from visualpatchworld.induction.march import march
from visualpatchworld.induction.search import search_dynamics
from visualpatchworld.program.program import Program


@pytest.mark.parametrize("make", ZOO, ids=lambda make: make.__name__)
def test_world_of_the_zoo_is_found(make):
    animal = make(np.random.default_rng(SEED))
    found = search_dynamics(animal.trajectories, animal.space)
    shown = f"seed {SEED}: {found.verdict}, {found.why}\n{found.draft.program.text}"
    assert found.evidence[0].error <= animal.tolerance, shown
    constants = [abs(value) for value in found.draft.program.constants.values() if isinstance(value, int | float)]
    for name, truth in animal.constants.items():
        assert any(abs(value / abs(truth) - 1) < 0.01 for value in constants), f"{name} = {truth} is missing; {shown}"
    assert set(animal.laws) <= {law for law, _ in found.draft.laws}, shown


def test_program_observes_what_the_world_shows():
    animal = next(make for make in ZOO if make.__name__ == "extra_columns")(np.random.default_rng(SEED))
    found = search_dynamics(animal.trajectories, animal.space)
    model = Program(found.draft.program.text).bind_world("numpy")
    seen = animal.trajectories[0].observations[3]
    assert model.read is not None and model.observe is not None
    again = np.array(model.observe(model.read(seen)), float)
    known = [k for k, field in enumerate(found.reading.fields) if field.role != "noise"]
    np.testing.assert_allclose(again[known], seen[known], atol=1e-5, err_msg=f"seed {SEED}")


def test_delayed_actions_are_remembered_by_the_state():
    animal = next(make for make in ZOO if make.__name__ == "delay")(np.random.default_rng(SEED))
    found = search_dynamics(animal.trajectories, animal.space)
    assert found.memory.steps >= 1, f"seed {SEED}"
    trajectory = animal.trajectories[0]
    start = found.reading.states(trajectory)[:1]
    rolled = march(found.draft.program, start, trajectory.actions[None, :20])[0, -1]
    np.testing.assert_allclose(rolled, trajectory.observations[20], atol=1e-4, err_msg=f"seed {SEED}")


def test_a_stop_that_is_the_same_on_both_sides_is_one_law():
    animal = next(make for make in ZOO if make.__name__ == "soft_stop")(np.random.default_rng(SEED))
    found = search_dynamics(animal.trajectories, animal.space)
    stops = [bodies for law, bodies in found.draft.laws if law == "soft stop"]
    assert len(stops) == 1 and found.evidence[0].constants <= 4, (
        f"seed {SEED}: {found.draft.laws}\n{found.draft.program.text}"
    )
