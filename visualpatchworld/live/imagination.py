"""What a program imagines, compiled once with its constants as arguments, so that turning one costs no compilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from visualpatchworld.plan.return_search import ReturnPlanner, first_population, propose, refit, returns, to_actions
from visualpatchworld.program.env import Imagined, followed, imagine, shown
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.source import Dial
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

# A domain's own cost of a goal, the distance from chosen values, or the program's reward.
Aim = Literal["task", "goal", "reward"]
SAMPLES, ROUNDS, ELITES = 256, 12, 24


class Motion(NamedTuple):
    """What is imagined to be observed at the start and after each action, and the state that it began with."""

    observations: Float[np.ndarray, "H+1 O"]
    state: Float[np.ndarray, " S"]


@dataclass(frozen=True)
class Imagination:
    """A program that can be asked what follows from an observation and actions, and which actions serve an aim,
    under any constants.
    """

    program: Program
    dials: tuple[Dial, ...]
    action_space: ActionSpace
    cost: Callable[[Any, Any], Any] | None = None  # a domain's: what a future costs, from states (H S) and a goal (S)

    @cached_property
    def has_reward(self) -> bool:
        return self.program.bind_world("numpy").reward is not None

    def hides(self, observation: Float[np.ndarray, " O"]) -> bool:
        """Whether a state has fields that no observation shows, so that it must be followed for a while to be known."""
        world, seen = imagine(self.program), jnp.asarray(observation, jnp.float32)
        try:
            known, width = bool(shown(world, seen).all()), len(world.observe(world.read(seen)))
        except (TypeError, ValueError, IndexError) as error:
            raise BadProgram(
                f"{self.program.where()}: the program reads no observation of {len(observation)} numbers ({error})."
            ) from None
        if width != len(observation):
            raise BadProgram(
                f"{self.program.where()}: the program is of a world that shows {width} numbers, not {len(observation)}."
            )
        return not known

    def motion(
        self,
        values: Sequence[float],
        lead: Trajectory,
        actions: Float[np.ndarray, "H A"],
        *,
        steps: int,
        lead_steps: int = 0,
    ) -> Motion:
        """What follows from the last observation of a lead-in, whose earlier ones tell what that one hides.

        Both are filled up to a number of steps, since every other length would have to be compiled anew.
        """
        free, whole = self._split(values)
        missing = lead_steps - len(lead)
        before = np.concatenate([np.repeat(lead.observations[:1], missing, axis=0), lead.observations])
        done = np.concatenate([np.zeros((missing, lead.actions.shape[1])), lead.actions])
        after = np.concatenate([actions, np.zeros((steps - len(actions), actions.shape[1]))])
        with jax.enable_x64(True):
            seen = [jnp.asarray(part, jnp.float64) for part in (free, before, done, after)]
            observations, state = self._motion(*seen, jnp.asarray(missing), whole=whole)
            return Motion(np.asarray(observations)[: len(actions) + 1], np.asarray(state))

    def plan(
        self,
        values: Sequence[float],
        state: Float[np.ndarray, " S"],
        aim: Aim,
        goal: Float[np.ndarray, " O"],
        weights: Float[np.ndarray, " O"],
        horizon: int,
        seed: int,
    ) -> Float[np.ndarray, "H A"]:
        """The best actions found under these constants; `weights` say how much each value of the goal counts."""
        free, whole = self._split(values)
        told = [jnp.asarray(part, jnp.float32) for part in (free, state, goal, weights)]
        planner = ReturnPlanner(horizon=horizon, samples=SAMPLES, rounds=ROUNDS, elites=ELITES)
        return np.asarray(self._plan(*told, jax.random.key(seed), whole=whole, aim=aim, planner=planner), np.float64)

    def _split(self, values: Sequence[float]) -> tuple[list[float], tuple[int, ...]]:
        """Whole numbers count loops and choose rows, which compiled code must know beforehand; the others stay open."""
        free = [value for dial, value in zip(self.dials, values, strict=True) if not dial.whole]
        return free, tuple(int(value) for dial, value in zip(self.dials, values, strict=True) if dial.whole)

    def _world(self, free: Float[Array, " F"], whole: tuple[int, ...], dtype: Any) -> Imagined:
        names = [dial.name for dial in self.dials if not dial.whole]
        constants: dict[str, Any] = {name: free[i] for i, name in enumerate(names)}
        counts = zip([dial.name for dial in self.dials if dial.whole], whole, strict=True)
        return imagine(self.program, "jax", dtype, constants | dict(counts))

    @cached_property
    def _motion(self) -> Callable[..., tuple[Array, Array]]:
        @partial(jax.jit, static_argnames="whole")
        def motion(
            free: Array, observations: Array, done: Array, actions: Array, missing: Array, *, whole: tuple[int, ...]
        ) -> tuple[Array, Array]:
            world = self._world(free, whole, observations.dtype)

            def follow(state: Array, inputs: Any) -> tuple[Array, None]:
                step, action, observation = inputs
                return jnp.where(step < missing, state, followed(world, state, action, observation)), None

            state = world.read(observations[0])
            if len(done):
                state = jax.lax.scan(follow, state, (jnp.arange(len(done)), done, observations[1:]))[0]
            return jnp.concatenate([world.observe(state)[None], world.ahead(state, actions)]), state

        return motion

    @cached_property
    def _plan(self) -> Callable[..., Array]:
        @partial(jax.jit, static_argnames=("whole", "aim", "planner"))
        def plan(
            free: Array,
            state: Array,
            goal: Array,
            weights: Array,
            key: Array,
            *,
            whole: tuple[int, ...],
            aim: Aim,
            planner: ReturnPlanner,
        ) -> Array:
            world = self._world(free, whole, jnp.float32)

            def earned(actions: Array) -> Array:
                if aim == "reward":
                    return returns(world, state, actions, jnp.asarray(planner.horizon))
                futures = jax.vmap(world.ahead, (None, 0))(state, actions)
                if aim == "task" and self.cost is not None:
                    return -self.cost(futures, goal)
                away = jnp.sqrt((weights * (futures - goal) ** 2).sum(-1))
                return -(away.min(-1) + away[:, -1])  # to come there, and to be there in the end

            def advance(population: Any, key: Array) -> tuple[Any, None]:
                candidates = propose(planner, self.action_space, population, key)
                return refit(planner, population, candidates, earned(to_actions(self.action_space, candidates)))[
                    0
                ], None

            first, *rounds = jax.random.split(key, planner.rounds + 1)
            population = first_population(planner, self.action_space, first)
            population = jax.lax.scan(advance, population, jnp.stack(rounds))[0]
            return to_actions(self.action_space, population.elites[0])

        return plan
