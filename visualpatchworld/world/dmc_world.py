"""A dm_control environment as a world: observations laid flat
under their names, and the physics' state as its place.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import UnknownName
from visualpatchworld.extras import dm_control, mujoco
from visualpatchworld.world.flat import BadSpace, bounded, numbered
from visualpatchworld.world.live import LiveWorld, Power
from visualpatchworld.world.world import ActionSpace

PICTURE_SIZE_PX = 240
_PREFIX = "dmc:"


class DmcWorld(LiveWorld):
    """A dm_control task. A discount of zero is the world's end; any other last step is its time limit."""

    def __init__(self, env: Any, name: str | None = None):
        super().__init__()
        self.env = env
        self.name = name or type(env.task).__name__
        pictures = [key for key, spec in env.observation_spec().items() if len(spec.shape) >= 3]
        if pictures:
            raise BadSpace(f"The observation '{pictures[0]}' of {self.name} is a picture; fields must be numbers.")
        spec = env.observation_spec()
        self.field_names = tuple(one for key in spec for one in numbered(key, int(np.prod(spec[key].shape, dtype=int))))
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
