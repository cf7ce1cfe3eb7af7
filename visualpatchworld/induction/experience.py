"""Experience: trajectories as states and steps, what is held out of them, and how noisy they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.inputs import Delay
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import FLOAT64, robust_spread, roundings
from visualpatchworld.induction.sums import Response, angle_columns, responses
from visualpatchworld.induction.terms import Rows, rows_of
from visualpatchworld.world.trajectory import Trajectory

HORIZON = 25
COARSE = 0.005  # of a field's motion in a step: from there on rounding counts as noise of observations
HELD_OUT_EVERY = 4  # one episode in so many is held out; of fewer episodes the last part of each


@dataclass(frozen=True)
class Experience:
    """Trajectories as states (and remembered actions): those to learn from and those held out."""

    memory: Delay
    names: tuple[str, ...]
    states: list[Float[np.ndarray, "T+1 S"]]
    actions: list[Float[np.ndarray, "T A"]]
    held_states: list[Float[np.ndarray, "T+1 S"]]
    held_actions: list[Float[np.ndarray, "T A"]]
    rows: Rows
    noise: Float[np.ndarray, " S"]
    rounding: Float[np.ndarray, " S"]  # the part of noise that comes from how numbers are stored
    seen: Bool[np.ndarray, " S"]  # which fields are observed at all
    noisy: bool  # whether observations are off by more than rounding

    @property
    def horizon(self) -> int:
        """How far rivals are rolled out on what is held out: 25 steps where episodes are that long."""
        longest = sorted((len(a) for a in self.held_actions), reverse=True)
        return max(1, min(HORIZON, longest[len(longest) // 2]))


def experience(reading: Reading, trajectories: Sequence[Trajectory], memory: Delay) -> Experience:
    """The trajectories as the reading sees them, with what noise they show."""
    states = [np.concatenate([reading.states(t), memory.remembered(t.actions)], axis=1) for t in trajectories]
    actions = [t.actions for t in trajectories]
    skip = int(bool(reading.hidden)) + memory.steps
    states, actions = [s[skip:] for s in states], [a[skip:] for a in actions]
    if reading.hidden and reading.integrator == "explicit":
        states, actions = [s[:-1] for s in states], [a[:-1] for a in actions]
    long = [i for i, a in enumerate(actions) if len(a) >= 1]
    states, actions = [states[i] for i in long], [actions[i] for i in long]
    names = (*reading.state_names, *memory.names)
    if len(states) >= HELD_OUT_EVERY:
        held = [i for i in range(len(states)) if i % HELD_OUT_EVERY == HELD_OUT_EVERY - 1]
        kept = [i for i in range(len(states)) if i % HELD_OUT_EVERY != HELD_OUT_EVERY - 1]
        train = [states[i] for i in kept], [actions[i] for i in kept]
        test = [states[i] for i in held], [actions[i] for i in held]
    else:
        marks = [len(a) * 3 // 4 for a in actions]
        train = (
            [s[: m + 1] for s, m in zip(states, marks, strict=True)],
            [a[:m] for a, m in zip(actions, marks, strict=True)],
        )
        test = [s[m:] for s, m in zip(states, marks, strict=True)], [a[m:] for a, m in zip(actions, marks, strict=True)]
    column = roundings(trajectories)
    noise = [float(np.linalg.norm(column[list(c.columns)])) for c in reading.coordinates]
    for c in reading.coordinates:
        if c.velocity is not None:
            noise.append(
                float(column[c.velocity_column])
                if c.velocity_column is not None
                else float(np.linalg.norm(column[list(c.columns)])) * np.sqrt(2) / reading.dt
            )
    noise += [float(column[c]) for _, c in reading.parameters] + [0.0] * len(memory.names)
    rows = rows_of(names, *train, angle_columns(reading))
    level, stored = np.array(noise), _fine(np.array(noise), rows) if len(rows.before) > 60 else np.array(noise)
    seen = np.array([name not in reading.hidden for name in names])
    noisy = False
    for response in responses(reading, rows, stored) if len(rows.before) > 60 else []:
        k = names.index(response.field)
        if response.noisy:
            noisy = True
            level[k] = max(level[k], response.noisy * reading.dt / np.sqrt(2))
        else:
            stored[k] = level[k]
    if noisy:
        for c in reading.coordinates:
            if c.velocity is not None:
                level[names.index(c.name)] = max(level[names.index(c.name)], _place_noise(reading, c, rows, level))
    return Experience(memory, names, *train, *test, rows, level, stored, seen, noisy)


def _fine(rounding: Float[np.ndarray, " S"], rows: Rows) -> Float[np.ndarray, " S"]:
    """The rounding of fields that are stored finely; a coarse one shows
    in single steps, and is better estimated and averaged as noise.
    """
    motion = np.std(rows.after - rows.before, axis=0)
    return np.where(
        rounding > COARSE * motion, np.minimum(rounding, FLOAT64 * np.abs(rows.after).max(axis=0)), rounding
    )


def with_noise(reading: Reading, data: Experience, wanted: Sequence[Response], pool: int) -> Experience:
    """The data with noise that only showed once a sum was found."""
    level = data.noise.copy()
    for response in wanted:
        k = data.names.index(response.field)
        rows = pool if len(response.target) != len(data.rows.before) else 1
        level[k] = max(level[k], response.noisy * rows * reading.dt / np.sqrt(2))
    for c in reading.coordinates:
        if c.velocity is not None:
            level[data.names.index(c.name)] = max(
                level[data.names.index(c.name)], _place_noise(reading, c, data.rows, level)
            )
    return replace(data, noise=level, noisy=True)


def _place_noise(reading: Reading, c: Coordinate, rows: Rows, level) -> float:
    """Noise of a coordinate from how far it is from moving by its velocity."""
    i, j = rows.names.index(c.name), rows.names.index(c.velocity or "")
    weight = 0.5 if reading.weight is None else reading.weight
    moved = rows.after[:, i] - rows.before[:, i]
    speed = weight * rows.before[:, j] + (1 - weight) * rows.after[:, j]
    left = robust_spread(moved - reading.dt * c.velocity_scale * speed)
    if c.velocity_column is None:
        return level[j] * reading.dt / np.sqrt(2)
    own = left**2 - (reading.dt * level[j]) ** 2 * (weight**2 + (1 - weight) ** 2)
    return float(np.sqrt(max(own, 0.0) / 2))
