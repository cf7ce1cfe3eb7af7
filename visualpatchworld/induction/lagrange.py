"""Weak-form Lagrangian regression: the change of momentum is the
integral of the forces, linear in a chain's lumped constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.topology import Topology

Rule = Literal["start", "simpson"]  # how forces add up over a step: as at its start (Euler), or by Simpson's rule
RULES: tuple[Rule, ...] = ("simpson", "start")
OUTLIER = 8.0  # so many times the typical error of a link is an event, not a step
SINGULAR = 1e-9
GOOD = 1e-3  # an error that asks for no other start
INERTIAL = ("inertia", "coupling", "cross coupling", "rotor")


class Steps(NamedTuple):
    """N single steps: coordinates and their rates of change at both ends, and the action between.

    So many steps as `width` says, one after the other, make up a window over which momentum is counted.
    """

    places: Float[np.ndarray, "N Q"]
    speeds: Float[np.ndarray, "N Q"]
    next_places: Float[np.ndarray, "N Q"]
    next_speeds: Float[np.ndarray, "N Q"]
    actions: Float[np.ndarray, "N A"]
    dt: float
    mixing: Float[np.ndarray, "Q Q"]  # what takes the observed velocities to the coordinates' rates of change
    width: int = 1


class Term(NamedTuple):
    """One lumped constant: its kind, its link or joint, and the other link or the column of the action."""

    kind: str
    link: int
    other: int = -1


@dataclass(frozen=True)
class Regression:
    """The lumped constants of a topology, per unit of the first
    inertia, and the error of velocities that they leave.
    """

    topology: Topology
    rule: Rule
    values: dict[Term, float]
    error: float  # root mean square over windows and velocities, in units of the typical change
    inside: Bool[np.ndarray, " W"]  # windows that are not outliers


class _Point(NamedTuple):
    places: Float[np.ndarray, "N Q"]  # of links: angles and, unlike in `angles`, how far slides are
    angles: Float[np.ndarray, "N Q"]
    speeds: Float[np.ndarray, "N Q"]
    spins: Float[np.ndarray, "N Q"]  # speeds of hinges, zero for slides


def all_terms(topology: Topology, action_dim: int) -> list[Term]:
    """What a chain may be made of: inertias first."""
    size = len(topology)
    hinges = [i for i in range(size) if topology.hinges[i]]
    terms = [Term("inertia", i) for i in range(size)]
    for i in range(size):
        for j in range(i + 1, size):
            terms.append(Term("coupling", i, j))
            if topology.hinges[i] or topology.hinges[j]:
                terms.append(Term("cross coupling", i, j))
    terms += [Term(kind, i) for i in hinges for kind in ("pull", "cross pull")]
    terms += [Term("gain", i, m) for i in range(size) for m in range(action_dim)]
    terms += [Term("damping", i) for i in range(size)]
    terms += [Term("rotor", i) for i in hinges if topology.parents[i] is not None]
    terms += [Term(kind, i) for i in range(size) for kind in ("stiffness", "bias", "friction", "drag")]
    return terms


def columns(topology: Topology, steps: Steps, rule: Rule, terms: Sequence[Term]) -> Float[np.ndarray, "N Q P"]:
    """Per step and link, what a unit of each term adds to: change of momentum minus impulse of all forces = 0."""
    spinning = np.array(topology.hinges, float)

    def point(places: np.ndarray, speeds: np.ndarray) -> _Point:
        links, rates = places @ topology.links.T, speeds @ topology.links.T
        return _Point(links, links * spinning, rates, rates * spinning)

    dt = steps.dt
    start, end = point(steps.places, steps.speeds), point(steps.next_places, steps.next_speeds)
    middle = point(
        (steps.places + steps.next_places) / 2 + dt / 8 * (steps.speeds - steps.next_speeds),
        1.5 * (steps.next_places - steps.places) / dt - (steps.speeds + steps.next_speeds) / 4,
    )
    found = np.zeros((len(steps.actions), len(topology), len(terms)))
    for p, term in enumerate(terms):
        if rule == "simpson":
            found[:, :, p] = _momentum(topology, term, end) - _momentum(topology, term, start)
            forces = [_force(topology, term, where, steps.actions) for where in (start, middle, end)]
            found[:, :, p] += dt / 6 * (forces[0] + 4 * forces[1] + forces[2])
        else:
            pushed = start._replace(speeds=end.speeds - start.speeds)
            found[:, :, p] = _momentum(topology, term, pushed) + dt * _turning(topology, term, start)
            found[:, :, p] += dt * _force(topology, term, start, steps.actions)
    return found


class Table(NamedTuple):
    """The columns of all terms of a topology, computed once for every choice among them."""

    topology: Topology
    rule: Rule
    terms: tuple[Term, ...]
    columns: Float[np.ndarray, "W Q P"]  # of each window
    # What a unit of each term adds to the mass matrix that the change of speed meets.
    inertia: Float[np.ndarray, "W Q Q P"]
    # What takes errors of the links' speeds to those of observed velocities, in typical changes.
    observed: Float[np.ndarray, "Q Q"]
    spread: Float[np.ndarray, " Q"]  # typical change of the links' speeds over a window


def tabulate(topology: Topology, steps: Steps, rule: Rule, terms: Sequence[Term]) -> Table:
    """All columns of these terms."""
    last, first = slice(steps.width - 1, None, steps.width), slice(None, None, steps.width)
    places = (steps.next_places[last] if rule == "simpson" else steps.places[last]) @ topology.links.T
    angles = places * np.array(topology.hinges, float)
    inertia = np.zeros((*angles.shape, angles.shape[1], len(terms)))
    for p, term in enumerate(terms):
        if term.kind in INERTIAL:
            for j in range(len(topology)):
                unit = np.zeros_like(angles)
                unit[:, j] = 1.0
                inertia[:, :, j, p] = _momentum(topology, term, _Point(places, angles, unit, unit))
    change = steps.next_speeds[last] - steps.speeds[first]
    back = np.linalg.inv(topology.links @ steps.mixing)
    observed = back / np.maximum(np.std(change @ np.linalg.inv(steps.mixing).T, axis=0), 1e-12)[:, None]
    spread = np.maximum(np.std(change @ topology.links.T, axis=0), 1e-12)
    counted = columns(topology, steps, rule, terms)
    counted = counted.reshape(-1, steps.width, *counted.shape[1:]).sum(axis=1)
    return Table(topology, rule, tuple(terms), counted, inertia, observed, spread)


def regress(table: Table, terms: Sequence[Term], warm: Mapping[Term, float] | None = None) -> Regression:
    """The values of these terms that leave the least error of
    velocities: a guess, then a few steps of Gauss and Newton.

    Guesses are `warm` where given, a linear regression of momentum and, where those end badly, uncoupled joints.
    """
    chosen = [table.terms.index(term) for term in terms]
    cells, inertia = table.columns[:, :, chosen], table.inertia[..., chosen]
    best = Regression(table.topology, table.rule, dict.fromkeys(terms, 0.0), np.inf, np.ones(len(cells), bool))
    even = cells / table.spread[:, None]
    guesses = [lambda: _homogeneous(terms, even), lambda: _diagonal(terms, even)]
    if warm is not None:
        guesses.insert(0, lambda: np.array([warm.get(term, 0.0) for term in terms]))
    for guess in guesses:
        values, error = guess(), np.inf
        for _ in range(8):
            mass = inertia @ values
            if not np.all(np.isfinite(mass)) or np.linalg.eigvalsh(mass).min() <= SINGULAR * np.abs(mass).max():
                break
            missed = np.linalg.solve(mass, (cells @ values)[..., None])[..., 0]
            seen = missed @ table.observed.T
            sizes = np.abs(seen)
            kept = np.all(sizes <= OUTLIER * np.maximum(np.median(sizes, axis=0), SINGULAR), axis=-1)
            reached = float(np.sqrt(np.mean(sizes[kept] ** 2)))
            if reached < best.error:
                best = Regression(
                    table.topology, table.rule, dict(zip(terms, values.tolist(), strict=True)), reached, kept
                )
            if reached > 0.9 * error:
                break
            error = reached
            slopes = cells[kept] - np.einsum("nijp,nj->nip", inertia[kept], missed[kept])
            slopes = table.observed @ np.linalg.solve(mass[kept], slopes)
            values = values - _least(slopes[..., 1:], seen[kept], padded=True)
        if best.error < GOOD:
            break
    return best


def _homogeneous(terms: Sequence[Term], cells: Float[np.ndarray, "N Q P"]) -> Float[np.ndarray, " P"]:
    """Values with the first inertia at one that leave the least error of momentum."""
    return np.concatenate([[1.0], -_least(cells[..., 1:], cells[..., 0])])


def _diagonal(terms: Sequence[Term], cells: Float[np.ndarray, "N Q P"]) -> Float[np.ndarray, " P"]:
    """Values with every joint's own inertia at one and no coupling; forces are what then leaves the least error."""
    geared = {term.link for term in terms if term.kind == "rotor"}
    values = np.array(
        [float(term.kind == "rotor" or (term.kind == "inertia" and term.link not in geared)) for term in terms]
    )
    forces = [p for p, term in enumerate(terms) if term.kind not in INERTIAL]
    values[forces] = -_least(cells[..., forces], cells @ values)
    return values


def _least(
    cells: Float[np.ndarray, "N Q P"], right: Float[np.ndarray, "N Q"], *, padded: bool = False
) -> Float[np.ndarray, " P"]:
    """Linear least squares with columns of even size; `padded` puts a zero in front, for the anchor."""
    rows = cells.reshape(right.size, cells.shape[-1])  # also where there is nothing to choose
    size = np.linalg.norm(rows, axis=0)
    unit = np.where(size > 0, size, 1.0)
    found = np.linalg.lstsq(rows / unit, right.ravel(), rcond=1e-11)[0] / unit
    return np.concatenate([[0.0], found]) if padded else found


def _momentum(topology: Topology, term: Term, at: _Point) -> Float[np.ndarray, "N Q"]:
    """What a unit of the term adds to the momentum of each link."""
    given, (kind, i, j) = np.zeros_like(at.speeds), term
    if kind == "inertia":
        given[:, i] = at.speeds[:, i]
    elif kind in ("coupling", "cross coupling"):
        between = at.angles[:, i] - at.angles[:, j]
        share = np.cos(between) if kind == "coupling" else np.sin(between)
        given[:, i], given[:, j] = at.speeds[:, j] * share, at.speeds[:, i] * share
    elif kind == "rotor":
        parent = topology.parents[i]
        given[:, i] = at.speeds[:, i] - at.speeds[:, parent]
        given[:, parent] = -given[:, i]
    return given


def _turning(topology: Topology, term: Term, at: _Point) -> Float[np.ndarray, "N Q"]:
    """How fast the momentum changes because the links turn, at constant speeds."""
    given, (kind, i, j) = np.zeros_like(at.speeds), term
    if kind in ("coupling", "cross coupling"):
        between, turn = at.angles[:, i] - at.angles[:, j], at.spins[:, i] - at.spins[:, j]
        share = (-np.sin(between) if kind == "coupling" else np.cos(between)) * turn
        given[:, i], given[:, j] = at.speeds[:, j] * share, at.speeds[:, i] * share
    return given


def _force(topology: Topology, term: Term, at: _Point, actions: Float[np.ndarray, "N A"]) -> Float[np.ndarray, "N Q"]:
    """What a unit of the term takes from the rate of change of momentum of each link."""
    given, (kind, i, j) = np.zeros_like(at.speeds), term
    if kind in ("coupling", "cross coupling"):
        between = at.angles[:, i] - at.angles[:, j]
        share = np.sin(between) if kind == "coupling" else -np.cos(between)
        given[:, i] = at.spins[:, i] * at.speeds[:, j] * share
        given[:, j] = -at.spins[:, j] * at.speeds[:, i] * share
    elif kind == "pull":  # potential: cos(angle)
        given[:, i] = -np.sin(at.angles[:, i])
    elif kind == "cross pull":  # potential: sin(angle)
        given[:, i] = np.cos(at.angles[:, i])
    elif kind in ("damping", "stiffness", "bias", "gain", "friction", "drag"):
        joint = topology.joints[i]
        amount = {
            "damping": lambda: at.speeds @ joint,
            "friction": lambda: np.sign(at.speeds @ joint),
            "drag": lambda: np.abs(at.speeds @ joint) * (at.speeds @ joint),
            "stiffness": lambda: at.places @ joint,
            "bias": lambda: -np.ones(len(actions)),
            "gain": lambda: -actions[:, j],
        }[kind]()
        given = amount[:, None] * joint
    return given
