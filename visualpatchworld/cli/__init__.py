"""The command line: every function without an underscore in a module without one is a verb;
verbs of one theme share a module.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from visualpatchworld.errors import VpwError

FAULT = 1
BAD_INPUT = 2
INTERRUPTED = 130
NO_READER = 141  # as a shell reports the signal SIGPIPE
EARLIER_NAMES = {"exhibit": "analyse"}  # of verbs, which scripts may still use
TRACEBACK = "VPW_TRACEBACK"  # set it to see where a failure came from


def main() -> None:
    """Run the command line; whatever a user can put right ends in one sentence on stderr."""
    _speak_any_encoding()
    _look_here()
    try:
        code = build_app()(prog_name="vpw", standalone_mode=False)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        _leave_stdout()
        sys.exit(NO_READER)  # whoever read has read enough: no word about it, as with any filter
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        _stop(*_sentence(error))
    if code == INTERRUPTED:  # how Typer reports Ctrl-C
        _stop("Interrupted; no half-written file was left.", INTERRUPTED)
    sys.exit(code)


def build_app() -> typer.Typer:
    """The application with every verb that is found in this folder."""
    app = typer.Typer(
        name="vpw", help=sys.modules["visualpatchworld"].__doc__, add_completion=False, pretty_exceptions_enable=False
    )
    app.callback(invoke_without_command=True)(_without_verb)
    for _, command in sorted(_commands().items()):
        app.command()(command)
    for old, new in EARLIER_NAMES.items():
        app.command(old, hidden=True)(_commands()[new])
    return app


def _commands() -> dict[str, Callable[..., None]]:
    modules = [
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
        if found.name[0] != "_"
    ]
    functions = (
        item
        for module in modules
        for item in vars(module).items()
        if getattr(item[1], "__module__", "") == module.__name__
    )
    return {name: function for name, function in functions if inspect.isfunction(function) and not name.startswith("_")}


def _without_verb(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _sentence(error: Exception) -> tuple[str, int]:
    """What went wrong in one sentence, and the exit status."""
    if isinstance(error, VpwError):
        return str(error), BAD_INPUT
    if isinstance(error, TyperException):
        return f"{error.format_message().rstrip('.')}. See 'vpw --help'.", BAD_INPUT
    if isinstance(error, MemoryError):
        return "There is not enough memory for this; ask for less at once.", BAD_INPUT
    if isinstance(error, OSError):
        place = "What is printed here" if error.filename is None else f"'{os.fsdecode(error.filename)}'"
        return f"{place} could not be read or written ({error.strerror or error}).", BAD_INPUT
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"This is a mistake in vpw, please report it ({said}); with {TRACEBACK}=1 it shows where it happened.", FAULT


def _stop(sentence: str, code: int) -> NoReturn:
    _leave_stdout()
    told = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(sentence.split()))
    print(told, file=sys.stderr)
    sys.exit(code)


def _speak_any_encoding() -> None:
    """Where a terminal has no sign for a character, it is spelled out;
    where there is no stdout or stderr, nobody listens.
    """
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w")
    sys.stderr = sys.stderr or nowhere.open("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _look_here() -> None:
    """Let `vpw run mine:MyEnv-v0` find `mine.py` in the present folder, last,
    so that it stands in for nothing that is installed.
    """
    try:
        here = str(Path.cwd())
    except OSError:  # the folder is gone
        return
    if here not in sys.path:
        sys.path.append(here)


def _leave_stdout() -> None:
    """Whatever could not be printed is given up, so that Python does not try, and complain, once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
