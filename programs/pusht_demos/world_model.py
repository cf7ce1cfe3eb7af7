"""PushT: PD agent, quasi-static block, rigid smooth contact.

Form: PD+pushed+quasi-static+smooth; it explains 12 of 12 probes.
Held-out error (median agent_px): 1e-07 after 1, 3.1e-07 after 5, 4.1e-07 after 8, 5.6e-07 after 12, 9.3e-07 after 25 steps.
Held-out error (median block_px): 1.1e-10 after 1, 1.2e-08 after 5, 4.2e-08 after 8, 9.8e-08 after 12, 4.1e-07 after 25 steps.
Held-out error (median angle_rad): 6.8e-13 after 1, 2.1e-10 after 5, 5.2e-10 after 8, 9.5e-10 after 12, 2.9e-09 after 25 steps.
Fitted to 120 episodes (sha256 647f388b9e9b), seed 0, visualpatchworld 0.1.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

REACH = 100.0  # px  +- 1e-06  distance from the agent to its target at full action
GAIN = 100.0  # 1/s^2  +- 1e-06  pull towards the target
DAMPING = 20.0  # 1/s  +- 9e-08  loss of agent speed
STEP_SECONDS = 0.1  # s  +- 1e-10  duration of one step
SUBSTEPS = 10  # physics steps in one step
INERTIA = 3000.0  # px^2  +- 8e-07  block's moment of inertia over its mass
CENTER_X = -1.433406e-08  # px  +- 1e-08  block's centre of mass, in its own frame
CENTER_Y = 45.0  # px  +- 2e-08
RECOVERY = 6.125953  # 1/s  +- 7e-07  how fast an overlap is undone
SLOP = 0.09999959  # px  +- 2e-08  overlap that is left alone
BLOCK = (((-60.0, 0.0), (60.0, 0.0), (60.0, 30.0), (-60.0, 30.0)), ((-15.0, 30.0), (15.0, 30.0), (15.0, 120.0), (-15.0, 120.0)))  # px  block's convex parts in its own frame  (from the scene graph)
HULL = ((-60.0, 0.0), (60.0, 0.0), (60.0, 30.0), (15.0, 120.0), (-15.0, 120.0), (-60.0, 30.0))  # px  corners of the block's convex hull  (from the scene graph)
RADIUS = 15.0  # px  agent's radius  (from the scene graph)
WALLS = ((1.0, 0.0, 7.0), (0.0, 1.0, 7.0), (-1.0, 0.0, -504.0), (0.0, -1.0, -504.0))  # px  normal into the room and offset of each wall  (from the scene graph)


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float  # px, the block's own origin
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float


def drive_agent(state, target):
    """A damped spring pulls the agent; its new speed carries it."""
    dt = STEP_SECONDS / SUBSTEPS
    vx = state.agent_vx + dt * (GAIN * (target[0] - state.agent_x) - DAMPING * state.agent_vx)
    vy = state.agent_vy + dt * (GAIN * (target[1] - state.agent_y) - DAMPING * state.agent_vy)
    return state._replace(agent_x=state.agent_x + dt * vx, agent_y=state.agent_y + dt * vy, agent_vx=vx, agent_vy=vy)


def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])


def deepest_in_walls(corners, position, angle, walls):
    """The corner of a body deepest inside a wall: the overlap, the wall's normal and the corner in the body's frame."""
    c, s = np.cos(angle), np.sin(angle)
    overlap, normal, deepest = -np.inf, (0.0, 0.0), (0.0, 0.0)
    for wall_x, wall_y, offset in walls:
        nx, ny = c * wall_x + s * wall_y, c * wall_y - s * wall_x
        free = offset - wall_x * position[0] - wall_y * position[1]
        depth, corner = -np.inf, (0.0, 0.0)
        for x, y in corners:
            corner_depth = free - nx * x - ny * y
            deeper = corner_depth > depth
            depth, corner = np.maximum(depth, corner_depth), (np.where(deeper, x, corner[0]), np.where(deeper, y, corner[1]))
        deeper = depth > overlap
        overlap, normal = np.maximum(overlap, depth), (np.where(deeper, nx, normal[0]), np.where(deeper, ny, normal[1]))
        deepest = (np.where(deeper, corner[0], deepest[0]), np.where(deeper, corner[1], deepest[1]))
    return overlap, normal, deepest


def gap_to_polygon(point, corners):
    """Distance from a point to a convex polygon (negative inside) and the unit normal from the polygon to the point."""
    square, near, depth, out = np.inf, (0.0, 0.0), -np.inf, (0.0, 0.0)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):  # counter-clockwise
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        ux, uy = (bx - ax) / length, (by - ay) / length
        x, y = point[0] - ax, point[1] - ay
        edge_depth = uy * x - ux * y
        along = np.clip(ux * x + uy * y, 0.0, length)
        x, y = x - along * ux, y - along * uy
        nearer, deeper = x * x + y * y < square, edge_depth > depth
        square, near = np.minimum(square, x * x + y * y), (np.where(nearer, x, near[0]), np.where(nearer, y, near[1]))
        depth, out = np.maximum(depth, edge_depth), (np.where(deeper, uy, out[0]), np.where(deeper, -ux, out[1]))
    outside = depth > 0
    distance = np.sqrt(np.where(outside, square, 1.0))
    normal = (np.where(outside, near[0] / distance, out[0]), np.where(outside, near[1] / distance, out[1]))
    return np.where(outside, distance, depth), normal


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


def push_apart(contacts, motion):
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


def push_block(state):
    """The block moves only while it is pushed, just enough not to be entered; an overlap is undone even while the agent draws back."""
    contacts = []
    for touches, normal, lever, speed, slide, undo in touching(state):
        contacts.append((touches, normal, lever, np.where(undo < 0, np.minimum(speed, 0.0) + undo, speed), slide))
    return move_block(state, push_apart(contacts, (0.0, 0.0, 0.0)))


def step(state, action):
    """One step: the agent is pulled towards a target that stays where the action set it."""
    target = (state.agent_x + REACH * action[0], state.agent_y + REACH * action[1])
    for _ in range(SUBSTEPS):
        state = drive_agent(push_block(state), target)
    return state
