"""What the sandbox's process says, believed only as far as it was checked: kinds, sizes and bounds of every field."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn, TypeGuard

from visualpatchworld.errors import printable

LONGEST_LINE = 65_536  # bytes of an answer before its numbers
LONGEST_SENTENCE = 400  # characters of an error; the rest is cut off
MOST_FAILURES = 64  # lanes whose sentence is told


class Nonsense(Exception):
    """An answer that no honest process gives."""


@dataclass(frozen=True)
class Refusal:
    """The program's own error, and the line that it came from."""

    sentence: str
    line: int | None


@dataclass(frozen=True)
class Rolled:
    """How rolling went, besides its numbers."""

    failures: dict[int, str]
    num_failed: int
    num_together: int


def read_answer(line: bytes) -> dict[str, Any]:
    """One line of JSON that is an object; numbers that JSON does not have are not taken."""

    def refuse(_: str) -> NoReturn:
        raise Nonsense

    try:
        answer = json.loads(line.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise Nonsense from None
    if not isinstance(answer, dict):
        raise Nonsense
    return answer


def protections_in(answer: dict[str, Any]) -> tuple[str, ...]:
    """What the process says is active."""
    told = answer.get("protections")
    if not isinstance(told, list) or not all(isinstance(name, str) for name in told):
        raise Nonsense
    return tuple(printable(name)[:LONGEST_SENTENCE] for name in told)


def refusal_in(answer: dict[str, Any]) -> Refusal | None:
    """The program's error, where there is one."""
    if "error" not in answer:
        return None
    sentence, line = answer["error"], answer.get("line")
    if not isinstance(sentence, str) or not (line is None or _is_count(line, 10**6)):
        raise Nonsense
    return Refusal(printable(sentence)[:LONGEST_SENTENCE], line)


def rolled_in(answer: dict[str, Any], num_lanes: int, num_steps: int) -> Rolled:
    """How rolling so many lanes forward went."""
    failures, num_failed, num_together = answer.get("failures"), answer.get("num_failed"), answer.get("num_together")
    if not isinstance(failures, dict) or not _is_count(num_failed, num_lanes) or not _is_count(num_together, num_lanes * num_steps):
        raise Nonsense
    if len(failures) > min(MOST_FAILURES, num_failed):
        raise Nonsense
    told = {}
    for lane, sentence in failures.items():
        if not (lane.isascii() and lane.isdigit() and len(lane) < 10 and int(lane) < num_lanes and isinstance(sentence, str)):
            raise Nonsense
        told[int(lane)] = printable(sentence)[:LONGEST_SENTENCE]
    return Rolled(told, num_failed, num_together)


def _is_count(value: object, most: int) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= most
