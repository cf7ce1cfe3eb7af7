"""The search on one page: read the fields, look at each, settle the integrator, propose what is missing, find rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool

from visualpatchworld.grammar.expr import Expr, call, number, product, var
from visualpatchworld.grammar.productions import Grammar
from visualpatchworld.search.derived import find_derived
from visualpatchworld.search.fit import SURE, Support, floor_of, sureness
from visualpatchworld.search.gates import find_events
from visualpatchworld.search.given import capped, given_terms
from visualpatchworld.search.hidden import look_for_speeds
from visualpatchworld.search.library import atoms_of, groups_of, terms_of
from visualpatchworld.search.look import Look, first_looks, library_of
from visualpatchworld.search.memory import Memory
from visualpatchworld.search.motion import Motion, Rate
from visualpatchworld.search.propose import proposals, without_imitations
from visualpatchworld.search.recall import recall
from visualpatchworld.search.regress import data_bits
from visualpatchworld.search.rows import LEAST_FREE, Field, Rows, find_fields, only, rows_of, shifted, usual
from visualpatchworld.search.rules import Rule, events_of, predicted, unexplained
from visualpatchworld.search.settle import EXACT, Settled, pruned, refit, settle, with_cuts
from visualpatchworld.search.split import one_side
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

SMALL = 5  # terms of the supports that are asked beside the best one
KEPT = 8  # supports of an earlier look that stay beside those of a later one
TURNS = 3  # rounds of proposals
DOUBTFUL = 100.0  # standard errors: a sum with a weight that is less sure imitates speeds
LITTLE = 0.05  # of the share that is left of a field by which it moves
SAVED = 0.01  # of the bits: less is not worth another form
UNPREDICTABLE = 0.2  # of the spread of its changes: a field of which more is left, and that nothing needs, is noise
MISSED = 0.01  # of the rows of a field with an exact rate: more follow from something else
UNRELATED = 0.15  # correlation of a field with itself one step later, in noise: five standard errors of 1,000 rows
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
    rows = only(rows, [f.name for f in fields if not (f.kind == "steady" and f.columns[0] in still)])
    derived, rows = find_derived(rows)
    return _law(_Search(rows, progress, grammar=grammar), derived, still)


def _never_changes(rows: Rows, k: int) -> bool:
    both = np.concatenate([rows.before[:, k], rows.after[:, k]])
    return rows.fields[k].kind == "steady" and float(np.ptp(both)) <= 4 * rows.floors[k]


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
        self.stock()
        self.look()
        self.settled = pruned(self.rows, settle(self.rows, self.looks, self.used), self.used)
        if not self.open:  # another integrator may need fewer terms
            self.compare_schemes()

    def centre(self) -> None:
        """Count fields from the zero with which rates get shorter, if all of it then takes fewer bits."""
        offsets = self._zeros()
        if not offsets:
            return
        assert self.settled is not None
        kept = self.rows, self.atoms, self.looks, self.settled, self.library
        self.rows = shifted(self.rows, offsets)
        self.first()
        if self.settled.bits > (1 - SAVED) * kept[3].bits:
            self.rows, self.atoms, self.looks, self.settled, self.library = kept

    def _zeros(self) -> dict[str, float]:
        """By field, the value at which two terms of an exact rate cancel: one with the field as a factor, and one without."""
        assert self.settled is not None
        found: dict[str, float] = {}
        for name, rate in self.settled.motion.rates.items():
            if name in self.open:
                continue
            weights = dict(zip(rate.terms, rate.weights, strict=True))
            for term, weight in weights.items():
                for f in self.rows.fields:
                    rest = term.substituted({var(f.name): number(1.0)})
                    rest = product(*(part for part in _factors(rest)))
                    if f.kind == "plain" and f.name != name and var(f.name) in _factors(term) and rest in weights:
                        found.setdefault(f.name, -weights[rest] / weight)
        return found

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
        self.stock()
        self.look()
        self.settled = pruned(self.rows, settle(self.rows, self.looks, used), used)
        self.propose_shapes()
        if len(self.open) >= kept[-1]:
            self.used, self.library, self.looks, self.settled, _ = kept

    def stock(self) -> None:
        """Fill the library with the terms of the fields as they are now."""
        self.atoms = atoms_of(self.rows)
        given = given_terms(self.grammar, self.atoms, self.rows, self.progress)
        terms = list(dict.fromkeys((*terms_of(self.atoms), *given)))
        self.library = library_of(self.rows, terms, self.used)

    def look(self) -> None:
        looks = first_looks(self.rows, self.library, self.targets, self.used)
        self.looks = {name: self.capped(name, look) for name, look in looks.items()}

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
        again = pruned(self.rows, settle(self.rows, self.short_looks(every=True), self.used), self.used)
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
            if not self.wanted or not self.propose(self.worst):
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
        open_, shares = self.wanted, {}
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
            supports = [self._linear(), *path.values(), *without_imitations(now), now]
            more = proposals(self.rows, self.atoms, supports, name, self.used, look.end)
            # The whole library is asked again: what imitated a shape gives way to the terms that it hid.
            library = self.library.with_terms(self.rows, [*now, *more, *look.terms()])
            found = first_looks(self.rows, library, [name], self.used)[name]
            supports = tuple(dict.fromkeys((*found.supports, *look.supports[:KEPT])))
            looks[name] = self.capped(name, replace(found, supports=supports))
        return self.settle_again(looks)

    def _linear(self) -> tuple[Expr, ...]:
        """All plain terms and dry friction: beside them a shape shows as it is, not as sums that imitate it."""
        atoms = self.atoms
        gripped = (call("grip", x) for x in atoms.plain)
        return (number(1.0), *atoms.plain, *atoms.inputs, *atoms.trig, *gripped)

    def hide(self) -> bool:
        """Give open fields speeds that no column shows, where second differences are then explained exactly."""
        assert self.settled is not None
        names = [n for n in self.wanted if self.rows.fields[self.rows.at(n)].kind in ("plain", "angle")]
        names = [n for n in names if self.rows.fields[self.rows.at(n)].columns]
        known = self.settled.schemes if len(self.open) < len(self.targets) else ()
        found = None
        while names:
            self.progress(f"hidden speeds of {', '.join(names)}")
            rows, settled = self.rows, self.settled
            left = sum(data_bits(settled.residual[self.used, k], floor_of(rows, k)) for k in map(rows.at, names))
            per_row = left / max(int(self.used.sum()), 1)
            found = look_for_speeds(rows, names, settled.motion, known, self.used, per_row)
            exact = [] if found is None else [p for p, speed in found.places.items() if speed not in found.open]
            if len(exact) == len(names):
                break
            names, found = exact, None
        if found is None:
            return False
        kept = self.rows, self.used, self.targets, self.settled, self.looks, self.atoms, self.library
        self.rows, self.used = found.rows, found.used
        self.targets = [*self.targets, *found.places.values()]
        self.settled = replace(refit(self.rows, found.motion, self.used), schemes=(found.motion.scheme,))
        others = {name: look for name, look in self.looks.items() if name not in found.places}
        moving = {place: Look(((var(speed),),), (1.0,), 0.5, 0.0) for place, speed in found.places.items()}
        self.looks = {**others, **moving, **found.looks}
        self.stock()
        sure = sureness(self.rows, self.settled.motion, self.used)
        if min(sure[speed] for speed in found.places.values()) < DOUBTFUL:
            self.rows, self.used, self.targets, self.settled, self.looks, self.atoms, self.library = kept
            return False
        return True

    @property
    def wanted(self) -> list[str]:
        """Open fields that are not noise."""
        noise = _noise(self)
        return [name for name in self.open if name not in noise]

    def left_out(self, noise: Sequence[str]) -> dict[int, float]:
        """Go on without these fields; by column, their means."""
        assert self.settled is not None
        means = {
            f.columns[0]: float(np.mean(self.rows.before[:, k] + f.offset))
            for k, f in enumerate(self.rows.fields)
            if f.name in noise
        }
        self.rows = only(self.rows, [name for name in self.rows.names if name not in noise])
        self.targets = [name for name in self.targets if name not in noise]
        motion = self.settled.motion
        self.looks = {
            name: _without(look, motion.rates[name], noise) for name, look in self.looks.items() if name not in noise
        }
        motion = replace(motion, rates={n: r for n, r in motion.rates.items() if n not in noise})
        self.settled = replace(refit(self.rows, motion, self.used), schemes=self.settled.schemes)
        self.stock()
        return means

    def ruled(self) -> tuple[Settled, tuple[Rule, ...], Bool[np.ndarray, "N F"]]:
        """The motion with rules for the rows that it does not explain, and what those rules leave unexplained."""
        assert self.settled is not None
        self.progress("rules")
        solved = [name for name in self.targets if name not in self.open]
        motion = self.settled.motion
        motion, rules = find_events(self.rows, motion, solved, self.used, self.rules)
        after, acted = predicted(self.rows, motion, rules)
        met = ~unexplained(self.rows, solved, after, self.used).any(axis=1) & (self.used | ~acted)
        events = events_of(rules, self.rows)
        settled = refit(self.rows, motion, met, events)
        settled = pruned(self.rows, settled, met, events)
        after, _ = predicted(self.rows, settled.motion, rules)
        return settled, rules, unexplained(self.rows, solved, after, self.used)

    def missed(self, off: Bool[np.ndarray, "N F"]) -> list[str]:
        """Fields with an exact rate that many rows do not follow."""
        counts = {name: float(off[self.used, self.rows.at(name)].mean()) for name in self.targets}
        moving = [
            n for n in counts if counts[n] > MISSED and self.rows.fields[self.rows.at(n)].kind in ("plain", "angle")
        ]
        return sorted(moving, key=lambda name: -counts[name])[:1]

    def remember(self, name: str) -> bool:
        """Look for a hidden field that explains what is left of a field."""
        assert self.settled is not None
        self.progress(f"memory in {name}")
        under = self.settled.motion if name not in self.open else None
        found = recall(self.rows, self.atoms, self.looks[name], name, self.used, under)
        if found is None:
            return False
        memory, look = found
        kept = self.rows, self.memories, self.looks, self.settled, self.used, self.rules
        short = self.short_looks()
        self.rows = memory.added(self.rows)
        self.memories = (*self.memories, memory)
        self.rules = (*self.rules, *memory.rules)
        rates = {key: Look((rate.terms,), rate.weights, 0.5, 0.0) for key, rate in memory.rates}
        looks = {**short, name: self.capped(name, look), **rates}
        settled = settle(self.rows, looks, self.used)
        self.looks = {**self.looks, **looks}
        if settled.bits > (1 - SAVED) * kept[3].bits:
            self.rows, self.memories, self.looks, self.settled, self.used, self.rules = kept
            return False
        self.settled = settled
        self.stock()
        return True


def _law(search: _Search, derived: Mapping[int, Expr], still: Mapping[int, float]) -> Law:
    search.first()
    search.centre()
    search.propose_shapes()
    if search.wanted and search.hide():
        search.propose_shapes()
    for name in sorted(search.wanted, key=lambda name: -search.looks[name].bits):
        if name in search.wanted and search.remember(name):
            search.propose_shapes()
    if search.wanted:
        search.leave_out()
    noise = _noise(search)
    constants = {**still, **search.left_out(noise)}
    settled, rules, off = search.ruled()
    # Rows that rules do not explain may follow from the past.
    for name in search.missed(off):
        if search.remember(name):
            settled, rules, off = search.ruled()
            break
    search.settled = settled
    missed = int(off.any(axis=1).sum())
    open_ = tuple(search.open)
    tried = {name: look.supports for name, look in search.looks.items()}
    fields = search.rows.fields
    return Law(fields, settled.motion, rules, derived, constants, open_, noise, missed, search.rows, tried)


def _without(look: Look, rate: Rate, names: Sequence[str]) -> Look:
    """The look without supports that need these fields, the present rate first."""
    kept = (s for s in look.supports if not any(term.variables & set(names) for term in s))
    return replace(look, supports=tuple(dict.fromkeys((rate.terms, *kept))), weights=rate.weights)


def _factors(term: Expr) -> list[Expr]:
    return [*_factors(term.args[0]), *_factors(term.args[1])] if term.op == "mul" else [term]


def _noise(search: _Search) -> tuple[str, ...]:
    """Fields that nothing predicts, and that no other field's rate needs."""
    assert search.settled is not None
    rates = search.settled.motion.rates
    found = []
    for name in search.open:
        k = search.rows.at(name)
        if len(search.rows.fields[k].columns) != 1:
            continue
        now, then = search.rows.before[:, k], search.rows.after[:, k]
        left = np.median(np.abs(search.settled.residual[search.used, k])) / max(np.std(now), 1e-12)
        needed = any(name in rate.variables for other, rate in rates.items() if other != name)
        if left > UNPREDICTABLE and not needed and abs(np.corrcoef(now, then)[0, 1]) < UNRELATED:
            found.append(name)
    return tuple(found)
