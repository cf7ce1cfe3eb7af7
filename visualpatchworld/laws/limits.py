"""What ends motion: the stop of a hinge, an arm that is only so long, the border of a room and walls with doors."""

import numpy as np

from visualpatchworld.laws.chain import solve
from visualpatchworld.laws.constant import positive, signed, threshold

LIMIT = signed("rad", "how far it bends either way", 0, 4)
FARTHEST = threshold("L", "distance from the base with the arm straight", 0, 2)


def clip_angle(angles, hinge, *, limit=LIMIT):
    """A hinge bends to its limit and no further."""
    return tuple(np.clip(angle, -limit, limit) if i == hinge else angle for i, angle in enumerate(angles))


def soft_stop(
    torques,
    matrix,
    angles,
    speeds,
    hinge,
    *,
    limit=LIMIT,
    stiffness=positive("1/s^2", "pull of the stop back to the limit", 10, 10000),
    braking=positive("1/s", "loss of speed in the stop", 1, 1000),
    give=positive("1/s^2", "how much the stop gives way to a torque", 0.1, 10000),
):
    """The torques with that of a damped spring that pushes a hinge back from beyond its limit and never pulls."""
    side, depth = np.sign(angles[hinge]), np.abs(angles[hinge]) - limit
    wanted = -side * stiffness * depth - braking * speeds[hinge]
    alone = [1.0 if i == hinge else 0.0 for i in range(len(torques))]
    push = (wanted - solve(matrix, torques)[hinge]) / (give + solve(matrix, alone)[hinge])
    push = np.where((depth > 0) & (side * push < 0), push, 0.0)
    return [torque + push * part for torque, part in zip(torques, alone, strict=True)]


def stop_links(forces, mass, shares, place, speed, low, high, stiffness, braking, give):
    """Forces on links with those of a soft stop: beyond its ends the sum of `shares` is pushed back, never pulled.

    The stop asks for an acceleration, as a damped spring has it, and gets it but for what it gives way to force.
    """
    over = np.maximum(place - high, 0.0) + np.minimum(place - low, 0.0)
    eased = sum(share * part for share, part in zip(shares, solve(mass, shares), strict=True))
    free = sum(share * part for share, part in zip(shares, solve(mass, forces), strict=True))
    push = (-stiffness * over - braking * speed - free) / (eased + give)
    push = np.where(over * push < 0, push, 0.0)
    return [force + share * push for share, force in zip(shares, forces, strict=True)]


def stop_body(gained, place, speed, low, high, stiffness, braking, keep):
    """The acceleration of a body in a soft stop: pushed back beyond its ends, never pulled; a part is its own."""
    over = np.maximum(place - high, 0.0) + np.minimum(place - low, 0.0)
    held = keep * gained - (1 - keep) * (stiffness * over + braking * speed)
    return np.where(over * (held - gained) < 0, held, gained)


def within_length(place, *, farthest=FARTHEST):
    """The arm ends the fingertip's way outwards."""
    scale = np.minimum(farthest / np.sqrt(place[0] ** 2 + place[1] ** 2 + 1e-12), 1.0)
    return scale * place[0], scale * place[1]


def within_bend(place, *, farthest=FARTHEST, nearest=threshold("L", "distance from the base with the arm bent", 0, 2)):
    """The arm ends the fingertip's way outwards, and its limit of bending the way inwards."""
    distance = np.sqrt(place[0] ** 2 + place[1] ** 2 + 1e-12)
    scale = np.clip(distance, nearest, farthest) / distance
    return scale * place[0], scale * place[1]


def keep_inside(place, *, middle, half_size, radius):
    """The nearest place at which the disc is inside the border."""
    x = np.clip(place[0], middle[0] - half_size[0] + radius, middle[0] + half_size[0] - radius)
    y = np.clip(place[1], middle[1] - half_size[1] + radius, middle[1] + half_size[1] - radius)
    return x, y


def stop_at_walls(
    before,
    place,
    *,
    walls,
    radius,
    margin=threshold("L", "room at a door beyond its drawn half width", -0.02, 0.02),
    push_back=signed("L", "how far a wall throws the disc back", 0, 0.03),
):
    """A move that would enter a wall ends before it, unless it goes through a door."""
    place = list(place)
    for across, wall, half, doors in walls:  # across: the coordinate that the wall bounds, 0 for x and 1 for y
        side = np.where(before[across] < wall, -1.0, 1.0)
        stopped = side * (place[across] - wall) < half + radius
        for door, door_half in doors:
            stopped = stopped & (np.abs(place[1 - across] - door) > door_half + margin)
        place[across] = np.where(stopped, wall + side * (half + radius + push_back), place[across])
    return place[0], place[1]
