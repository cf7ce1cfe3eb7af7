"""PushT: linear template.

Form: named, not chosen by probes.
Validation error (median agent_px): 0.2 after 1, 0.69 after 5, 0.88 after 8, 0.95 after 12, 0.9 after 25 steps.
Validation error (median block_px): 2.5 after 1, 11 after 5, 15 after 8, 18 after 12, 32 after 25 steps.
Validation error (median angle_rad): 0 after 1, 0 after 5, 0.017 after 8, 0.086 after 12, 0.26 after 25 steps.
Fitted to 50 episodes (sha256 e12f53e8a067), seed 0, visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

AGENT_PER_ACTION = 31.39654  # px  +- 0.5  move at full action
AGENT_PER_VELOCITY = 0.02494698  # s  +- 0.001  move per velocity
AGENT_VELOCITY_PER_ACTION = 374.1314  # px/s  +- 1  new velocity at full action
AGENT_VELOCITY_KEPT = -0.006482136  # +- 0.004  share of its velocity that is kept
BLOCK_PER_MOVE = 0.1376988  # +- 0.001  its move over the other's


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float


def shift(body, action, per_action, per_velocity, velocity_per_action, velocity_kept):
    """Place and velocity change in fixed proportion to the action and the velocity."""
    x, y, vx, vy = body
    x, y = x + per_action * action[0] + per_velocity * vx, y + per_action * action[1] + per_velocity * vy
    vx, vy = velocity_kept * vx + velocity_per_action * action[0], velocity_kept * vy + velocity_per_action * action[1]
    return x, y, vx, vy

def follow(body, before, after, per_move):
    """The body moves with another, wherever that is."""
    return body[0] + per_move * (after[0] - before[0]), body[1] + per_move * (after[1] - before[1]), body[2]


def step(state, action):
    """Linear template."""
    agent = (state.agent_x, state.agent_y, state.agent_vx, state.agent_vy)
    block = (state.block_x, state.block_y, state.block_angle)
    before = agent
    agent = shift(
        agent, action, per_action=AGENT_PER_ACTION, per_velocity=AGENT_PER_VELOCITY,
        velocity_per_action=AGENT_VELOCITY_PER_ACTION, velocity_kept=AGENT_VELOCITY_KEPT,
    )
    block = follow(block, before, agent, per_move=BLOCK_PER_MOVE)
    agent_x, agent_y, agent_vx, agent_vy = agent
    block_x, block_y, block_angle = block
    return State(agent_x, agent_y, block_x, block_y, block_angle, agent_vx, agent_vy)
