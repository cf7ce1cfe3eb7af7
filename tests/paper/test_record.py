"""The record of a search, as whoever plans with its program reads it."""

import json
from pathlib import Path

import pytest

from visualpatchworld.paper.record import BadRecord, SearchRecord, read_search


def test_a_record_names_model_and_budget():
    assert SearchRecord(model="small", calls=8, tokens=None, program=None).label == "small, 8 calls"
    assert SearchRecord(model="small", calls=8, tokens=900, program=None).label == "small, 8 calls, 900 tokens"


def test_no_search_is_no_record(tmp_path: Path):
    assert read_search(tmp_path) is None


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"chosen": 3, "budget": {}, "candidates": []})])
def test_a_damaged_record_gets_a_sentence(tmp_path: Path, text: str):
    (tmp_path / "search.json").write_text(text)
    with pytest.raises(BadRecord, match="is no record of a search"):
        read_search(tmp_path)
