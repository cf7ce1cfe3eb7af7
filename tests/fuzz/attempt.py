"""One command in this process: what it did, and what was wrong with the way it did it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from visualpatchworld.cli import main

LONGEST_S = 300.0
FINE, REFUSED = 0, 2


class TookTooLong(BaseException):
    """A command that did not end; not an `Exception`, so that nothing on the way can take it for one of its own."""


@dataclass(frozen=True)
class Attempt:
    """What a command said and how it ended; `failure` is the traceback of one that ended in neither way that it may."""

    code: object
    out: str
    err: str
    failure: str = ""

    def complaints(self, arguments: Sequence[str], folder: Path) -> list[str]:
        """Everything that a user should not have seen."""
        found = [self.failure] if self.failure else []
        if self.code not in (FINE, REFUSED):
            found.append(f"it ended with {self.code!r}: {self.err.strip()[-2000:]}")
        if self.code == REFUSED and (self.err.count("\n") != 1 or not self.err.strip()):
            found.append(f"a refusal is one line, not {self.err[:2000]!r}")
        if "Traceback" in self.err or "Traceback" in self.out:
            found.append(f"a traceback: {self.err[-2000:]}")
        # A table that goes into a file is not shown.
        shown = list(arguments[:1]) != ["table"] or "--out" not in arguments
        if self.code == FINE and "--json" in arguments and shown:
            found += _json_complaints(self.out)
        found += [f"left behind: {path}" for path in folder.rglob(".*.part")]
        return found


def attempt(arguments: Sequence[str], folder: Path) -> Attempt:
    """Run a command in a folder; nothing of it gets out, not even a program's `print`."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    code: object = None
    failure = ""
    os.environ["VPW_TRACEBACK"] = ""
    limits = (
        contextlib.chdir(folder),
        _streams(out, err, ["vpw", *arguments]),
        _time_limit(LONGEST_S),
        warnings.catch_warnings(),
    )
    with tempfile.TemporaryFile() as past, _below(past), contextlib.ExitStack() as around:
        for limit in limits:
            around.enter_context(limit)
        warnings.simplefilter("ignore")
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code or FINE
        except TookTooLong:
            failure = f"it took longer than {LONGEST_S:.0f} s"
        except BaseException:
            failure = traceback.format_exc()
        past.seek(0)
        loose = past.read().decode("utf-8", "replace")
    return Attempt(code, _said(out), _said(err) + loose, failure)


def _json_complaints(out: str) -> list[str]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is not JSON")

    try:
        json.dumps(json.loads(out, parse_constant=refuse), ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        return [f"not strict JSON ({error}): {out[:500]!r}"]
    return []


@contextlib.contextmanager
def _below(file: IO[bytes]) -> Iterator[None]:
    """What libraries write past Python goes to the file."""
    kept = [os.dup(number) for number in (1, 2)]
    for number in (1, 2):
        os.dup2(file.fileno(), number)
    try:
        yield
    finally:
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)


@contextlib.contextmanager
def _streams(out: io.TextIOWrapper, err: io.TextIOWrapper, arguments: list[str]) -> Iterator[None]:
    before = sys.stdout, sys.stderr, sys.argv
    sys.stdout, sys.stderr, sys.argv = out, err, arguments
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.argv = before


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> NoReturn:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
