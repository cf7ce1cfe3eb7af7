"""Recordings of calls: what was asked and what was answered, one line each; a run can be repeated offline or go on where it stopped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

from visualpatchworld.errors import CannotWrite, VpwError
from visualpatchworld.input import read_text
from visualpatchworld.output import write_lines
from visualpatchworld.strict_json import from_json, to_json

Mode = Literal["record", "replay"]


class BadRecording(VpwError):
    """A recording that cannot be read, belongs to another run, or ends too early."""


class Tape:
    """Calls in order. Those that are on the tape are answered from it; the next ones are added, unless the tape is only replayed."""

    def __init__(self, path: Path, mode: Mode):
        self.path, self.mode = path, mode
        self._entries = _read(path) if mode == "replay" or path.exists() else []
        self._lock, self._pending = threading.Lock(), {}
        if mode == "record":
            write_lines(path, [_line(entry) for entry in self._entries])  # what can not be written is told before anything is asked

    def __len__(self) -> int:
        return len(self._entries)

    def recall(self, index: int, body: dict[str, Any]) -> dict[str, Any] | None:
        """The recorded answer to call number `index`, or None where it is not recorded yet."""
        if index >= len(self._entries):
            if self.mode == "replay":
                raise BadRecording(f"The recording '{self.path}' holds {len(self._entries)} calls, and the run asks for more.")
            return None
        entry = self._entries[index]
        if entry["request"] != body:
            raise BadRecording(f"The recording '{self.path}' is of another run: its call {index + 1} asks something else.")
        return entry["answer"]

    def add(self, index: int, body: dict[str, Any], answer: dict[str, Any]) -> None:
        """Write a call down; calls that were made side by side are written in the order in which they were asked."""
        with self._lock:
            self._pending[index] = {"request": body, "answer": answer}
            while len(self._entries) in self._pending:
                entry = self._pending.pop(len(self._entries))
                _append(self.path, entry)
                self._entries.append(entry)


def _read(path: Path) -> list[dict[str, Any]]:
    lines = read_text(path, "recording", BadRecording).removesuffix("\n").split("\n")
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = from_json(line)
            if not (isinstance(entry["request"], dict) and isinstance(entry["answer"], dict)):
                raise TypeError
            entries.append({"request": entry["request"], "answer": entry["answer"]})
        except (ValueError, KeyError, TypeError, IndexError):
            if number == len(lines):
                break  # the run was interrupted while it wrote this line
            raise BadRecording(f"'{path}' is not a recording: line {number} is not a call.") from None
    return entries


def _line(entry: dict[str, Any]) -> str:
    return to_json(entry, sort_keys=True) + "\n"


def _append(path: Path, entry: dict[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_line(entry))
    except OSError as error:
        raise CannotWrite(f"Could not write the recording '{path}' ({error.strerror}).") from error
