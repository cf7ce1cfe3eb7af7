"""PushT: linear template.

Form: named, not chosen by probes.
Held-out error (median agent_px): 0.2 after 1, 0.69 after 5, 0.88 after 8, 0.95 after 12, 0.9 after 25 steps.
Held-out error (median block_px): 2.5 after 1, 11 after 5, 15 after 8, 18 after 12, 32 after 25 steps.
Held-out error (median angle_rad): 0 after 1, 0 after 5, 0.017 after 8, 0.086 after 12, 0.26 after 25 steps.
Fitted to 50 episodes (sha256 e12f53e8a067), seed 0, visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

AGENT_PER_ACTION = 31.39642  # px  +- 0.5  agent's move at full action
AGENT_PER_VELOCITY = 0.0249473  # s  +- 0.001  agent's move per velocity
VELOCITY_PER_ACTION = 374.1314  # px/s  +- 1  agent's new velocity at full action
VELOCITY_KEPT = -0.00648214  # +- 0.004  share of its velocity the agent keeps
BLOCK_PER_MOVE = 0.1376967  # +- 0.001  block's move over the agent's


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float  # px, the block's own origin
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float


def move_with_agent(state, dx, dy):
    """The block moves with the agent, wherever that is."""
    return BLOCK_PER_MOVE * dx, BLOCK_PER_MOVE * dy, 0.0


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
