"""Rigid contact of bodies that can all move: where two of them meet, and their motions once every contact has pushed.

A meeting is: how deep two bodies overlap (less than nothing where they do not touch); for each of them, in its own
frame, the normal from the first to the second and the place; and how fast the overlap is undone. Contacts with what
does not yield are as in `contact`.
"""

import numpy as np

from visualpatchworld.laws.constant import positive
from visualpatchworld.laws.contact import CENTER, FRICTION, INERTIA, RECOVERY, SLOP, gap_to_polygon
from visualpatchworld.laws.vector import rotate

MASS = positive("", "mass, over that of the first", 0.01, 1000)
SWEEPS = 12  # what goes through one body to the next takes a few


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
    return (*rotate((other[0] - body[0], other[1] - body[1]), -body[2]), other[2] - body[2])


def to_frame(pose, normal, place):
    """A normal and a place in the frame of a body with this pose."""
    return rotate(normal, -pose[2]), rotate((place[0] - pose[0], place[1] - pose[1]), -pose[2])


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
