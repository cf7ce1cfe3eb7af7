"""What refutes a form is the judged quantity that is most times its tolerance, and terminal and page say the same."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from report.made_run import make_run
from rich.console import Console

from visualpatchworld.cli._verb import candidates_table
from visualpatchworld.induction.select import ProbeVerdict, Refutation, refutation
from visualpatchworld.paper.record import read_induction
from visualpatchworld.report.run import evidence_of

TOLERANCES = {"finger_m": 0.002, "joint_rad": 0.5}
# Raw magnitudes mislead: the fingertip is 20 times its tolerance off, the joints 1.2 times, and of the speed nothing is
# asked.
ERRORS = {"joint_rad": 0.6, "finger_m": 0.04, "speed_rad_s": 30.0}


def verdict(probe: str, explained: bool, errors: dict[str, float]) -> ProbeVerdict:
    return ProbeVerdict(probe, "order", errors, explained)


def test_the_first_probe_and_its_worst_judged_quantity():
    verdicts = [verdict("one", True, {}), verdict("two", False, ERRORS), verdict("three", False, {"finger_m": 9.0})]
    assert refutation(verdicts, TOLERANCES) == Refutation("two", "finger_m", 0.04, 0.002)
    assert str(refutation(verdicts, TOLERANCES)) == "refuted by 'two': finger_m off by 0.04, 0.002 allowed"


def test_nothing_refutes_what_explains_everything():
    assert refutation([verdict("one", True, ERRORS)], TOLERANCES) is None


@pytest.mark.parametrize("worst", [float("nan"), float("inf")])
def test_what_is_not_finite_is_furthest_off(worst: float):
    found = refutation([verdict("one", False, {"finger_m": 1e9, "joint_rad": worst})], TOLERANCES)
    assert found is not None and found.quantity == "joint_rad"


def test_an_error_that_is_missing_is_furthest_off():
    found = refutation([verdict("one", False, {"finger_m": 1e9})], TOLERANCES)
    assert found is not None and found.quantity == "joint_rad"


def test_terminal_and_page_name_the_same(tmp_path: Path):
    path = make_run(tmp_path / "made") / "induction.json"
    record: dict[str, Any] = json.loads(path.read_text())
    record["probe_tolerances"] = TOLERANCES
    record["candidates"][1]["verdicts"][1]["errors"] = ERRORS
    path.write_text(json.dumps(record))
    (said,) = [row.why for row in evidence_of(read_induction(path), {"finger_m": 7.0}).rows if row.why]
    assert said == "refuted by 'push 1': finger_m off by 0.04, 0.002 allowed"
    console = Console(file=io.StringIO(), width=200)
    console.print(candidates_table(record["candidates"], record["probe_tolerances"]))
    assert said in console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]
