"""Reaching a given state in any world: fields of a program's state,
how closely each has to be met, and how often planning gets there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.files import from_json
from visualpatchworld.plan.feedback import FULL_TURN, turns
from visualpatchworld.plan.return_search import ReturnPlanner, compiled_search, rest_units, to_actions
from visualpatchworld.plan.reward import NO_LIMIT, Controller, Policy, choose_planner
from visualpatchworld.program.env import tracker
from visualpatchworld.program.imagine import Imagined, imagine
from visualpatchworld.program.program import Program
from visualpatchworld.world.collect import collect
from visualpatchworld.world.open import open_world

SPREAD_STEPS = 300  # of random action, that say how far fields move
CLOSE = 0.05  # of a field's spread: how closely it has to be met unless that is said
LOST = 1e3  # what the world's own end costs, in steps that are log(2) radii away


class BadGoal(VpwError):
    """A goal that names no number of any field, or a field that never moves."""


@dataclass(frozen=True)
class Wanted:
    """One field of a goal."""

    name: str
    value: float
    tolerance: float | None = None  # none: a share of the field's spread


@dataclass(frozen=True)
class GoalEvaluation:
    """How many steps each planned episode took to the goal, none
    where it was not reached, beside resting and acting at random.
    """

    goal: tuple[Wanted, ...]
    steps: tuple[int | None, ...]
    zero_steps: tuple[int | None, ...]
    random_steps: tuple[int | None, ...]
    budget: int
    planner: ReturnPlanner
    seconds_per_step: tuple[float, ...]
    env_steps: int

    @property
    def report(self) -> dict[str, Any]:
        """As `vpw plan --task goal --json` prints it; success in percent."""
        left = [steps for steps in self.steps if steps != 0]
        taken = [steps for steps in left if steps is not None]
        return {
            "goal": {one.name: {"value": one.value, "tolerance": one.tolerance} for one in self.goal},
            "success": _percent(self.steps),
            "n": len(self.steps),
            "success_unsolved": _percent(left) if left else None,
            "n_unsolved": len(left),
            "steps_median": float(np.median(taken)) if taken else None,
            "floor_zero": _percent(self.zero_steps),
            "floor_random": _percent(self.random_steps),
            "budget": self.budget,
            "planner": self.planner.title,
            "seconds_per_step_median": float(np.median(self.seconds_per_step)) if self.seconds_per_step else 0.0,
            "env_steps": self.env_steps,
            "steps": list(self.steps),
        }


def told_goal(told: str | Path | Mapping[str, Any]) -> tuple[Wanted, ...]:
    """A goal as people tell it: `angle=0,speed=0+-0.2`, a JSON file
    or a mapping with a number, or a number and a tolerance, by field.

    Example: `told_goal({"angle": 0.0, "speed": (0.0, 0.2)})`
    """
    if isinstance(told, Mapping):
        return _wanted(told, "the goal")
    text = str(told)
    if "=" not in text:
        try:
            content = from_json(Path(text).read_text(encoding="utf-8"))
        except OSError:
            raise BadGoal(
                f"'{text}' is no file and says of no field what it should be; write for example angle=0,speed=0."
            ) from None
        except ValueError:
            raise BadGoal(f"'{text}' is not JSON.") from None
        if not isinstance(content, Mapping):
            raise BadGoal(f"'{text}' does not hold a goal; write the numbers of fields by name, as {{\"angle\": 0.0}}.")
        return _wanted(content, f"'{text}'")
    parts: dict[str, Any] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        name, _, value = (one.strip() for one in part.partition("="))
        numbers = re.split(r"\s*\+-\s*", value)
        try:
            parts[name] = [float(one) for one in numbers]
        except ValueError:
            raise BadGoal(
                f"'{part}' does not say what a field should be; write NAME=NUMBER or NAME=NUMBER+-TOLERANCE."
            ) from None
    return _wanted(parts, "the goal")


def _wanted(content: Mapping[str, Any], where: str) -> tuple[Wanted, ...]:
    found = []
    for name, told in content.items():
        numbers = list(told) if isinstance(told, Sequence) and not isinstance(told, str) else [told]
        if not 1 <= len(numbers) <= 2 or not all(_is_number(one) for one in numbers):
            raise BadGoal(f"{where}: '{name}' must be a number, or a number and a tolerance, not {told!r}.")
        if len(numbers) == 2 and float(numbers[1]) <= 0:
            raise BadGoal(f"{where}: the tolerance of '{name}' must be positive.")
        found.append(Wanted(str(name), *map(float, numbers)))
    if not found:
        raise BadGoal(f"{where} says of no field what it should be.")
    return tuple(found)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)


def evaluate_goal(
    world: Any,
    program: Program,
    goal: str | Path | Mapping[str, Any],
    planner: ReturnPlanner | None = None,
    *,
    episodes: int = 20,
    seed: int = 0,
    tolerance: float = 1.0,
    budget: int | None = None,
    sandbox: bool = False,
    on_episode: Callable[[int, int | None], None] = lambda number, steps: None,
) -> GoalEvaluation:
    """Plan from so many starts of a world to a state with these
    fields; without a planner, one is chosen in imagination.

    A program is code: compiled, it runs in this process with all your rights. `sandbox=True` is refused, since a goal
    is planned for with derivatives of the program; `evaluate_return` has a sandbox.

    Fields are those of the program's `State` or of the world's observation. Each has to be met within what the goal
    says, or within a share of its spread under random action; `tolerance` scales all of that.

    Example: `vpw.evaluate_goal("Pendulum-v1", program, {"angle": 0.0, "angle_speed": 0.0},
    episodes=5).report["success"]`
    """
    if sandbox:
        raise BadGoal(
            "A goal is planned for with derivatives of the program, which only this process has; read the program, "
            "then leave out the sandbox."
        )
    wanted = told_goal(goal)
    world = open_world(world)
    if "reset" not in world.powers:
        raise BadGoal(f"{world.name} can not be acted in: it is a log.")
    imagined = imagine(program)
    names = (*imagined.field_names, *(name for name in world.field_names if name not in imagined.field_names))
    for one in wanted:
        if one.name not in names:
            raise UnknownName("field", one.name, names)
    seen = collect(world, SPREAD_STEPS, np.random.default_rng(seed))
    rows = jnp.asarray(np.concatenate([trajectory.observations for trajectory in seen]), jnp.float32)
    rest = to_actions(world.action_space, jnp.asarray(rest_units(world.action_space), jnp.float32))
    angles = jax.jit(lambda row: turns(imagined, imagined.read(row), rest))(rows[0])
    off = _offset(imagined, world.field_names, wanted, angles)
    spread = np.asarray(
        jax.jit(lambda rows: jnp.std(jax.vmap(lambda row: off(imagined.read(row)))(rows), axis=0))(rows)
    )
    for one, width in zip(wanted, spread, strict=True):
        if one.tolerance is None and not width > 0:
            raise BadGoal(
                f"'{one.name}' never moved under random action; say how closely it has to be met, as "
                f"{one.name}={one.value:g}+-0.1."
            )
    wanted = tuple(
        replace(one, tolerance=tolerance * (CLOSE * float(width) if one.tolerance is None else one.tolerance))
        for one, width in zip(wanted, spread, strict=True)
    )
    radii = jnp.asarray([one.tolerance for one in wanted], jnp.float32)
    sought = seeking(imagined, lambda state: off(state) / radii)
    met = jax.jit(sought.terminated_by_goal)
    seeds = [int(one) for one in np.random.default_rng(seed).integers(2**31, size=episodes)]
    planner = planner or choose_planner(world, sought.world, seeds)
    steps_allowed = budget or world.time_limit or NO_LIMIT
    before = world.env_steps
    control = Controller(world, sought.world, planner, compiled_search(planner, world.action_space, sought.world), seed)
    control.warm_up(world.reset(seeds[0]))
    track = tracker(imagined)

    def taken(seed: int, policy: Policy) -> int | None:
        observation, state = world.reset(seed), None
        acted: Any = None
        for step in range(steps_allowed + 1):
            state = track.first(observation) if state is None else track.next(state, acted, observation)
            if bool(met(jnp.asarray(state, jnp.float32))):
                return step
            if step == steps_allowed:
                break
            acted = policy(observation, steps_allowed - step)
            outcome = world.step(acted)
            observation = outcome.observation
            if outcome.terminated or outcome.truncated:
                state = track.next(state, acted, observation)
                return step + 1 if bool(met(jnp.asarray(state, jnp.float32))) else None
        return None

    steps = []
    for number, one in enumerate(seeds):
        steps.append(taken(one, control.policy()))
        on_episode(number, steps[-1])
    used = world.env_steps - before
    rng = np.random.default_rng(seed)
    zero = [taken(one, lambda *_: np.asarray(rest, dtype=float)) for one in seeds]
    random = [taken(one, lambda *_: world.action_space.sample(rng)) for one in seeds]
    return GoalEvaluation(
        wanted, tuple(steps), tuple(zero), tuple(random), steps_allowed, planner, tuple(control.seconds), used
    )


@dataclass(frozen=True)
class Sought:
    """A world whose reward is to be near a goal, and whose end is to be there."""

    world: Imagined
    terminated_by_goal: Callable[[Any], Any]


def seeking(world: Imagined, radii_off: Callable[[Float[Array, " S"]], Float[Array, " N"]]) -> Sought:
    """The program's world with a goal in place of its reward: each
    step costs the more the farther off it is, until the goal is met.

    Its own ends stay what they are, and cost more than any way to the goal.
    """

    def met(state: Float[Array, " S"]) -> Bool[Array, ""]:
        return jnp.all(jnp.abs(radii_off(state)) <= 1.0)

    def reward(state: Any, action: Any, after: Float[Array, " S"]) -> Float[Array, ""]:
        distance = jnp.sqrt(jnp.mean(radii_off(after) ** 2) + 1e-12)
        return -jnp.log1p(distance) - jnp.where(world.terminated(after) & ~met(after), LOST, 0.0)

    return Sought(
        replace(
            world,
            reward=reward,
            terminated=lambda after: world.terminated(after) | met(after),
            has_reward=True,
        ),
        met,
    )


def _offset(
    world: Imagined, observed: Sequence[str], wanted: Sequence[Wanted], angles: Bool[Array, " S"]
) -> Callable[[Float[Array, " S"]], Float[Array, " N"]]:
    """A function from a state to how far each wanted field is
    off, the short way round where it is an angle of the state.
    """
    values = jnp.asarray([one.value for one in wanted], jnp.float32)
    places = [
        (True, world.field_names.index(one.name))
        if one.name in world.field_names
        else (False, observed.index(one.name))
        for one in wanted
    ]
    round_about = jnp.stack([angles[place] if in_state else jnp.asarray(False) for in_state, place in places])

    def off(state: Float[Array, " S"]) -> Float[Array, " N"]:
        shown = world.observe(state)
        gap = jnp.stack([state[place] if in_state else shown[place] for in_state, place in places]) - values
        return jnp.where(round_about, (gap + jnp.pi) % FULL_TURN - jnp.pi, gap)

    return off


def _percent(steps: Sequence[int | None]) -> float:
    return 100.0 * sum(one is not None for one in steps) / len(steps)
