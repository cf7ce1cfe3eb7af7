"""Independent sums: every rate a sum of few terms, chosen by linear regression alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.clock import NO_LIMIT, Clock
from visualpatchworld.induction.events import begins_anew, observation_noise, usual_rows
from visualpatchworld.induction.inputs import Delay, drives, shaped_drives
from visualpatchworld.induction.library import Library, library
from visualpatchworld.induction.motion import Number, Rates
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.regress import FLOAT32
from visualpatchworld.induction.stepwise import EXACT, LOOSE, Choice, choose, fill
from visualpatchworld.induction.switches import is_switch
from visualpatchworld.induction.terms import INNER, Rows, Samples, Term, samples_along, samples_at_start
from visualpatchworld.world.world import ActionSpace

NUMERICAL = 1e-9  # of a response's spread: what arithmetic leaves
SHORT_DIGITS = 3
NOISE_SLACK = 1.01
PLAIN_TERMS = 3
MOST_SINGLE = 10  # other fields up to which each is tried as the one that was updated first
MOST_MIXED = 5  # other fields up to which every two of them are tried as the ones that were updated first


class Response(NamedTuple):
    """A rate to be explained: of which field, its mean over every step, what noise leaves of it, and its spread."""

    field: str
    coordinate: Coordinate
    target: Float[np.ndarray, " N"]
    floor: float
    scale: float
    noisy: float = 0.0  # what noise of observations leaves of it


def responses(reading: Reading, rows: Rows, noise: Float[np.ndarray, " S"]) -> list[Response]:
    """One response per velocity, and per coordinate that has none; `noise` is that of each column of states."""
    found = []
    spreads = np.maximum(np.std(rows.before, axis=0), 1e-12)
    # Whatever a world multiplies with an action of single precision is of single precision, too.
    single = np.all(rows.actions.astype(np.float32) == rows.actions, axis=0)
    whole = np.all(rows.actions == np.round(rows.actions), axis=0)
    numerical = 2 * FLOAT32 if single.size and (single.all() or (single & ~whole).any()) else NUMERICAL
    for coordinate in reading.coordinates:
        field = coordinate.velocity or coordinate.name
        k = rows.names.index(field)
        target = (rows.after[:, k] - rows.before[:, k]) / reading.dt
        scale = float(np.std(target)) or float(np.abs(target).max()) or 1.0
        # Noise of the response itself, and of the states that its terms are evaluated at.
        floor = np.hypot(np.sqrt(2) * noise[k] / reading.dt, scale * float(np.linalg.norm(noise / spreads)))
        floor = max(float(floor), numerical * scale)
        noisy = 0.0 if is_switch(coordinate, rows) else observation_noise(target, rows, floor)
        # A sum that leaves no more than a flexible fit does is enough: noise has no more to tell.
        floor = max(floor, NOISE_SLACK * noisy / EXACT)
        found.append(Response(field, coordinate, target, floor, scale, noisy))
    return found


def angle_columns(reading: Reading) -> tuple[int, ...]:
    """Which columns of states are angles."""
    return tuple(k for k, c in enumerate(reading.coordinates) if c.angle)


def pooled(response: Response, samples: Samples, noise_slack: float = 1.15) -> Response:
    """The response over windows of steps: what noise leaves of it is smaller by their length."""
    target = samples.pooled(response.target)
    scale = float(np.std(target)) or response.scale
    noisy = response.noisy / samples.length
    return response._replace(
        target=target, scale=scale, noisy=noisy, floor=max(noise_slack * noisy / EXACT, NUMERICAL * scale)
    )


def samples_for(reading: Reading, rows: Rows, along: bool) -> Samples:
    """Where terms are looked at: at the start of a step, or along it for integrators that look there, too."""
    if not along:
        return samples_at_start(rows)
    pairs = [(rows.names.index(c.name), rows.names.index(c.velocity)) for c in reading.coordinates if c.velocity]
    return samples_along(rows, pairs, reading.dt)


def sums_of(
    reading: Reading,
    rows: Rows,
    response: Response,
    space: ActionSpace,
    delay: Delay,
    samples: Samples,
    kept: Bool[np.ndarray, " N"] | None = None,
    deepest: int = 2,
    first: int = 0,
    new: Sequence[str] = (),
    clock: Clock = NO_LIMIT,
) -> list[Choice]:
    """Choices of terms for one response, the best first; products
    and scans are looked at only while plain terms do not suffice.

    `new` names fields whose values after the step are used in place of those before it.
    """
    terms = library(reading, response.coordinate, rows, drives(space, delay), shaped_drives(space, delay))
    if new:
        terms = Library(tuple(tuple(term.with_new(new) for term in level) for level in terms.levels))
    usual = usual_rows(response.target, rows, response.floor) if kept is None else kept
    if response.coordinate.velocity is None and samples.windows is None:
        k = rows.names.index(response.field)
        usual = usual & ~begins_anew(rows.before[:, k], rows.after[:, k])
    found: list[Choice] = []
    windowed = samples.windows is not None
    settings: dict[str, Any] = {"scale": response.scale, "rounded": not response.noisy and not windowed, "clock": clock}
    for level in range(first, deepest + 1):
        if found and clock.over:
            break
        fresh = choose(response.target, samples, terms.upto(level), usual, response.floor, **settings)
        for _ in range(2):
            # Rows that the best choice explains may be others than those of the flexible fit.
            moved = (
                bool(fresh)
                and fresh[0].part < 0.02
                and fresh[0].kept.mean() > 0.6
                and (fresh[0].kept != usual).mean() > 0.002
            )
            if windowed or not moved or clock.over:
                break
            usual = fresh[0].kept
            fresh = choose(response.target, samples, terms.upto(level), usual, response.floor, **settings)
        if level == 2 and (windowed or not (fresh and fresh[0].exact)):
            for plain in (terms.upto(0),) if windowed else (terms.upto(0), terms.upto(1)):
                filled = fill(
                    response.target,
                    samples,
                    plain,
                    terms.levels[2],
                    usual,
                    response.floor,
                    scale=response.scale,
                    simpler=terms.upto(1),
                    clock=clock,
                )
                fresh = filled + fresh
                if fresh and fresh[0].exact:
                    break
        found += fresh
        # Up to noise several sums may do: a long one gives way to a shorter one with a constant inside. So does a long
        # sum of plain terms that is only as exact as a look along the step can be: with products a shorter one may say
        # the same.
        loose = (
            level < deepest and response.floor > LOOSE * response.scale and len(fresh[0].terms) > PLAIN_TERMS
            if fresh
            else False
        )
        if fresh and fresh[0].exact and not loose and not (windowed and len(fresh[0].terms) > 2):
            break
    return sorted(found, key=lambda choice: (not choice.exact, choice.score))


def updated_first(
    reading: Reading,
    rows: Rows,
    response: Response,
    space: ActionSpace,
    delay: Delay,
    samples: Samples,
    kept: Bool[np.ndarray, " N"] | None = None,
    clock: Clock = NO_LIMIT,
) -> list[Choice]:
    """Exact choices in which some other fields count with the values
    that the same step has just given them; none where there is no such.

    Worlds often update one field after another: a boat's new speed and new heading move it.
    """
    own = {response.field, *(() if reading.integrator == "explicit" else (response.coordinate.name,))}
    given = {name for name, _ in reading.parameters}
    others = [name for name in reading.state_names if name not in own | given]
    options = [tuple(others)] if len(others) > 1 else []
    options += [(name,) for name in others] if len(others) <= MOST_SINGLE else []
    options += [pair for pair in itertools.combinations(others, 2) if 2 < len(others) <= MOST_MIXED]
    for new in options:
        if clock.over:
            break
        found = sums_of(reading, rows, response, space, delay, samples, kept, deepest=1, new=new, clock=clock)
        if found and found[0].exact:
            return found
    return []


def rates_of(
    reading: Reading, wanted: Sequence[Response], choices: Sequence[Choice], delay: Delay, *, empirical: bool = False
) -> Rates:
    """The chosen sums as rates of a program, each factor a constant that carries its field's name."""
    numbers: list[Number] = []
    changes = []
    laws: dict[tuple[str, tuple[str, ...]], None] = {}
    used: set[str] = set()

    def named(label: str, value: float, doc: str, free: bool = True) -> str:
        name, k = label, 2
        while name in used:
            name, k = f"{label}_{k}", k + 1
        used.add(name)
        numbers.append(Number(name, value, doc=doc, free=free))
        return name

    for response, choice in zip(wanted, choices, strict=True):
        owner = response.coordinate.name.upper()
        parts = []
        for term, factor in zip(choice.terms, choice.factors, strict=True):
            code = term.code
            if term.inner is not None and INNER in code:
                inner = named(f"{owner}_{term.inner_label}", term.inner, f"of {term.law}", term.smooth)
                code = code.replace(INNER, inner)
            factor_name = named(f"{owner}_{term.label}", factor, _doc(term))
            parts.append(
                factor_name
                if code == "1.0"
                else f"{factor_name}{code[1:]}"
                if code.startswith("1 / ")
                else f"{factor_name} * {code}"
            )
            laws[(term.law, term.of or (response.field,))] = None
        changes.append((response.field, " + ".join(parts) or "0.0"))
    name = "; ".join(
        f"{field}: {', '.join(t.law for t in choice.terms) or 'still'}"
        for (field, *_), choice in zip(wanted, choices, strict=True)
    )
    return Rates(name, tuple(laws), tuple(numbers), tuple(changes), memory=delay.memory, empirical=empirical)


def _doc(term: Term) -> str:
    return (
        f"{term.law}: {term.code.replace('state.', '').replace('new.', 'new ').replace('np.', '').replace(INNER, term.inner_label)}"
        if term.code != "1.0"
        else term.law
    )


def snapped(choice: Choice, target: Float[np.ndarray, " N"], samples: Samples, floor: float) -> Choice:
    """The choice with factors that are short numbers wherever that leaves no more than before."""
    if not choice.exact or not choice.terms:
        return choice
    full = np.stack([samples.column(term) for term in choice.terms], axis=-1)[choice.kept]
    goal = target[choice.kept]
    factors = list(choice.factors)
    for k, factor in enumerate(factors):
        short = float(f"{factor:.{SHORT_DIGITS}g}")
        trial = [*factors[:k], short, *factors[k + 1 :]]
        if float(np.sqrt(np.mean((goal - full @ trial) ** 2))) <= max(
            min(1.02 * choice.left + 1e-15, EXACT * floor), floor
        ):
            factors = trial
    return replace(choice, factors=tuple(factors))
