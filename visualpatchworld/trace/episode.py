"""Episodes: collected by a domain's own policy or made of arrays, split into some to fit to and
others to test on, and as records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace
from visualpatchworld.extras import h5py
from visualpatchworld.files import to_json
from visualpatchworld.scene.extractor import Extractor, Moment
from visualpatchworld.simulator import Constants, Simulator
from visualpatchworld.world.trajectory import Trajectory


@dataclass(frozen=True)
class FramesInFile:
    """The pictures of one episode, left in their file; `frames[t]` or `frames[a:b]` reads just those."""

    path: Path
    column: str
    offset: int
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, steps: int | slice) -> UInt8[np.ndarray, "*T 224 224 3"]:
        rows = range(self.offset, self.offset + self.count)[steps]
        where = rows if isinstance(rows, int) else slice(rows.start, rows.stop, rows.step)
        try:
            with h5py.File(self.path) as file:
                return file[self.column][where]  # pyright: ignore[reportIndexIssue, reportReturnType]
        except OSError as error:
            raise BadTrace(
                f"'{self.path}': the pictures of rows {rows} can not be read; the file is damaged."
            ) from error


@dataclass(frozen=True, kw_only=True)
class Episode(Trajectory):
    """A trajectory of a simulator, whose observations are states, with the engine
    states that only the simulator knows.
    """

    index: int
    engine_states: Float[np.ndarray, "T+1 E"]

    @property
    def num_rows(self) -> int:
        """How many rows of a file it takes: one more than it has steps."""
        return len(self.observations)

    def __repr__(self) -> str:
        pictures = "" if self.frames is None else ", with pictures"
        return f"<Episode {self.index}: {self.num_rows} rows{pictures}>"


@dataclass(frozen=True)
class Traces:
    """Episodes of one collection, and the constants of the simulator they came from."""

    path: Path | None  # the file they were read from
    domain: str
    constants: Constants
    episodes: tuple[Episode, ...]
    seed: int | None = None

    def __repr__(self) -> str:
        pictures = " with pictures" if any(episode.frames is not None for episode in self.episodes) else ""
        place = "" if self.path is None else f", from {self.path}"
        return f"<Traces of {self.domain}: {len(self.episodes)} episodes{pictures}, {self.num_rows} rows{place}>"

    @property
    def num_rows(self) -> int:
        return sum(episode.num_rows for episode in self.episodes)

    def locate(self, row: int) -> tuple[Episode, int]:
        """The episode and the step within it that a row of the file is."""
        if not 0 <= row < self.num_rows:
            raise BadTrace(f"'{self.path or self.domain}' has the rows 0 to {self.num_rows - 1}, not {row}.")
        ends = np.cumsum([episode.num_rows for episode in self.episodes])
        position = int(np.searchsorted(ends, row, side="right"))
        episode = self.episodes[position]
        return episode, row - int(ends[position]) + episode.num_rows


def episodes_of_arrays(domain: Domain, constants: Constants, runs: Iterable[tuple[Any, Any]]) -> Traces:
    """Episodes of runs, each the states and the actions between them;
    engine states are those of a simulator placed in each state.
    """
    simulator = domain.simulator(constants)
    simulator.reset(seed=0)
    return Traces(
        None, domain.name, constants, tuple(_episode(domain, simulator, i, run) for i, run in enumerate(runs))
    )


def _episode(domain: Domain, simulator: Simulator, index: int, run: tuple[Any, Any]) -> Episode:
    states, actions = (np.asarray(values, dtype=np.float64) for values in run)
    wanted = (len(states), len(domain.scene.state_space)), (len(states) - 1, domain.layout.action.width)
    if (states.shape, actions.shape) != wanted:
        raise BadTrace(
            f"Run {index}: states of shape {states.shape} and actions of shape {actions.shape}; for "
            f"{len(states)} states "
            f"'{domain.name}' takes {wanted[0]} and {wanted[1]}, an action between each two states."
        )
    if not (np.isfinite(states).all() and np.isfinite(actions).all()):
        raise BadTrace(f"Run {index} holds a value that is not finite.")
    engine_states = []
    for state in states:
        simulator.set_state(state)
        engine_states.append(simulator.get_engine_state())
    return Episode(index=index, observations=states, engine_states=np.array(engine_states), actions=actions)


TEST_SHARE = 0.2
FEWEST = 3  # one to test on, and two for fitting, which sets one of them aside for validation


def for_fitting(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """All episodes but the last fifth."""
    return episodes[: -_num_kept(episodes)]


def for_tasks(episodes: Sequence[Episode]) -> Sequence[Episode]:
    """The test episodes, the last fifth and at least one: tasks are drawn from them, and errors measured on them."""
    return episodes[-_num_kept(episodes) :]


def _num_kept(episodes: Sequence[Episode]) -> int:
    if len(episodes) < FEWEST:
        counted = "1 episode" if len(episodes) == 1 else f"{len(episodes)} episodes"
        raise BadTrace(
            f"{counted} cannot be split into some to fit to and others to test on; at least {FEWEST} are needed."
        )
    return max(1, round(TEST_SHARE * len(episodes)))


def collect(
    domain: Domain, constants: Constants, *, episodes: int, seed: int, pixels: bool = False
) -> Iterator[Episode]:
    """Episodes one by one; each has a seed of its own, so that none depends on those before it."""
    simulator = domain.simulator(constants)
    seeds = np.random.SeedSequence(seed)
    for index in range(episodes):
        yield record(domain, simulator, index, seeds.spawn(1)[0], pixels=pixels)


def record(domain: Domain, simulator: Simulator, index: int, seed: np.random.SeedSequence, *, pixels: bool) -> Episode:
    """One episode from a random start until the policy is done or the domain's step limit is reached."""
    start_seed, policy_seed = seed.generate_state(2)
    simulator.reset(seed=int(start_seed))
    act = domain.policy(simulator, np.random.default_rng(policy_seed))
    states, engine_states, actions, frames = [], [], [], []
    for _ in range(domain.episode_steps):
        states.append(simulator.get_state())
        engine_states.append(simulator.get_engine_state())
        if pixels:
            frames.append(simulator.render())
        chosen = act()
        # Rounded as the file keeps it before it acts, so that a replay of the file repeats the episode.
        action = np.clip(np.zeros(simulator.action_dim) if chosen is None else chosen, -1, 1).astype(
            domain.layout.action.dtype
        )
        actions.append(action)
        if chosen is None:
            break
        simulator.step(action)
    # Nothing is recorded of what follows the last action.
    done = np.array(actions[:-1], dtype=np.float64).reshape(-1, simulator.action_dim)
    shown = np.array(frames) if pixels else None
    return Episode(
        index=index, observations=np.array(states), engine_states=np.array(engine_states), actions=done, frames=shown
    )


RECENT_FRAMES = 4  # from which velocities are read


def export(traces: Traces, extractor: Extractor, *, view: str, stride: int) -> Iterator[str]:
    """One line per episode; a macro-action is exactly the `stride` raw actions between its two graphs."""
    for episode in traces.episodes:
        yield to_json(_record(traces, episode, extractor, view, stride)) + "\n"


def moment_of(traces: Traces, episode: Episode, step: int, extractor: Extractor) -> Moment:
    """A recorded moment with what an extractor needs of it: its state, or its picture and the few before."""
    if extractor.sees == "state":
        return Moment(state=episode.observations[step], step=step)
    if episode.frames is None:
        raise BadTrace(f"'{traces.path}' holds no pictures; collect it with --pixels.")
    first = max(step - RECENT_FRAMES + 1, 0)
    return Moment(episode.frames[first : step + 1], episode.actions[first:step], step=step)


def _record(traces: Traces, episode: Episode, extractor: Extractor, view: str, stride: int) -> dict[str, Any]:
    steps = range(0, episode.num_rows, stride)
    graphs = {step: extractor.extract(moment_of(traces, episode, step, extractor)).data() for step in steps}
    transitions = [
        {"t": t, "before": graphs[t], "action": episode.actions[t : t + stride].tolist(), "after": graphs[t + stride]}
        for t in steps
        if t + stride < episode.num_rows
    ]
    return {
        "domain": traces.domain,
        "episode": episode.index,
        "view": view,
        "stride": stride,
        "transitions": transitions,
    }
