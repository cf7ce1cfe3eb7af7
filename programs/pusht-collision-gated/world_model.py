"""PushT: collision gate.

Form: named, not chosen by probes.
Held-out error (median agent_px): 0.0021 after 1, 0.0071 after 5, 0.0091 after 8, 0.0098 after 12, 0.0091 after 25 steps.
Held-out error (median block_px): 0 after 1, 0 after 5, 2.3 after 8, 10 after 12, 32 after 25 steps.
Held-out error (median angle_rad): 0 after 1, 0 after 5, 0.017 after 8, 0.086 after 12, 0.26 after 25 steps.
Fitted to 50 episodes (sha256 e12f53e8a067), seed 0, visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

AGENT_PER_ACTION = 29.54774  # px  +- 0.3  agent's move at full action
AGENT_PER_VELOCITY = 0.02998387  # s  +- 0.0007  agent's move per velocity
VELOCITY_PER_ACTION = 374.1546  # px/s  +- 0.9  agent's new velocity at full action
VELOCITY_KEPT = -0.006576937  # +- 0.002  share of its velocity the agent keeps
BLOCK_PER_MOVE = 1.629668  # block's move over the agent's
TURN_PER_MOVE = 0.9386646  # rad/px  block's turn over the agent's move and its distance from the middle
GATE = 1.131734  # px  +- 2  distance from the block's middle within which the agent moves it
MIDDLE = (0.0, 50.0)  # px  middle of the block's corners  (from the scene graph)


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float  # px, the block's own origin
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float


def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def move_with_agent(state, dx, dy):
    """The block moves and turns with the agent while that is near its middle."""
    middle = rotate(MIDDLE, state.block_angle)
    x, y = state.agent_x - state.block_x - middle[0], state.agent_y - state.block_y - middle[1]
    near = np.where(x * x + y * y < GATE * GATE, 1.0, 0.0)
    return near * BLOCK_PER_MOVE * dx, near * BLOCK_PER_MOVE * dy, near * TURN_PER_MOVE * (x * dy - y * dx) / GATE


def step(state, action):
    """One step in which all that moves does so in fixed proportion."""
    dx = AGENT_PER_ACTION * action[0] + AGENT_PER_VELOCITY * state.agent_vx
    dy = AGENT_PER_ACTION * action[1] + AGENT_PER_VELOCITY * state.agent_vy
    block_dx, block_dy, turn = move_with_agent(state, dx, dy)
    return State(
        agent_x=state.agent_x + dx,
        agent_y=state.agent_y + dy,
        block_x=state.block_x + block_dx,
        block_y=state.block_y + block_dy,
        block_angle=state.block_angle + turn,
        agent_vx=VELOCITY_PER_ACTION * action[0] + VELOCITY_KEPT * state.agent_vx,
        agent_vy=VELOCITY_PER_ACTION * action[1] + VELOCITY_KEPT * state.agent_vy,
    )
