"""What Two-room's dynamics may be: how far an action carries the agent, and what stops it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visualpatchworld.laws.constant import from_scene, positive, signed, threshold
from visualpatchworld.laws.family import Family, Role, Sketch
from visualpatchworld.laws.obstacles import keep_inside, stop_at_wall

SPEED = positive("px/step", "distance of a step at full action", 0.1, 100)
EXPONENT = positive("", "how the distance grows with the action", 0.2, 5)
DOOR_MARGIN = threshold("px", "room at the door beyond its drawn half width", -20, 20)
PUSH_BACK = signed("px", "how far the wall throws the agent back", 0, 30)

RADIUS = from_scene("px", "agent's radius", lambda graph: graph["agent"].geometry.radius)
HOUSE = from_scene("px", "middle of the house", lambda graph: (graph["house"].pose.x, graph["house"].pose.y))
HOUSE_HALF = from_scene("px", "half its inner size", lambda graph: graph["house"].geometry.half_sizes)
WALL_X = from_scene("px", "middle of the wall", lambda graph: graph["wall"].pose.x)
WALL_HALF = from_scene("px", "half its thickness", lambda graph: graph["wall"].geometry.half_sizes[0])
DOOR_Y = from_scene("px", "middle of the door", lambda graph: graph["door"].pose.y)
DOOR_HALF = from_scene("px", "half its width", lambda graph: graph["door"].geometry.half_sizes[1])


walk = Role("where the action carries the agent")
stop = Role("where what is in the way leaves it")


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float


def step(state, action):
    """Walk, then be stopped by what is in the way."""
    x, y = stop((state.agent_x, state.agent_y), walk(state, action))
    return State(agent_x=x, agent_y=y)


def walk_linear(state, action):
    """The distance grows in proportion to the action."""
    return state.agent_x + SPEED * action[0], state.agent_y + SPEED * action[1]


def walk_nonlinear(state, action):
    """The distance grows with a power of the action."""
    x, y = np.sign(action[0]) * np.abs(action[0]) ** EXPONENT, np.sign(action[1]) * np.abs(action[1]) ** EXPONENT
    return state.agent_x + SPEED * x, state.agent_y + SPEED * y


def stop_nowhere(before, after):
    """Nothing is in the way."""
    return after


def stop_at_border(before, after):
    """The agent stays inside the house."""
    return keep_inside(after, HOUSE, (HOUSE_HALF[0] - RADIUS, HOUSE_HALF[1] - RADIUS))


def stop_at_border_and_wall(before, after):
    """The agent stays inside the house, and passes the wall only through the door."""
    after = keep_inside(after, HOUSE, (HOUSE_HALF[0] - RADIUS, HOUSE_HALF[1] - RADIUS))
    return stop_at_wall(before, after, WALL_X, WALL_HALF + RADIUS, DOOR_Y, DOOR_HALF + DOOR_MARGIN, PUSH_BACK)


WALKS = {"linear": walk_linear, "nonlinear": walk_nonlinear}
STOPS = {"none": stop_nowhere, "border": stop_at_border, "border-and-wall": stop_at_border_and_wall}


def build(choices):
    """The sketch of one combination."""
    title = f"Two-room: {choices['transport']} transport, obstacles: {choices['obstacles']}."
    roles = {"step": step, "walk": WALKS[choices["transport"]], "stop": STOPS[choices["obstacles"]]}
    return Sketch(choices, title, State, roles)


FAMILY = Family(axes={"transport": tuple(WALKS), "obstacles": tuple(STOPS)}, build=build)
