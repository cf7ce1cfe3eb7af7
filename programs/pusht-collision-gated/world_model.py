"""PushT: collision gate.

Form: named, not chosen by probes.
Validation error (median agent_px): 0.0021 after 1, 0.0071 after 5, 0.0091 after 8, 0.0098 after 12, 0.0091 after 25 steps.
Validation error (median block_px): 0 after 1, 0 after 5, 2.3 after 8, 10 after 12, 32 after 25 steps.
Validation error (median angle_rad): 0 after 1, 0 after 5, 0.017 after 8, 0.086 after 12, 0.26 after 25 steps.
Fitted to 50 episodes (sha256 e12f53e8a067), seed 0, visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

AGENT_PER_ACTION = 29.54772  # px  +- 0.3  move at full action
AGENT_PER_VELOCITY = 0.02998391  # s  +- 0.0007  move per velocity
AGENT_VELOCITY_PER_ACTION = 374.1546  # px/s  +- 0.9  new velocity at full action
AGENT_VELOCITY_KEPT = -0.006576956  # +- 0.002  share of its velocity that is kept
BLOCK_PER_MOVE = 1.629667  # its move over the other's
BLOCK_TURN_PER_MOVE = 0.9386649  # rad/px  its turn over the other's move and its distance from the middle
BLOCK_GATE = 1.131734  # px  +- 2  distance from the middle within which the other moves it
BLOCK_MIDDLE = (0.0, 50.0)  # px  middle of its corners  (from the scene graph)


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

def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])

def follow_when_near(body, before, after, middle, per_move, turn_per_move, gate):
    """The body moves and turns with another while that is near its middle."""
    x, y = rotate(middle, body[2])
    x, y = before[0] - body[0] - x, before[1] - body[1] - y
    near = np.where(x * x + y * y < gate * gate, 1.0, 0.0)
    dx, dy = near * (after[0] - before[0]), near * (after[1] - before[1])
    return body[0] + per_move * dx, body[1] + per_move * dy, body[2] + turn_per_move * (x * dy - y * dx) / gate


def step(state, action):
    """Collision gate."""
    agent = (state.agent_x, state.agent_y, state.agent_vx, state.agent_vy)
    block = (state.block_x, state.block_y, state.block_angle)
    before = agent
    agent = shift(
        agent, action, per_action=AGENT_PER_ACTION, per_velocity=AGENT_PER_VELOCITY,
        velocity_per_action=AGENT_VELOCITY_PER_ACTION, velocity_kept=AGENT_VELOCITY_KEPT,
    )
    block = follow_when_near(
        block, before, agent, middle=BLOCK_MIDDLE, per_move=BLOCK_PER_MOVE, turn_per_move=BLOCK_TURN_PER_MOVE,
        gate=BLOCK_GATE,
    )
    agent_x, agent_y, agent_vx, agent_vy = agent
    block_x, block_y, block_angle = block
    return State(agent_x, agent_y, block_x, block_y, block_angle, agent_vx, agent_vy)
