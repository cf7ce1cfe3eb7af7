"""Editing a program: other constants in the same text, which says so; what cannot be is one sentence."""

import re
from pathlib import Path

import pytest
from toy_program import RIGHT

from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import edit, parse_changes

HEADED = Program(
    '"""A puck.\n\nHeld-out error: 0.\n"""\n'
    + RIGHT.text.replace(
        "PUSH = 3.0",
        "PUSH = 3.0  # N  +- 2e-07  its push\nSUBSTEPS = 2  # turns\nWALLS = ((1.0, 2.0), (3.0, 4.0))  # m",
    )
    + "\n\ndef turn(state):\n    for _ in range(SUBSTEPS):\n        state = state\n    return state\n"
)


def test_an_edit_changes_the_constants_and_says_so():
    after = edit(HEADED, parse_changes(["PUSH=1.5", "WALLS=((1, 2), (3, 4), (5, 6))"], HEADED))
    assert after.constants["PUSH"] == 1.5
    assert after.constants["WALLS"] == ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
    assert after.constants["DRAG"] == HEADED.constants["DRAG"]
    assert "PUSH = 1.5  # N  its push" in after.text  # the error that was measured belongs to the value before
    assert "Edited: PUSH was 3.0" in (after.module.body[0].value.value)  # type: ignore[attr-defined]
    assert after.text.startswith('"""A puck.\n\nHeld-out error: 0.\nEdited:')
    plain = edit(RIGHT, {"PUSH": 2.0})
    assert plain.text.startswith('"""Edited: PUSH was 3.0.')


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("PULL=1", "No constant 'PULL'"),
        ("PUSH", "NAME=VALUE"),
        ("PUSH=much", "takes a number"),
        ("PUSH=1e400", "between"),
        ("PUSH=(1, 2)", "takes a number"),
        ("SUBSTEPS=1.5", "whole number"),
        ("SUBSTEPS=0", "from 1 to"),
        ("WALLS=3", "in brackets"),
        ("WALLS=((1, 2, 3),)", "takes 2 numbers"),
        ("PUSH=__import__('os')", "takes a number"),
    ],
)
def test_what_cannot_be_is_one_sentence(change: str, told: str):
    with pytest.raises((VpwError, UnknownName), match=re.escape(told)):
        edit(HEADED, parse_changes([change], HEADED))


def test_a_value_that_leaves_no_numbers_is_refused():
    divides = Program(RIGHT.text.replace("PUSH * action[0]", "PUSH * action[0] / DRAG"))
    with pytest.raises(VpwError, match="out of bounds"):
        edit(divides, {"DRAG": 0.0})


def test_every_kept_program_can_be_edited():
    for path in sorted((Path(__file__).parents[2] / "programs").glob("*/world_model.py"))[:6]:
        program = Program(path.read_text(encoding="utf-8"))
        numbers = {name: value for name, value in program.constants.items() if isinstance(value, float)}
        if numbers:
            name = next(iter(numbers))
            assert edit(program, {name: numbers[name] * 1.01}).constants[name] == pytest.approx(numbers[name] * 1.01)
