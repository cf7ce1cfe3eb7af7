"""Terms of the user's own are found where the search has none like them, and a cap holds for every rate."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import Small, small

from visualpatchworld.grammar.expr import call, var
from visualpatchworld.grammar.productions import BadTerm, Grammar
from visualpatchworld.search.find import find_law
from visualpatchworld.search.given import given_terms, num_terms
from visualpatchworld.search.library import atoms_of
from visualpatchworld.search.rows import find_fields, rows_of

BELL = "exp(-(3.0 * x) ** 2) * action[0]"  # no such term is in the search's own library


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


@pytest.fixture
def bell(rng: np.random.Generator) -> Small:
    """A place that a push moves only near the middle."""
    gain, drag = rng.uniform(0.5, 1.5), rng.uniform(0.05, 0.2)

    def step(s: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([s[0] + gain * np.exp(-((3 * s[0]) ** 2)) * u[0] - drag * s[0]])

    return small(step, lambda rng: rng.uniform(-1, 1, 1), ("x",), rng)


def test_a_term_that_was_given_is_found(bell: Small):
    law = find_law(bell.trajectories, bell.names, bell.space, grammar=Grammar((BELL,)))
    assert law.exact
    assert {str(term) for term in law.motion.rates["x"].terms} == {"x", "np.exp(-(3 * x) ** 2) * action_0"}


def test_a_number_inside_is_fitted(bell: Small):
    text = BELL.replace("3.0", "free(2.8)")
    law = find_law(bell.trajectories, bell.names, bell.space, grammar=Grammar((text,)))
    inner = [value for term in law.motion.rates["x"].terms for value in term.free_values]
    assert law.exact and np.abs(inner) == pytest.approx([3.0], rel=1e-4)


@pytest.mark.parametrize("most", [1, 2])
def test_a_cap_holds_for_every_rate(bell: Small, most: int):
    law = find_law(bell.trajectories, bell.names, bell.space, grammar=Grammar(max_terms=most))
    assert all(num_terms(rate.terms) <= most for rate in law.motion.rates.values())
    assert not law.exact


def test_choices_of_one_action_are_one_term():
    first, second = var("action_0_is_1"), var("action_0_is_2")
    assert num_terms((first, second, var("x"))) == 2
    assert num_terms((first * var("x"), second)) == 2


def test_a_term_without_a_value_is_named_and_left_out(bell: Small):
    rows = rows_of(bell.trajectories, find_fields(bell.trajectories, bell.names), bell.space)
    said: list[str] = []
    grammar = Grammar((call("log", var("x")), "x ** 4"))
    assert given_terms(grammar, atoms_of(rows), rows, said.append) == [var("x") ** 4]
    assert len(said) == 1 and "np.log(x)" in said[0] and "not tried" in said[0]


def test_an_unknown_name_is_refused(bell: Small):
    with pytest.raises(BadTerm, match="the search knows x, action_0"):
        find_law(bell.trajectories, bell.names, bell.space, grammar=Grammar(("x * speed",)))
