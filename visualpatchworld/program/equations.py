"""A program as equations: rates of change, what a step sets, the reward and the end, in plain text, LaTeX and MathML.

They are read from the program's syntax tree, so that a program that was found and one that was edited by hand are shown
in the same way, and nothing of either is run.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from visualpatchworld.grammar.expr import Expr, as_expr, number, product, total, var
from visualpatchworld.grammar.notation import (
    BEFORE,
    LATEX,
    MATHML,
    NEXT,
    PLAIN,
    Notation,
    factors_in,
    pieces,
    short,
    signed_terms,
    written,
)
from visualpatchworld.program.dial import dials_of
from visualpatchworld.program.program import Program
from visualpatchworld.program.symbolic import NoEquations, Reader, StateValue

TIMES = ("DT", "dt")  # names of the time of a step
LONGEST = 160  # nodes of an equation that people read; longer ones keep the program's functions as they are called
LONG = 8  # nodes of a rate that other rates refer to by its name
SHARED = 12  # nodes of a part that is named where it occurs more than once
NAMES = "abcdefgh"  # of such parts
RATES = "rates"  # the function that gives all rates at once, where a program has one
END = "end"


@dataclass(frozen=True)
class Update:
    """Fields that a step sets, everywhere or where a guard holds."""

    sets: tuple[tuple[str, Expr], ...]
    guard: Expr | None = None


@dataclass(frozen=True)
class Equations:
    """A program as equations; `str` is plain text with the constants below.

    Example: `print(found.equations)`, `found.equations.latex`, `found.equations.with_values`
    """

    rates: Mapping[str, Expr]  # field -> its change per second
    first: tuple[Update, ...]  # what a step sets before anything moves
    then: tuple[Update, ...]  # what it sets after that, in order
    definitions: tuple[tuple[Expr, Expr], ...]  # parts that rates share
    assignments: tuple[tuple[Expr, Expr], ...]  # what a step computes on the way by functions of the program, in order
    reward: Expr | None
    end: Expr | None
    functions: tuple[tuple[Expr, Expr], ...]  # of one number, that equations name
    hidden: tuple[str, ...]  # fields that no observation shows
    constants: Mapping[str, tuple[float, float | None]]  # values and standard errors of those that are named
    scheme: str  # how rates become a step

    def lines(self, notation: Notation = PLAIN) -> list[str]:
        """One line for each equation."""
        return ["".join(parts) for parts in self._lines(notation)]

    def _lines(self, by: Notation) -> Iterator[list[str]]:
        """The pieces of each equation, between which it may be broken."""
        for left, right in self.definitions:
            yield _joined(f"{written(left, by)}{by.equals}", right, by)
        for update in self.first:
            yield _update(update, by)
        for left, right in self.assignments:
            yield _joined(f"{written(left, by)}{by.gets}", right, by)
        for name, rate in self.rates.items():
            yield _joined(f"{by.rate(name)}{by.equals}", rate, by)
        for update in self.then:
            yield _update(update, by)
        if self.reward is not None:
            yield _joined(f"{by.words('reward')}{by.equals}", self.reward, by)
        if self.end is not None:
            yield _joined(by.words("ends where "), self.end, by)
        for left, right in self.functions:
            yield _joined(f"{written(left, by)}{by.equals}", right, by)

    def __str__(self) -> str:
        lines = [*self.lines(), ""]
        for name, (value, error) in self.constants.items():
            lines.append(f"{name} = {value:.10g}" + ("" if error is None else f" +- {error:.1g}"))
        lines += [f"hidden: {', '.join(self.hidden)}"] if self.hidden else []
        lines += [f"step: {self.scheme}"] if self.scheme else []
        return "\n".join(lines).strip()

    @property
    def latex(self) -> str:
        """All equations as one LaTeX block, for `\\[ ... \\]`."""
        body = " \\\\\n".join(self.lines(LATEX))
        return f"\\begin{{gathered}}\n{body}\n\\end{{gathered}}"

    def _repr_latex_(self) -> str:
        """What a notebook shows."""
        return f"$$\n{self.latex}\n$$"

    @property
    def mathml(self) -> tuple[str, ...]:
        """Each equation as MathML, which browsers typeset by themselves; a long one may be broken between its terms."""
        return tuple(
            " ".join(f'<math displaystyle="true">{part}</math>' for part in parts) for parts in self._lines(MATHML)
        )

    @property
    def with_values(self) -> Equations:
        """The same equations with the constants' values in place of their names."""
        values = {var(name): number(value) for name, (value, _) in self.constants.items()}

        def put(expr: Expr | None) -> Any:
            return None if expr is None else expr.substituted(values)

        def updates(parts: Sequence[Update]) -> tuple[Update, ...]:
            return tuple(Update(tuple((n, put(e)) for n, e in part.sets), put(part.guard)) for part in parts)

        return replace(
            self,
            rates={name: put(rate) for name, rate in self.rates.items()},
            first=updates(self.first),
            then=updates(self.then),
            definitions=tuple((left, put(right)) for left, right in self.definitions),
            assignments=tuple((left, put(right)) for left, right in self.assignments),
            functions=tuple((left, put(right)) for left, right in self.functions),
            reward=put(self.reward),
            end=put(self.end),
            constants={},
        )


def _joined(left: str, right: Expr, by: Notation) -> list[str]:
    first, *rest = pieces(right, by)
    return [f"{left}{first}", *rest]


def _update(update: Update, by: Notation) -> list[str]:
    """What is set, and where: the guard and each field are pieces."""
    sets = [f"{by.name(name)}{by.gets}{written(value, by)}" for name, value in update.sets]
    parts = [f"{part}{by.words(', ')}" for part in sets[:-1]] + sets[-1:]
    guard = update.guard
    return parts if guard is None else [f"{by.words('where ')}{written(guard, by)}{by.words(': ')}", *parts]


def equations_of(program: Program) -> Equations:
    """The equations of a program; `NoEquations` says which line cannot be read as one."""
    try:
        found = _read(program, inline=True)
        exprs = [*found.rates.values(), *(expr for part in (*found.first, *found.then) for _, expr in part.sets)]
        if max((_size(expr) for expr in exprs), default=0) <= LONGEST:
            return found
    except NoEquations:
        pass
    return _read(program, inline=False)


def _size(expr: Expr) -> int:
    return sum(1 for _ in expr.nodes())


def _read(program: Program, *, inline: bool) -> Equations:
    step = _StepReader(program, inline)
    step.read()
    helpers = dict(step.helpers)
    reward, reward_helpers = _worth(program)
    end, end_helpers = _ending(program)
    helpers |= reward_helpers | end_helpers
    functions = tuple(_helpers(program, helpers))
    exprs = [*step.rates.values(), *(right for _, right in (*functions, *step.definitions, *step.assignments))]
    exprs += [expr for part in step.updates for _, expr in part[1].sets]
    exprs += [part[1].guard for part in step.updates if part[1].guard is not None]
    exprs += [expr for expr in (reward, end) if expr is not None]
    used = {name for expr in exprs for name in expr.variables}
    constants = {dial.name: (dial.value, dial.stderr) for dial in dials_of(program) if dial.name in used}
    return Equations(
        rates=step.rates,
        first=tuple(part for early, part in step.updates if early and step.rates),
        then=tuple(part for early, part in step.updates if not early or not step.rates),
        definitions=tuple(step.definitions),
        functions=functions,
        assignments=tuple(step.assignments),
        reward=reward,
        end=end,
        hidden=_hidden(program),
        constants=constants,
        scheme=step.scheme,
    )


class _StepReader(Reader):
    """Reads `step` line by line: each line that changes a field is a rate of it or an update."""

    def __init__(self, program: Program, inline: bool):
        super().__init__(program, inline)
        self.rates: dict[str, Expr] = {}
        self.updates: list[tuple[bool, Update]] = []  # whether nothing had moved yet, and what is set
        self.definitions: list[tuple[Expr, Expr]] = []
        self.given: dict[str, Expr] = {}  # what `rates` gives, by field or by place
        self.state = ""  # what the state is called where lines are read
        self.assignments: list[tuple[Expr, Expr]] = []
        self.moved: set[str] = set()  # fields that were changed by now
        self.steps: list[frozenset[str]] = []  # what each change by a rate refers to
        self.stages = 0
        self.quiet = 0  # within comprehensions and conditionals a name is only a name
        self.substeps = ""

    @property
    def fields(self) -> tuple[str, ...]:
        return self.program.fields

    @property
    def now(self) -> StateValue:
        return StateValue({f: var(f) if f in self.moved else var(f + BEFORE) for f in self.fields})

    def read(self) -> None:
        node = self.functions.get("step")
        if node is None or len(node.args.args) != 2:
            raise NoEquations(f"{self.program.where()}: there is no `step(state, action)` to read.")
        if RATES in self.functions and len(self.functions[RATES].args.args) == 2:
            self.given = self._given_rates()
            self.hooks[RATES] = self._stage
        self._follow(node, [self.now, var("action")])
        self._shorten()

    def _follow(self, node: ast.FunctionDef, arguments: Sequence[Any]) -> None:
        """Read a function whose first argument is the state and that returns the next one."""
        given = [argument.arg for argument in node.args.args]
        outer, self.state = self.state, given[0]
        returned = self.block(node.body, dict(zip(given, arguments, strict=False)))
        if not isinstance(returned, StateValue):
            self.refuse(node, f"`{node.name}` returns no state")
        self._change(returned.values)
        self.state = outer

    def statement(self, node: ast.stmt, local: dict[str, Any]) -> None:
        """A line; one that hands the state to a function of the program is read there."""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and not (self.depth or self.quiet):
            called, target = node.value.func, node.targets[0]
            function = self.functions.get(called.id) if isinstance(called, ast.Name) else None
            first = node.value.args[0] if node.value.args else None
            if (
                function is not None
                and function.name not in self.hooks
                and isinstance(target, ast.Name)
                and isinstance(first, ast.Name)
                and first.id == target.id == self.state
                and not node.value.keywords
            ):
                self._follow(function, [self.value(argument, local) for argument in node.value.args])
                local[self.state] = self.now
                return
        super().statement(node, local)

    # What lines do

    def named(self, name: str, value: Any) -> Any:
        if self.depth or self.quiet:
            return value
        if name in self.fields and isinstance(value, (Expr, int, float)):
            self._change({name: value})
            return self.now.values[name]
        if name == self.state and isinstance(value, StateValue):
            self._change(dict(value.values))
            return self.now
        if not self.inline and isinstance(value, Expr) and value.op == "call":
            self.assignments.append((var(name), self._current(value)))
            return var(name)
        return value

    def assign(self, target: ast.expr, value: Any, local: dict[str, Any]) -> None:
        several = isinstance(target, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts)
        opaque = not self.inline and isinstance(value, Expr) and value.op == "call"
        if isinstance(target, ast.Tuple) and several and opaque and not (self.depth or self.quiet):
            names = tuple(var(part.id) for part in target.elts if isinstance(part, ast.Name))
            self.assignments.append((Expr("tuple", names), self._current(value)))
            local |= {name.name: name for name in names}
            return
        super().assign(target, value, local)

    def turns(self, node: ast.expr, local: dict[str, Any]) -> Sequence[Any]:
        found = super().turns(node, local)
        if len(found) == 1 and isinstance(found[0], Expr) and not self.depth:
            self.substeps = found[0].name
        return found

    def _listcomp(self, node: Any, local: Mapping[str, Any]) -> tuple[Any, ...]:
        self.quiet += 1
        found = super()._listcomp(node, local)
        self.quiet -= 1
        return found

    _generatorexp = _listcomp

    def _branched(self, node: ast.If, test: Expr, rest: Sequence[ast.stmt], local: dict[str, Any]) -> Any:
        before = dict(local)
        self.quiet += 1
        found = super()._branched(node, test, rest, local)
        self.quiet -= 1
        for name, value in local.items():
            if name not in before or before[name] is not value:
                local[name] = self.named(name, value)
        return found

    def _given_rates(self) -> dict[str, Expr]:
        """What the function `rates` gives, by field or, where it gives several values, by their places."""
        node = self.functions[RATES]
        given = [argument.arg for argument in node.args.args]
        state = StateValue({f: var(f) for f in self.fields})
        kept, self.moved = self.moved, set(self.fields)  # nothing moves here
        found = self.block(node.body, dict(zip(given, (state, var("action")), strict=True)))
        self.moved = kept
        if isinstance(found, StateValue):
            return {f: as_expr(value) for f, value in found.values.items()}
        return {str(place): as_expr(value) for place, value in enumerate(self._sequence(node, found))}

    def _stage(self, *_: Any) -> StateValue | tuple[Expr, ...]:
        """What `rates` gives at this stage of a step: a name for each rate."""
        self.stages += 1
        names = {name: var(f"{name}'{self.stages}") for name in self.given}
        return StateValue(names) if set(names) == set(self.fields) else tuple(names.values())

    def _change(self, sets: Mapping[str, Any]) -> None:
        """Note what becomes of fields; what stays as it is is not noted."""
        early = not self.rates and not self.steps
        now = self.now.values
        changed = {f: as_expr(value) for f, value in sets.items() if value not in (now[f], var(f))}
        plain: dict[str, Expr] = {}
        for name, expr in changed.items():
            rate = self._rate(name, expr)
            if rate is None:
                plain[name] = self._current(expr)
        guards: dict[Expr | None, list[tuple[str, Expr]]] = {}
        for name, expr in plain.items():
            guard, value = _guarded(name, expr)
            guards.setdefault(guard, []).append((name, value))
        self.updates += [(early, Update(tuple(parts), guard)) for guard, parts in guards.items()]
        self.moved |= set(changed)

    def _rate(self, name: str, expr: Expr) -> Expr | None:
        """The rate by which a field moves here; None where it is set."""
        stages = [variable.partition("'") for variable in expr.variables if "'" in variable]
        if stages:
            self.steps.append(frozenset(stage for _, _, stage in stages))
            which = {name for name, _, _ in stages}
            if len(which) != 1:
                raise NoEquations(
                    f"{self.program.where()}: several rates move '{name}' at once; read the program itself."
                )
            rate = self.given[which.pop()]
            if rate != number(0.0):
                self.rates[name] = rate
            return rate
        terms = signed_terms(expr)
        own = [term for sign, term in terms if sign > 0 and term in (var(name), var(name + BEFORE))]
        others = [(sign, term) for sign, term in terms if term not in own]
        if len(own) != 1 or not others:
            return None
        parts = []
        for sign, term in others:
            _, above, below = factors_in(term)
            times = [factor for factor in above if factor.op == "var" and factor.name in TIMES]
            if len(times) != 1:
                return None
            rest = product(*(factor for factor in above if factor is not times[0]))
            for factor in below:
                rest = rest / factor
            parts.append(-rest if sign < 0 else rest)
        self.steps.append(frozenset(v for v in expr.variables if v in self.moved))
        rate = total(parts).substituted({var(f + BEFORE): var(f) for f in self.fields})
        self.rates[name] = self.rates[name] + rate if name in self.rates else rate
        return rate

    def _current(self, expr: Expr) -> Expr:
        """A field that nothing has changed yet is the same now as before the step."""
        return expr.substituted({var(f + BEFORE): var(f) for f in self.fields if f not in self.moved})

    def _shorten(self) -> None:
        """The rates in the order of the fields; a long one is named where it is a part of another."""
        rates = {f: self.rates[f] for f in self.fields if f in self.rates}
        for name, rate in rates.items():
            others = {r: var(f"{f}'") for f, r in rates.items() if f != name and r != rate and _size(r) >= LONG}
            self.rates[name] = rate.substituted(others)
        self.rates = {f: self.rates[f] for f in rates}
        taken = {*self.fields, *(name.lower() for name in self.constants)}
        for letter in (letter for letter in NAMES if letter not in taken):
            common = _common((*self.rates.values(), *(right for _, right in self.definitions)))
            if common is None:
                break
            put = {common: var(letter)}
            self.rates = {f: rate.substituted(put) for f, rate in self.rates.items()}
            rest = [(left, right.substituted(put)) for left, right in self.definitions]
            self.definitions = [(var(letter), common), *rest]

    @property
    def scheme(self) -> str:
        """How rates become a step, as far as its lines tell."""
        if not self.rates or not self.steps:
            return ""
        if self.stages:
            most = max(map(len, self.steps))
            apart = len(set(self.steps)) > 1
            kind = (
                "fourth-order Runge-Kutta"
                if most == 4
                else "semi-implicit Euler"
                if apart
                else "midpoint rule"
                if self.stages == 2
                else "explicit Euler"
            )
        else:
            kind = "semi-implicit Euler" if any(self.steps) else "explicit Euler"
        constants = self.program.constants
        time = next((name for name in TIMES if name in constants), "")
        return ", ".join(
            part
            for part in (
                kind,
                f"{constants[self.substeps]} sub-steps" if self.substeps else "",
                f"{time} = {short(constants[time])}" if time else "",
            )
            if part
        )


def _common(exprs: Sequence[Expr]) -> Expr | None:
    """The part that occurs several times and saves most where it is named."""
    counts = Counter(node for expr in exprs for node in expr.nodes() if node.args)
    saved = {node: (count - 1) * _size(node) for node, count in counts.items() if count > 1 and _size(node) >= SHARED}
    return max(saved, key=lambda node: saved[node], default=None)


def _guarded(name: str, expr: Expr) -> tuple[Expr | None, Expr]:
    """Where a field is set, and to what: `where(guard, value, field)` leaves it elsewhere as it is."""
    if expr.op == "where" and expr.args[2] == var(name):
        return expr.args[0], expr.args[1]
    return None, expr


def _worth(program: Program) -> tuple[Expr | None, dict[str, ast.FunctionDef]]:
    """The reward of a step, with `next` for the state after it and `end` for the end."""
    reader = Reader(program)
    if "reward" not in reader.functions:
        return None, {}
    reader.hooks["terminated"] = lambda *_: var(END)
    state = StateValue({f: var(f) for f in program.fields})
    after = StateValue({f: var(f + NEXT) for f in program.fields})
    return _shown(reader, "reward", state, var("action"), after)


def _ending(program: Program) -> tuple[Expr | None, dict[str, ast.FunctionDef]]:
    reader = Reader(program)
    if "terminated" not in reader.functions:
        return None, {}
    return _shown(reader, "terminated", StateValue({f: var(f) for f in program.fields}))


def _shown(reader: Reader, name: str, *arguments: Any) -> tuple[Expr | None, dict[str, ast.FunctionDef]]:
    """What a function gives, if it is short enough to be read."""
    try:
        found = reader.call(name, *arguments)
    except NoEquations:
        return None, {}
    if not isinstance(found, (Expr, int, float)) or _size(as_expr(found)) > LONGEST:
        return None, {}
    return as_expr(found), reader.helpers


def _helpers(program: Program, helpers: Mapping[str, ast.FunctionDef]) -> Iterator[tuple[Expr, Expr]]:
    """Definitions of functions that equations name."""
    for name, node in helpers.items():
        given = tuple(var(argument.arg) for argument in node.args.args)
        right, _ = _shown(Reader(program), name, *given)
        if right is not None:
            yield Expr("call", given, name), right


def _hidden(program: Program) -> tuple[str, ...]:
    """Fields that `read` takes from no column or, where a program has none, that have a default."""
    reader = Reader(program)
    try:
        if "read" in reader.functions:
            state = reader.call("read", var("observation"))
            if isinstance(state, StateValue):
                seen = {f: as_expr(value).variables for f, value in state.values.items()}
                return tuple(f for f, names in seen.items() if not any("observation" in name for name in names))
        return tuple(reader._defaults())
    except (NoEquations, AttributeError):
        return ()
