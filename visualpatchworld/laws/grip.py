"""Hands and what they hold: a hand is (x, y, z, yaw), the closing
of its fingers goes from 0 to 1, a block is (x, y, z, yaw).
"""

import numpy as np

from visualpatchworld.laws.constant import positive, signed, threshold
from visualpatchworld.laws.contact import rotate

STRIDE = positive("L", "way of the hand in a step at full action, once it moves", 0.001, 1)
TURN = positive("rad", "turn of the hand in a step at full action, once it moves", 0.001, 10)
FLOOR = signed("L", "lowest target of the hand", -0.2, 0.2)
FALL = positive("L", "downward speed per step that a falling block gains in a step", 0.0001, 1)
STOP = threshold("", "closing at which fingers around a block meet it", 0, 1)


def go_to_target(hand, action, *, stride=STRIDE, turn=TURN, floor=FLOOR):
    """The hand goes all its way, down to the floor."""
    x, y, z, yaw = hand
    x, y, z = x + stride * action[0], y + stride * action[1], z + stride * action[2]
    return x, y, np.maximum(z, floor), yaw + turn * action[3]


def lag_behind_target(
    hand,
    motion,
    action,
    *,
    stride=STRIDE,
    turn=TURN,
    floor=FLOOR,
    share=signed("", "share of the way to its target that the arm goes in a step, once it moves", 0.1, 1),
    keep=signed("", "share of the arm's last motion in its next one", 0, 1),
    out=positive("", "pace of the arm when it reaches out, compared to when it turns about its base", 0.05, 10),
    lift=positive("", "... when it lifts", 0.05, 10),
    wrist=signed("", "part of the turn about the base that the wrist undoes", 0, 1),
    sway=signed("", "how far the hand lags inwards for each unit of length that lifting lags", -1, 1),
    sag=signed("L", "sinking of the arm in a step", -0.1, 0.1),
    shoulder=signed("L", "distance at which the arm passes the axis of its base", -0.2, 0.2),
):
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


def polar(x, y, shoulder):
    """How far an arm reaches out, and how far it is turned about its base, with the hand at a place."""
    reach = np.sqrt(np.maximum(x**2 + y**2 - shoulder**2, 1e-6))
    return reach, np.arctan2(y, x) - np.arctan2(shoulder, reach)


def close_fingers(
    closing,
    action,
    *,
    grip=positive("", "change of the fingers' target at full action", 0.05, 10),
    follow=signed("", "share of the way to their target that the fingers go in a step", 0, 1),
):
    """The fingers go a share of the way to their target."""
    return closing + follow * (np.clip(closing + grip * action, 0.0, 1.0) - closing)


def go_along(block, before, hand, *, half):
    """The block always moves as the hand does, but not into its support."""
    x, y = block[0] + hand[0] - before[0], block[1] + hand[1] - before[1]
    return x, y, np.maximum(block[2] + hand[2] - before[2], half), block[3]


def fall(block, *, half, fall=FALL):
    """A block that nobody holds falls to its support; its last number is its downward speed."""
    z = block[2] - block[4] - fall / 2
    return block[0], block[1], np.maximum(z, half), block[3], np.where(z > half, block[4] + fall, 0.0)


def lowest_above(lowest, block, other, *, half, other_half):
    """How low a block can be: as low as before, or on another block where that is beneath its middle."""
    across, along = rotate((block[0] - other[0], block[1] - other[1]), -other[3])
    beneath = (np.abs(across) < other_half) & (np.abs(along) < other_half) & (other[2] < block[2])
    return np.where(beneath, np.maximum(lowest, other[2] + other_half + half), lowest)


def fall_onto(block, lowest, *, fall=FALL):
    """A block that nobody holds falls as low as it can be; its last number is its downward speed."""
    z = block[2] - block[4] - fall / 2
    return block[0], block[1], np.maximum(z, lowest), block[3], np.where(z > lowest, block[4] + fall, 0.0)


def hold_above(around, before, hand, closing, block, released, lowest, *, stop=STOP):
    """As `hold`, for a block that may come to lie on another."""
    return hold(around, before, hand, closing, block, released, half=lowest, stop=stop)


def fingers_around(
    around,
    hand,
    block,
    closing,
    *,
    half,
    wide=threshold("L", "how far beside its middle a finger still holds", 0, 0.03),
    tall=threshold("L", "how far above and below its middle a finger still holds", 0, 0.03),
    room=threshold("L", "how far towards a finger a block may be for open fingers to come down around it", 0, 0.06),
    stop=STOP,
):
    """1 while a block is between the fingers; they can only come around it where it is in nobody's way."""
    across, along = rotate((block[0] - hand[0], block[1] - hand[1]), -hand[3])
    clear = np.abs(along) < np.where(around > 0, half + room, room * (1 - closing / stop))
    near = (np.abs(across) < half + wide) & (np.abs(block[2] - hand[2]) < half + tall)
    return np.where(near & clear, 1.0, 0.0)


def hold(around, before, hand, closing, block, released, *, half, stop=STOP):
    """Fingers around a block that want to close further hold it in their middle; it moves and turns with the hand."""
    across, _ = rotate((block[0] - before[0], block[1] - before[1]), -before[3])
    x, y = rotate((across, 0.0), hand[3])
    z = np.maximum(hand[2] + block[2] - before[2], half)
    carried = (hand[0] + x, hand[1] + y, z, block[3] + hand[3] - before[3], 0.0)
    holds = (around > 0) & (closing >= stop)
    block = tuple(np.where(holds, held, free) for held, free in zip(carried[: len(released)], released, strict=True))
    return block, np.where(holds, stop, closing)
