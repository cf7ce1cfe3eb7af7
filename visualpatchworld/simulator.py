"""What a simulator offers: an environment whose state can be set exactly and whose constants can be varied,
and columns of traces.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import gymnasium as gym
import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadConstant, BadPicture, BadState, UnknownName
from visualpatchworld.scene.state import StateSpace

# Axes, here and everywhere: K candidates, H horizon, T time, S state, A action, E engine state.
FRAME_SIZE_PX = 224
LARGEST_CONSTANT = 1e12  # what no world has; engines lose their numbers long before


def constant(default: Any, unit: str, doc: str, *, low: float | None = None, high: float | None = None) -> Any:
    """A physical constant of a simulator: a dataclass field with its unit, its meaning and the values it may take."""
    return dataclasses.field(default=default, metadata={"unit": unit, "doc": doc, "low": low, "high": high})


@dataclasses.dataclass(frozen=True)
class Constants:
    """The physical constants of one simulator; each domain adds its own fields with `constant`."""

    def varied(self, changes: Mapping[str, Any]) -> Constants:
        """These constants with some of them changed, checked for name, type and range."""
        allowed = {field.name: field for field in dataclasses.fields(self)}
        hints = get_type_hints(type(self))
        values = {}
        for name, value in changes.items():
            if name not in allowed:
                raise UnknownName("constant", name, allowed)
            values[name] = _checked(allowed[name], hints[name], value)
        return dataclasses.replace(self, **values)

    def table(self) -> list[dict[str, Any]]:
        """One row per constant: name, value, unit, meaning and the values it may take."""
        hints = get_type_hints(type(self))
        rows = []
        for field in dataclasses.fields(self):
            row = {"name": field.name, "value": getattr(self, field.name), **field.metadata}
            if get_origin(hints[field.name]) is Literal:
                row["choices"] = list(get_args(hints[field.name]))
            rows.append(row)
        return rows


def _checked(field: dataclasses.Field, kind: Any, value: Any) -> Any:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise BadConstant(f"'{field.name}' must be one of {', '.join(get_args(kind))}, not '{value}'.")
        return value
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError):
        wanted = "a whole number" if kind is int else "a number"
        raise BadConstant(f"'{field.name}' must be {wanted}, not '{value}'.") from None
    low, high = field.metadata["low"], field.metadata["high"]
    above = -np.inf if low is None else low
    below = np.inf if high is None else high
    if not (above <= number <= below and abs(number) < LARGEST_CONSTANT):
        raise BadConstant(
            f"'{field.name}' must lie between {above:g} and {below:g} {field.metadata['unit']}, not '{value}'."
        )
    return number


class Simulator(gym.Env[np.ndarray, np.ndarray]):
    """A world that can be reset, stepped, drawn, put exactly into a state, and rolled out in batches.

    Two vectors describe it. The *engine state* (E) is all that the engine needs to go on exactly from here.
    The *state* (S) is what an observer reads, what a scene graph carries and what programs predict;
    `reset` and `step` return it as the observation.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}
    state_space: ClassVar[StateSpace]
    action_dim: ClassVar[int]
    action_limit: ClassVar[float] = 1.0  # what goes beyond is cut; infinite where the world itself takes larger actions
    constants: Constants
    # Whether a state meets a goal; given by the domain.
    success: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.draw is Simulator.draw:
            cls.metadata = {"render_modes": []}

    def __init__(self, constants: Constants, render_mode: str | None = "rgb_array"):
        self.constants = constants
        self.render_mode = render_mode if self.has_pictures else None
        self.action_space = gym.spaces.Box(-1.0, 1.0, (self.action_dim,), np.float32)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (len(self.state_space),), np.float64)
        self._goal: np.ndarray | None = None

    # What a domain has to say.

    @abstractmethod
    def get_engine_state(self) -> Float[np.ndarray, " E"]:
        """The engine state; `set_engine_state` with it continues exactly as if nothing had happened."""

    @abstractmethod
    def set_engine_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        """Put the engine exactly into this state."""

    @abstractmethod
    def sample_start(self, rng: np.random.Generator) -> None:
        """Put the world into a random start."""

    @abstractmethod
    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        """One environment step with an action in [-1, 1]."""

    # What it may say otherwise.

    def get_state(self) -> Float[np.ndarray, " S"]:
        """The state as an observer reads it; by default all of the engine state is seen."""
        return self.get_engine_state()

    def set_state(self, state: Float[np.ndarray, " S"]) -> None:
        """Put the world into a start an experimenter chooses;
        what it can not choose (say, a servo's memory) is at rest.
        """
        self.set_engine_state(state)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        """The world as a picture."""
        raise BadPicture(f"{type(self).__name__} has no pictures: its simulator has no `draw`.")

    def rollout(
        self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        """States after each action of K sequences that all begin in one engine state;
        by default one after the other, in this process.
        """
        before = self.get_engine_state()
        states = np.empty((*actions.shape[:2], len(self.state_space)))
        for candidate, sequence in enumerate(np.clip(actions, -self.action_limit, self.action_limit)):
            self.set_engine_state(engine_state)
            for step, action in enumerate(sequence):
                self.advance(action)
                states[candidate, step] = self.get_state()
        self.set_engine_state(before)
        return states

    # What follows from it.

    @property
    def has_pictures(self) -> bool:
        """Whether the world can be drawn."""
        return type(self).draw is not Simulator.draw

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start anew: at random, at a chosen `options["state"]` (S), or exactly at `options["engine_state"]` (E)."""
        super().reset(seed=seed)
        options = options or {}
        if "engine_state" in options:
            self.set_engine_state(self._finite(options["engine_state"], "engine state"))
        elif "state" in options:
            self.set_state(self.state_space.checked(options["state"]))
        else:
            self.sample_start(self.np_random)
        if "goal" in options:
            self.set_goal(options["goal"])
        return self.get_state(), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act once; the reward is 1 where the goal is met and 0 elsewhere."""
        action = self._finite(action, "action")
        if action.shape != (self.action_dim,):
            raise BadState(f"An action here has {self.action_dim} numbers, not the shape {action.shape}.")
        self.advance(np.clip(action, -self.action_limit, self.action_limit))
        state = self.get_state()
        success = self._goal is not None and self.success is not None and bool(self.success(state, self._goal))
        return state, float(success), success, False, {"success": success}

    def render(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The picture, whatever the render mode, so that a frame is one call away."""
        return self.draw()

    def get_goal(self) -> Float[np.ndarray, " S"] | None:
        """The goal as a state, or None."""
        return None if self._goal is None else self._goal.copy()

    def set_goal(self, goal: Float[np.ndarray, " S"] | None) -> None:
        """Set the state that counts as success; None takes the goal away."""
        self._goal = None if goal is None else self.state_space.checked(goal)

    @staticmethod
    def _finite(values: Any, kind: str) -> np.ndarray:
        array = np.asarray(values, dtype=np.float64)
        if not np.isfinite(array).all():
            raise BadState(f"The {kind} holds a value that is not finite: {array.tolist()}.")
        return array


@dataclass(frozen=True)
class Column:
    """A named column of a trace file; a slash in the name is a group, as LeWM files have it.

    An optional column reads as zeros where a file does not have it.
    """

    name: str
    width: int
    dtype: str = "float64"
    optional: bool = False


@dataclass(frozen=True)
class TraceLayout:
    """The columns whose concatenation is the engine state (E), and those whose
    concatenation is the observed state (S).
    """

    engine_state: tuple[Column, ...]
    state: tuple[Column, ...]
    action: Column

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column once."""
        return tuple({column.name: column for column in (*self.engine_state, *self.state, self.action)}.values())

    def split(self, engine_state: Float[np.ndarray, "T E"], state: Float[np.ndarray, "T S"]) -> dict[str, np.ndarray]:
        """The columns that hold these vectors."""
        return {**_split(self.state, state), **_split(self.engine_state, engine_state)}

    def join_state(self, columns: Mapping[str, np.ndarray]) -> Float[np.ndarray, "T S"]:
        """The observed states that these columns hold."""
        return _join(self.state, columns)

    def join_engine_state(self, columns: Mapping[str, np.ndarray]) -> Float[np.ndarray, "T E"]:
        """The engine states that these columns hold."""
        return _join(self.engine_state, columns)


def _split(columns: tuple[Column, ...], values: np.ndarray) -> dict[str, np.ndarray]:
    ends = np.cumsum([column.width for column in columns])
    parts = np.split(values, ends[:-1], axis=-1)
    return {column.name: part.astype(column.dtype) for column, part in zip(columns, parts, strict=True)}


def _join(columns: tuple[Column, ...], values: Mapping[str, np.ndarray]) -> np.ndarray:
    num_rows = next(len(values[column.name]) for column in columns if column.name in values)
    parts = [_rows(column, values, num_rows) for column in columns]
    return np.concatenate(parts, axis=-1)


def _rows(column: Column, values: Mapping[str, np.ndarray], num_rows: int) -> np.ndarray:
    if column.optional and column.name not in values:
        return np.zeros((num_rows, column.width))
    return np.asarray(values[column.name], dtype=np.float64).reshape(-1, column.width)
