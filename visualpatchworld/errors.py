"""Failures that have a name: each message says what was wrong, what was allowed and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class VpwError(Exception):
    """Anything a user can put right; the command line prints its one sentence and exits with 2."""


class UnknownName(VpwError):
    """A name that is not among the ones found."""

    def __init__(self, kind: str, name: str, found: Iterable[str]):
        names = sorted(found)
        close = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        super().__init__(f"No {kind} '{name}'. Found: {', '.join(names) or 'none'}.{hint}")


class BadDomain(VpwError):
    """A folder that is to be a domain but does not load as one."""


class BadConstant(VpwError):
    """A physical constant with a value its simulator cannot have."""


class BadTrace(VpwError):
    """A trace file that is damaged, incomplete or of another domain."""


class BadGraph(VpwError):
    """A scene graph that does not follow the schema or lacks a value that was asked for."""


class BadState(VpwError):
    """A state, goal or action with the wrong shape or with values that are not finite."""


class CannotWrite(VpwError):
    """An output that could not be written; nothing is left of it."""


class MissingGraphics(VpwError):
    """Offscreen rendering was asked for on a machine without an OpenGL library."""


class MissingExtra(VpwError):
    """A package that only some worlds and verbs need, and that is not installed."""


class WorkerFailed(VpwError):
    """A worker process that ended by itself or could not do its part of the work."""


class BadPicture(VpwError):
    """A picture of the wrong size or kind, or none at all."""


def first_problem(error: ValidationError, whole: str) -> str:
    """Where data first broke the rules of its kind, and how; `whole` names what was checked."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or whole}: {first['msg'].lower()}"


def printable(text: str) -> str:
    """A text of someone else's on one line, with whatever a terminal would obey written out."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
