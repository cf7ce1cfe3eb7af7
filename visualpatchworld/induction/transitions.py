"""Transitions: all steps of all trajectories as columns, and expressions over them as a program would write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.reading import Reading
from visualpatchworld.laws.shaping import wrap
from visualpatchworld.world.trajectory import Trajectory


@dataclass(frozen=True)
class Transitions:
    """N steps: states before and after, actions, rewards (NaN where there are none), and whether the world came to an end."""

    names: tuple[str, ...]
    before: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N A"]
    after: Float[np.ndarray, "N S"]
    rewards: Float[np.ndarray, " N"]
    ended: Bool[np.ndarray, " N"]

    def __len__(self) -> int:
        return len(self.before)

    def value(self, expression: str, names: Mapping[str, Any] | None = None) -> Float[np.ndarray, " N"]:
        """What a program's expression over `state`, `action`, `next_state` (and further names) is worth in every step."""
        known: dict[str, Any] = {"np": np, "wrap": wrap, "action": self.actions.T, **(names or {})}
        known["state"] = SimpleNamespace(**dict(zip(self.names, self.before.T, strict=True)))
        known["next_state"] = SimpleNamespace(**dict(zip(self.names, self.after.T, strict=True)))
        return np.broadcast_to(np.asarray(eval(expression, known), float), len(self))


def transitions(reading: Reading, trajectories: Sequence[Trajectory]) -> Transitions:
    """The steps of all trajectories, one after the other."""
    states = [reading.states(trajectory) for trajectory in trajectories]
    ended = []
    for trajectory in trajectories:
        ends = np.zeros(len(trajectory), bool)
        if len(ends):
            ends[-1] = trajectory.terminated
        ended.append(ends)
    return Transitions(
        reading.state_names,
        np.concatenate([part[:-1] for part in states]),
        np.concatenate([trajectory.actions for trajectory in trajectories]),
        np.concatenate([part[1:] for part in states]),
        np.concatenate([np.full(len(t), np.nan) if t.rewards is None else t.rewards for t in trajectories]),
        np.concatenate(ended),
    )
