"""Rules for bodies that push others: forms from who can touch whom, and probes that drive a disc into blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from visualpatchworld.laws.contact import follow, follow_when_near
from visualpatchworld.laws.drive import aim, glide, halt, pull, set_off, shift
from visualpatchworld.laws.form import Body, Family, Form, Hidden, Line, Probe, Scene, Shape, Use
from visualpatchworld.laws.rules.moving import agent_of
from visualpatchworld.laws.rules.touching import hull_of, yield_alone, yield_together
from visualpatchworld.scene.schema import Pose, SceneObject, gap

NOBODY: Mapping[str, Sequence[float]] = MappingProxyType({})
PUSH_STEPS = 5
STEPS = 8
PUSH_STRENGTH = 0.5
CLEARANCE = 0.02  # of the block's reach, between disc and block at the start of a push
NEAR_MIDDLE = 0.04  # of the room: how far from its middle a block is put


def pushing(scene: Scene) -> Family | None:
    """A disc with a velocity is drawn to a target or goes there directly; bodies with an outline are pushed, or not."""
    agent = agent_of(scene)
    blocks = sorted(pushable(scene), key=lambda block: not block.geometry.polygons)  # round ones last
    if agent is None or not blocks or scene.action_dim != 2:
        return None
    fields = scene.fields(agent, "pose.x", "pose.y", "velocity.x", "velocity.y")
    if len(fields) != 4:
        return None
    me = agent.name
    target = Use(aim, "target", (me, "action"), of=me)
    common = {"length_unit": scene.length_unit, "size": scene.size}

    def bodies(*, keep_motion: bool) -> tuple[tuple[Body, ...], tuple[Hidden, ...]]:
        found, hidden = [Body(me, fields)], []
        for block in blocks:
            pose = scene.fields(block, "pose.x", "pose.y", "pose.angle")
            seen = scene.fields(block, "velocity.x", "velocity.y", "velocity.spin")
            if keep_motion and len(seen) == 3:
                found.append(Body(block.name, (*pose, *seen)))
                continue
            unseen = tuple(f"{block.name}_{part}" for part in ("vx", "vy", "spin")) if keep_motion else ()
            found.append(Body(block.name, (*pose, *unseen)))
            docs = (f"{scene.length_unit}/s, of the centre of mass; not observed", "", "rad/s")
            hidden += [Hidden(name, doc) for name, doc in zip(unseen, docs, strict=False)]
        return tuple(found), tuple(hidden)

    def build(choices: Mapping[str, str]) -> Form:
        frozen, keep_motion = (
            choices["block"] == "frozen",
            choices["response"] == "inertial" and choices["block"] != "frozen",
        )
        rough, direct = choices["contact"] == "rough", choices["drive"] == "direct"
        gives = "pushed_{0}" if direct else "{0}"
        yields: list[Use | Line] = []
        if not frozen and choices.get("blocks") == "meet":
            yields += yield_together(scene, agent, blocks, rough=rough, keep_motion=keep_motion, gives=gives)
        elif not frozen:
            for block in blocks:
                yields += yield_alone(
                    scene, agent, block, blocks, rough=rough, keep_motion=keep_motion, gives=gives.format(block.name)
                )
        if direct:
            # Each block follows once the disc has moved; what the last physics step would have made of it is forgotten.
            moved = () if frozen else blocks
            ahead, back = _renamed(moved, "pushed_{0}", "{0}"), _renamed(moved, "{0}", "pushed_{0}")
            once = (Use(set_off, me, (me, "action", "STEP_SECONDS"), of=me), *ahead)
            often = (*back, Use(glide, me, (me, "dt")), *yields)
            last: tuple[Use, ...] = (Use(halt, me, (me,)),)
        else:
            once, often, last = (target,), (*yields, Use(pull, me, (me, "target", "dt"), of=me)), ()
        drawn, hidden = bodies(keep_motion=keep_motion)
        what = "frozen block" if frozen else f"{choices['response']} block, rigid {choices['contact']} contact"
        if len(blocks) > 1:
            what = what.replace("block", "blocks") + (
                ", each with every other" if choices["blocks"] == "meet" and not frozen else ""
            )
        return Form(
            choices, f"{choices['drive']} {me}, {what}.", scene.units, drawn, once, often, last, hidden, **common
        )

    def template(name: str, title: str, near: bool) -> Form:
        shifts: list[Use | Line] = [Line("before", me), Use(shift, me, (me, "action"), of=me)]
        for block in blocks:
            middle = Shape(
                f"{block.name}_middle".upper(),
                tuple(np.mean(hull_of(block), axis=0)) if block.geometry.polygons else (0.0, 0.0),
                scene.length_unit,
                "middle of its corners",
            )
            law, shapes = (follow_when_near, {"middle": middle}) if near else (follow, {})
            shifts.append(Use(law, block.name, (block.name, "before", me), of=block.name, shapes=shapes))
        return Form({"form": name}, title, scene.units, bodies(keep_motion=False)[0], tuple(shifts), **common)

    among = {"blocks": ("pass", "meet")} if len(blocks) > 1 else {}
    return Family(
        {
            "drive": ("direct", "PD"),
            "block": ("frozen", "pushed"),
            "response": ("quasi-static", "inertial"),
            "contact": ("smooth", "rough"),
            **among,
        },
        build,
        probes_of(scene, agent, blocks),
        extra=(
            template("linear", "linear template.", near=False),
            template("collision-gated", "collision gate.", near=True),
        ),
    )


def pushable(scene: Scene) -> tuple[SceneObject, ...]:
    """Bodies in the plane that can turn and have an outline."""
    return tuple(
        item
        for item in scene.objects
        if len(scene.fields(item, "pose.x", "pose.y", "pose.angle")) == 3
        and not item.fixed
        and (item.geometry.polygons or item.geometry.radius)
    )


def _renamed(blocks: Sequence[SceneObject], gives: str, takes: str) -> list[Line]:
    return [Line(gives.format(block.name), takes.format(block.name)) for block in blocks]


def probes_of(
    scene: Scene, agent: SceneObject, blocks: Sequence[SceneObject]
) -> Callable[[np.random.Generator], tuple[Probe, ...]]:
    """Free moves ask for the drive, pushes for the block, letting go
    after a push for its response, and rubbing for the contact.
    """

    def probes(rng: np.random.Generator) -> tuple[Probe, ...]:
        first = Table(scene, agent, blocks[0], blocks)
        runs = [_free(first, rng, strength) for strength in (0.3, 1.0)]
        for number, block in enumerate(blocks):
            table = Table(scene, agent, block, blocks)
            name = f"push {block.name}" if number else "push"
            runs += [_push(table, rng, f"{name} {i + 1}") for i in range(5)]
            runs += [_release(table, rng, f"{name} and let go {i + 1}") for i in range(3)]
            runs += [_rub(table, rng, f"{name} aslant {i + 1}") for i in range(2)]
            for other in (item for item in blocks if item is not block):
                runs += [_shove(table, rng, other, f"push {block.name} into {other.name} {i + 1}") for i in range(4)]
        return tuple(runs)

    return probes


class Table:
    """Disc and block in their room; other blocks are out of the way, in corners."""

    def __init__(self, scene: Scene, agent: SceneObject, block: SceneObject, blocks: Sequence[SceneObject]):
        self.agent, self.block = agent, block
        self._scene = scene
        self._others = [other for other in blocks if other is not block]
        walls = np.array([(item.pose.x or 0.0, item.pose.y or 0.0) for item in scene.of_kind("wall")])
        low, high = (walls.min(axis=0), walls.max(axis=0)) if len(walls) else map(np.array, _free_room(scene))
        self.room_middle, self.room_half = (low + high) / 2, (high - low) / 2
        self.corners = corners_of(block)
        # The block's longest reach plus the disc's radius: outside of it nothing touches.
        self.extent = float(np.linalg.norm(self.corners, axis=1).max()) + (agent.geometry.radius or 0.0)

    def pose(self, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """A place for the block near the middle of the room."""
        return self.room_middle + rng.uniform(-1, 1, 2) * 2 * NEAR_MIDDLE * self.room_half, float(
            rng.uniform(0, 2 * np.pi)
        )

    def before_push(self, rng: np.random.Generator, heading: float) -> tuple[np.ndarray, float]:
        """As far back from the room's middle as a push may take the
        block beyond it: how far an action reaches, nobody knows yet.
        """
        place, angle = self.pose(rng)
        back = max(self.room_half.min() - np.linalg.norm(np.ptp(self.corners, axis=0)) / 2, 0.0) * 0.75
        return 2 * place - self.middle(place, angle) - back * unit(heading), angle

    def middle(self, block: np.ndarray, angle: float) -> np.ndarray:
        """Of the block's outline."""
        x, y = (self.corners.min(axis=0) + self.corners.max(axis=0)) / 2
        return block + np.array([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y])

    def beside(self, block: np.ndarray, angle: float, aim: np.ndarray, heading: float) -> np.ndarray:
        """The last free place for the disc on the way to its aim."""
        posed = self.block.model_copy(update={"pose": Pose(x=block[0], y=block[1], angle=angle)})
        for distance in np.linspace(0.0, 2.0, 200) * self.extent:
            x, y = aim - distance * unit(heading)
            if gap(self.agent.model_copy(update={"pose": Pose(x=x, y=y)}), posed) > CLEARANCE * self.extent:
                return np.array([x, y])
        raise AssertionError("twice the block's reach away from it there is always room")

    def behind(
        self, block: np.ndarray, angle: float, other: SceneObject, turn: float, aside: np.ndarray, heading: float
    ) -> np.ndarray:
        """The first free place for another block beyond this one."""
        posed = self.block.model_copy(update={"pose": Pose(x=block[0], y=block[1], angle=angle)})
        reach = float(np.linalg.norm(corners_of(other), axis=1).max())
        for distance in np.linspace(0.0, 2.0, 200) * (self.extent + reach):
            x, y = aside + distance * unit(heading)
            if gap(other.model_copy(update={"pose": Pose(x=x, y=y, angle=turn)}), posed) > CLEARANCE * self.extent:
                return np.array([x, y])
        raise AssertionError("twice the blocks' reach away there is always room")

    def start(
        self, agent: np.ndarray, block: np.ndarray, angle: float, placed: Mapping[str, Sequence[float]] = NOBODY
    ) -> np.ndarray:
        """All at rest there; blocks that take no part lie in the corner that is farthest from disc and block."""
        numbers = dict(zip(self._scene.fields(self.agent, "pose.x", "pose.y"), agent.tolist(), strict=True))
        pose = ("pose.x", "pose.y", "pose.angle")
        numbers |= dict(zip(self._scene.fields(self.block, *pose), (*block.tolist(), angle), strict=True))
        taken = [agent, block]
        for other in self._others:
            if other.name in placed:
                taken.append(np.array(placed[other.name][:2]))
                numbers |= dict(zip(self._scene.fields(other, *pose), placed[other.name], strict=True))
                continue
            room = self.room_half - 1.1 * float(np.linalg.norm(corners_of(other), axis=1).max())
            places = [self.room_middle + np.array(side) * room for side in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            place = max(places, key=lambda spot: min(float(np.linalg.norm(spot - thing)) for thing in taken))
            taken.append(place)
            numbers |= dict(zip(self._scene.fields(other, *pose), (*place.tolist(), 0.0), strict=True))
        return self._scene.start(numbers)


def _free(table: Table, rng: np.random.Generator, strength: float) -> Probe:
    """Past the block, then no command, then about the way back:
    whoever only sees pictures must not lose sight of the disc.
    """
    block, angle = table.pose(rng)
    heading = rng.uniform(0, 2 * np.pi)
    away = block + table.extent * 1.2 * unit(heading)
    past = heading + rng.choice([-1, 1]) * np.pi / 2 + rng.uniform(-0.3, 0.3)
    there, back = (np.tile(strength * unit(way), (3, 1)) for way in (past, past + np.pi + rng.uniform(-0.3, 0.3)))
    actions = np.concatenate([there, np.zeros((2, 2)), back])
    return Probe(f"move freely, strength {strength:g}", "drive", table.start(away, block, angle), actions)


def _push(table: Table, rng: np.random.Generator, name: str) -> Probe:
    """From beside the block into it, a little off its middle so that it also turns, and then along it."""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = table.before_push(rng, heading)
    aim = table.middle(block, angle) + rng.uniform(-0.3, 0.3) * table.extent * unit(heading + np.pi / 2)
    strength, side = rng.uniform(0.3, PUSH_STRENGTH), rng.choice([-1, 1]) * np.pi / 2
    actions = np.concatenate(
        [np.tile(unit(heading), (PUSH_STEPS, 1)), np.tile(unit(heading + side), (STEPS - PUSH_STEPS, 1))]
    )
    actions = strength * actions + rng.normal(0, 0.1, (STEPS, 2))
    return Probe(name, "block", table.start(table.beside(block, angle, aim, heading), block, angle), actions)


def _release(table: Table, rng: np.random.Generator, name: str) -> Probe:
    """A hard push, then quickly back: does the block go on?"""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = table.before_push(rng, heading)
    start = table.beside(block, angle, table.middle(block, angle), heading)
    actions = PUSH_STRENGTH * np.concatenate([np.tile(unit(heading), (4, 1)), np.tile(-unit(heading), (STEPS - 4, 1))])
    return Probe(name, "response", table.start(start, block, angle), actions)


def _rub(table: Table, rng: np.random.Generator, name: str) -> Probe:
    """Slanting into the block, so that the disc slides along it: is the block dragged along?"""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = table.before_push(rng, heading)
    start = table.beside(block, angle, table.middle(block, angle), heading)
    slanted = heading + rng.choice([-1, 1]) * rng.uniform(0.5, 0.8)
    actions = np.concatenate(
        [np.tile(PUSH_STRENGTH * unit(slanted), (PUSH_STEPS, 1)), np.zeros((STEPS - PUSH_STEPS, 2))]
    )
    return Probe(name, "contact", table.start(start, block, angle), actions)


def _shove(table: Table, rng: np.random.Generator, other: SceneObject, name: str) -> Probe:
    """Into the block with another one behind it, and then along: does that yield, too?"""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = table.before_push(rng, heading)
    middle, turn = table.middle(block, angle), float(rng.uniform(0, 2 * np.pi))
    aside = middle + rng.uniform(-0.3, 0.3) * table.extent * unit(heading + np.pi / 2)
    place = table.behind(block, angle, other, turn, aside, heading)
    start = table.beside(block, angle, middle, heading)
    side = rng.choice([-1, 1]) * np.pi / 2
    actions = np.concatenate(
        [np.tile(unit(heading), (PUSH_STEPS, 1)), np.tile(unit(heading + side), (STEPS - PUSH_STEPS, 1))]
    )
    actions = rng.uniform(0.5, 0.8) * PUSH_STRENGTH * actions + rng.normal(0, 0.05, (STEPS, 2))
    return Probe(name, "blocks", table.start(start, block, angle, {other.name: (*place.tolist(), turn)}), actions)


def corners_of(block: SceneObject) -> np.ndarray:
    """All corners of an outline; of a round one, those of the square around it."""
    radius = block.geometry.radius or 0.0
    square = ((-radius, -radius), (radius, -radius), (radius, radius), (-radius, radius))
    return np.array([corner for polygon in block.geometry.polygons or (square,) for corner in polygon])


def unit(heading: float) -> np.ndarray:
    """The direction of a heading."""
    return np.array([np.cos(heading), np.sin(heading)])


def _free_room(scene: Scene) -> tuple[tuple[float, ...], tuple[float, ...]]:
    half = (scene.size / 4, scene.size / 4)
    return scene.workspace or ((-half[0], -half[1]), half)
