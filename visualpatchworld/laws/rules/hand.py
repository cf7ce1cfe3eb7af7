"""Rules for a hand that may grip a block: forms, and probes that close it around, beside and above one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from visualpatchworld.laws.contact import rotate
from visualpatchworld.laws.form import Body, Family, Form, Hidden, Line, Probe, Scene, Shape, Use
from visualpatchworld.laws.grip import (
    close_fingers,
    fall,
    fall_onto,
    fingers_around,
    go_along,
    go_to_target,
    hold,
    hold_above,
    lag_behind_target,
    lowest_above,
)
from visualpatchworld.scene.schema import SceneObject

POSE = ("pose.x", "pose.y", "pose.z", "pose.angle")


def hand(scene: Scene) -> Family | None:
    """Actions move and turn a gripper and close its fingers; boxes
    are free of it, coupled to it, or held while it grips.
    """
    grippers = [item for item in scene.of_kind("gripper") if len(scene.fields(item, *POSE, "attributes.opening")) == 5]
    blocks = [
        item
        for item in scene.of_kind("block")
        if len(scene.fields(item, *POSE)) == 4 and len(item.geometry.half_sizes or ()) == 3
    ]
    if len(grippers) != 1 or not blocks or scene.action_dim != 5:
        return None
    gripper = grippers[0]
    fingers = scene.fields(gripper, "attributes.opening")[0]
    me = gripper.name
    inner = tuple(f"{me}_{part}" for part in ("out", "spin", "lift", "wrist"))
    close = Use(close_fingers, "closing", ("closing", "action[4]"), me)
    halves = {
        item.name: Shape(
            f"{item.name}_half".upper(), _half(item), scene.length_unit, f"half of the {item.name}'s height"
        )
        for item in blocks
    }

    def build(choices: Mapping[str, str]) -> Form:
        gripped, falls = (
            choices["object"] == "gripped",
            choices["object"] == "gripped" and choices["release"] == "falls",
        )
        bodies, hidden = [Body("hand", scene.fields(gripper, *POSE)), Body("closing", fingers)], []
        once: list[Use | Line] = [Line("before", "hand")] if choices["object"] != "free" else []
        if choices["effector"] == "lagged":
            bodies.append(Body("motion", inner))
            unit = f"{scene.length_unit} and rad per step, motions of the arm; not observed, like all that follow"
            hidden += [Hidden(name, "" if i else unit) for i, name in enumerate(inner)]
            once.append(Use(lag_behind_target, "hand, motion", ("hand", "motion", "action"), me))
        else:
            once.append(Use(go_to_target, "hand", ("hand", "action"), me))
        last: list[Use | Line] = [close]
        stacks = falls and choices.get("blocks") == "stack"
        for block in blocks:
            name, around, sinks = block.name, f"{block.name}_around", f"{block.name}_fall"
            half, pulls = {"half": halves[name]}, {"fall": "BLOCKS_FALL" if len(blocks) > 1 else f"{name}_fall".upper()}
            pose = scene.fields(block, *POSE)
            bodies.append(Body(name, (*pose, sinks) if falls else pose))
            if choices["object"] == "coupled":
                last.append(Use(go_along, name, (name, "before", "hand"), shapes=half))
            if gripped:
                bodies.append(Body(around, around))
                hidden += [Hidden(sinks, f"{scene.length_unit} per step")] if falls else []
                hidden.append(Hidden(around, f"0 as soon as the {name} is known not to be between the fingers", 1.0))
                once.append(Use(fingers_around, around, (around, "before", name, "closing"), me, shapes=half))
                held = (around, "before", "hand", "closing", name, "released")
                if stacks:
                    last += _stack(block, blocks, halves)
                    last.append(Use(fall_onto, "released", (name, "lowest"), names=pulls))
                    last.append(Use(hold_above, f"{name}, closing", (*held, "lowest"), me))
                else:
                    last.append(
                        Use(fall, "released", (name,), names=pulls, shapes=half) if falls else Line("released", name)
                    )
                    last.append(Use(hold, f"{name}, closing", held, me, shapes=half))
        title = f"{choices['effector']} hand, {choices['object']} block"
        title += f" that {choices['release']} when it is let go" if gripped else ""
        title += ", onto another if there is one below." if stacks else "."
        return Form(
            choices, title, scene.units, tuple(bodies), tuple(once), (), tuple(last), tuple(hidden),
            length_unit=scene.length_unit, size=scene.size,
        )  # fmt: skip

    axes = {"object": ("free", "coupled", "gripped"), "effector": ("direct", "lagged"), "release": ("floats", "falls")}
    if len(blocks) > 1:
        axes["blocks"] = ("pass", "stack")
    return Family(axes, build, probes_of(scene, gripper, blocks))


def _stack(block: SceneObject, blocks: Sequence[SceneObject], halves: Mapping[str, Shape]) -> list[Use | Line]:
    """How low a block can be, above the others."""
    found: list[Use | Line] = [Line("lowest", halves[block.name].name)]
    for other in (item for item in blocks if item is not block):
        shapes = {"half": halves[block.name], "other_half": halves[other.name]}
        found.append(Use(lowest_above, "lowest", ("lowest", block.name, other.name), shapes=shapes))
    return found


def _half(block: SceneObject) -> float:
    assert block.geometry.half_sizes is not None
    return block.geometry.half_sizes[2]


STEPS = 16
OPEN, CLOSE = -1.0, 1.0
# In halves of a block's edge: where a grip is tried, off the block's middle along the fingers' width, towards a finger
# and above.
OFF_MIDDLE = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
NEAR_MIDDLE = np.array([0.4, 0.17])  # of the workspace's half size: how far from its middle a block is put
# Heights as shares of the workspace's.
HIGH, CARRYING, PASSING, OVER, LOW = 0.65, (0.36, 0.65), 0.29, 0.25, 0.22


def probes_of(
    scene: Scene, gripper: SceneObject, blocks: Sequence[SceneObject]
) -> Callable[[np.random.Generator], tuple[Probe, ...]]:
    """Moves of the hand ask for the effector, passing and picking up a block for the object, and opening in the air for
    the release; grips off the block's middle are for the constants.
    """

    def probes(rng: np.random.Generator) -> tuple[Probe, ...]:
        table = Table(scene, gripper, blocks)
        runs = [_move(table, rng, i) for i in range(3)]
        runs += [_touch_down(table, rng, i) for i in range(2)]
        runs += [_pass(table, rng, i) for i in range(2)]
        runs += [_pick_up(table, rng, i) for i in range(3)]
        runs += [_grip(table, rng, f"beside its middle {i + 1}", beside=part) for i, part in enumerate(OFF_MIDDLE)]
        runs += [_come_down(table, rng, i, towards=part) for i, part in enumerate(OFF_MIDDLE)]
        runs += [_grip(table, rng, f"above its middle {i + 1}", above=part) for i, part in enumerate(OFF_MIDDLE)]
        runs += [_drop(table, rng, i) for i in range(3)]
        for block in blocks if len(blocks) > 1 else ():
            others = [item for item in blocks if item is not block]
            table = Table(scene, gripper, [block, *others])
            runs += [_pick_up(table, rng, i, f"pick up {block.name}") for i in range(2)]
            runs += [
                _let_go_above(table, rng, f"let go of {block.name} above {other.name} {i + 1}", other)
                for other in others
                for i in range(3)
            ]
        return tuple(runs)

    return probes


class Table:
    """The hand's workspace and the block that it is tried on; other blocks lie at the workspace's edge."""

    def __init__(self, scene: Scene, gripper: SceneObject, blocks: Sequence[SceneObject]):
        self._scene, self._gripper, self._blocks = scene, gripper, blocks
        low, high = scene.workspace or ((-scene.size / 4,) * 2 + (0.0,), (scene.size / 4,) * 2 + (scene.size / 4,))
        self._low, self._high = np.array(low), np.array(high)
        half = blocks[0].geometry.half_sizes
        assert half is not None
        self.half = half[2]

    def height(self, share: float) -> float:
        """Of the hand, as a share of the workspace's."""
        return float(self._low[2] + share * (self._high[2] - self._low[2]))

    @property
    def lowest(self) -> float:
        """Where the hand grips a block that lies on its support."""
        return max(self.half, float(self._low[2]))

    @property
    def aside(self) -> np.ndarray:
        """A way that leaves a block out of the hand's."""
        return np.array([0.0, (self._high[1] - self._low[1]) / 3])

    def spot(self, rng: np.random.Generator) -> np.ndarray:
        middle, half = (self._low + self._high)[:2] / 2, (self._high - self._low)[:2] / 2
        return middle + rng.uniform(-1, 1, 2) * NEAR_MIDDLE * half

    def start(
        self,
        hand: np.ndarray,
        height: float,
        yaw: float,
        block: np.ndarray,
        *,
        closing: float = 0.0,
        held: bool = False,
        below: str = "",
    ) -> np.ndarray:
        """The hand at a height, the block on its support and turned like
        the hand, or in the fingers; another one may lie below it.
        """
        numbers = dict(zip(self._scene.fields(self._gripper, *POSE), (*hand.tolist(), height, yaw), strict=True))
        numbers |= dict(
            zip(
                self._scene.fields(self._gripper, "attributes.opening", "attributes.contact"),
                (closing, float(held)),
                strict=False,
            )
        )
        first, *others = self._blocks
        z = height if held else self.half
        numbers |= dict(zip(self._scene.fields(first, *POSE), (*block.tolist(), z, yaw), strict=True))
        for i, other in enumerate(others):
            if other.name == below:
                numbers |= dict(zip(self._scene.fields(other, *POSE), (*block.tolist(), self.half, yaw), strict=True))
                continue
            side = -1.0 if (block[1] + hand[1]) / 2 > (self._low[1] + self._high[1]) / 2 else 1.0
            y = (self._low[1] + self._high[1]) / 2 + side * (self._high[1] - self._low[1]) * (0.5 - 0.1 * i)
            numbers |= dict(zip(self._scene.fields(other, *POSE), (self._low[0], y, self.half, 0.0), strict=True))
        return self._scene.start(numbers)


def _move(table: Table, rng: np.random.Generator, number: int) -> Probe:
    """High above there and back, with a rest after each: does the hand arrive, and does it stop?"""
    way = rng.uniform(0.3, 0.6, 5) * rng.choice([-1, 1], 5)
    actions = _phases((5, way), (3, np.zeros(5)), (5, -way), (3, np.zeros(5)))
    hand, yaw = table.spot(rng), rng.uniform(-1, 1)
    return Probe(
        f"move freely {number + 1}",
        "effector",
        table.start(hand, table.height(HIGH), yaw, hand + table.aside, closing=0.4),
        actions,
    )


def _touch_down(table: Table, rng: np.random.Generator, number: int) -> Probe:
    """Straight down onto the support, along it, and up again: how does the hand come to its lowest place?"""
    along = np.array([*rng.uniform(-0.5, 0.5, 2), -0.3, 0.0, OPEN])
    actions = _phases((7, [0, 0, -0.6, 0, OPEN]), (4, along), (5, [0, 0, 0.6, 0, OPEN]))
    hand, yaw = table.spot(rng), rng.uniform(-1, 1)
    return Probe(
        f"touch down {number + 1}", "effector", table.start(hand, table.height(LOW), yaw, hand + table.aside), actions
    )


def _pass(table: Table, rng: np.random.Generator, number: int) -> Probe:
    """With open fingers up and away from the block, and closing them on nothing: does it come along?"""
    block, yaw = table.spot(rng), rng.uniform(-1, 1)
    side = rng.choice([-1, 1])
    actions = _phases((5, [0, side * 0.5, 0.4, 0, OPEN]), (5, [0.3, 0, 0, 0.3, CLOSE]), (6, [-0.3, 0, -0.3, 0, OPEN]))
    start = table.start(block + side * table.aside / 2, table.height(PASSING), yaw, block)
    return Probe(f"pass the block {number + 1}", "object", start, actions)


def _pick_up(table: Table, rng: np.random.Generator, number: int, name: str = "pick up") -> Probe:
    """Close the fingers around the block, lift it, carry it sideways."""
    block, yaw = table.spot(rng), rng.uniform(-1, 1)
    carry = np.array([*rng.uniform(0.2, 0.5, 2) * rng.choice([-1, 1], 2), 0.1, rng.uniform(-0.3, 0.3), CLOSE])
    actions = _phases((5, [0, 0, 0, 0, CLOSE]), (6, [0, 0, 0.5, 0, CLOSE]), (5, carry))
    hand = block + rng.uniform(-0.2, 0.2, 2) * table.half
    return Probe(f"{name} {number + 1}", "object", table.start(hand, table.lowest, yaw, block), actions)


def _grip(table: Table, rng: np.random.Generator, name: str, beside: float = 0.0, above: float = 0.0) -> Probe:
    """Close the fingers where the block is off their middle, and lift:
    do they hold it? Where they just do not, they may flick it away.
    """
    block, yaw = table.spot(rng), rng.uniform(-1, 1)
    off = np.array([table.half * rng.choice([-1, 1]) * beside, 0.0])
    actions = _phases((5, [0, 0, 0, 0, CLOSE]), (STEPS - 5, [0, 0, 0.4, 0, CLOSE]))
    return Probe(
        f"grip {name}",
        "",
        table.start(block - rotate(off, yaw), table.lowest + above * table.half, yaw, block),
        actions,
    )


def _come_down(table: Table, rng: np.random.Generator, number: int, towards: float) -> Probe:
    """Come down with open fingers, one of them nearer to the block
    than the other, close them and lift: were they around it?
    """
    block, yaw = table.spot(rng), rng.uniform(-1, 1)
    off = np.array([0.0, table.half * rng.choice([-1, 1]) * towards])
    actions = _phases((6, [0, 0, -0.6, 0, OPEN]), (5, [0, 0, 0, 0, CLOSE]), (STEPS - 11, [0, 0, 0.5, 0, CLOSE]))
    start = table.start(block - rotate(off, yaw), table.height(OVER), yaw, block)
    return Probe(f"come down near a finger {number + 1}", "", start, actions)


def _drop(table: Table, rng: np.random.Generator, number: int) -> Probe:
    """Hold the block in the air, then open the fingers and keep the hand where it is."""
    place, yaw = table.spot(rng), rng.uniform(-1, 1)
    actions = _phases((3, [0, 0, 0, 0, CLOSE]), (13, [0, 0, 0, 0, OPEN]))
    start = table.start(place, table.height(rng.uniform(*CARRYING)), yaw, place, closing=0.5, held=True)
    return Probe(f"let go in the air {number + 1}", "release", start, actions)


def _let_go_above(table: Table, rng: np.random.Generator, name: str, other: SceneObject) -> Probe:
    """Hold the block above another, open the fingers and rise: does it come to lie on that?"""
    place, yaw = table.spot(rng), rng.uniform(-1, 1)
    actions = _phases((3, [0, 0, 0, 0, CLOSE]), (6, [0, 0, 0, 0, OPEN]), (7, [0, 0, 0.4, 0, OPEN]))
    height = table.height(0.0) + table.half * rng.uniform(3.5, 5.0)
    return Probe(
        name, "blocks", table.start(place, height, yaw, place, closing=0.5, held=True, below=other.name), actions
    )


def _phases(*phases: tuple[int, object]) -> np.ndarray:
    """Actions, each repeated for a number of steps."""
    return np.concatenate([np.tile(np.asarray(action, dtype=float), (steps, 1)) for steps, action in phases])
