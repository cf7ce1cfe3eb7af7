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
from visualpatchworld.search.library import Atoms, atoms_of, terms_of
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.propose import between, proposals
from visualpatchworld.search.regress import OUTLYING, data_bits, weights_of
from visualpatchworld.search.rows import Field, Rows
from visualpatchworld.search.settle import (
    EXACT,
    ROWS_TO_CHOOSE,
    SCHEME_BITS,
    SUBSTEPS,
    Look,
    costs_of,
    floor_of,
    look_at,
)

COARSE = (0.0, 0.5, 1.0)  # shares of the later of two pushes in a second difference
SHARES = (*COARSE, 0.25, 0.75)  # the last ones are tried beside the best of the others
NEAR = 0.2  # between the share that was found and that of an integrator which is tried: the shares are that far apart
FIRST_SUBSTEPS = (1, 2, 5)  # that are tried before sums are settled; others come after
LOOKS = 3  # at speeds, each with better ones than before
TURNS = 3  # of schemes for sums and sums for schemes
SOLVING = 5  # Newton steps for speeds
STEPS = 8  # Gauss-Newton steps for constants
SUPPORTS = 5  # sums of each speed that are fitted
ROUGH = 3.0  # times a place's floor: the floor of a speed, which is made of differences
SLACK = 1.5  # times what the best sum leaves: less is not told from the error of second differences
NUDGE = 1e-6  # relative, of a numerical slope
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


def successors(rows: Rows) -> Bool[np.ndarray, " N"]:
    """Rows that another row of the same episode follows."""
    found = np.zeros(len(rows), bool)
    found[:-1] = (rows.episode[1:] == rows.episode[:-1]) & (rows.time[1:] == rows.time[:-1] + 1)
    return found


def with_speeds(
    rows: Rows, places: Mapping[str, str], speeds: Float[np.ndarray, "N h"]
) -> tuple[Rows, Bool[np.ndarray, " N"]]:
    """The rows that have a successor, speeds of this and of the next row beside the fields; and which rows those are."""
    known = np.asarray(np.isfinite(speeds).all(axis=1))
    follows = successors(rows) & known & np.append(known[1:], False)
    at = np.flatnonzero(follows)
    first = rows.time == 0
    starts = [float(np.nanmean(column[first])) if np.isfinite(column[first]).any() else 0.0 for column in speeds.T]
    fields = [
        Field(speed, (), start=start, speed_of=place)
        for (place, speed), start in zip(places.items(), starts, strict=True)
    ]
    part = rows.taken(at)
    floors = [ROUGH * rows.floors[rows.at(place)] for place in places]
    return replace(
        part,
        fields=(*rows.fields, *fields),
        before=np.concatenate([part.before, speeds[at]], axis=1),
        after=np.concatenate([part.after, speeds[at + 1]], axis=1),
        floors=np.concatenate([part.floors, floors]),
    ), follows


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


def solved(
    rows: Rows,
    motion: Motion,
    places: Mapping[str, str],
    speeds: Float[np.ndarray, "N h"],
    used: Bool[np.ndarray, " N"],
) -> Float[np.ndarray, "N h"]:
    """The speeds with which each place comes to where it is seen next.

    Where something else happened to a place (rows that are not `used`), the speed is what motion made of the one before.
    """
    wide, step = _stepper(rows, motion, places)
    columns = [rows.at(place) for place in places]
    count = len(columns)
    wanted = rows.after[:, columns]
    speeds = np.where(np.isfinite(speeds), speeds, rows.change[:, columns])
    slope = np.broadcast_to(np.eye(count), (len(rows), count, count))
    size = np.maximum(np.nanmedian(np.abs(speeds), axis=0), 1e-9)
    for turn in range(SOLVING):
        given = step(wide, speeds)
        if turn in (0, 2):
            nudged = [step(wide, speeds + NUDGE * size * unit)[:, columns] for unit in np.eye(count)]
            slope = np.stack(
                [(n - given[:, columns]) / (NUDGE * s) for n, s in zip(nudged, size, strict=True)], axis=-1
            )
            fine = np.isfinite(slope).all(axis=(1, 2)) & (np.abs(np.linalg.det(np.nan_to_num(slope))) > 1e-3)
            slope = np.where(fine[:, None, None], slope, np.eye(count))
        off = np.nan_to_num(wanted - given[:, columns], posinf=0.0, neginf=0.0)
        speeds = speeds + np.linalg.solve(slope, off[:, :, None])[:, :, 0]
    return _carried(rows, step, wide, speeds, used, count)


def _carried(rows, step, wide, speeds, used, count) -> Float[np.ndarray, "N h"]:
    lost = np.flatnonzero(~used & np.append(False, successors(rows)[:-1]))
    for _ in range(8):  # several such rows may follow each other
        if not len(lost):
            break
        speeds = speeds.copy()
        speeds[lost] = step(wide, speeds)[lost - 1][:, -count:]
    return speeds


def _stepper(rows: Rows, motion: Motion, places: Mapping[str, str]):
    """All rows with room for the speeds, and a step of them with given speeds."""
    fields = [Field(speed, (), speed_of=place) for place, speed in places.items()]
    room = np.zeros((len(rows), len(places)))
    wide = replace(
        rows,
        fields=(*rows.fields, *fields),
        before=np.concatenate([rows.before, room], axis=1),
        after=np.concatenate([rows.after, room], axis=1),
        floors=np.concatenate([rows.floors, np.ones(len(places))]),
    )

    def step(wide: Rows, speeds: np.ndarray, motion: Motion = motion) -> np.ndarray:
        before = wide.before.copy()
        before[:, -len(places) :] = speeds
        return motion.step(wide, start=before)[0]

    return wide, step


def _numbers(motion: Motion, speeds: Sequence[str]) -> list[tuple[str, int, int]]:
    """The numbers of the rates of speeds: by field and term, the weight (-1) and those inside."""
    return [
        (name, place, slot)
        for name in speeds
        for place, term in enumerate(motion.rates[name].terms)
        for slot in range(-1, len(term.free_values))
    ]


def _value(motion: Motion, key: tuple[str, int, int]) -> float:
    rate = motion.rates[key[0]]
    return rate.weights[key[1]] if key[2] < 0 else rate.terms[key[1]].free_values[key[2]]


def _changed(motion: Motion, key: tuple[str, int, int], value: float) -> Motion:
    name, place, slot = key
    rate = motion.rates[name]
    terms, weights = list(rate.terms), list(rate.weights)
    if slot < 0:
        weights[place] = value
    else:
        inner = list(terms[place].free_values)
        inner[slot] = value
        terms[place] = terms[place].with_free(inner)
    return replace(motion, rates={**motion.rates, name: Rate(tuple(terms), tuple(weights))})


@dataclass(frozen=True)
class _Fit:
    motion: Motion
    speeds: Float[np.ndarray, "N h"]
    residual: Float[np.ndarray, "M h"]  # of the speeds, in rows that have a successor
    bits: float


def fit_speeds(
    rows: Rows,
    motion: Motion,
    places: Mapping[str, str],
    speeds: Float[np.ndarray, "N h"],
    used: Bool[np.ndarray, " N"],
) -> _Fit:
    """The constants with which speeds that places ask for follow their own rates, by Gauss-Newton.

    A constant moves the speeds, too: both are varied together.
    """
    names = list(places.values())
    best: _Fit | None = None
    for _ in range(STEPS):
        speeds = solved(rows, motion, places, speeds, used)
        now = _judged(rows, motion, places, speeds, used)
        if best is not None and now.bits > best.bits - 1.0:
            return now if now.bits < best.bits else best
        best = now
        keys = _numbers(motion, names)
        if not keys:
            break
        slopes = _slopes(rows, motion, places, speeds, keys)
        _, mask = _pairs(rows, used)
        for column in range(slopes.shape[2]):  # rows far off the rest follow another rule
            off = np.abs(now.residual[:, column])
            mask &= off <= OUTLYING * max(float(np.median(off[mask])), 1e-300) if mask.any() else mask
        floors = np.array([floor_of(rows, rows.at(place)) for place in places])
        table = np.concatenate([slopes[mask][:, :, c] / floors[c] for c in range(len(names))])
        wanted = np.concatenate([now.residual[mask][:, c] / floors[c] for c in range(len(names))])
        if not np.isfinite(table).all() or len(table) < 2 * len(keys):
            break
        moves = weights_of(table, wanted)
        for key, move in zip(keys, moves, strict=True):
            value = _value(motion, key)
            limit = np.inf if key[2] < 0 else 0.3 * max(abs(value), 1e-6)
            motion = _changed(motion, key, value + float(np.clip(move, -limit, limit)))
    assert best is not None
    return best


def _pairs(rows: Rows, used: Bool[np.ndarray, " N"]) -> tuple[np.ndarray, Bool[np.ndarray, " M"]]:
    at = np.flatnonzero(successors(rows))
    return at, used[at] & used[at + 1]


def _judged(rows: Rows, motion: Motion, places: Mapping[str, str], speeds: np.ndarray, used: np.ndarray) -> _Fit:
    wide, step = _stepper(rows, motion, places)
    at, mask = _pairs(rows, used)
    residual = speeds[at + 1] - step(wide, speeds)[at][:, -len(places) :]
    bits = 0.0
    for c, (place, speed) in enumerate(places.items()):
        left = np.nan_to_num(residual[mask, c], nan=1e30)
        bits += data_bits(left, floor_of(rows, rows.at(place))) + float(costs_of(motion.rates[speed].terms).sum())
    return _Fit(motion, speeds, residual, bits)


def _slopes(
    rows: Rows, motion: Motion, places: Mapping[str, str], speeds: np.ndarray, keys: Sequence[tuple[str, int, int]]
) -> Float[np.ndarray, "M p h"]:
    """By row, number and speed: how much less is left of the speed when the number grows."""
    wide, step = _stepper(rows, motion, places)
    columns = [rows.at(place) for place in places]
    count = len(columns)
    at = np.flatnonzero(successors(rows))
    base = step(wide, speeds)
    size = np.maximum(np.nanmedian(np.abs(speeds), axis=0), 1e-9)
    by_speed = np.stack(
        [
            (step(wide, speeds + NUDGE * s * unit) - base) / (NUDGE * s)
            for s, unit in zip(size, np.eye(count), strict=True)
        ],
        axis=-1,
    )
    inverse = np.linalg.pinv(np.nan_to_num(by_speed[:, columns]))
    found = []
    for key in keys:
        value = _value(motion, key)
        nudge = NUDGE * max(abs(value), 1e-3)
        moved = (step(wide, speeds, _changed(motion, key, value + nudge)) - base) / nudge
        along = -np.einsum("nij,nj->ni", inverse, np.nan_to_num(moved[:, columns]))  # what the speed does then
        ahead = moved[at][:, -count:] + np.einsum("nij,nj->ni", by_speed[at][:, -count:], along[at])
        found.append(ahead - along[at + 1])
    return np.stack(found, axis=1)


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
    found: _Fit | None = None
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
) -> _Fit:
    """The best sums of each speed under the best of these schemes."""
    own = {name: rate for name, rate in known.rates.items() if name not in places}
    own |= {place: Rate((var(speed),), (1.0,)) for place, speed in places.items()}
    rates = {speed: looks[speed].rate for speed in places.values()}
    best: _Fit | None = None
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


def _other_sums(rows: Rows, best: _Fit, places: Mapping[str, str], looks: Mapping[str, Look], used: np.ndarray) -> _Fit:
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


def _shortened(rows: Rows, fit: _Fit, places: Mapping[str, str], used: np.ndarray) -> _Fit:
    """The fit without terms that are not worth their bits, the least sure ones first."""
    for speed in places.values():
        while True:
            rate = fit.motion.rates[speed]
            keys = [(speed, place, -1) for place in range(len(rate.terms))]
            if not keys:
                break
            slopes = _slopes(rows, fit.motion, places, fit.speeds, keys)[_pairs(rows, used)[1]]
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


def _open(rows: Rows, fit: _Fit, places: Mapping[str, str], used: np.ndarray) -> list[str]:
    """Speeds whose rate is not exact."""
    _, mask = _pairs(rows, used)
    found = []
    for c, (place, speed) in enumerate(places.items()):
        left = float(np.median(np.abs(fit.residual[mask, c]))) / floor_of(rows, rows.at(place))
        if not left <= EXACT:
            found.append(speed)
    return found
