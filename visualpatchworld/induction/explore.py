"""Episodes on purpose: what random actions never show, a policy that pumps energy or a plan that goes to an extreme may."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from visualpatchworld.induction.reading import Reading
from visualpatchworld.induction.transitions import chain_heights, state_atoms
from visualpatchworld.laws.shaping import wrap
from visualpatchworld.program.env import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.world.collect import Policy
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

HOLDS = (1, 2, 4, 8, 16, 32)  # steps for which a drawn action stays the same
NUM_DRAWS = 1024
ROUNDS = 4
MOST_STEPS = 200

StatePolicy = Callable[[Float[np.ndarray, "T+1 S"]], Float[np.ndarray, " A"]]


def extreme_actions(space: ActionSpace) -> list[Float[np.ndarray, " A"]]:
    """The corners of an action space, or each of its choices with the others at their first; never very many."""
    if space.kind == "discrete":
        middle = [0.0] * len(space)
        return [np.array([*middle[:i], float(k), *middle[i + 1 :]]) for i, count in enumerate(space.counts) for k in range(count)]
    rest = (np.array(space.low) + np.array(space.high)) / 2
    corners = []
    for i, (low, high) in enumerate(zip(space.low, space.high, strict=True)):
        for edge in (low, high):
            corner = rest.copy()
            corner[i] = edge
            corners.append(corner)
    return corners


def pumping_policies(reading: Reading, space: ActionSpace) -> Iterator[StatePolicy]:
    """Two opposite actions, chosen by which way something moves: that feeds energy into whatever can swing, or takes it out."""
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
        return first if len(seen) == 1 else policy(reading.states(Trajectory(seen, np.zeros((len(seen) - 1, len(first))))))

    return act


class Extremes:
    """Plans to extremes: for each field, and for cosines and heights of angles, the actions that a program says take it furthest."""

    def __init__(self, program: Program, reading: Reading, space: ActionSpace, horizon: int = MOST_STEPS):
        self.space, self.horizon = space, horizon
        atoms = [atom for atom in [*state_atoms(reading), *chain_heights(reading)] if not atom.startswith("wrap(")]
        self.targets = [(atom, sign) for atom in dict.fromkeys(atoms) for sign in (1.0, -1.0)]
        world = imagine(program)
        code = [compile(atom, "atom", "eval") for atom, sign in self.targets if sign > 0]

        def values_of(state: Float[Array, " S"]) -> Float[Array, " F"]:
            named = SimpleNamespace(**dict(zip(world.field_names, state, strict=True)))
            return jnp.stack([jnp.asarray(eval(part, {"state": named, "np": jnp, "wrap": wrap}), jnp.float32) for part in code])

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
        """The best found actions for each target, best beyond all others first changed a little and tried again for a few rounds."""
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
            drawn = np.array([self.space.sample(rng) for _ in range(count)]) if i % 2 else edges[rng.integers(len(edges), size=count)]
            draws.append(np.repeat(drawn, hold, axis=0)[: self.horizon])
        return np.array(draws)

    def _changed(self, actions: Float[np.ndarray, "H A"], rng: np.random.Generator, count: int) -> Float[np.ndarray, "K H A"]:
        """The actions with a few stretches drawn anew."""
        changed = np.repeat(actions[None], count, axis=0)
        edges = np.array(extreme_actions(self.space))
        for trial in changed:
            for _ in range(rng.integers(1, 4)):
                first = rng.integers(self.horizon)
                trial[first : first + rng.integers(4, 40)] = edges[rng.integers(len(edges))]
        return changed
