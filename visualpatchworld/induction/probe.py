"""Where random actions never come: looks at chosen states beyond
all that was visited, pumped energy, and plans to an extreme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from visualpatchworld.errors import VpwError
from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.march import march
from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.transitions import Transitions, chain_heights, state_atoms, wrap
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.world.collect import Policy, record, replay, whole_numbers
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

LEAST_PLACES = 6  # visited, to find and check how places show
ALIKE = 1e-4  # of a field's spread: how far a state may be from the one that was asked for
NUDGE = 0.5  # the most that a number of a place is moved by to see what it does, so that no angle makes half a turn
GROWTH = 1.4  # from one look outward to the next
OUTWARD, OUTWARD_SPEED = 6, 3  # looks beyond what was visited, of a coordinate and of a velocity
HALVINGS = 16
BASES = 3  # states that a ray may begin in, until one is found in which nothing happens
FEW_VALUES = 3  # a reward of so many values at most is named by its value
SPEEDS = (0.3, 0.6, 0.95)  # quantiles of speed with which an edge is run into
RUN_STEPS = 8
SEGMENTS = 6  # between an event and a step without one, for each of what happened
HOLDS = (1, 2, 4, 8, 16, 32)  # steps for which a drawn action stays the same
NUM_DRAWS = 1024
ROUNDS = 4
MOST_STEPS = 200

StatePolicy = Callable[[Float[np.ndarray, "T+1 S"]], Float[np.ndarray, " A"]]


class Places:
    """Which place of a world shows a chosen state; found by moving one
    number of a place at a time and looking, which takes no step.
    """

    def __init__(self, world: World, reading: Reading, place: np.ndarray, slopes: Float[np.ndarray, "S P"]):
        self.world, self.reading = world, reading
        self._place, self._back = place, np.linalg.pinv(slopes, rcond=1e-6)
        self._state = _shown(world, reading, place)

    def put(self, state: Float[np.ndarray, " S"]) -> Float[np.ndarray, " O"]:
        """The world in this state; what is then observed."""
        return self.world.set_place(self._place + self._back @ (state - self._state))


def find_places(world: World, reading: Reading, visited: Sequence[np.ndarray]) -> Places | None:
    """How states become places, where that is a shift and a stretch
    of numbers; None where it is not, or where no place can be set.
    """
    if "place" not in world.powers or len(visited) < LEAST_PLACES:
        return None
    if len({np.shape(place) for place in visited}) > 1:
        return None
    known = np.array(visited)
    if whole_numbers(known).any():
        return None
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
    """One step from a chosen state: what it was, and what happened: an
    end, what it paid if that has few values, or a step mispredicted.
    """

    trajectory: Trajectory
    happened: tuple[bool, float, bool]


class Edge(NamedTuple):
    """Where, on the way outward in one field, something begins to happen."""

    field: int
    side: int
    base: Float[np.ndarray, " S"]
    value: float
    mispredicted: bool


class Probe:
    """Looks at chosen states, compared with what a program predicts, within a number of steps."""

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
        return Look(trajectory, (trajectory.terminated, paid, self._mispredicted(trajectory)))

    def _mispredicted(self, trajectory: Trajectory) -> bool:
        if self.program is None:
            return False
        states = self.places.reading.states(trajectory)
        given = march(self.program, states[:1], trajectory.actions[None, :1])[0, 0]
        return bool((np.abs(given - states[1]) > self.tolerance).any())

    def rays(self) -> list[Edge]:
        """Outward from visited states in every field, both ways:
        where something begins to happen, narrowed by halving.
        """
        reading, names = self.places.reading, self.steps.names
        velocities = {c.velocity for c in reading.coordinates}
        angles = {c.name for c in reading.coordinates if c.angle}
        moving = [
            k
            for k, name in enumerate(names)
            if name not in (*reading.hidden, *(parameter for parameter, _ in reading.parameters))
        ]
        edges = []
        for k, side in [(k, side) for k in moving for side in (1, -1)]:
            seen = self.steps.before[:, k]
            middle = float(np.median(seen))
            reach = max(float((side * (seen - middle)).max()), 1e-3 * float(np.ptp(seen)))
            looks = OUTWARD_SPEED if names[k] in velocities else OUTWARD
            values = [middle + side * reach * GROWTH**j for j in range(looks + 1)]
            edge = self._ray(
                k, side, [value for value in values if names[k] not in angles or abs(value - middle) < 2 * np.pi]
            )
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
        """Short episodes into edges at which steps were mispredicted, each with several speeds."""
        for edge in edges:
            v = self._speed_of(edge.field)
            if not edge.mispredicted or v is None:
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


def extreme_actions(space: ActionSpace) -> list[Float[np.ndarray, " A"]]:
    """The corners of an action space, or each of its choices with the others at their first; never very many."""
    if space.kind == "discrete":
        middle = [0.0] * len(space)
        return [
            np.array([*middle[:i], float(k), *middle[i + 1 :]])
            for i, count in enumerate(space.counts)
            for k in range(count)
        ]
    rest = (np.array(space.low) + np.array(space.high)) / 2
    corners = []
    for i, (low, high) in enumerate(zip(space.low, space.high, strict=True)):
        for edge in (low, high):
            corner = rest.copy()
            corner[i] = edge
            corners.append(corner)
    return corners


def pumping_policies(reading: Reading, space: ActionSpace) -> Iterator[StatePolicy]:
    """Two opposite actions, chosen by which way something moves:
    that feeds energy into whatever can swing, or takes it out.
    """
    names = reading.state_names
    pairs = _opposite_pairs(space)
    for coordinate in reading.coordinates:
        if coordinate.velocity is None:
            continue
        index = names.index(coordinate.velocity)
        for one, other in pairs:
            for forward, backward in ((one, other), (other, one)):
                yield lambda states, i=index, f=forward, b=backward: f if states[-1, i] >= 0 else b


def _opposite_pairs(space: ActionSpace) -> list[tuple[np.ndarray, np.ndarray]]:
    edges = extreme_actions(space)
    if space.kind == "continuous":
        return [(edges[i], edges[i + 1]) for i in range(0, len(edges), 2)]
    pairs, first = [], 0
    for count in space.counts:
        pairs.append((edges[first], edges[first + count - 1]))
        first += count
    return pairs


def acting(policy: StatePolicy, reading: Reading, first: Float[np.ndarray, " A"]) -> Policy:
    """A policy over states as one over observations; before anything has moved it takes the first action."""

    def act(observations: Sequence[Float[np.ndarray, " O"]]) -> Float[np.ndarray, " A"]:
        seen = np.array(observations[-3:])
        return (
            first if len(seen) == 1 else policy(reading.states(Trajectory(seen, np.zeros((len(seen) - 1, len(first))))))
        )

    return act


class Extremes:
    """Plans to extremes: for each field, and for cosines and heights
    of angles, the actions that a program says take it furthest.
    """

    def __init__(self, program: Program, reading: Reading, space: ActionSpace, horizon: int = MOST_STEPS):
        self.space, self.horizon = space, horizon
        atoms = [atom for atom in [*state_atoms(reading), *chain_heights(reading)] if not atom.startswith("wrap(")]
        self.targets = [(atom, sign) for atom in dict.fromkeys(atoms) for sign in (1.0, -1.0)]
        world = imagine(program)
        code = [compile(atom, "atom", "eval") for atom, sign in self.targets if sign > 0]

        def values_of(state: Float[Array, " S"]) -> Float[Array, " F"]:
            named = SimpleNamespace(**dict(zip(world.field_names, state, strict=True)))
            return jnp.stack(
                [jnp.asarray(eval(part, {"state": named, "np": jnp, "wrap": wrap}), jnp.float32) for part in code]
            )

        def reached(start: Float[Array, " S"], actions: Float[Array, "H A"]) -> Float[Array, " F"]:
            """The largest and the smallest value of each atom along the way, up to an end."""

            def advance(carry, action):
                state, alive = carry
                after = jnp.where(alive, world.step(state, action), state)
                return (after, alive & ~world.terminated(after) & world.valid(after)), values_of(after)

            values = jax.lax.scan(advance, (start, jnp.asarray(True)), actions)[1]
            values = jnp.where(jnp.isfinite(values), values, 0.0)
            return jnp.stack([values.max(axis=0), -values.min(axis=0)], axis=1).ravel()

        self._read = jax.jit(world.read)
        self._reached = jax.jit(jax.vmap(reached, in_axes=(None, 0)))

    def plan(self, first: Float[np.ndarray, " O"], rng: np.random.Generator) -> list[Float[np.ndarray, "H A"]]:
        """The best found actions for each target, best beyond all others
        first changed a little and tried again for a few rounds.
        """
        start = self._read(jnp.asarray(first, jnp.float32))
        draws = self._draw(rng)
        merits = np.asarray(self._reached(start, jnp.asarray(draws, jnp.float32)))
        best = draws[np.argmax(merits, axis=0)]
        value = merits.max(axis=0)
        for _ in range(ROUNDS):
            trials = np.concatenate([self._changed(actions, rng, NUM_DRAWS // len(best) + 1) for actions in best])
            merits = np.asarray(self._reached(start, jnp.asarray(trials, jnp.float32)))
            better = merits.max(axis=0) > value
            best = np.where(better[:, None, None], trials[np.argmax(merits, axis=0)], best)
            value = np.maximum(value, merits.max(axis=0))
        return list(best)

    def _draw(self, rng: np.random.Generator) -> Float[np.ndarray, "K H A"]:
        draws = []
        edges = np.array(extreme_actions(self.space))
        for i in range(NUM_DRAWS):
            hold = HOLDS[i % len(HOLDS)]
            count = -(-self.horizon // hold)
            drawn = (
                np.array([self.space.sample(rng) for _ in range(count)])
                if i % 2
                else edges[rng.integers(len(edges), size=count)]
            )
            draws.append(np.repeat(drawn, hold, axis=0)[: self.horizon])
        return np.array(draws)

    def _changed(
        self, actions: Float[np.ndarray, "H A"], rng: np.random.Generator, count: int
    ) -> Float[np.ndarray, "K H A"]:
        """The actions with a few stretches drawn anew."""
        changed = np.repeat(actions[None], count, axis=0)
        edges = np.array(extreme_actions(self.space))
        for trial in changed:
            for _ in range(rng.integers(1, 4)):
                first = rng.integers(self.horizon)
                trial[first : first + rng.integers(4, 40)] = edges[rng.integers(len(edges))]
        return changed
