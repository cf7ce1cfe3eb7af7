"""The one emitter: a law as the text of a program. It owns every name, and nothing but names and numbers gets in."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.search.find import Law
from visualpatchworld.search.motion import Rate
from visualpatchworld.search.rules import Rule

RESERVED = {
    "state", "start", "action", "np", "step", "rates", "moved", "observe", "read", "reward", "terminated", "valid",
    "slope", "middle", "time", "value", "rate", "first", "second", "third", "fourth", "k1", "k2", "k3", "k4", "hit",
    "State", "NamedTuple", "float", "zip", "range", "observation", "next_state", "wrap", "angle_of",
}  # fmt: skip
LONGEST = 44  # letters of a constant's name


@dataclass
class _Names:
    """Python names, each given once."""

    used: set[str] = field(default_factory=lambda: set(RESERVED))

    def unique(self, wanted: str) -> str:
        name = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in wanted).strip("_") or "field"
        name = f"x_{name}" if name[0].isdigit() else name
        name = f"{name}_" if keyword.iskeyword(name) or keyword.issoftkeyword(name) else name
        free, count = name, 2
        while free in self.used:
            free, count = f"{name}_{count}", count + 1
        self.used.add(free)
        return free


@dataclass(frozen=True)
class Emitted:
    """The text of a program without a header, and what its names stand for."""

    text: str
    fields: Mapping[str, str]  # the law's fields -> names in the program
    constants: Mapping[str, tuple[float, float]]  # values and standard errors
    laws: tuple[tuple[str, str], ...]  # what each field's rate is made of


def shortest(value: float, tolerance: float) -> float:
    """The number with the fewest digits that is no further away than the tolerance."""
    for digits in range(1, 17):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= tolerance:
            return short
    return value


def emit(
    law: Law, dt: float | None, errors: Mapping[str, tuple[tuple[float, ...], ...]], rounded: float = 1.0
) -> Emitted:
    """The program of a law; `errors` has the standard errors of each rate's weights and inner numbers, per step.

    Numbers are rounded by up to the given share of their standard errors.
    """
    return _Emitter(law, dt or time_step(law) or 1.0, errors, rounded).emitted()


def time_step(law: Law) -> float | None:
    """The time of a step where fields move by others alone, each times the same number: places by their speeds."""
    rates = [rate for rate in law.motion.rates.values() if len(rate.terms) == 1 and rate.terms[0].op == "var"]
    steps = [abs(rate.weights[0]) for rate in rates if rate.terms[0].name in law.motion.rates]
    if not steps or max(steps) - min(steps) > 1e-5 * max(steps):
        return None
    return shortest(float(np.median(steps)), 1e-6 * max(steps))


class _Emitter:
    def __init__(self, law: Law, dt: float, errors: Mapping[str, tuple[tuple[float, ...], ...]], rounded: float):
        self.law, self.dt, self.errors, self.rounded = law, dt, errors, rounded
        self.names = _Names()
        self.inputs = law.rows.inputs if law.rows is not None else {}
        self.fields = self._field_names()
        self.constants: dict[str, tuple[float, float, str]] = {}
        self.laws: list[tuple[str, str]] = []
        scheme = law.motion.scheme
        self.names.used |= {"DT", "SUBSTEPS"}
        between = any(rule.place == "between" for rule in law.rules)
        self.simple = scheme.substeps == 1 and scheme.kind in ("explicit", "semi-implicit") and not between
        self.time = number(dt / scheme.substeps)

    def _field_names(self) -> dict[str, str]:
        """Names of fields; a column that was only numbered is called by the place whose speed it is."""
        speeds = {f.name: self._place_of(f.name) for f in self.law.fields if f.name[:1] == "x" and f.name[1:].isdigit()}
        speeds = {name: place for name, place in speeds.items() if place != name}
        found: dict[str, str] = {}
        for f in self.law.fields:
            if speeds.get(f.name, f.name) == f.name:
                found[f.name] = self.names.unique(f.name.lower())
        for name, place in speeds.items():
            if name not in found:
                found[name] = self.names.unique(f"{found.get(place, place.lower())}_speed")
        return {f.name: found[f.name] for f in self.law.fields}

    def emitted(self) -> Emitted:
        rates = {name: self._rate(name, rate) for name, rate in self.law.motion.rates.items()}
        grips = {name: self._grip(name, rate) for name, rate in self.law.motion.rates.items() if rate.grip > 0}
        step = self._simple(rates) if self.simple else self._stepped(rates)
        old = "start" if self._needs_start else "state"
        body = [*self._rules("first", old)]
        after = [*self._grips(grips), *self._rules("sub-step", old)]
        between = self._rules("between", "start")
        if between:
            cut = next(k for k, line in enumerate(step) if line.startswith("state = state._replace")) + 1
            step = [*step[:cut], *between, *step[cut:]]
        last = self._rules("step", "start")
        text = self._assembled(rates, step, body, after, last)
        values = {name: (value, error) for name, (value, error, _) in self.constants.items()}
        return Emitted(text, self.fields, values, tuple(self.laws))

    @property
    def _needs_start(self) -> bool:
        return any("@0" in name for rule in self.law.rules for name in _variables(rule))

    # Names of constants and variables

    def _constant(self, wanted: str, value: float, error: float, about: str) -> str:
        name = self.names.unique(wanted.upper()[:LONGEST].rstrip("_"))
        self.constants[name] = (value, error, about)
        return name

    def _variable(self, name: str, state: str, old: str) -> str:
        if name.endswith("@0"):
            return f"{old}.{self.fields[name[:-2]]}"
        if name in self.fields:
            return f"{state}.{self.fields[name]}"
        stem, chosen, choice = name.partition("_is_")
        place = f"action[{stem.removeprefix('action_')}]"
        return f"({place} == {choice})" if chosen else place

    # Rates

    def _rate(self, name: str, rate: Rate) -> Callable[[str, Mapping[str, str]], str]:
        """A function that writes the rate for a name of the state, fields in `local` by their local names."""
        errors = self.errors.get(name, ())
        parts: list[tuple[Expr, str, float]] = []
        for place, (term, weight) in enumerate(zip(rate.terms, rate.weights, strict=True)):
            if term.op == "grip":
                continue
            spread = errors[place] if place < len(errors) else (0.0,)
            parts.append(
                self._term(
                    name, term, weight / self.dt, tuple(s / (self.dt if k == 0 else 1.0) for k, s in enumerate(spread))
                )
            )

        def written(state: str, local: Mapping[str, str]) -> str:
            text = ""
            for expr, constant, sign in parts:
                body = self._local(expr, state, local)
                one = expr.op == "number"
                if constant:
                    body = constant if one else f"{constant} * {body}" if _binds(expr) else f"{constant} * ({body})"
                text += (
                    f" - {body}" if sign < 0 and text else f" + {body}" if text else f"-{body}" if sign < 0 else body
                )
            return text or "0.0"

        return written

    def _term(self, name: str, term: Expr, weight: float, spread: tuple[float, ...]) -> tuple[Expr, str, float]:
        """A term with its inner numbers named, its constant's name, and its sign."""
        word, slug = self._role(name, term)
        sign, size = (-1.0 if weight < 0 else 1.0), abs(weight)
        tolerance = max(self.rounded * spread[0], 1e-9 * size)
        value = shortest(size, tolerance)
        inner = []
        for k, number_ in enumerate(term.free_values):
            error = spread[1 + k] if 1 + k < len(spread) else 0.0
            inner.append((shortest(number_, max(self.rounded * error, 1e-9 * abs(number_))), error))
        named = self._named_numbers(term, slug, inner)
        self.laws.append((word or str(term.with_free([round(v, 6) for v, _ in inner])), self._place_of(name)))
        if value == 1.0 and term.op != "number" and not any("_is_" in name for name in term.variables):
            return named, "", sign
        by = "" if term.op == "number" else f" times {_plain_text(term, self.fields)}"
        about = f"{self.fields[name]} changes by it{by}, per second"
        return named, self._constant(slug, value, spread[0], about), sign

    def _place_of(self, speed: str) -> str:
        """The field that moves by this one as it is, if there is one: what a push acts on, people call by its place."""
        for place, rate in self.law.motion.rates.items():
            if len(rate.terms) == 1 and rate.terms[0] == var(speed) and place != speed:
                return place
        return speed

    def _role(self, name: str, term: Expr) -> tuple[str, str]:
        """What people call a term of a push, if they do; and a name for its constant."""
        place, own = self._place_of(name), var(name)
        roles = {
            own: ("drag", "drag"),
            own * call("abs", own): ("quadratic drag", "quadratic_drag"),
            var(place): ("spring", "spring") if place != name else ("drag", "drag"),
            var(place) ** 3: ("cubic spring", "cubic_spring"),
            call("sin", var(place)): ("field", "pull"),
            number(1.0): ("constant push", "push"),
        }
        if term in roles:
            word, ending = roles[term]
            return word, f"{place}_{ending}"
        if term.op == "var" and term.name.startswith("action_") and "_is_" not in term.name:
            which = (
                ""
                if sum(n.startswith("action_") for n in self.inputs) <= 1
                else f"_{term.name.removeprefix('action_')}"
            )
            return "drive", f"{place}_gain{which}"
        return "", f"{name}_{_slug(term)}"

    def _named_numbers(self, expr: Expr, slug: str, values: list[tuple[float, float]]) -> Expr:
        """The expression with its free numbers as variables that stand for constants."""
        left = iter(values)

        def changed(node: Expr) -> Expr:
            if node.op == "number" and node.free:
                value, error = next(left)
                return var("=" + self._constant(f"{slug}_at", value, error, "the number inside that term"))
            return (
                Expr(node.op, tuple(changed(a) for a in node.args), node.name, node.value, node.free)
                if node.args
                else node
            )

        if len(values) > 1 and len({v for v, _ in values}) == 1:  # the same number twice, such as -p and p
            name = "=" + self._constant(f"{slug}_at", values[0][0], values[0][1], "the number inside that term")
            return _renamed(expr, name)
        return changed(expr)

    def _local(self, expr: Expr, state: str, local: Mapping[str, str]) -> str:
        def written(node: Expr) -> str:
            if node.op == "number":
                whole = float(node.value).is_integer()
                return repr(int(node.value)) if whole and node.value in (2.0, 3.0) else repr(node.value)
            if node.name.startswith("="):
                return node.name[1:]
            return local.get(node.name) or self._variable(node.name, state, "state")

        return expr.text(written)

    def _grip(self, name: str, rate: Rate) -> str:
        place = next(k for k, term in enumerate(rate.terms) if term.op == "grip")
        spread = self.errors.get(name, ())
        error = spread[place][0] / self.dt if place < len(spread) else 0.0
        value = shortest(rate.grip / self.dt, max(error, 1e-9 * rate.grip / self.dt))
        self.laws.append(("dry friction", self._place_of(name)))
        return self._constant(f"{name}_grip", value, error, f"dry friction: {self.fields[name]} loses it per second")

    # Lines of the step

    def _simple(self, rates: Mapping[str, Callable]) -> list[str]:
        """One sub-step without stages, as plain assignments."""
        fast = self.law.motion.scheme.fast
        lines, local = [], {}
        for name in [*(n for n in rates if n in fast), *(n for n in rates if n not in fast)]:
            own = self.fields[name]
            known = {n: self.fields[n] for n in local} if name not in fast else {}
            lines.append(f"{own} = state.{own} + DT * ({rates[name]('state', known)})".replace("+ DT * (0.0)", "+ 0.0"))
            if name in fast:
                local[name] = own
        sets = ", ".join(f"{self.fields[n]}={self.fields[n]}" for n in rates)
        return [*lines, f"state = state._replace({sets})"]

    def _stepped(self, rates: Mapping[str, Callable]) -> list[str]:
        kind, fast = self.law.motion.scheme.kind, self.law.motion.scheme.fast
        if kind == "explicit":
            return ["state = moved(state, rates(state, action), DT)"]
        if kind == "midpoint":
            return [
                "middle = moved(state, rates(state, action), DT / 2)",
                "state = moved(state, rates(middle, action), DT)",
            ]
        if kind == "rk4":
            return [
                "k1 = rates(state, action)",
                "k2 = rates(moved(state, k1, DT / 2), action)",
                "k3 = rates(moved(state, k2, DT / 2), action)",
                "k4 = rates(moved(state, k3, DT), action)",
                "slope = State(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4)))",
                "state = moved(state, slope, DT)",
            ]
        quick = ", ".join(
            f"{self.fields[n]}=state.{self.fields[n]} + DT * slope.{self.fields[n]}" for n in rates if n in fast
        )
        slow = ", ".join(
            f"{self.fields[n]}=state.{self.fields[n]} + DT * slope.{self.fields[n]}" for n in rates if n not in fast
        )
        return [
            "slope = rates(state, action)",
            f"state = state._replace({quick})",
            "slope = rates(state, action)",
            f"state = state._replace({slow})",
        ]

    def _grips(self, grips: Mapping[str, str]) -> list[str]:
        lines = []
        for name, constant in grips.items():
            own = f"state.{self.fields[name]}"
            lines.append(
                f"state = state._replace({self.fields[name]}=np.sign({own}) * np.maximum(np.abs({own}) - {constant} * DT, 0.0))"
            )
        return lines

    def _rules(self, place: str, old: str) -> list[str]:
        lines = []
        for rule in self.law.rules:
            if rule.place != place:
                continue
            slug = "_".join(self.fields[name] for name, _ in rule.sets)[: LONGEST - 8]
            cuts: dict[float, str] = {}
            guards = [self._ruled(g, old, *self._limit(g, slug), cuts) for g in rule.guards]
            sets = []
            for name, expr in rule.sets:
                value = self._ruled(expr, old, f"{slug}_value", "what that rule sets", cuts)
                own = self.fields[name]
                sets.append(f"{own}=np.where(hit, {value}, state.{own})" if guards else f"{own}={value}")
            if guards:
                text = guards[0]
                for other in guards[1:]:
                    text = f"np.logical_and({text}, {other})"
                lines.append(f"hit = {text}")
            lines.append(f"state = state._replace({', '.join(sets)})")
        return lines

    def _limit(self, guard: Expr, slug: str) -> tuple[str, str]:
        """The name of a guard's number and what it is."""
        if guard.op in ("lt", "gt") and guard.args[0].op == "var" and guard.args[0].name in self.fields:
            own = self.fields[guard.args[0].name]
            side, ending = ("below", "low") if guard.op == "lt" else ("above", "top")
            return f"{own}_{ending}", f"a rule holds where {own} is {side} it"
        return f"{slug}_limit", "a rule holds beyond it"

    def _ruled(self, expr: Expr, old: str, slug: str, about: str, cuts: dict[float, str]) -> str:
        """An expression of a rule; equal numbers of one rule are one constant."""

        def written(node: Expr) -> str:
            if node.op == "var":
                return self._variable(node.name, "state", old)
            if not node.free:
                return repr(node.value)
            if node.value not in cuts:
                value = shortest(node.value, max(1e-7 * abs(node.value), 1e-12))
                cuts[node.value] = self._constant(slug, value, 0.0, about)
            return cuts[node.value]

        return expr.text(written)

    # The whole

    def _assembled(self, rates: Mapping[str, Callable], step, first, after, last) -> str:
        scheme, law = self.law.motion.scheme, self.law
        inner = [*step, *after]
        lines = [*first]
        if self._needs_start or any("start." in line for line in (*inner, *last)):
            lines = ["start = state", *lines]
        if scheme.substeps > 1:
            lines += ["for _ in range(SUBSTEPS):", *(f"    {line}" for line in inner)]
        else:
            lines += inner
        lines += [*last, "return state"]
        parts = []
        head = ["from typing import NamedTuple", "", "import jax.numpy as np  # or: import numpy as np", ""]
        head.append(f"DT = {shortest(self.dt / scheme.substeps, 1e-12)!r}  # s, one physics step")
        if scheme.substeps > 1:
            head.append(f"SUBSTEPS = {scheme.substeps}  # physics steps in one step")
        for name, (value, error, about) in self.constants.items():
            spread = f"+- {error:.1g}  " if error > 1e-15 else ""
            head.append(f"{name} = {value!r}  # {spread}{about}")
        parts.append("\n".join(head))
        parts.append("class State(NamedTuple):\n" + "\n".join(f"    {self.fields[f.name]}: float" for f in law.fields))
        if not self.simple:
            slopes = ",\n".join(
                f"        {self.fields[f.name]}={rates[f.name]('state', {}) if f.name in rates else '0.0'}"
                for f in law.fields
            )
            parts.append(
                f'def rates(state, action):\n    """How fast each field changes."""\n    return State(\n{slopes},\n    )'
            )
            if scheme.kind != "semi-implicit":
                parts.append(
                    'def moved(state, slope, time):\n    """The state after a time of even change."""\n'
                    "    return State(*(value + time * rate for value, rate in zip(state, slope)))"
                )
        body = "\n".join(f"    {line}" for line in lines)
        parts.append(f'def step(state, action):\n    """One step."""\n{body}')
        parts += [self._observe(), self._read()]
        return "\n\n\n".join(parts) + "\n"

    def _observe(self) -> str:
        law, shown = self.law, {}
        for f in law.fields:
            own = f"state.{self.fields[f.name]}"
            if f.kind == "angle":
                shown[f.columns[0]], shown[f.columns[1]] = f"np.cos({own})", f"np.sin({own})"
            elif f.columns:
                shown[f.columns[0]] = f"{own} + {f.offset!r}" if f.offset else own
        for column, expr in law.derived.items():
            shown[column] = self._ruled(_shortened(expr), "state", "derived", "", {})
        for column, value in law.constants.items():
            shown[column] = repr(value)
        rows = "\n".join(f"        {shown[c]}," for c in sorted(shown))
        return f'def observe(state):\n    """What is seen of a state."""\n    return (\n{rows}\n    )'

    def _read(self) -> str:
        rows = []
        for f in self.law.fields:
            own = self.fields[f.name]
            if f.kind == "angle":
                rows.append(f"        {own}=np.arctan2(observation[{f.columns[1]}], observation[{f.columns[0]}]),")
            elif f.columns:
                less = f" - {f.offset!r}" if f.offset else ""
                rows.append(f"        {own}=observation[{f.columns[0]}]{less},")
            else:
                rows.append(f"        {own}={f.start!r},  # not observed")
        body = "\n".join(rows)
        return (
            f'def read(observation):\n    """A state that gives this observation."""\n    return State(\n{body}\n    )'
        )


def _variables(rule: Rule) -> set[str]:
    return {name for expr in (*rule.guards, *(e for _, e in rule.sets)) for name in expr.variables}


def _renamed(expr: Expr, name: str) -> Expr:
    if expr.op == "number" and expr.free:
        return var(name)
    return (
        Expr(expr.op, tuple(_renamed(a, name) for a in expr.args), expr.name, expr.value, expr.free)
        if expr.args
        else expr
    )


def _shortened(expr: Expr) -> Expr:
    """Numbers of an identity with the digits that matter."""
    if expr.op == "number" and not expr.free:
        return number(shortest(expr.value, 1e-7 * abs(expr.value)))
    if expr.op == "mul" and expr.args[0].op == "number" and abs(expr.args[0].value - 1.0) < 1e-6:
        return _shortened(expr.args[1])
    return (
        Expr(expr.op, tuple(_shortened(a) for a in expr.args), expr.name, expr.value, expr.free) if expr.args else expr
    )


def _binds(expr: Expr) -> bool:
    """Whether an expression can stand behind a factor without parentheses."""
    return expr.op not in ("add", "sub", "neg", "lt", "gt", "eq", "ne", "div", "mod")


def _slug(term: Expr) -> str:
    """A name for a term: its operations and variables, from left to right."""
    words = []
    for node in term.nodes():
        if node.op == "var":
            words.append(node.name)
        elif node.op not in ("number", "mul", "add", "sub", "neg", "where", "div"):
            words.append({"pow": "power", "gt": "above", "lt": "below"}.get(node.op, node.op))
    return "_".join(words) or "bias"


def _plain_text(term: Expr, fields: Mapping[str, str]) -> str:
    def written(node: Expr) -> str:
        return fields.get(node.name, node.name) if node.op == "var" else f"{node.value:.4g}"

    return term.text(written).replace("np.", "")
