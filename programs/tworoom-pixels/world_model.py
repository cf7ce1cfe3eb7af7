"""Two-room: linear transport, obstacles: border-and-wall.

Form: linear+border-and-wall; it explains 23 of 27 probes.
Held-out error (median agent_px): 0.024 after 1, 0.047 after 5, 0.053 after 8, 0.051 after 12, 0.052 after 25 steps.
Fitted to 40 episodes (sha256 8c5eb0116ad0), seed 0, visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

SPEED = 5.000077  # px/step  +- 0.0001  distance of a step at full action
DOOR_MARGIN = 1.353265  # px  +- 0.3  room at the door beyond its drawn half width
PUSH_BACK = 4.329422e-14  # px  +- 0.001  how far the wall throws the agent back
RADIUS = 7.010791  # px  agent's radius  (from the scene graph)
HOUSE = (111.491265, 111.50246)  # px  middle of the house  (from the scene graph)
HOUSE_HALF = (98.003438, 97.988521)  # px  half its inner size  (from the scene graph)
WALL_X = 111.991275  # px  middle of the wall  (from the scene graph)
WALL_HALF = 5.500194  # px  half its thickness  (from the scene graph)
DOOR_Y = 49.009781  # px  middle of the door  (from the scene graph)
DOOR_HALF = 14.498302  # px  half its width  (from the scene graph)


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float


def keep_inside(position, center, half_size):
    """The position, brought back to the nearest point of a box."""
    x = np.clip(position[0], center[0] - half_size[0], center[0] + half_size[0])
    y = np.clip(position[1], center[1] - half_size[1], center[1] + half_size[1])
    return x, y


def stop_at_wall(before, after, wall_x, reach, door_y, door_reach, push_back):
    """A move that would come closer to an upright wall than `reach` ends there, unless it goes through the door."""
    side = np.where(before[0] < wall_x, -1.0, 1.0)
    entered = side * (after[0] - wall_x) < reach
    beside_door = np.abs(after[1] - door_y) > door_reach
    return np.where(entered & beside_door, wall_x + side * (reach + push_back), after[0]), after[1]


def stop(before, after):
    """The agent stays inside the house, and passes the wall only through the door."""
    after = keep_inside(after, HOUSE, (HOUSE_HALF[0] - RADIUS, HOUSE_HALF[1] - RADIUS))
    return stop_at_wall(before, after, WALL_X, WALL_HALF + RADIUS, DOOR_Y, DOOR_HALF + DOOR_MARGIN, PUSH_BACK)


def walk(state, action):
    """The distance grows in proportion to the action."""
    return state.agent_x + SPEED * action[0], state.agent_y + SPEED * action[1]


def step(state, action):
    """Walk, then be stopped by what is in the way."""
    x, y = stop((state.agent_x, state.agent_y), walk(state, action))
    return State(agent_x=x, agent_y=y)
