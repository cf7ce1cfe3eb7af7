"""Speeds that no column shows: fields whose rate is another field that is found from the way itself.

A place that moves by a hidden speed is explained by its second differences: the pushes of two neighbouring steps, in
shares that the integrator decides. Once there are pushes, the place's own equation is solved for the speed in every
row, and the constants are fitted with the speeds moving along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, var
from visualpatchworld.search.fit import costs_of, floor_of
from visualpatchworld.search.library import Atoms, atoms_of, terms_of
from visualpatchworld.search.look import Look, look_at
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.propose import between, proposals
from visualpatchworld.search.regress import data_bits, weights_of
from visualpatchworld.search.rows import Rows
from visualpatchworld.search.settle import EXACT, ROWS_TO_CHOOSE, SCHEME_BITS, SUBSTEPS
from visualpatchworld.search.speeds import Fit, fit_speeds, pairs, slopes_of, with_speeds

COARSE = (0.0, 0.5, 1.0)  # shares of the later of two pushes in a second difference
SHARES = (*COARSE, 0.25, 0.75)  # the last ones are tried beside the best of the others
NEAR = 0.2  # between the share that was found and that of an integrator which is tried: the shares are that far apart
FIRST_SUBSTEPS = (1, 2, 5)  # that are tried before sums are settled; others come after
LOOKS = 3  # at speeds, each with better ones than before
TURNS = 3  # of schemes for sums and sums for schemes
SUPPORTS = 5  # sums of each speed that are fitted
SLACK = 1.5  # times what the best sum leaves: less is not told from the error of second differences
BETTER = 0.9  # of the bits per row: less is not worth hidden fields


@dataclass(frozen=True)
class Unseen:
    """Rows with speeds in them, the motion that they follow, and looks at the speeds."""

    rows: Rows
    used: Bool[np.ndarray, " N"]
    motion: Motion
    looks: Mapping[str, Look]
    places: Mapping[str, str]  # place -> its speed
    open: tuple[str, ...]  # speeds whose rate is not exact


def speed_name(rows: Rows, place: str) -> str:
    """A name for the speed of a place that no field has."""
    name = f"{place}_speed"
    while name in rows.names:
        name += "_"
    return name


def share_of(scheme: Scheme) -> float:
    """How much the later of two pushes counts in a second difference of places."""
    n = scheme.substeps
    return {"explicit": (n - 1) / (2 * n), "semi-implicit": (n + 1) / (2 * n)}.get(scheme.kind, 0.5)


def differences(rows: Rows, places: Sequence[str], share: float) -> Float[np.ndarray, "N h"]:
    """Speeds as differences of places that suit an integrator; not a number in the first row of an episode."""
    now = rows.change[:, [rows.at(name) for name in places]]
    if not share:
        return now
    last = np.full_like(now, np.nan)
    last[1:] = np.where((rows.time[1:] == rows.time[:-1] + 1)[:, None], now[:-1], np.nan)
    return (1 - share) * now + share * last


def _frame(
    rows: Rows, places: Mapping[str, str], speeds: Float[np.ndarray, "N h"], used: Bool[np.ndarray, " N"]
) -> tuple[Rows, Bool[np.ndarray, " M"]]:
    """Rows in which the change of a speed is a second difference, pushes of both steps at its two ends."""
    found, follows = with_speeds(rows, places, speeds)
    at = np.flatnonzero(follows)
    change = rows.change[:, [rows.at(place) for place in places]]
    second = change[at + 1] - change[at]
    calm = used.copy()
    calm[1:] &= used[:-1]
    return replace(
        found,
        moved=np.concatenate([rows.change[at], second], axis=1),
        inputs_after={name: column[at + 1] for name, column in rows.inputs.items()},
    ), calm[at] & used[at + 1]


def look_for_speeds(
    rows: Rows,
    names: Sequence[str],
    known: Motion,
    schemes: Sequence[Scheme],
    used: Bool[np.ndarray, " N"],
    most_bits: float,
) -> Unseen | None:
    """The motion in which these fields are places that move by hidden speeds.

    None where sums of pushes do not explain second differences much better than `most_bits` in each row.
    """
    places = {name: speed_name(rows, name) for name in names}
    best: tuple[float, float, dict[str, Look]] | None = None
    for share in SHARES:
        if best is not None and share not in COARSE and abs(share - best[1]) > 0.3:
            continue
        speeds = differences(rows, list(places), share)
        frame, calm = _frame(rows, places, speeds, used)
        if calm.sum() < 4 * len(places) + 20:
            return None
        looks = _looks(frame, terms_of(atoms_of(frame)), places, calm, share)
        bits = sum(look.bits for look in looks.values()) / int(calm.sum())
        if best is None or bits < best[0]:
            best = bits, share, looks
    assert best is not None
    bits, share, looks = best
    if bits > BETTER * most_bits:
        return None
    fast = frozenset(places.values()) | known.scheme.fast
    options = list(dict.fromkeys((*(_scheme(s.kind, s.substeps, fast) for s in schemes), *_schemes(fast, share))))
    found: Fit | None = None
    for _ in range(LOOKS):
        again = _fitted(rows, known, places, looks, options, used)
        if found is not None and again.bits > 0.97 * found.bits:
            break
        found, options = again, [again.motion.scheme]
        open_ = _open(rows, found, places, used)
        if not open_:
            break
        share = share_of(found.motion.scheme)
        frame, calm = _frame(rows, places, found.speeds, used)
        atoms = atoms_of(frame)
        looks = {**looks, **_more(frame, atoms, {p: s for p, s in places.items() if s in open_}, looks, calm, share)}
    assert found is not None
    imputed, follows = with_speeds(rows, places, found.speeds)
    at = np.flatnonzero(follows)
    open_ = tuple(_open(rows, found, places, used))
    return Unseen(imputed, used[at] & used[at + 1], found.motion, looks, places, open_)


def _schemes(fast: frozenset[str], share: float) -> list[Scheme]:
    """An integrator of each kind whose second differences have about this share."""
    usual = [
        _scheme(kind, n, fast) for n in FIRST_SUBSTEPS for kind in ("explicit", "semi-implicit", "midpoint", "rk4")
    ]
    return [s for s in usual if abs(share_of(s) - share) <= NEAR and (s.substeps == 1 or share_of(s) != 0.5)]


def _scheme(kind: str, substeps: int, fast: frozenset[str]) -> Scheme:
    return Scheme(kind, substeps, fast if kind == "semi-implicit" else frozenset())


def _looks(
    frame: Rows, terms: Sequence[Expr], places: Mapping[str, str], used: np.ndarray, share: float
) -> dict[str, Look]:
    return {
        speed: _knees(frame, look_at(frame, terms, speed, used, ends=(share,)), speed, used, share)
        for speed in places.values()
    }


def _knees(frame: Rows, look: Look, speed: str, used: np.ndarray, share: float) -> Look:
    """The look with its sums in the order of their bits above what the best of them leaves.

    A second difference takes pushes at the ends of steps alone, so that even the right sum leaves more than rounding;
    below that, further terms only imitate the integrator.
    """
    k = frame.at(speed)
    y = frame.change[used, k]
    fits = []
    for support in look.supports:
        table = between(support, frame, share)[used]
        weights = weights_of(table, y) if support else np.zeros(0)
        left = y - table @ weights if support else y
        fits.append((support, weights, left))
    least = min(float(np.median(np.abs(left))) for _, _, left in fits)
    floor = max(SLACK * least, floor_of(frame, k))
    fits.sort(key=lambda fit: data_bits(fit[2], floor) + float(costs_of(fit[0]).sum()))
    support, weights, left = fits[0]
    bits = data_bits(left, floor_of(frame, k)) + float(costs_of(support).sum())
    return Look(tuple(fit[0] for fit in fits), tuple(weights), share, bits)


def _more(
    frame: Rows, atoms: Atoms, places: Mapping[str, str], looks: Mapping[str, Look], used: np.ndarray, share: float
) -> dict[str, Look]:
    """Looks with better speeds, and with shapes beside the terms of the library."""
    found = {}
    for speed in places.values():
        first = look_at(frame, terms_of(atoms), speed, used, ends=(share,))
        path = {len(s): s for s in reversed(first.supports) if 0 < len(s) <= 5}
        shapes = proposals(frame, atoms, list(path.values()), speed, used, share)
        terms = list(dict.fromkeys((*shapes, *first.terms(), *looks[speed].terms())))
        bent = look_at(frame, terms, speed, used, ends=(share,))
        both = replace(bent, supports=tuple(dict.fromkeys((*bent.supports, *first.supports))))
        found[speed] = _knees(frame, both, speed, used, share)
    return found


def _fitted(
    rows: Rows,
    known: Motion,
    places: Mapping[str, str],
    looks: Mapping[str, Look],
    schemes: Sequence[Scheme],
    used: np.ndarray,
) -> Fit:
    """The best sums of each speed under the best of these schemes."""
    own = {name: rate for name, rate in known.rates.items() if name not in places}
    own |= {place: Rate((var(speed),), (1.0,)) for place, speed in places.items()}
    rates = {speed: looks[speed].rate for speed in places.values()}
    best: Fit | None = None
    few = _few(rows, used)
    for _ in range(TURNS):
        if best is not None:  # with better sums, the number of sub-steps shows
            fast = best.motion.scheme.fast
            schemes = [best.motion.scheme, *(_scheme(best.motion.scheme.kind, n, fast) for n in SUBSTEPS)]
        ranked = []
        for place, scheme in enumerate(dict.fromkeys(schemes)):
            start = differences(rows, list(places), share_of(scheme))[few]
            fit = fit_speeds(rows.taken(few), Motion({**own, **rates}, scheme), places, start, used[few])
            ranked.append((fit.bits + SCHEME_BITS * place, place, fit))
        _, _, fit = min(ranked, key=lambda item: item[:2])
        fit = _shortened(
            rows.taken(few), _other_sums(rows.taken(few), fit, places, looks, used[few]), places, used[few]
        )
        if best is not None and fit.bits > best.bits - 1.0:
            break
        best = fit
        rates = {speed: fit.motion.rates[speed] for speed in places.values()}
    assert best is not None
    start = differences(rows, list(places), share_of(best.motion.scheme))
    return fit_speeds(rows, best.motion, places, start, used)


def _few(rows: Rows, used: np.ndarray) -> np.ndarray:
    """Whole episodes that are enough to choose with, those with most usual rows first."""
    sizes = np.bincount(rows.episode, weights=used.astype(float))
    chosen: list[int] = []
    for episode in np.argsort(-sizes, kind="stable"):
        chosen.append(int(episode))
        if sizes[chosen].sum() >= ROWS_TO_CHOOSE:
            break
    return np.flatnonzero(np.isin(rows.episode, chosen))


def _other_sums(rows: Rows, best: Fit, places: Mapping[str, str], looks: Mapping[str, Look], used: np.ndarray) -> Fit:
    """The fit with other sums for speeds that are not exact, where those save bits."""
    for speed in _open(rows, best, places, used):
        frame, calm = _frame(rows, places, best.speeds, used)
        for support in looks[speed].supports[:SUPPORTS]:
            if support == best.motion.rates[speed].terms or not support:
                continue
            table = between(support, frame, share_of(best.motion.scheme))
            rate = Rate(support, tuple(weights_of(table, frame.change[:, frame.at(speed)], calm)))
            motion = replace(best.motion, rates={**best.motion.rates, speed: rate})
            fit = fit_speeds(rows, motion, places, best.speeds, used)
            if fit.bits < best.bits:
                best = fit
    return best


def _shortened(rows: Rows, fit: Fit, places: Mapping[str, str], used: np.ndarray) -> Fit:
    """The fit without terms that are not worth their bits, the least sure ones first."""
    for speed in places.values():
        while True:
            rate = fit.motion.rates[speed]
            keys = [(speed, place, -1) for place in range(len(rate.terms))]
            if not keys:
                break
            slopes = slopes_of(rows, fit.motion, places, fit.speeds, keys)[pairs(rows, used)[1]]
            table = slopes.reshape(len(slopes), len(keys), -1)[:, :, list(places.values()).index(speed)]
            size = np.maximum(np.sqrt(np.mean(table**2, axis=0)), 1e-300)
            cover = np.linalg.pinv((table / size).T @ (table / size), rcond=1e-12)
            sure = np.abs(np.array(rate.weights)) * size / np.sqrt(np.maximum(np.diag(cover), 1e-300))
            least = int(np.argmin(sure))
            fewer = Rate(
                tuple(t for p, t in enumerate(rate.terms) if p != least),
                tuple(w for p, w in enumerate(rate.weights) if p != least),
            )
            motion = replace(fit.motion, rates={**fit.motion.rates, speed: fewer})
            shorter = fit_speeds(rows, motion, places, fit.speeds, used)
            if shorter.bits >= fit.bits:
                break
            fit = shorter
    return fit


def _open(rows: Rows, fit: Fit, places: Mapping[str, str], used: np.ndarray) -> list[str]:
    """Speeds whose rate is not exact."""
    _, mask = pairs(rows, used)
    found = []
    for c, (place, speed) in enumerate(places.items()):
        left = float(np.median(np.abs(fit.residual[mask, c]))) / floor_of(rows, rows.at(place))
        if not left <= EXACT:
            found.append(speed)
    return found
