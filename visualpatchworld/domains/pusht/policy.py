"""Data for PushT: a scripted pusher that walks round the block, pushes on a random point of its outline, and begins anew."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Policy
from visualpatchworld.domains.pusht.simulator import SIZE_PX, PushT, PushTConstants, block_boxes, gap_to_block, to_world

CLEARANCE_PX = 12.0  # kept from the block on the way
ARRIVED_PX = 12.0
MAX_WALK_STEPS = 20  # a place behind the block may be out of reach near a wall
NOISE = 0.05
CENTRING = 1.5  # above 0, pushes that bring the block back to the middle are preferred; walls are still met now and then


def pusher(simulator: PushT, rng: np.random.Generator) -> Policy:
    """One push after another, each on a random point of the outline, at a random speed, for a random while."""
    actions = _pushes(simulator, rng)
    return lambda: next(actions)


def _pushes(simulator: PushT, rng: np.random.Generator) -> Iterator[np.ndarray]:
    while True:
        point, inward = _contact(simulator, rng)
        standoff = simulator.constants.agent_radius + CLEARANCE_PX
        for _ in range(MAX_WALK_STEPS):
            state = simulator.observe()
            behind = _within_walls(to_world(point - standoff * inward, state[2:5]))
            if np.linalg.norm(behind - state[0:2]) < ARRIVED_PX:
                break
            yield _towards(_waypoint(state, behind, simulator.constants), 1.0, simulator, rng)
        speed = rng.uniform(0.1, 0.6)
        swerve = rng.normal(0.0, 0.4)
        for _ in range(rng.integers(5, 16)):
            pose = simulator.observe()[2:5]
            heading = to_world(_turned(inward, swerve), np.array([0.0, 0.0, pose[2]]))
            ahead = simulator.observe()[0:2] + simulator.constants.reach * heading
            yield _towards(_within_walls(ahead), speed, simulator, rng)


def _contact(simulator: PushT, rng: np.random.Generator) -> tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]:
    """A point of the block's outline and the direction into the block there, in its frame; rather one that pushes to the middle."""
    points, inwards = _outline(simulator.constants, rng, num_points=12)
    pose = simulator.observe()[2:5]
    to_middle = (SIZE_PX / 2 - to_world(points, pose)) / (SIZE_PX / 2)
    pushes = to_world(inwards, np.array([0.0, 0.0, pose[2]]))
    weights = np.exp(CENTRING * (pushes * to_middle).sum(axis=1))
    chosen = rng.choice(len(points), p=weights / weights.sum())
    return points[chosen], inwards[chosen]


def _outline(constants: PushTConstants, rng: np.random.Generator, *, num_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Points drawn evenly from the outline, corners included, with the direction inwards; edges inside the block do not count."""
    boxes = block_boxes(constants)
    starts, ends = boxes.reshape(-1, 2), np.roll(boxes, -1, axis=1).reshape(-1, 2)
    middles = np.repeat(boxes.mean(axis=1), 4, axis=0)
    lengths = np.linalg.norm(ends - starts, axis=1)
    points, inwards = [], []
    while len(points) < num_points:
        edge = rng.choice(len(starts), p=lengths / lengths.sum())
        point = starts[edge] + rng.random() * (ends[edge] - starts[edge])
        inward = middles[edge] - (starts[edge] + ends[edge]) / 2
        inward /= np.linalg.norm(inward)
        if gap_to_block(point - inward, np.zeros(3), constants) > 0.5:
            points.append(point)
            inwards.append(inward)
    return np.array(points), np.array(inwards)


def _waypoint(state: Float[np.ndarray, " S"], goal: Float[np.ndarray, " 2"], constants: PushTConstants) -> Float[np.ndarray, " 2"]:
    """The goal if the way is free, otherwise a point on a circle round the block, some way on towards the goal."""
    agent, pose = state[0:2], state[2:5]
    way = agent + np.linspace(0.1, 1.0, 12)[:, None] * (goal - agent)
    if gap_to_block(way, pose, constants).min() > constants.agent_radius:
        return goal
    corners = to_world(block_boxes(constants), pose).reshape(-1, 2)
    center = (corners.min(axis=0) + corners.max(axis=0)) / 2
    radius = np.linalg.norm(corners - center, axis=1).max() + constants.agent_radius + CLEARANCE_PX
    bearing, wanted = (math.atan2(*(place - center)[::-1]) for place in (agent, goal))
    turn = (wanted - bearing + math.pi) % (2 * math.pi) - math.pi
    angle = bearing + math.copysign(min(abs(turn), math.pi / 5), turn)
    return _within_walls(center + radius * np.array([math.cos(angle), math.sin(angle)]))


def _towards(place: Float[np.ndarray, " 2"], speed: float, simulator: PushT, rng: np.random.Generator) -> Float[np.ndarray, " 2"]:
    """An action to the place, at most `speed` long, with noise."""
    action = (place - simulator.observe()[0:2]) / simulator.constants.reach
    action *= min(speed / max(float(np.linalg.norm(action)), 1e-9), 1.0)
    return np.clip(action + rng.normal(0.0, NOISE, 2), -1.0, 1.0)


def _within_walls(place: Float[np.ndarray, " 2"]) -> Float[np.ndarray, " 2"]:
    return np.clip(place, 25.0, SIZE_PX - 25.0)


def _turned(direction: Float[np.ndarray, " 2"], angle: float) -> Float[np.ndarray, " 2"]:
    return to_world(direction, np.array([0.0, 0.0, angle]))
