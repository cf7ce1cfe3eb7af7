"""Experiments go with a law to both ends of every field, within their budget."""

import numpy as np
from draws import SEED

from visualpatchworld.grammar.expr import var
from visualpatchworld.search.find import Law
from visualpatchworld.search.motion import Motion, Rate
from visualpatchworld.search.reach import reach
from visualpatchworld.search.rows import Field
from visualpatchworld.world.world import ActionSpace, Outcome, World


class Slide(World):
    """A place that an action pushes, as a world to step in."""

    name, field_names, time_limit = "slide", ("x",), 50

    def __init__(self, space: ActionSpace):
        self.action_space, self.env_steps, self.x = space, 0, 0.0

    @property
    def powers(self):
        return frozenset({"reset"})

    def reset(self, seed: int) -> np.ndarray:
        self.x = np.random.default_rng(seed).uniform(-0.1, 0.1)
        return np.array([self.x])

    def step(self, action: np.ndarray) -> Outcome:
        self.env_steps += 1
        self.x += 0.1 * (action[0] if self.action_space.kind == "continuous" else (0.0, 1.0, -1.0)[int(action[0])])
        return Outcome(np.array([self.x]), 0.0, False, False)


def law_of(term_weights: dict[str, float]) -> Law:
    moved = Rate(tuple(var(name) for name in term_weights), tuple(term_weights.values()))
    return Law((Field("x", (0,)),), Motion({"x": moved}), (), {}, {})


def furthest(space: ActionSpace, law: Law) -> tuple[Slide, list[float]]:
    world = Slide(space)
    found = reach(world, law, 200, np.random.default_rng(SEED))
    assert [len(t) for t in found] == [50, 50, 50, 50]
    return world, [float(t.observations[-1, 0] - t.observations[0, 0]) for t in found]


def test_every_field_goes_up_and_down_in_turn_within_the_budget():
    push = ActionSpace("continuous", low=(-1.0,), high=(1.0,))
    world, ends = furthest(push, law_of({"action_0": 0.1}))
    assert world.env_steps == 200
    # A walk under even random actions comes about half a unit far in fifty steps.
    assert min(ends[0], ends[2], -ends[1], -ends[3]) > 2.0


def test_choices_are_planned_as_well():
    three = ActionSpace("discrete", counts=(3,))
    _, ends = furthest(three, law_of({"action_0_is_1": 0.1, "action_0_is_2": -0.1}))
    assert min(ends[0], ends[2], -ends[1], -ends[3]) > 1.5


def test_a_law_without_fields_that_change_needs_no_experiment():
    still = Law((Field("mass", (0,), "steady"),), Motion({}), (), {}, {})
    push = ActionSpace("continuous", low=(-1.0,), high=(1.0,))
    assert reach(Slide(push), still, 100, np.random.default_rng(SEED)) == []


def test_the_same_seed_does_the_same():
    push = ActionSpace("continuous", low=(-1.0,), high=(1.0,))
    first, second = (reach(Slide(push), law_of({"action_0": 0.1}), 60, np.random.default_rng(SEED)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
