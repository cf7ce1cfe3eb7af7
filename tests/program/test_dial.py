"""Dials are read off a program's text, and take nothing but numbers within their bounds."""

import math

import pytest

from visualpatchworld.program.dial import dials_of
from visualpatchworld.program.program import Program

TEXT = '''"""A program."""
PUSH = 3.0  # m/s^2  +- 0.01  at full action
DRAG = 0.7
SUBSTEPS = 4  # physics steps in one step
OFFSET = -1e-12  # m/s^2  +- 1e-10  of the rail
LOOSE = 2.0  # +- 5  spring: x
SHAPE = (1.0, 2.0)  # m  (from the scene graph)
'''


def test_what_the_text_says_of_each_constant():
    push, drag, substeps, offset, loose = dials_of(Program(TEXT))
    assert (push.name, push.line, push.value, push.stderr, push.unit, push.meaning) == (
        "PUSH",
        2,
        3.0,
        0.01,
        "m/s^2",
        "at full action",
    )
    assert (drag.stderr, drag.unit, drag.meaning) == (None, "", "")
    assert substeps.whole and substeps.meaning == "physics steps in one step"
    assert (loose.unit, loose.meaning) == ("", "spring: x")
    assert offset.unit == "m/s^2"


def test_bounds_hold_the_value_and_what_the_data_leave_open():
    dials = {dial.name: dial for dial in dials_of(Program(TEXT))}
    assert all(dial.low <= dial.value <= dial.high and dial.low < dial.high for dial in dials.values())
    assert dials["LOOSE"].low < 2.0 - 5.0 and dials["LOOSE"].high > 2.0 + 5.0
    # Zero to within rounding: what is usual for its unit says how far it may go.
    assert dials["OFFSET"].high > 1.0
    assert dials["SUBSTEPS"].low == 1.0


@pytest.mark.parametrize(("asked", "given"), [(1e9, 6.0), (-1.0, 0.0), (1.5, 1.5), (math.nan, None), (math.inf, None)])
def test_a_dial_is_turned_within_its_bounds(asked: float, given: float | None):
    assert dials_of(Program(TEXT))[0].turned(asked) == given


def test_whole_numbers_stay_whole():
    substeps = dials_of(Program(TEXT))[2]
    assert substeps.turned(2.4) == 2.0
    assert repr(substeps.written(2.0)) == "2"
