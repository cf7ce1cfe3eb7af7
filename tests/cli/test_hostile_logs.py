"""`vpw` on logs whose headers, labels and file names are code: none of it runs, and the programs are right."""

import builtins
import json
from pathlib import Path

import pytest
from cli.conftest import Vpw
from induction.test_hostile_text import CODE, FLAG, assert_right, write

from visualpatchworld.program.program import read_program

EVIL = [f'"""\nimport os; {CODE}\n"""', f"\\\n{CODE}", f'""" + str({CODE}) + """', "[/b]\x1b[31m"]
# The second field is called as the first constant and local of many programs are.
HEADERS = [("x²", "k1"), ("µ", "np"), ("½", "DT"), (f"x\n{CODE}", "state")]


@pytest.mark.parametrize(("text", "names"), list(zip(EVIL, HEADERS, strict=True)))
def test_a_hostile_log_is_induced_and_rolled_out(vpw: Vpw, tmp_path: Path, text: str, names: tuple[str, str]):
    log = tmp_path / f"{text.replace('/', ' ')}_next.csv"
    write(log, *names, "action", ["a", f"b{text}", f"c{text}"])
    columns = ("--episode", "episode", "--dt", 0.1)
    looked = json.loads(vpw("look", log, *columns, "--json"))
    assert [field["label"] for field in looked["fields"]] == list(names)
    vpw("look", log, *columns)
    vpw("induce", log, *columns, "--out", tmp_path / "found")
    assert_right(read_program(tmp_path / "found" / "world_model.py"), [0, 1, 2])
    rolled = json.loads(vpw("rollout", tmp_path / "found" / "world_model.py", "--traces", log, *columns, "--json"))
    assert max(row["mean"] for row in rolled["normalised_error"].values()) < 1e-5
    assert not hasattr(builtins, FLAG)


def test_a_run_of_a_hostile_log_executes_none_of_it(vpw: Vpw, tmp_path: Path):
    log = tmp_path / "evil.csv"
    write(log, "x", f"v{EVIL[0]}", "action", ["a", EVIL[0], EVIL[1]])
    vpw("run", log, "--episode", "episode", "--dt", 0.1, "--out", tmp_path / "found")
    page = (tmp_path / "found" / "report.html").read_text(encoding="utf-8")
    assert "evil.csv" in page and not hasattr(builtins, FLAG)
