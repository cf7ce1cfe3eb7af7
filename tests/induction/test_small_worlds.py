"""Small worlds are found with nothing given: no names, no time step, no form.

The search of `search/` counts no seconds and is tested on constants that are drawn again whenever the source changes.
The older search is bounded by a clock and is being retired: what only it finds is tested on fixed constants.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from draws import FIXED, SEED
from small_worlds import LAWFUL, OLDER, Animal, delay, extra_columns, soft_stop

from visualpatchworld.induction.lawful import Lawful, search_law
from visualpatchworld.induction.search import search_dynamics
from visualpatchworld.program.program import Program

KEPT_ASIDE = 2  # episodes


@cache
def drawn(make: Callable[[np.random.Generator], Animal]) -> tuple[Animal, Lawful]:
    """A world with drawn constants, and the law that is found of it."""
    animal = make(np.random.default_rng(SEED))
    names = [f"x{k}" for k in range(animal.trajectories[0].observations.shape[1])]
    fitted, aside = animal.trajectories[:-KEPT_ASIDE], animal.trajectories[-KEPT_ASIDE:]
    return animal, search_law(fitted, aside, names, animal.space, None, lambda _: None)


def check_constants(animal: Animal, program: Program, shown: str) -> None:
    """Each constant of the world is in the program, whatever its name and sign are there."""
    constants = [abs(value) for value in program.constants.values() if isinstance(value, int | float)]
    for name, truth in animal.constants.items():
        assert any(abs(value / abs(truth) - 1) < 0.01 for value in constants), f"{name} = {truth} is missing; {shown}"


@pytest.mark.parametrize("make", LAWFUL, ids=lambda make: make.__name__)
def test_a_law_is_found_for_any_constants(make):
    animal, found = drawn(make)
    shown = f"seed {SEED}: {found.errors}\n{found.emitted.text}"
    assert found.holds and found.left <= animal.tolerance, shown
    check_constants(animal, Program(found.emitted.text), shown)


@pytest.mark.parametrize("make", OLDER, ids=lambda make: make.__name__)
def test_the_older_search_finds_what_it_alone_can_find(make):
    animal = make(np.random.default_rng(FIXED))
    found = search_dynamics(animal.trajectories, animal.space)
    shown = f"{found.verdict}, {found.why}\n{found.draft.program.text}"
    assert found.evidence[0].error <= animal.tolerance, shown
    check_constants(animal, found.draft.program, shown)
    laws = [law for law, _ in found.draft.laws]
    assert set(animal.laws) <= set(laws), shown
    if make is soft_stop:  # the same on both sides: one law
        assert laws.count("soft stop") == 1 and found.evidence[0].constants <= 4, shown


def test_program_observes_what_the_world_shows():
    animal, found = drawn(extra_columns)
    model = Program(found.emitted.text).bind_world("numpy")
    seen = animal.trajectories[0].observations[3]
    assert model.read is not None and model.observe is not None
    again = np.array(model.observe(model.read(seen)), float)
    known = [k for k in range(len(seen)) if f"x{k}" not in found.law.noise]
    assert len(known) == len(seen) - 1
    np.testing.assert_allclose(again[known], seen[known], atol=1e-5, err_msg=f"seed {SEED}")


def test_delayed_actions_are_remembered_by_the_state():
    animal, found = drawn(delay)
    model = Program(found.emitted.text).bind_world("numpy")
    trajectory = animal.trajectories[0]
    assert model.read is not None and model.observe is not None
    state = model.read(trajectory.observations[0])
    assert len(state) > trajectory.observations.shape[1], f"seed {SEED}"
    for action in trajectory.actions[:20]:
        state = model.step(state, action)
    np.testing.assert_allclose(model.observe(state), trajectory.observations[20], atol=1e-4, err_msg=f"seed {SEED}")
