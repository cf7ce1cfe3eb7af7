"""The search on one page: read the fields, look at each, settle the integrator, propose what is missing, find rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from visualpatchworld.grammar.expr import Expr
from visualpatchworld.search.derived import find_derived
from visualpatchworld.search.gates import find_events
from visualpatchworld.search.library import atoms_of, groups_of, terms_of
from visualpatchworld.search.memory import Memory
from visualpatchworld.search.motion import Motion
from visualpatchworld.search.propose import proposals, without_imitations
from visualpatchworld.search.recall import recall
from visualpatchworld.search.rows import LEAST_FREE, Field, Rows, find_fields, rows_of, usual
from visualpatchworld.search.rules import Rule, events_of, predicted, unexplained
from visualpatchworld.search.settle import (
    EXACT,
    SURE,
    Look,
    Settled,
    first_looks,
    library_of,
    pruned,
    refit,
    settle,
    sureness,
    with_cuts,
)
from visualpatchworld.search.split import one_side
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

SMALL = 5  # terms of the supports that are asked beside the best one
KEPT = 8  # supports of an earlier look that stay beside those of a later one
TURNS = 3  # rounds of proposals
LITTLE = 0.05  # of the share that is left of a field by which it moves
SAVED = 0.01  # of the bits: less is not worth another form
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
) -> Law:
    """The law of these trajectories; the same data give the same law on any machine."""
    fields = find_fields(trajectories, names)
    rows = rows_of(trajectories, fields, space)
    still = {f.columns[0]: float(rows.before[0, k]) for k, f in enumerate(fields) if _never_changes(rows, k)}
    rows = _only(rows, [f.name for f in fields if not (f.kind == "steady" and f.columns[0] in still)])
    derived, rows = find_derived(rows)
    return _law(_Search(rows, progress), derived, still)


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

    def __post_init__(self):
        self.used = usual(self.rows)
        self.targets = [f.name for f in self.rows.fields if f.kind != "steady"]
        self.atoms = atoms_of(self.rows)
        self.looks: dict[str, Look] = {}
        self.settled: Settled | None = None

    def first(self) -> None:
        self.progress(f"{len(self.rows)} rows, {len(self.targets)} fields that change")
        self.library = library_of(self.rows, terms_of(self.atoms), self.used)
        self.looks = first_looks(self.rows, self.library, self.targets, self.used)
        self.settled = pruned(self.rows, settle(self.rows, self.looks, self.used), self.used)

    def leave_out(self) -> None:
        """Set rows apart that follow another law than most, and look again."""
        assert self.settled is not None
        used = self.used
        for name in self.worst:
            met = one_side(self.rows, self.library.terms, name, self.used)
            if met is not None and (used & met).sum() >= LEAST_FREE:
                used = used & met
        if used.sum() == self.used.sum():
            return
        self.progress(f"{int((self.used & ~used).sum())} rows follow another law")
        kept = self.used, self.library, self.looks, self.settled, len(self.open)
        self.used = used
        self.library = library_of(self.rows, terms_of(self.atoms), used)
        self.looks = first_looks(self.rows, self.library, self.targets, used)
        self.settled = pruned(self.rows, settle(self.rows, self.looks, used), used)
        self.propose_shapes()
        if len(self.open) >= kept[-1]:
            self.used, self.library, self.looks, self.settled, _ = kept

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
        tried = {**self.short_looks(), **looks}
        settled = pruned(self.rows, settle(self.rows, tried, self.used, schemes), self.used)
        settled = with_cuts(self.rows, settled, self.used)
        if settled.bits > (1 - SAVED) * self.settled.bits:
            return False
        self.looks, self.settled = {**self.looks, **looks}, settled
        self.compare_schemes()
        return True

    def compare_schemes(self) -> None:
        """With better rates another integrator may be the exact one."""
        assert self.settled is not None
        again = settle(self.rows, self.short_looks(every=True), self.used)
        if again.bits < self.settled.bits:
            self.settled = again

    def short_looks(self, every: bool = False) -> dict[str, Look]:
        """The looks; of fields whose rate is exact, or of every field, with the support of their rate alone."""
        assert self.settled is not None
        rates, wide = self.settled.motion.rates, () if every else self.open
        return {
            name: look if name in wide else replace(look, supports=(rates[name].terms,), weights=rates[name].weights)
            for name, look in self.looks.items()
        }

    def propose_shapes(self) -> None:
        """Look for shapes in the fields that are open, as long as that saves bits."""
        for _ in range(TURNS):
            if not self.open or not self.propose(self.worst):
                break
        # An exact sum of several shapes of one field may still imitate a single one.
        assert self.settled is not None
        rates = self.settled.motion.rates
        names = [n for n in self.targets if n not in self.open and without_imitations(rates[n].terms)]
        if names:
            self.propose(names)

    @property
    def worst(self) -> list[str]:
        """Open fields, without those that move by another one which is off by far more: that may be all they miss."""
        assert self.settled is not None
        open_, shares = self.open, {}
        for name in open_:
            k = self.rows.at(name)
            spread = max(float(np.std(self.rows.change[self.used, k])), 1e-300)
            shares[name] = float(np.median(np.abs(self.settled.residual[self.used, k]))) / spread
        moved_by = {name: self.settled.motion.rates[name].variables & set(open_) for name in open_}
        return [n for n in open_ if all(shares[n] >= LITTLE * shares[other] for other in moved_by[n])]

    def propose(self, names: Sequence[str]) -> bool:
        """Look for shapes in what is left of these fields, all at once: one that is off may spoil others."""
        assert self.settled is not None
        looks = {}
        for name in names:
            self.progress(f"shapes in {name}")
            look = self.looks[name]
            now = self.settled.motion.rates[name].terms
            path = {len(groups_of(support)): support for support in reversed(look.supports) if support}
            path = {size: support for size, support in path.items() if size <= SMALL}
            supports = [*path.values(), *without_imitations(now), now]
            more = proposals(self.rows, self.atoms, supports, name, self.used, look.end)
            # The whole library is asked again: what imitated a shape gives way to the terms that it hid.
            library = self.library.with_terms(self.rows, [*now, *more, *look.terms()])
            found = first_looks(self.rows, library, [name], self.used)[name]
            looks[name] = replace(found, supports=tuple(dict.fromkeys((*found.supports, *look.supports[:KEPT]))))
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
        short = self.short_looks()
        self.rows = memory.added(self.rows)
        self.memories = (*self.memories, memory)
        self.rules = (*self.rules, *memory.rules)
        rates = {key: Look((rate.terms,), rate.weights, 0.5, 0.0) for key, rate in memory.rates}
        looks = {**short, name: look, **rates}
        settled = settle(self.rows, looks, self.used)
        self.looks = {**self.looks, **looks}
        if settled.left(self.rows, name, self.used) > 0.5 * kept[3].left(kept[0], name, kept[4]):
            self.rows, self.memories, self.looks, self.settled, self.used, self.rules = kept
            return False
        self.settled = settled
        self.atoms = atoms_of(self.rows)
        self.library = library_of(self.rows, terms_of(self.atoms), self.used)
        return True


def _law(search: _Search, derived: Mapping[int, Expr], still: Mapping[int, float]) -> Law:
    search.first()
    assert search.settled is not None
    search.propose_shapes()
    for name in sorted(search.open, key=lambda name: -search.looks[name].bits):
        if name in search.open and search.remember(name):
            search.propose_shapes()
    if search.open:
        search.leave_out()
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
    motion, rules = find_events(search.rows, search.settled.motion, solved, search.used, search.rules)
    after, ruled = predicted(search.rows, motion, rules)
    met = ~unexplained(search.rows, solved, after, search.used).any(axis=1) & (search.used | ~ruled)
    events = events_of(rules, search.rows)
    settled = refit(search.rows, motion, met, events)
    settled = pruned(search.rows, settled, met, events)
    after, _ = predicted(search.rows, settled.motion, rules)
    off = unexplained(search.rows, solved, after, search.used).any(axis=1)
    search.settled = settled
    fields, open_ = search.rows.fields, tuple(search.open)
    return Law(fields, settled.motion, rules, derived, constants, open_, noise, int(off.sum()), search.rows)


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
