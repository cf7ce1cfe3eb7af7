"""The two worlds of a session: the true one, which runs and can be taken back or is a log that can only be read, and
the imagined one, a program compiled once with its constants as arguments, so that turning one costs no compilation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from visualpatchworld.errors import BadState
from visualpatchworld.plan.return_search import ReturnPlanner, first_population, propose, refit, returns, to_actions
from visualpatchworld.program.dial import Dial
from visualpatchworld.program.env import followed, shown
from visualpatchworld.program.imagine import Imagined, imagine
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, NoPower, World

# The next action of whoever acts when nobody plans; None when the episode is over.
Act = Callable[[], np.ndarray | None]
HOLD_STEPS = 5  # of a random action, so that something comes of it
NUDGE = 0.1  # of the spread of each number of a place
STRANGE_STEPS = 10  # at random, where a world cannot be put elsewhere
# A domain's own cost of a goal, the distance from chosen values, or the program's reward.
Aim = Literal["task", "goal", "reward"]
SAMPLES, ROUNDS, ELITES = 256, 12, 24


class Truth(ABC):
    """An episode as far as it has been seen, which can be gone on with and, where the world runs,
    taken back and gone on otherwise.
    """

    runs: bool  # it can be acted in, so that plans have a true outcome
    num_episodes: int | None  # of a log; a world that runs has as many as there are seeds

    def __init__(self, world: World):
        self.name, self.field_names = world.name, world.field_names
        self.action_space, self.dt = world.action_space, world.dt

    @abstractmethod
    def begin(self, number: int) -> None:
        """Begin the episode of that number anew."""

    @property
    @abstractmethod
    def seen(self) -> Trajectory:
        """The episode so far."""

    @abstractmethod
    def reach(self, steps: int) -> None:
        """Go on until so many steps have been seen, or until the episode ends."""

    @abstractmethod
    def act(self, step: int, actions: Float[np.ndarray, "H A"]) -> None:
        """Go back to a step and on with these actions, as far as the episode lasts."""

    @abstractmethod
    def perturb(self, step: int, rng: np.random.Generator) -> int:
        """Put the world elsewhere than it was at this step; the step that it now stands at."""


@dataclass(frozen=True)
class _Moment:
    """Where a running world stood after some steps."""

    observation: Float[np.ndarray, " O"]
    snapshot: Any  # None where the world cannot be copied


class RunningTruth(Truth):
    """A world that runs. Where it cannot be copied, going back is beginning anew and acting as before."""

    runs, num_episodes = True, None

    def __init__(self, world: World, policy: Callable[[np.random.Generator], Act] | None = None, seed: int = 0):
        if "reset" not in world.powers:
            raise NoPower(f"{world.name} cannot be reset.")
        super().__init__(world)
        self._world, self._policy, self._seed = world, policy or self._at_random, seed
        self._copies = "snapshot" in world.powers
        self.begin(0)

    def begin(self, number: int) -> None:
        self._number, self._over = number, False
        self._rng = np.random.default_rng((self._seed, number))
        self._moments = [self._moment(self._world.reset(self._seed + number))]
        self._actions: list[np.ndarray] = []
        self._act = self._policy(self._rng)

    @property
    def seen(self) -> Trajectory:
        width = len(self.action_space)
        return Trajectory(
            np.array([moment.observation for moment in self._moments]), np.array(self._actions).reshape(-1, width)
        )

    def reach(self, steps: int) -> None:
        while len(self._actions) < steps and not self._over:
            action = self._act()
            if action is None:
                self._over = True
            else:
                self._step(np.asarray(action, dtype=np.float64))

    def act(self, step: int, actions: Float[np.ndarray, "H A"]) -> None:
        self._back_to(step)
        for action in actions:
            if not self._over:
                self._step(np.asarray(action, dtype=np.float64))
        self._act = self._policy(self._rng)

    def perturb(self, step: int, rng: np.random.Generator) -> int:
        self._back_to(step)
        if self._copies and "place" in self._world.powers:
            place = self._world.get_place()
            spread = np.std([place, *self._places(step, rng)], axis=0)
            for share in (NUDGE, NUDGE / 10):
                with suppress(BadState, NoPower):
                    self._moments[step] = self._moment(
                        self._world.set_place(place + share * spread * rng.standard_normal(len(place)))
                    )
                    break
        else:
            for _ in range(STRANGE_STEPS):
                if not self._over:
                    self._step(self.action_space.sample(rng))
        self._act = self._policy(self._rng)
        return len(self._actions)

    def _places(self, step: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Places that the episode came through and that others begin at, to see how
        far each of their numbers spreads.
        """
        here = self._moments[step].snapshot
        places = []
        for moment in self._moments[:step:5]:
            self._world.restore(moment.snapshot)
            places.append(self._world.get_place())
        for seed in rng.integers(2**31, size=4):
            self._world.reset(int(seed))
            places.append(self._world.get_place())
        self._world.restore(here)
        return places

    def _step(self, action: Float[np.ndarray, " A"]) -> None:
        outcome = self._world.step(action)
        self._actions.append(action)
        self._moments.append(self._moment(outcome.observation))
        self._over = outcome.terminated or outcome.truncated

    def _back_to(self, step: int) -> None:
        if step == len(self._actions) and not self._over:
            return
        kept = self._actions[:step]
        if self._copies:
            self._world.restore(self._moments[step].snapshot)
            self._moments, self._actions, self._over = self._moments[: step + 1], kept, False
            return
        self.begin(self._number)
        for action in kept:
            self._step(action)

    def _moment(self, observation: Float[np.ndarray, " O"]) -> _Moment:
        return _Moment(observation, self._world.snapshot() if self._copies else None)

    def _at_random(self, rng: np.random.Generator) -> Act:
        held, left = np.zeros(len(self.action_space)), 0

        def act() -> np.ndarray:
            nonlocal held, left
            if left == 0:
                held, left = self.action_space.sample(rng), int(rng.integers(1, 2 * HOLD_STEPS))
            left -= 1
            return held

        return act


class LoggedTruth(Truth):
    """The episodes of a log, those that it holds out last."""

    runs = False

    def __init__(self, world: World, episodes: list[Trajectory]):
        super().__init__(world)
        self._episodes = episodes
        self.num_episodes = len(episodes)
        self.begin(0)

    def begin(self, number: int) -> None:
        self._episode = self._episodes[number % len(self._episodes)]

    @property
    def seen(self) -> Trajectory:
        return self._episode

    def reach(self, steps: int) -> None:
        """A log has been seen to its end."""

    def act(self, step: int, actions: Float[np.ndarray, "H A"]) -> None:
        raise NoPower(f"{self.name} is a log: nobody can act in it.")

    def perturb(self, step: int, rng: np.random.Generator) -> int:
        """Nothing can be moved in a log; another of its steps is gone to."""
        return int(rng.integers(0, max(1, len(self._episode))))


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
                worth = earned(to_actions(self.action_space, candidates))
                return refit(planner, population, candidates, worth)[0], None

            first, *rounds = jax.random.split(key, planner.rounds + 1)
            population = first_population(planner, self.action_space, first)
            population = jax.lax.scan(advance, population, jnp.stack(rounds))[0]
            return to_actions(self.action_space, population.elites[0])

        return plan
