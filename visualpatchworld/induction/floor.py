"""What episodes that no search has seen say of a law; and the floor of an empirical program: a field
whose law predicts no better than standing still or going on evenly gets that instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.draft import Draft, cut, normalised_errors
from visualpatchworld.induction.experience import experience
from visualpatchworld.induction.march import predicted
from visualpatchworld.induction.motion import Limit, Number, assemble
from visualpatchworld.induction.rivals import Rival, relabelled
from visualpatchworld.induction.search import Found
from visualpatchworld.world.trajectory import Trajectory

HORIZONS = (1, 5, 25)
BEYOND = 0.1  # of the range that a field was seen in, to either side: an empirical program does not leave it
FAR_OFF = 1e3  # of a field's spread: nothing counts as worse than this
SLACK = 1.01  # times the error of plain motion: less is chance
STILL, EVEN, RANGE = "standing still", "even motion", "range"
FAILS = 0.15  # of the spread of motion: what is off by more on new episodes explains nothing


@dataclass(frozen=True)
class Plain:
    """Fields without a law of their own: velocities that stay as they are, and coordinates that do not move."""

    even: frozenset[str] = field(default_factory=frozenset)
    still: frozenset[str] = field(default_factory=frozenset)

    def __bool__(self) -> bool:
        return bool(self.even or self.still)

    def with_even(self, name: str) -> Plain:
        return replace(self, even=self.even | {name})

    def with_still(self, name: str) -> Plain:
        return replace(self, still=self.still | {name})


def errors_aside(found: Found, kept_aside: Sequence[Trajectory]) -> dict[int, dict[str, float]]:
    """Errors on the episodes that no search has seen."""
    errors = {}
    for horizon in HORIZONS if kept_aside else ():
        off = _normalised(found, kept_aside, horizon)
        if len(off):
            errors[horizon] = {
                "mean": float(off.mean()),
                "median": float(np.median(off)),
                "p90": float(np.quantile(off, 0.9)),
            }
    return errors


def _normalised(found: Found, data: Sequence[Trajectory], horizon: int) -> np.ndarray:
    """Normalised errors over stretches, what the state remembers of actions given and not counted."""
    width, first = len(found.reading.state_names), found.memory.steps
    pieces = [trajectory for trajectory in data if len(trajectory) - first >= horizon]
    states = [found.states(trajectory)[first:] for trajectory in pieces]
    stretches = cut(states, [trajectory.actions[first:] for trajectory in pieces], horizon) if pieces else None
    if stretches is None or not len(stretches.starts):
        return np.zeros(0)
    given = predicted(found.draft.program, stretches)
    return normalised_errors(given[..., :width], stretches.truths[..., :width], stretches.starts[:, :width])


def held_to(found: Found, errors: Mapping[int, Mapping[str, float]]) -> Found:
    """The verdict as episodes that no search has seen bear it out: a law that fails there explains nothing."""
    horizon = max(errors, default=0)
    median = errors[horizon]["median"] if horizon else 0.0
    own = found.evidence[0].error if found.draft is found.evidence[0].draft else 0.0
    if found.verdict == "unexplained" or median <= max(FAILS, 3 * own):
        return found
    why = (
        f"episodes that no search has seen are off by {median:.2g} of the spread of motion after "
        f"{horizon} steps; {found.why}"
    )
    return replace(found, verdict="unexplained", why=why)


@np.errstate(all="ignore")  # laws that run away are what this is about
def floored(found: Found, data: Sequence[Trajectory]) -> Found:
    """What was found; where nothing explains it, with plain motion for
    every field that its law predicts worse, and the verdict says so.

    Fields are compared over windows of the held-out episodes among `data`.
    """
    best = found.evidence[0]
    empirical = found.verdict == "unexplained" or found.draft.empirical
    if not empirical or found.draft is not best.draft or not best.rates.changes:
        return found
    best = _within_range(best, data) if found.verdict == "unexplained" else best
    plain = _plain(best, data)
    again = _with_plain(best, plain)
    if not plain:
        return replace(found, draft=again.draft, evidence=(again, *found.evidence[1:]))
    still = [name for name in best.reading.state_names if name in plain.still]
    even = [c.velocity for c in best.reading.coordinates if c.velocity in plain.even and c.name not in plain.still]
    said = [f"{', '.join(still)} {'stands' if len(still) == 1 else 'stand'} still"] if still else []
    said += [f"{', '.join(map(str, even))} {'stays' if len(even) == 1 else 'stay'} the same"] if even else []
    why = (
        f"{found.why.rstrip('.')}; plain motion predicts better: in the program {' and '.join(said)}, "
        f"which leaves {_left(again):.1g}."
    )
    return replace(found, draft=again.draft, evidence=(again, *found.evidence[1:]), why=why)


def _within_range(rival: Rival, data: Sequence[Trajectory]) -> Rival:
    """The rival with every field that a sum of terms moves kept near
    the range that it was seen in: beyond it nothing is known.
    """
    states = np.concatenate([rival.reading.states(t) for t in data])
    low, high = states.min(axis=0), states.max(axis=0)
    margin = BEYOND * (high - low)
    moved = {of for of, _ in rival.rates.changes}
    limits, taken = (
        [],
        {number.name for number in (*rival.rates.numbers, *(n for limit in rival.limits for n in limit.numbers))},
    )
    for c in rival.reading.coordinates:
        for name in (c.velocity, c.name):
            k = rival.reading.state_names.index(name) if name is not None else -1
            ends = f"{name}_seen_from".upper(), f"{name}_seen_to".upper()
            if name is None or (c.velocity or c.name) not in moved or (c.angle and name == c.name) or taken & set(ends):
                continue
            edges = float(f"{low[k] - margin[k]:.4g}"), float(f"{high[k] + margin[k]:.4g}")
            numbers = tuple(
                Number(end, edge, doc=f"{name} was not seen beyond", free=False)
                for end, edge in zip(ends, edges, strict=True)
            )
            phase = "velocity" if name == c.velocity or c.velocity is None else "coordinate"
            limits.append(Limit(phase, (f"{name} = np.clip({name}, {ends[0]}, {ends[1]})",), numbers, RANGE, (name,)))
    kept = (*rival.limits, *limits)
    return _assembled(replace(rival, limits=kept))


def _left(rival: Rival) -> float:
    """The median error of held-out stretches, as verdicts give it."""
    data, width = rival.experience, len(rival.reading.state_names)
    far = cut(data.held_states, data.held_actions, data.horizon)
    given = predicted(rival.draft.program, far)[..., :width]
    return (
        float(np.median(normalised_errors(given, far.truths[..., :width], far.starts[:, :width])))
        if len(far.starts)
        else np.nan
    )


def _plain(best: Rival, data: Sequence[Trajectory]) -> Plain:
    """The fields whose law is worse than plain motion, one found
    after another: what one field does may drive another one away.
    """
    plain, reading = Plain(), best.reading
    seen = experience(reading, [t for t in data if len(t) >= 2], best.experience.memory)
    windows = [cut(seen.held_states, seen.held_actions, h) for h in HORIZONS if h <= seen.horizon]
    windows = [w for w in windows if len(w.starts)]
    if not windows:
        return plain
    names = list(reading.state_names)
    width = len(names)
    sizes = np.maximum(np.std(np.concatenate(seen.held_states)[:, :width], axis=0), 1e-12)

    def errors(draft: Draft) -> Float[np.ndarray, "W S"]:
        return np.stack(
            [_off(predicted(draft.program, w)[:, -1, :width], w.truths[:, -1, :width], sizes) for w in windows]
        )

    still = np.stack([_off(w.starts[:, :width], w.truths[:, -1, :width], sizes) for w in windows])
    drifted = []
    for w in windows:
        ends = w.starts[:, :width].copy()
        for k, c in enumerate(reading.coordinates):
            if c.velocity is not None:
                ends[:, k] += reading.dt * w.actions.shape[1] * c.velocity_scale * w.starts[:, names.index(c.velocity)]
        drifted.append(_off(ends, w.truths[:, -1, :width], sizes))
    even = np.stack(drifted)
    for _ in range(2 * len(reading.coordinates)):
        law = errors(_with_plain(best, plain).draft)
        worse: list[tuple[float, float, Plain]] = []
        for k, c in enumerate(reading.coordinates):
            moves_evenly = c.velocity is not None and _ratio(even[:, k], still[:, k]) <= 1
            ratio = _ratio(law[:, k], even[:, k] if moves_evenly else still[:, k])
            own = names.index(c.velocity) if c.velocity is not None else k
            speed = _ratio(law[:, own], still[:, own])
            if (
                c.velocity is not None
                and c.velocity not in plain.even
                and (speed > SLACK or (moves_evenly and ratio > SLACK))
            ):
                worse.append((law[0, own] / (still[0, own] + 1e-300), max(speed, ratio), plain.with_even(c.velocity)))
            elif c.name not in plain.still and ratio > SLACK and not moves_evenly:
                worse.append((law[0, k] / (still[0, k] + 1e-300), ratio, plain.with_still(c.name)))
        if not worse:
            break
        # What is wrong after a single step is so by itself; later errors may come from other fields.
        plain = max(worse, key=lambda entry: (entry[0] > SLACK, entry[1]))[2]
    return plain


def _off(
    given: Float[np.ndarray, "N S"], truth: Float[np.ndarray, "N S"], sizes: Float[np.ndarray, " S"]
) -> Float[np.ndarray, " S"]:
    """The mean error of every field, in units of its spread."""
    off = np.abs(given - truth) / sizes
    return np.mean(np.minimum(np.where(np.isfinite(off), off, FAR_OFF), FAR_OFF), axis=0)


def _ratio(one: Float[np.ndarray, " W"], other: Float[np.ndarray, " W"]) -> float:
    """How many times the error of the other: over all horizons, or over the longest one where that is more."""
    times = (one + 1e-12) / (other + 1e-12)
    return float(max(np.exp(np.mean(np.log(times))), times[-1]))


def _with_plain(best: Rival, plain: Plain) -> Rival:
    """The rival with these fields in plain motion, and without the limits and constants that only they needed."""
    if not plain:
        return best
    rates, changes, held = best.rates, [], []
    velocities = {c.velocity: c.name for c in best.reading.coordinates if c.velocity is not None}
    gone = plain.even | plain.still
    for of, change in rates.changes:
        if of in plain.still or (of in plain.even and velocities.get(of) in plain.still):
            continue  # what has no rate is not moved at all
        changes.append((of, "0.0" if of in plain.even else change))
    for name in velocities.values():
        if name in plain.still and any(of == v for of, _ in changes for v, c in velocities.items() if c == name):
            held.append(Limit("coordinate", (f"{name} = state.{name}",), law=STILL, of=(name,)))
    limits = tuple(
        limit
        for limit in best.limits
        if not gone & set(limit.of) and not any(_names(line) & gone for line in limit.lines)
    )
    text = " ".join((*(change for _, change in changes), *rates.lines, *rates.solution))
    numbers = tuple(n for n in rates.numbers if re.search(rf"\b{n.name}\b", text))
    rates = replace(rates, changes=tuple(changes), numbers=numbers)
    rates = relabelled(rates) if best.source == "sums" else rates
    moved = [
        (STILL, (name,))
        for name in best.reading.state_names
        if name in plain.still and name not in {limit.of[0] for limit in held}
    ]
    moved += [(EVEN, (v,)) for v, name in velocities.items() if v in plain.even and name not in plain.still]
    rates = replace(rates, laws=(*rates.laws, *moved))
    return _assembled(replace(best, rates=rates, limits=(*limits, *held)))


def _assembled(rival: Rival) -> Rival:
    """The rival with the program of its rates and limits; ranges that it was seen in are no laws."""
    draft = assemble(
        rival.reading, rival.rates, integrator=rival.integrator, substeps=rival.substeps, limits=rival.limits
    )
    stderr = {name: e for name, e in rival.draft.stderr.items() if name in draft.free}
    laws = tuple(entry for entry in draft.laws if entry[0] != RANGE)
    return replace(
        rival,
        draft=replace(draft, stderr=stderr, empirical=rival.draft.empirical, laws=laws),
        constants=len(draft.free),
    )


def _names(line: str) -> set[str]:
    return set(re.findall(r"\b[a-z]\w*", line))
