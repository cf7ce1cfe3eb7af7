"""The PushT world: a driven disc pushes a block of boxes across a walled table, on pymunk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld import engine_pool
from visualpatchworld.domains.pusht import task
from visualpatchworld.extras import cv2, pymunk
from visualpatchworld.scene.state import StateField, StateSpace
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

STATE_SPACE = StateSpace(
    (
        StateField("agent_x", "px", "agent.pose.x"),
        StateField("agent_y", "px", "agent.pose.y"),
        StateField("block_x", "px", "block.pose.x"),
        StateField("block_y", "px", "block.pose.y"),
        StateField("block_angle", "rad", "block.pose.angle", period=2 * math.pi),
        StateField("agent_vx", "px/s", "agent.velocity.x"),
        StateField("agent_vy", "px/s", "agent.velocity.y"),
    )
)

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
    block_shape: Literal["T", "L", "Z", "square", "I", "small_tee", "+", "hexagon", "disc"] = constant("T", "", "shape of the block")
    moment: float = constant(1.0, "x nominal", "factor on the block's moment of inertia", low=0.05, high=20.0)
    substeps: int = constant(10, "", "physics steps of 0.01 s in one step", low=1, high=50)
    friction: float = constant(0.0, "", "friction coefficient of every contact", low=0.0, high=2.0)
    drive: Literal["pd", "direct"] = constant("pd", "", "a damped spring to the target, or straight to it at constant speed")
    block: Literal["pushed", "frozen"] = constant("pushed", "", "the block yields to the agent, or stays while the agent passes through")
    response: Literal["quasi-static", "inertial"] = constant("quasi-static", "", "the block stops when released, or slides on")
    inertia_keep: float = constant(0.1, "1/s", "share of its velocity an inertial block keeps over a second", low=0.0, high=1.0)


class PushT(Simulator):
    """The engine state is the state, then the block's velocity and spin, which are zero unless the block is inertial.

    The engine remembers more than that while the block is pressed against a wall: the order and the impulses of its contacts. A state
    set there continues closely, everywhere else exactly.
    """

    state_space = STATE_SPACE
    action_dim = 2
    action_limit = math.inf  # human demonstrations reach 1.8
    constants: PushTConstants

    def __init__(self, constants: PushTConstants = PushTConstants(), render_mode: str | None = "rgb_array"):
        super().__init__(constants, render_mode)
        self.set_state(np.array([SIZE_PX / 2, SIZE_PX / 4, *DEFAULT_GOAL_POSE, 0, 0, 0, 0, 0]))

    def get_state(self) -> Float[np.ndarray, " E"]:
        inertial = self.constants.response == "inertial"
        block_velocity = (*self._block.velocity, self._block.angular_velocity) if inertial else (0.0, 0.0, 0.0)
        return np.array([*self._numbers(), *block_velocity])

    def set_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        agent_x, agent_y, block_x, block_y, angle, vx, vy, block_vx, block_vy, spin = map(float, engine_state)
        # A new space each time: contacts that an old one remembers would push the block.
        self._space, self._agent, self._block = build(self.constants)
        self._block.angle = angle  # before the position: the body turns about its centre of gravity, not its origin
        self._block.position = block_x, block_y
        self._agent.velocity = vx, vy
        if any((vx, vy, block_vx, block_vy, spin)):
            # The block's next motion was solved from the contacts at these positions. Step the agent into its place to solve them again.
            self._agent.position = agent_x - vx * PHYSICS_STEP_S, agent_y - vy * PHYSICS_STEP_S
            self._space.step(PHYSICS_STEP_S)
        self._agent.position = agent_x, agent_y
        if self.constants.response == "inertial":
            self._block.velocity = block_vx, block_vy
            self._block.angular_velocity = spin

    def observe(self) -> Float[np.ndarray, " S"]:
        return np.array(self._numbers())

    def place(self, state: Float[np.ndarray, " S"]) -> None:
        self.set_state(np.concatenate([state, np.zeros(3)]))

    def sample_start(self, rng: np.random.Generator) -> None:
        self.place(sample_state(self.constants, rng))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        x, y = self._agent.position
        target_x = x + self.constants.reach * float(action[0])
        target_y = y + self.constants.reach * float(action[1])
        if self.constants.drive == "pd":
            self._drive(target_x, target_y)
        else:
            self._carry(target_x, target_y)

    def is_success(self, state: Float[np.ndarray, "*B S"], goal: Float[np.ndarray, "*B S"]) -> np.ndarray:
        return task.pose_match(state, goal)

    def rollout(self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]) -> Float[np.ndarray, "K H S"]:
        return engine_pool.rollout(PushT, self.constants, engine_state, actions)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        goal_pose = DEFAULT_GOAL_POSE if self._goal is None else self._goal[2:5]
        return paint(self.observe(), goal_pose, self.constants)

    def _numbers(self) -> tuple[float, ...]:
        agent, block = self._agent, self._block
        return (*agent.position, *block.position, block.angle % (2 * math.pi), *agent.velocity)

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
        engine_state = self.get_state()
        engine_state[5:7] = 0.0
        self.set_state(engine_state)


def build(constants: PushTConstants) -> tuple[pymunk.Space, pymunk.Body, pymunk.Body]:
    """A new engine with walls, agent and block; the order of adding decides in which order contacts are solved."""
    space = pymunk.Space()
    space.damping = 0.0 if constants.response == "quasi-static" else constants.inertia_keep
    walls = [pymunk.Segment(space.static_body, start, end, WALL_RADIUS_PX) for start, end in WALLS_PX.values()]
    agent = pymunk.Body(body_type=pymunk.Body.KINEMATIC)
    disc = pymunk.Circle(agent, constants.agent_radius)
    block, parts = build_block(constants)
    for shape in (*walls, disc, *parts):
        shape.friction = math.sqrt(constants.friction)  # a contact multiplies the values of its two shapes
    for part in parts:
        part.sensor = constants.block == "frozen"
    space.add(*walls, agent, disc, block, *parts)
    return space, agent, block


def build_block(constants: PushTConstants) -> tuple[pymunk.Body, list[pymunk.Shape]]:
    """The block and the convex shapes that it is made of."""
    radius = disc_radius(constants)
    if radius is not None:
        block = pymunk.Body(1.0, constants.moment * pymunk.moment_for_circle(1.0, 0.0, radius))
        return block, [pymunk.Circle(block, radius)]
    boxes = [[(float(x), float(y)) for x, y in box] for box in block_boxes(constants)]
    counted = [boxes[0]] * len(boxes) if constants.block_shape in COUNTED_AS_FIRST else boxes
    block = pymunk.Body(1.0, constants.moment * sum(pymunk.moment_for_poly(1.0, box) for box in counted))
    parts: list[pymunk.Shape] = [pymunk.Poly(block, box) for box in boxes]
    block.center_of_gravity = sum((part.center_of_gravity for part in parts), pymunk.Vec2d.zero()) / len(parts)
    return block, parts


def disc_radius(constants: PushTConstants) -> float | None:
    """The radius of a block that is a disc."""
    return ROUND_RADIUS * constants.block_scale if constants.block_shape == "disc" else None


def block_boxes(constants: PushTConstants) -> Float[np.ndarray, "parts corners 2"]:
    """The corners of the block's convex parts in its own frame."""
    if constants.block_shape in ROUND_CORNERS:
        angles = np.arange(ROUND_CORNERS[constants.block_shape]) * 2 * math.pi / ROUND_CORNERS[constants.block_shape]
        return ROUND_RADIUS * constants.block_scale * np.stack([np.cos(angles), np.sin(angles)], axis=-1)[None]
    corners = [((left, bottom), (right, bottom), (right, top), (left, top)) for left, top, right, bottom in BOXES[constants.block_shape]]
    return constants.block_scale * np.array(corners, dtype=np.float64)


def to_world(points: Float[np.ndarray, "*B 2"], pose: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "*B 2"]:
    """Points of the block's frame on the table, for a pose x, y, angle."""
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    return points @ np.array([[cos, sin], [-sin, cos]]) + np.asarray(pose[:2])


def gap_to_block(points: Float[np.ndarray, "*B 2"], pose: Float[np.ndarray, " 3"], constants: PushTConstants) -> Float[np.ndarray, "*B"]:
    """Distance of points on the table to the block, zero inside it."""
    cos, sin = math.cos(pose[2]), math.sin(pose[2])
    local = (np.asarray(points) - np.asarray(pose[:2])) @ np.array([[cos, -sin], [sin, cos]])
    boxes = block_boxes(constants)
    if constants.block_shape not in ROUND_CORNERS:
        middles, halves = boxes.mean(axis=1), np.ptp(boxes, axis=1) / 2
        outside = np.maximum(np.abs(local[..., None, :] - middles) - halves, 0.0)
        return np.linalg.norm(outside, axis=-1).min(axis=-1)
    starts, edges = boxes[0], np.roll(boxes[0], -1, axis=0) - boxes[0]
    away = local[..., None, :] - starts
    along = np.clip((away * edges).sum(axis=-1) / (edges**2).sum(axis=-1), 0.0, 1.0)
    inside = (edges[:, 0] * away[..., 1] - edges[:, 1] * away[..., 0] >= 0).all(axis=-1)
    return np.where(inside, 0.0, np.linalg.norm(away - along[..., None] * edges, axis=-1).min(axis=-1))


def sample_state(constants: PushTConstants, rng: np.random.Generator) -> Float[np.ndarray, " S"]:
    """A resting start: block anywhere within the walls, agent apart from it."""
    while True:
        agent = rng.uniform(50.0, 450.0, 2)
        pose = np.array([*rng.uniform(100.0, 400.0, 2), rng.uniform(0.0, 2 * math.pi)])
        corners = to_world(block_boxes(constants), pose)
        within = corners.min() > 10.0 and corners.max() < SIZE_PX - 10.0
        if within and gap_to_block(agent, pose, constants) > constants.agent_radius + 5.0:
            return np.array([*agent, *pose, 0.0, 0.0])


def paint(state: Float[np.ndarray, " S"], goal_pose: Float[np.ndarray, " 3"], constants: PushTConstants) -> UInt8[np.ndarray, "224 224 3"]:
    """White table, gray walls, the goal pose in green under the agent and the block."""
    canvas = np.full((SIZE_PX, SIZE_PX, 3), 255, dtype=np.uint8)
    boxes = block_boxes(constants)
    for corners in to_world(boxes, goal_pose):
        cv2.fillPoly(canvas, [_pixels(corners)], GOAL_COLOR)
    for start, end in WALLS_PX.values():
        cv2.polylines(canvas, [_pixels(np.array([start, end]))], False, WALL_COLOR, OUTLINE_PX)
    x, y = _pixels(state[0:2]).tolist()
    cv2.circle(canvas, (x, y), round(constants.agent_radius), AGENT_COLOR, cv2.FILLED)
    cv2.circle(canvas, (x, y), max(round(constants.agent_radius) - OUTLINE_PX, 0), _lighter(AGENT_COLOR), cv2.FILLED)
    for corners in to_world(boxes, state[2:5]):
        cv2.fillPoly(canvas, [_pixels(corners)], _lighter(BLOCK_COLOR))
        cv2.polylines(canvas, [_pixels(corners)], True, BLOCK_COLOR, OUTLINE_PX)
    return cv2.resize(canvas, (FRAME_SIZE_PX, FRAME_SIZE_PX))


def _pixels(points: np.ndarray) -> np.ndarray:
    return np.round(points).astype(np.int32)


def _lighter(color: tuple[int, int, int]) -> tuple[int, ...]:
    return tuple(min(int(LIGHTER * channel), 255) for channel in color)
