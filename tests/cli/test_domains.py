"""`vpw domains` lists what loads, and says of the rest in one sentence why it does not."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw

from visualpatchworld.domain import DOMAINS_VARIABLE


def test_a_broken_domain_hides_none_of_the_others(vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "crooked").mkdir()
    (tmp_path / "crooked" / "__init__.py").write_text("DOMAIN = 1 / 0\n")
    monkeypatch.setenv(DOMAINS_VARIABLE, str(tmp_path))
    said = json.loads(vpw("domains", "--json"))
    assert len(said["domains"]) >= 4
    assert "ZeroDivisionError" in said["broken"]["crooked"]
    assert "'crooked'" in vpw("domains")
