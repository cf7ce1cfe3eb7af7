"""Worlds of four levels, put together from primitives."""

from zoo.blueprint import Axis, Blueprint, Mover
from zoo.cells import cells
from zoo.chains import chain
from zoo.chance import Chance
from zoo.contacts import COUPLINGS, chases, impact, impact_on_line, pushed
from zoo.drives import SHAPES, connect
from zoo.events import EVENTS, door, relay
from zoo.forces import FIELDS, LOSSES, PLANE_FIELDS
from zoo.movers import MOVERS
from zoo.observation import TWISTS, look
from zoo.rewards import ENDS, REWARDS, SIMPLE, ending, reward
from zoo.spec import Spec
from zoo.stocks import STOCKS
from zoo.text import program

FAMILIES = {**MOVERS, **STOCKS, "chain": chain, "cells": cells}
EASY = (
    "first_order", "second_order", "pendulum", "rotor", "point", "unicycle", "differential", "bicycle",
    "tanks", "leaky", "thermal", "predator_prey", "bioreactor", "cells",
)  # fmt: skip
MASSES = ("second_order", "pendulum", "rotor", "point")  # simple ones, for couplings
INTEGRATORS = ("explicit", "semi_implicit", "midpoint", "rk4")
TOUCHES = ("impact", "impact_on_line", "pushed")
PATIENCE = 15  # attempts before another kind of mover is drawn


def blueprint(chance: Chance, level: int) -> Blueprint:
    """An empty world with its own time step and pace."""
    dt, substeps = chance.log(0.01, 0.1), chance.pick((1, 1, 1, 2, 4, 5))
    step = float(f"{dt / substeps:.4g}")
    return Blueprint(chance, level, step, substeps, 1.0 / (step * substeps * chance.even(8.0, 30.0)))


def compose(name: str, seed: int, level: int, attempt: int, families: tuple[str, ...] | None) -> tuple[Spec, str, set]:
    """A world that has not been checked, its traced program, and the events that must be seen to happen."""
    chance = Chance(seed, level, attempt)
    world = blueprint(chance, level)
    world.kinds = Chance(seed, level, attempt // PATIENCE, 2)
    {1: _first, 2: _second, 3: _third, 4: _fourth}[level](world, families)
    return finished(world, name, seed)


def finished(world: Blueprint, name: str, seed: int) -> tuple[Spec, str, set]:
    """What every world has: a reward, an end, an observation, an integrator and a program."""
    chance, level = world.chance, world.level
    integrator = chance.pick(INTEGRATORS)
    if integrator == "semi_implicit" and not any(field.speed for field in world.fields.values()):
        integrator = "explicit"
    if not world.rates:
        integrator = "explicit"
    else:
        world.tag(f"integrator:{integrator}")
    worth, gap = reward(world, SIMPLE if level == 1 else REWARDS)
    end = ending(world, gap, chance.pick(("never", "never", "threshold") if level == 1 else ENDS))
    readouts = look(world, _twists(world), f"{worth} {end}")
    texts = [program(world, name, integrator, readouts, worth, end, traced) for traced in (False, True)]
    for event in (*world.events, *world.last):
        if event.tag in world.wanted:
            world.tag(event.tag)
    spec = Spec(
        name, seed, level, texts[0], world.fields, world.constants, readouts, world.tags, integrator,
        dt=float(f"{world.step_time * world.substeps:.6g}"),
        limit=chance.pick((100, 150, 200, 300)),
        action_low=world.action_low,
        action_high=world.action_high,
        choices=world.choices,
        names_given=chance.happens(0.4),
        tells_time=chance.happens(0.5),
        single=chance.happens(0.5),
    )  # fmt: skip
    return spec, texts[1], world.wanted


def _first(world: Blueprint, families: tuple[str, ...] | None) -> None:
    """One mover, one drive and at most one loss."""
    mover = _mover(world, families or EASY)
    connect(world, mover, [])
    if world.chance.happens(0.6):
        _loss(world, mover)


def _second(world: Blueprint, families: tuple[str, ...] | None) -> None:
    """A mover with a shaped drive or a field of force, and an event in half of them."""
    mover = _mover(world, families or tuple(FAMILIES))
    _drive(world, mover, 1 if world.chance.happens(0.4) else 0)
    if world.chance.happens(0.7):
        _loss(world, mover)
    if world.chance.happens(0.6):
        _field(world, mover)
    world.twists = 0 if _happens(world, 0.5) and _event(world, mover) else 1


def _third(world: Blueprint, families: tuple[str, ...] | None) -> None:
    """Two coupled movers, or one with a mode; a shaped drive; something hidden, derived or noisy."""
    mover = _mover(world, families or tuple(FAMILIES))
    _drive(world, mover, world.chance.whole(0, 1))
    _loss(world, mover)
    if mover.axes and _happens(world, 0.6):
        _couple(world, mover)
    elif mover.axes and _happens(world, 0.6):
        _relay(world, mover)
    elif not mover.axes:
        _follow(world, mover)
    if _happens(world, 0.5):
        _field(world, mover)
    _event(world, mover)
    world.twists = world.chance.whole(1, 2)


def _fourth(world: Blueprint, families: tuple[str, ...] | None) -> None:
    """Contact between bodies or a coupling, a switch with memory, events, and a twisted observation."""
    touch = world.kinds.pick(TOUCHES) if world.kinds.happens(0.5) else None
    kinds = {"impact": ("point", "ship"), "impact_on_line": ("second_order",), "pushed": ("point", "ship")}
    mover = _mover(world, families or kinds.get(touch, tuple(FAMILIES)))
    _drive(world, mover, world.chance.whole(0, 2))
    _loss(world, mover)
    if touch == "impact_on_line" and mover.axes and mover.axes[0].speed:
        impact_on_line(world, mover)
    elif touch and mover.plane:
        (impact if touch == "impact" and mover.plane[0].speed else pushed)(world, mover)
    elif mover.axes:
        _couple(world, mover)
    else:
        _relay(world, _follow(world, mover))
    if mover.axes and _happens(world, 0.5):
        _relay(world, mover)
    _field(world, mover)
    _event(world, mover)
    world.twists = world.chance.whole(1, 3)


def _happens(world: Blueprint, share: float) -> bool:
    return world.chance.happens(share)


def _mover(world: Blueprint, families: tuple[str, ...]) -> Mover:
    """The driven mover; its kind stays for a few attempts, so that kinds that are seldom fit are not lost."""
    mover = FAMILIES[world.kinds.pick(families)](world)
    world.movers.append(mover)
    world.tag(f"mover:{mover.kind}")
    return mover


def _drive(world: Blueprint, mover: Mover, shapes: int) -> None:
    connect(world, mover, world.chance.some(tuple(SHAPES), shapes) if mover.controls else [])


def _loss(world: Blueprint, mover: Mover) -> None:
    """The same kind of loss on every axis that something moves along."""
    kind = world.chance.pick(tuple(LOSSES))
    for axis in mover.axes:
        LOSSES[kind](world, axis)
    if mover.axes:
        world.tag(f"loss:{kind}")


def _field(world: Blueprint, mover: Mover) -> None:
    if mover.plane and _happens(world, 0.4):
        kind = world.chance.pick(tuple(PLANE_FIELDS))
        PLANE_FIELDS[kind](world, mover)
    elif mover.axes:
        kind = world.chance.pick(tuple(FIELDS))
        FIELDS[kind](world, world.chance.pick(mover.axes))
    else:
        return
    world.tag(f"field:{kind}")


def _event(world: Blueprint, mover: Mover) -> bool:
    """One event along an axis, or a wall with a door; False where nothing can happen to this mover."""
    if mover.plane and _happens(world, 0.35):
        door(world, mover)
        return True
    axes = [axis for axis in mover.axes if axis.place in world.fields]
    if not axes:
        return False
    axis = world.chance.pick(axes)
    kinds = [kind for kind in EVENTS if axis.speed or kind not in ("bounce", "ratchet")]
    EVENTS[world.chance.pick(kinds)](world, axis)
    return True


def _couple(world: Blueprint, mover: Mover) -> None:
    """A second mover that is not driven, coupled to the first."""
    other = FAMILIES[world.chance.pick(MASSES)](world)
    world.movers.append(other)
    world.tag(f"mover:{other.kind}")
    _loss(world, other)
    kind = world.chance.pick(tuple(COUPLINGS))
    pairs: list[tuple[Axis, Axis]] = list(zip(mover.axes, other.axes, strict=False))
    for one, two in pairs:
        COUPLINGS[kind](world, one, two)
    world.tag(f"coupling:{kind}")


def _follow(world: Blueprint, mover: Mover) -> Mover:
    """A second mover that is drawn to the first one's main field, which nothing else can push."""
    other = FAMILIES[world.chance.pick(("first_order", "second_order"))](world)
    world.movers.append(other)
    world.tag(f"mover:{other.kind}")
    _loss(world, other)
    chases(world, Axis(mover.main, None, "", mover.size, 1.0), other.axes[0])
    _event(world, other)
    world.tag("coupling:chases")
    return other


def _relay(world: Blueprint, mover: Mover) -> None:
    relay(world, world.chance.pick(mover.axes))
    world.tag("mode:relay")


def _twists(world: Blueprint) -> list[str]:
    speeds = any(field.speed for field in world.fields.values())
    return world.chance.some([twist for twist in TWISTS if speeds or twist != "hidden_speeds"], world.twists)
