"""Which memory explains a field: proposals of hidden fields, compared by the bits of short sums that use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool
from scipy.optimize import minimize_scalar

from visualpatchworld.grammar.expr import Expr, call, number, product, var
from visualpatchworld.search.library import Atoms
from visualpatchworld.search.look import Look, look_at
from visualpatchworld.search.memory import LAGGED, Memory, lag, memories, switch, switches, timers
from visualpatchworld.search.motion import Motion, Stages
from visualpatchworld.search.propose import between, proposals
from visualpatchworld.search.regress import score_tests
from visualpatchworld.search.rows import Rows

ENDS = (0.0, 0.5)  # of a step, beside that of the look before
LAG_REACH = 0.07  # around the grid's best share: a bit more than the grid's own steps
BETTER = 0.95  # of the bits: less is not worth a hidden field
WAVES = 10  # shapes of a clock that are tried: several look alike in a short episode
SMALL = 6  # terms of the supports that memory is tried with
MOST_BASE = 40
LIKELY = 5  # delays and lags that are looked at in full
POLISHED = 3  # memories whose inner numbers are polished before they are compared


def recall(
    rows: Rows, atoms: Atoms, look: Look, name: str, used: Bool[np.ndarray, " N"], motion: Motion | None = None
) -> tuple[Memory, Look] | None:
    """The hidden field that saves most bits of a field, and the look with it; None where none saves enough.

    With a `motion` whose scheme is known, terms are taken where it takes them, and few rows can tell.
    """
    base = (
        _base(look, atoms) if motion is None else list(dict.fromkeys((*motion.rates[name].terms, *_base(look, atoms))))
    )
    # A look without the memory says little of where in a step its terms count.
    ends = tuple(dict.fromkeys((look.end, *ENDS)))
    start = look_at(rows, base, name, used, ends=ends, polish=False, under=_under(rows, motion, name))
    rough: list[tuple[float, int, Memory]] = []
    likely = _likely(rows, base, list(memories(rows)), name, used, ends)
    for memory in (*likely, *_scored(rows, base, name, used, start.end)):
        found = _with_memory(rows, base, memory, name, used, ends, motion)
        if found is not None:
            rough.append((found.bits + memory.bits, len(rough), memory))
    rough.sort(key=lambda item: item[:2])
    looks = [
        (_with_memory(rows, base, memory, name, used, ends, motion, polish=True), memory)
        for _, _, memory in rough[:POLISHED]
    ]
    best = min(((f.bits + m.bits, k, m, f) for k, (f, m) in enumerate(looks) if f is not None), default=None)
    if best is None or best[0] > BETTER * (start.bits if motion is not None else min(look.bits, start.bits)):
        return None
    _, _, memory, found = best
    if memory.name.endswith(LAGGED):
        memory = _polished_lag(rows, memory, name, used, found)
        found = _with_memory(rows, base, memory, name, used, ends, motion, polish=True) or found
    return memory, found


def _likely(
    rows: Rows, base: Sequence[Expr], options: Sequence[Memory], name: str, used: np.ndarray, ends: Sequence[float]
) -> list[Memory]:
    """Clocks, and the few delays and lags with which all terms together leave least."""
    target = rows.change[used, rows.at(name)]
    kept, scored = [], []
    for place, memory in enumerate(options):
        if not memory.seen:
            kept += [memory] if memory.fields else []
            continue
        swaps, left = dict(memory.seen), np.inf
        terms = list(dict.fromkeys(t for term in base for t in (term, term.substituted(swaps))))
        for end in ends:
            table = between(terms, memory.added(rows), end)[used]
            table = table[:, np.isfinite(table).all(axis=0)]
            residual = target - table @ np.linalg.lstsq(table, target, rcond=1e-10)[0]
            left = min(left, float(np.median(np.abs(residual))))
        scored.append((left, place, memory))
    scored.sort(key=lambda item: item[:2])
    return [*kept, *(memory for _, _, memory in scored[:LIKELY])]


def _base(look: Look, atoms: Atoms) -> list[Expr]:
    """Terms of short sums, and all plain ones."""
    terms = [term for support in look.supports if len(support) <= SMALL for term in support]
    plain = [number(1.0), *atoms.plain, *atoms.inputs, *atoms.trig]
    return list(dict.fromkeys((*plain, *terms)))[:MOST_BASE]


def _under(rows: Rows, motion: Motion | None, name: str, memory: Memory | None = None) -> tuple[Stages, bool] | None:
    """Where the scheme of a motion takes rates in rows that may have a memory."""
    if motion is None:
        return None
    more = dict(memory.rates) if memory is not None else {}
    _, stages = replace(motion, rates={**motion.rates, **more}).step(rows)
    return stages, bool(motion.fast(rows.names)[rows.at(name)])


def _with_memory(
    rows: Rows,
    base: Sequence[Expr],
    memory: Memory,
    name: str,
    used: np.ndarray,
    ends: Sequence[float],
    motion: Motion | None = None,
    polish: bool = False,
) -> Look | None:
    """The best short sums with what the memory shows beside, or in place of, what is done now."""
    if not memory.fields:
        return None
    more = memory.added(rows)
    if memory.seen:
        swaps = dict(memory.seen)
        # Where nothing was chosen yet, the first choice is not the same as none.
        first = [
            term.substituted({var(n): var(n.replace("_is_1", "_is_0"))})
            for term in base
            for n in term.variables
            if n.endswith("_is_1")
        ]
        changed = [term.substituted(swaps) for term in (*base, *first)]
        terms = list(dict.fromkeys((*changed, *base)))
    else:
        hidden = tuple(var(f.name) for f in memory.fields)
        if memory.fields[0].name == "clock":
            only = Atoms(hidden, (), (), (), ())
            waves = proposals(more, only, [(), tuple(base[:SMALL])], name, used, ends[0], WAVES)
            terms = list(dict.fromkeys((*base, *waves)))
        else:
            shown = hidden
            if memory.name.startswith("a timer"):
                levels = np.unique(memory.before)[:-1] + 0.5
                shown = tuple(call("where", call("lt", h, float(p)), 1.0, 0.0) for h in hidden for p in levels)
            gated = [product(term, h) for h in shown for term in (number(1.0), *base) if _short(term)]
            terms = list(dict.fromkeys((*base, *gated)))
    return look_at(more, terms, name, used, ends=ends, polish=polish, under=_under(more, motion, name, memory))


def _short(term: Expr) -> bool:
    return len(list(term.nodes())) <= 4


def _polished_lag(rows: Rows, memory: Memory, name: str, used: np.ndarray, look: Look) -> Memory:
    """The same actuator, with the share of its old value that the terms of a look fit best."""
    action, terms = memory.name.removesuffix(LAGGED), look.supports[0]
    target = rows.change[used, rows.at(name)]

    def off(left: float) -> float:
        table = between(terms, lag(rows, action, float(left)).added(rows), look.end)[used]
        residual = target - table @ np.linalg.lstsq(table, target, rcond=1e-12)[0]
        return float(np.log(np.median(np.abs(residual)) + 1e-300))

    first = 1.0 - memory.rates[0][1].weights[0]
    bounds = (max(first - LAG_REACH, 1e-3), min(first + LAG_REACH, 0.999))
    found: Any = minimize_scalar(off, bounds=bounds, method="bounded", options={"xatol": 1e-12, "maxiter": 80})
    return lag(rows, action, float(found.x)) if found.fun <= off(first) else memory


def _scored(rows: Rows, base: Sequence[Expr], name: str, used: np.ndarray, end: float) -> list[Memory]:
    """Switches and timers are many: only those are handed on whose column takes most of what the base leaves."""
    target = rows.change[:, rows.at(name)]
    basis = between(base, rows, end)
    fine = np.isfinite(basis).all(axis=0)
    basis = basis[used][:, fine]
    residual = target[used] - basis @ np.linalg.lstsq(basis, target[used], rcond=1e-10)[0]
    found: list[tuple[float, Memory]] = []
    for memory in switches(rows):
        column = memory.before[used]
        found.append((float(score_tests(column, residual, basis)[0]), memory))
    found.sort(key=lambda item: -item[0])
    kept = [_fine_switch(rows, memory, residual, basis, used) for _, memory in found[:1]]
    return [*kept, *_timers(rows, base, target, used, end)]


def _timers(rows: Rows, base: Sequence[Expr], target: np.ndarray, used: np.ndarray, end: float) -> list[Memory]:
    """The timer that explains most where it lets actions through in part of its round only."""
    acting = [term for term in base if any(name.startswith("action_") for name in term.variables)]
    resting = between([term for term in base if term not in acting], rows, end)[used]
    resting = resting[:, np.isfinite(resting).all(axis=0)]
    moved = between(acting, rows, end)[used]
    best: tuple[float, Memory] | None = None
    for memory in timers(rows):
        time = memory.before[used]
        for cut in range(1, int(memory.before.max()) + 1):
            table = np.concatenate([resting, moved * (time < cut - 0.5)], axis=1)
            left = target[used] - table @ np.linalg.lstsq(table, target[used], rcond=1e-10)[0]
            off = float(np.median(np.abs(left)))
            if best is None or off < 0.9 * best[0]:
                best = off, memory
    return [] if best is None else [best[1]]


def _fine_switch(rows: Rows, memory: Memory, residual, basis, used) -> Memory:
    """The same switch with both thresholds where they explain most."""
    name = memory.name.removeprefix("a switch by ")
    x = np.sort(rows.before[:, rows.at(name)])
    low, high = (rule.guards[0].args[1].value for rule in memory.rules)
    best = float(score_tests(memory.before[used], residual, basis)[0])
    for width in (0.06, 0.02, 0.006, 0.002, 0.0007):
        for side in (0, 1):
            at = np.searchsorted(x, (low, high)[side]) / len(x)
            for share in np.linspace(at - width, at + width, 9):
                level = float(np.quantile(x, np.clip(share, 0.0, 1.0)))
                pair = (level, high) if side == 0 else (low, level)
                if pair[0] >= pair[1]:
                    continue
                other = switch(rows, name, *pair)
                gain = float(score_tests(other.before[used], residual, basis)[0])
                if gain > best:
                    best, memory, (low, high) = gain, other, pair
    return memory
