"""Rewards as code: a sum of short terms, a product of factors,
or one of two values; found from what was paid, not given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.ends import find_ends, tests
from visualpatchworld.induction.events import repeated
from visualpatchworld.induction.motion import Number
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.reward_forms import fewest, find_factors, find_peak, sparsest, stepwise
from visualpatchworld.induction.reward_places import find_distances
from visualpatchworld.induction.transitions import (
    Transitions,
    action_atoms,
    gap_lengths,
    gaps,
    goal_differences,
    lengths,
    products,
    state_atoms,
    wrap,
)
from visualpatchworld.world.world import ActionSpace

EXACT = 2e-6  # of the spread, what single precision leaves
# Two rules for short rewards: by the second alone a sum that is not exact would lose terms that are true, and by the
# first alone a long sum would take the place of a product that leaves far less.
NEARLY = 5e-4  # of the spread: terms of a sum that bring less than this together only fit what no term gives
AS_GOOD = 3.0  # times the least that is left: of rewards of all kinds that leave no more the shortest is taken
MOST_TERMS = 14
ENDED = "np.where(terminated(next_state), 1.0, 0.0)"
MOST_BESIDE = 150  # terms beside which distances from places are looked for
ONE_PIECE = 0.6  # of the time, for functions that are the same in every step
LEAST_STEPS = 8  # in which a function of their own shows
HELD_OUT = 4  # every fourth step judges and is not fitted to


@dataclass(frozen=True)
class Reward:
    """A reward as a function's text, with what it leaves unexplained
    on steps it was not fitted to, in units of the reward's spread.
    """

    expression: str
    left: float
    kind: str  # constant, sum, product, two values, or none
    helpers: tuple[Callable[..., Any], ...] = ()
    numbers: tuple[Number, ...] = ()

    @property
    def exact(self) -> bool:
        return self.left <= 10 * EXACT

    @property
    def why(self) -> str:
        if self.kind == "none":
            return "no reward was ever paid out"
        size = "to rounding" if self.exact else f"up to {self.left:.2g} of its spread"
        return f"a {self.kind} explains the reward of held-out steps {size}"

    def function(self) -> str:
        """The text of `reward(state, action, next_state)`."""
        doc = '    """What a step is worth."""'
        return "\n".join(["def reward(state, action, next_state):", doc, f"    return {self.expression}"])


NOTHING = Reward("0.0", np.inf, "sum")


def find_reward(reading: Reading, actions: ActionSpace, steps: Transitions, clock: Clock = NO_LIMIT) -> Reward:
    """The simplest function that explains what was paid; where none
    is exact, the one that leaves least of those tried in time.
    """
    steps = _rows(steps, np.isfinite(steps.rewards))
    if not len(steps):
        return Reward("0.0", 0.0, "none")
    edges = (float(steps.rewards.min()), float(steps.rewards.max()))
    often = max(int((steps.rewards == edge).sum()) for edge in edges)
    parting = [*([_apart_at_ends] if steps.ended.any() else []), *([_clipped] if often >= LEAST_STEPS else [])]
    found = _of_one_piece(reading, actions, steps, clock.part(ONE_PIECE) if parting else clock)
    for parted in parting:
        if not found.exact and not clock.over:
            found = min(found, parted(reading, actions, steps, clock), key=lambda reward: reward.left)
    return found


def _of_one_piece(reading: Reading, actions: ActionSpace, every: Transitions, clock: Clock) -> Reward:
    """A reward that is the same function in all of these steps."""
    steps = _within_range(every)
    judged = np.arange(len(steps)) % HELD_OUT == HELD_OUT - 1
    if np.ptp(steps.rewards) <= 1e-9 * float(np.abs(steps.rewards).max()):
        return Reward(_number(float(steps.rewards[0])), 0.0, "constant")
    found: list[Reward] = []
    few = len(np.unique(np.round(steps.rewards, 9))) == 2
    if not few and steps.rewards.min() >= 0:
        found.append(_peak(reading, steps, judged))
        if found[-1].exact:
            return found[-1]
    clipped = len(every) > len(steps)
    for number, (of, library) in enumerate(_libraries(reading, actions)):
        if number and clock.over:
            break
        found.append(_sum_of(library, steps, judged, clock))
        if not found[-1].exact and of and not few and len(library) < MOST_BESIDE:
            found.append(_from_places(reading, library, of, steps, judged, clock))
        # Where fields are clipped, what was meant may count with what became of an action.
        if found[-1].exact and (not clipped or holds(found[-1], every)):
            return found[-1]
    if few:
        found.append(_two_values(reading, steps))
    if not found[-1].exact and steps.rewards.min() >= 0 and not clock.over:
        found.append(_product(reading, actions, steps, judged, clock))
    exact = [reward for reward in found if reward.exact]
    least = min(reward.left for reward in found)
    near = [reward for reward in found if reward.left <= AS_GOOD * least]
    return exact[0] if exact else min(near, key=lambda reward: len(reward.expression))


def _apart_at_ends(reading: Reading, actions: ActionSpace, steps: Transitions, clock: Clock) -> Reward:
    """One function while the world goes on, and another one, most often a number, where it ends."""
    ended = steps.ended
    constant = ended.any() and np.ptp(steps.rewards[ended]) <= 1e-9 * float(np.abs(steps.rewards[ended]).max())
    if (~ended).sum() < LEAST_STEPS or not (constant or ended.sum() >= LEAST_STEPS):
        return NOTHING
    going = _of_one_piece(reading, actions, _rows(steps, ~ended), clock)
    last = _of_one_piece(reading, actions, _rows(steps, ended), clock)
    expression = f"np.where(terminated(next_state), {last.expression}, {going.expression})"
    whole = Reward(expression, np.inf, "sum", tuple(dict.fromkeys((*going.helpers, *last.helpers))))
    return replace(whole, left=_left(whole, steps))


def _clipped(reading: Reading, actions: ActionSpace, steps: Transitions, clock: Clock) -> Reward:
    """A function that pays no more, or no less, than some amount which was paid often."""
    for bound, edge in (("minimum", float(steps.rewards.max())), ("maximum", float(steps.rewards.min()))):
        there = steps.rewards == edge
        if there.sum() < LEAST_STEPS or (~there).sum() < LEAST_STEPS:
            continue
        inner = _of_one_piece(reading, actions, _rows(steps, ~there), clock)
        whole = replace(inner, expression=f"np.{bound}({inner.expression}, {_number(edge)})")
        if inner.exact and (left := _left(whole, steps)) <= 10 * EXACT:
            return replace(whole, left=left)
    return NOTHING


def holds(reward: Reward, steps: Transitions) -> bool:
    """Whether a reward explains what was paid about as well as where it was found."""
    steps = _rows(steps, np.isfinite(steps.rewards))
    if not len(steps) or reward.kind == "none":
        return not len(steps)
    return _left(reward, steps) <= max(10 * EXACT, 2 * reward.left)


def _left(reward: Reward, steps: Transitions) -> float:
    """What a reward leaves of what was paid, in units of its spread."""
    names = {helper.__name__: helper for helper in reward.helpers} | {
        number.name: number.value for number in reward.numbers
    }
    given = steps.value(reward.expression.replace("terminated(next_state)", "ended"), {**names, "ended": steps.ended})
    spread = max(float(np.std(steps.rewards)), 1e-3 * float(np.abs(steps.rewards).max()), 1e-300)
    return float(np.sqrt(np.mean((given - steps.rewards) ** 2))) / spread


def _within_range(steps: Transitions) -> Transitions:
    """The steps in which no field stands at a value that it is clipped
    to, since a reward may know more; all, where few would stay.
    """
    clipped = np.zeros(len(steps), bool)
    for column in (*steps.before.T, *steps.after.T):
        clipped |= repeated(column) & np.isin(column, (column.min(), column.max()))
    return _rows(steps, ~clipped) if (~clipped).mean() > 0.5 else steps


def _rows(steps: Transitions, kept: np.ndarray) -> Transitions:
    parts = (steps.before, steps.actions, steps.after, steps.rewards, steps.ended)
    return Transitions(steps.names, *(part[kept] for part in parts))


def _value(steps: Transitions, expression: str) -> np.ndarray:
    return steps.ended.astype(float) if expression == ENDED else steps.value(expression)


def _libraries(reading: Reading, actions: ActionSpace) -> list[tuple[str, list[str]]]:
    """From what is most often meant to what is rarely: the state after a step before the state it began in, few terms
    before many. Beside those that come with the name of a state, distances from places in it may stand.
    """
    acts = action_atoms(actions)
    efforts = (
        [*acts, *(f"{act} ** 2" for act in acts), *(f"np.abs({act})" for act in acts)]
        if actions.kind == "continuous"
        else acts
    )
    libraries = []
    for of in ("next_state", "state"):
        atoms = [*state_atoms(reading, of), *goal_differences(reading, of)]
        libraries.append((of, ["1.0", ENDED, *efforts, *atoms, *_folded(atoms)]))
    for of in ("next_state", "state"):
        atoms = [*state_atoms(reading, of), *goal_differences(reading, of)]
        bent = [atom for atom in atoms if not atom.startswith("wrap(")]
        libraries.append(("", ["1.0", ENDED, *efforts, *bent, *products(bent)]))
        mixed = [f"{act} * {atom}" for act in acts for atom in atoms]
        libraries.append((of, ["1.0", ENDED, *efforts, *atoms, *products(atoms), *lengths(atoms), *mixed]))
    changes = [f"({a.replace('state.', 'next_state.')} - {a})" for a in state_atoms(reading)]
    libraries.append(("", list(dict.fromkeys([*libraries[0][1], *libraries[1][1], *changes]))))
    made = [f"{atom} * {change}" for change in changes for atom in state_atoms(reading)]
    ends = [*state_atoms(reading, "next_state"), *state_atoms(reading)]
    libraries.append(("", ["1.0", ENDED, *efforts, *ends, *changes, *made]))
    for of, other in (("next_state", ""), ("state", ""), ("next_state", "state")):
        apart = gaps(reading, of, other)
        if apart:
            atoms = state_atoms(reading, of)
            far = [*_folded(apart), *gap_lengths(apart)]
            libraries.append(("", ["1.0", ENDED, *efforts, *atoms, *_folded(atoms), *far]))
    return libraries


def _folded(atoms: Sequence[str]) -> list[str]:
    return [*(f"{atom} ** 2" for atom in atoms), *(f"np.abs({atom})" for atom in atoms)]


def _sum_of(library: Sequence[str], steps: Transitions, judged: np.ndarray, clock: Clock) -> Reward:
    columns = np.stack([_value(steps, expression) for expression in library], axis=1)
    target = steps.rewards
    chosen = stepwise(columns[~judged], target[~judged], MOST_TERMS, EXACT, clock)
    if chosen.left > EXACT and not clock.over:
        chosen = sparsest(columns[~judged], target[~judged], EXACT, clock) or chosen
    spread = float(np.std(target))
    if chosen.left > EXACT:
        enough = NEARLY * spread / max(float(np.sqrt(np.mean(target**2))), 1e-300)
        chosen = fewest(columns[~judged], target[~judged], chosen, enough)
    weights = _shortened(columns[:, chosen.columns], target, chosen.weights, spread)
    left = float(np.sqrt(np.mean((target - columns[:, chosen.columns] @ weights)[judged] ** 2))) / spread
    terms = [_term(weight, library[int(i)]) for i, weight in zip(chosen.columns, weights, strict=True) if weight]
    expression = " + ".join(terms).replace("+ -", "- ") or "0.0"
    return Reward(expression, left, "sum", (wrap,) if "wrap(" in expression else ())


def _from_places(
    reading: Reading, library: Sequence[str], of: str, steps: Transitions, judged: np.ndarray, clock: Clock
) -> Reward:
    """A sum with distances from places that nobody named beside the terms of a library."""
    fields = [*(f"{of}.{c.name}" for c in reading.coordinates if not c.angle)]
    fields += [f"{of}.{c.velocity}" for c in reading.coordinates if c.velocity is not None]
    base = [term for term in library if not term.startswith(("np.abs(", "np.sqrt("))]
    columns = [_value(steps, term) for term in base]
    fit = ~judged & (~steps.ended | steps.ended.all())
    found = find_distances({f: steps.value(f) for f in fields}, columns, steps.rewards, fit, clock)
    return _sum_of([*base, *found], steps, judged, clock) if found else NOTHING


def _shortened(columns: np.ndarray, target: np.ndarray, weights: np.ndarray, spread: float) -> np.ndarray:
    """Weights with as few digits as they need: a shorter number stays where the error does not rise."""
    kept = weights.copy()

    def left(trial: np.ndarray) -> float:
        return float(np.sqrt(np.mean((target - columns @ trial) ** 2))) / spread

    bound = max(EXACT, 1.02 * left(weights))
    for i in np.argsort(-np.abs(weights)):
        for digits in range(1, 10):
            trial = kept.copy()
            trial[i] = float(f"{weights[i]:.{digits - 1}e}")
            if left(trial) <= bound:
                kept = trial
                break
    return kept


def _term(weight: float, expression: str) -> str:
    if expression == "1.0":
        return _number(weight)
    size = "" if abs(weight) == 1 else f"{_number(abs(weight))} * "
    return f"{'-' if weight < 0 else ''}{size}{expression}"


def _number(value: float) -> str:
    return repr(float(f"{value:.9g}"))


def _two_values(reading: Reading, steps: Transitions) -> Reward:
    """One value where a threshold is crossed, another elsewhere; whichever of the two is easier to tell."""
    low, high = float(steps.rewards.min()), float(steps.rewards.max())
    best = None
    for value, other in ((high, low), (low, high)):
        ends = find_ends(reading, steps, np.isclose(steps.rewards, value))
        left = (ends.unexplained / len(steps)) ** 0.5 * (high - low) / float(np.std(steps.rewards))
        if best is None or left < best.left:
            test = tests(ends.thresholds, lambda rule: _number(rule.value)).replace("state.", "next_state.")
            expression = f"np.where({test}, {_number(value)}, {_number(other)})"
            best = Reward(expression, left, "threshold", (wrap,) if "wrap(" in expression else ())
    assert best is not None
    return best


def _product(reading: Reading, actions: ActionSpace, steps: Transitions, judged: np.ndarray, clock: Clock) -> Reward:
    """Factors that each fall off with one thing: a field, an action, or a distance."""
    here = "next_state"
    places = [
        *goal_differences(reading, here),
        *(f"({d.expression.replace('state.', 'next_state.')})" for d in reading.derived),
    ]
    places += [f"{here}.{coordinate.name}" for coordinate in reading.coordinates if not coordinate.angle]
    acts = action_atoms(actions)
    atoms = [*state_atoms(reading, here), *acts, *lengths(places), *lengths(acts)]
    expression, left, helpers = find_factors({atom: steps.value(atom) for atom in atoms}, steps.rewards, judged, clock)
    return Reward(expression, left, "product", (*helpers, *((wrap,) if "wrap(" in expression else ())))


def _peak(reading: Reading, steps: Transitions, judged: np.ndarray) -> Reward:
    """A bell over the distance of a chain's end, or of a place, from a point that nobody named."""
    atoms = [atom for atom in state_atoms(reading, "next_state") if not atom.startswith("wrap(")]
    best = Reward("0.0", np.inf, "peak")
    for library in (["1.0", *atoms], ["1.0", *atoms, *products(atoms)]):
        expression, left, helpers = find_peak(library, [steps.value(term) for term in library], steps.rewards, judged)
        best = min(best, Reward(expression, left, "peak", helpers), key=lambda reward: reward.left)
        if best.exact:
            break
    return best
