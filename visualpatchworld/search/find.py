"""The search on one page: read the fields, look at each, settle the integrator, propose what is missing, find rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.grammar.productions import Grammar
from visualpatchworld.search.derived import find_derived
from visualpatchworld.search.given import capped, given_terms
from visualpatchworld.search.library import atoms_of, terms_of
from visualpatchworld.search.memory import Memory
from visualpatchworld.search.motion import Motion
from visualpatchworld.search.propose import proposals
from visualpatchworld.search.recall import recall
from visualpatchworld.search.rows import Field, Rows, find_fields, rows_of, usual
from visualpatchworld.search.rules import Rule, events_of, find_rules, predicted, unexplained
from visualpatchworld.search.settle import (
    EXACT,
    SURE,
    Look,
    Settled,
    Support,
    first_looks,
    look_at,
    pruned,
    refit,
    settle,
    sureness,
)
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

SMALL = 5  # terms of the supports that are asked beside the best one
KEPT = 8  # supports of an earlier look that stay beside those of a later one
TURNS = 3  # rounds of proposals
SAVED = 0.03  # of the bits: less is not worth another form
UNPREDICTABLE = 0.2  # of the spread of its changes: a field of which more is left, and that nothing needs, is noise
EXPLAINED_ROWS = 0.995  # of rows that an exact law meets


@dataclass(frozen=True)
class Law:
    """What was found: the fields of the state, how they move, the rules, and what else the columns show."""

    fields: tuple[Field, ...]
    motion: Motion
    rules: tuple[Rule, ...]
    derived: Mapping[int, Expr]  # by column: what follows from the state
    constants: Mapping[int, float]  # by column: what never changes, and the mean of noise
    open: tuple[str, ...] = ()  # fields that no exact law was found for
    noise: tuple[str, ...] = ()  # fields that nothing predicts and nothing needs
    missed: int = 0  # rows that the law does not meet, although it is exact elsewhere
    rows: Rows | None = field(default=None, repr=False)
    # By field: sums that were looked at, the fewest bits first.
    tried: Mapping[str, tuple[Support, ...]] = field(default_factory=dict, repr=False)

    @property
    def exact(self) -> bool:
        if self.rows is None or self.open or (self.noise and not self.motion.rates):
            return False
        return self.missed <= (1 - EXPLAINED_ROWS) * len(self.rows)


def find_law(
    trajectories: Sequence[Trajectory],
    names: Sequence[str],
    space: ActionSpace,
    progress: Callable[[str], None] = lambda _: None,
    grammar: Grammar = Grammar(),
) -> Law:
    """The law of these trajectories; the same data give the same law on any machine."""
    fields = find_fields(trajectories, names)
    rows = rows_of(trajectories, fields, space)
    still = {f.columns[0]: float(rows.before[0, k]) for k, f in enumerate(fields) if _never_changes(rows, k)}
    rows = _only(rows, [f.name for f in fields if not (f.kind == "steady" and f.columns[0] in still)])
    derived, rows = find_derived(rows)
    return _law(_Search(rows, progress, grammar=grammar), derived, still)


def _never_changes(rows: Rows, k: int) -> bool:
    both = np.concatenate([rows.before[:, k], rows.after[:, k]])
    return rows.fields[k].kind == "steady" and float(np.ptp(both)) <= 4 * rows.floors[k]


def _only(rows: Rows, names: Sequence[str]) -> Rows:
    places = [rows.at(name) for name in names]
    return replace(
        rows,
        fields=tuple(rows.fields[k] for k in places),
        before=rows.before[:, places],
        after=rows.after[:, places],
        floors=rows.floors[places],
    )


@dataclass
class _Search:
    """The state of one search; every step replaces what it improves."""

    rows: Rows
    progress: Callable[[str], None]
    rules: tuple[Rule, ...] = ()
    memories: tuple[Memory, ...] = ()
    grammar: Grammar = field(default_factory=Grammar)

    def __post_init__(self):
        self.used = usual(self.rows)
        self.targets = [f.name for f in self.rows.fields if f.kind != "steady"]
        self.atoms = atoms_of(self.rows)
        self.looks: dict[str, Look] = {}
        self.settled: Settled | None = None

    def first(self) -> None:
        self.progress(f"{len(self.rows)} rows, {len(self.targets)} fields that change")
        given = given_terms(self.grammar, self.atoms, self.rows, self.progress)
        terms = list(dict.fromkeys((*terms_of(self.atoms), *given)))
        looks = first_looks(self.rows, terms, self.targets, self.used)
        self.looks = {name: self.capped(name, look) for name, look in looks.items()}
        self.settled = pruned(self.rows, settle(self.rows, self.looks, self.used), self.used)

    def capped(self, name: str, look: Look) -> Look:
        return capped(look, self.rows, name, self.used, self.grammar.max_terms)

    @property
    def open(self) -> list[str]:
        """Fields whose rate is not exact, or is a sum that data do not tell from others."""
        assert self.settled is not None
        sure = sureness(self.rows, self.settled.motion, self.used)
        counts = {f.name for f in self.rows.fields if f.kind == "whole"}  # what holds them, rules say
        return [
            name
            for name in self.targets
            if name not in counts
            and (self.settled.left(self.rows, name, self.used) > EXACT or sure.get(name, np.inf) < SURE)
        ]

    def settle_again(self, looks: Mapping[str, Look]) -> bool:
        """Take these looks if they save bits."""
        assert self.settled is not None
        schemes = self.settled.schemes if len(self.open) < len(self.targets) else None
        settled = pruned(self.rows, settle(self.rows, {**self.looks, **looks}, self.used, schemes), self.used)
        if settled.bits > (1 - SAVED) * self.settled.bits:
            return False
        self.looks, self.settled = {**self.looks, **looks}, settled
        self.compare_schemes()
        return True

    def compare_schemes(self) -> None:
        """With better rates another integrator may be the exact one."""
        assert self.settled is not None
        rates = self.settled.motion.rates
        short = {
            name: replace(self.looks[name], supports=(rate.terms,), weights=rate.weights)
            for name, rate in rates.items()
        }
        again = settle(self.rows, short, self.used)
        if again.bits < self.settled.bits:
            self.settled = again

    def propose(self, names: Sequence[str]) -> bool:
        """Look for shapes in what is left of these fields, all at once: one that is off may spoil others."""
        assert self.settled is not None
        looks = {}
        for name in names:
            self.progress(f"shapes in {name}")
            look = self.looks[name]
            now = self.settled.motion.rates[name].terms
            path = {len(support): support for support in reversed(look.supports) if 0 < len(support) <= SMALL}
            more = proposals(self.rows, self.atoms, [*path.values(), now], name, self.used, look.end)
            found = look_at(self.rows, list(dict.fromkeys((*now, *more, *look.terms()))), name, self.used)
            supports = tuple(dict.fromkeys((*found.supports, *look.supports[:KEPT])))
            looks[name] = self.capped(name, replace(found, supports=supports))
        return self.settle_again(looks)

    def remember(self, name: str) -> bool:
        """Look for a hidden field that explains what is left of a field."""
        assert self.settled is not None
        self.progress(f"memory in {name}")
        found = recall(self.rows, self.atoms, self.looks[name], name, self.used)
        if found is None:
            return False
        memory, look = found
        kept = self.rows, self.memories, self.looks, self.settled, self.used, self.rules
        self.rows = memory.added(self.rows)
        self.memories = (*self.memories, memory)
        self.rules = (*self.rules, *memory.rules)
        rates = {key: Look((rate.terms,), rate.weights, 0.5, 0.0) for key, rate in memory.rates}
        schemes = None
        looks = {**self.looks, name: self.capped(name, look), **rates}
        settled = settle(self.rows, looks, self.used, schemes)
        self.looks = looks
        if settled.left(self.rows, name, self.used) > 0.5 * kept[3].left(kept[0], name, kept[4]):
            self.rows, self.memories, self.looks, self.settled, self.used, self.rules = kept
            return False
        self.settled = settled
        self.atoms = atoms_of(self.rows)
        return True


def _law(search: _Search, derived: Mapping[int, Expr], still: Mapping[int, float]) -> Law:
    search.first()
    assert search.settled is not None
    for _ in range(TURNS):
        if not search.open or not search.propose(search.open):
            break
    for name in search.open:
        if name in search.open and search.remember(name):
            search.propose(search.open)
    noise = _noise(search)
    noisy = [search.rows.fields[search.rows.at(name)] for name in noise]
    constants = dict(still) | {
        f.columns[0]: float(np.mean(search.rows.before[:, search.rows.at(f.name)])) for f in noisy
    }
    search.rows = _only(search.rows, [f.name for f in search.rows.fields if f.name not in noise])
    search.targets = [name for name in search.targets if name not in noise]
    motion = search.settled.motion
    motion = replace(motion, rates={n: r for n, r in motion.rates.items() if n not in noise})
    search.settled = refit(search.rows, motion, search.used)
    solved = [name for name in search.targets if name not in search.open]
    search.progress("rules")
    motion = search.settled.motion
    rules = find_rules(search.rows, motion, solved, search.used, search.rules)
    off = unexplained(search.rows, solved, predicted(search.rows, motion, rules)[0], search.used).any(axis=1)
    events = events_of(rules, search.rows)
    settled = refit(search.rows, motion, ~off & search.used, events)
    settled = pruned(search.rows, settled, ~off & search.used, events)
    after, _ = predicted(search.rows, settled.motion, rules)
    off = unexplained(search.rows, solved, after, search.used).any(axis=1)
    fields, open_ = search.rows.fields, tuple(search.open)
    tried = {name: look.supports for name, look in search.looks.items()}
    return Law(fields, settled.motion, rules, derived, constants, open_, noise, int(off.sum()), search.rows, tried)


def _noise(search: _Search) -> tuple[str, ...]:
    """Fields that nothing predicts, and that no other field's rate needs."""
    assert search.settled is not None
    rates = search.settled.motion.rates
    found = []
    for name in search.open:
        k = search.rows.at(name)
        if len(search.rows.fields[k].columns) != 1:
            continue
        left = np.median(np.abs(search.settled.residual[search.used, k])) / max(np.std(search.rows.before[:, k]), 1e-12)
        needed = any(name in rate.variables for other, rate in rates.items() if other != name)
        if left > UNPREDICTABLE and not needed:
            found.append(name)
    return tuple(found)
