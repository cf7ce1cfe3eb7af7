"""A log as a world: nothing but what was recorded, cut where it has
gaps; and logs that are named arrays, in a file or in memory.
"""

from __future__ import annotations

import itertools
import math
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import BadTrace
from visualpatchworld.files import as_floats, check_unpacked, unpacking
from visualpatchworld.program.quoting import python_names
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

INTERPOLATED = "Inputs are on their way between rows"  # begins a line of a program's docstring
BLOWN_UP = 1e30  # no number that anything was measured as
OUT_OF_ORDER, FEW = 1e6, 0.02  # of a column's usual size: a few values beyond mark rows that were not measured
MOST_CHOICES = 32  # more whole numbers than this are no choices but a quantity
MOST_DECLARED = 1024  # choices that a file may say there are, which need not all occur in it
MOST_FIELDS = 64  # reading what fields are compares all pairs of them: seconds for so many, minutes for hundreds


Curve = tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T O"]]  # times and rows


@dataclass(frozen=True)
class Recording:
    """All that a file says: episodes as they were found (rows
    may be missing, as NaN), names, and the time between rows.
    """

    episodes: tuple[Trajectory, ...]
    names: tuple[str, ...] = ()  # any text; the world makes Python names of it
    action_names: tuple[str, ...] = ()
    dt: float | None = None
    choices: bool | None = None  # whether actions are choices; None where it must be guessed from the numbers
    bounds: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # of actions, where the file says so
    counts: tuple[int, ...] = field(default=())  # of choices, where the file says so
    labels: tuple[tuple[str, ...], ...] = ()  # what choices are called, by column of the action
    caution: str = ""  # what of the file makes every law of it less sure
    curves: tuple[Curve, ...] = ()  # of episodes without actions: their times, and all their rows across gaps


class LogWorld(World):
    """Recorded trajectories; it can do nothing but be read."""

    has_neighbours = False  # whether actions hold the inputs of the rows around a step

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
        if num_fields > MOST_FIELDS:
            raise BadTrace(
                f"{name} has {num_fields} fields, and at most {MOST_FIELDS} are looked at; keep those that matter, of a "
                "table with --state COL,COL."
            )
        for kind, given, needed in (
            ("fields", recording.names, num_fields),
            ("actions", recording.action_names, num_actions),
        ):
            if given and len(given) != needed:
                raise BadTrace(f"{name} has {len(given)} names for {needed} {kind}.")
        with_rewards = {piece.rewards is not None for piece, _ in pieces}
        if len(with_rewards) > 1:
            raise BadTrace(f"{name} has rewards in some episodes and none in others.")
        self._field_labels = recording.names or tuple(f"x{i}" for i in range(num_fields))
        self.field_names = python_names(self._field_labels)
        self.dt = recording.dt
        if self.dt is not None and not (np.isfinite(self.dt) and self.dt > 0):
            raise BadTrace(f"{name}: the time between rows must be a positive number of seconds, not {self.dt}.")
        self._learned = [piece for piece, held_out in pieces if not held_out] or [piece for piece, _ in pieces]
        self._held_out = [piece for piece, held_out in pieces if held_out]
        names = recording.action_names or tuple(f"a{i}" for i in range(num_actions))
        self.action_space = _action_space(
            recording, np.concatenate([piece.actions for piece, _ in pieces]), names, name
        )
        self._recording = recording
        self.labels, self.caution = recording.labels, recording.caution
        self.has_rewards = with_rewards == {True}
        known = [(times, rows, np.all(np.abs(rows) < most, axis=1)) for times, rows in recording.curves]
        self.curves: tuple[Curve, ...] = tuple((times[seen], rows[seen]) for times, rows, seen in known if seen.any())

    @property
    def powers(self) -> frozenset:
        return frozenset({"reward"} if self.has_rewards else ())

    @property
    def field_labels(self) -> tuple[str, ...]:
        return self._field_labels

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
        recording = replace(
            self._recording, episodes=episodes, action_names=wide, choices=False, bounds=None, counts=()
        )
        world = LogWorld(recording, self.name)
        world.has_neighbours = True
        return world


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


def _action_space(
    recording: Recording, actions: Float[np.ndarray, "T A"], names: tuple[str, ...], name: str
) -> ActionSpace:
    num_actions = actions.shape[1]
    if not num_actions:
        return ActionSpace("continuous")
    low, high = actions.min(axis=0), actions.max(axis=0)
    whole = bool((actions == np.round(actions)).all() and (low >= 0).all())
    if counts := recording.counts:
        if max(counts) > MOST_DECLARED or len(counts) != num_actions or not whole or (high >= counts).any():
            raise BadTrace(
                f"{name} says that it has {' x '.join(map(str, counts))} choices of action, of at most {MOST_DECLARED}, "
                "but its actions are not numbers of those."
            )
        return ActionSpace("discrete", counts=counts, names=names)
    guessed = (high >= 1).all() if recording.choices is None else recording.choices
    if guessed and whole and (high < MOST_CHOICES).all():
        return ActionSpace("discrete", counts=tuple(int(most) + 1 for most in high), names=names)
    bounds = recording.bounds or (tuple(low.tolist()), tuple(high.tolist()))
    if {len(side) for side in bounds} != {num_actions}:
        raise BadTrace(f"{name} has bounds for {len(bounds[0])} actions, and {num_actions} actions.")
    return ActionSpace("continuous", *bounds, names=names)


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


_MORE = ("dt", "names", "action_names")
_KNOWN = {*_MORE, *itertools.chain(*_ALIASES.values())}


def read_npz(path: Path) -> Recording:
    """The recording in a file of plain arrays; nothing in it is ever run, and other arrays stay packed."""
    with unpacking(path, "an .npz file of plain arrays"), zipfile.ZipFile(path) as packed:
        items = {item.filename.removesuffix(".npy"): item for item in packed.infolist()}
        known = {name: item for name, item in items.items() if name in _KNOWN}
        about = {name: _declared(packed, item) for name, item in known.items()}
        if any(dtype.hasobject for _, dtype in about.values()):
            raise BadTrace(f"'{path}' can not be read as plain arrays: it holds Python objects.")
        check_unpacked(path, sum(as_floats(math.prod(shape), dtype.itemsize) for shape, dtype in about.values()))
        arrays: dict[str, np.ndarray | None] = dict.fromkeys(items)
        for name, item in known.items():
            with packed.open(item) as stream:
                arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    return recording_of_arrays(arrays, str(path))


def _declared(packed: zipfile.ZipFile, item: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type that an array has according to its header."""
    with packed.open(item) as stream:
        first = np.lib.format.read_magic(stream) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
    return shape, dtype


def recording_of_arrays(arrays: Mapping[str, Any], name: str) -> Recording:
    """The recording that named arrays make up, in whichever of the known layouts they are."""
    found: dict[str, np.ndarray] = {}
    whole = False
    for meaning, aliases in _ALIASES.items():
        present = [alias for alias in aliases if alias in arrays]
        if len(present) > 1:
            raise BadTrace(f"{name} has both '{present[0]}' and '{present[1]}', and nobody can tell which is meant.")
        if present:
            values = _array(arrays[present[0]], present[0], name)
            found[meaning] = values.astype(np.float64)
            whole = whole or (meaning == "actions" and np.issubdtype(values.dtype, np.integer))
    if "observations" not in found:
        raise BadTrace(f"{name} has no 'observations' (or 'states'); it has {', '.join(arrays) or 'nothing'}.")
    if not found["observations"].size:
        raise BadTrace(f"{name} is empty: its observations have the shape {found['observations'].shape}.")
    if "next_observations" in found:
        episodes = _transitions(found, name)
    elif found["observations"].ndim == 3:
        episodes = _padded(found, name)
    else:
        episodes = _flat(found, name)
    dt = _array(arrays["dt"], "dt", name).reshape(-1).astype(np.float64)[:1].tolist() if "dt" in arrays else [None]
    if not dt:
        raise BadTrace(f"{name}: 'dt' is empty.")
    names, action_names = (
        tuple(str(one) for one in np.asarray(arrays[key]).reshape(-1)) if key in arrays else ()
        for key in ("names", "action_names")
    )
    return Recording(tuple(episodes), names, action_names, dt[0], choices=True if whole else None)


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


def _array(values: Any, key: str, name: str) -> np.ndarray:
    """Values as an array of numbers that has rows, or as a single number."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.array("")
    if array.dtype.kind not in "fiub":
        raise BadTrace(f"{name}: '{key}' must be an array of numbers.")
    if key not in _MORE and not array.ndim:
        raise BadTrace(f"{name}: '{key}' must be an array with a row per step or per episode, not a single number.")
    return array


def as_rows(values: np.ndarray) -> Float[np.ndarray, "T W"]:
    """All numbers of a row side by side."""
    return values.reshape(len(values), math.prod(values.shape[1:]))


def _columns(values: np.ndarray | None, rows: int) -> np.ndarray:
    """Values as rows of numbers; none at all where nothing was done."""
    return np.zeros((rows, 0)) if values is None else as_rows(values)


def _padded(found: dict[str, np.ndarray], name: str) -> list[Trajectory]:
    observations = found["observations"]
    count, rows, _ = observations.shape
    actions = found.get("actions", np.zeros((count, rows - 1, 0)))
    actions = actions.reshape(*actions.shape[:2], math.prod(actions.shape[2:]))
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
    elif lengths.shape != (count,) or not ((lengths >= 0) & (lengths <= rows - 1)).all():
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
    observations = as_rows(found["observations"])
    rows = len(observations)
    actions, rewards = found.get("actions"), found.get("rewards")
    num_actions = rows if actions is None else len(actions)
    lengths = found.get("lengths")
    if lengths is None:
        lengths = _lengths_by_flags(found, rows) if num_actions == rows else np.array([rows])
    if not (lengths.size and ((lengths >= 0) & (lengths <= rows)).all()):
        raise BadTrace(f"{name}: 'lengths' must hold the number of rows of each episode, each at most {rows}.")
    lengths = lengths.reshape(-1).astype(int)
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
    before, after = (as_rows(found[key]) for key in ("observations", "next_observations"))
    actions = _columns(found.get("actions"), len(before))
    if not len(before) == len(after) == len(actions) or before.shape != after.shape:
        raise BadTrace(
            f"{name}: observations {before.shape}, next_observations {after.shape} and {len(actions)} "
            "actions do not fit together."
        )
    rewards = found.get("rewards")
    rewards = None if rewards is None else rewards.reshape(-1)
    for key in ("terminated", "truncated", "dones", "rewards", "starts"):
        if key in found and found[key].size != len(before):
            told = _ALIASES[key][0]
            raise BadTrace(f"{name}: '{told}' has {found[key].size} values for {len(before)} rows of observations.")
    flags = {key: found[key].reshape(-1) > 0 for key in ("terminated", "truncated", "dones") if key in found}
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
