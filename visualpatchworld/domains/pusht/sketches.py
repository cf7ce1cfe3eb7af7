"""What PushT's dynamics may be: how the agent follows its target, whether the block is pushed, and whether it keeps its motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull

from visualpatchworld.laws.constant import choice, from_scene, positive, signed, threshold
from visualpatchworld.laws.contact import deepest_in_walls, gap_to_polygon
from visualpatchworld.laws.family import Family, Role, Sketch
from visualpatchworld.laws.vector import rotate
from visualpatchworld.scene.schema import SceneGraph

REACH = positive("px", "distance from the agent to its target at full action", 1, 1000)
GAIN = positive("1/s^2", "pull towards the target", 1, 1000)
DAMPING = positive("1/s", "loss of agent speed", 0.01, 100)
STEP_SECONDS = positive("s", "duration of one step", 0.001, 1)
SUBSTEPS = choice("", "physics steps in one step", 1, 2, 3, 5, 8, 10, 15, 20)
INERTIA = positive("px^2", "block's moment of inertia over its mass", 10, 100000)
CENTER_X = signed("px", "block's centre of mass, in its own frame", -200, 200)
CENTER_Y = signed("px", "", -200, 200)
RECOVERY = positive("1/s", "how fast an overlap is undone", 0.01, 1000)
SLOP = positive("px", "overlap that is left alone", 0.001, 50)
FRICTION = positive("", "friction coefficient of a contact", 0.01, 3)
DRAG = positive("1/s", "loss of a free block's speed", 0.01, 100)
# Of the ablation's forms: everything is a fixed share of the action and the agent's velocity.
AGENT_PER_ACTION = signed("px", "agent's move at full action", -300, 300)
AGENT_PER_VELOCITY = signed("s", "agent's move per velocity", -1, 1)
VELOCITY_PER_ACTION = signed("px/s", "agent's new velocity at full action", -3000, 3000)
VELOCITY_KEPT = signed("", "share of its velocity the agent keeps", -1, 1)
BLOCK_PER_MOVE = signed("", "block's move over the agent's", -2, 2)
TURN_PER_MOVE = signed("rad/px", "block's turn over the agent's move and its distance from the middle", -1, 1)
GATE = threshold("px", "distance from the block's middle within which the agent moves it", 0, 500)


def _counter_clockwise(polygon):
    area = sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(polygon, polygon[1:] + polygon[:1], strict=True))
    return polygon if area > 0 else polygon[::-1]


def _polygons(graph: SceneGraph):
    return tuple(_counter_clockwise(tuple(polygon)) for polygon in graph["block"].geometry.polygons or ())


def _hull(graph: SceneGraph):
    corners = np.array([corner for polygon in _polygons(graph) for corner in polygon])
    return tuple(map(tuple, corners[ConvexHull(corners).vertices].tolist()))


def _walls(graph: SceneGraph):
    """Each wall as (normal into the room, offset): a point is free while normal . point > offset."""
    walls = [item for item in graph.objects if item.kind == "wall" and item.geometry.segment is not None]
    places = [np.array([wall.pose.x, wall.pose.y]) for wall in walls]
    middle = np.mean(places, axis=0)
    planes = []
    for wall, place in zip(walls, places, strict=True):
        start, end = np.array(wall.geometry.segment)
        normal = np.array([start[1] - end[1], end[0] - start[0]]) / np.linalg.norm(end - start)
        normal = normal * np.sign(normal @ (middle - place))
        planes.append((*(normal + 0.0), normal @ (place + start) + (wall.geometry.radius or 0.0)))
    return tuple(planes)


BLOCK = from_scene("px", "block's convex parts in its own frame", _polygons)
MIDDLE = from_scene("px", "middle of the block's corners", lambda graph: tuple(np.mean(_hull(graph), axis=0)))
HULL = from_scene("px", "corners of the block's convex hull", _hull)
RADIUS = from_scene("px", "agent's radius", lambda graph: graph["agent"].geometry.radius)
WALLS = from_scene("px", "normal into the room and offset of each wall", _walls)


push_block = Role("the block after one physics step")
push_apart = Role("the block's motion once its contacts have pushed it")
move_with_agent = Role("the block's move and turn when the agent moves, in the ablation's forms")


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float  # px, the block's own origin
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float


class InertialState(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float  # px, the block's own origin
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float
    block_vx: float = 0.0  # px/s, of the centre of mass; not observed
    block_vy: float = 0.0
    block_spin: float = 0.0  # rad/s


def pd_step(state, action):
    """One step: the agent is pulled towards a target that stays where the action set it."""
    target = (state.agent_x + REACH * action[0], state.agent_y + REACH * action[1])
    for _ in range(SUBSTEPS):
        state = drive_agent(push_block(state), target)
    return state


def drive_agent(state, target):
    """A damped spring pulls the agent; its new speed carries it."""
    dt = STEP_SECONDS / SUBSTEPS
    vx = state.agent_vx + dt * (GAIN * (target[0] - state.agent_x) - DAMPING * state.agent_vx)
    vy = state.agent_vy + dt * (GAIN * (target[1] - state.agent_y) - DAMPING * state.agent_vy)
    return state._replace(agent_x=state.agent_x + dt * vx, agent_y=state.agent_y + dt * vy, agent_vx=vx, agent_vy=vy)


def direct_step(state, action):
    """One step: the agent goes evenly to where the action points, and rests there; the block follows once the agent has moved."""
    pushed = state
    for _ in range(SUBSTEPS):
        state = carry_agent(pushed, action)
        pushed = push_block(state)
    return state._replace(agent_vx=0.0, agent_vy=0.0)


def carry_agent(state, action):
    """The agent moves at the speed that takes it to its target within the step."""
    x, y = state.agent_x + REACH * action[0] / SUBSTEPS, state.agent_y + REACH * action[1] / SUBSTEPS
    return state._replace(agent_x=x, agent_y=y, agent_vx=REACH * action[0] / STEP_SECONDS, agent_vy=REACH * action[1] / STEP_SECONDS)


def frozen_block(state):
    """The block stays where it is, whatever the agent does."""
    return state


def quasi_static_block(state):
    """The block moves only while it is pushed, just enough not to be entered; an overlap is undone even while the agent draws back."""
    contacts = []
    for touches, normal, lever, speed, slide, undo in touching(state):
        contacts.append((touches, normal, lever, np.where(undo < 0, np.minimum(speed, 0.0) + undo, speed), slide))
    return move_block(state, push_apart(contacts, (0.0, 0.0, 0.0)))


def inertial_block(state):
    """The block is pushed, and keeps its motion for a while afterwards; undoing an overlap gives it none."""
    contacts = touching(state)
    keep = np.exp(-DRAG * STEP_SECONDS / SUBSTEPS)
    vx, vy = rotate((keep * state.block_vx, keep * state.block_vy), -state.block_angle)
    motion = push_apart([contact[:5] for contact in contacts], (vx, vy, keep * state.block_spin))
    undone = push_apart([(*contact[:3], contact[5], 0.0) for contact in contacts], (0.0, 0.0, 0.0))
    vx, vy = rotate(motion[:2], state.block_angle)
    state = move_block(state, (motion[0] + undone[0], motion[1] + undone[1], motion[2] + undone[2]))
    return state._replace(block_vx=vx, block_vy=vy, block_spin=motion[2])


def touching(state):
    """The block's contacts, in its frame: do they touch, the normal outwards, the lever, speeds along both, what undoes an overlap."""
    agent = rotate((state.agent_x - state.block_x, state.agent_y - state.block_y), -state.block_angle)
    vx, vy = rotate((state.agent_vx, state.agent_vy), -state.block_angle)
    contacts = []
    for corners in BLOCK:
        gap, (nx, ny) = gap_to_polygon(agent, corners)
        lever = (agent[0] - gap * nx - CENTER_X, agent[1] - gap * ny - CENTER_Y)
        undo = -RECOVERY * np.maximum(RADIUS - gap - SLOP, 0.0)
        contacts.append((gap <= RADIUS, (nx, ny), lever, vx * nx + vy * ny, vy * nx - vx * ny, undo))
    overlap, (nx, ny), corner = deepest_in_walls(HULL, (state.block_x, state.block_y), state.block_angle, WALLS)
    lever, undo = (corner[0] - CENTER_X, corner[1] - CENTER_Y), -RECOVERY * np.maximum(overlap - SLOP, 0.0)
    return [*contacts, (overlap >= 0, (-nx, -ny), lever, 0.0, 0.0, undo)]


def move_block(state, motion):
    """The block after a physics step with this motion of its centre of mass."""
    dt = STEP_SECONDS / SUBSTEPS
    angle = state.block_angle + dt * motion[2]
    shift = rotate((CENTER_X + dt * motion[0], CENTER_Y + dt * motion[1]), state.block_angle)
    center = rotate((CENTER_X, CENTER_Y), angle)
    return state._replace(block_x=state.block_x + shift[0] - center[0], block_y=state.block_y + shift[1] - center[1], block_angle=angle)


def smooth_contact(contacts, motion):
    """The block's motion once every contact has pushed it just enough, in a few sweeps over all of them."""
    vx, vy, spin = motion
    turns = [lever[0] * normal[1] - lever[1] * normal[0] for _, normal, lever, _, _ in contacts]
    gives = [1.0 / (1.0 + turn * turn / INERTIA) for turn in turns]
    pushes = [0.0 for _ in contacts]
    for _ in range(4):
        for i, (touches, (nx, ny), _, speed, _) in enumerate(contacts):
            closing = vx * nx + vy * ny + spin * turns[i] - speed
            push = np.where(touches, np.maximum(pushes[i] + closing * gives[i], 0.0), 0.0)
            change, pushes[i] = push - pushes[i], push
            vx, vy, spin = vx - change * nx, vy - change * ny, spin - change * turns[i] / INERTIA
    return vx, vy, spin


def rough_contact(contacts, motion):
    """As without friction, and each contact also drags the block along, up to its share of the push."""
    vx, vy, spin = motion
    turns = [lever[0] * normal[1] - lever[1] * normal[0] for _, normal, lever, _, _ in contacts]
    pushes, drags = [0.0 for _ in contacts], [0.0 for _ in contacts]
    for _ in range(4):
        for i, (touches, (nx, ny), lever, speed, slide) in enumerate(contacts):
            closing = vx * nx + vy * ny + spin * turns[i] - speed
            push = np.where(touches, np.maximum(pushes[i] + closing / (1.0 + turns[i] ** 2 / INERTIA), 0.0), 0.0)
            change, pushes[i] = push - pushes[i], push
            vx, vy, spin = vx - change * nx, vy - change * ny, spin - change * turns[i] / INERTIA
            arm = lever[0] * nx + lever[1] * ny
            slipping = vy * nx - vx * ny + spin * arm - slide
            drag = np.clip(drags[i] + slipping / (1.0 + arm**2 / INERTIA), -FRICTION * push, FRICTION * push)
            change, drags[i] = drag - drags[i], drag
            vx, vy, spin = vx + change * ny, vy - change * nx, spin - change * arm / INERTIA
    return vx, vy, spin


def template_step(state, action):
    """One step in which all that moves does so in fixed proportion."""
    dx = AGENT_PER_ACTION * action[0] + AGENT_PER_VELOCITY * state.agent_vx
    dy = AGENT_PER_ACTION * action[1] + AGENT_PER_VELOCITY * state.agent_vy
    block_dx, block_dy, turn = move_with_agent(state, dx, dy)
    return State(
        agent_x=state.agent_x + dx,
        agent_y=state.agent_y + dy,
        block_x=state.block_x + block_dx,
        block_y=state.block_y + block_dy,
        block_angle=state.block_angle + turn,
        agent_vx=VELOCITY_PER_ACTION * action[0] + VELOCITY_KEPT * state.agent_vx,
        agent_vy=VELOCITY_PER_ACTION * action[1] + VELOCITY_KEPT * state.agent_vy,
    )


def always_with_agent(state, dx, dy):
    """The block moves with the agent, wherever that is."""
    return BLOCK_PER_MOVE * dx, BLOCK_PER_MOVE * dy, 0.0


def near_agent_only(state, dx, dy):
    """The block moves and turns with the agent while that is near its middle."""
    middle = rotate(MIDDLE, state.block_angle)
    x, y = state.agent_x - state.block_x - middle[0], state.agent_y - state.block_y - middle[1]
    near = np.where(x * x + y * y < GATE * GATE, 1.0, 0.0)
    return near * BLOCK_PER_MOVE * dx, near * BLOCK_PER_MOVE * dy, near * TURN_PER_MOVE * (x * dy - y * dx) / GATE


STEPS = {"PD": pd_step, "direct": direct_step}
RESPONSES = {"quasi-static": quasi_static_block, "inertial": inertial_block}
CONTACTS = {"smooth": smooth_contact, "rough": rough_contact}


def build(choices):
    """The sketch of one combination; a frozen block has neither response nor contact."""
    roles = {"step": STEPS[choices["drive"]]}
    if choices["block"] == "frozen":
        return Sketch(choices, f"PushT: {choices['drive']} agent, frozen block.", State, {**roles, "push_block": frozen_block})
    roles |= {"push_block": RESPONSES[choices["response"]], "push_apart": CONTACTS[choices["contact"]]}
    title = f"PushT: {choices['drive']} agent, {choices['response']} block, rigid {choices['contact']} contact."
    return Sketch(choices, title, InertialState if choices["response"] == "inertial" else State, roles)


FAMILY = Family(
    axes={
        "drive": ("direct", "PD"),
        "block": ("frozen", "pushed"),
        "response": ("quasi-static", "inertial"),
        "contact": ("smooth", "rough"),
    },
    build=build,
    extra=(
        Sketch({"form": "linear"}, "PushT: linear template.", State, {"step": template_step, "move_with_agent": always_with_agent}),
        Sketch({"form": "collision-gated"}, "PushT: collision gate.", State, {"step": template_step, "move_with_agent": near_agent_only}),
    ),
)
