"""Slider: a puck on a rail with drag; what it does next is known in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.domain import Domain, Policy
from visualpatchworld.plan.cem import CEM
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate, StateSpace
from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

WHITE = (255, 255, 255)
RAIL_HALF_LENGTH_M = 4.0
TIME_STEP_S = 0.1


@dataclass(frozen=True)
class SliderConstants(Constants):
    """How strongly the puck is pushed and held back."""

    push: float = constant(3.0, "m/s^2", "acceleration at full action", low=0.1, high=10.0)
    drag: float = constant(0.7, "1/s", "share of the velocity lost per second", low=0.0, high=9.0)
    radius: float = constant(0.2, "m", "puck radius", low=0.01, high=1.0)


class Slider(Simulator):
    """Position and velocity, advanced together by one known linear map."""

    state_space = StateSpace.of(puck_x="m", puck_vx="m/s")
    action_dim = 1
    constants: SliderConstants

    def __init__(self, constants: SliderConstants = SliderConstants(), render_mode: str | None = "rgb_array"):
        super().__init__(constants, render_mode)
        self._state = np.zeros(2)

    def get_engine_state(self) -> Float[np.ndarray, " E"]:
        return self._state.copy()

    def set_engine_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        self._state = np.array(engine_state, dtype=np.float64)

    def sample_start(self, rng: np.random.Generator) -> None:
        self.set_engine_state(rng.uniform(-1.0, 1.0, 2))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        self._state = move(self._state, action, self.constants)

    def rollout(
        self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        state = np.repeat(np.asarray(engine_state)[None], len(actions), axis=0)
        states = []
        for action in np.clip(actions, -1, 1).swapaxes(0, 1):
            state = move(state, action, self.constants)
            states.append(state)
        return np.stack(states, axis=1)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        image = np.full((FRAME_SIZE_PX, FRAME_SIZE_PX, 3), 255, dtype=np.uint8)
        middle = FRAME_SIZE_PX // 2
        column = int(np.clip(middle + self._state[0] / RAIL_HALF_LENGTH_M * middle, 4, FRAME_SIZE_PX - 5))
        image[middle - 4 : middle + 5, column - 4 : column + 5] = (200, 0, 0)
        return image


def move(
    state: Float[np.ndarray, "*B 2"], action: Float[np.ndarray, "*B 1"], constants: SliderConstants
) -> Float[np.ndarray, "*B 2"]:
    """The state one time step later."""
    velocity = state[..., 1] + (constants.push * action[..., 0] - constants.drag * state[..., 1]) * TIME_STEP_S
    return np.stack([state[..., 0] + velocity * TIME_STEP_S, velocity], axis=-1)


def objects(constants: SliderConstants) -> tuple[SceneObject, ...]:
    """The puck, and the rail it never leaves."""
    rail = Geometry(half_sizes=(RAIL_HALF_LENGTH_M, constants.radius))
    return (
        SceneObject(name="puck", kind="agent", pose=Pose(y=0.0), geometry=Geometry(radius=constants.radius)),
        SceneObject(name="rail", kind="rail", fixed=True, pose=Pose(x=0.0, y=0.0), geometry=rail),
    )


def random_pushes(simulator: Simulator, rng: np.random.Generator) -> Policy:
    """A push of any strength each step; the episode ends at the step limit."""
    return lambda: rng.uniform(-1.0, 1.0, simulator.action_dim)


DOMAIN = Domain(
    name="slider",
    engine="numpy",
    challenge="1D motion with drag",
    simulator=Slider,
    constants=SliderConstants(),
    goals={"at_goal": {"puck_m": 0.1}},
    scene=SceneTemplate(objects=objects, near=0.01),
    look=Look(
        palette=Palette(paints=(Paint("table", (WHITE,)), Paint("puck", ((200, 0, 0),))), background=WHITE),
        parts=(Shape("puck", kind="agent", paint="puck"),),
    ),
    policy=random_pushes,
    episode_steps=31,  # six transitions of stride 5 and one row to spare
    probe_tolerances={"puck_m": 1e-3},  # a hundredth of the success radius
    horizon=10,
    # Enough to plan in no time.
    planner=CEM(samples=50, iterations=4, elites=5, horizon=5, replan_every=5, init_std=0.5),
)
