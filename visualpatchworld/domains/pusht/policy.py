"""Data for PushT: a scripted pusher that walks round the block,
pushes on a random point of its outline, and begins anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Policy
from visualpatchworld.domains.pusht.simulator import (
    SIZE_PX,
    PushT,
    PushTConstants,
    block_boxes,
    block_poses,
    gap_to_block,
    to_world,
)

CLEARANCE_PX = 12.0  # kept from the block on the way
ARRIVED_PX = 12.0
MAX_WALK_STEPS = 30  # a place behind the block may be out of reach near a wall
NOISE = 0.05
WALK, PUSH = 0.5, (0.1, 0.4)  # largest actions on the way and while pushing: about the pace of a person
CENTRING = 2.0  # above 0, pushes that bring the block back to the middle are preferred
# Each step against a wall: enough to meet walls now and then without wedging the block into them.
LEAVE_WALL_PROBABILITY = 0.7
WALL_PX = 10.0  # a corner this close to the table's edge is at a wall


def pusher(simulator: PushT, rng: np.random.Generator) -> Policy:
    """One push after another, each on a random point of the outline, at a random speed, for a random while."""
    actions = _pushes(simulator, rng)
    return lambda: next(actions, None)


def _pushes(simulator: PushT, rng: np.random.Generator) -> Iterator[np.ndarray]:
    constants = simulator.constants
    # A block that was pressed through a wall can not be fetched back: the episode is over.
    while all(np.all(np.abs(pose[:2] - SIZE_PX / 2) < SIZE_PX / 2) for pose in _poses(simulator)):
        which = int(rng.integers(constants.blocks)) if constants.blocks > 1 else 0
        point, inward = _contact(simulator, which, rng)
        standoff = constants.agent_radius + CLEARANCE_PX
        for _ in range(MAX_WALK_STEPS):
            agent, poses = simulator.get_state()[0:2], _poses(simulator)
            behind = _within_walls(to_world(point - standoff * inward, poses[which]))
            if np.linalg.norm(behind - agent) < ARRIVED_PX:
                break
            yield _towards(_waypoint(agent, poses, behind, constants), WALK, simulator, rng)
        speed = rng.uniform(*PUSH)
        swerve = rng.normal(0.0, 0.4)
        for _ in range(rng.integers(5, 16)):
            agent, poses = simulator.get_state()[0:2], _poses(simulator)
            heading = _turned(inward, poses[which][2] + swerve)
            at_wall = any(_into_wall(heading, pose, constants, number) for number, pose in enumerate(poses))
            if at_wall and rng.random() < LEAVE_WALL_PROBABILITY:
                break
            yield _towards(_within_walls(agent + constants.reach * heading), speed, simulator, rng)


def _poses(simulator: PushT) -> list[np.ndarray]:
    return block_poses(simulator.get_state(), simulator.constants.blocks)


def _contact(
    simulator: PushT, which: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    """A point of a block's outline and the direction into the block
    there, in its frame; rather one that pushes to the middle.
    """
    points, inwards = _outline(simulator.constants, which, rng, num_points=12)
    pose = _poses(simulator)[which]
    to_middle = (SIZE_PX / 2 - to_world(points, pose)) / (SIZE_PX / 2)
    pushes = _turned(inwards, pose[2])
    weights = np.exp(CENTRING * (pushes * to_middle).sum(axis=1))
    chosen = rng.choice(len(points), p=weights / weights.sum())
    return points[chosen], inwards[chosen]


def _outline(
    constants: PushTConstants, which: int, rng: np.random.Generator, *, num_points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points drawn evenly from the outline, corners included, with
    the direction inwards; edges inside the block do not count.
    """
    boxes = block_boxes(constants, which)
    starts, ends = boxes.reshape(-1, 2), np.roll(boxes, -1, axis=1).reshape(-1, 2)
    middles = np.repeat(boxes.mean(axis=1), boxes.shape[1], axis=0)
    lengths = np.linalg.norm(ends - starts, axis=1)
    points, inwards = [], []
    while len(points) < num_points:
        edge = rng.choice(len(starts), p=lengths / lengths.sum())
        point = starts[edge] + rng.random() * (ends[edge] - starts[edge])
        inward = middles[edge] - (starts[edge] + ends[edge]) / 2
        inward /= np.linalg.norm(inward)
        if gap_to_block(point - inward, np.zeros(3), constants, which) > 0.5:
            points.append(point)
            inwards.append(inward)
    return np.array(points), np.array(inwards)


def _waypoint(
    agent: Float[np.ndarray, " 2"], poses: list[np.ndarray], goal: Float[np.ndarray, " 2"], constants: PushTConstants
) -> Float[np.ndarray, " 2"]:
    """The goal if the way is free, otherwise a point on a circle
    round the block that is in it, some way on towards the goal.
    """
    way = agent + np.linspace(0.1, 1.0, 12)[:, None] * (goal - agent)
    blocked = [
        gap_to_block(way, pose, constants, number) <= constants.agent_radius for number, pose in enumerate(poses)
    ]
    if not np.any(blocked):
        return goal
    which = min(
        range(len(poses)), key=lambda number: int(np.argmax(blocked[number])) if blocked[number].any() else len(way)
    )
    pose = poses[which]
    corners = to_world(block_boxes(constants, which), pose).reshape(-1, 2)
    center = (corners.min(axis=0) + corners.max(axis=0)) / 2
    radius = np.linalg.norm(corners - center, axis=1).max() + constants.agent_radius + CLEARANCE_PX
    bearing, wanted = (math.atan2(*(place - center)[::-1]) for place in (agent, goal))
    turn = (wanted - bearing + math.pi) % (2 * math.pi) - math.pi
    angle = bearing + math.copysign(min(abs(turn), math.pi / 5), turn)
    return _within_walls(center + radius * np.array([math.cos(angle), math.sin(angle)]))


def _towards(
    place: Float[np.ndarray, " 2"], speed: float, simulator: PushT, rng: np.random.Generator
) -> Float[np.ndarray, " 2"]:
    """An action to the place, at most `speed` long, with noise."""
    action = (place - simulator.get_state()[0:2]) / simulator.constants.reach
    action *= min(speed / max(float(np.linalg.norm(action)), 1e-9), 1.0)
    return np.clip(action + rng.normal(0.0, NOISE, 2), -1.0, 1.0)


def _into_wall(
    heading: Float[np.ndarray, " 2"], pose: Float[np.ndarray, " 3"], constants: PushTConstants, which: int
) -> bool:
    """Whether a corner of the block is at a wall that lies in the direction of the push."""
    corners = to_world(block_boxes(constants, which), pose).reshape(-1, 2)
    low, high = corners.min(axis=0) < WALL_PX, corners.max(axis=0) > SIZE_PX - WALL_PX
    return bool(np.any((low & (heading < 0)) | (high & (heading > 0))))


def _within_walls(place: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " 2"]:
    return np.clip(place, 25.0, SIZE_PX - 25.0)


def _turned(directions: Float[np.ndarray, "*B 2"], angle: float) -> Float[np.ndarray, "*B 2"]:
    return to_world(directions, np.array([0.0, 0.0, angle]))
