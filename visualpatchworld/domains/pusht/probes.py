"""Experiments that tell PushT's forms apart: the agent moves freely, pushes the block, and lets it go."""

from __future__ import annotations

import numpy as np

from visualpatchworld.laws.probe import Probe
from visualpatchworld.scene.relations import gap
from visualpatchworld.scene.schema import Pose, SceneGraph

PUSH_STEPS = 5
STEPS = 8
PUSH_STRENGTH = 0.5
CLEARANCE = 0.02  # of the block's reach, between agent and block at the start of a push


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """Free moves ask for the drive, pushes for the block, and letting go after a push for its response."""
    runs = [_free(graph, rng, strength) for strength in (0.3, 1.0)]
    runs += [_push(graph, rng, i) for i in range(5)]
    runs += [_release(graph, rng, i) for i in range(3)]
    runs += [_rub(graph, rng, i) for i in range(2)]
    return tuple(runs)


def _free(graph: SceneGraph, rng: np.random.Generator, strength: float) -> Probe:
    """Past the block, then no command, then about the way back: whoever only sees pictures must not lose sight of the agent."""
    block, angle = _block_pose(graph, rng)
    heading = rng.uniform(0, 2 * np.pi)
    away = block + _extent(graph) * 1.2 * _unit(heading)
    past = heading + rng.choice([-1, 1]) * np.pi / 2 + rng.uniform(-0.3, 0.3)
    there, back = (np.tile(strength * _unit(way), (3, 1)) for way in (past, past + np.pi + rng.uniform(-0.3, 0.3)))
    actions = np.concatenate([there, np.zeros((2, 2)), back])
    return Probe(f"move freely, strength {strength:g}", "drive", _start(away, block, angle), actions)


def _push(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """From beside the block into it, a little off its middle so that it also turns, and then along it."""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = _block_before_push(graph, rng, heading)
    aim = _middle(graph, block, angle) + rng.uniform(-0.3, 0.3) * _extent(graph) * _unit(heading + np.pi / 2)
    strength, side = rng.uniform(0.3, PUSH_STRENGTH), rng.choice([-1, 1]) * np.pi / 2
    actions = np.concatenate([np.tile(_unit(heading), (PUSH_STEPS, 1)), np.tile(_unit(heading + side), (STEPS - PUSH_STEPS, 1))])
    actions = strength * actions + rng.normal(0, 0.1, (STEPS, 2))
    return Probe(f"push {number + 1}", "block", _start(_beside(graph, block, angle, aim, heading), block, angle), actions)


def _release(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """A hard push, then quickly back: does the block go on?"""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = _block_before_push(graph, rng, heading)
    start = _beside(graph, block, angle, _middle(graph, block, angle), heading)
    actions = PUSH_STRENGTH * np.concatenate([np.tile(_unit(heading), (4, 1)), np.tile(-_unit(heading), (STEPS - 4, 1))])
    return Probe(f"push and let go {number + 1}", "response", _start(start, block, angle), actions)


def _rub(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """Slanting into the block, so that the agent slides along it: is the block dragged along?"""
    heading = rng.uniform(0, 2 * np.pi)
    block, angle = _block_before_push(graph, rng, heading)
    start = _beside(graph, block, angle, _middle(graph, block, angle), heading)
    slanted = heading + rng.choice([-1, 1]) * rng.uniform(0.5, 0.8)
    actions = np.concatenate([np.tile(PUSH_STRENGTH * _unit(slanted), (PUSH_STEPS, 1)), np.zeros((STEPS - PUSH_STEPS, 2))])
    return Probe(f"push aslant {number + 1}", "contact", _start(start, block, angle), actions)


def _beside(graph: SceneGraph, block: np.ndarray, angle: float, aim: np.ndarray, heading: float) -> np.ndarray:
    """The last free place for the agent on the way to its aim."""
    posed = graph["block"].model_copy(update={"pose": Pose(x=block[0], y=block[1], angle=angle)})
    for distance in np.linspace(0.0, 2.0, 200) * _extent(graph):
        x, y = aim - distance * _unit(heading)
        if gap(graph["agent"].model_copy(update={"pose": Pose(x=x, y=y)}), posed) > CLEARANCE * _extent(graph):
            return np.array([x, y])
    raise AssertionError("twice the block's reach away from it there is always room")


def _block_pose(graph: SceneGraph, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Near the middle of the walls."""
    return np.mean(_walls(graph), axis=0) + rng.uniform(-20, 20, 2), float(rng.uniform(0, 2 * np.pi))


def _block_before_push(graph: SceneGraph, rng: np.random.Generator, heading: float) -> tuple[np.ndarray, float]:
    """As far back from the middle of the walls as a push may take the block beyond it: how far an action reaches, nobody knows yet."""
    place, angle = _block_pose(graph, rng)
    room = np.ptp(_walls(graph), axis=0).min() / 2
    back = max(room - np.linalg.norm(np.ptp(_corners(graph), axis=0)) / 2, 0.0) * 0.75
    return 2 * place - _middle(graph, place, angle) - back * _unit(heading), angle


def _walls(graph: SceneGraph) -> np.ndarray:
    return np.array([(item.pose.x or 0.0, item.pose.y or 0.0) for item in graph.objects if item.kind == "wall"])


def _corners(graph: SceneGraph) -> np.ndarray:
    return np.array([corner for polygon in graph["block"].geometry.polygons or () for corner in polygon])


def _middle(graph: SceneGraph, block: np.ndarray, angle: float) -> np.ndarray:
    corners = _corners(graph)
    x, y = (corners.min(axis=0) + corners.max(axis=0)) / 2
    return block + np.array([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y])


def _extent(graph: SceneGraph) -> float:
    """The block's longest reach plus the agent's radius: outside of it nothing touches."""
    return float(np.linalg.norm(_corners(graph), axis=1).max()) + (graph["agent"].geometry.radius or 0.0)


def _unit(heading: float) -> np.ndarray:
    return np.array([np.cos(heading), np.sin(heading)])


def _start(agent: np.ndarray, block: np.ndarray, angle: float) -> np.ndarray:
    return np.array([*agent, *block, angle % (2 * np.pi), 0.0, 0.0])
