"""From a law that the search found to what the rest of induction works with: a reading, a draft, a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.grammar.productions import Grammar
from visualpatchworld.induction.draft import Draft
from visualpatchworld.induction.front import Candidate, Front, rate_equation
from visualpatchworld.induction.reading import Coordinate, Derived, FieldRole, Reading
from visualpatchworld.induction.search import Found
from visualpatchworld.program.program import Program
from visualpatchworld.search.check import followed, rollout_errors
from visualpatchworld.search.emit import Emitted, emit, time_step
from visualpatchworld.search.find import Law, find_law
from visualpatchworld.search.fit import SURE, standard_errors, sureness
from visualpatchworld.search.front import front_of
from visualpatchworld.search.rules import events_of, predicted, unexplained
from visualpatchworld.search.settle import refit
from visualpatchworld.search.smooth import Smooth, find_smooth
from visualpatchworld.world.log import Curve
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

HORIZONS = (1, 5, 25)
ROUNDED = 0.01  # of standard errors: constants that noise ties together are not rounded one by one
FITS = 2.0  # times the noise: what rollouts of a law of curves may be off
MISSED = 0.002  # of new rows that a law may miss before it is searched for again
RIGHT = 0.01  # of the spread of motion: what an exact law may be off on new episodes, nine times of ten


@dataclass(frozen=True)
class Lawful:
    """An exact law, its program and its errors on episodes that were kept aside."""

    law: Law
    emitted: Emitted
    errors: Mapping[int, Mapping[str, float]]
    sureness: float  # the least weight of a term in units of its standard error
    smooth: Smooth | None = None  # how well rollouts fit, where rows are those of curves

    @property
    def left(self) -> float:
        """The median error after the longest horizon, on episodes that were kept aside."""
        return self.errors[max(self.errors)]["median"] if self.errors else np.inf

    @property
    def fits(self) -> bool:
        """Whether rollouts give all rows of curves up to their noise."""
        return self.smooth is not None and self.smooth.left <= FITS

    @property
    def holds(self) -> bool:
        """Whether new episodes go as the law says, and data tell each of its terms from the others.

        A long sum may imitate a law where data come from; then many weights could as well be others.
        """
        if self.smooth is not None:
            return self.fits and self.smooth.agreed
        last = self.errors[max(self.errors)] if self.errors else None
        return self.law.exact and self.sureness >= SURE and (last is None or last["p90"] <= RIGHT)


def search_law(
    data: Sequence[Trajectory],
    aside: Sequence[Trajectory],
    names: Sequence[str],
    space: ActionSpace,
    dt: float | None,
    progress: Callable[[str], None],
    grammar: Grammar = Grammar(),
) -> Lawful:
    """The law of these episodes, written down and held against those that were kept aside."""
    law = find_law(data, names, space, progress, grammar)
    return written(law, aside, space, dt)


def written(law: Law, aside: Sequence[Trajectory], space: ActionSpace, dt: float | None) -> Lawful:
    assert law.rows is not None
    after, _ = predicted(law.rows, law.motion, law.rules)
    met = ~np.any(unexplained(law.rows, list(law.motion.rates), after, np.ones(len(law.rows), bool)), axis=1)
    events = events_of(law.rules, law.rows)
    spreads = standard_errors(law.rows, law.motion, met, events)
    sure = min(sureness(law.rows, law.motion, met, events).values(), default=np.inf)
    return Lawful(law, emit(law, dt, spreads), rollout_errors(law, aside, space, HORIZONS), sure)


def smooth_law(
    curves: Sequence[Curve], names: Sequence[str], dt: float, progress: Callable[[str], None]
) -> Lawful | None:
    """The law of undriven curves at any times, written down; None where they are not smooth."""
    found = find_smooth(curves, names, dt, progress)
    if found is None:
        return None
    sizes = [
        abs(w) / max(e[0], 1e-300)
        for name, rate in found.law.motion.rates.items()
        for w, e in zip(rate.weights, found.errors[name], strict=True)
    ]
    return Lawful(
        found.law, emit(found.law, dt, found.errors, ROUNDED), found.held_out, min(sizes, default=np.inf), found
    )


def rivals_of(lawful: Lawful, aside: Sequence[Trajectory], space: ActionSpace, dt: float | None) -> Front:
    """The front of sums for each field, with errors on episodes that were kept aside."""
    law, names = lawful.law, lawful.emitted.fields
    assert law.rows is not None
    episodes = [trajectory for trajectory in aside if len(trajectory)]
    rows = []
    for point in front_of(law, followed(law, episodes, space) if episodes else law.rows):
        per_second = [weight / (dt or time_step(law) or 1.0) for weight in point.rate.weights]
        lines = rate_equation(point.field, point.rate.terms, per_second, names)
        rows.append(Candidate(names[point.field], point.terms, point.bits, point.error, *lines, point.chosen))
    return Front(tuple(rows))


def tried(
    lawful: Lawful,
    data: Sequence[Trajectory],
    aside: Sequence[Trajectory],
    space: ActionSpace,
    dt: float | None,
) -> Lawful | None:
    """The same law with its constants fitted to more episodes; None where they show that it is another."""
    law = lawful.law
    rows = followed(law, data, space)
    targets = [name for name in law.motion.rates if rows.fields[rows.at(name)].columns]
    after, _ = predicted(rows, law.motion, law.rules)
    # Held against rounding alone: new episodes may all belong to another law.
    met = ~np.any(unexplained(rows, targets, after, np.zeros(len(rows), bool)), axis=1)
    if (~met).sum() > max(law.missed, MISSED * len(rows)):
        return None
    settled = refit(rows, law.motion, met, events_of(law.rules, rows))
    return written(replace(law, motion=settled.motion, rows=rows, missed=int((~met).sum())), aside, space, dt)


def found_of(lawful: Lawful, labels: Sequence[str], dt: float | None, seconds: float) -> Found:
    """The law as a finding: its reading, its draft and its verdict."""
    law, emitted = lawful.law, lawful.emitted
    reading = _reading(lawful, labels, dt)
    free = tuple(emitted.constants)
    laws = tuple((term, (emitted.fields.get(name, name),)) for term, name in emitted.laws)
    stderr = {name: error for name, (_, error) in emitted.constants.items()}
    draft = Draft("sums of terms", Program(f'"""A law."""\n\n{emitted.text}'), free, laws, stderr)
    assert law.rows is not None
    rules = f" and {len(law.rules)} rules" if law.rules else ""
    unmet = f", except in {law.missed} rows" if law.missed else ""
    if lawful.smooth is not None:
        return _smooth_found(lawful.smooth, reading, draft, seconds)
    if lawful.holds:
        why = f"the rates{rules} give all {len(law.rows)} rows up to rounding{unmet}"
        return Found(reading, draft, (), "explained", why, seconds)
    off = f"no exact rate was found for {', '.join(law.open)}" if law.open else "data do not tell its terms apart"
    why = f"{off}{unmet}; after {max(lawful.errors, default=0)} steps it is off by {lawful.left:.2g} of the motion"
    return Found(reading, replace(draft, empirical=True), (), "valid-inside", why, seconds)


def _smooth_found(smooth: Smooth, reading: Reading, draft: Draft, seconds: float) -> Found:
    assert smooth.law.rows is not None
    kind = "their noise" if smooth.noisy else "rounding"
    if smooth.left <= FITS and smooth.agreed:
        why = f"rollouts of the rates give all {len(smooth.law.rows) + 1} rows up to {kind}"
        return Found(reading, draft, (), "explained", why, seconds)
    other = "" if smooth.agreed else "; without the held-out rows another law is found"
    why = f"rollouts of the rates are off by {smooth.left:.2g} times the noise of the rows{other}"
    return Found(reading, replace(draft, empirical=True), (), "valid-inside", why, seconds)


def _reading(lawful: Lawful, labels: Sequence[str], dt: float | None) -> Reading:
    law, names = lawful.law, lawful.emitted.fields
    roles: dict[int, FieldRole] = {}
    coordinates, parameters = [], []
    speeds = {f.speed_of: names[f.name] for f in law.fields if f.speed_of}
    for f in law.fields:
        name = names[f.name]
        if f.kind == "angle":
            coordinates.append(Coordinate(name, f.columns, angle=True, velocity=speeds.get(f.name)))
            for column, role in zip(f.columns, ("cos", "sin"), strict=True):
                roles[column] = FieldRole(labels[column], role, name, "the squares of both columns add up to one")
        elif f.kind == "steady":
            parameters.append((name, f.columns[0]))
            roles[f.columns[0]] = FieldRole(
                labels[f.columns[0]], "constant", name, "it stays the same within an episode"
            )
        elif f.columns:
            coordinates.append(Coordinate(name, f.columns, velocity=speeds.get(f.name)))
            roles[f.columns[0]] = FieldRole(labels[f.columns[0]], "coordinate", name, "its change follows the law")
    derived = []
    for column, expr in law.derived.items():
        derived.append(Derived(column, _text(expr, names)))
        roles[column] = FieldRole(labels[column], "derived", None, "it follows from the other fields in every row")
    for column in law.constants:
        noisy = any(labels[column] == name for name in law.noise)
        why = "nothing predicts it, and nothing needs it" if noisy else "it never changes"
        roles[column] = FieldRole(labels[column], "noise" if noisy else "constant", None, why)
    scheme = law.motion.scheme.kind
    integrator = scheme if scheme in ("explicit", "semi-implicit", "rk4") else "unknown"
    return Reading(
        tuple(roles[c] for c in sorted(roles)),
        tuple(coordinates),
        tuple(parameters),
        tuple(derived),
        dt or 1.0,
        integrator,
        dict(law.constants),
    )


def _text(expr: Expr, names: Mapping[str, str]) -> str:
    return expr.text(lambda node: f"state.{names[node.name]}" if node.op == "var" else repr(node.value))
