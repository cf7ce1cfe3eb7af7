"""Chains from coordinates, velocities and actions alone: simulated
by other means, with constants drawn anew in every run.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
from draws import FIXED

from visualpatchworld.induction.chains import ChainFit, fit_chains, propose_chains
from visualpatchworld.induction.draft import cut, normalised_errors, predict
from visualpatchworld.induction.lagrange import Term
from visualpatchworld.induction.march import roll_columns
from visualpatchworld.induction.motion import assemble
from visualpatchworld.induction.reading import Coordinate, FieldRole, Integrator, Reading
from visualpatchworld.laws import chain as laws
from visualpatchworld.laws.chain import stop_links

DT = 0.03
HORIZON = 25


@dataclass(frozen=True)
class Machine:
    """Rods one after the other, on a cart or on the ground: angles are absolute, from hanging down.

    Computed from centres of mass.
    """

    masses: np.ndarray
    lengths: np.ndarray
    centres: np.ndarray  # of mass, from the joint
    inertias: np.ndarray  # about the centre
    cart_mass: float | None
    gravity: float
    damping: np.ndarray  # of each joint
    gains: np.ndarray  # of each joint per action

    @property
    def slides(self) -> int:
        return int(self.cart_mass is not None)

    @property
    def joints(self) -> np.ndarray:
        size = len(self.masses) + self.slides
        rows = np.eye(size)
        for rod in range(self.slides + 1, size):
            rows[rod, rod - 1] = -1.0
        return rows

    def mass_and_load(self, places, speeds):
        """Of B copies: the mass matrix, and what gravity and turning ask for."""
        copies, size = places.shape
        mass, load = np.zeros((copies, size, size)), np.zeros((copies, size))
        if self.cart_mass is not None:
            mass[:, 0, 0] += self.cart_mass
        for rod, weight in enumerate(self.masses):
            jacobian, turning = np.zeros((copies, 2, size)), np.zeros((copies, 2))
            if self.slides:
                jacobian[:, 0, 0] = 1.0
            for part in range(rod + 1):
                arm = self.centres[rod] if part == rod else self.lengths[part]
                angle, spin = places[:, self.slides + part], speeds[:, self.slides + part]
                jacobian[:, :, self.slides + part] = arm * np.stack([np.cos(angle), np.sin(angle)], -1)
                turning += arm * spin[:, None] ** 2 * np.stack([-np.sin(angle), np.cos(angle)], -1)
            mass += weight * np.einsum("bki,bkj->bij", jacobian, jacobian)
            mass[:, self.slides + rod, self.slides + rod] += self.inertias[rod]
            load += weight * np.einsum("bki,bk->bi", jacobian, turning + np.array([0.0, self.gravity]))
        return mass, load

    def accelerations(self, places, speeds, actions, implicit=0.0):
        mass, load = self.mass_and_load(places, speeds)
        mass = mass + implicit * self.joints.T @ np.diag(self.damping) @ self.joints
        at_joints = actions @ self.gains.T - self.damping * (speeds @ self.joints.T)
        return np.linalg.solve(mass, (at_joints @ self.joints - load)[..., None])[..., 0]

    def step(self, places, speeds, actions, integrator: Integrator):
        if integrator != "rk4":
            gained = self.accelerations(places, speeds, actions, implicit=DT if integrator == "semi-implicit" else 0.0)
            after = speeds + DT * gained
            return places + DT * (after if integrator == "semi-implicit" else speeds), after
        slopes, shifted = [], (places, speeds)
        for share in (0.5, 0.5, 1.0, 0.0):
            slopes.append((shifted[1], self.accelerations(*shifted, actions)))
            shifted = (places + share * DT * slopes[-1][0], speeds + share * DT * slopes[-1][1])
        moved = [DT / 6 * (a + 2 * b + 2 * c + d) for a, b, c, d in zip(*slopes, strict=True)]
        return places + moved[0], speeds + moved[1]

    def run(self, rng, integrator: Integrator = "rk4", episodes=12, steps=60, choices=None):
        """Places, speeds (absolute) and actions of episodes; `choices` are the values of a discrete action."""
        size = len(self.masses) + self.slides
        places, speeds = rng.normal(size=(episodes, size)), 0.5 * rng.normal(size=(episodes, size))
        record, acted = [(places, speeds)], []
        for _ in range(steps):
            shape = (episodes, self.gains.shape[1])
            index = None if choices is None else rng.integers(0, len(choices), shape)
            given = rng.uniform(-1, 1, shape) if choices is None or index is None else np.asarray(choices)[index]
            places, speeds = self.step(places, speeds, given, integrator)
            record.append((places, speeds))
            acted.append(given if index is None else index.astype(float))
        both = np.array(record).transpose(2, 1, 0, 3)  # episode, kind, time, link
        return both[:, 0], both[:, 1], list(np.array(acted).transpose(1, 0, 2))


def drawn(rng, rods: int, *, cart: bool = False, gravity: bool = True, damping: bool = False, driven=(0,)) -> Machine:
    lengths, size = rng.uniform(0.4, 1.2, rods), rods + cart
    gains = np.zeros((size, len(driven)))
    gains[list(driven), range(len(driven))] = rng.uniform(2, 6, len(driven)) * rng.choice([-1, 1], len(driven))
    return Machine(
        masses=rng.uniform(0.4, 2, rods),
        lengths=lengths,
        centres=lengths * rng.uniform(0.3, 0.8, rods),
        inertias=rng.uniform(0.02, 0.1, rods),
        cart_mass=float(rng.uniform(0.5, 3)) if cart else None,
        gravity=float(rng.uniform(3, 15)) if gravity else 0.0,
        damping=rng.uniform(0.05, 0.3, size) if damping else np.zeros(size),
        gains=gains,
    )


def drawn_and_run(rng, rods: int, **given) -> tuple[Machine, tuple]:
    """A machine and its episodes, drawn until the integrator can follow it: light rods may whirl faster than a step
    resolves, and then what is recorded is no machine's motion.
    """
    while True:
        machine = drawn(rng, rods, **given)
        with np.errstate(over="ignore", invalid="ignore"):
            places, speeds, actions = machine.run(rng)
        if np.abs(speeds).max() * DT < 1.0:  # radians turned in one step, and false for what is not finite
            return machine, (places, speeds, actions)


def reading_of(size: int, slides: int, integrator: Integrator = "rk4") -> Reading:
    names = [f"cart_{i}" if i < slides else f"rod_{i}" for i in range(size)]
    coordinates = tuple(Coordinate(n, (i,), i >= slides, f"{n}_speed", size + i) for i, n in enumerate(names))
    fields = [FieldRole(c.name, "coordinate", c.name, "") for c in coordinates]
    fields += [FieldRole(f"{c.name}_speed", "velocity", c.name, "") for c in coordinates]
    return Reading(tuple(fields), coordinates, dt=DT, integrator=integrator)


def episodes_of(places, speeds) -> list[np.ndarray]:
    return list(np.concatenate([places, speeds], axis=-1))


def error_of(fit: ChainFit, reading: Reading, states, actions) -> float:
    """The largest 25-step error on episodes that were held out."""
    draft = assemble(reading, fit.rates, integrator=fit.integrator, substeps=fit.substeps)
    stretches = cut(states, actions, HORIZON, most=40)
    rolled = roll_columns(draft.program, stretches, {})
    return float(normalised_errors(rolled, stretches.truths, stretches.starts).max())


def assert_constants(machine: Machine, fit: ChainFit, tolerance: float, zero_tolerance: float | None = None) -> None:
    """Inertias, couplings, pulls, gains and damping per unit of the first inertia; signs are conventions of angles."""
    size = len(machine.masses) + machine.slides
    # All rods parallel: every cosine is one.
    straight, _ = machine.mass_and_load(np.zeros((1, size)), np.zeros((1, size)))
    level, zero_tolerance = np.zeros((1, size)), zero_tolerance or tolerance
    level[:, machine.slides :] = np.pi / 2
    _, load = machine.mass_and_load(level, np.zeros((1, size)))
    unit, chain = straight[0, 0, 0], fit.chain
    for i in range(size):
        assert chain.values[Term("inertia", i)] == pytest.approx(straight[0, i, i] / unit, rel=tolerance)
        assert abs(chain.pull(i)) == pytest.approx(abs(load[0, i]) / unit, rel=tolerance, abs=1e-6)
        damped = chain.values.get(Term("damping", i), 0.0)
        assert damped == pytest.approx(machine.damping[i] / unit, rel=tolerance, abs=zero_tolerance * 0.1)
        for m in range(machine.gains.shape[1]):
            assert abs(chain.values.get(Term("gain", i, m), 0.0)) == pytest.approx(
                abs(machine.gains[i, m]) / unit, rel=tolerance, abs=1e-6
            )
        for j in range(i + 1, size):
            assert abs(chain.coupling(i, j)) == pytest.approx(straight[0, i, j] / unit, rel=tolerance)


# Rods, cart, gravity, damping, relative angles, relative velocities, mirrored last angle, quarter turns of all angles,
# driven.
CASES = [
    (1, False, True, True, True, True, False, 2, (0,)),
    (2, False, True, False, True, True, False, 0, (1,)),
    (2, False, False, True, False, False, True, 0, (0, 1)),
    (1, True, True, True, True, True, False, 1, (0,)),
    (2, True, True, False, False, True, False, 2, (0,)),
    (3, False, False, False, True, True, True, 0, (0, 2)),
    (4, False, True, True, True, False, False, 0, (1, 2)),
]


@pytest.mark.parametrize(
    ("rods", "cart", "gravity", "damping", "relative", "moving", "mirrored", "quarters", "driven"), CASES
)
def test_a_chain_is_found_whatever_its_conventions(
    rods, cart, gravity, damping, relative, moving, mirrored, quarters, driven
):
    rng = np.random.default_rng((FIXED, 0))
    machine, (places, speeds, actions) = drawn_and_run(
        rng, rods, cart=cart, gravity=gravity, damping=damping, driven=driven
    )
    size, slides = rods + cart, int(cart)
    turn, sign = np.zeros(size), np.ones(size)
    turn[slides:] = quarters * np.pi / 2
    sign[-1] = -1.0 if mirrored else 1.0
    seen_places = (places + turn) @ (machine.joints.T if relative else np.eye(size)) * sign
    seen_speeds = speeds @ (machine.joints.T if moving else np.eye(size)) * sign
    states, reading = episodes_of(seen_places, seen_speeds), reading_of(size, slides)
    fits = fit_chains(reading, states[:9], actions[:9])
    assert fits
    best = fits[0]
    assert error_of(best, reading, states[9:], actions[9:]) < 1e-5, best.chain.topology.text
    assert best.chain.topology.hinges == (False,) * slides + (True,) * rods
    assert rods == 1 or best.chain.topology.relative == relative
    assert_constants(machine, best, 0.01)


def test_an_unusual_order_of_coordinates_is_found():
    rng = np.random.default_rng((FIXED, 1))
    machine = drawn(rng, 2, driven=(1,))
    places, speeds, actions = machine.run(rng)
    states = episodes_of((places @ machine.joints.T)[..., ::-1], (speeds @ machine.joints.T)[..., ::-1])
    reading = reading_of(2, 0)
    best = fit_chains(reading, states[:9], actions[:9])[0]
    assert best.chain.topology.parents == (1, None)
    assert error_of(best, reading, states[9:], actions[9:]) < 1e-5


def test_discrete_actions_have_a_centre_under_explicit_euler():
    rng = np.random.default_rng((FIXED, 2))
    machine = drawn(rng, 1, cart=True)
    places, speeds, actions = machine.run(rng, "explicit", choices=(-1.0, 1.0))
    states, reading = episodes_of(places, speeds), reading_of(2, 1, "explicit")
    best = fit_chains(reading, states[:9], actions[:9])[0]
    assert best.integrator == "explicit" and best.substeps == 1
    assert best.chain.inputs[0].centre == 0.5
    assert error_of(best, reading, states[9:], actions[9:]) < 1e-6


def test_discrete_actions_without_order_are_a_table():
    rng = np.random.default_rng((FIXED, 3))
    machine = drawn(rng, 1, cart=True)
    places, speeds, actions = machine.run(rng, choices=(0.0, -1.0, 1.0))
    states, reading = episodes_of(places, speeds), reading_of(2, 1)
    best = fit_chains(reading, states[:9], actions[:9])[0]
    pushes = sorted(value for term, value in best.chain.values.items() if term.kind == "gain")
    assert len(pushes) == 2 and pushes[0] == pytest.approx(-pushes[1], rel=1e-6)
    assert error_of(best, reading, states[9:], actions[9:]) < 1e-6


def test_implicit_damping_is_distinguished_from_inertia_at_the_joints():
    rng = np.random.default_rng((FIXED, 4))
    machine = drawn(rng, 2, gravity=False, damping=True, driven=(0, 1))
    places, speeds, actions = machine.run(rng, "semi-implicit")
    states, reading = (
        episodes_of(places @ machine.joints.T, speeds @ machine.joints.T),
        reading_of(2, 0, "semi-implicit"),
    )
    best = fit_chains(reading, states[:9], actions[:9])[0]
    assert best.chain.implicit and not any(term.kind == "rotor" for term in best.chain.values)
    assert_constants(machine, best, 0.01)


def test_a_little_noise_leaves_the_form():
    rng = np.random.default_rng((FIXED, 5))
    machine = drawn(rng, 1, cart=True)
    places, speeds, actions = machine.run(rng, episodes=24)
    states, reading = episodes_of(places, speeds), reading_of(2, 1)
    spread = np.std(np.concatenate([np.diff(state, axis=0) for state in states]), axis=0)
    noisy = [state + 0.01 * spread * rng.normal(size=state.shape) for state in states]
    best = fit_chains(reading, noisy[:20], actions[:20])[0]
    assert best.chain.topology.hinges == (False, True)
    assert_constants(machine, best, 0.05, zero_tolerance=0.5)
    assert error_of(best, reading, states[20:], actions[20:]) < 0.05


@pytest.mark.parametrize("given", [True, False])
def test_events_do_not_spoil_a_chain(given):
    rng = np.random.default_rng((FIXED, 6))
    machine = drawn(rng, 2, driven=(0, 1))
    places, speeds, actions = machine.run(rng)
    states, reading = episodes_of(places @ machine.joints.T, speeds @ machine.joints.T), reading_of(2, 0)
    # Two episodes in one: from the last state of the first to the first of the second no law leads.
    joined = [np.concatenate(pair) for pair in zip(states[:5], states[5:10], strict=True)]
    acted = [np.concatenate([a, a[:1], b]) for a, b in zip(actions[:5], actions[5:10], strict=True)]
    usable = [np.arange(121) != 60 for _ in joined] if given else None
    best = fit_chains(reading, joined, acted, usable=usable)[0]
    assert best.chain.topology.relative
    assert_constants(machine, best, 0.01)


def test_a_program_of_a_chain_is_short_and_named_by_body_and_law():
    rng = np.random.default_rng((FIXED, 7))
    machine = drawn(rng, 2, cart=True, damping=True)
    places, speeds, actions = machine.run(rng)
    reading = reading_of(3, 1)
    rates = propose_chains(reading, episodes_of(places, speeds), actions)[0]
    program = assemble(reading, rates, integrator="rk4").program
    assert {"GRAVITY", "CART_0_MASS", "CART_0_PUSH", "ROD_1_LENGTH", "ROD_2_MOMENT", "ROD_2_DAMPING"} <= set(
        program.constants
    )
    assert len(program.text.splitlines()) <= 105
    assert max(len(line) for line in rates.lines) <= 120
    stretches = cut(episodes_of(places, speeds), actions, 3, most=5)
    assert np.allclose(predict(program, stretches), roll_columns(program, stretches, {}))


def test_what_is_no_chain_is_not_proposed():
    rng = np.random.default_rng((FIXED, 8))
    noise = [rng.normal(size=(61, 4)) for _ in range(9)]
    actions = [rng.uniform(-1, 1, (60, 1)) for _ in range(9)]
    assert propose_chains(reading_of(2, 0), noise, actions) == []
    assert propose_chains(reading_of(6, 0), [rng.normal(size=(61, 12))], actions[:1]) == []
    assert propose_chains(reading_of(2, 0), [noise[0][:6]], [actions[0][:5]]) == []


def test_a_stop_holds_a_joint_and_lets_go():
    rng = np.random.default_rng((FIXED, 10))
    root = rng.normal(size=(3, 3))
    mass, forces, shares = root @ root.T + np.eye(3), rng.normal(size=3), (0.0, -1.0, 1.0)

    def joint(place, speed, give):
        held = stop_links(forces.tolist(), mass.tolist(), shares, place, speed, -0.5, 0.5, 100.0, 20.0, give)
        return float(np.array(shares) @ np.linalg.solve(mass, np.array(held, float)))

    free = float(np.array(shares) @ np.linalg.solve(mass, forces))
    # A stop that does not give way gets what it asks for.
    assert joint(0.7, 5.0, 0.0) == pytest.approx(-100 * 0.2 - 20 * 5)
    assert joint(-0.7, -5.0, 0.0) == pytest.approx(100 * 0.2 + 20 * 5)
    assert -120 < joint(0.7, 5.0, 1.0) < free
    assert joint(0.7, -50.0, 0.0) == pytest.approx(free) == joint(0.3, 5.0, 0.0)  # it neither pulls nor acts inside


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_solver_is_that_of_linear_algebra(size):
    rng = np.random.default_rng((FIXED, 9))
    root = rng.normal(size=(size, size))
    matrix, right = root @ root.T + np.eye(size), rng.normal(size=size)
    expected = np.linalg.solve(matrix, right)
    assert np.allclose(laws.solve(matrix.tolist(), right.tolist()), expected)
    assert np.allclose(jnp.stack(laws.solve(jnp.asarray(matrix), jnp.asarray(right))), expected, rtol=1e-3, atol=1e-3)
