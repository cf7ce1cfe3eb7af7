"""JSON that every reader understands: no NaN, no Infinity, no half of a character; both ways, for files and for `--json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

LONGEST_WHOLE = 18  # digits of a whole number; what is longer reads as a float


def to_json(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> str:
    """One JSON text; a number that is not finite becomes null."""
    return json.dumps(_plain(value), indent=indent, sort_keys=sort_keys, allow_nan=False)


def from_json(text: str | bytes) -> Any:
    """What a JSON text holds, or a `ValueError`, whatever is wrong with it; a number that is not finite reads as null."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        found = json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=lambda _: None)
        json.dumps(found, ensure_ascii=False).encode("utf-8")  # half of a character can be read, and then never be shown
    except RecursionError:
        raise ValueError("its lists are too deep") from None
    return found


def _plain(value: Any) -> Any:
    """The same without numbers that JSON does not know and without halves of characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_plain(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    # What numpy computes is a number, too.
    return _plain(value.item()) if hasattr(value, "item") else value


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _whole(digits: str) -> int | float | None:
    return int(digits) if len(digits) <= LONGEST_WHOLE else _finite(digits)
