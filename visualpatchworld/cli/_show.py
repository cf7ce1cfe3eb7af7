"""What verbs say: one result on stdout, as a table or as JSON, and progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

Item = TypeVar("Item")


def show(result: Mapping[str, Any], as_json: bool, *parts: RenderableType) -> None:
    """Print a result as one JSON object, or for people: as the parts that are given, else as a table of its fields."""
    if as_json:
        print(json.dumps(result))
        return
    for part in [part for part in parts if part] or [fields_table(result)]:
        Console().print(part)


def fields_table(result: Mapping[str, Any]) -> Table:
    """One row per field."""
    table = Table(show_header=False)
    for name, value in result.items():
        table.add_row(name, value if isinstance(value, str) else json.dumps(value))
    return table


@contextmanager
def progress(items: Iterable[Item], what: str, total: int) -> Iterator[Iterable[Item]]:
    """The items, with a bar on stderr while they come, if someone is watching there."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
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
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what)
        yield lambda stage: bar.update(task, description=f"{what}: {stage}")
