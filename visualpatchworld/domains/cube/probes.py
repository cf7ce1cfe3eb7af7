"""Experiments that tell Cube's forms apart: the hand moves alone, passes the block, picks it up, and lets it go."""

from __future__ import annotations

import numpy as np

from visualpatchworld.laws.probe import Probe
from visualpatchworld.laws.vector import rotate
from visualpatchworld.scene.schema import SceneGraph

STEPS = 16
MIDDLE_M = np.array([0.42, 0.0])  # of the table before the arm; there is room all around it
LOW_M = 0.02  # the fingers do not touch the table
OPEN, CLOSE = -1.0, 1.0
# In halves of the block's edge: where a grip is tried, off the block's middle along the fingers' width, towards a finger and above.
BESIDE = TOWARDS = ABOVE = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


def probes(graph: SceneGraph, rng: np.random.Generator) -> tuple[Probe, ...]:
    """Moves of the hand ask for the effector, passing and picking up the block for the object, and opening in the air for the release;
    grips off the block's middle are for the constants."""
    runs = [_move(graph, rng, i) for i in range(3)]
    runs += [_touch_down(graph, rng, i) for i in range(2)]
    runs += [_pass(graph, rng, i) for i in range(2)]
    runs += [_pick_up(graph, rng, i) for i in range(3)]
    runs += [_grip(graph, rng, f"beside its middle {i + 1}", beside=part) for i, part in enumerate(BESIDE)]
    runs += [_come_down(graph, rng, i, towards=part) for i, part in enumerate(TOWARDS)]
    runs += [_grip(graph, rng, f"above its middle {i + 1}", above=part) for i, part in enumerate(ABOVE)]
    runs += [_drop(graph, rng, i) for i in range(3)]
    return tuple(runs)


def _move(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """High above the table there and back, with a rest after each: does the hand arrive, and does it stop?"""
    way = rng.uniform(0.3, 0.6, 5) * rng.choice([-1, 1], 5)
    actions = _phases((5, way), (3, np.zeros(5)), (5, -way), (3, np.zeros(5)))
    hand, yaw = _spot(rng), rng.uniform(-1, 1)
    return Probe(
        f"move freely {number + 1}", "effector", _start(graph, hand, 0.2, yaw, hand + np.array([0, 0.2]), yaw, opening=0.4), actions
    )


def _touch_down(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """Straight down onto the table, along it, and up again: how does the hand come to its lowest place?"""
    along = np.array([*rng.uniform(-0.5, 0.5, 2), -0.3, 0.0, OPEN])
    actions = _phases((7, [0, 0, -0.6, 0, OPEN]), (4, along), (5, [0, 0, 0.6, 0, OPEN]))
    hand, yaw = _spot(rng), rng.uniform(-1, 1)
    return Probe(f"touch down {number + 1}", "effector", _start(graph, hand, 0.08, yaw, hand + np.array([0, 0.2]), yaw), actions)


def _pass(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """With open fingers up and away from the block, and closing them on nothing: does it come along?"""
    block, yaw = _spot(rng), rng.uniform(-1, 1)
    side = rng.choice([-1, 1])
    actions = _phases((5, [0, side * 0.5, 0.4, 0, OPEN]), (5, [0.3, 0, 0, 0.3, CLOSE]), (6, [-0.3, 0, -0.3, 0, OPEN]))
    return Probe(f"pass the block {number + 1}", "object", _start(graph, block + np.array([0, side * 0.1]), 0.1, yaw, block, yaw), actions)


def _pick_up(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """Close the fingers around the block, lift it, carry it sideways."""
    block, yaw = _spot(rng), rng.uniform(-1, 1)
    half = _half(graph)
    carry = np.array([*rng.uniform(0.2, 0.5, 2) * rng.choice([-1, 1], 2), 0.1, rng.uniform(-0.3, 0.3), CLOSE])
    actions = _phases((5, [0, 0, 0, 0, CLOSE]), (6, [0, 0, 0.5, 0, CLOSE]), (5, carry))
    hand = block + rng.uniform(-0.2, 0.2, 2) * half
    return Probe(f"pick up {number + 1}", "object", _start(graph, hand, max(half, LOW_M), yaw, block, yaw), actions)


def _grip(graph: SceneGraph, rng: np.random.Generator, name: str, beside: float = 0.0, above: float = 0.0) -> Probe:
    """Close the fingers where the block is off their middle, and lift: do they hold it? Where they just do not, they may flick it away."""
    block, yaw = _spot(rng), rng.uniform(-1, 1)
    half = _half(graph)
    off = np.array([half * rng.choice([-1, 1]) * beside, 0.0])
    actions = _phases((5, [0, 0, 0, 0, CLOSE]), (STEPS - 5, [0, 0, 0.4, 0, CLOSE]))
    start = _start(graph, block - rotate(off, yaw), max(half, LOW_M) + above * half, yaw, block, yaw)
    return Probe(f"grip {name}", "", start, actions)


def _come_down(graph: SceneGraph, rng: np.random.Generator, number: int, towards: float) -> Probe:
    """Come down with open fingers, one of them nearer to the block than the other, close them and lift: were they around it?"""
    block, yaw = _spot(rng), rng.uniform(-1, 1)
    off = np.array([0.0, _half(graph) * rng.choice([-1, 1]) * towards])
    actions = _phases((6, [0, 0, -0.6, 0, OPEN]), (5, [0, 0, 0, 0, CLOSE]), (STEPS - 11, [0, 0, 0.5, 0, CLOSE]))
    return Probe(f"come down near a finger {number + 1}", "", _start(graph, block - rotate(off, yaw), 0.09, yaw, block, yaw), actions)


def _drop(graph: SceneGraph, rng: np.random.Generator, number: int) -> Probe:
    """Hold the block in the air, then open the fingers and keep the hand where it is."""
    place, yaw = _spot(rng), rng.uniform(-1, 1)
    actions = _phases((3, [0, 0, 0, 0, CLOSE]), (13, [0, 0, 0, 0, OPEN]))
    start = _start(graph, place, rng.uniform(0.12, 0.2), yaw, place, yaw, opening=0.5)
    start[5], start[8] = 1.0, start[2]
    return Probe(f"let go in the air {number + 1}", "release", start, actions)


def _phases(*phases: tuple[int, object]) -> np.ndarray:
    """Actions, each repeated for a number of steps."""
    return np.concatenate([np.tile(np.asarray(action, dtype=float), (steps, 1)) for steps, action in phases])


def _spot(rng: np.random.Generator) -> np.ndarray:
    return MIDDLE_M + rng.uniform(-0.05, 0.05, 2)


def _half(graph: SceneGraph) -> float:
    half_sizes = graph["block"].geometry.half_sizes
    assert half_sizes is not None
    return half_sizes[2]


def _start(
    graph: SceneGraph, hand: np.ndarray, height: float, yaw: float, block: np.ndarray, block_yaw: float, opening: float = 0.0
) -> np.ndarray:
    """The hand at a height over the table, the block on it."""
    return np.array([*hand, height, yaw, opening, 0.0, *block, _half(graph), block_yaw])
