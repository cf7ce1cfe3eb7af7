"""Rigid contact in the plane: where shapes touch, and the least motion of bodies that lets none of them enter another.

A body is (x, y, angle), and its velocities behind them where it keeps its motion. A contact of it, in its own frame,
is: how deep they overlap (less than nothing where they do not touch), the normal outwards, the place, and the other's
speed along the normal and across it.

Where both can move it is a meeting: how deep two bodies overlap; for each of them, in its own frame, the normal from
the first to the second and the place; and how fast the overlap is undone.
"""

import numpy as np

from visualpatchworld.laws.constant import positive, signed, threshold

CENTER = signed("L", "centre of mass, in its own frame", -0.2, 0.2)
INERTIA = positive("L^2", "moment of inertia over mass", 0.00001, 0.1)
RECOVERY = positive("1/s", "how fast an overlap is undone", 0.01, 1000)
SLOP = positive("L", "overlap that is left alone", 0.000001, 0.05)
FRICTION = positive("", "friction coefficient of a contact", 0.01, 3)
PER_MOVE = signed("", "its move over the other's", -2, 2)
MASS = positive("", "mass, over that of the first", 0.01, 1000)
SWEEPS = 12  # what goes through one body to the next takes a few


def rotate(vector, angle, way=1.0):
    """The vector turned by an angle in radians; the other way, if that is -1."""
    c, s = np.cos(angle), way * np.sin(angle)  # not of the negative angle: a compiler computes both ways once
    return c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]


def touch_disc(body, disc, *, polygons, radius):
    """The contacts of a body of convex polygons with a disc."""
    x, y = rotate((disc[0] - body[0], disc[1] - body[1]), body[2], -1.0)
    u, v = rotate((disc[2], disc[3]), body[2], -1.0)
    gaps = [gap_to_polygon((x, y), corners) for corners in polygons]
    return [(radius - d, (nx, ny), (x - d * nx, y - d * ny), u * nx + v * ny, v * nx - u * ny) for d, (nx, ny) in gaps]


def touch_planes(contacts, body, *, hull, planes):
    """The contacts, and that of a body with half-planes, at the corner that is deepest inside one."""
    depth, nx, ny = -np.inf, 0.0, 0.0
    for plane_x, plane_y, offset in planes:
        ix, iy = rotate((plane_x, plane_y), body[2], -1.0)
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
    x, y = rotate((disc[0] - body[0], disc[1] - body[1]), body[2], -1.0)
    vx, vy = rotate((disc[2], disc[3]), body[2], -1.0)
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
    nx, ny = rotate((nx, ny), body[2], -1.0)
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
    return (*rotate((keep * body[3], keep * body[4]), body[2], -1.0), keep * body[5])


def move(body, motion, dt, *, center=CENTER):
    """The body after a physics step with this motion of its centre of mass, in its own frame."""
    angle = body[2] + dt * motion[2]
    x, y = rotate((center[0] + dt * motion[0], center[1] + dt * motion[1]), body[2])
    center_x, center_y = rotate(center, angle)
    return body[0] + x - center_x, body[1] + y - center_y, angle


def move_on(body, motion, undone, dt, *, center=CENTER):
    """The body after a physics step with a motion that it keeps and one that it does not."""
    vx, vy, spin = (kept + passing for kept, passing in zip(motion, undone, strict=True))
    angle, (x, y) = body[2] + dt * spin, rotate((center[0] + dt * vx, center[1] + dt * vy), body[2])
    center_x, center_y = rotate(center, angle)
    return body[0] + x - center_x, body[1] + y - center_y, angle, *rotate(motion[:2], body[2]), motion[2]


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


def meet(body, other, *, polygons, other_polygons):
    """The meetings of two bodies of convex polygons."""
    x, y, turn = from_frame(body, other)
    meetings = []
    for corners in polygons:
        for others in other_polygons:
            there = [(x + dx, y + dy) for dx, dy in (rotate(corner, turn) for corner in others)]
            for depth, normal, place, other_place in facing(corners, there):
                meetings.append((depth, normal, place, *to_frame((x, y, turn), normal, other_place)))
    return meetings


def meet_round(body, other, *, polygons, other_radius):
    """The meetings of a body of convex polygons with a round one."""
    x, y, turn = from_frame(body, other)
    meetings = []
    for corners in polygons:
        gap, (nx, ny) = gap_to_polygon((x, y), corners)
        other_place = (x - other_radius * nx, y - other_radius * ny)
        theirs = to_frame((x, y, turn), (nx, ny), other_place)
        meetings.append((other_radius - gap, (nx, ny), (x - gap * nx, y - gap * ny), *theirs))
    return meetings


def meet_when_round(body, other, *, radius, other_radius):
    """The meeting of two round bodies."""
    x, y, turn = from_frame(body, other)
    distance = np.sqrt(x * x + y * y + 1e-12)
    nx, ny = x / distance, y / distance
    other_place = (x - other_radius * nx, y - other_radius * ny)
    place = (radius * nx, radius * ny)
    return [(radius + other_radius - distance, (nx, ny), place, *to_frame((x, y, turn), (nx, ny), other_place))]


def from_frame(body, other):
    """Where the other is, and how it is turned, in the body's own frame."""
    return (*rotate((other[0] - body[0], other[1] - body[1]), body[2], -1.0), other[2] - body[2])


def to_frame(pose, normal, place):
    """A normal and a place in the frame of a body with this pose."""
    return rotate(normal, pose[2], -1.0), rotate((place[0] - pose[0], place[1] - pose[1]), pose[2], -1.0)


def facing(corners, others):
    """Where two convex polygons overlap least: depth, normal and place on either, at both ends of facing sides."""
    gap, nx, ny = -np.inf, 0.0, 0.0
    for sign, sides, points in ((1.0, sides_of(corners), others), (-1.0, sides_of(others), corners)):
        for (ax, ay), _, (sx, sy) in sides:
            apart = np.inf
            for x, y in points:
                apart = np.minimum(apart, sx * (x - ax) + sy * (y - ay))
            wider, gap = apart > gap, np.maximum(apart, gap)
            nx, ny = np.where(wider, sign * sx, nx), np.where(wider, sign * sy, ny)
    (ax, ay), (bx, by) = side_towards(corners, nx, ny)
    (cx, cy), (dx, dy) = side_towards(others, -nx, -ny)
    a, b, c, d = (nx * y - ny * x for x, y in ((ax, ay), (bx, by), (cx, cy), (dx, dy)))
    found = []
    for end in (np.maximum(a, d), np.minimum(b, c)):
        along, back = np.clip((end - a) / (b - a), 0.0, 1.0), np.clip((end - c) / (d - c), 0.0, 1.0)
        x, y = ax + along * (bx - ax), ay + along * (by - ay)
        other_x, other_y = cx + back * (dx - cx), cy + back * (dy - cy)
        found.append((nx * (x - other_x) + ny * (y - other_y), (nx, ny), (x, y), (other_x, other_y)))
    return found


def sides_of(corners):
    """Both ends of each side of a polygon, counter-clockwise, and the normal outwards."""
    sides = []
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        length = ((bx - ax) ** 2 + (by - ay) ** 2) ** 0.5
        sides.append(((ax, ay), (bx, by), ((by - ay) / length, (ax - bx) / length)))
    return sides


def side_towards(corners, nx, ny):
    """Both ends of the side of a convex polygon that looks most into a direction."""
    most, (ax, ay), (bx, by) = -np.inf, (0.0, 0.0), (0.0, 0.0)
    for start, end, (sx, sy) in sides_of(corners):
        better, most = nx * sx + ny * sy > most, np.maximum(nx * sx + ny * sy, most)
        ax, ay = np.where(better, start[0], ax), np.where(better, start[1], ay)
        bx, by = np.where(better, end[0], bx), np.where(better, end[1], by)
    return (ax, ay), (bx, by)


def with_undoing(meetings, *, recovery=RECOVERY, slop=SLOP):
    """Meetings with the speed at which their overlaps are undone."""
    return [(*meeting, -recovery * np.maximum(meeting[0] - slop, 0.0)) for meeting in meetings]


def without_undoing(meetings):
    """Meetings whose overlaps stay as they are."""
    return [(*meeting, 0.0) for meeting in meetings]


def push_all_smoothly(contacts, meetings, motions, *, mass=MASS, inertia=INERTIA, center=CENTER):
    """The motions of all bodies once every contact and meeting has pushed just enough, in sweeps over all of them."""
    return push_all(contacts, meetings, motions, (1.0, *mass), inertia, center, None)


def push_all_roughly(contacts, meetings, motions, *, mass=MASS, inertia=INERTIA, center=CENTER, friction=FRICTION):
    """As without friction, and each contact also drags along, up to its share of the push."""
    return push_all(contacts, meetings, motions, (1.0, *mass), inertia, center, friction)


def push_all(contacts, meetings, motions, mass, inertia, center, friction):
    """Sweeps over all contacts: each pushes its bodies until they do not approach, and rubs if there is friction."""
    pairs = []
    for i, touching in enumerate(contacts):
        pairs += [(depth, speed, slide, [(i, 1.0, normal, place)]) for depth, normal, place, speed, slide in touching]
    for i, j, met in meetings:
        for depth, normal, place, other_normal, other_place, speed in met:
            pairs.append((depth, speed, 0.0, [(i, 1.0, normal, place), (j, -1.0, other_normal, other_place)]))
    lines = []
    for depth, speed, slide, ends in pairs:
        for rubs in (False,) if friction is None else (False, True):
            arms, give = [], 0.0
            for i, sign, (nx, ny), (x, y) in ends:
                dx, dy = (-sign * ny, sign * nx) if rubs else (sign * nx, sign * ny)
                turn = (x - center[2 * i]) * dy - (y - center[2 * i + 1]) * dx
                arms.append((i, dx, dy, turn, 1.0 / mass[i], 1.0 / (mass[i] * inertia[i])))
                give = give + (1.0 + turn * turn / inertia[i]) / mass[i]
            lines.append((depth >= 0, slide if rubs else speed, rubs, arms, 1.0 / give))
    motions, pushes = [list(motion) for motion in motions], [0.0 * give for *_, give in lines]
    for _ in range(SWEEPS):
        motions, pushes = sweep(lines, motions, pushes, friction)
    return tuple(tuple(motion) for motion in motions)


def sweep(lines, motions, pushes, friction):
    """The motions and the pushes so far, once each contact has been looked at again."""
    motions, pushes = [list(motion) for motion in motions], list(pushes)
    for k, (touches, speed, rubs, arms, give) in enumerate(lines):
        nearing = -speed
        for i, dx, dy, turn, _, _ in arms:
            nearing = nearing + motions[i][0] * dx + motions[i][1] * dy + motions[i][2] * turn
        most = friction * pushes[k - 1] if rubs else np.inf
        push = np.where(touches, np.clip(pushes[k] + nearing * give, -most if rubs else 0.0, most), 0.0)
        change, pushes[k] = push - pushes[k], push
        for i, dx, dy, turn, per_mass, per_inertia in arms:
            motions[i][0] = motions[i][0] - change * per_mass * dx
            motions[i][1] = motions[i][1] - change * per_mass * dy
            motions[i][2] = motions[i][2] - change * per_inertia * turn
    return motions, pushes
