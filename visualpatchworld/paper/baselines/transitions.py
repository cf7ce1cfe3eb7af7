"""Transitions: what a language model learns from, as arrays for the judge and as short text for prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.domain import Domain
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.world.trajectory import Trajectory

SMALL_ACTION = 0.1  # below it an action counts as rest


@dataclass(frozen=True)
class Transitions:
    """N single steps: the state before, the action, the state after."""

    before: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N A"]
    after: Float[np.ndarray, "N S"]

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, chosen: np.ndarray | Sequence[int] | slice) -> Transitions:
        return Transitions(self.before[chosen], self.actions[chosen], self.after[chosen])

    def thinned(self, most: int) -> Transitions:
        """At most so many of them, evenly spread."""
        return self[np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).astype(int))]


def transitions_of(recordings: Sequence[Trajectory]) -> Transitions:
    """Every single step of these recordings."""
    return Transitions(
        before=np.concatenate([recording.observations[:-1] for recording in recordings]),
        actions=np.concatenate([recording.actions for recording in recordings]),
        after=np.concatenate([recording.observations[1:] for recording in recordings]),
    )


def joined(first: Transitions, second: Transitions) -> Transitions:
    """Both, one after the other."""
    parts = zip((first.before, first.actions, first.after), (second.before, second.actions, second.after), strict=True)
    return Transitions(*(np.concatenate(pair) for pair in parts))


def errors(domain: Domain, predicted: Float[np.ndarray, "N S"], truth: Float[np.ndarray, "N S"]) -> dict[str, np.ndarray]:
    """The error of every quantity of the domain, infinite where the prediction is not finite."""
    finite = np.asarray(np.isfinite(predicted).all(axis=-1))
    filled = np.where(finite[:, None], predicted, 0.0)
    return {name: np.where(finite, quantity(filled, truth), np.inf) for name, quantity in domain.error_metrics.items()}


def right(domain: Domain, predicted: Float[np.ndarray, "N S"], truth: Float[np.ndarray, "N S"]) -> Bool[np.ndarray, " N"]:
    """Whether every quantity of each prediction is within the domain's tolerance of one step."""
    found = errors(domain, predicted, truth)
    within = [found[name] <= tolerance for name, tolerance in domain.transition_tolerances.items()]
    return np.all(within, axis=0)


def action_kind(action: Float[np.ndarray, " A"]) -> str:
    """The strongest component of an action and its sign, as `+1`, or `rest`."""
    strongest = int(np.argmax(np.abs(action)))
    if abs(action[strongest]) < SMALL_ACTION:
        return "rest"
    return f"{'+' if action[strongest] > 0 else '-'}action[{strongest}]"


def outcome_kind(domain: Domain, before: Float[np.ndarray, " S"], after: Float[np.ndarray, " S"]) -> str:
    """Which quantities changed by more than their tolerance."""
    moved = [name for name, quantity in domain.error_metrics.items() if quantity(before, after) > domain.transition_tolerances[name]]
    return ",".join(moved) or "nothing"


def contrastive(domain: Domain, transitions: Transitions, *, per_kind: int, most: int, rng: np.random.Generator) -> Transitions:
    """Transitions of as many kinds as there are (action kind, outcome kind), a few of each, kinds in turn."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for i in rng.permutation(len(transitions)):
        kind = action_kind(transitions.actions[i]), outcome_kind(domain, transitions.before[i], transitions.after[i])
        if len(kinds.setdefault(kind, [])) < per_kind:
            kinds[kind].append(int(i))
    turns = [kinds[kind][turn] for turn in range(per_kind) for kind in sorted(kinds) if turn < len(kinds[kind])]
    return transitions[turns[:most]]


def numbers(space: StateSpace, state: Float[np.ndarray, " S"], others: Float[np.ndarray, " S"] | None = None) -> str:
    """A state as `name=value, ...`; with `others`, only the fields in which they differ."""
    shown = [i for i in range(len(space)) if others is None or not _same(state[i], others[i])]
    return ", ".join(f"{space.names[i]}={state[i]:.5g}" for i in shown) or "unchanged"


def _same(a: float, b: float) -> bool:
    return bool(abs(a - b) <= 1e-6 * max(1.0, abs(b)))


def example(space: StateSpace, transitions: Transitions, i: int, predicted: Mapping[int, str] | None = None) -> str:
    """One transition as a line of a prompt: state, action, what changed and, where given, what a program made of it."""
    before, after = transitions.before[i], transitions.after[i]
    action = ", ".join(f"{value:.3g}" for value in transitions.actions[i])
    line = f"State({numbers(space, before)}), action=[{action}] -> {numbers(space, after, before)}"
    return line if predicted is None else f"{line}\n  but the program gave: {predicted[i]}"
