"""Rules: what a step sets where a guard holds, found from the rows that no rate explains.

A guard is one threshold on a short expression, or two of them together; what it sets is a number, the value before the
step, or what motion gave, shifted or scaled. Limits, stops, bounces, wrap-arounds, doors and resets are all of that kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from jaxtyping import Bool
from scipy.optimize import minimize

from visualpatchworld.grammar.expr import FIXED_BITS, NUMBER_BITS, Expr, call, number, var
from visualpatchworld.search.contact import contacts
from visualpatchworld.search.fit import floor_of
from visualpatchworld.search.guards import FALSE_ALARM, LEAST, Pool, before, guards_of, pool_of, stumps
from visualpatchworld.search.motion import Both, Events, Motion, States
from visualpatchworld.search.regress import data_bits
from visualpatchworld.search.rows import Rows

OFF = 60.0  # floors: a residual beyond is not explained
OFF_MEDIANS = 30.0  # the same in medians of what a law leaves, where it is not exact
MOST_RULES = 10
# Where rules act: "sub-step" (after each), "between" (after its fast fields), "step" (once, after all motion) and "first".
UNCLEAN = 0.02  # of the rows that a rule changes may stay wrong in the fields that it sets
OPTIONS = 3  # assignments of a field that are tried where sub-steps hide what was set
POLISHED = 4  # rules whose numbers are polished before they are compared
MOST_SET = 4  # fields that one rule sets
RULE_BITS = 8.0  # that a rule exists, where it acts and which fields it sets


@dataclass(frozen=True)
class Rule:
    """Where all guards hold, fields are set; guards see what motion gave, and what was before the step."""

    guards: tuple[Expr, ...]
    sets: tuple[tuple[str, Expr], ...]
    place: str = "sub-step"

    @property
    def bits(self) -> float:
        repeated = len(self.free_values) - len(set(self.free_values))  # the same number again, such as a wall
        parts = (*self.guards, *(e for _, e in self.sets))
        return RULE_BITS + sum(e.bits for e in parts) - repeated * (NUMBER_BITS - FIXED_BITS)

    @property
    def free_values(self) -> tuple[float, ...]:
        return tuple(v for e in (*self.guards, *(e for _, e in self.sets)) for v in e.free_values)

    def with_free(self, values: Iterable[float]) -> Rule:
        left = list(values)

        def taken(expr: Expr) -> Expr:
            count = len(expr.free_values)
            part, left[:] = left[:count], left[count:]
            return expr.with_free(part)

        guards = tuple(taken(g) for g in self.guards)
        return replace(self, guards=guards, sets=tuple((name, taken(e)) for name, e in self.sets))


def apply(rules: Sequence[Rule], rows: Rows, now: States, start: States) -> tuple[States, Bool[np.ndarray, " N"]]:
    """The states after these rules, one after the other, and the rows that one of them changed."""
    ruled = np.zeros(len(now), bool)
    values = rows.values(start)
    olds = {f"{name}@0": start[:, k] for k, name in enumerate(rows.names)}
    for rule in rules:
        values |= {name: now[:, k] for k, name in enumerate(rows.names)} | olds
        holds = np.ones(len(now), bool)
        for guard in rule.guards:
            holds &= np.asarray(guard.evaluate(values), bool)
        if holds.any():
            now = now.copy()
            for name, expr in rule.sets:
                now[:, rows.at(name)] = np.where(holds, expr.evaluate(values), now[:, rows.at(name)])
            ruled |= holds
    return now, ruled


def events_of(rules: Sequence[Rule], rows: Rows) -> Both:
    """The rules of sub-steps, as a step of motion takes them."""

    def at(place: str) -> Events | None:
        inner = [rule for rule in rules if rule.place == place]
        return (lambda now, _: apply(inner, rows, now, rows.before)) if inner else None

    return at("sub-step"), at("between")


def predicted(rows: Rows, motion: Motion, rules: Sequence[Rule]) -> tuple[States, Bool[np.ndarray, " N"]]:
    """The states after one step of motion and rules, and the rows in which a rule acted."""
    start = rows.before
    first = [rule for rule in rules if rule.place == "first"]
    ruled = np.zeros(len(rows), bool)
    if first:
        start, ruled = apply(first, rows, start, start)
    now, stages = motion.step(rows, events_of(rules, rows), start)
    last = [rule for rule in rules if rule.place == "step"]
    now, more = apply(last, rows, now, rows.before) if last else (now, ruled)
    return now, ruled | stages.ruled | more


def residual_bits(rows: Rows, targets: Sequence[str], after: States) -> float:
    return sum(
        data_bits(rows.after[:, k] - after[:, k], floor_of(rows, k)) for k in (rows.at(name) for name in targets)
    )


def unexplained(
    rows: Rows, targets: Sequence[str], after: States, used: Bool[np.ndarray, " N"]
) -> Bool[np.ndarray, "N F"]:
    """By row and field, whether the residual is far beyond what the law usually leaves."""
    found = np.zeros_like(rows.after, dtype=bool)
    for name in targets:
        k = rows.at(name)
        off = np.abs(rows.after[:, k] - after[:, k])
        whole = rows.fields[k].kind == "whole"  # it is met or not
        usual = float(np.median(off[used])) if used.any() and not whole else 0.0
        found[:, k] = ~(off <= max(OFF * floor_of(rows, k), OFF_MEDIANS * usual))
    return found


def find_rules(
    rows: Rows, motion: Motion, targets: Sequence[str], used: Bool[np.ndarray, " N"], known: Sequence[Rule] = ()
) -> tuple[Rule, ...]:
    """Rules that explain rows which motion does not, one after the other as long as bits are saved."""
    rules = list(known)
    after, _ = predicted(rows, motion, rules)
    moved = after
    bits = residual_bits(rows, targets, after)
    for _ in range(MOST_RULES):
        off = unexplained(rows, targets, after, used)
        if off.any(axis=1).sum() < LEAST:
            break
        found = []
        options = 1 if motion.scheme.substeps == 1 else OPTIONS
        # Contact comes before the limits that were found so far, or after them.
        touching = [Rule(*contact) for contact in contacts(rows, motion, targets, moved, off)]
        for rule in (*touching, *_candidates(rows, targets, after, off, options)):
            for version in _versions(rule, motion, rows):
                for place in dict.fromkeys((len(rules), len(known) if rule in touching else len(rules))):
                    tried = [*rules[:place], version, *rules[place:]]
                    outcome, _ = predicted(rows, motion, tried)
                    left = residual_bits(rows, targets, outcome) + version.bits
                    if left < bits - 2.0:
                        fields = [rows.at(name) for name, _ in version.sets]
                        changed = (outcome != after).any(axis=1)
                        wrong = np.any(unexplained(rows, targets, outcome, used)[:, fields], axis=1)
                        clean = float(wrong[changed].mean()) <= UNCLEAN if changed.any() else False
                        found.append((not clean, left, len(found), version, place))
        if not found:
            break
        # A rule that is right wherever it acts comes before one that explains more rows and gets some of them wrong.
        ordered = sorted(found, key=lambda item: item[:3])
        rule, place = ordered[0][3:]
        if motion.scheme.substeps > 1 and ordered[0][0]:
            # Inside sub-steps numbers do not show as they are: they are polished before rules are compared.
            polished = []
            for _, _, order, version, at in ordered[:POLISHED]:
                version = _polished(rows, motion, targets, rules[:at], version, rules[at:])
                outcome, _ = predicted(rows, motion, [*rules[:at], version, *rules[at:]])
                polished.append((residual_bits(rows, targets, outcome) + version.bits, order, version, at))
            rule, place = min(polished, key=lambda item: item[:2])[2:]
        rules.insert(place, rule)
        after, _ = predicted(rows, motion, rules)
        bits = residual_bits(rows, targets, after)
    return tuple(_tidied(rows, motion, targets, rules, len(known)))


def _versions(rule: Rule, motion: Motion, rows: Rows) -> Iterator[Rule]:
    yield rule
    if all(rows.fields[rows.at(name)].kind == "whole" for name, _ in rule.sets):
        yield replace(rule, place="first")  # a mode that is switched before motion, which then feels it
    if motion.scheme.substeps > 1:
        yield replace(rule, place="step")
    fast = tuple((name, expr) for name, expr in rule.sets if name in motion.scheme.fast)
    if motion.scheme.kind == "semi-implicit" and fast:  # slow fields then move by what was set
        yield replace(rule, sets=fast, place="between")


def _tidied(rows: Rows, motion: Motion, targets: Sequence[str], rules: list[Rule], kept: int) -> list[Rule]:
    """The rules without guards and whole rules that others have made needless; the first ones keep memory and stay."""

    def bits(rules: Sequence[Rule]) -> float:
        left = residual_bits(rows, targets, predicted(rows, motion, rules)[0])
        return left + sum(rule.bits for rule in rules)

    least = bits(rules)
    for place in range(len(rules) - 1, kept - 1, -1):
        rule, others = rules[place], [*rules[:place], *rules[place + 1 :]]
        single = [replace(rule, guards=(guard,)) for guard in rule.guards] if len(rule.guards) > 1 else []
        if motion.scheme.substeps > 1:  # cuts that a second guard made up for
            single += [_polished(rows, motion, targets, others, option) for option in single]
        for option in (others, *([*rules[:place], one, *rules[place + 1 :]] for one in single)):
            found = bits(option)
            if found <= least:
                rules, least = option, found
    return rules


def _polished(
    rows: Rows,
    motion: Motion,
    targets: Sequence[str],
    rules: Sequence[Rule],
    rule: Rule,
    later: Sequence[Rule] = (),
) -> Rule:
    """The rule with the numbers that save most bits; inside sub-steps they do not show as they are."""
    near = np.flatnonzero(_near(rows, motion, rules, rule))
    if not len(near) or not rule.free_values:
        return rule
    few = rows.taken(near)
    start = np.array(rule.free_values)
    size = np.maximum(np.abs(start), 0.05)

    def cost(move: np.ndarray) -> float:
        version = rule.with_free(start + size * move)
        return residual_bits(few, targets, predicted(few, motion, [*rules, version, *later])[0])

    simplex = np.vstack([np.zeros(len(start)), 0.02 * np.eye(len(start))])
    options = {"initial_simplex": simplex, "maxfev": 120 * len(start), "xatol": 1e-9, "fatol": 1e-3}
    found = minimize(cost, np.zeros(len(start)), method="Nelder-Mead", options=options)
    return rule.with_free(start + size * found.x) if found.fun < cost(np.zeros(len(start))) else rule


def _near(rows: Rows, motion: Motion, rules: Sequence[Rule], rule: Rule) -> Bool[np.ndarray, " N"]:
    """Rows in which the rule acts, or would with slightly other numbers."""
    found = np.zeros(len(rows), bool)
    start = np.array(rule.free_values)
    for share in (-0.03, 0.0, 0.03):
        version = rule.with_free(start + share * np.maximum(np.abs(start), 0.1))
        found |= predicted(rows, motion, [*rules, version])[1]
    return found


def _candidates(
    rows: Rows, targets: Sequence[str], after: States, off: Bool[np.ndarray, "N F"], options: int
) -> list[Rule]:
    """Rules for the guards that hold rows together which are not explained."""
    pool = pool_of(rows, targets, after)
    found: dict[Rule, None] = {}
    for name in targets:
        bad = off[:, rows.at(name)]
        if bad.sum() < LEAST:
            continue
        for guards, inside in guards_of(pool, bad):
            found.update(dict.fromkeys(_rules(rows, targets, after, off, guards, inside, options)))
    return [*found, *_doors(rows, targets, after, off, pool)]


def _rules(
    rows: Rows,
    targets: Sequence[str],
    after: States,
    off: Bool[np.ndarray, "N F"],
    guards: tuple[Expr, ...],
    inside: Bool[np.ndarray, " N"],
    options: int,
) -> Iterator[Rule]:
    """What the fields that are off under these guards may be set to, the likeliest first."""
    choices: list[list[tuple[str, Expr]]] = []
    for name in targets:
        k = rows.at(name)
        if off[inside, k].mean() < 0.25:
            continue
        seen, given, old = rows.after[inside, k], after[inside, k], rows.before[inside, k]
        found = _assignments(name, seen, given, old, floor_of(rows, k))[:options]
        if found:
            choices.append([(name, expr) for expr in found])
    for sets in product(*choices) if choices and len(choices) <= MOST_SET else ():
        # Inside sub-steps a field may be off only because another one was set.
        for part in dict.fromkeys((sets, *((one,) for one in sets if options > 1))):
            # A field that is held at the value beyond which it would go needs one number, not two.
            held = {name: expr for name, expr in part if expr.op == "number"}
            yield from dict.fromkeys((Rule(tuple(_tied(guard, held) for guard in guards), part), Rule(guards, part)))


def _tied(guard: Expr, held: Mapping[str, Expr]) -> Expr:
    expr = guard.args[0]
    if guard.op in ("gt", "lt") and expr.op == "var" and expr.name in held:
        return replace(guard, args=(expr, held[expr.name]))
    return guard


def _assignments(name: str, seen: np.ndarray, given: np.ndarray, old: np.ndarray, floor: float) -> list[Expr]:
    """Short ways to say what was seen: a number, the old value, or what motion gave, shifted or scaled."""
    with np.errstate(all="ignore"):
        ratio = seen / given
    options = [
        (number(0.0), np.zeros_like(seen)),
        (number(float(np.median(seen)), free=True), np.full_like(seen, np.median(seen))),
        (before(name), old),
        (var(name) + number(float(np.median(seen - given)), free=True), given + np.median(seen - given)),
        (number(float(np.nanmedian(ratio)), free=True) * var(name), float(np.nanmedian(ratio)) * given),
    ]
    # Inside sub-steps a field goes on after it was set; where that was in the last one, it shows as it is.
    values, counts = np.unique(np.round(seen / (2.0 * floor)), return_counts=True)
    if counts.max() >= LEAST:
        often = float(seen[np.round(seen / (2.0 * floor)) == values[np.argmax(counts)]][0])
        options.append((number(often, free=True), np.full_like(seen, often)))
    scored = [
        (data_bits(seen - values, floor) + expr.bits, place, expr) for place, (expr, values) in enumerate(options)
    ]
    most = data_bits(seen - given, floor) - 2.0
    return [expr for bits, _, expr in sorted(scored, key=lambda item: item[:2]) if np.isfinite(bits) and bits <= most]


def _doors(rows: Rows, targets: Sequence[str], after: States, off: Bool[np.ndarray, "N F"], pool: Pool) -> list[Rule]:
    """Rules for rows that would have crossed a line and did not, everywhere or outside a door in it."""
    found = []
    for f in rows.fields:
        if f.kind != "plain" or f.name not in targets:
            continue
        k = rows.at(f.name)
        old, new = rows.before[:, k], after[:, k]
        kept = off[:, k] & (np.abs(rows.after[:, k] - old) <= OFF * floor_of(rows, k))
        if kept.sum() < LEAST:
            continue
        low, high = np.minimum(old, new)[kept], np.maximum(old, new)[kept]
        cuts = np.sort(np.concatenate([low, high]))
        middles = 0.5 * (cuts[1:] + cuts[:-1])
        covers = ((low[None] < middles[:, None]) & (middles[:, None] < high[None])).sum(axis=1)
        wide = covers == covers.max()
        line = float(np.mean([middles[wide].min(), middles[wide].max()]))
        crossing = call("lt", (before(f.name) - number(line)) * (var(f.name) - number(line)), 0.0)
        inside = (old - line) * (new - line) < 0
        if inside[kept].sum() < LEAST:
            continue
        bad = np.any(off, axis=1)
        options: list[tuple[tuple[Expr, ...], np.ndarray]] = [((crossing,), inside)]
        for expr, value in pool:
            for _, guard, both in stumps(expr, value, bad, inside, FALSE_ALARM):
                options.append(((crossing, guard), both))
        options.sort(key=lambda item: -(bad[item[1]].sum() - FALSE_ALARM * (~bad[item[1]]).sum()))
        for guards, both in options[:6]:
            rules = _rules(rows, targets, after, off, guards, both, 1) if both.any() else ()
            found += [replace(rule, place="step") for rule in rules]
    return found
