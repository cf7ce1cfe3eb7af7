"""Probes of boundaries: where a world can be put into chosen states, looks beyond all that was visited, and at where that begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.march import march
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.transitions import Transitions
from visualpatchworld.program.program import Program
from visualpatchworld.world.collect import record, replay
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

LEAST_PLACES = 6  # visited, to find and check how places show
ALIKE = 1e-4  # of a field's spread: how far a state may be from the one that was asked for
NUDGE = 0.5  # the most that a number of a place is moved by to see what it does, so that no angle makes half a turn
GROWTH = 1.4  # from one look outward to the next
OUTWARD, OUTWARD_SPEED = 6, 3  # looks beyond what was visited, of a coordinate and of a velocity
HALVINGS = 16
BASES = 3  # states that a ray may begin in, until one is found in which nothing happens
FEW_VALUES = 3  # a reward of so many values at most is told by its value
SPEEDS = (0.3, 0.6, 0.95)  # quantiles of speed with which an edge is run into
RUN_STEPS = 8
SEGMENTS = 6  # between an event and a step without one, for each of what happened


class Places:
    """Which place of a world shows a chosen state; found by moving one number of a place at a time and looking, which takes no step."""

    def __init__(self, world: World, reading: Reading, place: np.ndarray, slopes: Float[np.ndarray, "S P"]):
        self.world, self.reading = world, reading
        self._place, self._back = place, np.linalg.pinv(slopes, rcond=1e-6)
        self._state = _shown(world, reading, place)

    def put(self, state: Float[np.ndarray, " S"]) -> Float[np.ndarray, " O"]:
        """The world in this state; what is then observed."""
        return self.world.set_place(self._place + self._back @ (state - self._state))


def find_places(world: World, reading: Reading, visited: Sequence[np.ndarray]) -> Places | None:
    """How states become places, where that is a shift and a stretch of numbers; None where it is not, or where no place can be set."""
    if "place" not in world.powers or len(visited) < LEAST_PLACES:
        return None
    known = np.array(visited)
    turning = _turning(reading)
    try:
        first, middle = known[0], _shown(world, reading, known[0])
        columns = []
        for i, spread in enumerate(known.std(axis=0)):
            nudged = first.copy()
            nudged[i] += (by := float(np.clip(spread, 1e-3, NUDGE)))
            columns.append(_apart(_shown(world, reading, nudged), middle, turning) / by)
        slopes = np.stack(columns, axis=1)
        states = np.array([_shown(world, reading, place) for place in known[1 :: max(1, len(known) // LEAST_PLACES)]])
        places = Places(world, reading, first, slopes)
        spread = np.maximum(states.std(axis=0), 1e-6)
        for state in states:
            back = reading.states(Trajectory(np.array([places.put(state)]), np.zeros((0, len(world.action_space)))))[0]
            if (np.abs(_apart(back, state, turning)) > ALIKE * spread).any():
                return None
    except VpwError:
        return None
    return places


class Look(NamedTuple):
    """One step from a chosen state: what it was, and what happened: an end, what it paid if that has few values, or a step unforeseen."""

    trajectory: Trajectory
    happened: tuple[bool, float, bool]


class Edge(NamedTuple):
    """Where, on the way outward in one field, something begins to happen."""

    field: int
    side: int
    base: Float[np.ndarray, " S"]
    value: float
    unforeseen: bool


class Probe:
    """Looks at chosen states, compared with what a program foresees, within a number of steps."""

    def __init__(
        self,
        places: Places,
        program: Program | None,
        tolerance: Float[np.ndarray, " S"],
        steps: Transitions,
        most: int,
        rng: np.random.Generator,
        clock: Clock = NO_LIMIT,
    ):
        self.clock = clock
        self.places, self.program, self.tolerance, self.steps, self.rng = places, program, tolerance, steps, rng
        self.world = places.world
        self.looks: list[Trajectory] = []
        self.runs: list[Trajectory] = []
        self._until = self.world.env_steps + most
        self._few = len(np.unique(np.round(steps.rewards[np.isfinite(steps.rewards)], 9))) <= FEW_VALUES

    @property
    def room(self) -> int:
        return 0 if self.clock.over else self._until - self.world.env_steps

    def look(self, state: Float[np.ndarray, " S"], action: Float[np.ndarray, " A"]) -> Look | None:
        """What a step from there brings; None where the world does not take the state, or no steps are left."""
        needed = 1 if self.world.shows_places_alike else 2
        if self.room < needed:
            return None
        try:
            trajectory = record(self.world, self.places.put(state), replay([action] * needed), placed=True)
        except VpwError:
            return None
        if not len(trajectory):
            return None
        self.looks.append(trajectory)
        paid = 0.0 if trajectory.rewards is None or not self._few else round(float(trajectory.rewards[-1]), 9)
        return Look(trajectory, (trajectory.terminated, paid, self._unforeseen(trajectory)))

    def _unforeseen(self, trajectory: Trajectory) -> bool:
        if self.program is None:
            return False
        states = self.places.reading.states(trajectory)
        given = march(self.program, states[:1], trajectory.actions[None, :1])[0, 0]
        return bool((np.abs(given - states[1]) > self.tolerance).any())

    def rays(self) -> list[Edge]:
        """Outward from visited states in every field, both ways: where something begins to happen, narrowed by halving."""
        reading, names = self.places.reading, self.steps.names
        velocities = {c.velocity for c in reading.coordinates}
        angles = {c.name for c in reading.coordinates if c.angle}
        moving = [k for k, name in enumerate(names) if name not in (*reading.hidden, *(parameter for parameter, _ in reading.parameters))]
        edges = []
        for k, side in [(k, side) for k in moving for side in (1, -1)]:
            seen = self.steps.before[:, k]
            middle = float(np.median(seen))
            reach = max(float((side * (seen - middle)).max()), 1e-3 * float(np.ptp(seen)))
            looks = OUTWARD_SPEED if names[k] in velocities else OUTWARD
            values = [middle + side * reach * GROWTH**j for j in range(looks + 1)]
            edge = self._ray(k, side, [value for value in values if names[k] not in angles or abs(value - middle) < 2 * np.pi])
            edges += [edge] if edge is not None else []
        return edges

    def _ray(self, k: int, side: int, values: Sequence[float]) -> Edge | None:
        quiet = np.flatnonzero(~self.steps.ended)
        for row in self.rng.choice(quiet, size=min(BASES, len(quiet)), replace=False):
            base, action = self.steps.before[row].copy(), self.steps.actions[row]
            speed = self._speed_of(k)
            if speed is not None:  # outward means on the way out, too
                base[speed] = side * abs(base[speed])
            first = self.look(base, action)
            if first is None or first.happened[0] or first.happened[2]:
                continue
            inside = base
            for value in values:
                outside = base.copy()
                outside[k] = value
                found = self.look(outside, action)
                if found is None:
                    return None
                if found.happened != first.happened:
                    inside, outside = self.halve(inside, outside, action, first)
                    edge = (inside[k] + outside[k]) / 2
                    return Edge(k, side, base, float(edge), found.happened[2] and not found.happened[0])
                inside = outside
            return None
        return None

    def _speed_of(self, k: int) -> int | None:
        """The column of a coordinate's velocity, where one is seen."""
        reading, name = self.places.reading, self.steps.names[k]
        speeds = [c.velocity for c in reading.coordinates if c.name == name and c.velocity is not None]
        return self.steps.names.index(speeds[0]) if speeds and speeds[0] not in reading.hidden else None

    def halve(self, inside, outside, action, quiet: Look) -> tuple[np.ndarray, np.ndarray]:
        """Two states, closer and closer, between which something begins to happen that does not in the quiet one."""
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            found = self.look(middle, action)
            if found is None:
                break
            inside, outside = (middle, outside) if found.happened == quiet.happened else (inside, middle)
        return inside, outside

    def segments(self, happened: Bool[np.ndarray, " N"]) -> None:
        """Between steps with which something happened and steps with which it did not: where does it begin?"""
        events, others = np.flatnonzero(happened), np.flatnonzero(~happened)
        if not len(events) or not len(others):
            return
        for row in self.rng.choice(events, size=min(SEGMENTS, len(events)), replace=False):
            action = self.steps.actions[row]
            inside, outside = self.steps.before[self.rng.choice(others)], self.steps.before[row]
            quiet, event = self.look(inside, action), self.look(outside, action)
            if quiet is not None and event is not None and quiet.happened[:2] != event.happened[:2]:
                self.halve(inside, outside, action, quiet)

    def run_into(self, edges: Sequence[Edge], actions: Sequence[Float[np.ndarray, " A"]]) -> None:
        """Short episodes into edges at which steps were unforeseen, each with several speeds."""
        for edge in edges:
            v = self._speed_of(edge.field)
            if not edge.unforeseen or v is None:
                continue
            for share in SPEEDS:
                state = edge.base.copy()
                state[v] = edge.side * np.quantile(np.abs(self.steps.before[:, v]), share)
                state[edge.field] = edge.value - 1.5 * self.places.reading.dt * state[v]
                if self.room < RUN_STEPS:
                    return
                held = actions[int(self.rng.integers(len(actions)))]
                try:
                    run = record(self.world, self.places.put(state), replay([held] * RUN_STEPS), placed=True)
                except VpwError:
                    continue
                self.runs += [run] if len(run) >= 2 else []


def _shown(world: World, reading: Reading, place: np.ndarray) -> Float[np.ndarray, " S"]:
    return reading.states(Trajectory(np.array([world.set_place(place)]), np.zeros((0, len(world.action_space)))))[0]


def _turning(reading: Reading) -> Bool[np.ndarray, " S"]:
    angles = {c.name for c in reading.coordinates if c.angle}
    return np.array([name in angles for name in reading.state_names])


def _apart(one: np.ndarray, other: np.ndarray, turning: Bool[np.ndarray, " S"]) -> np.ndarray:
    """The difference of two states, of angles the short way round."""
    apart = one - other
    return np.where(turning, np.mod(apart + np.pi, 2 * np.pi) - np.pi, apart)
