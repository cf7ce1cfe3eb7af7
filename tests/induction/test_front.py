"""Rivals are a table with equations: of the new search by field, of the older one by law; records bring them back."""

from types import SimpleNamespace

import pytest

from visualpatchworld.errors import VpwError
from visualpatchworld.grammar.expr import call, number, var
from visualpatchworld.induction.discover import front_of_laws
from visualpatchworld.induction.front import Candidate, Front, front_from, rate_equation
from visualpatchworld.program.program import Program

ROW = Candidate("x", 2, 36.0, 1e-8, "x' = -0.7 x + 3 action[0]", "", True)


def test_a_table_marks_what_was_chosen():
    lines = str(Front((ROW._replace(terms=1, error=0.5, chosen=False), ROW))).splitlines()
    assert lines[0].split() == ["terms", "bits", "error", "equation"]
    assert lines[2].startswith(">") and not lines[1].startswith(">")
    assert str(Front()) == "no rivals were kept"


def test_rows_can_be_taken_one_by_one():
    front = Front((ROW,))
    assert len(front) == 1 and front[0] is ROW and list(front) == [ROW]


def test_records_bring_rows_back():
    assert front_from(Front((ROW,)).record) == Front((ROW,))
    assert front_from([{**ROW._asdict(), "error": None}])[0].error == float("inf")
    with pytest.raises(VpwError, match="damaged"):
        front_from([{"field": "x"}])


def test_equations_use_the_names_of_the_program():
    terms = (var("x1"), var("action_0_is_2"), call("sin", number(2.00001, free=True) * var("x0")))
    plain, latex = rate_equation("x1", terms, (-0.7, 3.0, 1.0), {"x0": "place", "x1": "place_speed"})
    assert plain == "place_speed' = -0.7 place_speed + 3 [action[0] = 2] + sin(2 place)"
    assert "\\sin" in latex


def test_laws_of_the_older_search_are_listed_once_each():
    def rival(name: str, rate: str, error: float, constants: int):
        text = f"""
from typing import NamedTuple
DT = 0.1
K = 2.0
class State(NamedTuple):
    x: float
def step(state, action):
    x = state.x + DT * ({rate})
    return State(x)
"""
        return SimpleNamespace(
            draft=SimpleNamespace(name=name, program=Program(text)), error=error, constants=constants
        )

    long = rival("drag, drive", "K * action[0] - state.x", 1e-6, 2)
    found = SimpleNamespace(
        draft=long.draft, evidence=(long, rival("drag", "-K * state.x", 0.2, 1), rival("drag", "-K * state.x", 0.3, 1))
    )
    front = front_of_laws(found)  # pyright: ignore
    assert [(row.terms, row.error, row.chosen) for row in front] == [(1, 0.2, False), (2, 1e-6, True)]
    assert front[1].equation == "x' = K action[0] - x"
