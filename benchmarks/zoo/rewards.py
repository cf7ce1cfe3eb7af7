"""What a step is worth, and when a world comes to an end.

Formulas are over the fields of the next state, by name, and over `state`, the one before.
"""

from zoo.blueprint import Blueprint, Mover

SIMPLE = ("distance", "quadratic", "place")
REWARDS = (*SIMPLE, "tolerance", "sparse", "height", "progress", "energy")
ENDS = ("threshold", "region", "goal", "never")


def reward(world: Blueprint, kinds: tuple[str, ...]) -> tuple[str, str]:
    """A reward and the distance to its goal, both as text."""
    mover = world.chance.pick(world.movers)
    if mover.main is None and mover.spot is None:
        mover = world.movers[0]
    gap = _gap(world, mover)
    kind = world.chance.pick(kinds)
    text = _worth(world, mover, gap, kind)
    if world.chance.happens(0.5):
        text += _effort(world)
        world.tag("reward:effort")
    return text, gap


def _worth(world: Blueprint, mover: Mover, gap: str, kind: str) -> str:
    close = world.constant("close", 0.25 * mover.size)
    if (kind == "height" and not mover.height) or (kind == "energy" and not mover.energy):
        kind = "distance"
    world.tag(f"reward:{kind}")
    if kind == "quadratic":
        weights = [world.constant("weight", world.chance.log(0.1, 1.0) / mover.size**2) for _ in range(2)]
        speed = next((axis.speed for axis in mover.axes if axis.speed), None)
        slow = f" - {weights[1]} * {speed} ** 2" if speed else ""
        return f"-{weights[0]} * ({gap}) ** 2{slow}"
    if kind == "tolerance":
        return f"np.exp(-(({gap}) / {close}) ** 2)"
    if kind == "sparse":
        return f"(1.0 if {gap} < {close} else 0.0)"
    if kind == "height":
        return f"({mover.height})"
    if kind == "progress":
        name = mover.spot[0] if mover.spot and mover.spot[0] in world.fields else mover.main
        return f"{world.constant('worth', world.chance.log(1.0, 10.0) / mover.size)} * ({name} - state.{name})"
    if kind == "energy":
        return f"-abs({mover.energy} - {world.constant('wanted_energy', world.chance.log(0.2, 1.0) * world.pace**2)})"
    if kind == "place":
        return f"{world.constant('worth', world.chance.log(0.3, 3.0) / mover.size)} * {mover.main}"
    return f"-({gap})"


def _gap(world: Blueprint, mover: Mover) -> str:
    """How far the mover is from its goal: a point of the plane, or a value of its main field."""
    flat = mover.spot is not None and mover.kind != "cells"
    if flat:
        goals = [_goal(world, f"goal_{name}", 0.6 * mover.size, 0.0) for name in ("x", "y")]
        return f"np.hypot({mover.spot[0]} - {goals[0]}, {mover.spot[1]} - {goals[1]})"
    name = mover.main
    span = world.fields[name]
    goal = _goal(world, "goal", 0.4 * (span.high - span.low), 0.5 * (span.low + span.high))
    if span.angle:
        return f"abs((({name} - {goal} + np.pi) % (2 * np.pi)) - np.pi)"
    return f"abs({name} - {goal})"


def _goal(world: Blueprint, name: str, half: float, middle: float) -> str:
    """A goal that is fixed, or drawn anew in every episode and seen."""
    half = max(half, 1e-3)
    if world.level > 1 and world.chance.happens(0.35):
        world.tag("seen:goal")
        return world.add_field(name, middle - half, middle + half, goal=True)
    return world.constant(name, world.chance.even(middle - half, middle + half))


def _effort(world: Blueprint) -> str:
    if world.choices:
        return f" - {world.constant('cost', world.chance.log(0.01, 0.2))} * (action[0] != 0)"
    terms = [f"action[{i}] ** 2" for i in range(len(world.action_low))]
    return f" - {world.constant('cost', world.chance.log(0.01, 0.2))} * ({' + '.join(terms)})"


def ending(world: Blueprint, gap: str, kind: str) -> str | None:
    """A condition on the state, as text, or None."""
    if kind == "never":
        return None
    mover = world.movers[0]
    world.tag(f"end:{kind}")
    if kind == "goal":
        return f"{gap} < {world.constant('reached', world.chance.log(0.08, 0.2) * mover.size)}"
    if kind == "region" and mover.spot:
        x, y = mover.spot
        out = world.constant("out", world.chance.even(1.2, 1.8) * mover.size)
        return f"np.hypot({x}, {y}) > {out}"
    axis = mover.axes[0] if mover.axes else None
    name = axis.place if axis else mover.main
    span = world.fields[name]
    middle, half = 0.5 * (span.low + span.high), 0.5 * (span.high - span.low) + 1e-3
    edge = world.constant("edge", world.chance.even(1.2, 2.2) * half)
    return f"abs({name} - {middle:.4g}) > {edge}" if abs(middle) > 1e-9 else f"abs({name}) > {edge}"
