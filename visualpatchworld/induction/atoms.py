"""Atoms: the short expressions over a state and an action that rewards, ends and other rules of a world are made of."""

from __future__ import annotations

from collections.abc import Sequence

from visualpatchworld.induction.reading import Reading
from visualpatchworld.world.world import ActionSpace

MOST_ANGLES = 5


def state_atoms(reading: Reading, of: str = "state") -> list[str]:
    """Each field, and for an angle its wrapped value, cosine and sine, also of sums of angles along a chain; then derived columns."""
    plain, angles = [], []
    for coordinate in reading.coordinates:
        name = f"{of}.{coordinate.name}"
        if coordinate.angle:
            angles.append(name)
            plain += [f"wrap({name})", f"np.cos({name})", f"np.sin({name})"]
        else:
            plain.append(name)
    for count in range(2, min(len(angles), MOST_ANGLES) + 1):
        total = " + ".join(angles[:count])
        plain += [f"np.cos({total})", f"np.sin({total})"]
    speeds = [f"{of}.{coordinate.velocity}" for coordinate in reading.coordinates if coordinate.velocity]
    derived = [derived.expression.replace("state.", f"{of}.") for derived in reading.derived]
    return plain + speeds + [f"({expression})" for expression in derived] + [f"{of}.{name}" for name, _ in reading.parameters]


def goal_differences(reading: Reading, of: str = "state") -> list[str]:
    """How far each plain coordinate is from each thing that stays the same within an episode."""
    places = [f"{of}.{coordinate.name}" for coordinate in reading.coordinates if not coordinate.angle]
    return [f"({place} - {of}.{name})" for place in places for name, _ in reading.parameters]


def chain_heights(reading: Reading, of: str = "state") -> list[str]:
    """Heights and reaches of a chain's end with links of one length: sums of the cosines and sines of its absolute angles."""
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
    return [f"np.where(action[{i}] == {k}, 1.0, 0.0)" for i, count in enumerate(actions.counts) for k in range(1, count)]


def products(atoms: Sequence[str]) -> list[str]:
    """Squares and products of two."""
    squares = [f"{atom} ** 2" for atom in atoms]
    return squares + [f"{a} * {b}" for i, a in enumerate(atoms) for b in atoms[:i]]


def lengths(atoms: Sequence[str]) -> list[str]:
    """Distances: roots of two squares."""
    return [f"np.sqrt({a} ** 2 + {b} ** 2)" for i, a in enumerate(atoms) for b in atoms[:i]]
