"""Experiments that tell PushT's forms apart: the agent moves freely, pushes the block, and lets it go."""

from __future__ import annotations

import numpy as np

from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.sketch.probe import Probe

STEPS = 8


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """Free moves ask for the drive, pushes for the block, and letting go after a push for its response."""
    runs = [_free(graph, rng, strength) for strength in (0.3, 1.0)]
    runs += [_push(graph, rng, i) for i in range(5)]
    runs += [_release(graph, rng, i) for i in range(3)]
    return tuple(runs)


def _free(graph: SceneGraph, rng: np.random.Generator, strength: float) -> Probe:
    """Away from the block: a steady command, then none, then another."""
    block, angle = _block_pose(graph, rng)
    heading = rng.uniform(0, 2 * np.pi)
    away = block + _extent(graph) * 1.2 * _unit(heading)
    turn = rng.uniform(-0.7, 0.7)
    actions = np.concatenate([np.tile(strength * _unit(heading + turn), (3, 1)), np.zeros((2, 2)), np.tile(strength * _unit(heading - turn), (3, 1))])
    return Probe(f"move freely, strength {strength:g}", "drive", _start(away, block, angle), actions)


def _push(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """From beside the block into it, a little off its middle so that it also turns."""
    block, angle = _block_pose(graph, rng)
    heading = rng.uniform(0, 2 * np.pi)
    side = rng.uniform(-0.3, 0.3) * _extent(graph) * _unit(heading + np.pi / 2)
    beside = _middle(graph, block, angle) - _extent(graph) * 0.8 * _unit(heading) + side
    actions = np.tile(rng.uniform(0.4, 0.9) * _unit(heading), (STEPS, 1)) + rng.normal(0, 0.1, (STEPS, 2))
    return Probe(f"push {number + 1}", "block", _start(beside, block, angle), actions)


def _release(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """A hard push, then quickly back: does the block go on?"""
    block, angle = _block_pose(graph, rng)
    heading = rng.uniform(0, 2 * np.pi)
    beside = _middle(graph, block, angle) - _extent(graph) * 0.7 * _unit(heading)
    actions = np.concatenate([np.tile(_unit(heading), (4, 1)), np.tile(-_unit(heading), (STEPS - 4, 1))])
    return Probe(f"push and let go {number + 1}", "response", _start(beside, block, angle), actions)


def _block_pose(graph: SceneGraph, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Near the middle of the walls, so that a short push stays clear of them."""
    walls = [(item.pose.x, item.pose.y) for item in graph.objects if item.kind == "wall"]
    return np.mean(walls, axis=0) + rng.uniform(-20, 20, 2), float(rng.uniform(0, 2 * np.pi))


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
