"""What verbs say: one result on stdout, as a table or as JSON, and progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from visualpatchworld.strict_json import to_json

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
