"""How an action moves a body, what takes its speed, and the walls of its room.

Bodies in the plane are (x, y) or (x, y, vx, vy, ...); a disc that moves in jumps meets borders, and walls with doors.
"""

import numpy as np

from visualpatchworld.laws.constant import positive, signed, threshold

SPEED = positive("L/step", "distance of a step at full action", 0.0001, 0.1)
REACH = positive("L", "distance to the target at full action", 0.001, 1)


def walk(place, action, *, speed=SPEED):
    """The distance grows in proportion to the action."""
    return place[0] + speed * action[0], place[1] + speed * action[1]


def walk_by_power(place, action, *, speed=SPEED, exponent=positive("", "growth of distance with the action", 0.2, 5)):
    """The distance grows with a power of the action."""
    x, y = np.sign(action[0]) * np.abs(action[0]) ** exponent, np.sign(action[1]) * np.abs(action[1]) ** exponent
    return place[0] + speed * x, place[1] + speed * y


def aim(body, action, *, reach=REACH):
    """The target that an action sets; it stays there throughout the step."""
    return body[0] + reach * action[0], body[1] + reach * action[1]


def pull(
    body,
    target,
    dt,
    *,
    gain=positive("1/s^2", "pull towards the target", 1, 1000),
    damping=positive("1/s", "loss of speed", 0.01, 100),
):
    """A damped spring pulls the body to its target; its new speed carries it."""
    x, y, vx, vy = body
    vx = vx + dt * (gain * (target[0] - x) - damping * vx)
    vy = vy + dt * (gain * (target[1] - y) - damping * vy)
    return x + dt * vx, y + dt * vy, vx, vy


def set_off(body, action, duration, *, reach=REACH):
    """The body takes the speed that brings it to its target within the step."""
    return body[0], body[1], reach * action[0] / duration, reach * action[1] / duration


def glide(body, dt):
    """The body goes on at its speed."""
    return body[0] + dt * body[2], body[1] + dt * body[3], body[2], body[3]


def halt(body):
    """The body rests where it is."""
    return body[0], body[1], 0.0, 0.0


def set_speed(action, *, speed=positive("L/s", "speed at full action", 0.001, 20)):
    """The action is the velocity."""
    return tuple(speed * part for part in action)


def push(velocity, action, dt, *, push=positive("L/s^2", "acceleration at full action", 0.001, 20)):
    """The action speeds the body up."""
    return tuple(speed + dt * push * part for speed, part in zip(velocity, action, strict=True))


def carry(place, velocity, dt):
    """The velocity carries the body."""
    return tuple(x + dt * speed for x, speed in zip(place, velocity, strict=True))


def shift(
    body,
    action,
    *,
    per_action=signed("L", "move at full action", -0.3, 0.3),
    per_velocity=signed("s", "move per velocity", -1, 1),
    velocity_per_action=signed("L/s", "new velocity at full action", -3, 3),
    velocity_kept=signed("", "share of its velocity that is kept", -1, 1),
):
    """Place and velocity change in fixed proportion to the action and the velocity."""
    x, y, vx, vy = body
    x, y = x + per_action * action[0] + per_velocity * vx, y + per_action * action[1] + per_velocity * vy
    vx, vy = velocity_kept * vx + velocity_per_action * action[0], velocity_kept * vy + velocity_per_action * action[1]
    return x, y, vx, vy


def slide_on(place, way, *, memory=signed("", "share of its last way that it goes again", 0, 1)):
    """The body goes a share of its last way again."""
    return place[0] + memory * way[0], place[1] + memory * way[1]


def way_between(before, after):
    """The way from one place to another."""
    return after[0] - before[0], after[1] - before[1]


def drag(velocity, dt, *, drag=positive("1/s", "share of the velocity lost per second", 0.001, 8)):
    """The body loses a share of its velocity."""
    return tuple((1.0 - dt * drag) * speed for speed in velocity)


def rub(velocity, dt, *, friction=positive("L/s^2", "deceleration while it slides", 0.0001, 5)):
    """The body loses the same bit of speed each step, until it lies still."""
    total = np.sqrt(sum(speed**2 for speed in velocity) + 1e-12)
    left = np.maximum(0.0, 1.0 - dt * friction / total)
    return tuple(left * speed for speed in velocity)


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
