"""Planar chains of slides and hinges: their inertia, how they swing under torques, where they end, what stops them,
and one solver for all of it.

Hinges that a scene shows have angles that count from the link before. A chain that only fields tell of has links with
an angle in the plane and a speed: `lumps[i][j]` couples links i and j, so that their kinetic energy is half the sum of
lumps[i][j] * speed_i * speed_j * cos(angle_i - angle_j); a slide is a link with a fixed angle and no spin.
"""

import numpy as np

from visualpatchworld.laws.constant import positive, signed, threshold

LENGTH = positive("L", "length of the link", 0.01, 10)
# Torques count in units of the torque at full action, so inertia and damping have no kilograms in them.
DAMPING = positive("s", "torque against a hinge's speed", 0.001, 10)
LIMIT = signed("rad", "how far it bends either way", 0, 4)
FARTHEST = threshold("L", "distance from the base with the arm straight", 0, 2)


def end_of_links(angles, *, length=LENGTH):
    """Where the last link ends."""
    x, y, angle = 0.0, 0.0, 0.0
    for turn, link in zip(angles, length, strict=True):
        angle = angle + turn
        x, y = x + link * np.cos(angle), y + link * np.sin(angle)
    return x, y


def weigh_chain(
    angles,
    speeds,
    torques,
    *,
    length=LENGTH,
    inertia=positive("s^2", "inertia of the link about its hinge, with all beyond it at its end", 1e-6, 1),
    coupling=signed("", "inertia that it shares with the link before, of all that masses allow", 0, 1),
    damping=DAMPING,
):
    """The chain's inertia matrix, and the torques at its hinges with those of damping and of its own whirling."""
    links = range(len(inertia))
    ahead = [sum(angles[: i + 1]) for i in links]
    spins = [sum(speeds[: i + 1]) for i in links]
    shared = [[inertia[i] if i == j else 0.0 for j in links] for i in links]
    whirl = [0.0 for _ in links]
    for j in links:
        for i in range(j):
            moment = length[i] / length[j - 1] * coupling[j - 1] * np.sqrt(inertia[j - 1] * inertia[j])
            shared[i][j] = shared[j][i] = moment * np.cos(ahead[j] - ahead[i])
            sway = moment * np.sin(ahead[j] - ahead[i])
            whirl[i], whirl[j] = whirl[i] + sway * spins[j] ** 2, whirl[j] - sway * spins[i] ** 2
    # A hinge turns every link beyond it.
    matrix = [[sum(shared[i][j] for i in links[a:] for j in links[b:]) for b in links] for a in links]
    return matrix, [torques[a] - damping * speeds[a] + sum(whirl[a:]) for a in links]


def swing(angles, speeds, matrix, torques, dt, *, damping=DAMPING):
    """A physics step of the chain; damping acts on the new speeds."""
    damped = [[part + dt * damping if i == j else part for j, part in enumerate(row)] for i, row in enumerate(matrix)]
    speeds = tuple(speed + dt * change for speed, change in zip(speeds, solve(damped, torques), strict=True))
    return tuple(angle + dt * speed for angle, speed in zip(angles, speeds, strict=True)), speeds


def turn(angles, action, dt, *, speed=positive("rad/s", "speed of a hinge at full action", 0.01, 100)):
    """The action is the speed of the hinges, and nothing of it stays."""
    return tuple(angle + dt * speed * part for angle, part in zip(angles, action, strict=True))


def speeds_between(before, after, dt):
    """The speeds that led from one set of angles to another."""
    return tuple((b - a) / dt for a, b in zip(before, after, strict=True))


def mass_matrix(lumps, angles):
    """The force on link i per acceleration of link j."""
    links = range(len(angles))
    return [[lumps[i][j] * np.cos(angles[i] - angles[j]) for j in links] for i in links]


def centrifugal(lumps, angles, spins):
    """The force that the turning of all links asks of each."""
    links = range(len(angles))
    return [sum(lumps[i][j] * np.sin(angles[i] - angles[j]) * spins[j] ** 2 for j in links) for i in links]


def add_at_joints(matrix, amounts, parents):
    """The mass matrix with inertia at joints, against a link's speed relative to its parent (None: the ground)."""
    matrix = [list(row) for row in matrix]
    for link, parent in enumerate(parents):
        matrix[link][link] = matrix[link][link] + amounts[link]
        if parent is not None:
            matrix[parent][parent] = matrix[parent][parent] + amounts[link]
            matrix[link][parent] = matrix[link][parent] - amounts[link]
            matrix[parent][link] = matrix[parent][link] - amounts[link]
    return matrix


def solve(matrix, right):
    """The solution of a few linear equations by elimination; a mass matrix is positive definite and needs no pivots."""
    if len(right) == 0:
        return ()
    top, rest = matrix[0], range(1, len(right))
    shares = [row[0] / top[0] for row in matrix]
    smaller = [[matrix[i][j] - shares[i] * top[j] for j in rest] for i in rest]
    others = solve(smaller, [right[i] - shares[i] * right[0] for i in rest])
    return ((right[0] - sum(top[j] * others[j - 1] for j in rest)) / top[0], *others)


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
