"""One body that an action moves: by jumps among borders, walls and doors, or with a velocity that it may lose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from visualpatchworld.laws.drive import (
    carry,
    drag,
    keep_inside,
    push,
    rub,
    set_speed,
    stop_at_walls,
    walk,
    walk_by_power,
)
from visualpatchworld.laws.form import Body, Family, Form, Line, Probe, Scene, Shape, Use
from visualpatchworld.scene.schema import SceneObject

WALK_STEPS = 20
GLIDE_STEPS = 12
CROSSINGS = 4  # of a wall, anywhere along it
AT_A_DOOR = np.linspace(-0.3, 0.5, 8)  # of its half width, from either edge: where else a wall is crossed


def agent_of(scene: Scene) -> SceneObject | None:
    """The one thing in the scene that acts."""
    agents = [item for item in scene.of_kind("agent") if scene.fields(item, "pose.x")]
    return agents[0] if len(agents) == 1 else None


def walking(scene: Scene) -> Family | None:
    """A disc without velocity goes a way that grows with the action, and is stopped by what it may not enter."""
    agent = agent_of(scene)
    if agent is None or scene.action_dim != 2:
        return None
    place = scene.fields(agent, "pose.x", "pose.y")
    if len(place) != 2 or scene.fields(agent, "velocity.x", "velocity.y"):
        return None
    walks = {"linear": walk, "nonlinear": walk_by_power}
    stops = _stops(scene, agent)

    def build(choices: Mapping[str, str]) -> Form:
        drive = Use(walks[choices["transport"]], agent.name, (agent.name, "action"), of=agent.name)
        return Form(
            choices,
            f"{choices['transport']} transport, obstacles: {choices['obstacles']}.",
            scene.units,
            bodies=(Body(agent.name, place),),
            once=(Line("before", agent.name), drive) if "wall" in choices["obstacles"] else (drive,),
            last=stops[choices["obstacles"]],
            length_unit=scene.length_unit,
            size=scene.size,
        )

    def probes(rng: np.random.Generator) -> tuple[Probe, ...]:
        return (*_open_walks(scene, place, rng), *_border_walks(scene, place, rng), *_crossings(scene, place, rng))

    return Family({"transport": tuple(walks), "obstacles": tuple(stops)}, build, probes)


def _stops(scene: Scene, agent: SceneObject) -> dict[str, tuple[Use, ...]]:
    """What may stop a disc, the least first: nothing, the border, and walls that have doors."""
    stops: dict[str, tuple[Use, ...]] = {"none": ()}
    radius = Shape(
        f"{agent.name}_radius".upper(), agent.geometry.radius or 0.0, scene.length_unit, f"radius of the {agent.name}"
    )
    uses: tuple[Use, ...] = ()
    for border in scene.of_kind("border"):
        name, unit = border.name.upper(), scene.length_unit
        shapes = {
            "middle": Shape(f"{name}_MIDDLE", (border.pose.x, border.pose.y), unit, f"middle of the {border.name}"),
            "half_size": Shape(f"{name}_HALF_SIZE", border.geometry.half_sizes, unit, "half its inner size"),
            "radius": radius,
        }
        uses += (Use(keep_inside, agent.name, (agent.name,), shapes=shapes),)
        stops["border"] = uses
    walls = _walls(scene)
    if walls:
        doc = (
            "walls: the coordinate that each bounds (0 for x), its place, half its thickness, and place "
            "and half width of its doors"
        )
        shapes = {"walls": Shape("WALLS", walls, scene.length_unit, doc), "radius": radius}
        stop = Use(stop_at_walls, agent.name, ("before", agent.name), "wall", {"margin": "DOOR_MARGIN"}, shapes)
        stops["-and-".join([*list(stops)[1:], "wall"])] = (*uses, stop)
    return stops


def _walls(scene: Scene) -> tuple[tuple[int, float, float, tuple[tuple[float, float], ...]], ...]:
    """Each wall as (coordinate it bounds, place, half thickness, its doors as (place, half width))."""
    walls = []
    for wall in scene.of_kind("wall"):
        if wall.geometry.half_sizes is None:
            continue
        half = wall.geometry.half_sizes
        across = 0 if half[0] < half[1] else 1
        middle = (wall.pose.x or 0.0, wall.pose.y or 0.0)
        doors = []
        for door in scene.of_kind("door"):
            place, size = (door.pose.x or 0.0, door.pose.y or 0.0), door.geometry.half_sizes or (0.0, 0.0)
            if abs(place[across] - middle[across]) <= half[across]:
                doors.append((place[1 - across], size[1 - across]))
        walls.append((across, middle[across], half[across], tuple(doors)))
    return tuple(walls)


def _room(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half size of the room."""
    for border in scene.of_kind("border"):
        return np.array([border.pose.x, border.pose.y]), np.array(border.geometry.half_sizes)
    low, high = (np.array(corner[:2]) for corner in scene.workspace or ((-scene.size / 4,) * 2, (scene.size / 4,) * 2))
    return (low + high) / 2, (high - low) / 2


def _open_walks(scene: Scene, place: tuple[str, ...], rng: np.random.Generator) -> list[Probe]:
    """Back and forth in one part of the room, with weak and strong actions."""
    middle, half = _room(scene)
    runs = []
    for number in range(3):
        start = middle + half * np.array([rng.choice([-0.5, 0.5]), rng.uniform(-0.3, 0.3)])
        actions = rng.uniform(-1, 1, (WALK_STEPS // 2, 2))
        runs.append(
            Probe(
                f"walk in the open {number + 1}",
                "transport",
                _at(scene, place, start),
                np.concatenate([actions, -actions]),
            )
        )
    return runs


def _border_walks(scene: Scene, place: tuple[str, ...], rng: np.random.Generator) -> list[Probe]:
    """Straight to every side of the room."""
    middle, half = _room(scene)
    runs = []
    for name, direction in (("right", (1, 0)), ("down", (0, 1)), ("left", (-1, 0)), ("up", (0, -1))):
        aside = np.array([rng.choice([-0.5, 0.5]) if direction[0] == 0 else 0.0, 0.0])
        start = middle + half * (0.7 * np.array(direction) + aside + rng.uniform(-0.05, 0.05, 2))
        runs.append(
            Probe(
                f"walk {name} to the border",
                "obstacles",
                _at(scene, place, start),
                np.tile(np.array(direction, dtype=float), (WALK_STEPS, 1)),
            )
        )
    return runs


def _crossings(scene: Scene, place: tuple[str, ...], rng: np.random.Generator) -> list[Probe]:
    """Across every wall, or the middle where there is none: anywhere, and right at the edges of its doors."""
    middle, half = _room(scene)
    walls = _walls(scene) or ((0, float(middle[0]), 0.0, ()),)
    runs = []
    for number, (across, wall, _, doors) in enumerate(walls):
        along = 1 - across
        others = [
            abs(other - wall) / 2 for i, (axis, other, _, _) in enumerate(walls) if axis == across and i != number
        ]
        away = min([0.3 * half[across], *others])
        places = list(rng.uniform(-0.8, 0.8, CROSSINGS) * half[along] + middle[along])
        places += [door + (side + part) * reach for door, reach in doors for side in (-1, 1) for part in AT_A_DOOR]
        for spot in places:
            side = rng.choice([-1.0, 1.0])
            start, heading = np.zeros(2), np.zeros(2)
            start[across], start[along], heading[across] = wall + side * away, spot, -side
            actions = heading * rng.uniform(0.6, 1.0, (WALK_STEPS, 1))
            runs.append(Probe(f"cross the wall {len(runs) + 1}", "obstacles", _at(scene, place, start), actions))
    return runs


def _at(scene: Scene, place: tuple[str, ...], where: np.ndarray) -> np.ndarray:
    return scene.start(dict(zip(place, where.tolist(), strict=True)))


def gliding(scene: Scene) -> Family | None:
    """A body with a velocity, which the action sets or changes, and which it may lose."""
    agent = agent_of(scene)
    if agent is None:
        return None
    place, velocity = scene.fields(agent, "pose.x", "pose.y"), scene.fields(agent, "velocity.x", "velocity.y")
    if not len(place) == len(velocity) == scene.action_dim:
        return None
    pushed = Use(push, "velocity", ("velocity", "action", "dt"), names={"push": f"{agent.name}_push".upper()})
    laws: dict[tuple[str, str], tuple[Use, ...]] = {
        ("push", "free"): (pushed,),
        ("push", "drag"): (
            Use(drag, "velocity", ("velocity", "dt"), of=agent.name, names={"drag": f"{agent.name}_drag".upper()}),
            pushed,
        ),
        ("push", "dry"): (pushed, Use(rub, "velocity", ("velocity", "dt"), of=agent.name)),
    }
    setting = (Use(set_speed, "velocity", ("action",), of=agent.name),)

    def build(choices: Mapping[str, str]) -> Form:
        drives = {"speed": "an action sets the velocity", "push": "an action changes the velocity"}
        losses = {"free": "nothing slows it down", "drag": "drag slows it down", "dry": "dry friction slows it down"}
        return Form(
            choices,
            f"{drives[choices['action']]}; {losses[choices['loss']]}.",
            scene.units,
            bodies=(Body(agent.name, place), Body("velocity", velocity)),
            once=laws.get((choices["action"], choices["loss"]), setting),
            last=(Use(carry, agent.name, (agent.name, "velocity", "dt")),),
            clock="step",
            length_unit=scene.length_unit,
            size=scene.size,
        )

    def probes(rng: np.random.Generator) -> tuple[Probe, ...]:
        """A steady push asks what it changes; coasting after a push,
        a hard or a soft one, asks what holds the body back.
        """
        middle, _ = _room(scene)
        rest = scene.start(dict(zip(place, middle[: len(place)].tolist(), strict=True)))
        runs = []
        for i in range(3):
            strengths = rng.uniform(0.3, 1.0, (2, len(place))) * rng.choice([-1, 1], (2, len(place)))
            runs.append(Probe(f"push {i + 1}", "action", rest, np.tile(strengths[0], (GLIDE_STEPS, 1))))
            pushing = np.arange(GLIDE_STEPS)[:, None] < GLIDE_STEPS // 3
            runs.append(Probe(f"push and coast {i + 1}", "loss", rest, np.where(pushing, strengths[1], 0.0)))
        return tuple(runs)

    return Family({"action": ("speed", "push"), "loss": ("free", "drag", "dry")}, build, probes)
