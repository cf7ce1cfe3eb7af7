"""Of many proposals of memory, the one that the world has is recalled; none where the world has none."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import Small, small

from visualpatchworld.search.library import atoms_of
from visualpatchworld.search.look import look_at
from visualpatchworld.search.recall import recall
from visualpatchworld.search.rows import find_fields, rows_of


def queue_world(rng: np.random.Generator, late: int) -> Small:
    """A speed that follows an action `late` steps later."""
    drag, drive = rng.uniform(0.03, 0.08), rng.uniform(0.1, 0.3)

    def step(x, u):
        waiting = [*x[1:], u[0]]
        return np.array([x[0] - drag * x[0] + drive * waiting[0], *waiting[1:]])

    return small(
        step,
        lambda rng: (rng.uniform(-1, 1), *[0.0] * late),
        ("v",),
        rng,
        observe=lambda x: x[:1],
    )


def recalled(world: Small):
    rows = rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)
    atoms, every = atoms_of(rows), np.ones(len(rows), bool)
    look = look_at(rows, [*atoms.plain, *atoms.inputs], "v", every, ends=(0.0,))
    return recall(rows, atoms, look, "v", every)


@pytest.mark.parametrize("late", [1, 2])
def test_a_late_action_is_recalled_with_its_delay(late: int):
    found = recalled(queue_world(np.random.default_rng(SEED), late))
    assert found is not None
    memory, look = found
    assert len(memory.fields) == late
    assert {f.name for f in memory.fields} & {name for term in look.rate.terms for name in term.variables}


def test_nothing_is_recalled_where_the_present_explains_everything():
    assert recalled(queue_world(np.random.default_rng(SEED), 0)) is None
