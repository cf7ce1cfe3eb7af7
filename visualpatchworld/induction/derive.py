"""Columns that follow from others at the same moment: short sums over coordinates, velocities, and cosines and sines of angles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import solve
from visualpatchworld.world.trajectory import Trajectory

MOST_TERMS = 5
EXACT = 1e-5  # of the column's spread may be left
NEAR = 5e-3  # the same for sums of few terms: an engine may compute a column at a slightly other moment
NEAR_TERMS = 3


class Expression(NamedTuple):
    """Code over `state`, the same for people, and what it leaves of the column's spread."""

    code: str
    shown: str
    left: float
    shifted: bool = False  # whether each episode adds a number of its own


def derived_expression(
    trajectories: Sequence[Trajectory],
    column: int,
    coordinates: Sequence[Coordinate],
    parameters: Sequence[int],
    noise: Float[np.ndarray, " O"],
    dt: float = 0.0,
) -> Expression | None:
    """How a column follows from these coordinates, or None if no short sum gives it.

    Some engines compute a column before the last of their physics steps is done: coordinates are tried a part of a step earlier, too.
    """
    if not coordinates:
        return None
    for most, exact, shifted in ((MOST_TERMS, EXACT, False), (NEAR_TERMS, NEAR, False), (MOST_TERMS, EXACT, True)):
        for parts in (0, 1, 2, 4, 5):
            lag = dt / parts if parts else 0.0
            found = _derived_at(trajectories, column, coordinates, parameters, noise, lag, most, exact, shifted)
            if found is not None:
                return found
    return None


def _derived_at(
    trajectories: Sequence[Trajectory],
    column: int,
    coordinates: Sequence[Coordinate],
    parameters: Sequence[int],
    noise: Float[np.ndarray, " O"],
    lag: float,
    most: int,
    exact: float,
    shifted: bool,
) -> Expression | None:
    reading = Reading((), tuple(coordinates), tuple((f"parameter_{c}", c) for c in parameters))
    states = np.concatenate([reading.states(t) for t in trajectories])
    target = np.concatenate([t.observations[:, column] for t in trajectories])
    spread = float(np.std(target))
    values = dict(zip(reading.state_names, states.T, strict=True))
    earlier = {c.name: f"(state.{c.name} - {lag:g} * state.{c.velocity})" for c in coordinates if c.velocity and lag}
    for c in coordinates:
        if c.name in earlier and c.velocity:
            values[c.name] = values[c.name] - lag * values[c.velocity]
    columns: dict[str, np.ndarray] = {"1": np.ones(len(target))}
    columns |= {f"state.{name}": value for name, value in values.items()}
    angles: dict[str, np.ndarray] = {}
    for i, c in enumerate(coordinates):
        angles[f"state.{c.name}"] = values[c.name]
        for d in coordinates[i + 1 :]:
            angles[f"state.{c.name} + state.{d.name}"] = values[c.name] + values[d.name]
            angles[f"state.{c.name} - state.{d.name}"] = values[c.name] - values[d.name]
    if len(angles) > 30:
        angles = dict(list(angles.items())[:30])
    for code, value in angles.items():
        columns[f"np.cos({code})"] = np.cos(value)
        columns[f"np.sin({code})"] = np.sin(value)
    speeds = [c.velocity for c in coordinates if c.velocity]
    for i, name in enumerate(speeds):
        for code, value in angles.items():
            columns[f"state.{name} * np.cos({code})"] = values[name] * np.cos(value)
            columns[f"state.{name} * np.sin({code})"] = values[name] * np.sin(value)
        for other in speeds[i:]:
            columns[f"state.{name} * state.{other}"] = values[name] * values[other]
    for i, c in enumerate(coordinates):
        columns[f"state.{c.name} ** 2"] = values[c.name] ** 2
        for d in coordinates[i + 1 :]:
            columns[f"state.{c.name} * state.{d.name}"] = values[c.name] * values[d.name]
            columns[f"np.hypot(state.{c.name}, state.{d.name})"] = np.hypot(values[c.name], values[d.name])
    codes = list(columns)
    design = np.stack([columns[code] for code in codes], axis=-1)
    if shifted:
        lengths = [len(t.observations) for t in trajectories]
        design, target = _centred(design, lengths), _centred(target, lengths)
        spread = float(np.std(target))
    enough = max(exact * spread, 4 * noise[column])
    fit = _short_sum(design[::2], target[::2], enough, most)
    if fit is None:
        return None
    chosen, beta = fit
    left = float(np.sqrt(np.mean((target[1::2] - design[1::2][:, chosen] @ beta) ** 2)))
    if left > 3 * enough:
        return None
    parts = [_part(value, codes[i]) for value, i in zip(beta, chosen, strict=True)]
    code = " + ".join(parts).replace("+ -", "- ")
    for name, moment in earlier.items():
        code = re.sub(rf"\bstate\.{name}\b", moment, code)
    return Expression(code, code.replace("state.", "").replace("np.", ""), left / (spread or 1.0), shifted)


def _centred(values: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """The values less their mean in each episode: what an episode adds all through falls out."""
    return np.concatenate([part - part.mean(axis=0) for part in np.split(values, np.cumsum(lengths)[:-1])])


def _short_sum(
    design: Float[np.ndarray, "N P"], target: Float[np.ndarray, " N"], enough: float, most: int
) -> tuple[list[int], np.ndarray] | None:
    """The first few columns of a forward search with a look back that leave no more than `enough`."""
    size = np.sqrt(np.mean(design**2, axis=0))
    scaled = design / np.where(size > 0, size, 1.0)
    chosen: list[int] = []
    left = target
    for _ in range(most):
        basis = np.linalg.qr(scaled[:, chosen])[0] if chosen else np.zeros((len(target), 0))
        rest = scaled - basis @ (basis.T @ scaled)
        norms = np.linalg.norm(rest, axis=0)
        gains = np.where(norms > 1e-7 * np.sqrt(len(target)), (left @ rest) ** 2 / np.maximum(norms, 1e-150) ** 2, 0)
        gains[chosen] = 0
        chosen.append(int(np.argmax(gains)))
        beta = solve(design[:, chosen], target)
        left = target - design[:, chosen] @ beta
        if np.sqrt(np.mean(left**2)) <= enough:
            # A term that came early may have become needless.
            for i in list(chosen):
                fewer = [j for j in chosen if j != i]
                trial = solve(design[:, fewer], target) if fewer else np.zeros(0)
                if fewer and np.sqrt(np.mean((target - design[:, fewer] @ trial) ** 2)) <= enough:
                    chosen, beta = fewer, trial
            return chosen, beta
    return None


def _part(value: float, code: str) -> str:
    near = float(f"{value:.6g}")
    number = f"{near:g}" if abs(near - value) <= 1e-7 * abs(value) else f"{value:.9g}"
    if code == "1":
        return number
    return code if number == "1" else f"-{code}" if number == "-1" else f"{number} * {code}"
