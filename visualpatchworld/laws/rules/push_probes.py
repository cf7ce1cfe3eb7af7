"""Probes that drive a disc into blocks: free moves, pushes, letting go, rubbing, and one block shoved into another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from visualpatchworld.laws.probe import Probe
from visualpatchworld.laws.scene import Scene
from visualpatchworld.scene.schema import Pose, SceneObject, gap

NOBODY: Mapping[str, Sequence[float]] = MappingProxyType({})
PUSH_STEPS = 5
STEPS = 8
PUSH_STRENGTH = 0.5
CLEARANCE = 0.02  # of the block's reach, between disc and block at the start of a push
NEAR_MIDDLE = 0.04  # of the room: how far from its middle a block is put


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
