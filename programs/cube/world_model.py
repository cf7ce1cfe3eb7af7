"""Cube: lagged hand, gripped block that falls when it is let go.

Form: gripped+lagged+falls; it explains 13 of 13 probes.
Validation error (median effector_m): 0.0027 after 1, 0.0043 after 5 steps.
Validation error (median block_m): 4e-05 after 1, 0.0014 after 5 steps.
Fitted to 50 episodes (sha256 eb78fb1102cc), seed 0, visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

GRIPPER_STRIDE = 0.02156693  # m  +- 1e-05  way of the hand in a step at full action, once it moves
GRIPPER_TURN = 0.06651323  # rad  +- 4e-05  turn of the hand in a step at full action, once it moves
GRIPPER_FLOOR = 0.02070673  # m  +- 9e-05  lowest target of the hand
GRIPPER_SHARE = 0.4705746  # +- 0.002  share of the way to its target that the arm goes in a step, once it moves
GRIPPER_KEEP = 0.06206818  # +- 0.0009  share of the arm's last motion in its next one
GRIPPER_OUT = 1.018021  # +- 0.0008  pace of the arm when it reaches out, compared to when it turns about its base
GRIPPER_LIFT = 0.9168838  # +- 0.0007  ... when it lifts
GRIPPER_WRIST = 0.5198175  # +- 0.0008  part of the turn about the base that the wrist undoes
GRIPPER_SWAY = 0.166915  # +- 0.0009  how far the hand lags inwards for each unit of length that lifting lags
GRIPPER_SAG = 0.001264214  # m  +- 6e-06  sinking of the arm in a step
GRIPPER_SHOULDER = 0.1362011  # m  +- 0.0005  distance at which the arm passes the axis of its base
GRIPPER_WIDE = 0.005968764  # m  +- 0.002  how far beside its middle a finger still holds
GRIPPER_TALL = 0.01032141  # m  +- 0.0005  how far above and below its middle a finger still holds
GRIPPER_ROOM = 0.01698959  # m  +- 0.005  how far towards a finger a block may be for open fingers to come down around it
GRIPPER_STOP = 0.5592306  # +- 0.01  closing at which fingers around a block meet it
GRIPPER_GRIP = 0.9222503  # +- 0.002  change of the fingers' target at full action
GRIPPER_FOLLOW = 0.3719381  # +- 0.0006  share of the way to their target that the fingers go in a step
BLOCK_FALL = 0.02525197  # m  +- 0.0002  downward speed per step that a falling block gains in a step
BLOCK_HALF = 0.02  # m  half of the block's height  (from the scene graph)


class State(NamedTuple):
    effector_x: float  # m
    effector_y: float
    effector_z: float
    effector_yaw: float  # rad
    gripper_opening: float  # 0 open, 1 closed
    gripper_contact: float  # 0 none, 1 firm
    block_x: float  # m
    block_y: float
    block_z: float
    block_yaw: float  # rad
    gripper_out: float = 0.0  # m and rad per step, motions of the arm; not observed, like all that follow
    gripper_spin: float = 0.0
    gripper_lift: float = 0.0
    gripper_wrist: float = 0.0
    block_fall: float = 0.0  # m per step
    block_around: float = 1.0  # 0 as soon as the block is known not to be between the fingers


def polar(x, y, shoulder):
    """How far an arm reaches out, and how far it is turned about its base, with the hand at a place."""
    reach = np.sqrt(np.maximum(x**2 + y**2 - shoulder**2, 1e-6))
    return reach, np.arctan2(y, x) - np.arctan2(shoulder, reach)

def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])

def lag_behind_target(hand, motion, action, stride, turn, floor, share, keep, out, lift, wrist, sway, sag, shoulder):
    """The joints of an arm lag behind a target: each goes a share of its way and keeps some of its last motion."""
    x, y, z, yaw = hand
    last_out, last_spin, last_lift, last_wrist = motion
    reach, base = polar(x, y, shoulder)
    goal_reach, goal_base = polar(x + stride * action[0] / share, y + stride * action[1] / share, shoulder)
    rise = np.maximum(stride * action[2] / share, floor - z)
    outward = keep * last_out + (1 - keep) * share * out * (goal_reach - reach) - sway * (rise - last_lift)
    spin = keep * last_spin + (1 - keep) * share * (goal_base - base)
    upward = keep * last_lift + (1 - keep) * share * lift * rise - sag
    twist = keep * last_wrist + (1 - keep) * (turn * action[3] - wrist * share * (goal_base - base))
    x, y = rotate((reach + outward, shoulder), base + spin)
    return (x, y, z + upward, yaw + spin + twist), (outward, spin, upward, twist)

def fingers_around(around, hand, block, closing, half, wide, tall, room, stop):
    """1 while a block is between the fingers; they can only come around it where it is in nobody's way."""
    across, along = rotate((block[0] - hand[0], block[1] - hand[1]), -hand[3])
    clear = np.abs(along) < np.where(around > 0, half + room, room * (1 - closing / stop))
    near = (np.abs(across) < half + wide) & (np.abs(block[2] - hand[2]) < half + tall)
    return np.where(near & clear, 1.0, 0.0)

def close_fingers(closing, action, grip, follow):
    """The fingers go a share of the way to their target."""
    return closing + follow * (np.clip(closing + grip * action, 0.0, 1.0) - closing)

def fall(block, half, fall):
    """A block that nobody holds falls to its support; its last number is its downward speed."""
    z = block[2] - block[4] - fall / 2
    return block[0], block[1], np.maximum(z, half), block[3], np.where(z > half, block[4] + fall, 0.0)

def hold(around, before, hand, closing, block, released, half, stop):
    """Fingers around a block that want to close further hold it in their middle; it moves and turns with the hand."""
    across, _ = rotate((block[0] - before[0], block[1] - before[1]), -before[3])
    x, y = rotate((across, 0.0), hand[3])
    z = np.maximum(hand[2] + block[2] - before[2], half)
    carried = (hand[0] + x, hand[1] + y, z, block[3] + hand[3] - before[3], 0.0)
    holds = (around > 0) & (closing >= stop)
    block = tuple(np.where(holds, held, free) for held, free in zip(carried[: len(released)], released, strict=True))
    return block, np.where(holds, stop, closing)


def step(state, action):
    """Lagged hand, gripped block that falls when it is let go."""
    hand = (state.effector_x, state.effector_y, state.effector_z, state.effector_yaw)
    closing = state.gripper_opening
    motion = (state.gripper_out, state.gripper_spin, state.gripper_lift, state.gripper_wrist)
    block = (state.block_x, state.block_y, state.block_z, state.block_yaw, state.block_fall)
    block_around = state.block_around
    before = hand
    hand, motion = lag_behind_target(
        hand, motion, action, stride=GRIPPER_STRIDE, turn=GRIPPER_TURN, floor=GRIPPER_FLOOR, share=GRIPPER_SHARE,
        keep=GRIPPER_KEEP, out=GRIPPER_OUT, lift=GRIPPER_LIFT, wrist=GRIPPER_WRIST, sway=GRIPPER_SWAY, sag=GRIPPER_SAG,
        shoulder=GRIPPER_SHOULDER,
    )
    block_around = fingers_around(
        block_around, before, block, closing, half=BLOCK_HALF, wide=GRIPPER_WIDE, tall=GRIPPER_TALL, room=GRIPPER_ROOM,
        stop=GRIPPER_STOP,
    )
    closing = close_fingers(closing, action[4], grip=GRIPPER_GRIP, follow=GRIPPER_FOLLOW)
    released = fall(block, half=BLOCK_HALF, fall=BLOCK_FALL)
    block, closing = hold(block_around, before, hand, closing, block, released, half=BLOCK_HALF, stop=GRIPPER_STOP)
    effector_x, effector_y, effector_z, effector_yaw = hand
    gripper_opening = closing
    gripper_out, gripper_spin, gripper_lift, gripper_wrist = motion
    block_x, block_y, block_z, block_yaw, block_fall = block
    return State(
        effector_x, effector_y, effector_z, effector_yaw, gripper_opening, state.gripper_contact, block_x, block_y,
        block_z, block_yaw, gripper_out, gripper_spin, gripper_lift, gripper_wrist, block_fall, block_around,
    )
