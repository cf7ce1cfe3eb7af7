"""What verbs share: options that several have, progress, and how a result is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadConstant
from visualpatchworld.files import to_json
from visualpatchworld.scene.schema import Source
from visualpatchworld.simulator import Constants

MOST = 1_000_000  # of anything that can be counted: a typing slip is told, not waited for
LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes
DomainName = Annotated[str, typer.Argument(metavar="DOMAIN", help="Name of a domain; `vpw domains` lists them.")]
WorldName = Annotated[
    str,
    typer.Argument(metavar="WORLD", help="A domain, a Gymnasium id, dmc:DOMAIN/TASK, or a log (.npz .csv .parquet .h5 minari: lerobot:)."),
]
Fields = Annotated[
    str | None, typer.Option("--fields", metavar="NAME=ROLE,...", help="Correct what fields are: theta=angle,w=velocity:theta.")
]
ActionColumns = Annotated[str | None, typer.Option("--action", metavar="COL,COL", help="Columns of a table that are actions; or none.")]
StateColumns = Annotated[str | None, typer.Option("--state", metavar="COL,COL", help="Columns of a table that are observed.")]
EpisodeColumn = Annotated[str | None, typer.Option("--episode", metavar="COL", help="Column of a table that tells episodes apart.")]
StepSeconds = Annotated[float | None, typer.Option("--dt", metavar="SECONDS", help="Seconds between two rows of a log.")]
DomainOption = Annotated[str, typer.Option("--domain", metavar="DOMAIN", help="Name of a domain; `vpw domains` lists them.")]
TraceFile = Annotated[Path, typer.Argument(metavar="FILE.h5", help="Trace file in the LeWM layout.")]
View = Annotated[Source, typer.Option(help="Path from observation to scene graph.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Same seed, same output.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout and nothing else there.")]
InSandbox = Annotated[
    bool,
    typer.Option("--sandbox", help="Run the program nowhere but in the sandbox; for any that you have not read, a model's among them."),
]
Unfiltered = Annotated[
    bool, typer.Option("--unfiltered", help="With --sandbox: go on where the machine cannot keep the program from your files.")
]
Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="NAME=VALUE", help="Change a constant of the simulator (repeatable); `vpw domains --json` lists them."),
]


def varied_constants(domain: Domain, vary: Sequence[str] | None) -> Constants:
    """The domain's constants with the changes that `--vary` asks for."""
    return domain.constants.varied(changes(vary))


def changes(vary: Sequence[str] | None) -> dict[str, str]:
    """What `--vary` asks for, by name."""
    asked = {}
    for change in vary or ():
        name, equals, value = change.partition("=")
        if not equals:
            raise BadConstant(f"--vary takes NAME=VALUE, not '{change}'.")
        asked[name] = value
    return asked


def finite(value: float | tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    """The value of an option that has to be a number; `nan` and `inf` are none."""
    for number in value if isinstance(value, tuple) else () if value is None else (value,):
        if not math.isfinite(number):
            raise typer.BadParameter(f"{number} is not a number to calculate with")
    return value


Item = TypeVar("Item")


def show(result: Mapping[str, Any], as_json: bool, *parts: RenderableType) -> None:
    """Print a result as one JSON object, or for people: as the parts that are given, else as a table of its fields."""
    if as_json:
        print(to_json(result))
        return
    for part in [part for part in parts if part] or [fields_table(result)]:
        _console().print(part)


def _console(*, stderr: bool = False) -> Console:
    """Text is text: a bracket or a colon in somebody's path is no markup."""
    return Console(stderr=stderr, markup=False, emoji=False)


def fields_table(result: Mapping[str, Any]) -> Table:
    """One row per field."""
    table = Table(show_header=False)
    for name, value in result.items():
        table.add_row(name, value if isinstance(value, str) else to_json(value))
    return table


@contextmanager
def progress(items: Iterable[Item], what: str, total: int) -> Iterator[Iterable[Item]]:
    """The items, with a bar on stderr while they come, if someone is watching there."""
    console = _console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)

        # Not rich's own `track`: its thread outlives a failure between two items and keeps the process from ending.
        def counted() -> Iterator[Item]:
            for item in items:
                yield item
                bar.advance(task)

        yield counted()


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A function to say what is being done now; it shows on stderr with the time so far, if someone is watching there."""
    console = _console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what)
        yield lambda stage: bar.update(task, description=f"{what}: {stage}")
