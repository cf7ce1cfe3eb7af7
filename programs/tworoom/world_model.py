"""Two-room: linear transport, obstacles: border-and-wall.

Form: linear+border-and-wall; it explains 27 of 27 probes.
Validation error (median agent_px): 7.4e-07 after 1, 4e-06 after 5, 4.9e-06 after 8, 6.3e-06 after 12, 7.2e-06 after 25 steps.
Fitted to 50 episodes (sha256 2ccb51db798b), seed 0, visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

AGENT_SPEED = 5.0  # px/step  +- 2e-08  distance of a step at full action
DOOR_MARGIN = 1.852576  # px  +- 0.3  room at a door beyond its drawn half width
WALL_PUSH_BACK = 0.5000007  # px  +- 2e-07  how far a wall throws the disc back
HOUSE_MIDDLE = (112.0, 112.0)  # px  middle of the house  (from the scene graph)
HOUSE_HALF_SIZE = (98.0, 98.0)  # px  half its inner size  (from the scene graph)
AGENT_RADIUS = 7.0  # px  radius of the agent  (from the scene graph)
WALLS = ((0, 112.0, 5.0, ((49.0, 14.0),)),)  # px  walls: the coordinate that each bounds (0 for x), its place, half its thickness, and place and half width of its doors  (from the scene graph)


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float


def walk(place, action, speed):
    """The distance grows in proportion to the action."""
    return place[0] + speed * action[0], place[1] + speed * action[1]

def keep_inside(place, middle, half_size, radius):
    """The nearest place at which the disc is inside the border."""
    x = np.clip(place[0], middle[0] - half_size[0] + radius, middle[0] + half_size[0] - radius)
    y = np.clip(place[1], middle[1] - half_size[1] + radius, middle[1] + half_size[1] - radius)
    return x, y

def stop_at_walls(before, place, walls, radius, margin, push_back):
    """A move that would enter a wall ends before it, unless it goes through a door."""
    place = list(place)
    for across, wall, half, doors in walls:  # across: the coordinate that the wall bounds, 0 for x and 1 for y
        side = np.where(before[across] < wall, -1.0, 1.0)
        stopped = side * (place[across] - wall) < half + radius
        for door, door_half in doors:
            stopped = stopped & (np.abs(place[1 - across] - door) > door_half + margin)
        place[across] = np.where(stopped, wall + side * (half + radius + push_back), place[across])
    return place[0], place[1]


def step(state, action):
    """Linear transport, obstacles: border-and-wall."""
    agent = (state.agent_x, state.agent_y)
    before = agent
    agent = walk(agent, action, speed=AGENT_SPEED)
    agent = keep_inside(agent, middle=HOUSE_MIDDLE, half_size=HOUSE_HALF_SIZE, radius=AGENT_RADIUS)
    agent = stop_at_walls(before, agent, walls=WALLS, radius=AGENT_RADIUS, margin=DOOR_MARGIN, push_back=WALL_PUSH_BACK)
    agent_x, agent_y = agent
    return State(agent_x, agent_y)
