"""What an action does: its plain column, a table of choices, a nonlinear input, and an action that acts late."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.terms import Term
from visualpatchworld.world.world import ActionSpace

MOST_DELAY = 6
MOST_CHOICES = 12
BENDS = 7  # places at which an input may bend


@dataclass(frozen=True)
class Delay:
    """Actions act `steps` late; until then the State remembers them."""

    steps: int = 0
    columns: int = 1

    def code(self, column: int) -> str:
        """How the program speaks of the action that acts now."""
        return f"action[{column}]" if self.steps == 0 else f"state.{_past(column, self.steps, self.columns)}"

    @property
    def names(self) -> tuple[str, ...]:
        """Fields of the State that remember, the latest of every column first."""
        return tuple(_past(c, k, self.columns) for c in range(self.columns) for k in range(1, self.steps + 1))

    @property
    def memory(self) -> tuple[tuple[str, float, str], ...]:
        """What the State remembers: name, first value, next value."""
        return tuple(
            (_past(c, k, self.columns), 0.0, f"action[{c}]" if k == 1 else f"state.{_past(c, k - 1, self.columns)}")
            for c in range(self.columns)
            for k in range(1, self.steps + 1)
        )

    def remembered(self, actions: Float[np.ndarray, "T A"]) -> Float[np.ndarray, "T+1 M"]:
        """The remembered actions at every moment; before the first action nothing was done."""
        parts = [
            np.concatenate([np.zeros(k), actions[:, c]])[: len(actions) + 1] if len(actions) + 1 >= k else np.zeros(len(actions) + 1)
            for c in range(self.columns)
            for k in range(1, self.steps + 1)
        ]
        return np.stack(parts, axis=-1) if parts else np.zeros((len(actions) + 1, 0))


def _past(column: int, steps: int, columns: int) -> str:
    return f"action_{steps}_ago" if columns == 1 else f"action_{column}_{steps}_ago"


def remembered_action(name: str) -> bool:
    """Whether a field of the State is an action of some steps ago."""
    return re.fullmatch(r"action_(\d+_)?\d+_ago", name) is not None


def drives(space: ActionSpace, delay: Delay) -> list[Term]:
    """The plain inputs, one or more per column of the action: numbers as they are, and choices by their number and one by one."""
    terms = []
    for column in range(len(space)):
        code, label = delay.code(column), _label(space, column)
        if space.kind == "continuous":
            terms.append(Term(code, "drive", label, of=(code,)))
            continue
        count = space.counts[column]
        if count > 2:
            middle = (count - 1) / 2
            terms.append(Term(f"({code} - {middle:g})", "drive", label, of=(code,)))
            if count <= MOST_CHOICES:
                chosen = range(count)
                terms += [Term(f"({code} == {k})", "drive", f"{label}_{k}", cost=1.01, of=(code,)) for k in chosen]
        else:
            terms.append(Term(f"(2 * {code} - 1)", "drive", label, of=(code,)))
    return terms


def shaped_drives(space: ActionSpace, delay: Delay) -> list[Term]:
    """Inputs that do not act in proportion: clipped, with a dead zone, squared, as a root or a tangent."""
    if space.kind == "discrete":
        return []
    terms = []
    for column in range(len(space)):
        code, label = delay.code(column), _label(space, column)
        reach = max(abs(space.low[column]), abs(space.high[column]))
        reach = reach if np.isfinite(reach) and reach > 0 else 1.0
        parts = tuple(reach * np.linspace(0.04, 0.96, 24))
        clipped = f"np.clip({code}, -{{inner}}, {{inner}})"
        terms.append(Term(clipped, "saturation", label, 2.0, (code,), parts, inner_label=f"{label}_TOP"))
        terms.append(Term(f"({code} - {clipped})", "dead zone", label, 2.0, (code,), parts, inner_label=f"{label}_DEAD"))
        terms.append(Term(f"{code} * np.abs({code})", "drive", f"{label}_SQUARE", 1.3, (code,)))
        terms.append(Term(f"{code} ** 2", "drive", f"{label}_SQUARE", 1.2, (code,)))
        terms.append(Term(f"{code} ** 3", "drive", f"{label}_THIRD", 1.3, (code,)))
        terms.append(Term(f"np.sign({code}) * np.sqrt(np.abs({code}))", "drive", f"{label}_ROOT", 1.4, (code,)))
        terms.append(Term(f"np.abs({code})", "drive", f"{label}_SIZE", 1.3, (code,)))
        if reach < 1.5:
            terms.append(Term(f"np.tan({code})", "drive", f"{label}_TAN", 1.4, (code,)))
        terms.append(
            Term(
                f"np.tanh({{inner}} * {code})",
                "drive",
                label,
                2.1,
                (code,),
                tuple(np.geomspace(0.3, 6, 12) / reach),
                inner_label=f"{label}_STEEP",
            )
        )
        if space.low[column] < 0 < space.high[column]:
            one_way = f"np.clip({code}, 0, {{inner}})"
            terms.append(Term(one_way, "saturation", f"{label}_UP", 2.05, (code,), parts, inner_label=f"{label}_TOP"))
            terms.append(Term(f"np.maximum({code}, 0)", "drive", f"{label}_UP", 1.3, (code,)))
            terms.append(Term(f"np.minimum({code}, 0)", "drive", f"{label}_DOWN", 1.3, (code,)))
    return terms


def bends_of(actions: Float[np.ndarray, "N A"]) -> list[tuple[int, float]]:
    """Places at which a continuous input may bend what it does: a clip or a dead zone acts like a few straight pieces."""
    found = []
    for column, values in enumerate(actions.T):
        if len(np.unique(values)) > BENDS * BENDS:
            found += [(column, float(edge)) for edge in np.quantile(values, np.linspace(0, 1, BENDS + 2)[1:-1])]
    return found


def bent(actions: Float[np.ndarray, "T A"], edges: Sequence[tuple[int, float]]) -> Float[np.ndarray, "T E"]:
    """How far each input is beyond each of its bends."""
    pieces = [np.maximum(actions[:, column] - edge, 0.0) for column, edge in edges]
    return np.stack(pieces, axis=-1) if pieces else np.zeros((len(actions), 0))


def find_delay(
    targets: Sequence[Float[np.ndarray, " N"]],
    designs: Float[np.ndarray, "N P"],
    late: Sequence[Float[np.ndarray, "N Q"]],
) -> int:
    """By how many steps actions act late: `late[k]` are columns made of the actions k steps before, beside the columns of the state."""
    left = np.zeros(len(late))
    for k, columns in enumerate(late):
        whole = np.concatenate([designs, columns], axis=1)
        basis = np.linalg.qr(whole)[0]
        for target in targets:
            rest = target - basis @ (basis.T @ target)
            size = float(np.mean(target**2)) or 1.0
            left[k] += np.log(max(float(np.median(rest**2)) / size, 1e-20))
    best = int(np.argmin(left))
    return best if left[best] < left[0] - 0.3 * len(targets) else 0


def _label(space: ActionSpace, column: int) -> str:
    return "GAIN" if len(space) == 1 else f"GAIN_{column + 1}"
