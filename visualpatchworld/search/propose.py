"""Proposals: terms with an inner number that explain what a motion leaves of a field, by score tests on a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.grammar.expr import Expr, columns, number, product
from visualpatchworld.search.library import Atoms, factors_of, pulls_of, shapes_of
from visualpatchworld.search.regress import score_tests
from visualpatchworld.search.rows import Rows

BEST = 4  # proposals that are polished and handed on
KINDS = 20  # of shapes whose inner number is polished before they are compared
ROWS = 1200  # that are looked at
PULL_ROWS = 400  # that pulls are compared in: there are many
ZOOM = (0.35, 0.08, 0.015, 0.003, 0.0006)  # relative widths of the polishing grids
POINTS = 9


def proposals(
    rows: Rows,
    atoms: Atoms,
    supports: Sequence[Sequence[Expr]],
    name: str,
    used: Bool[np.ndarray, " N"],
    end: float,
    most: int = BEST,
) -> list[Expr]:
    """Shaped terms, each with its inner number polished, that take most of what some supports leave of a field.

    Small supports are asked beside large ones: a large one may imitate a shape, and then leaves little of it to see.
    """
    places = np.flatnonzero(used)
    places = places[np.unique(np.linspace(0, len(places) - 1, min(ROWS, len(places))).astype(int))]
    rows = rows.taken(places)
    target = rows.change[:, rows.at(name)]
    shapes = shapes_of(rows, atoms)
    terms = [term for support in supports for term in support if not term.free_values and term.op != "grip"]
    factors = list(dict.fromkeys((*factors_of(atoms), *terms)))
    bent = between(shapes, rows, end)
    plain = between(factors, rows, end)
    pulls = pulls_of(rows, atoms)
    few = np.arange(0, len(rows), max(1, len(rows) // PULL_ROWS))
    drawn = between(pulls, rows.taken(few), end)
    found = _freed_terms(supports, rows, target, end)
    for support in supports:
        basis = between(support, rows, end)
        basis = basis[:, np.isfinite(basis).all(axis=0)]
        residual = target - basis @ np.linalg.lstsq(basis, target, rcond=1e-12)[0] if basis.shape[1] else target
        # A few events would otherwise decide what is proposed.
        limit = 6.0 * float(np.median(np.abs(residual))) + 3.0 * float(np.quantile(np.abs(residual), 0.8))
        residual = np.clip(residual, -limit, limit)
        gains = score_tests(drawn, residual[few], basis[few]) if pulls else np.zeros(0)
        for kind, term in {_kind(pulls[j]): pulls[j] for j in np.argsort(-gains)[:most][::-1]}.items():
            found.setdefault(kind, polished(term, rows, residual, basis, end)[1])
        for bring in (False, True):  # the shaped term alone, or with its factor as it is: f * (1 + c * shape)
            best: list[tuple[float, int, Expr]] = []
            for place, factor in enumerate(factors):
                own = plain[:, [place]]
                if bring and (factor in support or not np.isfinite(own).all()):
                    continue
                beside = np.concatenate([basis, own], axis=1) if bring else basis
                taken = float(score_tests(own, residual, basis)[0]) if bring else 0.0
                gains = taken + score_tests(own * bent, residual, beside)
                best += [(float(gains[j]), place, shapes[j]) for j in np.argsort(-gains)[:most]]
            best.sort(key=lambda item: -item[0])
            kinds: dict[Expr, tuple[int, Expr]] = {}
            for _, place, shape in best:
                term = product(factors[place], shape)
                if len(kinds) < KINDS:
                    kinds.setdefault(_kind(term), (place, term))
            # On a coarse grid a wrong shape may happen to lie nearer than the right one.
            fine = []
            for kind, (place, term) in kinds.items():
                own = plain[:, [place]]
                taken = float(score_tests(own, residual, basis)[0]) if bring else 0.0
                gain, term = polished(
                    term, rows, residual, np.concatenate([basis, own], axis=1) if bring else basis, end
                )
                fine.append((gain + taken, term, kind))
            new = [(term, kind) for _, term, kind in sorted(fine, key=lambda item: -item[0]) if kind not in found]
            found.update({kind: term for term, kind in new[: most // 2 if bring else most]})
    return list(found.values())


def _freed_terms(supports: Sequence[Sequence[Expr]], rows: Rows, target: np.ndarray, end: float) -> dict[Expr, Expr]:
    """By kind, terms of these supports with another number in a sine or cosine, each in place of the term itself."""
    found: dict[Expr, Expr] = {}
    for support in supports:
        for place, term in enumerate(support):
            loose = freed(term)
            kind = loose and loose.with_free([0.0])
            if loose is None or kind is None or kind in found:
                continue
            rest = np.delete(between(support, rows, end), place, axis=1)
            rest = rest[:, np.isfinite(rest).all(axis=0)]
            left = target - rest @ np.linalg.lstsq(rest, target, rcond=1e-12)[0] if rest.shape[1] else target
            found[kind] = polished(loose, rows, left, rest, end)[1]
    return found


def freed(term: Expr) -> Expr | None:
    """The term with a free number before a plain angle, where it has the sine or cosine of a field itself."""
    waves = {
        node: Expr(node.op, (number(1.0, free=True) * node.args[0],))
        for node in term.nodes()
        if node.op in ("sin", "cos") and node.args[0].op == "var"
    }
    return term.substituted(waves) if len(waves) == 1 and not term.free_values else None


def _kind(term: Expr) -> Expr:
    return term.with_free([0.0] * len(term.free_values))


def without_imitations(support: Sequence[Expr]) -> list[tuple[Expr, ...]]:
    """The support without all bent terms of a variable, for each variable that has several: they may imitate one shape."""
    found = []
    for name in sorted({name for term in support for name in term.variables}):
        kept = tuple(term for term in support if name not in term.variables or not term.free_values)
        if len(support) - len(kept) > 1:
            found.append(kept)
    return list(dict.fromkeys(found))


def between(terms: Sequence[Expr], rows: Rows, end: float) -> Float[np.ndarray, "N m"]:
    """Terms between both ends of a step."""
    found = np.zeros((len(rows), len(terms)))
    for share, states in ((1 - end, rows.before), (end, rows.after)):
        if share:
            found += share * columns(terms, rows.values(states), len(rows))
    return found


def polished(term: Expr, rows: Rows, residual: np.ndarray, basis: np.ndarray, end: float) -> tuple[float, Expr]:
    """The gain of the term with the inner number that takes most of the residual, on ever finer grids."""
    gain = 0.0
    for width in ZOOM:
        for slot, value in enumerate(term.free_values):
            now = list(term.free_values)
            size = max(abs(value), 0.2 * max(map(abs, now)), 1e-3)
            grid = [
                term.with_free([*now[:slot], value + width * size * step, *now[slot + 1 :]])
                for step in np.linspace(-1, 1, POINTS)
            ]
            gains = score_tests(between(grid, rows, end), residual, basis)
            gain, term = float(gains.max()), grid[int(np.argmax(gains))]
    return gain, term
