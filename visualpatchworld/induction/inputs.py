"""What an action does: its plain column, a table of choices, a nonlinear
input, one that acts late, and how it goes between two rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.regress import solve
from visualpatchworld.induction.terms import Term
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

MOST_DELAY = 6
MOST_CHOICES = 12
BENDS = 7  # places at which an input may bend
LEAST_ROWS = 200  # to tell how an input goes between two of them
GAIN = 0.85  # of what is left without the next input may be left with it
SHARES = (0.05, 1.5)  # of the input's own effect that the next one has, where it is on its way there
MOST_COLUMNS = 10


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
            np.concatenate([np.zeros(k), actions[:, c]])[: len(actions) + 1]
            if len(actions) + 1 >= k
            else np.zeros(len(actions) + 1)
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
    """The plain inputs, one or more per column of the action: numbers
    as they are, and choices by their number and one by one.
    """
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
            terms.append(Term(code, "drive", f"{label}_ON", of=(code,)))
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
        terms.append(
            Term(f"({code} - {clipped})", "dead zone", label, 2.0, (code,), parts, inner_label=f"{label}_DEAD")
        )
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
    """Places at which a continuous input may bend what it does:
    a clip or a dead zone acts like a few straight pieces.
    """
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
    """By how many steps actions act late: `late[k]` are columns made
    of the actions k steps before, beside the columns of the state.
    """
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


class Between(NamedTuple):
    """Whether inputs are on their way to the next row, and the sentence that says why."""

    interpolated: bool
    why: str


def input_between(trajectories: Sequence[Trajectory]) -> Between:
    """Whether the input of the next row acts already before it, judged by a regression of every field's change.

    What a controller made of the next observation also tells of it; but it does so with a weight that no input on its
    way has: the next input acts the same way as the one before, and not much more.
    """
    width, inputs = trajectories[0].observations.shape[1], trajectories[0].actions.shape[1]
    long = [t for t in trajectories if len(t) >= 4]
    if not inputs or width > MOST_COLUMNS or sum(len(t) - 2 for t in long) < LEAST_ROWS:
        return Between(False, "held, since there are too few rows to ask")
    acted = [np.concatenate([t.actions[1:-1], t.actions[:-2]], axis=1) for t in long]
    ahead = np.concatenate([t.actions[2:] for t in long])
    seen = [np.concatenate([t.observations[1:-2], np.diff(t.observations[:-2], axis=0)], axis=1) for t in long]
    state, now = np.concatenate(seen), np.concatenate(acted)
    powers = np.concatenate([state, state**2, state**3], axis=1)
    base = np.concatenate([np.ones((len(state), 1)), powers, now], axis=1)
    change = np.concatenate([np.diff(t.observations[1:-1], axis=0) for t in long])
    judge = np.random.default_rng(0).random(len(state)) < 1 / 3
    best = Between(False, "held: the input of the next row tells nothing more")
    least = GAIN
    for k in range(width):
        if np.std(change[:, k]) == 0:
            continue
        without, _ = _left(base, change[:, k], judge)
        with_next, factors = _left(np.concatenate([base, ahead], axis=1), change[:, k], judge)
        own, next_one = factors[powers.shape[1] + 1 : powers.shape[1] + 1 + inputs], factors[-inputs:]
        shares = next_one / np.where(own == 0, np.inf, own)
        fitting = bool((np.abs(shares) > SHARES[0]).any()) and bool((shares[np.abs(shares) > SHARES[0]] > 0).all())
        fitting = fitting and bool((shares < SHARES[1]).all())
        if without > 0 and with_next < least * without and fitting:
            least = with_next / without
            best = Between(
                True, f"on its way to the next row: with that input {least:.2g} of the error of a regression is left"
            )
    return best


def _left(
    design: Float[np.ndarray, "N P"], target: Float[np.ndarray, " N"], judge: np.ndarray
) -> tuple[float, np.ndarray]:
    factors = solve(design[~judge], target[~judge])
    return float(np.sqrt(np.mean((target[judge] - design[judge] @ factors) ** 2))), factors
