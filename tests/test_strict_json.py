"""JSON both ways: what is written can be read by anyone, what is read can be shown."""

import json
import math

import numpy as np
import pytest

from visualpatchworld.strict_json import from_json, to_json


def test_what_is_not_finite_becomes_null():
    value = {"a": [math.nan, -math.inf, 1.5], "b": (np.float64("inf"), np.int64(3), np.bool_(True)), 7: None}
    assert json.loads(to_json(value)) == {"a": [None, None, 1.5], "b": [None, 3, True], "7": None}
    assert from_json('{"a": NaN, "b": [Infinity, 1e999, 2]}') == {"a": None, "b": [None, None, 2]}


def test_half_of_a_character_is_spelled_out():
    assert json.loads(to_json({"path\udcff": "\udcff"})) == {"path\\udcff": "\\udcff"}


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', "[" * 100_000, "", "{", b"\xff", b"\x00"])
def test_what_can_not_be_read_is_a_value_error(text: str | bytes):
    with pytest.raises(ValueError, match=r".+"):
        from_json(text)


def test_a_number_without_end_is_read_as_one_that_can_be_calculated_with():
    assert from_json("[" + "1" * 5000 + ", 12345678901234567890]") == [None, pytest.approx(1.2345678901234567e19)]
