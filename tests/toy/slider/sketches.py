"""What the slider's dynamics may be: what a push changes, and whether the puck is held back."""

from __future__ import annotations

from typing import NamedTuple

from visualpatchworld.laws.constant import positive
from visualpatchworld.laws.family import Family, Role, Sketch

PUSH = positive("m/s^2", "acceleration at full action", 0.01, 100)
SPEED = positive("m/s", "speed at full action", 0.01, 100)
DRAG = positive("1/s", "share of the velocity lost per second", 0.001, 8)
STEP_SECONDS = positive("s", "duration of one step", 0.001, 1)


change_speed = Role("the puck's speed after the action")


class State(NamedTuple):
    puck_x: float  # m
    puck_vx: float  # m/s


def step(state, action):
    """The speed changes first, then it carries the puck."""
    speed = change_speed(state, action)
    return State(puck_x=state.puck_x + STEP_SECONDS * speed, puck_vx=speed)


def set_speed(state, action):
    """The action is the speed."""
    return SPEED * action[0]


def push_freely(state, action):
    """The action speeds the puck up."""
    return state.puck_vx + STEP_SECONDS * PUSH * action[0]


def push_against_drag(state, action):
    """The action speeds the puck up, drag slows it down."""
    return state.puck_vx + STEP_SECONDS * (PUSH * action[0] - DRAG * state.puck_vx)


def build(choices):
    """The sketch of one combination; a puck whose speed is set feels no drag."""
    laws = {("speed", "free"): set_speed, ("speed", "drag"): set_speed, ("push", "free"): push_freely, ("push", "drag"): push_against_drag}
    roles = {"step": step, "change_speed": laws[choices["action"], choices["loss"]]}
    return Sketch(choices, f"Slider: {choices['action']}, {choices['loss']}.", State, roles)


FAMILY = Family(axes={"action": ("speed", "push"), "loss": ("free", "drag")}, build=build)
