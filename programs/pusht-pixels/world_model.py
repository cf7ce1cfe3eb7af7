"""PushT: PD agent, quasi-static block, rigid smooth contact.

Form: PD+pushed+quasi-static+smooth; it explains 12 of 12 probes.
Validation error (median agent_px): 0.54 after 1, 0.56 after 5, 0.55 after 8, 0.55 after 12, 0.58 after 25 steps.
Validation error (median block_px): 0.00043 after 1, 0.2 after 5, 0.3 after 8, 0.4 after 12, 0.64 after 25 steps.
Validation error (median angle_rad): 4.8e-06 after 1, 0.00079 after 5, 0.002 after 8, 0.0028 after 12, 0.0047 after 25 steps.
Fitted to 50 episodes (sha256 a907f6af3621), seed 0, visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

STEP_SECONDS = 0.1001276  # s  +- 2e-05  duration of one step
SUBSTEPS = 10  # physics steps in one step
AGENT_REACH = 99.72016  # px  +- 0.3  distance to the target at full action
BLOCK_RECOVERY = 52.77027  # 1/s  +- 1e+01  how fast an overlap is undone
BLOCK_SLOP = 0.8985529  # px  +- 0.01  overlap that is left alone
BLOCK_INERTIA = 3034.913  # px^2  +- 0.8  moment of inertia over mass
BLOCK_CENTER_X = 0.4268718  # px  +- 0.008  centre of mass, in its own frame
BLOCK_CENTER_Y = 45.35998  # px  +- 0.007  centre of mass, in its own frame
AGENT_GAIN = 100.0275  # 1/s^2  +- 0.2  pull towards the target
AGENT_DAMPING = 19.92373  # 1/s  +- 0.03  loss of speed
BLOCK_PARTS = (((15.366109, 30.411359), (15.330249, 120.454174), (-15.228385, 120.253587), (-15.445765, 30.487693)), ((-60.229997, 30.282171), (-60.509126, -0.166944), (60.35139, -0.537742), (60.26011, 30.300137)))  # px  convex parts of the block, in its own frame  (from the scene graph)
AGENT_RADIUS = 14.780241  # px  radius of the agent  (from the scene graph)
BLOCK_HULL = ((-60.509126, -0.166944), (60.35139, -0.537742), (60.26011, 30.300137), (15.330249, 120.454174), (-15.228385, 120.253587), (-60.229997, 30.282171))  # px  corners of its convex hull  (from the scene graph)
WALLS = ((1.0, 0.0, 7.631574), (0.0, 1.0, 7.685106), (-1.0, 0.0, -503.445125), (0.0, -1.0, -503.535783))  # px  normal into the room and offset of each wall  (from the scene graph)


class State(NamedTuple):
    agent_x: float  # px
    agent_y: float
    block_x: float
    block_y: float
    block_angle: float  # rad
    agent_vx: float  # px/s
    agent_vy: float


def aim(body, action, reach):
    """The target that an action sets; it stays there throughout the step."""
    return body[0] + reach * action[0], body[1] + reach * action[1]

def rotate_back(vector, angle):
    """The vector turned by an angle in radians the other way."""
    c, s = np.cos(angle), np.sin(angle)  # of an angle that others have, too: a compiler computes them once
    return (c * vector[0] + s * vector[1], c * vector[1] - s * vector[0])

def gap_to_polygon(point, corners):
    """Distance from a point to a convex polygon (negative inside) and the unit normal from the polygon to the point."""
    (x, y), depth, nx, ny, low, high = point, -np.inf, 0.0, 0.0, 0.0, 0.0
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):  # counter-clockwise
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        ux, uy = (bx - ax) / length, (by - ay) / length
        edge_depth = uy * (x - ax) - ux * (y - ay)
        deeper, depth = edge_depth > depth, np.maximum(depth, edge_depth)
        nx, ny = np.where(deeper, uy, nx), np.where(deeper, -ux, ny)
        low, high = np.where(deeper, ux * ax + uy * ay, low), np.where(deeper, ux * bx + uy * by, high)
    along, outside = nx * y - ny * x, depth > 0  # the edge that the point is farthest out of holds the nearest place
    out, beyond = np.where(outside, depth, 1.0), np.where(outside, along - np.clip(along, low, high), 0.0)
    distance = np.sqrt(out * out + beyond * beyond)
    normal = (out * nx - beyond * ny) / distance, (out * ny + beyond * nx) / distance
    return np.where(outside, distance, depth), normal

def touch_disc(body, disc, polygons, radius):
    """The contacts of a body of convex polygons with a disc."""
    x, y = rotate_back((disc[0] - body[0], disc[1] - body[1]), body[2])
    u, v = rotate_back((disc[2], disc[3]), body[2])
    gaps = [gap_to_polygon((x, y), corners) for corners in polygons]
    return [(radius - d, (nx, ny), (x - d * nx, y - d * ny), u * nx + v * ny, v * nx - u * ny) for d, (nx, ny) in gaps]

def touch_planes(contacts, body, hull, planes):
    """The contacts, and that of a body with half-planes, at the corner that is deepest inside one."""
    c, s = np.cos(body[2]), np.sin(body[2])
    depth, nx, ny = -np.inf, 0.0, 0.0
    for plane_x, plane_y, offset in planes:
        ix, iy = c * plane_x + s * plane_y, c * plane_y - s * plane_x
        lowest = np.inf
        for corner in hull:
            lowest = np.minimum(lowest, ix * corner[0] + iy * corner[1])
        overlap = offset - plane_x * body[0] - plane_y * body[1] - lowest
        deeper, depth = overlap > depth, np.maximum(overlap, depth)
        nx, ny = np.where(deeper, -ix, nx), np.where(deeper, -iy, ny)
    farthest, x, y = -np.inf, 0.0, 0.0
    for corner in hull:
        far = nx * corner[0] + ny * corner[1]
        farther, farthest = far > farthest, np.maximum(far, farthest)
        x, y = np.where(farther, corner[0], x), np.where(farther, corner[1], y)
    return [*contacts, (depth, (nx, ny), (x, y), 0.0, 0.0)]

def yielding(contacts, recovery, slop):
    """Contacts as a body without motion of its own feels them: overlaps are undone even while the other leaves."""
    return [(d, n, p, np.where(d > slop, np.minimum(v, 0) - recovery * (d - slop), v), s) for d, n, p, v, s in contacts]

def push_smoothly(contacts, motion, inertia, center):
    """The body's motion once every contact has pushed it just enough, in sweeps over all of them."""
    vx, vy, spin = motion
    lines = [(nx, ny, (x - center[0]) * ny - (y - center[1]) * nx) for _, (nx, ny), (x, y), _, _ in contacts]
    alone, shares, pushes = [], [], [0.0 for _ in contacts]  # each push if alone, what others spare it, what it is
    for (depth, _, _, speed, _), (nx, ny, turn) in zip(contacts, lines, strict=True):
        give = np.where(depth >= 0, 1.0 / (1.0 + turn * turn / inertia), 0.0)
        alone.append((vx * nx + vy * ny + spin * turn - speed) * give)
        shares.append([(nx * mx + ny * my + turn * other / inertia) * give for mx, my, other in lines])
    for _ in range(10):
        for i, share in enumerate(shares):
            pushes[i] = np.maximum(alone[i] - sum(share[j] * push for j, push in enumerate(pushes) if j != i), 0.0)
    for push, (nx, ny, turn) in zip(pushes, lines, strict=True):
        vx, vy, spin = vx - push * nx, vy - push * ny, spin - push * turn / inertia
    return vx, vy, spin

def rotate(vector, angle):
    """The vector turned by an angle in radians."""
    c, s = np.cos(angle), np.sin(angle)
    return (c * vector[0] - s * vector[1], s * vector[0] + c * vector[1])

def move(body, motion, dt, center):
    """The body after a physics step with this motion of its centre of mass, in its own frame."""
    angle = body[2] + dt * motion[2]
    x, y = rotate((center[0] + dt * motion[0], center[1] + dt * motion[1]), body[2])
    center_x, center_y = rotate(center, angle)
    return body[0] + x - center_x, body[1] + y - center_y, angle

def pull(body, target, dt, gain, damping):
    """A damped spring pulls the body to its target; its new speed carries it."""
    x, y, vx, vy = body
    vx = vx + dt * (gain * (target[0] - x) - damping * vx)
    vy = vy + dt * (gain * (target[1] - y) - damping * vy)
    return x + dt * vx, y + dt * vy, vx, vy


def step(state, action):
    """PD agent, quasi-static block, rigid smooth contact."""
    agent = (state.agent_x, state.agent_y, state.agent_vx, state.agent_vy)
    block = (state.block_x, state.block_y, state.block_angle)
    target = aim(agent, action, reach=AGENT_REACH)
    dt = STEP_SECONDS / SUBSTEPS
    for _ in range(SUBSTEPS):
        contacts = touch_disc(block, agent, polygons=BLOCK_PARTS, radius=AGENT_RADIUS)
        contacts = touch_planes(contacts, block, hull=BLOCK_HULL, planes=WALLS)
        contacts = yielding(contacts, recovery=BLOCK_RECOVERY, slop=BLOCK_SLOP)
        motion = push_smoothly(
            contacts, (0.0, 0.0, 0.0), inertia=BLOCK_INERTIA, center=(BLOCK_CENTER_X, BLOCK_CENTER_Y),
        )
        block = move(block, motion, dt, center=(BLOCK_CENTER_X, BLOCK_CENTER_Y))
        agent = pull(agent, target, dt, gain=AGENT_GAIN, damping=AGENT_DAMPING)
    agent_x, agent_y, agent_vx, agent_vy = agent
    block_x, block_y, block_angle = block
    return State(agent_x, agent_y, block_x, block_y, block_angle, agent_vx, agent_vy)
