"""Expressions as people write them: plain text, LaTeX and MathML, from one layout.

Products are written side by side, quotients as fractions, and a term with a negative factor is subtracted. What has no
sign of its own is written as a function of its arguments, so that any tree can be shown.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from visualpatchworld.grammar.expr import Expr, number

BEFORE, NEXT = "@0", "@1"  # ends of names: the value before a step, and after it
SIGNS: Mapping[str, tuple[str, str, str]] = {  # of relations: plain, LaTeX and MathML
    "lt": ("<", "<", "&lt;"),
    "gt": (">", ">", "&gt;"),
    "le": ("<=", r"\le", "&le;"),
    "ge": (">=", r"\ge", "&ge;"),
    "eq": ("=", "=", "="),
    "ne": ("!=", r"\ne", "&ne;"),
    "and": ("and", r"\land", "&and;"),
    "or": ("or", r"\lor", "&or;"),
}
LOGIC, RELATION, SUM, PRODUCT, POWER, ATOM = range(6)  # how strongly what is written holds together
LEVELS = {"and": LOGIC, "or": LOGIC}
GREEK = frozenset(
    ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi")
) | {"rho", "sigma", "tau", "phi", "chi", "psi", "omega", "pi"}
DIGITS = 6  # of a number


@dataclass(frozen=True)
class Notation:
    """How each piece is written; pieces that are put together are written already."""

    name: Callable[[str], str]
    number: Callable[[float], str]
    product: Callable[[Sequence[str]], str]
    fraction: Callable[[str, str], str] | None  # None: with a slash
    power: Callable[[str, str], str]
    function: Callable[[str, Sequence[str]], str]
    root: Callable[[str], str]
    absolute: Callable[[str], str]
    group: Callable[[str], str]  # in parentheses
    sign: Callable[[int, bool], str]  # of a term, which may be the first one
    item: Callable[[str, str], str]  # of several values
    relation: Callable[[str], str]  # of two sides
    indicator: Callable[[str], str]  # one where a condition holds, else zero
    choice: Callable[[str, str, str], str]  # a if condition else b
    rate: Callable[[str], str]  # of a field
    words: Callable[[str], str]
    equals: str
    gets: str  # between a field and what it is set to


def written(expr: Expr, notation: Notation) -> str:
    """The expression in a notation."""
    return _written(expr, notation)[0]


def pieces(expr: Expr, by: Notation) -> list[str]:
    """The terms of a sum with their signs, between which a long line may be broken."""
    terms = signed_terms(expr)
    if len(terms) == 1 and terms[0][0] > 0:
        return [written(expr, by)]
    found = []
    for place, (sign, term) in enumerate(terms):
        text, level = _written(term, by)
        found.append(by.sign(sign, not place) + (text if level >= PRODUCT else by.group(text)))
    return found


def _written(expr: Expr, by: Notation) -> tuple[str, int]:
    def at(arg: Expr, level: int) -> str:
        text, own = _written(arg, by)
        if own >= level:
            return text
        return by.indicator(text) if arg.op in SIGNS and level > RELATION else by.group(text)

    if expr.op == "var":
        return (by.rate(expr.name[:-1]) if expr.name.endswith("'") else by.name(expr.name)), ATOM
    if expr.op == "number":
        return by.number(expr.value), ATOM if expr.value >= 0 else SUM
    if expr.op in ("add", "sub", "neg"):
        return "".join(pieces(expr, by)), SUM
    if expr.op in ("mul", "div"):
        sign, above, below = factors_in(expr)
        if sign < 0:
            return _written(Expr("neg", (_product(above, below),)), by)
        top = _side_by_side(above, at, by, alone=not below)
        if not below:
            return top, PRODUCT if len(above) > 1 else _written(above[0], by)[1]
        if by.fraction is not None:
            return by.fraction(_plainly(above, at, by), _plainly(below, at, by)), PRODUCT
        under = at(below[0], POWER) if len(below) == 1 else by.group(_side_by_side(below, at, by, alone=True))
        return f"{top} / {under}", PRODUCT
    if expr.op == "pow":
        return by.power(at(expr.args[0], ATOM), written(expr.args[1], by)), POWER
    if expr.op in SIGNS:
        level = LEVELS.get(expr.op, RELATION)
        left, right = (at(arg, level + 1 if arg.op != expr.op or level == RELATION else level) for arg in expr.args)
        return f"{left}{by.relation(expr.op)}{right}", level
    if expr.op == "where" and [arg.value for arg in expr.args[1:] if arg.op == "number"] == [1.0, 0.0]:
        return by.indicator(written(expr.args[0], by)), ATOM
    if expr.op == "where":
        return by.choice(*(written(arg, by) for arg in expr.args)), ATOM
    if expr.op == "sqrt":
        return by.root(written(expr.args[0], by)), ATOM
    if expr.op == "abs":
        return by.absolute(written(expr.args[0], by)), ATOM
    if expr.op == "item":
        return by.item(at(expr.args[0], ATOM), expr.name), ATOM
    if expr.op == "tuple":
        return by.group(_listed(expr, by)), ATOM
    name = expr.name if expr.op == "call" else {"grip": "sign", "mod": "mod"}.get(expr.op, expr.op)
    return by.function(name, [written(arg, by) for arg in expr.args]), ATOM


def _listed(expr: Expr, by: Notation) -> str:
    return by.function("", [written(arg, by) for arg in expr.args])


def _plainly(factors: Sequence[Expr], at: Callable[[Expr, int], str], by: Notation) -> str:
    """Factors above or below a line, which holds a sum together without parentheses."""
    return written(factors[0], by) if len(factors) == 1 else _side_by_side(factors, at, by, alone=True)


def _side_by_side(factors: Sequence[Expr], at: Callable[[Expr, int], str], by: Notation, *, alone: bool) -> str:
    if not factors:
        return by.number(1.0)
    if len(factors) == 1 and alone:
        return written(factors[0], by)
    return by.product([at(factor, POWER) for factor in factors])


def signed_terms(expr: Expr, sign: int = 1) -> list[tuple[int, Expr]]:
    """The terms of a sum with their signs."""
    if expr.op == "add":
        return [*signed_terms(expr.args[0], sign), *signed_terms(expr.args[1], sign)]
    if expr.op == "sub":
        return [*signed_terms(expr.args[0], sign), *signed_terms(expr.args[1], -sign)]
    if expr.op == "neg":
        return signed_terms(expr.args[0], -sign)
    if expr.op in ("mul", "div"):
        own, above, below = factors_in(expr)
        return [(sign * own, _product(above, below))]
    if expr.op == "number" and expr.value < 0:
        return [(-sign, number(-expr.value, expr.free))]
    return [(sign, expr)]


def factors_in(expr: Expr) -> tuple[int, list[Expr], list[Expr]]:
    """The sign of a product, its factors, and those that it is divided by."""
    if expr.op in ("mul", "div"):
        first, second = (factors_in(arg) for arg in expr.args)
        if expr.op == "div":
            second = second[0], second[2], second[1]
        ones = [factor for factor in (*first[1], *second[1]) if not (factor.op == "number" and factor.value == 1.0)]
        ones.sort(key=lambda factor: factor.op != "number")  # numbers come first
        return first[0] * second[0], ones, [*first[2], *second[2]]
    if expr.op == "neg":
        sign, above, below = factors_in(expr.args[0])
        return -sign, above, below
    if expr.op == "number" and expr.value < 0:
        return -1, [number(-expr.value, expr.free)], []
    return 1, [expr], []


def _product(above: Sequence[Expr], below: Sequence[Expr]) -> Expr:
    """One expression of these factors, in the order in which they are written."""

    def joined(factors: Sequence[Expr]) -> Expr:
        found = factors[0] if factors else number(1.0)
        for factor in factors[1:]:
            found = found * factor
        return found

    return joined(above) / joined(below) if below else joined(above)


def short(value: float) -> str:
    """A number with the digits that people read."""
    if math.isinf(value) or math.isnan(value):
        return str(value)
    return f"{value:.{DIGITS}g}"


def _split(name: str) -> tuple[str, str]:
    """A name and what stands below it: `x_speed` is x with `speed` below, `x0` is x with 0, `action[0]` action with 0."""
    ending = {BEFORE: "before", NEXT: "next"}.get(name[-2:], "")
    name = name[:-2] if ending else name
    name, bracket, index = name.partition("[")
    base, _, below = name.strip("_").partition("_")
    digits = base[len(base.rstrip("0123456789")) :]
    if digits and base != digits:
        base, below = base[: -len(digits)], ", ".join(part for part in (digits, below) if part)
    under = ", ".join(part.replace("_", " ") for part in (below, index.rstrip("]") if bracket else "", ending) if part)
    return base or name, under


def _plain_name(name: str) -> str:
    if name.endswith((BEFORE, NEXT)):
        return f"{name[:-2]}_{'before' if name.endswith(BEFORE) else 'next'}"
    return name


def _plain_rate(name: str) -> str:
    return f"{_plain_name(name)}'"


PLAIN = Notation(
    name=_plain_name,
    number=short,
    product=" ".join,
    fraction=None,
    power=lambda a, b: f"{a}^{b}" if b.replace(".", "").isalnum() else f"{a}^({b})",
    function=lambda name, args: f"{name}({', '.join(args)})" if name else ", ".join(args),
    root=lambda a: f"sqrt({a})",
    absolute=lambda a: f"|{a}|",
    group=lambda a: f"({a})",
    sign=lambda sign, first: ("-" if first else " - ") if sign < 0 else "" if first else " + ",
    item=lambda a, place: f"{a}[{place}]",
    relation=lambda op: f" {SIGNS[op][0]} ",
    indicator=lambda a: f"[{a}]",
    choice=lambda c, a, b: f"({a} if {c} else {b})",
    rate=_plain_rate,
    words=lambda text: text,
    equals=" = ",
    gets=" <- ",
)


def _latex_word(word: str) -> str:
    if word.lower() in GREEK:
        return f"\\{word.lower()}"
    safe = "".join({"_": r"\_", "\\": "", "{": "", "}": ""}.get(c, c) for c in word)
    return safe if len(word) == 1 else f"\\mathrm{{{safe}}}"


def _latex_name(name: str) -> str:
    if name.isupper():  # a constant, as it stands in the program
        return _latex_word(name)
    base, below = _split(name)
    return f"{_latex_word(base)}_{{\\mathrm{{{below}}}}}" if below else _latex_word(base)


def _latex_number(value: float) -> str:
    digits, e, power = short(value).partition("e")
    return f"{digits} \\times 10^{{{int(power)}}}" if e else digits


LATEX_FUNCTIONS = frozenset(("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "min", "max"))


def _latex_function(name: str, args: Sequence[str]) -> str:
    inside = ", ".join(args)
    if not name:
        return inside
    word = f"\\{name}" if name in LATEX_FUNCTIONS else f"\\operatorname{{{name.replace('_', chr(92) + '_')}}}"
    return f"{word}\\left({inside}\\right)"


LATEX = Notation(
    name=_latex_name,
    number=_latex_number,
    product=r" \, ".join,
    fraction=lambda a, b: f"\\frac{{{a}}}{{{b}}}",
    power=lambda a, b: f"{{{a}}}^{{{b}}}",
    function=_latex_function,
    root=lambda a: f"\\sqrt{{{a}}}",
    absolute=lambda a: f"\\left|{a}\\right|",
    group=lambda a: f"\\left({a}\\right)",
    sign=lambda sign, first: ("-" if first else " - ") if sign < 0 else "" if first else " + ",
    item=lambda a, place: f"{{{a}}}_{{{place}}}",
    relation=lambda op: f" {SIGNS[op][1]} ",
    indicator=lambda a: f"\\left[{a}\\right]",
    choice=lambda c, a, b: f"\\begin{{cases}}{a} & {c} \\\\ {b} & \\text{{otherwise}}\\end{{cases}}",
    rate=lambda name: f"\\frac{{\\mathrm{{d}}}}{{\\mathrm{{d}}t}} {_latex_name(name)}",
    words=lambda text: f"\\text{{{text}}}",
    equals=" = ",
    gets=r" \leftarrow ",
)


def _mathml_word(word: str) -> str:
    if word.lower() in GREEK:
        return f"<mi>&{word.lower()};</mi>"
    return f"<mi>{html.escape(word)}</mi>"


def _mathml_name(name: str) -> str:
    if name.isupper() and len(name) > 1:
        return f'<mi class="constant">{html.escape(name)}</mi>'
    base, below = _split(name)
    return f"<msub>{_mathml_word(base)}<mtext>{html.escape(below)}</mtext></msub>" if below else _mathml_word(base)


def _mathml_number(value: float) -> str:
    digits, e, power = short(value).partition("e")
    if not e:
        return f"<mn>{digits}</mn>"
    return f"<mn>{digits}</mn><mo>&sdot;</mo><msup><mn>10</mn><mn>{int(power)}</mn></msup>"


def _mathml_group(text: str, left: str = "(", right: str = ")") -> str:
    tall = "" if any(tag in text for tag in ("<mfrac", "<mtable", "<msqrt")) else ' stretchy="false"'
    return f"<mrow><mo{tall}>{left}</mo>{text}<mo{tall}>{right}</mo></mrow>"


def _mathml_sign(sign: int, first: bool) -> str:
    """A sign, with the room that stands around it between terms."""
    if sign > 0 and first:
        return ""
    return f'<mo form="{"prefix" if first else "infix"}">{"&minus;" if sign < 0 else "+"}</mo>'


def _mathml_function(name: str, args: Sequence[str]) -> str:
    inside = "<mo>,</mo>".join(args)
    return f"<mrow><mi>{html.escape(name)}</mi>{_mathml_group(inside)}</mrow>" if name else inside


def _mathml_choice(condition: str, a: str, b: str) -> str:
    rows = ((a, condition), (b, "<mtext>otherwise</mtext>"))
    table = "".join(f"<mtr><mtd>{value}</mtd><mtd>{when}</mtd></mtr>" for value, when in rows)
    return f'<mrow><mo>{{</mo><mtable columnalign="left">{table}</mtable></mrow>'


def _row(text: str) -> str:
    return f"<mrow>{text}</mrow>"


MATHML = Notation(
    name=_mathml_name,
    number=_mathml_number,
    product='<mspace width="0.2em"/>'.join,
    fraction=lambda a, b: f"<mfrac>{_row(a)}{_row(b)}</mfrac>",
    power=lambda a, b: f"<msup>{_row(a)}{_row(b)}</msup>",
    function=_mathml_function,
    root=lambda a: f"<msqrt>{a}</msqrt>",
    absolute=lambda a: _mathml_group(a, "|", "|"),
    group=_mathml_group,
    sign=_mathml_sign,
    item=lambda a, place: f"<msub>{_row(a)}<mn>{html.escape(place)}</mn></msub>",
    relation=lambda op: f"<mo>{SIGNS[op][2]}</mo>",
    indicator=lambda a: _mathml_group(a, "[", "]"),
    choice=_mathml_choice,
    rate=lambda name: f"<mfrac><mi>d</mi><mrow><mi>d</mi><mi>t</mi></mrow></mfrac>{_mathml_name(name)}",
    words=lambda text: f"<mtext>{html.escape(text)}</mtext>".replace(" ", "&nbsp;"),
    equals="<mo>=</mo>",
    gets="<mo>&larr;</mo>",
)
