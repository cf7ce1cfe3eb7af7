"""Tasks: which goals they have, how they are drawn from episodes, and what attempts at them add up to."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from jaxtyping import Float
from scipy.stats import binomtest

from visualpatchworld.domain import Domain, Metric
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.files import from_json, read_text
from visualpatchworld.paper.cell import Outcome
from visualpatchworld.plan.control import Task
from visualpatchworld.plan.goal_state import BadGoal
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.scene.picture import read_picture
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode

GoalsOf = Literal["same-episode", "other-episode", "moving", "given"]


@dataclass(frozen=True)
class Goals:
    """Where goals come from, how closely they have to be met, and what of them counts.

    Example: `vpw.evaluate(world, program, traces, goals=vpw.Goals(of="other-episode", tolerance=0.5))`
    """

    of: GoalsOf = "same-episode"
    tolerance: float = 1.0  # on the success radius
    fields: tuple[str, ...] = ()  # objects or fields that count; all of them when none is named
    # The goal where it is the same for all tasks; what is not a number does not matter.
    given: tuple[float, ...] | None = None

    def __post_init__(self):
        if self.of not in get_args(GoalsOf):
            raise UnknownName("kind of goals", self.of, get_args(GoalsOf)[:2])
        if not 0 < self.tolerance <= 100:
            raise BadGoal(
                f"The success radius can be scaled by a number above 0 and up to 100, not by {self.tolerance}."
            )
        if (self.of == "given") != (self.given is not None):
            raise ValueError("a given goal needs its numbers, and others have none")

    def told(self, offset: int) -> str:
        """The goals in a few words."""
        where = {
            "same-episode": f"goals {offset} ahead",
            "other-episode": "goals of other episodes",
            "moving": "goals that go another episode's way",
            "given": "a given goal",
        }[self.of]
        radius = "" if self.tolerance == 1.0 else f" met within {self.tolerance:g} of the success radius"
        return where + (f" for {', '.join(self.fields)}" if self.fields else "") + radius

    def masked(self, goal: Float[np.ndarray, " S"], space: StateSpace) -> Float[np.ndarray, " S"]:
        """The goal with all that does not count replaced by no number."""
        return np.where(counted(space, self.fields), goal, math.nan)


def counted(space: StateSpace, fields: Sequence[str]) -> np.ndarray:
    """Which numbers of a state belong to the named objects or fields; all of them when none is named."""
    if not fields:
        return np.ones(len(space), bool)
    of_object = [field.at.split(".")[0] for field in space]
    for name in fields:
        if name not in space.names and name not in of_object:
            raise UnknownName("object or field", name, (*dict.fromkeys(of_object), *space.names))
    return np.array([field.name in fields or owner in fields for field, owner in zip(space, of_object, strict=True)])


def read_goal(path: Path, domain: Domain, constants: Constants) -> tuple[float, ...]:
    """The goal in a file: a picture, which the tool path reads, or JSON with the
    numbers of some or all fields by name.
    """
    space = domain.scene.state_space
    if path.suffix.lower() in (".png", ".jpg", ".jpeg"):
        return tuple(extractor(domain, constants).observe([read_picture(path)]).tolist())
    try:
        content = from_json(read_text(path, "goal", BadGoal))
    except ValueError:
        raise BadGoal(f"'{path}' is neither a picture nor JSON.") from None
    if isinstance(content, list) and len(content) == len(space):
        content = dict(zip(space.names, content, strict=True))
    if not isinstance(content, Mapping) or not content:
        raise BadGoal(
            f"'{path}' does not hold a goal; write the numbers of fields by name, as {{\"{space.names[0]}\": 1.0}}."
        )
    for name, value in content.items():
        if name not in space.names:
            raise UnknownName("field", str(name), space.names)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)
        ):
            raise BadGoal(f"'{path}': '{name}' must be a number, not {value!r}.")
    if all(value is None for value in content.values()):
        raise BadGoal(f"'{path}' does not say what any field should be.")
    return tuple(math.nan if content.get(name) is None else float(content[name]) for name in space.names)


def wilson_percent(successes: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in percent."""
    interval = binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return 100 * float(interval.low), 100 * float(interval.high)


NUM_EARLIER = 3  # steps before a start that a task carries along


class TooFewTasks(VpwError):
    """The episodes do not hold as many tasks as were asked for."""


def draw_tasks(episodes: Sequence[Episode], *, count: int, offset: int, seed: int) -> tuple[Task, ...]:
    """`count` tasks whose goals lie `offset` steps after their starts, drawn
    without replacement and sorted by place.
    """
    places = [(episode, t) for episode in episodes for t in range(episode.num_rows - offset)]
    if len(places) < count:
        raise TooFewTasks(
            f"The episodes hold {len(places)} tasks with a goal {offset} steps ahead, not {count}; "
            "ask for fewer, or for a smaller --offset."
        )
    chosen = np.sort(np.random.default_rng(seed).choice(len(places), count, replace=False))
    return tuple(
        _task(number, *places[i], goal=EpisodeStep(places[i][0], places[i][1] + offset))
        for number, i in enumerate(chosen)
    )


MOST_DRAWS = 1000  # for one task, before it is believed that there is none


def draw_far_tasks(
    episodes: Sequence[Episode],
    *,
    count: int,
    seed: int,
    met: Metric,
    given: EpisodeStep | None = None,
    moves: bool = False,
) -> tuple[Task, ...]:
    """`count` tasks whose goals are rows of other episodes than their starts, or one given row;
    none is solved at its start.

    A goal that moves goes on as its episode does.
    """
    rng = np.random.default_rng(seed)
    rows = [EpisodeStep(episode, step) for episode in episodes for step in range(episode.num_rows)]
    tasks: list[Task] = []
    for _ in range(MOST_DRAWS * count):
        start, goal = rows[rng.integers(len(rows))], given or rows[rng.integers(len(rows))]
        if start.episode is not goal.episode and not met(start.state, goal.state):
            task = _task(len(tasks), start.episode, start.step, goal=goal)
            tasks.append(replace(task, goal=goal.episode.observations[goal.step :]) if moves else task)
        if len(tasks) == count:
            return tuple(tasks)
    raise TooFewTasks(
        "The episodes hold no start that is of another episode than its goal and does not meet it already."
    )


class EpisodeStep(NamedTuple):
    """A moment of an episode."""

    episode: Episode
    step: int

    @property
    def state(self) -> np.ndarray:
        return self.episode.observations[self.step]


def _task(number: int, episode: Episode, step: int, *, goal: EpisodeStep) -> Task:
    earlier = slice(max(0, step - NUM_EARLIER), step)
    return Task(
        number=number,
        episode=episode.index,
        step=step,
        start_engine_state=episode.engine_states[step],
        start=episode.observations[step],
        goal_engine_state=goal.episode.engine_states[goal.step],
        goal=goal.state,
        earlier_engine_states=episode.engine_states[earlier],
        earlier_actions=episode.actions[earlier],
    )


def hash_tasks(tasks: Sequence[Task]) -> str:
    """A short fingerprint of starts and goals."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(np.round(np.concatenate([task.start, task.goal.ravel()]), 6).tobytes())
    return digest.hexdigest()[:12]


@dataclass(frozen=True)
class Summary:
    """Success in percent, over all tasks and over those not solved at their start."""

    n: int
    success: float
    ci95: tuple[float, float]
    n_unsolved: int
    success_unsolved: float | None
    plans: int
    engine_rollouts_per_plan: float
    non_finite: int
    seconds_per_plan_median: float | None


def summarize(outcomes: Sequence[Outcome]) -> Summary:
    """The outcomes of one cell, or of several that differ only in their seed."""
    unsolved = [outcome for outcome in outcomes if not outcome.solved_at_start]
    successes = sum(outcome.success for outcome in outcomes)
    plans = sum(outcome.plans for outcome in outcomes)
    seconds = [value for outcome in outcomes for value in outcome.plan_seconds]
    low, high = wilson_percent(successes, len(outcomes))
    return Summary(
        n=len(outcomes),
        success=100 * successes / len(outcomes),
        ci95=(round(low, 1), round(high, 1)),
        n_unsolved=len(unsolved),
        success_unsolved=100 * sum(outcome.success for outcome in unsolved) / len(unsolved) if unsolved else None,
        plans=plans,
        engine_rollouts_per_plan=sum(outcome.engine_rollouts for outcome in outcomes) / plans if plans else 0.0,
        non_finite=sum(outcome.non_finite for outcome in outcomes),
        seconds_per_plan_median=float(np.median(seconds)) if seconds else None,
    )
