"""The command line: every module here whose name has no underscore is a verb, and its function of the same name is the command."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import NoReturn

import typer
from typer.exceptions import TyperException

from visualpatchworld.errors import VpwError

BAD_INPUT = 2
INTERRUPTED = 130


def main() -> None:
    """Run the command line; whatever a user can put right ends in one sentence on stderr."""
    try:
        code = build_app()(prog_name="vpw", standalone_mode=False)
    except VpwError as error:
        _stop(str(error), BAD_INPUT)
    except TyperException as error:
        _stop(f"{error.format_message().rstrip('.')}. See 'vpw --help'.", BAD_INPUT)
    if code == INTERRUPTED:  # how Typer reports Ctrl-C
        _stop("Interrupted; no half-written file was left.", INTERRUPTED)
    sys.exit(code)


def build_app() -> typer.Typer:
    """The application with every verb that is found in this folder."""
    app = typer.Typer(name="vpw", help=sys.modules["visualpatchworld"].__doc__, add_completion=False, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_without_verb)
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            app.command()(getattr(importlib.import_module(f"{__name__}.{module.name}"), module.name))
    return app


def _without_verb(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _stop(sentence: str, code: int) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(code)
