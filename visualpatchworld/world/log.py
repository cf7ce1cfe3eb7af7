"""A log as a world: nothing but what was recorded, cut where it has
gaps; and logs that are named arrays, in a file or in memory.
"""

from __future__ import annotations

import itertools
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadTrace
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World, identifier

BLOWN_UP = 1e30  # no number that anything was measured as
OUT_OF_ORDER, FEW = 1e6, 0.02  # of a column's usual size: a few values beyond mark rows that were not measured
MOST_CHOICES = 32  # more whole numbers than this are no choices but a quantity


@dataclass(frozen=True)
class Recording:
    """All that a file says: episodes as they were found (rows
    may be missing, as NaN), names, and the time between rows.
    """

    episodes: tuple[Trajectory, ...]
    names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    dt: float | None = None
    choices: bool | None = None  # whether actions are choices; None where it must be guessed from the numbers
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # of actions, where the file says so
    counts: tuple[int, ...] = field(default=())  # of choices, where the file says so
    labels: tuple[tuple[str, ...], ...] = ()  # what choices are called, by column of the action
    caution: str = ""  # what of the file makes every law of it less sure


class LogWorld(World):
    """Recorded trajectories; it can do nothing but be read."""

    def __init__(self, recording: Recording, name: str):
        self.name = name
        most = _usual_sizes(recording.episodes)
        pieces = [(piece, episode.held_out) for episode in recording.episodes for piece in _pieces(episode, most)]
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
        self.field_names = recording.names or tuple(f"x{i}" for i in range(num_fields))
        self.dt = recording.dt
        if self.dt is not None and not (np.isfinite(self.dt) and self.dt > 0):
            raise BadTrace(f"{name}: the time between rows must be a positive number of seconds, not {self.dt}.")
        self._learned = [piece for piece, held_out in pieces if not held_out] or [piece for piece, _ in pieces]
        self._held_out = [piece for piece, held_out in pieces if held_out]
        names = recording.action_names or tuple(f"a{i}" for i in range(num_actions))
        self.action_space = _action_space(recording, np.concatenate([piece.actions for piece, _ in pieces]), names)
        self._recording = recording
        self.labels, self.caution = recording.labels, recording.caution
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
            Trajectory(
                p.observations[1:-1],
                neighbours(p.actions),
                None if p.rewards is None else p.rewards[1:-1],
                False,
                held_out,
            )
            for p, held_out in marked
            if len(p) >= 3
        )
        return LogWorld(
            replace(self._recording, episodes=episodes, action_names=wide, choices=False, bounds=None, counts=()),
            self.name,
        )


def neighbours(actions: Float[np.ndarray, "T A"]) -> Float[np.ndarray, "T-2 3A"]:
    """Every input but the first and the last, with the one after it and the one before it."""
    return np.concatenate([actions[1:-1], actions[2:], actions[:-2]], axis=1)


def _usual_sizes(episodes: Sequence[Trajectory]) -> Float[np.ndarray, " O"] | float:
    """By column, the size that no measured value has: a few values
    far beyond all others stand for what was not measured.
    """
    if len({episode.observations.shape[1] for episode in episodes}) != 1:
        return BLOWN_UP
    values = np.abs(np.concatenate([episode.observations for episode in episodes]))
    values = np.where(values < BLOWN_UP, values, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a single number
        most = OUT_OF_ORDER * np.nan_to_num(np.nanquantile(values, 1 - FEW, axis=0))
    return np.where(most > 0, np.minimum(most, BLOWN_UP), BLOWN_UP)


def _pieces(episode: Trajectory, most: Float[np.ndarray, " O"] | float = BLOWN_UP) -> list[Trajectory]:
    """The trajectories between gaps; a row that is not finite, or
    of which a value is beyond the most, belongs to none of them.
    """
    observations, actions = episode.observations, episode.actions
    seen: np.ndarray = np.all(np.abs(observations) < most, axis=1)
    usable = seen[:-1] & seen[1:] & np.isfinite(actions).all(axis=1)
    rewards = episode.rewards
    if rewards is not None:
        usable &= np.isfinite(rewards)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], usable.astype(int), [0]])))
    pieces = []
    for start, end in edges.reshape(-1, 2):
        last = end == len(actions)
        earned = None if rewards is None else rewards[start:end]
        pieces.append(
            Trajectory(observations[start : end + 1], actions[start:end], earned, bool(episode.terminated and last))
        )
    return pieces


def _action_space(recording: Recording, actions: Float[np.ndarray, "T A"], names: tuple[str, ...]) -> ActionSpace:
    if recording.counts:
        return ActionSpace("discrete", counts=recording.counts, names=names)
    choices = recording.choices
    if choices is None:
        choices = actions.size > 0 and bool(
            (actions == np.round(actions)).all() and actions.min() >= 0 and actions.max() < MOST_CHOICES
        )
        choices = choices and bool((actions.max(axis=0) >= 1).all())
    if choices and actions.size:
        return ActionSpace("discrete", counts=tuple(int(most) + 1 for most in actions.max(axis=0)), names=names)
    if recording.bounds is not None:
        return ActionSpace("continuous", *recording.bounds, names=names)
    if not actions.shape[1]:
        return ActionSpace("continuous")
    return ActionSpace(
        "continuous", tuple(actions.min(axis=0).tolist()), tuple(actions.max(axis=0).tolist()), names=names
    )


_ALIASES = {
    "observations": ("observations", "states", "obs", "observation", "state"),
    "actions": ("actions", "action"),
    "next_observations": ("next_observations", "next_states", "next_obs"),
    "rewards": ("rewards", "reward"),
    "terminated": ("terminated", "terminals", "terminations"),
    "truncated": ("truncated", "timeouts", "truncations"),
    "dones": ("dones", "done"),
    "lengths": ("lengths", "episode_lengths"),
    "starts": ("trajectory_start",),
    "held_out": ("held_out",),
}


def read_npz(path: Path) -> Recording:
    """The recording in a file of plain arrays; nothing in it is ever run."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError, AttributeError) as error:
        reason = (
            "it holds Python objects"
            if "allow_pickle" in str(error) or "Object arrays" in str(error)
            else "it is damaged or not .npz"
        )
        raise BadTrace(f"'{path}' can not be read as plain arrays: {reason}.") from None
    return recording_of_arrays(arrays, str(path))


def recording_of_arrays(arrays: Mapping[str, Any], name: str) -> Recording:
    """The recording that named arrays make up, in whichever of the known layouts they are."""
    found: dict[str, np.ndarray] = {}
    for meaning, aliases in _ALIASES.items():
        present = [alias for alias in aliases if alias in arrays]
        if len(present) > 1:
            raise BadTrace(f"{name} has both '{present[0]}' and '{present[1]}', and nobody can tell which is meant.")
        if present:
            found[meaning] = _numbers(arrays[present[0]], present[0], name)
    if "observations" not in found:
        raise BadTrace(f"{name} has no 'observations' (or 'states'); it has {', '.join(arrays) or 'nothing'}.")
    whole = np.issubdtype(np.asarray(arrays["actions"]).dtype, np.integer) if "actions" in arrays else False
    if "next_observations" in found:
        episodes = _transitions(found, name)
    elif found["observations"].ndim == 3:
        episodes = _padded(found, name)
    else:
        episodes = _flat(found, name)
    dt = float(np.asarray(arrays["dt"]).reshape(-1)[0]) if "dt" in arrays else None
    names = tuple(identifier(str(one)) for one in np.asarray(arrays["names"]).reshape(-1)) if "names" in arrays else ()
    action_names = tuple(identifier(str(one)) for one in np.asarray(arrays.get("action_names", [])).reshape(-1))
    return Recording(tuple(episodes), names, action_names, dt, choices=True if whole else None)


def recording_of_lists(
    observations: Sequence[Any], actions: Sequence[Any], rewards: Sequence[Any] | None, name: str
) -> Recording:
    """Episodes of different lengths, each as arrays of its own."""
    if len(observations) != len(actions) or (rewards is not None and len(rewards) != len(observations)):
        raise BadTrace(f"{name} has {len(observations)} episodes of observations but {len(actions)} of actions.")
    episodes = []
    for i, (seen, done) in enumerate(zip(observations, actions, strict=True)):
        part = {"observations": seen, "actions": done} | ({} if rewards is None else {"rewards": rewards[i]})
        episodes += recording_of_arrays(part, f"{name}, episode {i}").episodes
    whole = all(np.issubdtype(np.asarray(done).dtype, np.integer) for done in actions)
    return Recording(tuple(episodes), choices=True if whole else None)


def _numbers(values: Any, key: str, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise BadTrace(f"{name}: '{key}' must be an array of numbers.") from None


def _columns(values: np.ndarray | None, rows: int) -> np.ndarray:
    """Values as rows of numbers; none at all where nothing was done."""
    return np.zeros((rows, 0)) if values is None else values.reshape(len(values), -1)


def _padded(found: dict[str, np.ndarray], name: str) -> list[Trajectory]:
    observations = found["observations"]
    count, rows, _ = observations.shape
    actions = found.get("actions", np.zeros((count, rows - 1, 0)))
    actions = actions[..., None] if actions.ndim == 2 else actions
    if actions.shape[:2] == (count, rows):
        actions = actions[:, :-1]  # nothing follows from the last
    if actions.shape[:2] != (count, rows - 1):
        raise BadTrace(
            f"{name}: observations of shape {observations.shape} need actions of shape ({count}, "
            f"{rows - 1}, A), not {actions.shape}."
        )
    rewards = found.get("rewards")
    if rewards is not None and rewards.shape[:2] not in ((count, rows - 1), (count, rows)):
        raise BadTrace(f"{name}: rewards must have the shape ({count}, {rows - 1}), not {rewards.shape}.")
    lengths = found.get("lengths")
    if lengths is None:
        # Rows past the end are NaN.
        seen: np.ndarray = np.any(np.isfinite(observations), axis=2)
        lengths = np.array([np.flatnonzero(row)[-1] if row.any() else 0 for row in seen])
    elif lengths.shape != (count,) or lengths.max() > rows - 1 or lengths.min() < 0:
        raise BadTrace(f"{name}: 'lengths' must hold {count} numbers of steps, each at most {rows - 1}.")
    ended, held_out = _flags(found, "terminated", count, name), _flags(found, "held_out", count, name)
    episodes = []
    for i, length in enumerate(lengths.astype(int)):
        earned = None if rewards is None else rewards[i, :length].reshape(-1)
        episodes.append(
            Trajectory(observations[i, : length + 1], actions[i, :length], earned, bool(ended[i]), bool(held_out[i]))
        )
    return episodes


def _flat(found: dict[str, np.ndarray], name: str) -> list[Trajectory]:
    observations = found["observations"]
    if not observations.size:
        raise BadTrace(f"{name} is empty: its observations have the shape {observations.shape}.")
    observations = observations.reshape(len(observations), -1)
    rows = len(observations)
    actions, rewards = found.get("actions"), found.get("rewards")
    num_actions = rows if actions is None else len(actions)
    lengths = found["lengths"].astype(int) if "lengths" in found else None
    if lengths is None:
        lengths = _lengths_by_flags(found, rows) if num_actions == rows else np.array([rows])
    if lengths.sum() == num_actions and num_actions + len(lengths) == rows:
        lengths = lengths + 1  # they count actions
    if lengths.min() < 1 or lengths.sum() != rows or num_actions not in (rows, rows - len(lengths)):
        raise BadTrace(
            f"{name}: {rows} observations, {num_actions} actions and episodes that add up to "
            f"{lengths.sum()} rows do not fit together; "
            "give as many actions as observations, or one less in every episode."
        )
    per_row = num_actions == rows
    if rewards is not None and rewards.shape[0] != num_actions:
        raise BadTrace(f"{name}: {len(rewards)} rewards do not fit {num_actions} actions.")
    table = _columns(actions, rows)
    held_out = _flags(found, "held_out", len(lengths), name)
    # A flag per row is of the step after that row, which leads nowhere in the last row of an episode: nobody saw that
    # end.
    ends = (
        _flags(found, "terminated", len(lengths), name)
        if not per_row or len(found.get("terminated", ())) == len(lengths)
        else None
    )
    episodes = []
    for i, (end, length) in enumerate(zip(np.cumsum(lengths), lengths, strict=True)):
        start = end - length
        first = start if per_row else start - i
        rewarded = None if rewards is None else rewards[first : first + length - 1].reshape(-1)
        ended = False if ends is None else bool(ends[i])
        episodes.append(
            Trajectory(observations[start:end], table[first : first + length - 1], rewarded, ended, bool(held_out[i]))
        )
    return episodes


def _lengths_by_flags(found: dict[str, np.ndarray], rows: int) -> np.ndarray:
    """Lengths of episodes from the flags at their last rows, or all rows as one episode."""
    last = np.zeros(rows, bool)
    for key in ("terminated", "truncated", "dones"):
        if key in found and found[key].size == rows:
            last |= found[key].reshape(-1) > 0
    ends = np.unique(np.append(np.flatnonzero(last) + 1, rows))
    return np.diff(ends, prepend=0)


def _transitions(found: dict[str, np.ndarray], name: str) -> list[Trajectory]:
    """Rows of (observation, action, next observation); rows that do not follow from each other begin a new episode."""
    before, after = (found[key].reshape(len(found[key]), -1) for key in ("observations", "next_observations"))
    actions = _columns(found.get("actions"), len(before))
    if not len(before) == len(after) == len(actions) or before.shape != after.shape:
        raise BadTrace(
            f"{name}: observations {before.shape}, next_observations {after.shape} and {len(actions)} "
            "actions do not fit together."
        )
    rewards = found.get("rewards")
    rewards = None if rewards is None else rewards.reshape(-1)
    flags = {key: found[key].reshape(-1) > 0 for key in ("terminated", "truncated", "dones") if key in found}
    for key, values in {**flags, **({} if rewards is None else {"rewards": rewards})}.items():
        if len(values) != len(before):
            raise BadTrace(f"{name}: '{key}' has {len(values)} rows where 'observations' has {len(before)}.")
    breaks = ~np.isclose(before[1:], after[:-1], rtol=1e-5, atol=1e-6, equal_nan=True).all(axis=1)
    if "starts" in found:
        breaks |= np.diff(found["starts"].reshape(-1)) != 0
    for values in flags.values():
        breaks |= values[:-1]
    cuts = np.concatenate([[0], np.flatnonzero(breaks) + 1, [len(before)]])
    spans = list(itertools.pairwise(cuts))
    ended = flags["terminated"] if "terminated" in flags else _real_ends(flags.get("dones"), spans)
    return [
        Trajectory(
            np.concatenate([before[start:end], after[end - 1 : end]]),
            actions[start:end],
            None if rewards is None else rewards[start:end],
            bool(ended[end - 1]) if ended is not None else False,
        )
        for start, end in spans
    ]


def _real_ends(dones: np.ndarray | None, spans: list[tuple[int, int]]) -> np.ndarray | None:
    """Which `done` rows are ends of the world: not those at a length
    that several episodes share as the longest, and all end at.
    """
    if dones is None:
        return None
    lengths = [end - start for start, end in spans]
    longest = [end - 1 for start, end in spans if end - start == max(lengths)]
    limited = len(longest) > 1 and all(dones[row] for row in longest)
    real = dones.copy()
    if limited:
        real[longest] = False
    return real


def _flags(found: dict[str, np.ndarray], key: str, count: int, name: str) -> np.ndarray:
    values = found.get(key)
    if values is None:
        return np.zeros(count, bool)
    if values.size != count:
        raise BadTrace(f"{name}: '{key}' must hold a value per episode, {count}, not {values.size}.")
    return values.reshape(-1) > 0
