"""A log as a world: nothing but what was recorded, cut where it has gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadTrace
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

BLOWN_UP = 1e30  # no number that anything was measured as
MOST_CHOICES = 32  # more whole numbers than this are no choices but a quantity


@dataclass(frozen=True)
class Recording:
    """All that a file says: episodes as they were found (rows may be missing, as NaN), names, and the time between rows."""

    episodes: tuple[Trajectory, ...]
    names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    dt: float | None = None
    choices: bool | None = None  # whether actions are choices; None where it must be guessed from the numbers
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # of actions, where the file says so
    counts: tuple[int, ...] = field(default=())  # of choices, where the file says so
    labels: tuple[tuple[str, ...], ...] = ()  # what choices are called, by column of the action


class LogWorld(World):
    """Recorded trajectories; it can do nothing but be read."""

    def __init__(self, recording: Recording, name: str):
        self.name = name
        pieces = [(piece, episode.held_out) for episode in recording.episodes for piece in _pieces(episode)]
        if not pieces:
            raise BadTrace(f"{name} holds no two rows that follow each other.")
        widths = {(piece.observations.shape[1], piece.actions.shape[1]) for piece, _ in pieces}
        if len(widths) > 1:
            raise BadTrace(f"{name} has episodes of different width: fields and actions {sorted(widths)}.")
        num_fields, num_actions = widths.pop()
        if recording.names and len(recording.names) != num_fields:
            raise BadTrace(f"{name} has {len(recording.names)} names for {num_fields} fields.")
        with_rewards = {piece.rewards is not None for piece, _ in pieces}
        if len(with_rewards) > 1:
            raise BadTrace(f"{name} has rewards in some episodes and none in others.")
        self.field_names = recording.names or tuple(f"o{i}" for i in range(num_fields))
        self.dt = recording.dt
        if self.dt is not None and not (np.isfinite(self.dt) and self.dt > 0):
            raise BadTrace(f"{name}: the time between rows must be a positive number of seconds, not {self.dt}.")
        self._learned = [piece for piece, held_out in pieces if not held_out] or [piece for piece, _ in pieces]
        self._held_out = [piece for piece, held_out in pieces if held_out]
        names = recording.action_names or tuple(f"a{i}" for i in range(num_actions))
        self.action_space = _action_space(recording, np.concatenate([piece.actions for piece, _ in pieces]), names)
        self._recording = recording
        self.labels = recording.labels
        self.has_rewards = with_rewards == {True}

    @property
    def powers(self) -> frozenset:
        return frozenset({"reward"} if self.has_rewards else ())

    def logged(self) -> Sequence[Trajectory]:
        """The trajectories to learn from; what the log itself holds out is not among them."""
        return self._learned

    def held_out(self) -> Sequence[Trajectory]:
        """The trajectories that the log marks as held out."""
        return self._held_out

    def with_neighbours(self) -> LogWorld:
        """The same log with actions that hold each input when a step begins, when it ends, and a step before."""
        names = self.action_space.names
        wide = tuple(f"{name}{when}" for when in ("", "_next", "_last") for name in names)
        marked = [*((piece, False) for piece in self._learned), *((piece, True) for piece in self._held_out)]
        episodes = tuple(
            Trajectory(p.observations[1:-1], neighbours(p.actions), None if p.rewards is None else p.rewards[1:-1], False, held_out)
            for p, held_out in marked
            if len(p) >= 3
        )
        return LogWorld(replace(self._recording, episodes=episodes, action_names=wide, choices=False, bounds=None, counts=()), self.name)


def neighbours(actions: Float[np.ndarray, "T A"]) -> Float[np.ndarray, "T-2 3A"]:
    """Every input but the first and the last, with the one after it and the one before it."""
    return np.concatenate([actions[1:-1], actions[2:], actions[:-2]], axis=1)


def _pieces(episode: Trajectory) -> list[Trajectory]:
    """The trajectories between gaps; a row that is not finite, or that a simulation blew up to, belongs to none of them."""
    observations, actions = episode.observations, episode.actions
    seen: np.ndarray = np.all(np.abs(observations) < BLOWN_UP, axis=1)
    usable = seen[:-1] & seen[1:] & np.isfinite(actions).all(axis=1)
    rewards = episode.rewards
    if rewards is not None:
        usable &= np.isfinite(rewards)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], usable.astype(int), [0]])))
    pieces = []
    for start, end in edges.reshape(-1, 2):
        last = end == len(actions)
        earned = None if rewards is None else rewards[start:end]
        pieces.append(Trajectory(observations[start : end + 1], actions[start:end], earned, bool(episode.terminated and last)))
    return pieces


def _action_space(recording: Recording, actions: Float[np.ndarray, "T A"], names: tuple[str, ...]) -> ActionSpace:
    if recording.counts:
        return ActionSpace("discrete", counts=recording.counts, names=names)
    choices = recording.choices
    if choices is None:
        choices = actions.size > 0 and bool((actions == np.round(actions)).all() and actions.min() >= 0 and actions.max() < MOST_CHOICES)
        choices = choices and bool((actions.max(axis=0) >= 1).all())
    if choices and actions.size:
        return ActionSpace("discrete", counts=tuple(int(most) + 1 for most in actions.max(axis=0)), names=names)
    if recording.bounds is not None:
        return ActionSpace("continuous", *recording.bounds, names=names)
    if not actions.shape[1]:
        return ActionSpace("continuous")
    return ActionSpace("continuous", tuple(actions.min(axis=0).tolist()), tuple(actions.max(axis=0).tolist()), names=names)
