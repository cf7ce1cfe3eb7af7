"""The puck's world: a push speeds it up, dry friction takes the same bit of speed each step until it lies still."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import Float, UInt8

from puck import task
from visualpatchworld.scene.state import StateField, StateSpace
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

STATE_SPACE = StateSpace(
    (
        StateField("puck_x", "m", "puck.pose.x"),
        StateField("puck_y", "m", "puck.pose.y"),
        StateField("puck_vx", "m/s", "puck.velocity.x"),
        StateField("puck_vy", "m/s", "puck.velocity.y"),
    )
)
TIME_STEP_S = 0.1
PX_PER_M = 14.0


@dataclass(frozen=True)
class PuckConstants(Constants):
    """How strongly the puck is pushed and held back."""

    push: float = constant(4.0, "m/s^2", "acceleration at full action", low=0.1, high=20.0)
    friction: float = constant(0.6, "m/s^2", "deceleration while it slides", low=0.0, high=5.0)
    radius: float = constant(0.4, "m", "puck radius", low=0.2, high=1.0)


class Puck(Simulator):
    """Place and velocity; the ice has no edge."""

    state_space = STATE_SPACE
    action_dim = 2
    constants: PuckConstants

    def __init__(self, constants: PuckConstants = PuckConstants(), render_mode: str | None = "rgb_array"):
        super().__init__(constants, render_mode)
        self._state = np.zeros(4)

    def get_state(self) -> Float[np.ndarray, " E"]:
        return self._state.copy()

    def set_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        self._state = np.array(engine_state, dtype=np.float64)

    def observe(self) -> Float[np.ndarray, " S"]:
        return self._state.copy()

    def place(self, state: Float[np.ndarray, " S"]) -> None:
        self.set_state(state)

    def sample_start(self, rng: np.random.Generator) -> None:
        self.set_state(np.concatenate([rng.uniform(-3.0, 3.0, 2), np.zeros(2)]))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        self._state = move(self._state, action, self.constants)

    def is_success(self, state: Float[np.ndarray, "*B S"], goal: Float[np.ndarray, "*B S"]) -> np.ndarray:
        return task.at_goal(state, goal)

    def rollout(self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]) -> Float[np.ndarray, "K H S"]:
        state, states = np.repeat(np.asarray(engine_state)[None], len(actions), axis=0), []
        for action in np.clip(actions, -1, 1).swapaxes(0, 1):
            state = move(state, action, self.constants)
            states.append(state)
        return np.stack(states, axis=1)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        image = np.full((FRAME_SIZE_PX, FRAME_SIZE_PX, 3), 255, dtype=np.uint8)
        x, y = np.round(FRAME_SIZE_PX / 2 + PX_PER_M * self._state[:2]).astype(int).tolist()
        cv2.circle(image, (x, y), round(PX_PER_M * self.constants.radius), (40, 60, 160), -1)
        return image


def move(state: Float[np.ndarray, "*B 4"], action: Float[np.ndarray, "*B 2"], constants: PuckConstants) -> Float[np.ndarray, "*B 4"]:
    """The state one time step later."""
    velocity = state[..., 2:] + TIME_STEP_S * constants.push * action
    speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
    velocity = velocity * np.maximum(0.0, 1.0 - TIME_STEP_S * constants.friction / np.maximum(speed, 1e-12))
    return np.concatenate([state[..., :2] + TIME_STEP_S * velocity, velocity], axis=-1)
