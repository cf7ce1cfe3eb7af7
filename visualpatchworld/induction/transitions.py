"""Transitions: all steps of all trajectories as columns, and the
short expressions over them that rules of a world are made of.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.reading import Reading
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

MOST_ANGLES = 5
MOST_GAPS = 6  # coordinates up to which each is measured from each other one


@dataclass(frozen=True)
class Transitions:
    """N steps: states before and after, actions, rewards (NaN
    where there are none), and whether the world came to an end.
    """

    names: tuple[str, ...]
    before: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N A"]
    after: Float[np.ndarray, "N S"]
    rewards: Float[np.ndarray, " N"]
    ended: Bool[np.ndarray, " N"]

    def __len__(self) -> int:
        return len(self.before)

    def value(self, expression: str, names: Mapping[str, Any] | None = None) -> Float[np.ndarray, " N"]:
        """What a program's expression over `state`, `action`,
        `next_state` (and further names) is worth in every step.
        """
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


def state_atoms(reading: Reading, of: str = "state") -> list[str]:
    """Each field, and for an angle its wrapped value, cosine and sine,
    also of sums of angles along a chain; then derived columns.
    """
    plain, angles = [], []
    for coordinate in reading.coordinates:
        name = f"{of}.{coordinate.name}"
        plain.append(f"wrap({name})" if coordinate.angle else name)
        if coordinate.angle or coordinate.name in reading.turning:
            angles.append(name)
            plain += [f"np.cos({name})", f"np.sin({name})"]
    for count in range(2, min(len(angles), MOST_ANGLES) + 1):
        total = " + ".join(angles[:count])
        plain += [f"np.cos({total})", f"np.sin({total})"]
    speeds = [f"{of}.{coordinate.velocity}" for coordinate in reading.coordinates if coordinate.velocity]
    derived = [derived.expression.replace("state.", f"{of}.") for derived in reading.derived]
    return (
        plain
        + speeds
        + [f"({expression})" for expression in derived]
        + [f"{of}.{name}" for name, _ in reading.parameters]
    )


def goal_differences(reading: Reading, of: str = "state") -> list[str]:
    """How far each plain coordinate is from each thing that stays the same within an episode."""
    places = [f"{of}.{coordinate.name}" for coordinate in reading.coordinates if not coordinate.angle]
    return [f"({place} - {of}.{name})" for place in places for name, _ in reading.parameters]


def gaps(reading: Reading, of: str = "state", other: str = "") -> list[str]:
    """How far plain coordinates are from each other: a follower and whom it follows. With `other`, one counts as it is
    in that state: a setpoint that has jumped since.
    """
    names = [c.name for c in reading.coordinates if not c.angle]
    names += [name for name, _ in reading.parameters if other]
    if len(names) > MOST_GAPS:
        return []
    ways = itertools.permutations(names, 2) if other else itertools.combinations(names, 2)
    return [f"({of}.{a} - {other or of}.{b})" for a, b in ways]


def gap_lengths(apart: Sequence[str]) -> list[str]:
    """Distances in a plane between two things of which each has two coordinates."""
    fields = [frozenset(re.findall(r"\.(\w+)", gap)) for gap in apart]
    pairs = itertools.combinations(range(len(apart)), 2)
    return [f"np.hypot({apart[i][1:-1]}, {apart[j][1:-1]})" for i, j in pairs if not fields[i] & fields[j]]


def chain_heights(reading: Reading, of: str = "state") -> list[str]:
    """Heights and reaches of a chain's end with links of one
    length: sums of the cosines and sines of its absolute angles.
    """
    angles = [f"{of}.{coordinate.name}" for coordinate in reading.coordinates if coordinate.angle][:MOST_ANGLES]
    sums = []
    for function in ("np.cos", "np.sin"):
        relative = [f"{function}({' + '.join(angles[: i + 1])})" for i in range(len(angles))]
        absolute = [f"{function}({angle})" for angle in angles]
        for links in (relative, absolute):
            sums += [f"({' + '.join(links[:count])})" for count in range(2, len(links) + 1)]
    return list(dict.fromkeys(sums))


def action_atoms(actions: ActionSpace) -> list[str]:
    """Each number of a continuous action, or one indicator for each choice of a discrete one but the first."""
    if actions.kind == "continuous":
        return [f"action[{i}]" for i in range(len(actions))]
    return [
        f"np.where(action[{i}] == {k}, 1.0, 0.0)" for i, count in enumerate(actions.counts) for k in range(1, count)
    ]


def products(atoms: Sequence[str]) -> list[str]:
    """Squares and products of two."""
    squares = [f"{atom} ** 2" for atom in atoms]
    return squares + [f"{a} * {b}" for i, a in enumerate(atoms) for b in atoms[:i]]


def lengths(atoms: Sequence[str]) -> list[str]:
    """Distances: roots of two squares."""
    return [f"np.sqrt({a} ** 2 + {b} ** 2)" for i, a in enumerate(atoms) for b in atoms[:i]]


def wrap(angle):
    """The angle within half a turn of zero."""
    return np.mod(angle + np.pi, 2 * np.pi) - np.pi


def bell(distance, width):
    """1 at no distance, falling off as a Gaussian."""
    return np.exp(-0.5 * (distance / width) ** 2)


def dome(distance, width):
    """1 at no distance, falling off as a parabola, and 0 from `width` on."""
    return np.maximum(1.0 - (distance / width) ** 2, 0.0)


def tail(distance, width):
    """1 at no distance, with a long tail."""
    return 1.0 / (1.0 + (distance / width) ** 2)
