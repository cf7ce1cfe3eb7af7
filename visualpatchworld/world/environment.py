"""Environments as worlds: Gymnasium's, and the tasks of dm_control."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadState, UnknownName, VpwError
from visualpatchworld.extras import dm_control, mujoco
from visualpatchworld.program.quoting import python_names
from visualpatchworld.world.live import LiveWorld, Power
from visualpatchworld.world.world import ActionSpace, BadSpace, action_space, bounded, field_labels, flatten, numbered

MOST_PLACE = 200  # numbers in a place; more is no state but a picture or a table
_STANDARD = (TimeLimit, OrderEnforcing, PassiveEnvChecker)
_OBSERVERS = (
    "_get_obs",
    "_get_ob",
    "_get_observation",
    "get_obs",
    "get_observation",
    "_observe",
    "observe",
    "_obs",
    "_observation",
)
PICTURE_SIZE_PX = 240
_PREFIX = "dmc:"


class BadEnvironment(VpwError):
    """An environment that cannot be made, reset or stepped."""


class GymWorld(LiveWorld):
    """A Gymnasium environment; how its state is set is found by trying, and kept only if steps repeat."""

    def __init__(self, env: gym.Env, name: str | None = None):
        super().__init__()
        self.time_limit = _time_limit(env)
        while type(env) in _STANDARD:  # the limit is kept here, where an experiment can begin its time anew
            env = env.env  # pyright: ignore[reportAttributeAccessIssue]
        self.env = env
        self.name = name or (env.spec.id if env.spec is not None else type(env.unwrapped).__name__)
        self._labels = field_labels(env.observation_space)
        self.field_names = python_names(self._labels)
        self.action_space, self._member = action_space(env.action_space)
        self._start: Any = None  # the environment as it was when the present episode began
        self._state: tuple[str, ...] = ()  # attributes that make up a place
        self._shows_late = _has_engine_state(env.unwrapped)

    @property
    def field_labels(self) -> tuple[str, ...]:
        return self._labels

    @classmethod
    def made(cls, gym_id: str, **settings: Any) -> GymWorld:
        """The environment that `gymnasium.make` makes of this id, as a world."""
        with _quiet():
            return cls(gym.make(gym_id, disable_env_checker=True, **settings), gym_id)

    def render(self) -> UInt8[np.ndarray, "H W 3"]:
        if self.env.render_mode != "rgb_array":
            return super().render()
        return np.asarray(self.env.render())

    def taken(self, action: Float[np.ndarray, " A"]) -> Float[np.ndarray, " A"]:
        given = np.asarray(action, dtype=np.float64)
        return (
            given
            if self.action_space.kind == "discrete"
            else np.asarray(self._member(given), dtype=np.float64).reshape(-1)
        )

    def _told_powers(self) -> frozenset[Power]:
        told = super()._told_powers()
        return frozenset({*told, "render"}) if self.env.render_mode == "rgb_array" else told

    def _reset(self, seed: int) -> Float[np.ndarray, " O"]:
        with _quiet(), _named(self.name):
            observation, _ = self.env.reset(seed=int(seed))
        flat = flatten(self.env.observation_space, observation)
        if self._held is None or "place" in self._held:
            self._start = self._copied()
        return flat

    def _step(self, action: Float[np.ndarray, " A"]) -> tuple[Float[np.ndarray, " O"], float, bool, bool]:
        with _quiet(), _named(self.name):
            observation, reward, terminated, truncated, _ = self.env.step(self._member(action))
        return flatten(self.env.observation_space, observation), float(reward), bool(terminated), bool(truncated)

    # Snapshots: the attributes of every layer, or a pickle of the whole where those can not be copied.

    def _save(self) -> Any:
        return self._copied() or pickle.dumps(self.env)

    def _load(self, inside: Any) -> None:
        if isinstance(inside, bytes):
            self.env = pickle.loads(inside)
        else:
            self._put_back(inside)

    def _layers(self) -> list[Any]:
        layers: list[Any] = [self.env]
        while isinstance(layers[-1], gym.Wrapper):
            layers.append(layers[-1].env)
        return layers

    def _shared(self) -> dict[int, Any]:
        """What copies have in common, as `deepcopy` takes it: what no
        step changes, and the engine's data, which are copied apart.
        """
        inner = self.env.unwrapped
        things = [getattr(inner, name, None) for name in ("model", "data", "mujoco_renderer", "spec")] + self._layers()
        things += [
            thing
            for layer in self._layers()
            for thing in vars(layer).values()
            if isinstance(thing, gym.Space) or _is_for_drawing(thing)
        ]
        return {id(thing): thing for thing in things if thing is not None}

    def _copied(self) -> tuple[list[dict[str, Any]], Any] | None:
        """The attributes of every layer and the engine's data, copied; None where some can not be."""
        inner = self.env.unwrapped
        try:
            attributes = [
                {key: value for key, value in vars(layer).items() if key != "env"} for layer in self._layers()
            ]
            data = copy.copy(inner.data) if _has_engine_state(inner) else None  # pyright: ignore[reportAttributeAccessIssue]
            return copy.deepcopy(attributes, self._shared()), data
        except Exception:  # any attribute of any class may refuse to be copied, each in its own way
            return None

    def _put_back(self, copied: tuple[list[dict[str, Any]], Any]) -> None:
        attributes, data = copied
        for layer, values in zip(self._layers(), copy.deepcopy(attributes, self._shared()), strict=True):
            below = {key: value for key, value in vars(layer).items() if key == "env"}
            vars(layer).clear()
            vars(layer).update({**values, **below})
        if data is not None:
            inner: Any = self.env.unwrapped
            mujoco.mj_copyData(inner.data, inner.model, data)  # pyright: ignore[reportAttributeAccessIssue]

    # Places: positions and velocities of MuJoCo, or the numbers among the attributes that a step changes.

    def _get_place(self) -> Float[np.ndarray, " P"]:
        inner: Any = self.env.unwrapped
        if _has_engine_state(inner):
            return np.concatenate([inner.data.qpos, inner.data.qvel])
        return np.concatenate([np.asarray(getattr(inner, name), dtype=np.float64).reshape(-1) for name in self._state])

    def _set_place(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]:
        randomness = self._get_randomness()
        # What an episode keeps (a goal) stays, what it counts (steps after the end) begins anew, and chance goes on.
        if self._start is not None:
            self._put_back(self._start)
        else:
            self.env.reset()
        self._set_randomness(randomness)
        inner: Any = self.env.unwrapped
        if _has_engine_state(inner):
            num_positions = len(inner.data.qpos)
            inner.set_state(place[:num_positions], place[num_positions:])
        else:
            self._write(inner, place)
        observation = self._observed(place)
        space = self.env.observation_space
        if (
            isinstance(space, gym.spaces.Box)
            and not ((observation >= space.low.ravel()) & (observation <= space.high.ravel())).all()
        ):
            raise BadState(f"A place of {self.name} lies outside of what it says it can show: {observation.tolist()}.")
        return observation

    def _write(self, inner: Any, place: Float[np.ndarray, " P"]) -> None:
        at = 0
        for name in self._state:
            old = getattr(inner, name)
            shape = np.shape(old)
            part = place[at : at + int(np.prod(shape, dtype=int))].reshape(shape)
            at += part.size
            if isinstance(old, (tuple, list)):
                setattr(inner, name, type(old)(float(value) for value in part))
            else:
                setattr(inner, name, part.astype(old.dtype) if isinstance(old, np.ndarray) else type(old)(part))

    _place_ways = 2

    def _choose_place(self, way: int) -> bool:
        """The attribute `state` alone, and then all numbers that three steps change."""
        inner = self.env.unwrapped
        if _has_engine_state(inner):
            return way == 0
        rng = np.random.default_rng(0)
        self.reset(0)
        before = {name: np.array(value, dtype=np.float64) for name, value in vars(inner).items() if _numeric(value)}
        moved = set()
        for _ in range(3):
            if not self._over:
                self.step(self.action_space.sample(rng))
            now: dict[str, Any] = {name: vars(inner).get(name) for name in before}
            moved |= {
                name
                for name, old in before.items()
                if _numeric(now[name]) and np.shape(now[name]) == old.shape and not np.array_equal(now[name], old)
            }
        self._state = tuple(sorted(moved & {"state"} if way == 0 else moved))
        return 0 < sum(int(np.size(getattr(inner, name))) for name in self._state) <= MOST_PLACE

    def _observed(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]:
        """What is seen of the present state without a step: by the
        environment's own observer, or the state itself where it has none.
        """
        inner = self.env.unwrapped
        observer = next((getattr(inner, name) for name in _OBSERVERS if callable(getattr(inner, name, None))), None)
        with _quiet():
            seen: Any = place.astype(inner.observation_space.dtype) if observer is None else observer()
            for layer in reversed(self._layers()):
                if isinstance(layer, gym.ObservationWrapper):
                    seen = layer.observation(seen)
        return flatten(self.env.observation_space, seen)

    def _get_randomness(self) -> Any:
        return copy.deepcopy(self.env.unwrapped.np_random.bit_generator.state)

    def _set_randomness(self, randomness: Any) -> None:
        self.env.unwrapped.np_random.bit_generator.state = randomness


def _time_limit(env: gym.Env) -> int | None:
    layer: Any = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, TimeLimit):
            return int(layer._max_episode_steps)
        layer = layer.env
    return None


def _is_for_drawing(thing: Any) -> bool:
    """Whether it is a surface or a clock of the window that an environment draws in, which cannot be copied."""
    return type(thing).__module__.partition(".")[0] == "pygame"


def _has_engine_state(inner: Any) -> bool:
    return callable(getattr(inner, "set_state", None)) and hasattr(getattr(inner, "data", None), "qpos")


def _numeric(value: Any) -> bool:
    """Whether an attribute is one or a few numbers that are no whole ones: counters and tables are no state."""
    if isinstance(value, (tuple, list)):
        return 0 < len(value) <= MOST_PLACE and all(isinstance(part, (float, np.floating)) for part in value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and 0 < value.size <= MOST_PLACE
    return isinstance(value, (float, np.floating))


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _named(name: str) -> Iterator[None]:
    """A failure inside somebody's environment, as one sentence that says whose it is."""
    try:
        yield
    except VpwError:
        raise
    except Exception as error:
        raise BadEnvironment(
            f"{name} failed by itself: {type(error).__name__}: {str(error).strip() or 'no message'}."
        ) from error


class DmcWorld(LiveWorld):
    """A dm_control task. A discount of zero is the world's end; any other last step is its time limit."""

    _shows_late = True

    def __init__(self, env: Any, name: str | None = None):
        super().__init__()
        self.env = env
        self.name = name or type(env.task).__name__
        pictures = [key for key, spec in env.observation_spec().items() if len(spec.shape) >= 3]
        if pictures:
            raise BadSpace(f"The observation '{pictures[0]}' of {self.name} is a picture; fields must be numbers.")
        spec = env.observation_spec()
        self.field_names = python_names(
            [one for key in spec for one in numbered(key, int(np.prod(spec[key].shape, dtype=int)))]
        )
        action = env.action_spec()
        size = int(np.prod(action.shape, dtype=int))
        low, high = bounded(
            np.broadcast_to(action.minimum, action.shape), np.broadcast_to(action.maximum, action.shape)
        )
        self.action_space = ActionSpace(
            "continuous", tuple(low.tolist()), tuple(high.tolist()), names=tuple(f"a{i}" for i in range(size))
        )
        limit = getattr(env, "_step_limit", np.inf)
        self.time_limit = int(np.ceil(limit)) if np.isfinite(limit) else None
        self.dt = float(env.control_timestep())

    @classmethod
    def made(cls, name: str, seed: int = 0) -> DmcWorld:
        """The task that `dmc:DOMAIN/TASK` names."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on a machine without a display, of which no world needs one
            suite = dm_control.suite

        tasks = [f"{domain}/{task}" for domain, task in suite.ALL_TASKS]
        wanted = name.removeprefix(_PREFIX)
        if wanted not in tasks:
            raise UnknownName("dm_control task", wanted, tasks)
        domain, task = wanted.split("/")
        return cls(suite.load(domain, task, task_kwargs={"random": seed}), f"{_PREFIX}{wanted}")

    def render(self) -> UInt8[np.ndarray, "H W 3"]:
        return self.env.physics.render(PICTURE_SIZE_PX, PICTURE_SIZE_PX)

    def _told_powers(self) -> frozenset[Power]:
        return frozenset({*super()._told_powers(), "render"})

    def _reset(self, seed: int) -> Float[np.ndarray, " O"]:
        random = self._random()
        if random is not None:
            random.seed(int(seed) % 2**32)
        return self._flat(self.env.reset().observation)

    def _step(self, action: Float[np.ndarray, " A"]) -> tuple[Float[np.ndarray, " O"], float, bool, bool]:
        spec = self.env.action_spec()
        step = self.env.step(np.clip(action, self.action_space.low, self.action_space.high).reshape(spec.shape))
        ended = bool(step.last() and step.discount == 0)
        return self._flat(step.observation), float(step.reward or 0.0), ended, bool(step.last()) and not ended

    def _save(self) -> Any:
        physics = self.env.physics
        # Some tasks draw their goal into the model, so what a model says of its parts belongs to a snapshot.
        parts = {name: getattr(physics.model, name).copy() for name in _MODEL_PARTS if hasattr(physics.model, name)}
        return copy.copy(physics.data.ptr), parts, copy.deepcopy(self._task_numbers()), self._counts()

    def _load(self, inside: Any) -> None:
        data, parts, numbers, counts = inside
        physics = self.env.physics
        for name, values in parts.items():
            getattr(physics.model, name)[:] = values
        mujoco.mj_copyData(physics.data.ptr, physics.model.ptr, data)  # pyright: ignore[reportAttributeAccessIssue]
        vars(self.env.task).update(copy.deepcopy(numbers))
        vars(self.env).update(counts)

    def _get_place(self) -> Float[np.ndarray, " P"]:
        return np.array(self.env.physics.get_state(), dtype=np.float64)

    def _set_place(self, place: Float[np.ndarray, " P"]) -> Float[np.ndarray, " O"]:
        physics = self.env.physics
        with physics.reset_context():
            physics.set_state(place)
        vars(self.env).update({key: value for key, value in _BEGINNING.items() if key in vars(self.env)})
        return self._flat(self.env.task.get_observation(physics))

    def _get_randomness(self) -> Any:
        random = self._random()
        return None if random is None else random.get_state()

    def _set_randomness(self, randomness: Any) -> None:
        random = self._random()
        if random is not None:
            random.set_state(randomness)

    def _random(self) -> np.random.RandomState | None:
        return getattr(self.env.task, "random", None) or getattr(self.env, "random_state", None)

    def _task_numbers(self) -> dict[str, Any]:
        plain = (bool, int, float, np.ndarray, np.number, np.random.RandomState)
        return {key: value for key, value in vars(self.env.task).items() if isinstance(value, plain)}

    def _counts(self) -> dict[str, Any]:
        return {key: vars(self.env)[key] for key in _BEGINNING if key in vars(self.env)}

    def _flat(self, observation: Any) -> Float[np.ndarray, " O"]:
        return np.concatenate([np.asarray(part, dtype=np.float64).reshape(-1) for part in observation.values()])


_MODEL_PARTS = (
    "geom_pos",
    "geom_quat",
    "geom_size",
    "body_pos",
    "body_quat",
    "body_mass",
    "body_inertia",
    "site_pos",
    "site_size",
)
_BEGINNING = {"_reset_next_step": False, "_step_count": 0}  # where dm_control keeps its place in an episode


def is_dmc(thing: Any) -> bool:
    """Whether something is a dm_control environment, told by what
    it can do, since importing dm_control to ask takes seconds.
    """
    return all(
        hasattr(thing, name) for name in ("physics", "task", "action_spec", "observation_spec", "control_timestep")
    )
