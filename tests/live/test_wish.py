"""A page can ask for a few things with numbers in bounds, and for nothing else."""

import json
from pathlib import Path

import pytest
from toy_program import RIGHT

from visualpatchworld.live.drawing import motion_text, world_text
from visualpatchworld.live.server import DEEDS, Refused, read_wish
from visualpatchworld.live.session import Session, turned
from visualpatchworld.live.start import start
from visualpatchworld.paper.record import find_program


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    path = tmp_path_factory.mktemp("live") / "world_model.py"
    path.write_text(RIGHT.text)
    return start(find_program(path), world="slider", horizon=10)


def test_a_wish_is_read(session: Session):
    wish = read_wish('{"do": "turn", "number": 1, "value": 0.5, "serial": 3}', session)
    assert (wish.do, wish.number, wish.value, wish.serial) == ("turn", 1, 0.5, 3)
    assert DEEDS["turn"](session, wish).values[1] == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "turn",
        "[]",
        '"turn"',
        "{}",
        '{"do": "exec", "value": 1}',
        '{"do": "__class__"}',
        '{"do": "turn", "number": 2}',
        '{"do": "turn", "number": -1}',
        '{"do": "turn", "number": 0.5}',
        '{"do": "turn", "number": true}',
        '{"do": "turn", "value": "import os"}',
        '{"do": "turn", "value": NaN}',
        '{"do": "turn", "value": Infinity}',
        '{"do": "turn", "value": 1e300}',
        '{"do": "turn", "value": [1]}',
        '{"do": "aim", "number": 2}',
        '{"do": "step", "number": 11}',
        '{"do": "save", "number": 1}',
        '{"do": "save", "path": "/etc/passwd"}',
        '{"do": "turn", "value": ' + "1" * 300 + "}",
        "[" * 290,
        b"\x00\x01",
    ],
)
def test_anything_else_is_refused(session: Session, text: str | bytes):
    with pytest.raises(Refused):
        read_wish(text, session)


def test_what_a_page_is_told(session: Session):
    world = json.loads(world_text(session))
    assert [dial["name"] for dial in world["dials"]] == ["PUSH", "DRAG"]
    assert [shape["name"] for shape in world["scene"]["shapes"]] == ["puck", "rail"]
    assert [line["dial"] for line in world["listing"] if line["dial"] is not None] == [0, 1]
    motion = json.loads(motion_text(turned(session, 0, 4.0), serial=5))
    assert (motion["serial"], motion["changed"], len(motion["true"]), len(motion["places"]["imagined"])) == (
        5,
        1,
        11,
        11,
    )
    assert motion["places"]["true"][4][0][0] == pytest.approx(motion["true"][4][0], rel=1e-5)


def test_the_text_of_a_program_stays_text(session: Session, tmp_path: Path):
    path = tmp_path / "world_model.py"
    path.write_text("# <script>alert(1)</script>\n" + RIGHT.text.replace("PUSH = 3.0", "PUSH = 3.0  # <b>m</b>"))
    listing = json.loads(world_text(start(find_program(path), world="slider", horizon=10)))["listing"]
    assert not any("<script>" in line["html"] or "<b>m" in line["html"] for line in listing)


def test_what_strays_without_bound_is_shown_as_nothing(session: Session):
    text = motion_text(turned(session, 1, session.dials[1].high))
    assert "NaN" not in text and "Infinity" not in text
