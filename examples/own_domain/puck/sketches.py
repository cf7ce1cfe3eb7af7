"""What the puck's dynamics may be: what an action changes, and what holds the puck back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visualpatchworld.laws.constant import positive
from visualpatchworld.laws.family import Family, Role, Sketch

PUSH = positive("m/s^2", "acceleration at full action", 0.01, 100)
SPEED = positive("m/s", "speed at full action", 0.01, 100)
DRAG = positive("1/s", "share of the velocity lost per second", 0.001, 8)
FRICTION = positive("m/s^2", "deceleration while it slides", 0.001, 30)
STEP_SECONDS = positive("s", "duration of one step", 0.001, 1)

act = Role("the velocity that an action leads to")
slow_down = Role("the velocity that is left of it")


class State(NamedTuple):
    puck_x: float  # m
    puck_y: float
    puck_vx: float  # m/s
    puck_vy: float


def step(state, action):
    """The velocity changes first, then it carries the puck."""
    vx, vy = slow_down(act((state.puck_vx, state.puck_vy), action))
    return State(puck_x=state.puck_x + STEP_SECONDS * vx, puck_y=state.puck_y + STEP_SECONDS * vy, puck_vx=vx, puck_vy=vy)


def set_velocity(velocity, action):
    """The action is the velocity."""
    return SPEED * action[0], SPEED * action[1]


def push(velocity, action):
    """The action speeds the puck up."""
    return velocity[0] + STEP_SECONDS * PUSH * action[0], velocity[1] + STEP_SECONDS * PUSH * action[1]


def glide(velocity):
    """Nothing holds it back."""
    return velocity


def drag(velocity):
    """It loses a share of its velocity."""
    left = 1.0 - STEP_SECONDS * DRAG
    return left * velocity[0], left * velocity[1]


def rub(velocity):
    """It loses the same bit of speed each step, until it lies still."""
    speed = np.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + 1e-12)
    left = np.maximum(0.0, 1.0 - STEP_SECONDS * FRICTION / speed)
    return left * velocity[0], left * velocity[1]


ACTIONS = {"velocity": set_velocity, "push": push}
LOSSES = {"none": glide, "drag": drag, "dry": rub}


def build(choices):
    """The sketch of one combination."""
    roles = {"step": step, "act": ACTIONS[choices["action"]], "slow_down": LOSSES[choices["loss"]]}
    return Sketch(choices, f"Puck: the action sets its {choices['action']}, friction: {choices['loss']}.", State, roles)


FAMILY = Family(axes={"action": tuple(ACTIONS), "loss": tuple(LOSSES)}, build=build)
