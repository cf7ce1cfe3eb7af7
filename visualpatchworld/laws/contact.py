"""Rigid contact in the plane: where shapes touch, and the least motion of a body that lets none of them enter another.

A body is (x, y, angle), and its velocities behind them where it keeps its motion. A contact of it, in its own frame,
is: how deep they overlap (less than nothing where they do not touch), the normal outwards, the place, and the other's
speed along the normal and across it.
"""

import numpy as np

from visualpatchworld.laws.constant import positive, signed, threshold
from visualpatchworld.laws.vector import rotate, rotate_back

CENTER = signed("L", "centre of mass, in its own frame", -0.2, 0.2)
INERTIA = positive("L^2", "moment of inertia over mass", 0.00001, 0.1)
RECOVERY = positive("1/s", "how fast an overlap is undone", 0.01, 1000)
SLOP = positive("L", "overlap that is left alone", 0.000001, 0.05)
FRICTION = positive("", "friction coefficient of a contact", 0.01, 3)
PER_MOVE = signed("", "its move over the other's", -2, 2)


def touch_disc(body, disc, *, polygons, radius):
    """The contacts of a body of convex polygons with a disc."""
    x, y = rotate_back((disc[0] - body[0], disc[1] - body[1]), body[2])
    u, v = rotate_back((disc[2], disc[3]), body[2])
    gaps = [gap_to_polygon((x, y), corners) for corners in polygons]
    return [(radius - d, (nx, ny), (x - d * nx, y - d * ny), u * nx + v * ny, v * nx - u * ny) for d, (nx, ny) in gaps]


def touch_planes(contacts, body, *, hull, planes):
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


def touch_disc_when_round(body, disc, *, own_radius, radius):
    """The contact of a round body with a disc."""
    x, y = rotate_back((disc[0] - body[0], disc[1] - body[1]), body[2])
    vx, vy = rotate_back((disc[2], disc[3]), body[2])
    distance = np.sqrt(x * x + y * y + 1e-12)
    nx, ny = x / distance, y / distance
    place = (own_radius * nx, own_radius * ny)
    return [(own_radius + radius - distance, (nx, ny), place, vx * nx + vy * ny, vy * nx - vx * ny)]


def touch_planes_when_round(contacts, body, *, own_radius, planes):
    """The contacts, and that of a round body with half-planes, where it is deepest inside one."""
    depth, (nx, ny) = -np.inf, (0.0, 0.0)
    for plane_x, plane_y, offset in planes:
        overlap = offset + own_radius - plane_x * body[0] - plane_y * body[1]
        deeper, depth = overlap > depth, np.maximum(overlap, depth)
        nx, ny = np.where(deeper, -plane_x, nx), np.where(deeper, -plane_y, ny)
    nx, ny = rotate_back((nx, ny), body[2])
    return [*contacts, (depth, (nx, ny), (own_radius * nx, own_radius * ny), 0.0, 0.0)]


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


def yielding(contacts, *, recovery=RECOVERY, slop=SLOP):
    """Contacts as a body without motion of its own feels them: overlaps are undone even while the other leaves."""
    return [(d, n, p, np.where(d > slop, np.minimum(v, 0) - recovery * (d - slop), v), s) for d, n, p, v, s in contacts]


def undoing(contacts, *, recovery=RECOVERY, slop=SLOP):
    """Contacts that only undo overlaps."""
    return [(depth, *where, -recovery * np.maximum(depth - slop, 0.0), 0.0) for depth, *where, _, _ in contacts]


def push_smoothly(contacts, motion, *, inertia=INERTIA, center=CENTER):
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


def push_roughly(contacts, motion, *, inertia=INERTIA, center=CENTER, friction=FRICTION):
    """As without friction, and each contact also drags the body along, up to its share of the push."""
    (vx, vy, spin), pushes = motion, [[0.0, 0.0] for _ in contacts]
    for _ in range(4):
        for push, (depth, (nx, ny), (x, y), speed, slide) in zip(pushes, contacts, strict=True):
            for i, (dx, dy, other) in enumerate(((nx, ny, speed), (-ny, nx, slide))):  # along the normal, then across
                turn = (x - center[0]) * dy - (y - center[1]) * dx
                total = push[i] + (vx * dx + vy * dy + spin * turn - other) / (1.0 + turn * turn / inertia)
                most = friction * push[0] if i else np.inf
                total = np.where(depth >= 0, np.clip(total, -most if i else 0.0, most), 0.0)
                change, push[i] = total - push[i], total
                vx, vy, spin = vx - change * dx, vy - change * dy, spin - change * turn / inertia
    return vx, vy, spin


def coast(body, dt, *, drag=positive("1/s", "loss of its speed when it is free", 0.01, 100)):
    """The motion that a body keeps, in its own frame."""
    keep = np.exp(-drag * dt)
    return (*rotate_back((keep * body[3], keep * body[4]), body[2]), keep * body[5])


def move(body, motion, dt, *, center=CENTER):
    """The body after a physics step with this motion of its centre of mass, in its own frame."""
    angle = body[2] + dt * motion[2]
    x, y = rotate((center[0] + dt * motion[0], center[1] + dt * motion[1]), body[2])
    center_x, center_y = rotate(center, angle)
    return body[0] + x - center_x, body[1] + y - center_y, angle


def move_on(body, motion, undone, dt, *, center=CENTER):
    """The body after a physics step with a motion that it keeps and one that it does not."""
    both = tuple(kept + passing for kept, passing in zip(motion, undone, strict=True))
    return (*move(body, both, dt, center=center), *rotate(motion[:2], body[2]), motion[2])


def follow(body, before, after, *, per_move=PER_MOVE):
    """The body moves with another, wherever that is."""
    return body[0] + per_move * (after[0] - before[0]), body[1] + per_move * (after[1] - before[1]), body[2]


def follow_when_near(
    body,
    before,
    after,
    *,
    middle,
    per_move=PER_MOVE,
    turn_per_move=signed("rad/L", "its turn over the other's move and its distance from the middle", -1000, 1000),
    gate=threshold("L", "distance from the middle within which the other moves it", 0, 0.5),
):
    """The body moves and turns with another while that is near its middle."""
    x, y = rotate(middle, body[2])
    x, y = before[0] - body[0] - x, before[1] - body[1] - y
    near = np.where(x * x + y * y < gate * gate, 1.0, 0.0)
    dx, dy = near * (after[0] - before[0]), near * (after[1] - before[1])
    return body[0] + per_move * dx, body[1] + per_move * dy, body[2] + turn_per_move * (x * dy - y * dx) / gate
