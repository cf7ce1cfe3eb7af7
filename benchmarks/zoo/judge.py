"""Holds a program against recorded episodes: `python -m zoo.judge world_model.py episodes.npz` prints JSON.

A window begins with the program's own `read(observation)`. Where an observation does not show all fields of its state
(a velocity, a queue of actions), the program is led through its episode from the first row on: with every row, hidden
fields are first changed as little as possible so that the last step leads to what is seen now, then moved by the
program's own step, and all shown fields are overwritten by what is seen. Windows then begin after a few such rows.

Errors are in units of the standard deviation of each field's change over as many steps; noise fields and constants are
left out, and periodic fields are compared modulo their period.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HORIZONS = (1, 5, 25)
MOST_WINDOWS = 300
MOST_STEPS = 1000  # that reward and end are compared in
LEAST_LEAD, MOST_LEAD = 3, 12
PROBES = (1e-3, 1.0, 30.0)  # changes of what is seen that show what is read off it; whole numbers need large ones
SMALL = 1e-6  # step of a numerical slope
LEAST_INFLUENCE = 1e-4  # a hidden field that moves what is seen less than this is left as it is
STILL = 1e-9


@dataclass
class Episode:
    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ended: np.ndarray


class Program:
    """A written program in plain numpy; one without `read` and `observe` has what is seen as its first fields."""

    def __init__(self, text: str, width: int):
        self.width = width  # how many numbers are seen
        self.names: dict[str, Any] = {"__name__": "world_model"}
        text = text.replace("import jax.numpy as np", "import numpy as np")
        exec(compile(text, "world_model.py", "exec"), self.names)
        self.kind = self.names["State"]

    def read(self, observation: np.ndarray) -> np.ndarray:
        read = self.names.get("read")
        return np.array(read(observation) if read else self.kind(*observation), dtype=float)

    def observe(self, state: np.ndarray) -> np.ndarray:
        observe = self.names.get("observe")
        return np.array(observe(self.kind(*state)) if observe else state[: self.width], dtype=float)

    def step(self, state: np.ndarray, action: np.ndarray) -> np.ndarray:
        return np.array(self.names["step"](self.kind(*state), action), dtype=float)

    def reward(self, state: np.ndarray, action: np.ndarray, after: np.ndarray) -> float:
        reward = self.names.get("reward")
        return float(reward(self.kind(*state), action, self.kind(*after))) if reward else 0.0

    def terminated(self, state: np.ndarray) -> bool:
        terminated = self.names.get("terminated")
        return bool(terminated(self.kind(*state))) if terminated else False

    def shown(self, observation: np.ndarray) -> np.ndarray:
        """Which fields of the state the observation tells."""
        base, shown = self.read(observation), np.zeros(len(self.kind._fields), dtype=bool)
        for i in range(len(observation)):
            for change in PROBES:
                moved = observation.copy()
                moved[i] += change
                shown |= ~np.isclose(self.read(moved), base, rtol=0.0, atol=1e-12)
        return shown

    def followed(self, state: np.ndarray, action: np.ndarray, seen: np.ndarray, shown: np.ndarray) -> np.ndarray:
        """The state after a step that led to what is seen, hidden fields chosen to fit."""
        hidden = np.flatnonzero(~shown)
        expected = self.observe(self.step(state, action))
        slope = np.zeros((len(seen), len(hidden)))
        for column, at in enumerate(hidden):
            nudged = state.copy()
            nudged[at] += SMALL
            slope[:, column] = (self.observe(self.step(nudged, action)) - expected) / SMALL
        slope = np.where(np.isfinite(slope) & (np.abs(slope) > LEAST_INFLUENCE), slope, 0.0)
        moved = state.copy()
        moved[hidden] += np.linalg.pinv(slope, rcond=1e-3) @ np.nan_to_num(seen - expected)
        return np.where(shown, self.read(seen), self.step(moved, action))


def episodes_of(path: Path) -> tuple[list[Episode], dict[str, np.ndarray]]:
    with np.load(path) as file:
        data = dict(file)
    episodes, row, seen = [], 0, 0
    for length in data["lengths"]:
        steps = slice(row, row + length)
        rows = data["observations"][seen : seen + length + 1]
        episodes.append(Episode(rows, data["actions"][steps], data["rewards"][steps], data["ended"][steps]))
        row, seen = row + length, seen + length + 1
    return episodes, data


def led(program: Program, episode: Episode, shown: np.ndarray) -> list[np.ndarray]:
    """The program's state at every row of an episode."""
    if shown.all():
        return [program.read(row) for row in episode.observations]
    states = [program.read(episode.observations[0])]
    for action, row in zip(episode.actions, episode.observations[1:], strict=False):
        states.append(program.followed(states[-1], action, row, shown))
    return states


def thinned(places: list, most: int) -> list:
    return [places[i] for i in np.unique(np.linspace(0, len(places) - 1, most).astype(int))] if places else []


def motion_errors(program: Program, episodes: list[Episode], states: list, data: dict, lead: int) -> dict:
    """For every horizon the median, 90th percentile and worst field's median of normalised errors."""
    off: dict[int, list] = {h: [] for h in HORIZONS}
    change: dict[int, list] = {h: [] for h in HORIZONS}
    longest = max((h for h in HORIZONS if any(len(e.actions) >= lead + h for e in episodes)), default=1)
    places = [
        (e, s, t) for e, s in zip(episodes, states, strict=False) for t in range(lead, len(e.actions) - longest + 1)
    ]
    for episode, known, t in thinned(places, MOST_WINDOWS):
        state = known[t]
        for h in range(1, longest + 1):
            state = program.step(state, episode.actions[t + h - 1])
            if h in off:
                truth = episode.observations[t + h]
                off[h].append(_apart(program.observe(state) - truth, data["periods"]))
                change[h].append(_apart(truth - episode.observations[t], data["periods"]))
    return {str(h): _summary(np.array(off[h]), np.array(change[h]), data) for h in HORIZONS if off[h]}


def _apart(gap: np.ndarray, periods: np.ndarray) -> np.ndarray:
    """A difference, at most half a period where there is one."""
    safe = np.where(periods > 0, periods, 1.0)
    return np.where(periods > 0, (gap + safe / 2) % safe - safe / 2, gap)


def _summary(off: np.ndarray, change: np.ndarray, data: dict) -> dict:
    spread = change.std(axis=0)
    live = data["judged"].astype(bool) & (spread > STILL)
    share = np.abs(off[:, live]) / spread[live]
    share = np.where(np.isfinite(share), share, np.inf)
    medians = np.median(share, axis=0)
    names = data["names"][live]
    return {
        "median": float(np.median(share)),
        "p90": _percentile(share),
        "worst": float(medians.max()),
        "worst_field": str(names[int(np.argmax(medians))]),
        "by_field": {str(name): float(value) for name, value in zip(names, medians, strict=False)},
    }


def _percentile(values: np.ndarray) -> float:
    return float(np.sort(values, axis=None)[int(0.9 * (values.size - 1))])


def worth_and_end(program: Program, episodes: list[Episode], states: list, lead: int) -> dict:
    """How much of the reward's spread is left after one step, and how often the end is told rightly."""
    places = [(e, s, t) for e, s in zip(episodes, states, strict=False) for t in range(lead, len(e.actions))]
    ends = [(e, s, t) for e, s, t in places if e.ended[t]]
    told, true, paid, given = [], [], [], []
    for episode, known, t in [*thinned(places, MOST_STEPS), *ends]:
        after = program.step(known[t], episode.actions[t])
        paid.append(program.reward(known[t], episode.actions[t], after))
        given.append(episode.rewards[t])
        told.append(program.terminated(after))
        true.append(bool(episode.ended[t]))
    told, true, gap = np.array(told), np.array(true), np.nan_to_num(np.subtract(paid, given), nan=1e9, posinf=1e9)
    return {
        "reward_left": float(np.sqrt(np.mean(gap**2)) / (np.std(given) + 1e-12)),
        "reward_left_median": float(np.median(np.abs(gap)) / (np.std(given) + 1e-12)),
        "ends_caught": float(told[true].mean()) if true.any() else None,
        "false_ends": float(told[~true].mean()) if (~true).any() else None,
    }


@np.errstate(all="ignore")
def judged(text: str, episodes: list[Episode], data: dict) -> dict:
    """All errors of a program; `data` says which numbers are judged, their names and periods."""
    program = Program(text, len(data["names"]))
    shown = program.shown(episodes[0].observations[0])
    hidden = int((~shown).sum())
    lead = min(max(LEAST_LEAD, hidden + 1), MOST_LEAD) if hidden else 0
    states = [led(program, episode, shown) for episode in episodes]
    errors = motion_errors(program, episodes, states, data, lead)
    return {"errors": errors, "hidden_fields": hidden, **worth_and_end(program, episodes, states, lead)}


if __name__ == "__main__":
    print(json.dumps(judged(Path(sys.argv[1]).read_text(encoding="utf-8"), *episodes_of(Path(sys.argv[2])))))
