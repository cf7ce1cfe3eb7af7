"""A zoo of small worlds with known answers, whose constants are drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]
PUSH = ActionSpace("continuous", (-1.0,), (1.0,))
PUSHES = ActionSpace("continuous", (-1.0, -1.0), (1.0, 1.0))


@dataclass(frozen=True)
class Animal:
    """Trajectories of one world, and the constants that its program should hold, whatever it calls them."""

    name: str
    trajectories: list[Trajectory]
    space: ActionSpace
    constants: dict[str, float]
    names: tuple[str, ...] | None = None
    tolerance: float = 1e-3  # of the 25-step error
    laws: tuple[str, ...] = ()  # that its program must name


def run(
    rng: np.random.Generator,
    step: Step,
    start: Callable[[], np.ndarray],
    space: ActionSpace,
    *,
    observe: Callable[[np.ndarray], np.ndarray] = lambda state: state,
    episodes: int = 10,
    steps: int = 120,
    hold: int = 1,
) -> list[Trajectory]:
    """Episodes of random actions, each held for some steps."""
    out = []
    for _ in range(episodes):
        state = np.asarray(start(), float)
        seen, acted = [observe(state)], []
        for t in range(steps):
            action = space.sample(rng) if t % hold == 0 else acted[-1]
            state = step(state, action)
            acted.append(action)
            seen.append(observe(state))
        out.append(Trajectory(np.array(seen, float), np.array(acted, float)))
    return out


def second_order(
    accelerate: Callable[..., Sequence[float]],
    dt: float,
    n: int = 1,
    limit: Callable | None = None,
    explicit: bool = False,
) -> Step:
    """Positions first, then velocities; velocities move first unless explicit."""

    def step(state: np.ndarray, action: np.ndarray) -> np.ndarray:
        q, v = state[:n], state[n:]
        new_v = v + dt * np.asarray(accelerate(q, v, action))
        new_q = q + dt * (v if explicit else new_v)
        if limit is not None:
            new_q, new_v = limit(new_q, new_v)
        return np.concatenate([new_q, new_v])

    return step


def first_order(rng):
    rate, gain = rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.5)
    return Animal(
        "first_order",
        run(rng, lambda s, a: s + gain * a - rate * s, lambda: rng.normal(size=1), PUSH),
        PUSH,
        {"rate": rate, "gain": gain},
    )


def unicycle(rng):
    speed, turn = rng.uniform(0.05, 0.2), rng.uniform(0.1, 0.4)

    def step(s, a):
        return s + np.array([speed * a[0] * np.cos(s[2]), speed * a[0] * np.sin(s[2]), turn * a[1]])

    trajectories = run(rng, step, lambda: rng.uniform(-2, 2, 3), PUSHES)
    return Animal("unicycle", trajectories, PUSHES, {"speed": speed, "turn": turn})


def boat(rng):
    """One field after another: the new speed and the new heading move it."""
    dt, thrust, drag, turn = 0.1, rng.uniform(1, 2), rng.uniform(0.2, 0.6), rng.uniform(0.5, 1.5)

    def step(s, a):
        speed = s[3] + dt * (thrust * a[0] - drag * abs(s[3]) * s[3])
        heading = s[2] + dt * turn * a[1]
        return np.array([s[0] + dt * speed * np.cos(heading), s[1] + dt * speed * np.sin(heading), heading, speed])

    trajectories = run(rng, step, lambda: rng.uniform([-4, -4, -3, 0], [4, 4, 3, 0.5]), PUSHES, hold=4)
    return Animal("boat", trajectories, PUSHES, {"thrust": dt * thrust, "drag": dt * drag, "turn": dt * turn, "dt": dt})


def bicycle(rng):
    """Steering turns by the tangent of its angle times the speed; all fields are updated from the old ones."""
    dt, push, drag, length = 0.05, rng.uniform(1, 3), rng.uniform(0.1, 0.4), rng.uniform(1, 2)

    def step(s, a):
        return s + dt * np.array(
            [s[3] * np.cos(s[2]), s[3] * np.sin(s[2]), s[3] / length * np.tan(a[1]), push * a[0] - drag * s[3]]
        )

    trajectories = run(rng, step, lambda: rng.uniform([-4, -4, -3, 0], [4, 4, 3, 2]), PUSHES, hold=3)
    return Animal("bicycle", trajectories, PUSHES, {"push": dt * push, "drag": dt * drag, "steer": dt / length})


def body_thrust(rng):
    dt, thrust, turn, drag, weight = (
        0.05,
        rng.uniform(2, 6),
        rng.uniform(2, 5),
        rng.uniform(0.2, 0.8),
        rng.uniform(0.5, 2),
    )

    def accelerate(q, v, a):
        return [
            -thrust * (1 + a[0]) * np.sin(q[2]) - drag * v[0],
            thrust * (1 + a[0]) * np.cos(q[2]) - weight - drag * v[1],
            turn * a[1] - drag * v[2],
        ]

    trajectories = run(rng, second_order(accelerate, dt, 3), lambda: rng.uniform(-1, 1, 6), PUSHES)
    return Animal("body_thrust", trajectories, PUSHES, {"thrust": thrust, "turn": turn, "weight": weight, "drag": drag})


def delay(rng):
    dt, gain, drag, late = 0.05, rng.uniform(2, 6), rng.uniform(0.3, 1.0), int(rng.integers(1, 5))
    trajectories = []
    for _ in range(10):
        q, v, queue = rng.normal(), rng.normal(), [0.0] * late
        seen, acted = [[q, v]], []
        for _ in range(120):
            a = rng.uniform(-1, 1)
            queue.append(a)
            v = v + dt * (gain * queue.pop(0) - drag * v)
            q = q + dt * v
            seen.append([q, v])
            acted.append([a])
        trajectories.append(Trajectory(np.array(seen), np.array(acted)))
    return Animal("delay", trajectories, PUSH, {"gain": gain, "drag": drag})


def dead_zone(rng):
    dt, gain, drag, dead = 0.05, rng.uniform(2, 6), rng.uniform(0.3, 1.0), rng.uniform(0.15, 0.5)

    def accelerate(q, v, a):
        return [gain * (a[0] - np.clip(a[0], -dead, dead)) - drag * v[0]]

    return Animal(
        "dead_zone",
        run(rng, second_order(accelerate, dt), lambda: rng.normal(size=2), PUSH),
        PUSH,
        {"gain": gain, "drag": drag, "dead": dead},
    )


def saturation(rng):
    dt, gain, drag, top = 0.05, rng.uniform(2, 6), rng.uniform(0.3, 1.0), rng.uniform(0.3, 0.8)

    def accelerate(q, v, a):
        return [gain * np.clip(a[0], -top, top) - drag * v[0]]

    return Animal(
        "saturation",
        run(rng, second_order(accelerate, dt), lambda: rng.normal(size=2), PUSH),
        PUSH,
        {"gain": gain, "drag": drag, "top": top},
    )


def viscous(rng):
    dt, gain, drag, spring = 0.1, rng.uniform(1, 3), rng.uniform(0.2, 1.0), rng.uniform(0.5, 3)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0] - spring * q[0]], dt, explicit=True)
    return Animal(
        "viscous",
        run(rng, step, lambda: rng.normal(size=2), PUSH),
        PUSH,
        {"gain": gain, "drag": drag, "spring": spring},
    )


def quadratic(rng):
    dt, gain, drag = 0.05, rng.uniform(3, 8), rng.uniform(0.3, 1.0)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * abs(v[0]) * v[0]], dt)
    return Animal("quadratic", run(rng, step, lambda: 2 * rng.normal(size=2), PUSH), PUSH, {"gain": gain, "drag": drag})


def dry(rng):
    dt, gain, friction = 0.05, rng.uniform(4, 8), rng.uniform(0.5, 1.5)
    step = second_order(lambda q, v, a: [gain * a[0] - friction * np.sign(v[0])], dt)
    return Animal(
        "dry", run(rng, step, lambda: 2 * rng.normal(size=2), PUSH), PUSH, {"gain": gain, "friction": friction}
    )


def sticking(rng):
    dt, gain = 0.05, rng.uniform(2, 4)
    friction = gain * rng.uniform(0.3, 0.5)

    def step(s, a):
        v = s[1] + dt * gain * a[0]
        v = np.sign(v) * max(abs(v) - dt * friction, 0.0)
        return np.array([s[0] + dt * v, v])

    trajectories = run(rng, step, lambda: rng.normal(size=2) * [1, 0.3], PUSH, hold=8)
    return Animal("sticking", trajectories, PUSH, {"gain": gain, "friction": friction}, laws=("stick",))


def bent_drag(rng):
    dt, bend, pull, gain = 0.05, rng.uniform(0.5, 1.5), rng.uniform(0.5, 2), rng.uniform(1, 3)
    step = second_order(lambda q, v, a: [bend * (1 - q[0] ** 2) * v[0] - pull * q[0] + gain * a[0]], dt)
    return Animal(
        "bent_drag", run(rng, step, lambda: rng.normal(size=2), PUSH), PUSH, {"bend": bend, "pull": pull, "gain": gain}
    )


def springs_between(rng):
    dt, stiff, damp, gain, ratio = (
        0.05,
        rng.uniform(2, 8),
        rng.uniform(0.1, 0.5),
        rng.uniform(1, 4),
        rng.uniform(0.4, 0.8),
    )

    def accelerate(q, v, a):
        pull = stiff * (q[1] - q[0]) + damp * (v[1] - v[0])
        return [pull + gain * a[0], -ratio * pull]

    return Animal(
        "springs_between", run(rng, second_order(accelerate, dt, 2), lambda: rng.normal(size=4), PUSH), PUSH,
        {"stiff": stiff, "gain": gain, "damp": damp, "back": ratio * stiff},
    )  # fmt: skip


def regional(rng):
    dt, gain, wind, edge, drag = (
        0.05,
        rng.uniform(2, 6),
        rng.uniform(0.5, 1.5),
        rng.uniform(-0.3, 0.3),
        rng.uniform(0.3, 0.8),
    )
    step = second_order(lambda q, v, a: [gain * a[0] + wind * (q[0] > edge) - drag * v[0] - 2 * q[0]], dt)
    return Animal(
        "regional",
        run(rng, step, lambda: 1.5 * rng.normal(size=2), PUSH),
        PUSH,
        {"gain": gain, "wind": wind, "drag": drag},
    )


def clip(rng):
    dt, gain, top = 0.1, rng.uniform(2, 6), rng.uniform(0.5, 1.0)

    def step(s, a):
        v = np.clip(s[1] + dt * gain * a[0], -top, top)
        return np.array([s[0] + dt * v, v])

    return Animal("clip", run(rng, step, lambda: 0.3 * rng.normal(size=2), PUSH), PUSH, {"gain": gain, "top": top})


def stop(rng):
    dt, gain, wall, drag = 0.1, rng.uniform(2, 6), rng.uniform(0.5, 1.0), rng.uniform(0.2, 0.6)

    def limit(q, v):
        out = np.abs(q) > wall
        return np.clip(q, -wall, wall), np.where(out, 0.0, v)

    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0]], dt, limit=limit)
    return Animal(
        "stop", run(rng, step, lambda: 0.3 * rng.normal(size=2), PUSH), PUSH, {"gain": gain, "drag": drag, "wall": wall}
    )


def bounce(rng):
    dt, gain, back, weight = 0.05, rng.uniform(1, 3), rng.uniform(0.6, 0.9), rng.uniform(3, 9)

    def limit(q, v):
        hit = (q < 0) & (v < 0)
        return np.maximum(q, 0.0), np.where(hit, -back * v, v)

    step = second_order(lambda q, v, a: [gain * a[0] - weight], dt, limit=limit)
    start = lambda: np.array([rng.uniform(1, 3), rng.normal()])  # noqa: E731
    return Animal("bounce", run(rng, step, start, PUSH), PUSH, {"gain": gain, "weight": weight, "back": back})


def soft_stop(rng):
    dt, gain, edge, stiff, drag = (
        0.02,
        rng.uniform(3, 6),
        rng.uniform(0.4, 0.7),
        rng.uniform(50, 150),
        rng.uniform(0.2, 0.6),
    )

    def accelerate(q, v, a):
        return [gain * a[0] - drag * v[0] - stiff * max(q[0] - edge, 0) - stiff * min(q[0] + edge, 0)]

    trajectories = run(
        rng, second_order(accelerate, dt), lambda: rng.uniform(-0.5, 0.5, 2) * [1, 4], PUSH, hold=5, steps=150
    )
    return Animal(
        "soft_stop", trajectories, PUSH, {"gain": gain, "drag": drag, "edge": edge, "stiff": stiff}, laws=("soft stop",)
    )


def burning_mass(rng):
    dt, burn, thrust, weight = 0.05, rng.uniform(0.1, 0.2), rng.uniform(8, 14), rng.uniform(2, 5)
    space = ActionSpace("continuous", (0.0,), (1.0,))

    def step(s, a):
        v = s[1] + dt * (thrust * a[0] / s[2] - weight)
        return np.array([s[0] + dt * v, v, s[2] - dt * burn * a[0]])

    trajectories = run(rng, step, lambda: np.array([rng.normal(), rng.normal(), rng.uniform(1.5, 2.5)]), space)
    return Animal("burning_mass", trajectories, space, {"thrust": thrust, "weight": weight, "burn": burn})


def spent_rocket(rng):
    """Thrust over a mass that burns away until there is no fuel left."""
    dt, burn, thrust, weight, dry = (
        0.05,
        rng.uniform(0.2, 0.3),
        rng.uniform(8, 14),
        rng.uniform(2, 5),
        rng.uniform(1, 1.5),
    )
    space = ActionSpace("continuous", (0.0,), (1.0,))

    def step(s, a):
        v = s[1] + dt * (thrust * a[0] * (s[2] > dry) / s[2] - weight)
        return np.array([s[0] + dt * v, v, max(s[2] - dt * burn * a[0], dry)])

    start = lambda: np.array([rng.normal(), rng.normal(), dry + rng.uniform(0.3, 0.7)])  # noqa: E731
    constants = {"thrust": thrust, "weight": weight, "burn": burn, "dry": dry}
    return Animal("spent_rocket", run(rng, step, start, space), space, constants, laws=("regional",))


def throttle(rng):
    """A thrust that is clipped at zero and at full, over a mass that burns away, against drag."""
    dt, burn, thrust, weight, drag = (
        0.05,
        rng.uniform(0.1, 0.2),
        rng.uniform(8, 14),
        rng.uniform(2, 5),
        rng.uniform(0.05, 0.2),
    )
    full = rng.uniform(0.5, 0.8)

    def step(s, a):
        given = np.clip(a[0], 0, full)
        v = s[1] + dt * (thrust * given / s[2] - weight - drag * abs(s[1]) * s[1] / s[2])
        return np.array([s[0] + dt * v, v, s[2] - dt * burn * given])

    trajectories = run(
        rng, step, lambda: np.array([rng.normal(), 2 * rng.normal(), rng.uniform(1.5, 2.5)]), PUSH, hold=4
    )
    return Animal("throttle", trajectories, PUSH, {"thrust": thrust, "weight": weight, "burn": burn, "full": full})


def paddle(rng):
    """A ball that bounces on something that an action moves."""
    dt, weight, back, gain = 0.05, rng.uniform(3, 9), rng.uniform(0.8, 0.95), rng.uniform(0.5, 1.0)

    def step(s, a):
        v, lift = s[1] - dt * weight, s[2] + dt * gain * a[0]
        q = s[0] + dt * v
        return np.array([max(q, lift), -back * v if q < lift and v < 0 else v, lift])

    start = lambda: np.array([rng.uniform(2, 4), rng.normal(), rng.uniform(-0.2, 0.2)])  # noqa: E731
    trajectories = run(rng, step, start, PUSH, episodes=20, steps=60, hold=6)
    return Animal("paddle", trajectories, PUSH, {"weight": weight, "back": back, "gain": gain}, laws=("bounce",))


def reactor(rng):
    """A reaction that heat speeds up and that heats by itself."""
    dt, flow, barrier, heat, gain = (
        0.02,
        rng.uniform(0.5, 1.5),
        rng.uniform(1500, 3000),
        rng.uniform(30, 60),
        rng.uniform(10, 30),
    )
    rate = rng.uniform(0.5, 1.5) * np.exp(barrier / 340)

    def step(s, a):
        used = rate * np.exp(-barrier / s[1]) * s[0]
        return s + dt * np.array([flow * (1 - s[0]) - used, 2 * (330 - s[1]) + heat * used + gain * a[0]])

    trajectories = run(rng, step, lambda: rng.uniform([0.3, 300], [0.9, 380]), PUSH, hold=6)
    return Animal(
        "reactor", trajectories, PUSH, {"flow": dt * flow, "barrier": barrier, "gain": dt * gain}, laws=("growth",)
    )


def battery_drone(rng):
    """Thrust along a heading by a battery that it drains."""
    dt, thrust, turn, weight, drain = (
        0.05,
        rng.uniform(6, 12),
        rng.uniform(2, 5),
        rng.uniform(3, 9),
        rng.uniform(0.02, 0.05),
    )
    space = ActionSpace("continuous", (0.0, -1.0), (1.0, 1.0))

    def step(s, a):
        push = thrust * a[0] * s[6]
        v = s[3:6] + dt * np.array([-push * np.sin(s[2]), push * np.cos(s[2]) - weight, turn * a[1] * s[6]])
        return np.concatenate([s[:3] + dt * v, v, [s[6] - dt * drain * a[0]]])

    trajectories = run(rng, step, lambda: np.append(rng.uniform(-1, 1, 6), rng.uniform(0.6, 1)), space)
    constants = {"thrust": thrust, "turn": turn, "weight": weight, "drain": drain}
    return Animal("battery_drone", trajectories, space, constants)


def hunter(rng):
    """Somebody whom an action moves, and somebody else who follows at one speed."""
    gain, speed = rng.uniform(0.1, 0.2), rng.uniform(0.05, 0.09)

    def step(s, a):
        away = s[:2] - s[2:]
        return np.concatenate([s[:2] + gain * a, s[2:] + speed * away / np.hypot(*away)])

    trajectories = run(rng, step, lambda: rng.uniform(-4, 4, 4), PUSHES, steps=60, hold=5, episodes=14)
    return Animal("hunter", trajectories, PUSHES, {"gain": gain, "speed": speed}, laws=("direction",))


def orbit(rng):
    dt, pull, gain = 0.02, rng.uniform(0.8, 1.6), rng.uniform(0.1, 0.4)

    def accelerate(q, v, a):
        return -pull * q / np.hypot(*q) ** 3 + gain * a

    def start():
        turn, far = rng.uniform(-np.pi, np.pi), rng.uniform(1, 2)
        ahead = np.array([np.cos(turn), np.sin(turn)])
        return np.concatenate([far * ahead, np.sqrt(pull / far) * np.array([-ahead[1], ahead[0]])])

    trajectories = run(rng, second_order(accelerate, dt, 2), start, PUSHES)
    return Animal("orbit", trajectories, PUSHES, {"pull": pull, "gain": gain}, laws=("gravity",))


def wheels(rng):
    """Two wheels that are not alike, and a heading in degrees."""
    dt, left, right, track = 0.05, rng.uniform(0.9, 1), rng.uniform(1, 1.1), rng.uniform(0.2, 0.4)

    def step(s, a):
        ahead, turn = dt * (left * a[0] + right * a[1]) / 2, np.degrees((right * a[1] - left * a[0]) / track)
        return s + np.array([ahead * np.cos(np.radians(s[2])), ahead * np.sin(np.radians(s[2])), dt * turn])

    trajectories = run(rng, step, lambda: rng.uniform([-2, -2, -180], [2, 2, 180]), PUSHES, hold=4)
    return Animal("wheels", trajectories, PUSHES, {"left": dt * left / 2, "right": dt * right / 2})


def hours(rng):
    """A house that is warmed by the sun, by the hour of the day."""
    sun, loss, gain = rng.uniform(0.5, 1.5), rng.uniform(0.05, 0.15), rng.uniform(0.3, 0.8)
    day, rise = rng.uniform(20, 28), rng.uniform(5, 8)

    def step(s, a):
        warmed = sun * np.sin(2 * np.pi * (s[0] - rise) / day) - loss * (s[1] - 12) - gain * a[0]
        return np.array([(s[0] + 0.5) % day, s[1] + warmed])

    trajectories = run(rng, step, lambda: rng.uniform([0, 5], [day, 25]), PUSH)
    return Animal("hours", trajectories, PUSH, {"loss": loss, "gain": gain, "day": day})


def charger(rng):
    """A battery that warms by the square of what flows, seen with noise."""
    flow, heat, loss = rng.uniform(1, 2) * 1e-4, rng.uniform(0.8, 1.6) * 1e-3, rng.uniform(0.03, 0.06)
    space = ActionSpace("continuous", (-20.0,), (20.0,))

    def step(s, a):
        return s + np.array([-flow * a[0], heat * a[0] ** 2 - loss * (s[1] - 21)])

    def see(s):
        return s + rng.normal(size=2) * [1e-4, 0.02]

    trajectories = run(rng, step, lambda: rng.uniform([0.3, 15], [0.9, 30]), space, observe=see, steps=250, hold=10)
    constants = {"flow": flow, "heat": heat, "loss": loss}
    return Animal("charger", trajectories, space, constants, tolerance=0.05)


def crane(rng):
    """A load that swings below a trolley, on a rope that is hoisted meanwhile."""
    dt, pull, push, drag, hoist = 0.05, rng.uniform(6, 10), rng.uniform(2, 4), rng.uniform(0.3, 0.8), 0.3

    def step(s, a):
        gained = push * a[0] - drag * s[1]
        turned = -(pull * np.sin(s[2]) + gained * np.cos(s[2]) + 2 * hoist * a[1] * s[3]) / s[4]
        v, w = s[1] + dt * gained, s[3] + dt * turned
        return np.array([s[0] + dt * v, v, s[2] + dt * w, w, s[4] + dt * hoist * a[1]])

    trajectories = run(rng, step, lambda: rng.uniform([-1, -1, -0.5, -1, 2], [1, 1, 0.5, 1, 3]), PUSHES, hold=3)
    return Animal("crane", trajectories, PUSHES, {"pull": pull, "push": push, "drag": drag, "hoist": 2 * hoist})


def action_table(rng):
    dt, forces, drag = 0.05, rng.uniform(-5, 5, 4), rng.uniform(0.3, 0.8)
    space = ActionSpace("discrete", counts=(4,))
    step = second_order(lambda q, v, a: [forces[int(a[0])] - drag * v[0]], dt)
    return Animal("action_table", run(rng, step, lambda: rng.normal(size=2), space), space, {"drag": drag})


def even_table(rng):
    dt, force, drag = 0.05, rng.uniform(2, 5), rng.uniform(0.3, 0.8)
    space = ActionSpace("discrete", counts=(3,))
    step = second_order(lambda q, v, a: [force * (a[0] - 1) - drag * v[0]], dt)
    return Animal(
        "even_table", run(rng, step, lambda: rng.normal(size=2), space), space, {"drag": drag, "force": force}
    )


def pendulum(rng):
    dt, pull, gain, drag = 0.05, rng.uniform(4, 12), rng.uniform(2, 6), rng.uniform(0.05, 0.3)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0] + pull * np.sin(q[0])], dt)
    see = lambda s: np.array([np.cos(s[0]), np.sin(s[0]), s[1]])  # noqa: E731
    return Animal(
        "pendulum",
        run(rng, step, lambda: rng.uniform(-3, 3, 2), PUSH, observe=see),
        PUSH,
        {"gain": gain, "pull": pull, "drag": drag},
    )


def wrapped_pendulum(rng):
    dt, pull, gain, drag = 0.05, rng.uniform(4, 12), rng.uniform(2, 6), rng.uniform(0.05, 0.3)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0] + pull * np.sin(q[0])], dt)
    see = lambda s: np.array([(s[0] + np.pi) % (2 * np.pi) - np.pi, s[1]])  # noqa: E731
    return Animal(
        "wrapped_pendulum",
        run(rng, step, lambda: rng.uniform(-3, 3, 2), PUSH, observe=see),
        PUSH,
        {"gain": gain, "pull": pull, "drag": drag},
    )


def extra_columns(rng):
    dt, gain, drag, spring = 0.05, rng.uniform(2, 6), rng.uniform(0.3, 1.0), rng.uniform(1, 4)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0] - spring * q[0]], dt)
    arm = rng.uniform(0.5, 2)
    see = lambda s: np.array([s[0], 3.0, s[1], arm * np.cos(s[0]) + s[0], rng.normal(), 2.5 * s[0] - 1])  # noqa: E731
    return Animal(
        "extra_columns",
        run(rng, step, lambda: rng.normal(size=2), PUSH, observe=see),
        PUSH,
        {"gain": gain, "drag": drag, "spring": spring},
    )


def hidden_velocity(rng):
    dt, pull, gain, drag = 0.05, rng.uniform(4, 12), rng.uniform(2, 6), rng.uniform(0.05, 0.3)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0] - pull * np.sin(q[0])], dt)
    # Seconds per step are not shown by places alone: what is found is per step.
    constants = {"gain": gain * dt**2, "pull": pull * dt**2, "drag": drag * dt}
    see = lambda s: s[:1]  # noqa: E731
    return Animal("hidden_velocity", run(rng, step, lambda: rng.uniform(-3, 3, 2), PUSH, observe=see), PUSH, constants)


def rk4_repeat(rng):
    dt, pull, gain, drag = 0.02, rng.uniform(4, 12), rng.uniform(2, 6), rng.uniform(0.1, 0.5)

    def rate(s, a):
        return np.array([s[1], gain * a[0] - drag * s[1] - pull * np.sin(s[0])])

    def step(s, a):
        for _ in range(4):
            k1 = rate(s, a)
            k2 = rate(s + dt / 2 * k1, a)
            k3 = rate(s + dt / 2 * k2, a)
            k4 = rate(s + dt * k3, a)
            s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s

    return Animal(
        "rk4_repeat",
        run(rng, step, lambda: rng.uniform(-2, 2, 2), PUSH),
        PUSH,
        {"gain": gain, "pull": pull, "drag": drag},
    )


def substeps(rng):
    dt, pull, gain, drag = 0.01, rng.uniform(4, 12), rng.uniform(2, 6), rng.uniform(0.1, 0.5)
    small = second_order(lambda q, v, a: [gain * a[0] - drag * v[0] - pull * np.sin(q[0])], dt)

    def step(s, a):
        for _ in range(5):
            s = small(s, a)
        return s

    # Nothing says how long a step is: what is found is per step.
    constants = {"gain": 5 * dt * gain, "pull": 5 * dt * pull, "drag": 5 * dt * drag}
    return Animal("substeps", run(rng, step, lambda: rng.uniform(-2, 2, 2), PUSH), PUSH, constants)


def geared(rng):
    dt, gain, drag, gear = 0.05, rng.uniform(2, 6), rng.uniform(0.3, 1.0), rng.uniform(1.5, 4)

    def step(s, a):
        v = s[2:] + dt * (gain * a - drag * s[2:])
        return np.concatenate([s[:2] + dt * v * [1.0, gear], v])

    # Two gears, two lengths of a step: what is found is per step.
    constants = {"gain": dt * gain, "drag": dt * drag, "gear": dt * gear}
    return Animal("geared", run(rng, step, lambda: rng.normal(size=4), PUSHES), PUSHES, constants)


def hill(rng):
    gain, pull, wave = rng.uniform(0.0008, 0.002), rng.uniform(0.002, 0.004), rng.uniform(2.5, 4)
    space = ActionSpace("discrete", counts=(3,))

    def step(s, a):
        v = s[1] + gain * (a[0] - 1) - pull * np.cos(wave * s[0])
        return np.array([s[0] + v, v])

    start = lambda: np.array([rng.uniform(-0.7, -0.2), 0.0])  # noqa: E731
    return Animal("hill", run(rng, step, start, space, steps=150), space, {"gain": gain, "pull": pull, "wave": wave})


def tanks(rng):
    """Two levels that run off by their roots, and run dry."""
    dt, fill, first, second = 0.5, rng.uniform(0.15, 0.3), rng.uniform(0.1, 0.15), rng.uniform(0.05, 0.1)
    space = ActionSpace("continuous", (0.0,), (1.0,))

    def step(s, a):
        over = first * np.sqrt(max(s[0], 0))
        return np.maximum(s + dt * np.array([fill * a[0] - over, over - second * np.sqrt(max(s[1], 0))]), 0)

    trajectories = run(rng, step, lambda: rng.uniform(0.1, 2, 2), space, hold=12)
    return Animal("tanks", trajectories, space, {"fill": dt * fill, "first": dt * first, "second": dt * second})


def rounded_tank(rng):
    """A level that runs off by its root, in whole millimetres."""
    fill, off = rng.uniform(10, 30), rng.uniform(0.25, 0.45)
    space = ActionSpace("continuous", (0.0,), (1.0,))

    def step(s, a):
        return np.maximum(s + fill * a - off * np.sqrt(s), 0)

    trajectories = run(rng, step, lambda: rng.uniform(200, 1500, 1), space, observe=np.round, steps=200, hold=15)
    return Animal("rounded_tank", trajectories, space, {"fill": fill, "off": off}, tolerance=0.02)


def thermostat(rng):
    """A heater that a threshold turns on and another one turns off."""
    leak, heat, cold, hot = rng.uniform(0.02, 0.05), rng.uniform(0.8, 1.5), rng.uniform(18, 19), rng.uniform(21, 22)
    space = ActionSpace("continuous", (-5.0,), (15.0,))

    def step(s, a):
        on = 1.0 if s[0] < cold else 0.0 if s[0] > hot else s[1]
        return np.array([s[0] + leak * (a[0] - s[0]) + heat * s[1], on])

    start = lambda: np.array([rng.uniform(16, 24), float(rng.integers(2))])  # noqa: E731
    constants = {"leak": leak, "heat": heat, "cold": cold, "hot": hot}
    return Animal("thermostat", run(rng, step, start, space, hold=5), space, constants, laws=("switch",))


def grid(rng):
    """Cells with borders and some that are walled off; an action is one of four ways, or one more that is nothing."""
    walls = {tuple(cell) for cell in rng.integers(1, 5, (4, 2)).tolist()}
    space = ActionSpace("discrete", counts=(5,))
    ways = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (0, 0)])[rng.permutation(5)]

    def step(s, a):
        to = np.clip(s + ways[int(a[0])], 0, [6, 5])
        return s if tuple(to.astype(int).tolist()) in walls else to

    trajectories = run(rng, step, lambda: np.array([rng.integers(7), 0]), space, episodes=15)
    return Animal("grid", trajectories, space, {"step": 1.0, "width": 6.0}, laws=("clip", "wall"))


def clock(rng):
    """A time of day that begins anew, and a store that fills worse than it empties."""
    good, most = rng.uniform(0.85, 0.95), rng.uniform(8, 12)
    space = ActionSpace("continuous", (-3.0,), (3.0,))

    def step(s, a):
        return np.array([(s[0] + 1) % 24, np.clip(s[1] + (good * a[0] if a[0] > 0 else a[0] / good), 0, most)])

    start = lambda: np.array([rng.integers(24), rng.uniform(0, most)])  # noqa: E731
    # A gain for both signs and one for the size: their sum and difference are `good` and one over it.
    constants = {"most": most, "even": (1 / good + good) / 2, "odd": (1 / good - good) / 2}
    return Animal("clock", run(rng, step, start, space), space, constants)


def late_servo(rng):
    """Dead zone and delay at once."""
    dt, gain, drag, dead = 0.02, rng.uniform(20, 40), rng.uniform(3, 6), rng.uniform(0.15, 0.3)
    waiting = [0.0, 0.0]

    def start():
        waiting[:] = [0.0, 0.0]
        return rng.uniform(-1, 1, 2)

    def step(s, a):
        waiting.append(float(a[0]))
        u = waiting.pop(0)
        v = s[1] + dt * (gain * np.sign(u) * max(abs(u) - dead, 0) - drag * s[1])
        return np.array([s[0] + dt * v, v])

    constants = {"gain": gain, "drag": drag, "dead": dead}
    return Animal("late_servo", run(rng, step, start, PUSH, hold=2), PUSH, constants, laws=("dead zone",))


def discs(rng):
    dt, gain, drag, reach, back = (
        0.02,
        rng.uniform(4, 8),
        rng.uniform(0.2, 0.6),
        rng.uniform(0.3, 0.5),
        rng.uniform(0.5, 1.0),
    )

    def step(s, a):
        q, v = s[:4].reshape(2, 2), s[4:].reshape(2, 2)
        v = v + dt * (np.array([gain * a, [0.0, 0.0]]) - drag * v - 4.0 * q)
        away = q[1] - q[0]
        far = np.linalg.norm(away)
        normal = away / far
        closing = (v[0] - v[1]) @ normal
        if far < reach and closing > 0:
            v = v + np.array([-normal, normal]) * (1 + back) / 2 * closing
        return np.concatenate([(q + dt * v).ravel(), v.ravel()])

    start = lambda: np.concatenate([rng.uniform(-0.6, 0.6, 4), rng.normal(size=4)])  # noqa: E731
    trajectories = run(rng, step, start, PUSHES, hold=10, steps=150)
    return Animal("discs", trajectories, PUSHES, {"gain": gain, "drag": drag}, laws=("collision",))


# Worlds that the search of `search/` finds for any constants.
LAWFUL = (
    first_order, unicycle, boat, bicycle, body_thrust, delay, viscous, quadratic, bent_drag, springs_between, clip, stop,
    bounce, action_table, even_table, pendulum, wrapped_pendulum, extra_columns, rk4_repeat, substeps, geared, wheels,
    tanks, clock,
)  # fmt: skip
# Worlds that only the older search finds, or that the other one finds for some constants alone.
OLDER = (
    dead_zone, saturation, dry, sticking, regional, soft_stop, burning_mass, throttle, paddle, reactor, crane,
    hidden_velocity, hill, discs, spent_rocket, battery_drone, hunter, orbit, hours, charger, rounded_tank, thermostat,
    grid, late_servo,
)  # fmt: skip
