"""PushT: a disc pushes a T-shaped block, which moves only while it is pushed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain, Policy
from visualpatchworld.domains.pusht.simulator import (
    BLOCK_NAMES,
    SIZE_PX,
    WALL_RADIUS_PX,
    WALLS_PX,
    PushT,
    PushTConstants,
    block_boxes,
    block_poses,
    disc_radius,
    gap_to_block,
    shape_of,
    state_space,
    to_world,
)
from visualpatchworld.plan.cem import CEM, siblings
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape, Walls
from visualpatchworld.simulator import Column, TraceLayout

SUCCESS_PX = 20.0
SUCCESS_RAD = np.pi / 9
AGENT_WEIGHT = 0.3  # in the planner's cost
CLEARANCE_PX = 12.0  # kept from the block on the way
ARRIVED_PX = 12.0
MAX_WALK_STEPS = 30  # a place behind the block may be out of reach near a wall
NOISE = 0.05
WALK, PUSH = 0.5, (0.1, 0.4)  # largest actions on the way and while pushing: about the pace of a person
CENTRING = 2.0  # above 0, pushes that bring the block back to the middle are preferred
# Each step against a wall: enough to meet walls now and then without wedging the block into them.
LEAVE_WALL_PROBABILITY = 0.7
WALL_PX = 10.0  # a corner this close to the table's edge is at a wall


def agent_px(state: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Distance between two agent positions."""
    return np.linalg.norm(state[..., 0:2] - other[..., 0:2], axis=-1)


def block_px(state: np.ndarray, other: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Distance between two block origins; where there are two blocks, of the one that is farther off."""
    return np.max(_block_distances(state, other, blocks), axis=0)


def angle_rad(state: np.ndarray, other: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Difference of two block angles, the short way round; where
    there are two blocks, of the one that is farther off.
    """
    pairs = zip(block_poses(state, blocks), block_poses(other, blocks), strict=True)
    turns = [pose[..., 2] - goal[..., 2] for pose, goal in pairs]
    return np.max([np.abs(np.mod(turn + np.pi, 2 * np.pi) - np.pi) for turn in turns], axis=0)


def _block_distances(state: np.ndarray, other: np.ndarray, blocks: int) -> list[np.ndarray]:
    pairs = zip(block_poses(state, blocks), block_poses(other, blocks), strict=True)
    return [np.linalg.norm(pose[..., :2] - goal[..., :2], axis=-1) for pose, goal in pairs]


def cost(states: Any, goal: Any, blocks: int = 1) -> Any:
    """The least that a future ever lacks of its goal, in success radii;
    the agent, which is free to move, counts less than the blocks.
    """
    lack, away, turned = states - goal, 0.0, 0.0
    for pose in block_poses(lack, blocks):
        away, turned = (
            away + _length(pose[..., :2]),
            turned + abs((pose[..., 2] + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD,
        )
    return ((away + AGENT_WEIGHT * _length(lack[..., 0:2])) / SUCCESS_PX + turned).min(-1)


def _length(vectors: Any) -> Any:
    return (vectors**2).sum(-1) ** 0.5


def pose_distance(state: np.ndarray, goal: np.ndarray, blocks: int = 1) -> np.ndarray:
    """How far a pose is from its goal, in success radii: the larger one of distance and turn."""
    away = np.linalg.norm([agent_px(state, goal), *_block_distances(state, goal, blocks)], axis=0)
    return np.maximum(away / SUCCESS_PX, angle_rad(state, goal, blocks) / SUCCESS_RAD)


def pose_cost(states: Any, goal: Any, blocks: int = 1) -> Any:
    """The least that a future ever lacks of its goal, in success radii;
    far away the blocks come first, nearby the agent counts in full.
    """
    lack = states - goal
    agent, squares, away, turned = (lack[..., 0:2] ** 2).sum(-1) / SUCCESS_PX**2, 0.0, 0.0, 0.0
    for pose in block_poses(lack, blocks):
        block = (pose[..., :2] ** 2).sum(-1) / SUCCESS_PX**2
        squares, away = squares + block, away + block**0.5
        turned = turned + abs((pose[..., 2] + np.pi) % (2 * np.pi) - np.pi) / SUCCESS_RAD
    distance, progress = (agent + squares) ** 0.5, away + AGENT_WEIGHT * agent**0.5 + turned
    return ((distance + progress + abs(distance - progress)) / 2).min(-1)  # the larger of the two


ERROR_METRICS = {"agent_px": agent_px, "block_px": block_px, "angle_rad": angle_rad}


def task_of_blocks(blocks: int) -> dict[str, Any]:
    """What counts where there are so many blocks."""
    return {
        "goals": {"pose_match": partial(pose_distance, blocks=blocks)},
        "error_metrics": {
            "agent_px": agent_px,
            "block_px": partial(block_px, blocks=blocks),
            "angle_rad": partial(angle_rad, blocks=blocks),
        },
        "cost": partial(cost, blocks=blocks),
        "costs": {"pose_match": partial(pose_cost, blocks=blocks)},
    }


# How it looks: a blue disc and a slate gray block on a white table, gray walls, the goal in green.
WHITE = (255, 255, 255)

LOOK = Look(
    palette=Palette(
        paints=(
            Paint("table", (WHITE,)),
            Paint("wall", ((211, 211, 211),)),
            Paint("goal", ((144, 238, 144),)),
            Paint("agent", ((65, 105, 225), (78, 126, 255))),  # a rim, and lighter inside
            Paint("block", ((119, 136, 153), (142, 163, 183))),
        ),
        background=WHITE,
    ),
    parts=(
        Shape("agent", kind="agent", paint="agent", behind=("block",)),
        Shape("block", kind="block", paint="block", turns=True, rim=4.0),
        Walls(paint="wall"),
    ),
    seen_constants=("agent_radius", "block_scale", "block_shape"),
    num_episodes=6,
)


def objects(constants: PushTConstants) -> tuple[SceneObject, ...]:
    """The disc, the blocks it pushes, and the walls; a wall's segment is given from its middle."""
    return (
        SceneObject(name="agent", kind="agent", geometry=Geometry(radius=constants.agent_radius)),
        *(_block(constants, number) for number in range(constants.blocks)),
        *(_wall(side, start, end) for side, (start, end) in WALLS_PX.items()),
    )


def _block(constants: PushTConstants, number: int) -> SceneObject:
    polygons = tuple(tuple((float(x), float(y)) for x, y in box) for box in block_boxes(constants, number))
    radius = disc_radius(constants, number)
    outline = Geometry(polygons=polygons) if radius is None else Geometry(radius=radius)
    name = BLOCK_NAMES[number]
    return SceneObject(name=name, kind="block", geometry=outline, attributes={"shape": shape_of(constants, number)})


def _wall(side: str, start: tuple[float, float], end: tuple[float, float]) -> SceneObject:
    middle = Pose(x=(start[0] + end[0]) / 2, y=(start[1] + end[1]) / 2)
    half = ((end[0] - start[0]) / 2, (end[1] - start[1]) / 2)
    line = Geometry(segment=((-half[0], -half[1]), half), radius=WALL_RADIUS_PX)
    return SceneObject(name=f"{side}_wall", kind="wall", fixed=True, pose=middle, geometry=line)


def of_blocks(constants: PushTConstants) -> dict[str, Any]:
    """Scene, layout and task of a table with these blocks."""
    moving = constants.response == "inertial"
    numbers = Column("state", 4 + 3 * constants.blocks)
    block_velocity = Column("block_velocity", 3 * constants.blocks, optional=True)  # only inertial blocks have one
    space = state_space(constants.blocks, moving=moving)
    return {
        "scene": SceneTemplate(objects=objects, near=5.0, state_space=space, y_axis="down"),
        "layout": TraceLayout(
            engine_state=(numbers, block_velocity),
            state=(numbers, block_velocity) if moving else (numbers,),
            action=Column("action", 2, "float32"),
        ),
        **(task_of_blocks(constants.blocks) if constants.blocks > 1 else {}),
    }


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


# With an exact program a search is worth more: a longer look ahead, actions that are held (so that ten are searched
# for, not fifty), and restarts, since a block can be gone around in more than one way. Steps are executed ten at a
# time, from what is left of the plan before.
SEARCH = CEM(
    samples=600, iterations=15, elites=60, horizon=50, replan_every=10, init_std=1.0, smoothing=0.3,
    hold=5, restarts=4, warm_start=True, warm_std=0.2, enough=0.3, heeds_budget=True, moved_at_will=(0, 1),
)  # fmt: skip

DOMAIN = Domain(
    name="pusht",
    title="PushT",
    engine="pymunk",
    challenge="2D manipulation: contact, rotation",
    simulator=PushT,
    constants=PushTConstants(),
    goals={"pose_match": pose_distance},
    look=LOOK,
    policy=pusher,
    episode_steps=125,  # four or five pushes with the ways between them; human demonstrations have about as many
    error_metrics=ERROR_METRICS,
    # A twentieth of the success radius, and of its angle.
    probe_tolerances={"agent_px": 1.0, "block_px": 1.0, "angle_rad": 0.02},
    transition_tolerances={"agent_px": 1.0, "block_px": 1.0, "angle_rad": 0.0175},
    cost=cost,
    costs={"pose_match": pose_cost},
    # The paper's budget: 600 samples, 15 rounds, 5 blocks of 5 actions, all executed. There are several sides to push
    # from: a wide first draw and a share of each spread kept for the next round keep the search from settling on the
    # first that helps.
    planner=CEM(samples=600, iterations=15, elites=60, horizon=25, replan_every=25, init_std=1.0, smoothing=0.3),
    planners={"default": SEARCH, **siblings(SEARCH)},
    variant=of_blocks,
    **of_blocks(PushTConstants()),
)
