"""The PushT world: a driven disc pushes a block of boxes across a walled table, on pymunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld import engine_pool
from visualpatchworld.extras import cv2, pymunk
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

BLOCK_NAMES = ("block", "block_2")
POSE_UNITS, VELOCITY_UNITS = {"x": "px", "y": "px", "angle": "rad"}, {"vx": "px/s", "vy": "px/s", "spin": "rad/s"}


def state_space(blocks: int, *, moving: bool) -> StateSpace:
    """The state of a table with so many blocks: what a second one adds
    comes behind, and last the velocities of blocks that keep theirs.
    """
    first, *others = [{f"{name}_{axis}": unit for axis, unit in POSE_UNITS.items()} for name in BLOCK_NAMES[:blocks]]
    units = {"agent_x": "px", "agent_y": "px", **first, "agent_vx": "px/s", "agent_vy": "px/s"}
    for other in others:
        units |= other
    for name in BLOCK_NAMES[: blocks if moving else 0]:
        units |= {f"{name}_{axis}": unit for axis, unit in VELOCITY_UNITS.items()}
    return StateSpace.of(**units)


STATE_SPACE = state_space(1, moving=False)

SIZE_PX = 512
PHYSICS_STEP_S = 0.01
WALL_RADIUS_PX = 2.0
WALLS_PX = {
    "left": ((5.0, 506.0), (5.0, 5.0)),
    "top": ((5.0, 5.0), (506.0, 5.0)),
    "right": ((506.0, 5.0), (506.0, 506.0)),
    "bottom": ((5.0, 506.0), (506.0, 506.0)),
}
DEFAULT_GOAL_POSE = np.array([256.0, 256.0, math.pi / 4])

# Left, top, right, bottom of each box in the block's frame, in units of the block's scale.
BOXES: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "T": ((-2, 0, 2, 1), (-0.5, 1, 0.5, 4)),
    "L": ((0, 0, 1, 2), (0, -1, 2, 0)),
    "Z": ((0, 0, 2, 1), (-1, -1, 1, 0)),
    "square": ((-1, -1, 1, 1),),
    "I": ((-0.5, -2, 0.5, 2),),
    "small_tee": ((-1.5, 0, 1.5, 1), (-0.5, 1, 0.5, 2)),
    "+": ((-1.5, -0.5, 1.5, 0.5), (-0.5, 0.5, 0.5, 1.5), (-0.5, -1.5, 0.5, -0.5)),
}
# Corners of a round outline count for drawing and walking around it; contact takes it to be round.
ROUND_CORNERS = {"hexagon": 6, "disc": 24}
ROUND_RADIUS = 1.5  # in units of the block's scale
COUNTED_AS_FIRST = ("T", "+")  # upstream gives every box of these shapes the moment of the first one

AGENT_COLOR = (65, 105, 225)
BLOCK_COLOR = (119, 136, 153)
GOAL_COLOR = (144, 238, 144)
WALL_COLOR = (211, 211, 211)
OUTLINE_PX = 4
LIGHTER = 1.2  # the inside of a shape against its outline


@dataclass(frozen=True)
class PushTConstants(Constants):
    """How the agent is driven, what it pushes, and how the block answers."""

    gain: float = constant(100.0, "1/s^2", "pull of the agent towards its target", low=1.0, high=1000.0)
    damping: float = constant(20.0, "1/s", "brake on the agent's velocity", low=0.0, high=100.0)
    reach: float = constant(100.0, "px", "distance of the target at full action", low=1.0, high=300.0)
    agent_radius: float = constant(15.0, "px", "agent radius", low=2.0, high=60.0)
    block_scale: float = constant(30.0, "px", "width of the block's bars", low=8.0, high=60.0)
    block_shape: Literal["T", "L", "Z", "square", "I", "small_tee", "+", "hexagon", "disc"] = constant(
        "T", "", "shape of the block"
    )
    moment: float = constant(1.0, "x nominal", "factor on the block's moment of inertia", low=0.05, high=20.0)
    substeps: int = constant(10, "", "physics steps of 0.01 s in one step", low=1, high=50)
    friction: float = constant(0.0, "", "friction coefficient of every contact", low=0.0, high=2.0)
    drive: Literal["pd", "direct"] = constant(
        "pd", "", "a damped spring to the target, or straight to it at constant speed"
    )
    block: Literal["pushed", "frozen"] = constant(
        "pushed", "", "the block yields to the agent, or stays while the agent passes through"
    )
    response: Literal["quasi-static", "inertial"] = constant(
        "quasi-static", "", "the block stops when released, or slides on"
    )
    inertia_keep: float = constant(
        0.1, "1/s", "share of its velocity an inertial block keeps over a second", low=0.0, high=1.0
    )
    blocks: int = constant(1, "", "blocks on the table", low=1, high=2)
    second_shape: Literal["square", "T", "L", "hexagon", "disc"] = constant("square", "", "shape of a second block")
    second_mass: float = constant(0.5, "x first", "mass of a second block", low=0.05, high=20.0)


class PushT(Simulator):
    """The engine state ends with each block's velocity and spin:
    part of the state where blocks are inertial, otherwise zero.

    The engine remembers more than that while the block is pressed against a wall: the order and the impulses of its
    contacts. A state set there continues closely, everywhere else exactly.
    """

    state_space = STATE_SPACE
    action_dim = 2
    action_limit = math.inf  # human demonstrations reach 1.8
    constants: PushTConstants

    def __init__(self, constants: PushTConstants = PushTConstants(), render_mode: str | None = "rgb_array"):
        self.state_space = state_space(constants.blocks, moving=constants.response == "inertial")  # pyright: ignore[reportAttributeAccessIssue]
        super().__init__(constants, render_mode)
        second = (SIZE_PX / 4, SIZE_PX / 4, 0.0)[: 3 * (constants.blocks - 1)]
        self._rest(np.array([SIZE_PX / 2, SIZE_PX / 4, *DEFAULT_GOAL_POSE, 0, 0, *second]))

    def get_engine_state(self) -> Float[np.ndarray, " E"]:
        inertial = self.constants.response == "inertial"
        velocities = [
            (*block.velocity, block.angular_velocity) if inertial else (0.0, 0.0, 0.0) for block in self._blocks
        ]
        return np.array([*self._numbers(), *(number for velocity in velocities for number in velocity)])

    def set_engine_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        state, velocities = np.split(np.asarray(engine_state, dtype=np.float64), [-3 * self.constants.blocks])
        agent_x, agent_y, *_, vx, vy = map(float, state[:7])
        # A new space each time: contacts that an old one remembers would push the blocks.
        self._space, self._agent, self._blocks = build(self.constants)
        for block, pose in zip(self._blocks, block_poses(state, self.constants.blocks), strict=True):
            # Before the position: the body turns about its centre of gravity, not its origin.
            block.angle = float(pose[2])
            block.position = float(pose[0]), float(pose[1])
        self._agent.velocity = vx, vy
        if vx or vy or velocities.any():
            # The blocks' next motion was solved from the contacts at these positions. Step the agent into its place to
            # solve them again.
            self._agent.position = agent_x - vx * PHYSICS_STEP_S, agent_y - vy * PHYSICS_STEP_S
            self._space.step(PHYSICS_STEP_S)
        self._agent.position = agent_x, agent_y
        if self.constants.response == "inertial":
            for block, (block_vx, block_vy, spin) in zip(self._blocks, velocities.reshape(-1, 3).tolist(), strict=True):
                block.velocity = block_vx, block_vy
                block.angular_velocity = spin

    def get_state(self) -> Float[np.ndarray, " S"]:
        return self.get_engine_state() if self.constants.response == "inertial" else np.array(self._numbers())

    def set_state(self, state: Float[np.ndarray, " S"]) -> None:
        if self.constants.response == "inertial":
            self.set_engine_state(state)
        else:
            self._rest(state)

    def sample_start(self, rng: np.random.Generator) -> None:
        self._rest(sample_state(self.constants, rng))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        x, y = self._agent.position
        target_x = x + self.constants.reach * float(action[0])
        target_y = y + self.constants.reach * float(action[1])
        if self.constants.drive == "pd":
            self._drive(target_x, target_y)
        else:
            self._carry(target_x, target_y)

    def rollout(
        self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        return engine_pool.rollout(PushT, self.constants, engine_state, actions)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        goal_poses = [DEFAULT_GOAL_POSE] if self._goal is None else block_poses(self._goal, self.constants.blocks)
        return paint(self.get_state(), goal_poses, self.constants)

    def _rest(self, numbers: Float[np.ndarray, " N"]) -> None:
        """Put all things there, the blocks without a velocity."""
        self.set_engine_state(np.concatenate([numbers, np.zeros(3 * self.constants.blocks)]))

    def _numbers(self) -> tuple[float, ...]:
        agent = self._agent
        first, *others = [(*block.position, block.angle % (2 * math.pi)) for block in self._blocks]
        return (*agent.position, *first, *agent.velocity, *(number for other in others for number in other))

    def _drive(self, target_x: float, target_y: float) -> None:
        """A damped spring pulls the agent; its velocity changes before each physics step."""
        agent, space = self._agent, self._space
        gain, damping = self.constants.gain, self.constants.damping
        x, y = agent.position
        vx, vy = agent.velocity
        for _ in range(self.constants.substeps):
            vx += (gain * (target_x - x) - damping * vx) * PHYSICS_STEP_S
            vy += (gain * (target_y - y) - damping * vy) * PHYSICS_STEP_S
            agent.velocity = vx, vy
            space.step(PHYSICS_STEP_S)
            x, y = agent.position

    def _carry(self, target_x: float, target_y: float) -> None:
        """The agent moves evenly to its target and rests there."""
        x, y = self._agent.position
        duration_s = self.constants.substeps * PHYSICS_STEP_S
        self._agent.velocity = (target_x - x) / duration_s, (target_y - y) / duration_s
        for _ in range(self.constants.substeps):
            self._space.step(PHYSICS_STEP_S)
        engine_state = self.get_engine_state()
        engine_state[5:7] = 0.0
        self.set_engine_state(engine_state)


def build(constants: PushTConstants) -> tuple[pymunk.Space, pymunk.Body, list[pymunk.Body]]:
    """A new engine with walls, agent and blocks; the order of adding decides in which order contacts are solved."""
    space = pymunk.Space()
    space.damping = 0.0 if constants.response == "quasi-static" else constants.inertia_keep
    walls = [pymunk.Segment(space.static_body, start, end, WALL_RADIUS_PX) for start, end in WALLS_PX.values()]
    agent = pymunk.Body(body_type=pymunk.Body.KINEMATIC)
    disc = pymunk.Circle(agent, constants.agent_radius)
    built = [build_block(constants, number) for number in range(constants.blocks)]
    parts = [part for _, own in built for part in own]
    for shape in (*walls, disc, *parts):
        shape.friction = math.sqrt(constants.friction)  # a contact multiplies the values of its two shapes
    for part in parts:
        part.sensor = constants.block == "frozen"
    space.add(*walls, agent, disc, *(thing for block, own in built for thing in (block, *own)))
    return space, agent, [block for block, _ in built]


def build_block(constants: PushTConstants, number: int = 0) -> tuple[pymunk.Body, list[pymunk.Shape]]:
    """A block and the convex shapes that it is made of."""
    radius, mass = disc_radius(constants, number), constants.second_mass if number else 1.0
    if radius is not None:
        block = pymunk.Body(mass, constants.moment * pymunk.moment_for_circle(mass, 0.0, radius))
        return block, [pymunk.Circle(block, radius)]
    boxes = [[(float(x), float(y)) for x, y in box] for box in block_boxes(constants, number)]
    counted = [boxes[0]] * len(boxes) if shape_of(constants, number) in COUNTED_AS_FIRST else boxes
    block = pymunk.Body(mass, constants.moment * sum(pymunk.moment_for_poly(mass, box) for box in counted))
    parts: list[pymunk.Shape] = [pymunk.Poly(block, box) for box in boxes]
    block.center_of_gravity = sum((part.center_of_gravity for part in parts), pymunk.Vec2d.zero()) / len(parts)
    return block, parts


def shape_of(constants: PushTConstants, number: int) -> str:
    """The shape of a block, counted from 0."""
    return constants.second_shape if number else constants.block_shape


def disc_radius(constants: PushTConstants, number: int = 0) -> float | None:
    """The radius of a block that is a disc."""
    return ROUND_RADIUS * constants.block_scale if shape_of(constants, number) == "disc" else None


def block_boxes(constants: PushTConstants, number: int = 0) -> Float[np.ndarray, "parts corners 2"]:
    """The corners of a block's convex parts in its own frame."""
    shape = shape_of(constants, number)
    if shape in ROUND_CORNERS:
        angles = np.arange(ROUND_CORNERS[shape]) * 2 * math.pi / ROUND_CORNERS[shape]
        return ROUND_RADIUS * constants.block_scale * np.stack([np.cos(angles), np.sin(angles)], axis=-1)[None]
    corners = [
        ((left, bottom), (right, bottom), (right, top), (left, top)) for left, top, right, bottom in BOXES[shape]
    ]
    return constants.block_scale * np.array(corners, dtype=np.float64)


def to_world(points: Float[np.ndarray, "*B 2"], pose: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "*B 2"]:
    """Points of the block's frame on the table, for a pose x, y, angle."""
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    return points @ np.array([[cos, sin], [-sin, cos]]) + np.asarray(pose[:2])


def gap_to_block(
    points: Float[np.ndarray, "*B 2"], pose: Float[np.ndarray, " 3"], constants: PushTConstants, number: int = 0
) -> Float[np.ndarray, "*B"]:
    """Distance of points on the table to a block, zero inside it."""
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    local = (np.asarray(points) - np.asarray(pose[:2])) @ np.array([[cos, -sin], [sin, cos]])
    boxes = block_boxes(constants, number)
    if shape_of(constants, number) not in ROUND_CORNERS:
        middles, halves = boxes.mean(axis=1), np.ptp(boxes, axis=1) / 2
        outside = np.maximum(np.abs(local[..., None, :] - middles) - halves, 0.0)
        return np.linalg.norm(outside, axis=-1).min(axis=-1)
    starts, edges = boxes[0], np.roll(boxes[0], -1, axis=0) - boxes[0]
    away = local[..., None, :] - starts
    along = np.clip((away * edges).sum(axis=-1) / (edges**2).sum(axis=-1), 0.0, 1.0)
    inside = (edges[:, 0] * away[..., 1] - edges[:, 1] * away[..., 0] >= 0).all(axis=-1)
    return np.where(inside, 0.0, np.linalg.norm(away - along[..., None] * edges, axis=-1).min(axis=-1))


def sample_state(constants: PushTConstants, rng: np.random.Generator) -> Float[np.ndarray, " N"]:
    """A start at rest, without velocities of blocks: blocks anywhere
    within the walls and apart from each other, agent apart from them.
    """
    while True:
        agent = rng.uniform(50.0, 450.0, 2)
        poses = [
            np.array([*rng.uniform(100.0, 400.0, 2), rng.uniform(0.0, 2 * math.pi)]) for _ in range(constants.blocks)
        ]
        outlines = [to_world(block_boxes(constants, number), pose) for number, pose in enumerate(poses)]
        within = all(corners.min() > 10.0 and corners.max() < SIZE_PX - 10.0 for corners in outlines)
        free = all(
            gap_to_block(agent, pose, constants, number) > constants.agent_radius + 5.0
            for number, pose in enumerate(poses)
        )
        if within and free and (constants.blocks == 1 or _apart(outlines, poses, constants)):
            return np.array([*agent, *poses[0], 0.0, 0.0, *(number for pose in poses[1:] for number in pose)])


def _apart(outlines: list[np.ndarray], poses: list[np.ndarray], constants: PushTConstants) -> bool:
    """Whether no point of the second block's outline is near the first block, nor the other way round."""
    along = np.linspace(0.0, 1.0, 8, endpoint=False)[:, None, None, None]
    points = [corners + along * (np.roll(corners, -1, axis=1) - corners) for corners in outlines]
    gaps = [gap_to_block(points[1 - number], poses[number], constants, number).min() for number in (0, 1)]
    return min(gaps) > 2.0


def paint(
    state: Float[np.ndarray, " S"], goal_poses: Sequence[np.ndarray], constants: PushTConstants
) -> UInt8[np.ndarray, "224 224 3"]:
    """White table, gray walls, the goal poses in green under the agent and the blocks."""
    canvas = np.full((SIZE_PX, SIZE_PX, 3), 255, dtype=np.uint8)
    for number, pose in enumerate(goal_poses):
        for corners in to_world(block_boxes(constants, number), pose):
            cv2.fillPoly(canvas, [_pixels(corners)], GOAL_COLOR)
    for start, end in WALLS_PX.values():
        cv2.polylines(canvas, [_pixels(np.array([start, end]))], False, WALL_COLOR, OUTLINE_PX)
    x, y = _pixels(state[0:2]).tolist()
    cv2.circle(canvas, (x, y), round(constants.agent_radius), AGENT_COLOR, cv2.FILLED)
    cv2.circle(canvas, (x, y), max(round(constants.agent_radius) - OUTLINE_PX, 0), _lighter(AGENT_COLOR), cv2.FILLED)
    for number, pose in enumerate(block_poses(state, constants.blocks)):
        for corners in to_world(block_boxes(constants, number), pose):
            cv2.fillPoly(canvas, [_pixels(corners)], _lighter(BLOCK_COLOR))
            cv2.polylines(canvas, [_pixels(corners)], True, BLOCK_COLOR, OUTLINE_PX)
    return cv2.resize(canvas, (FRAME_SIZE_PX, FRAME_SIZE_PX))


def _pixels(points: np.ndarray) -> np.ndarray:
    return np.round(points).astype(np.int32)


def _lighter(color: tuple[int, int, int]) -> tuple[int, ...]:
    return tuple(min(int(LIGHTER * channel), 255) for channel in color)


def block_poses(state: Any, blocks: int) -> list[Any]:
    """Place and angle of each block; those of a second one come behind the agent's velocity."""
    return [state[..., start : start + 3] for start in (2, 7)[:blocks]]
