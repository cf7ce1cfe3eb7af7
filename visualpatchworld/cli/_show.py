"""What verbs say: one result on stdout, as a table or as JSON, and progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

Item = TypeVar("Item")


def show(result: Mapping[str, Any], as_json: bool, table: Table | None = None) -> None:
    """Print a result as one JSON object, or as a table (its fields and values unless another is given)."""
    if as_json:
        print(json.dumps(result))
    else:
        Console().print(table or fields_table(result))


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
