"""`vpw domains` lists what loads, and says of the rest in one sentence why it does not."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw

from visualpatchworld.domain import DOMAINS_VARIABLE

BENT = """
from visualpatchworld.domain import Domain
from visualpatchworld.domains.tworoom import TwoRoom, TwoRoomConstants
from visualpatchworld.scene.state import SceneTemplate
scene = SceneTemplate(objects=lambda constants: {}["chair"], near=1.0)
DOMAIN = Domain(name="bent", simulator=TwoRoom, constants=TwoRoomConstants(), goals={"at_goal": {"agent_px": 1.0}}, scene=scene)
"""


def test_a_broken_domain_hides_none_of_the_others(vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "crooked").mkdir()
    (tmp_path / "crooked" / "__init__.py").write_text("DOMAIN = 1 / 0\n")
    (tmp_path / "bent.py").write_text(BENT)
    monkeypatch.setenv(DOMAINS_VARIABLE, str(tmp_path))
    said = json.loads(vpw("domains", "--json"))
    assert len(said["domains"]) >= 4
    assert "ZeroDivisionError" in said["broken"]["crooked"]
    assert "does not work (KeyError" in said["broken"]["bent"]
    assert "'crooked'" in vpw("domains")
