"""Quoted figures: each with its source, marked as quoted, and consistent among themselves."""

import json
from pathlib import Path

import pytest

import visualpatchworld

QUOTED = json.loads((Path(visualpatchworld.__file__).parent / "paper" / "quoted.json").read_text(encoding="utf-8"))
TABLES = (
    "main envs cases hybrid-cost induction ablation sim-assist perception landscape cube-ladder "
    "reacher-metrics two-room-landscape "
    "multiseed worlds cwmb real goals edited noise siblings zoo odebench"
)


def test_every_table_of_the_protocol_is_there_with_its_source():
    assert list(QUOTED["tables"]) == TABLES.split(" ")
    assert all(table["source"] for table in QUOTED["tables"].values())


@pytest.mark.parametrize("name", [name for name, table in QUOTED["tables"].items() if "rows" in table])
def test_rows_say_that_they_are_quoted(name: str):
    assert all(row["quoted"] is True for row in QUOTED["tables"][name]["rows"])


@pytest.mark.parametrize(
    "row", [*QUOTED["tables"]["main"]["rows"], *QUOTED["tables"]["sim-assist"]["rows"]], ids=lambda row: row["method"]
)
def test_means_are_the_means_of_their_cells(row: dict):
    cells = list(row["success"].values())
    if None in cells:
        assert row["mean"] is None
    else:
        assert row["mean"] == pytest.approx(sum(cells) / len(cells), abs=0.06)


def test_the_same_figure_is_the_same_in_every_table():
    main = {row["method"]: row["success"] for row in QUOTED["tables"]["main"]["rows"]}
    assert all(
        main[row["method"]] == row["success"] for row in QUOTED["tables"]["sim-assist"]["rows"] if row["method"] in main
    )
    ours = main["VPW Oracle+Induced"]
    assert {row["domain"]: row["success"] for row in QUOTED["tables"]["induction"]["rows"]} == ours
    assert {row["domain"]: row["induced"] for row in QUOTED["tables"]["landscape"]["rows"]} == ours
    assert {row["domain"]: row["success"]["induced"] for row in QUOTED["tables"]["hybrid-cost"]["rows"]} == ours
    for row in QUOTED["tables"]["cases"]["rows"]:
        assert (main[row["method"]]["reacher"], main[row["method"]]["pusht"]) == (
            row["reacher_success"],
            row["pusht_success"],
        )
