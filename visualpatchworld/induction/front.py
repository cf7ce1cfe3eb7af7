"""`found.rivals`: what else was considered, the shortest first, with its size and its held-out error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from visualpatchworld.errors import VpwError
from visualpatchworld.grammar.expr import Expr, call, number, total, var
from visualpatchworld.grammar.notation import LATEX, PLAIN, Notation, written


class Candidate(NamedTuple):
    """One row: a rate of a field or, where whole laws were compared, a law."""

    field: str  # empty for a whole law
    terms: int  # or, of a whole law, its constants
    bits: float | None  # of its terms
    error: float  # held out: of one step, as a share of the spread of change; of a whole law, over its horizon
    equation: str
    latex: str
    chosen: bool


@dataclass(frozen=True)
class Front:
    """Rows in order of size for each field; `print` shows a table, and `pandas.DataFrame(front)` makes one.

    Example: `print(found.rivals)`, `[row.equation for row in found.rivals if row.field == "x"]`
    """

    rows: tuple[Candidate, ...] = ()

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Candidate:
        return self.rows[place]

    def __str__(self) -> str:
        if not self.rows:
            return "no rivals were kept"
        table = [("", "terms", "bits", "error", "equation")]
        table += [
            (
                ">" if row.chosen else "",
                str(row.terms),
                "" if row.bits is None else f"{row.bits:.0f}",
                f"{row.error:.2g}",
                row.equation,
            )
            for row in self.rows
        ]
        widths = [max(len(row[k]) for row in table) for k in range(4)]
        lines = [
            " ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in table
        ]
        return "\n".join(lines)

    @property
    def record(self) -> list[dict[str, Any]]:
        """The rows as plain data."""
        return [row._asdict() for row in self.rows]


def front_from(record: Iterable[Mapping[str, Any]]) -> Front:
    """The front in a record; `VpwError` where its rows are damaged."""
    try:
        rows = []
        for row in record:
            error = row["error"]
            values = {**row, "error": float("inf") if error is None else float(error), "terms": int(row["terms"])}
            rows.append(Candidate(**values))
        return Front(tuple(rows))
    except (KeyError, TypeError, ValueError):
        raise VpwError("The rivals in the record are damaged.") from None


def rate_equation(
    field: str, terms: Sequence[Expr], weights: Sequence[float], names: Mapping[str, str]
) -> tuple[str, str]:
    """The rate of a field as text and as LaTeX, numbers with the digits that a table needs."""
    swaps = {var(name): var(shown) for name, shown in names.items()}
    for name in sorted({name for term in terms for name in term.variables if name.startswith("action_")} - set(names)):
        stem, chosen, choice = name.partition("_is_")
        place = var(f"action[{stem.removeprefix('action_')}]")
        swaps[var(name)] = call("where", call("eq", place, float(choice)), 1.0, 0.0) if chosen else place
    shown = []
    for term, weight in zip(terms, weights, strict=True):
        short = term.with_free([float(f"{value:.4g}") for value in term.free_values]).substituted(swaps)
        shown.append(number(float(f"{weight:.4g}")) * short)

    def line(by: Notation) -> str:
        return f"{by.rate(names.get(field, field))}{by.equals}{written(total(shown), by)}"

    return line(PLAIN), line(LATEX)
