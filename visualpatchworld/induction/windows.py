"""Windows: stretches of trajectories of one length, and the
errors of a program's rollouts in them and over whole logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadTrace
from visualpatchworld.program.env import followed, locked_followed, locked_shown, shown
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout
from visualpatchworld.program.sandbox import SandboxedWorld
from visualpatchworld.scene.extractor import ToolExtractor
from visualpatchworld.trace.episode import Episode
from visualpatchworld.world.trajectory import Trajectory

MOST_WINDOWS = 512
MOST_LEAD = 12  # rows before a window that hidden fields are followed through
STILL = 1e-12

Errors = dict[str, dict[str, float]]
LastObservations = Callable[..., Float[np.ndarray, "N O"]]  # of starts, actions and what came before


def trajectories_of(episodes: Iterable[Episode]) -> list[Trajectory]:
    """Episodes without what only a simulator knows."""
    return [Trajectory(episode.observations, np.asarray(episode.actions, dtype=np.float64)) for episode in episodes]


def trajectories_seen(episodes: Iterable[Episode], tool: ToolExtractor) -> Iterator[Trajectory]:
    """Episodes as they look: states are read off the pictures, and the recorded ones are not used."""
    for episode in episodes:
        if episode.frames is None:
            raise BadTrace("The episodes hold no pictures to read; collect them with --pixels.")
        actions = np.asarray(episode.actions, dtype=np.float64)
        yield Trajectory(tool.read_episode(episode.frames[:], actions), actions)


@dataclass(frozen=True)
class Windows:
    """N starts, each with H actions and the H states that followed."""

    starts: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N H A"]
    truths: Float[np.ndarray, "N H S"]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def horizon(self) -> int:
        return self.truths.shape[1]

    def thinned(self, most: int) -> Windows:
        """At most so many of them, evenly spread."""
        kept = np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).astype(int))
        return Windows(self.starts[kept], self.actions[kept], self.truths[kept])


def cut_windows(trajectories: Sequence[Trajectory], horizon: int, count: int, rng: np.random.Generator) -> Windows:
    """`count` windows drawn without replacement from all that
    the trajectories hold (all of them when there are fewer).
    """
    places = [(trajectory, t) for trajectory in trajectories for t in range(len(trajectory.actions) - horizon + 1)]
    if not places:
        raise BadTrace(
            f"No episode has {horizon} steps, which is how far a program is to predict here; collect longer ones."
        )
    if len(places) > count:
        places = [places[i] for i in np.sort(rng.choice(len(places), count, replace=False))]
    return _windows(places, horizon)


def window_length(horizon: int, episodes: Sequence[Trajectory], experiments: Sequence[Trajectory]) -> int:
    """The horizon, or as long as the experiments where these are longer and episodes have as many steps."""
    lasting = [
        max((len(trajectory.actions) for trajectory in trajectories), default=0)
        for trajectories in (episodes, experiments)
    ]
    return max(horizon, min(lasting))


def beginnings(trajectories: Sequence[Trajectory], horizon: int) -> list[Windows]:
    """The first window of every trajectory that is long enough."""
    return [_windows([(trajectory, 0)], horizon) for trajectory in trajectories if len(trajectory.actions) >= horizon]


def joined(*parts: Windows) -> Windows:
    """The windows of all parts, one after the other."""
    return Windows(
        starts=np.concatenate([part.starts for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
        truths=np.concatenate([part.truths for part in parts]),
    )


def _windows(places: Sequence[tuple[Trajectory, int]], horizon: int) -> Windows:
    """The windows that begin at these places."""
    return Windows(
        starts=np.stack([trajectory.observations[t] for trajectory, t in places]),
        actions=np.stack([trajectory.actions[t : t + horizon] for trajectory, t in places]),
        truths=np.stack([trajectory.observations[t + 1 : t + horizon + 1] for trajectory, t in places]),
    )


def split_trajectories(
    trajectories: Sequence[Trajectory], share: float, rng: np.random.Generator
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Whole trajectories for training and whole trajectories for validation, drawn at random; at least one of each."""
    if len(trajectories) < 2:
        raise BadTrace("A single episode cannot be fitted to and validated on at once; at least 2 are needed.")
    order = rng.permutation(len(trajectories))
    kept = max(1, round(share * len(trajectories)))
    return [trajectories[i] for i in np.sort(order[kept:])], [trajectories[i] for i in np.sort(order[:kept])]


HORIZONS = (1, 5, 8, 12, 25, 50)
NUM_WINDOWS = 1000

# quantity -> horizon -> {"mean", "median", "p90"}
ErrorTable = dict[str, dict[int, dict[str, float]]]


def predict(program: Program, windows: Windows) -> np.ndarray:
    """The states the program predicts for these windows, in double precision."""
    with jax.enable_x64(True):
        dynamics = program.bind("jax")
        rolled = jax.jit(jax.vmap(lambda start, actions: rollout(dynamics, start, actions)))
        return np.asarray(rolled(jnp.asarray(windows.starts), jnp.asarray(windows.actions)))


def errors_by_horizon(
    program: Program,
    trajectories: Sequence[Trajectory],
    domain: Domain,
    rng: np.random.Generator,
    horizon: int | None = None,
) -> ErrorTable:
    """The errors of a program that is run here."""
    return prediction_errors(partial(predict, program), trajectories, domain, rng, horizon)


def prediction_errors(
    predictor: Callable[[Windows], np.ndarray],
    trajectories: Sequence[Trajectory],
    domain: Domain,
    rng: np.random.Generator,
    horizon: int | None = None,
) -> ErrorTable:
    """Mean, median and 90th percentile of every quantity, over
    windows drawn from them; what is not finite counts as infinite.
    """
    longest = horizon or domain.horizon
    windows = cut_windows(trajectories, longest, NUM_WINDOWS, rng)
    predicted = predictor(windows)
    table: ErrorTable = {}
    for name, quantity in domain.error_metrics.items():
        errors = quantity(predicted, windows.truths)
        errors = np.where(np.isfinite(errors), errors, np.inf)
        steps = [step for step in HORIZONS if step < longest] + [longest]
        table[name] = {
            step: {
                "mean": float(np.mean(errors[:, step - 1])),
                "median": float(np.median(errors[:, step - 1])),
                "p90": _percentile_90(errors[:, step - 1]),
            }
            for step in steps
        }
    return table


def _percentile_90(errors: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        found = float(np.percentile(errors, 90))
    return np.inf if np.isnan(found) else found  # between two infinite errors lies no number


def replay_errors(
    program: Program,
    trajectories: Sequence[Trajectory],
    horizon: int,
    *,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> tuple[Errors, Errors]:
    """Normalised errors by horizon, of all fields and of each: error
    over the standard deviation of that field's change in as many steps.

    A program that has `read` and `observe` is compared by its observations; any other by its state, which must be what
    was observed. Fields that no observation shows are followed through a few rows before a window begins.

    The program runs in this process, or with `sandbox` in a locked process and nowhere else.
    """
    first = trajectories[0].observations[:1]
    if not sandbox:
        return _replayed(partial(last_observations, program), _hidden(program, first[0]), trajectories, horizon)
    with SandboxedWorld(program, trajectories[0].actions.shape[1], unfiltered=unfiltered) as world:
        hidden = int((~locked_shown(world, first)).sum())
        return _replayed(partial(_locked_last_observations, world), hidden, trajectories, horizon)


def _replayed(
    last: LastObservations, hidden: int, trajectories: Sequence[Trajectory], horizon: int
) -> tuple[Errors, Errors]:
    """Normalised errors of what `last` predicts, of a program with so many fields that no observation shows."""
    total, by_field = {}, {}
    lead = min(hidden + 1, MOST_LEAD) if hidden else 0  # rows that are looked at before a window begins
    for steps in sorted({1, *(h for h in (5, 25, 50, 100) if h < horizon), horizon}):
        windows = windows_of(trajectories, steps, lead)
        if windows is None:
            continue
        total[str(steps)], by_field[str(steps)] = window_errors(
            last(windows.starts, windows.actions, windows.before), windows
        )
    if not total:
        raise BadTrace(f"No trajectory has the {1 + lead} steps that a comparison takes.")
    return total, by_field


def _hidden(program: Program, observation: Float[np.ndarray, " O"]) -> int:
    """How many fields of the state no observation shows."""
    with jax.enable_x64(True):
        world = imagine(program, dtype=np.float64)
        return int((~np.asarray(shown(world, jnp.asarray(observation)))).sum())


class LogWindows(NamedTuple):
    """N stretches of H steps of a log: what was observed first and
    last, and what was done between; and L rows and actions before.
    """

    starts: Float[np.ndarray, "N O"]
    actions: Float[np.ndarray, "N H A"]
    truths: Float[np.ndarray, "N O"]
    before: tuple[Float[np.ndarray, "N L O"], Float[np.ndarray, "N L A"]] | None = None


def windows_of(trajectories: Sequence[Trajectory], steps: int, lead: int = 0) -> LogWindows | None:
    """Stretches of so many steps, evenly thinned; None where no trajectory is that long."""
    places = [(t, i) for t in trajectories for i in range(lead, len(t) - steps + 1)]
    if not places:
        return None
    kept = [places[k] for k in np.unique(np.linspace(0, len(places) - 1, MOST_WINDOWS).astype(int))]
    return LogWindows(
        np.array([t.observations[i] for t, i in kept]),
        np.array([t.actions[i : i + steps] for t, i in kept]),
        np.array([t.observations[i + steps] for t, i in kept]),
        (
            np.array([t.observations[i - lead : i] for t, i in kept]),
            np.array([t.actions[i - lead : i] for t, i in kept]),
        )
        if lead
        else None,
    )


def window_errors(
    predicted: Float[np.ndarray, "N O"], windows: LogWindows
) -> tuple[dict[str, float], dict[str, float]]:
    """Normalised errors of predicted last observations: over all fields, and the median of each."""
    change = np.std(windows.truths - windows.starts, axis=0)
    off = np.abs(predicted - windows.truths)
    off = np.where(np.isfinite(off), off, np.inf)
    live = change > STILL
    by_field = {str(i): float(np.median(off[:, i] / change[i])) for i in range(len(change)) if live[i]}
    return _spread(np.sqrt(np.mean((off[:, live] / change[live]) ** 2, axis=1))), by_field


def last_observations(
    program: Program,
    starts: Float[np.ndarray, "N O"],
    actions: Float[np.ndarray, "N H A"],
    before: tuple[Float[np.ndarray, "N L O"], Float[np.ndarray, "N L A"]] | None = None,
) -> Float[np.ndarray, "N O"]:
    """What the program predicts to be observed after these actions, in double precision."""
    with jax.enable_x64(True):
        world = imagine(program, dtype=np.float64)

        def last(start: jax.Array, acted: jax.Array, seen: jax.Array, done: jax.Array) -> jax.Array:
            state = world.read(seen[0] if len(seen) else start)
            for k in range(len(seen)):
                state = followed(world, state, done[k], seen[k + 1] if k + 1 < len(seen) else start)
            return world.observe(jax.lax.scan(lambda now, action: (world.step(now, action), None), state, acted)[0])

        nothing = np.zeros((len(starts), 0, starts.shape[1])), np.zeros((len(starts), 0, actions.shape[2]))
        parts = (jnp.asarray(part) for part in (starts, actions, *(before or nothing)))
        return np.asarray(jax.jit(jax.vmap(last))(*parts))


def _locked_last_observations(
    world: SandboxedWorld,
    starts: Float[np.ndarray, "N O"],
    actions: Float[np.ndarray, "N H A"],
    before: tuple[Float[np.ndarray, "N L O"], Float[np.ndarray, "N L A"]] | None = None,
) -> Float[np.ndarray, "N O"]:
    """As `last_observations`, of a program in the sandbox."""
    seen, done = before or (starts[:, None][:, :0], actions[:, :0])
    rows = np.concatenate([seen, starts[:, None]], axis=1)
    states = world.read(rows[:, 0])
    for k in range(done.shape[1]):
        states = locked_followed(world, states, done[:, k], rows[:, k + 1])
    return world.observe(world.live(states, actions.swapaxes(0, 1)).states[-1])


def _spread(values: np.ndarray) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "median": float(np.median(values)), "p90": float(np.quantile(values, 0.9))}
