"""The command line: every function without an underscore in a module without one is a verb;
verbs of one theme share a module.
"""

from __future__ import annotations

import atexit
import importlib
import inspect
import io
import os
import pkgutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from visualpatchworld import __version__
from visualpatchworld.cli._options import as_command
from visualpatchworld.errors import VpwError, printable

FAULT = 1
BAD_INPUT = 2
INTERRUPTED = 130
AGAIN_S = 1.0  # until an interrupt that was lost is raised once more; cleaning up takes less
NO_READER = 141  # as a shell reports the signal SIGPIPE
EARLIER_NAMES = {"exhibit": "analyse"}  # of verbs, which scripts may still use
TRACEBACK = "VPW_TRACEBACK"  # set it to see where a failure came from
# What a wrong command line raises; Typer has it from Click or from itself, depending on the version.
(UsageError,) = typer.BadParameter.__bases__


def main() -> None:
    """Run the command line; whatever a user can put right ends in one sentence on stderr."""
    _speak_any_encoding()
    interrupts = _hear_interrupts()
    try:
        code = build_app()(prog_name="vpw", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        _leave_stdout()
        sys.exit(NO_READER)  # whoever read has read enough: no word about it, as with any filter
    except typer.Abort:  # how Typer reports Ctrl-C before 0.26
        code = INTERRUPTED
    except Exception as error:
        if interrupts:  # numpy and JAX turn one into errors of their own
            code = INTERRUPTED
        elif os.environ.get(TRACEBACK):
            raise
        else:
            _stop(*_sentence(error))
    signal.setitimer(signal.ITIMER_REAL, 0)
    if code == INTERRUPTED:  # how Typer reports Ctrl-C
        _leave("Interrupted; no half-written file was left.")
    sys.exit(code)


def _hear_interrupts() -> list[int]:
    """Signals of Ctrl-C, as they come. Each raises `KeyboardInterrupt`, and does so again after a while,
    since an interrupt inside a callback of JAX is lost.
    """
    heard: list[int] = []

    def interrupt(number: int, _: object) -> NoReturn:
        heard.append(number)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        raise KeyboardInterrupt

    # Where an interrupt is ignored, as in the background, it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGALRM, interrupt)
        sys.unraisablehook = lambda lost: None if heard else sys.__unraisablehook__(lost)
    return heard


def build_app() -> typer.Typer:
    """The application with every verb that is found in this folder."""
    app = typer.Typer(name="vpw", help=sys.modules["visualpatchworld"].__doc__, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_without_verb)
    for _, command in sorted(_commands().items()):
        app.command()(as_command(command))
    for old, new in EARLIER_NAMES.items():
        app.command(old, hidden=True)(as_command(_commands()[new]))
    return app


def _show_version(asked: bool) -> None:
    if asked:
        print(f"vpw {__version__}")
        raise typer.Exit


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


def _without_verb(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Show the version and exit.", callback=_show_version)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _sentence(error: Exception) -> tuple[str, int]:
    """What went wrong in one sentence, and the exit status."""
    if isinstance(error, VpwError):
        return str(error), BAD_INPUT
    if isinstance(error, UsageError):
        return f"{error.format_message().rstrip('.')}. See 'vpw --help'.", BAD_INPUT  # pyright: ignore
    if isinstance(error, MemoryError):
        return "There is not enough memory for this; ask for less at once.", BAD_INPUT
    if isinstance(error, OSError):
        place = "What is printed here" if error.filename is None else f"'{os.fsdecode(error.filename)}'"
        return f"{place} could not be read or written ({error.strerror or error}).", BAD_INPUT
    said = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"This is a mistake in vpw, please report it ({said}); with {TRACEBACK}=1 it shows where it happened.", FAULT


def _stop(sentence: str, code: int) -> NoReturn:
    _leave_stdout()
    print(printable(sentence), file=sys.stderr)
    sys.exit(code)


def _leave(sentence: str) -> NoReturn:
    """Say so and end at once: a compilation that goes on in another thread would crash while Python is taken down."""
    _leave_stdout()
    print(printable(sentence), file=sys.stderr, flush=True)
    atexit._run_exitfuncs()
    os._exit(INTERRUPTED)


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


def _leave_stdout() -> None:
    """Whatever could not be printed is given up, so that Python does not try, and complain, once more when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
