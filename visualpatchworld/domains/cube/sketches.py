"""What Cube's dynamics may be: whether the block is gripped, whether the arm lags behind, and what a block does that is let go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from visualpatchworld.laws.constant import from_scene, positive, signed, threshold
from visualpatchworld.laws.family import Family, Role, Sketch
from visualpatchworld.laws.latch import latch
from visualpatchworld.laws.vector import rotate

STRIDE = positive("m", "way of the hand in a step at full action, once it moves", 0.001, 1)
TURN = positive("rad", "turn of the hand in a step at full action, once it moves", 0.001, 10)
GRIP = positive("", "change of the opening's target at full action", 0.1, 10)
FOLLOW = signed("", "share of the way to its target that the gripper goes in a step", 0, 1)
FLOOR = signed("m", "lowest target of the hand", -0.2, 0.2)
SHARE = signed("", "share of the way to its target that the arm goes in a step, once it moves", 0.1, 1)
KEEP = signed("", "share of the arm's last motion in its next one", 0, 1)
OUT = positive("", "pace of the arm when it reaches out, compared to when it turns about its base", 0.1, 10)
LIFT = positive("", "... when it lifts", 0.1, 10)
WRIST = signed("", "part of the turn about the base that the wrist undoes", 0, 1)
SWAY = signed("", "how far the hand lags inwards for each metre that lifting lags", -1, 1)
SAG = signed("m", "sinking of the arm in a step", -0.1, 0.1)
SHOULDER = signed("m", "distance at which the arm passes the axis of its base", -0.2, 0.2)
WIDE = threshold("m", "how far beside its middle a finger still holds", 0, 0.03)
TALL = threshold("m", "how far above and below its middle a finger still holds", 0, 0.03)
ROOM = threshold("m", "how far towards a finger the block may be for open fingers to come down around it", 0, 0.06)
STOP = threshold("", "opening at which fingers around the block meet it", 0, 1)
FALL = positive("m", "downward speed per step that a falling block gains in a step", 0.0001, 1)

HALF = from_scene("m", "half of the block's edge", lambda graph: graph["block"].geometry.half_sizes[2])

move_hand = Role("the hand after the step")
move_block = Role("the block after the step, given where the hand went")
let_go = Role("the block when nothing holds it")


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


def step(state, action):
    """One step: the action moves hand and fingers, and the block may go along."""
    after = move_hand(state, STRIDE * action[:3], TURN * action[3])
    closing = np.clip(state.gripper_opening + GRIP * action[4], 0.0, 1.0) - state.gripper_opening
    return move_block(state, after._replace(gripper_opening=state.gripper_opening + FOLLOW * closing))


def direct_hand(state, way, turn):
    """The hand goes all its way, down to the floor."""
    x, y, z = state.effector_x + way[0], state.effector_y + way[1], np.maximum(state.effector_z + way[2], FLOOR)
    return state._replace(effector_x=x, effector_y=y, effector_z=z, effector_yaw=state.effector_yaw + turn)


def lagged_hand(state, way, turn):
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


def arm(x, y):
    """How far the arm reaches out, and how far it is turned about its base, with the hand at a place."""
    reach = np.sqrt(np.maximum(x**2 + y**2 - SHOULDER**2, 1e-6))
    return reach, np.arctan2(y, x) - np.arctan2(SHOULDER, reach)


def free_block(state, after):
    """The block stays where it is, whatever the hand does."""
    return after


def coupled_block(state, after):
    """The block always moves as the hand does, but not into its support."""
    x, y = state.block_x + after.effector_x - state.effector_x, state.block_y + after.effector_y - state.effector_y
    z = np.maximum(state.block_z + after.effector_z - state.effector_z, HALF)
    return after._replace(block_x=x, block_y=y, block_z=z)


def gripped_block(state, after):
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


def floating_block(state):
    """A block that nobody holds stays where it is."""
    return state


def falling_block(state):
    """A block that nobody holds falls to its support."""
    z = state.block_z - state.block_fall - FALL / 2
    return state._replace(block_z=np.maximum(z, HALF), block_fall=np.where(z > HALF, state.block_fall + FALL, 0.0))


HANDS = {"direct": direct_hand, "lagged": lagged_hand}
BLOCKS = {"free": free_block, "coupled": coupled_block, "gripped": gripped_block}
RELEASES = {"floats": floating_block, "falls": falling_block}


def build(choices):
    """The sketch of one combination; only a block that is gripped can be let go."""
    roles = {"step": step, "move_hand": HANDS[choices["effector"]], "move_block": BLOCKS[choices["object"]]}
    title = f"Cube: {choices['effector']} hand, {choices['object']} block"
    if choices["object"] == "gripped":
        roles["let_go"] = RELEASES[choices["release"]]
        title += f" that {choices['release']} when it is let go"
    return Sketch(choices, f"{title}.", State, roles)


FAMILY = Family(axes={"object": tuple(BLOCKS), "effector": tuple(HANDS), "release": tuple(RELEASES)}, build=build)
