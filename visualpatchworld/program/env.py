"""A program as an environment: a Gymnasium environment, thousands of copies at once, and trackers of its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from visualpatchworld.errors import BadState
from visualpatchworld.program.imagine import Imagined, imagine
from visualpatchworld.program.program import Program
from visualpatchworld.program.sandbox import Lived, SandboxedWorld
from visualpatchworld.world.world import ActionSpace

Starts = Float[np.ndarray, "N O"] | Sequence[Sequence[float]] | Callable[[np.random.Generator], Any]


class _Here:
    """A program's world as `SandboxedWorld` has it, in this process."""

    def __init__(self, program: Program):
        self._world = imagine(program, "numpy")

    def read(self, observations: Float[np.ndarray, "N O"]) -> Float[np.ndarray, "N S"]:
        return np.stack([self._world.read(row) for row in observations])

    def observe(self, states: Float[np.ndarray, "N S"]) -> Float[np.ndarray, "N O"]:
        return np.stack([self._world.observe(row) for row in states])

    def live(self, states: Float[np.ndarray, "1 S"], actions: Float[np.ndarray, "1 1 A"]) -> Lived:
        before, action = states[0], actions[0, 0]
        after = self._world.step(before, action)
        told = self._world.reward(before, action, after), self._world.terminated(after), self._world.valid(after)
        return Lived(after[None, None], *(np.asarray(part)[None, None] for part in told))

    def close(self) -> None:
        pass


class ProgramEnv(gym.Env[np.ndarray, Any]):
    """The world that a program describes, as a Gymnasium environment; it starts where it is told to.

    The program runs in this process, or with `sandbox` in a locked one until `close()`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        program: Program,
        *,
        starts: Starts,
        action_space: ActionSpace | gym.Space,
        time_limit: int | None = None,
        sandbox: bool = False,
        unfiltered: bool = False,
    ):
        self.program = program
        self.starts = starts if callable(starts) else _rows(starts)
        self.time_limit = time_limit
        self.action_space = as_gym_space(action_space) if isinstance(action_space, ActionSpace) else action_space
        width = int(np.prod(self.action_space.shape or (1,)))
        self.world = SandboxedWorld(program, width, unfiltered=unfiltered) if sandbox else _Here(program)
        self._state = self._read(self._draw(np.random.default_rng(0)))
        self._elapsed = 0
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, self._seen().shape, np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin at one of the starts, or at `options["observation"]`."""
        super().reset(seed=seed)
        chosen = (options or {}).get("observation")
        self._state = self._read(self._draw(self.np_random) if chosen is None else np.asarray(chosen, dtype=np.float64))
        self._elapsed = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        row = np.asarray(action, dtype=np.float64).reshape(-1)
        if isinstance(self.action_space, gym.spaces.Discrete):
            row = row - float(self.action_space.start)
        lived = self.world.live(self._state[None], row[None, None])
        self._state = lived.states[0, 0]
        self._elapsed += 1
        ended = bool(lived.ended[0, 0])
        late = self.time_limit is not None and self._elapsed >= self.time_limit
        return self._seen(), float(lived.rewards[0, 0]), ended, late and not ended, {}

    def close(self) -> None:
        """End the process that the program runs in, where there is one."""
        self.world.close()

    def _read(self, observation: np.ndarray) -> np.ndarray:
        return self.world.read(observation[None])[0]

    def _seen(self) -> np.ndarray:
        return self.world.observe(self._state[None])[0]

    def _draw(self, rng: np.random.Generator) -> np.ndarray:
        starts = self.starts
        return np.asarray(starts(rng) if callable(starts) else starts[rng.integers(len(starts))], dtype=np.float64)


def as_env(
    program: Program,
    *,
    starts: Starts,
    action_space: ActionSpace | gym.Space,
    time_limit: int | None = None,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> ProgramEnv:
    """The world that a program describes, as a Gymnasium environment.

    `starts` are observations to begin at: rows, of which one is drawn, or a function of a random generator.

    A program is code. It runs in this process with all your rights, or with `sandbox=True` in a locked process and
    nowhere else; `close()` ends that process. `unfiltered=True` goes on where the machine cannot keep a program from
    your files.

    Example: `env = vpw.as_env(program, starts=[[1.0, 0.0, 0.0]], action_space=gym.spaces.Box(-2, 2, (1,)),
    time_limit=200)`
    """
    return ProgramEnv(
        program,
        starts=starts,
        action_space=action_space,
        time_limit=time_limit,
        sandbox=sandbox,
        unfiltered=unfiltered,
    )


class Copies(NamedTuple):
    """Where N copies stand."""

    states: Float[Array, "N S"]
    elapsed: Int[Array, " N"]
    key: PRNGKeyArray


class Step(NamedTuple):
    """What a step of N copies brought.

    A copy whose episode is over has begun anew: `observations` are of its new start.
    """

    observations: Float[Array, "N O"]
    rewards: Float[Array, " N"]
    terminated: Bool[Array, " N"]
    truncated: Bool[Array, " N"]
    last_observations: Float[Array, "N O"]  # before beginning anew


@dataclass(frozen=True)
class VectorEnv:
    """N copies of a program's world; `reset` and `step` are pure and
    compiled, so that they can stand inside larger compiled functions.
    """

    num_envs: int
    reset: Callable[[PRNGKeyArray], tuple[Copies, Float[Array, "N O"]]]
    step: Callable[[Copies, Float[Array, "N A"]], tuple[Copies, Step]]


def as_vector_env(
    program: Program, *, num_envs: int, starts: Float[np.ndarray, "N O"], time_limit: int | None = None
) -> VectorEnv:
    """Thousands of copies of a program's world in one compiled step, each begun anew by itself when it is over.

    A program is code: compiled, it runs in this process with all your rights. `as_env` has a sandbox.

    Example: `env = vpw.as_vector_env(program, num_envs=4096, starts=starts); copies, seen =
    env.reset(jax.random.key(0))`
    """
    world = imagine(program, "jax")
    rows = jnp.asarray(_rows(starts), jnp.float32)

    def begin(key: PRNGKeyArray) -> Float[Array, "N S"]:
        return jax.vmap(world.read)(rows[jax.random.randint(key, (num_envs,), 0, len(rows))])

    @jax.jit
    def reset(key: PRNGKeyArray) -> tuple[Copies, Float[Array, "N O"]]:
        key, drawn = jax.random.split(key)
        states = begin(drawn)
        return Copies(states, jnp.zeros(num_envs, int), key), jax.vmap(world.observe)(states)

    @jax.jit
    def step(copies: Copies, actions: Float[Array, "N A"]) -> tuple[Copies, Step]:
        actions = jnp.asarray(actions, jnp.float32).reshape(num_envs, -1)
        after = jax.vmap(world.step)(copies.states, actions)
        rewards = jax.vmap(world.reward)(copies.states, actions, after)
        ended = jax.vmap(world.terminated)(after)
        elapsed = copies.elapsed + 1
        late = ~ended & (elapsed >= time_limit) if time_limit is not None else jnp.zeros_like(ended)
        key, drawn = jax.random.split(copies.key)
        over = ended | late
        states = jnp.where(over[:, None], begin(drawn), after)
        see = jax.vmap(world.observe)
        return Copies(states, jnp.where(over, 0, elapsed), key), Step(see(states), rewards, ended, late, see(after))

    return VectorEnv(num_envs, reset, step)


def as_gym_space(space: ActionSpace) -> gym.Space:
    """An action space in Gymnasium's terms."""
    if space.kind == "discrete":
        return gym.spaces.Discrete(space.counts[0]) if len(space) == 1 else gym.spaces.MultiDiscrete(list(space.counts))
    return gym.spaces.Box(np.array(space.low, np.float32), np.array(space.high, np.float32), (len(space),), np.float32)


def _rows(starts: Any) -> Float[np.ndarray, "N O"]:
    rows = np.atleast_2d(np.asarray(starts, dtype=np.float64))
    if rows.ndim != 2 or not len(rows) or not np.isfinite(rows).all():
        raise BadState("Starts must be rows of finite observations, at least one, or a function that draws one.")
    return rows


LEAST_INFLUENCE = 1e-4  # a hidden field that moves an observation less than this per unit is not put right by it


def shown(world: Imagined, observation: Float[Array, " O"]) -> Bool[Array, " S"]:
    """Which fields of a state the observation determines; a slope that is not a number is one all the same."""
    return (jax.jacfwd(world.read)(observation) != 0).any(axis=1)


def followed(
    world: Imagined, state: Float[Array, " S"], action: Float[Array, " A"], observation: Float[Array, " O"]
) -> Float[Array, " S"]:
    """The state after an action that led to this observation, for JAX to trace.

    Fields that no observation shows (a velocity, say) are chosen so that the last step leads to what is seen now, as
    far as they have a say in it, and then moved by the program.
    """
    seen, visible = world.read(observation), shown(world, observation)

    def predicted(start: Float[Array, " S"]) -> Float[Array, " O"]:
        return world.observe(world.step(start, action))

    slope = jnp.where(visible, 0.0, jax.jacfwd(predicted)(state))
    slope = jnp.where(jnp.abs(slope) > LEAST_INFLUENCE, slope, 0.0)
    missing = observation - predicted(state)
    moved = state + jnp.where(visible, 0.0, jnp.linalg.pinv(slope, rtol=1e-3) @ missing)
    moved = jnp.where(jnp.isfinite(moved), moved, state)
    return jnp.where(visible, seen, world.step(moved, action))


class Tracker(NamedTuple):
    """`first` reads a state off the first observation; `next`
    follows it from a state and an action to the next observation.
    """

    first: Callable[[Any], Float[np.ndarray, " S"]]
    next: Callable[[Any, Any, Any], Float[np.ndarray, " S"]]


def tracker(world: Imagined) -> Tracker:
    """A tracker of this program's states."""
    determined = jax.jit(lambda observation: shown(world, observation))
    follow = jax.jit(lambda state, action, observation: followed(world, state, action, observation))
    read = jax.jit(world.read)

    def cast(values: Any) -> Array:
        return jnp.asarray(values, jnp.float32)

    def first(observation: Any) -> Float[np.ndarray, " S"]:
        return np.asarray(read(cast(observation)))

    def following(state: Any, action: Any, observation: Any) -> Float[np.ndarray, " S"]:
        if bool(determined(cast(observation)).all()):
            return first(observation)
        return np.asarray(follow(cast(state), cast(action), cast(observation)))

    return Tracker(first, following)


NUDGE = 1e-5  # of a value, or of one: what slopes are taken over where nothing can be traced


def _nudged(rows: Float[np.ndarray, "N M"]) -> tuple[Float[np.ndarray, "N M M"], Float[np.ndarray, "N M"]]:
    """Every row once for each of its values, which is a little larger there, and by how much."""
    sizes = NUDGE * np.maximum(np.abs(rows), 1.0)
    return rows[:, None] + sizes[:, None] * np.eye(rows.shape[1]), sizes


def locked_shown(world: SandboxedWorld, observations: Float[np.ndarray, "N O"]) -> Bool[np.ndarray, "N S"]:
    """As `shown`, of a program in the sandbox, with slopes from small differences."""
    seen, near = world.read(observations), _nudged(observations)[0]
    return (world.read(near.reshape(-1, near.shape[2])).reshape(*near.shape[:2], -1) != seen[:, None]).any(axis=1)


def locked_followed(
    world: SandboxedWorld,
    states: Float[np.ndarray, "N S"],
    actions: Float[np.ndarray, "N A"],
    observations: Float[np.ndarray, "N O"],
) -> Float[np.ndarray, "N S"]:
    """As `followed`, of a program in the sandbox, for N states at once: each request goes to another process."""

    def predicted(starts: Float[np.ndarray, "M S"], acted: Float[np.ndarray, "M A"]) -> Float[np.ndarray, "M O"]:
        return world.observe(world.live(starts, acted[None]).states[0])

    seen, visible = world.read(observations), locked_shown(world, observations)
    if visible.all():
        return seen
    (starts, sizes), fields = _nudged(states), states.shape[1]
    here = predicted(states, actions)
    there = predicted(starts.reshape(-1, fields), np.repeat(actions, fields, axis=0)).reshape(*starts.shape[:2], -1)
    slope = ((there - here[:, None]) / sizes[..., None]).swapaxes(1, 2)
    heard = np.isfinite(slope) & (np.abs(slope) > LEAST_INFLUENCE) & ~visible[:, None]
    missing = np.where(np.isfinite(here), observations - here, 0.0)
    moves = (np.linalg.pinv(np.where(heard, slope, 0.0), rcond=1e-3) @ missing[..., None])[..., 0]
    after = world.live(states + np.where(visible, 0.0, moves), actions[None]).states[0]
    return np.where(visible, seen, np.where(np.isfinite(after), after, states))


def locked_tracker(world: SandboxedWorld) -> Tracker:
    """A tracker of the states of a program in the sandbox."""

    def row(values: Any) -> Float[np.ndarray, "1 M"]:
        return np.asarray(values, float)[None]

    def following(state: Any, action: Any, observation: Any) -> Float[np.ndarray, " S"]:
        return locked_followed(world, row(state), row(action), row(observation))[0]

    return Tracker(lambda observation: world.read(row(observation))[0], following)
