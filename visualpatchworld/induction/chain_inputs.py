"""What a chain's actuators get: columns of the action as they are, or one for each of its whole values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

MOST_VALUES = 6  # of a whole-numbered column that is read as a table


@dataclass(frozen=True)
class Input:
    """A column of the action, less what counts as no action, or whether it has one value."""

    column: int
    value: int | None = None
    centre: float = 0.0
    whole: bool = False  # whether the column holds whole numbers only, as discrete actions do

    def of(self, actions: Float[np.ndarray, "N A"]) -> Float[np.ndarray, " N"]:
        column = actions[:, self.column]
        return column - self.centre if self.value is None else (column == self.value).astype(float)

    @property
    def text(self) -> str:
        """As a program computes it."""
        if self.value is not None:
            return f"(action[{self.column}] == {self.value})"
        return f"(action[{self.column}] - {self.centre:g})" if self.centre else f"action[{self.column}]"


def plain_inputs(actions: Sequence[Float[np.ndarray, "T A"]]) -> tuple[Input, ...]:
    """Every column as it is."""
    acted = np.concatenate(actions)
    return tuple(Input(m, whole=bool(np.all(column == np.round(column)))) for m, column in enumerate(acted.T))


def table_inputs(actions: Sequence[Float[np.ndarray, "T A"]]) -> tuple[Input, ...] | None:
    """Columns of few whole values as a table, one input a value; None where there is no such column."""
    found: list[Input] = []
    for plain in plain_inputs(actions):
        values = np.unique(np.concatenate([acted[:, plain.column] for acted in actions]))
        tabled = plain.whole and 3 <= len(values) <= MOST_VALUES
        found += [Input(plain.column, int(value), whole=True) for value in values] if tabled else [plain]
    return tuple(found) if any(given.value is not None for given in found) else None
