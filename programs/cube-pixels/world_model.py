"""Cube: lagged hand, gripped block that falls when it is let go.

Form: gripped+lagged+falls; it explains 12 of 13 probes.
Held-out error (median effector_m): 0.0048 after 1, 0.008 after 5 steps.
Held-out error (median block_m): 0.00044 after 1, 0.00047 after 5 steps.
Fitted to 6 episodes (sha256 6e440ee60eb5), seed 0, visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

STRIDE = 0.02175459  # m  +- 2e-05  way of the hand in a step at full action, once it moves
TURN = 0.06581774  # rad  +- 0.0004  turn of the hand in a step at full action, once it moves
GRIP = 1.080141  # +- 0.04  change of the opening's target at full action
FOLLOW = 0.2740194  # +- 0.003  share of the way to its target that the gripper goes in a step
FLOOR = 0.0156816  # m  +- 0.0005  lowest target of the hand
SHARE = 0.3904871  # +- 0.005  share of the way to its target that the arm goes in a step, once it moves
KEEP = 0.04733948  # +- 0.003  share of the arm's last motion in its next one
OUT = 1.010513  # +- 0.004  pace of the arm when it reaches out, compared to when it turns about its base
LIFT = 0.9081895  # +- 0.002  ... when it lifts
WRIST = 0.5373288  # +- 0.007  part of the turn about the base that the wrist undoes
SWAY = 0.129797  # +- 0.003  how far the hand lags inwards for each metre that lifting lags
SAG = 0.001277596  # m  +- 3e-05  sinking of the arm in a step
SHOULDER = 0.1332712  # m  +- 0.001  distance at which the arm passes the axis of its base
WIDE = 0.008617021  # m  how far beside its middle a finger still holds
TALL = 0.01875509  # m  how far above and below its middle a finger still holds
ROOM = 0.01524132  # m  +- 0.002  how far towards a finger the block may be for open fingers to come down around it
STOP = 0.5253171  # +- 0.01  opening at which fingers around the block meet it
FALL = 0.5816552  # m  downward speed per step that a falling block gains in a step
HALF = 0.020371  # m  half of the block's edge  (from the scene graph)


class State(NamedTuple):
    effector_x: float  # m, from the arm's base
    effector_y: float
    effector_z: float
    effector_yaw: float  # rad
    gripper_opening: float  # 0 open, 1 closed
    gripper_contact: float  # not predicted
    block_x: float  # m
    block_y: float
    block_z: float
    block_yaw: float  # rad
    out: float = 0.0  # m and rad per step, motions of the arm; not observed, like all that follow
    spin: float = 0.0
    lift: float = 0.0
    wrist: float = 0.0
    block_fall: float = 0.0  # m per step
    around: float = 1.0  # 0 as soon as the block is known not to be between the fingers


def arm(x, y):
    """How far the arm reaches out, and how far it is turned about its base, with the hand at a place."""
    reach = np.sqrt(np.maximum(x**2 + y**2 - SHOULDER**2, 1e-6))
    return reach, np.arctan2(y, x) - np.arctan2(SHOULDER, reach)


def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def move_hand(state, way, turn):
    """The joints of the arm lag behind a target: each goes a share of its way and keeps some of its last motion."""
    reach, base = arm(state.effector_x, state.effector_y)
    goal_reach, goal_base = arm(state.effector_x + way[0] / SHARE, state.effector_y + way[1] / SHARE)
    rise = np.maximum(way[2] / SHARE, FLOOR - state.effector_z)
    out = KEEP * state.out + (1 - KEEP) * SHARE * OUT * (goal_reach - reach) - SWAY * (rise - state.lift)
    spin = KEEP * state.spin + (1 - KEEP) * SHARE * (goal_base - base)
    lift = KEEP * state.lift + (1 - KEEP) * SHARE * LIFT * rise - SAG
    wrist = KEEP * state.wrist + (1 - KEEP) * (turn - WRIST * SHARE * (goal_base - base))
    x, y = rotate((reach + out, SHOULDER), base + spin)
    z, yaw = state.effector_z + lift, state.effector_yaw + spin + wrist
    moved = state._replace(effector_x=x, effector_y=y, effector_z=z, effector_yaw=yaw)
    return moved._replace(out=out, spin=spin, lift=lift, wrist=wrist)


def latch(holds, held, free):
    """The held state where something holds, the free one elsewhere."""
    return type(free)(*(np.where(holds, a, b) for a, b in zip(held, free)))  # noqa: B905


def let_go(state):
    """A block that nobody holds falls to its support."""
    z = state.block_z - state.block_fall - FALL / 2
    return state._replace(block_z=np.maximum(z, HALF), block_fall=np.where(z > HALF, state.block_fall + FALL, 0.0))


def move_block(state, after):
    """Fingers that came down around the block and want to close further hold it in their middle; it moves and turns with the hand."""
    across, along = rotate((state.block_x - state.effector_x, state.block_y - state.effector_y), -state.effector_yaw)
    above = state.block_z - state.effector_z
    clear = np.abs(along) < ROOM * (1 - state.gripper_opening / STOP)
    around = (np.abs(across) < HALF + WIDE) & (np.abs(above) < HALF + TALL) & (clear | (state.around > 0))
    after = after._replace(around=np.where(around, 1.0, 0.0))
    x, y = rotate((across, 0.0), after.effector_yaw)
    x, y, z = after.effector_x + x, after.effector_y + y, np.maximum(after.effector_z + above, HALF)
    yaw = state.block_yaw + after.effector_yaw - state.effector_yaw
    held = after._replace(gripper_opening=STOP, block_x=x, block_y=y, block_z=z, block_yaw=yaw, block_fall=0.0)
    return latch(around & (after.gripper_opening >= STOP), held, let_go(after))


def step(state, action):
    """One step: the action moves hand and fingers, and the block may go along."""
    after = move_hand(state, STRIDE * action[:3], TURN * action[3])
    closing = np.clip(state.gripper_opening + GRIP * action[4], 0.0, 1.0) - state.gripper_opening
    return move_block(state, after._replace(gripper_opening=state.gripper_opening + FOLLOW * closing))
