"""A program's syntax tree read as expressions: what its functions compute, without running any of it.

Names, arithmetic, tuples, comprehensions over known ranges, calls of the program's own functions and conditionals are
followed. Anything else raises `NoEquations` with the line. A budget bounds the work, since a program may be anyone's.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from visualpatchworld.errors import VpwError
from visualpatchworld.grammar.expr import OPERATIONS, Expr, as_expr, number, var
from visualpatchworld.grammar.notation import signed_terms
from visualpatchworld.program.program import Program

BUDGET = 50_000  # nodes of syntax that are looked at: a bundled program needs a few hundred
DEPTH = 30  # calls within calls
LARGEST_WHOLE = 10**6  # of places and counts
HUGE = 1e300  # a float still holds it
MOST_NODES = 2000  # of one expression on the way; what is shown is far shorter
BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.Mod: "mod",
    ast.BitAnd: "and", ast.BitOr: "or",
}  # fmt: skip
COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.Gt: "gt", ast.LtE: "le", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
# Functions of NumPy and of Python under the name that an expression has for them.
NAMED = {
    "minimum": "min", "maximum": "max", "absolute": "abs", "fabs": "abs", "logical_and": "and", "logical_or": "or",
    "power": "pow", "remainder": "mod", "fmod": "mod", "atan2": "arctan2", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan",
}  # fmt: skip
PLAIN_CASTS = ("float", "int", "bool", "asarray", "array", "tuple", "list")  # that change nothing in an equation


class NoEquations(VpwError):
    """A part of a program that cannot be read as an equation; the message names file and line."""


@dataclass(frozen=True)
class StateValue:
    """A state whose fields are expressions."""

    values: Mapping[str, Any]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.values())

    def __len__(self) -> int:
        return len(self.values)


def simplified(op: str, *args: Any) -> Any:
    """An operation on numbers and expressions; what is known is computed, and zeros and ones go."""
    if all(isinstance(arg, (int, float)) for arg in args):
        known = _known(op, *args)
        if known is not None:
            return known
    a: Any = args[0]
    b: Any = args[1] if len(args) > 1 else None
    if op in ("add", "sub") and _is(b, 0):
        return a
    if (op == "add" and _is(a, 0)) or (op == "mul" and _is(a, 1)):
        return b
    if op == "sub" and (less := _cancelled(as_expr(a), as_expr(b))) is not None:
        return less
    if op == "sub" and _is(a, 0):
        return simplified("neg", b)
    if (op in ("mul", "div") and _is(a, 0)) or (op == "mul" and _is(b, 0)):
        return 0
    if op in ("mul", "div", "pow") and _is(b, 1):
        return a
    if op in ("sin", "cos", "neg") and isinstance(a, Expr) and a.op == "neg":  # cosine is even, the others are odd
        return a.args[0] if op == "neg" else simplified(op, a.args[0]) if op == "cos" else -simplified(op, a.args[0])
    found = Expr(op, tuple(as_expr(arg) for arg in args)) if op in OPERATIONS or op in ("le", "ge", "not") else None
    return found if found is not None else Expr("call", tuple(as_expr(arg) for arg in args), op)


def _cancelled(a: Expr, b: Expr) -> Expr | int | None:
    """The difference of two sums that share terms, without those; None where they share none."""
    left, right = signed_terms(a), signed_terms(b)
    shared = [term for term in left if term in right]
    for term in shared:
        if term in left and term in right:
            left.remove(term)
            right.remove(term)
    if not shared:
        return None
    parts = [*left, *((-sign, term) for sign, term in right)]
    found: Any = 0
    for sign, term in parts:
        found = simplified("add", found, term) if sign > 0 else simplified("sub", found, term)
    return found


def _is(value: Any, wanted: float) -> bool:
    return isinstance(value, (int, float)) and value == wanted


def _known(op: str, *args: float) -> float | None:
    """The value where all arguments are numbers; whole numbers stay whole as long as they are places and counts."""
    if op not in OPERATIONS or op in ("where", "grip"):
        return None
    whole = all(isinstance(arg, int) and abs(arg) <= LARGEST_WHOLE for arg in args)
    try:
        with np.errstate(all="ignore"):
            found = float(OPERATIONS[op].compute(np, *(np.float64(min(max(arg, -HUGE), HUGE)) for arg in args)))
    except (ArithmeticError, TypeError, ValueError):
        return None
    if whole and op in ("add", "sub", "mul", "mod", "neg", "min", "max", "abs") and abs(found) <= LARGEST_WHOLE:
        return int(found)
    return found


@dataclass
class Reader:
    """Follows one program; `inline` says whether calls of its own functions are followed, too."""

    program: Program
    inline: bool = True
    left: int = BUDGET

    def __post_init__(self):
        body = self.program.module.body
        self.functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        self.constants = self.program.constants
        self.arrays = {
            alias.asname or alias.name
            for node in body
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name in ("numpy", "jax.numpy", "math")
        }
        self.helpers: dict[str, ast.FunctionDef] = {}  # functions of numbers that stay calls, to be defined beside
        self.hooks: dict[str, Callable[..., Any]] = {}  # functions that someone else stands in for
        self.depth = 0

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        raise NoEquations(f"{self.program.where(getattr(node, 'lineno', None))}: {what}; read the program itself.")

    # Functions and statements

    def call(self, name: str, *arguments: Any) -> Any:
        """What a function of the program gives for these values."""
        node = self.functions[name]
        self.depth += 1
        if self.depth > DEPTH:
            self.refuse(node, "calls within calls go too deep for an equation")
        given = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        local: dict[str, Any] = dict(zip(given, arguments, strict=False))
        for argument, default in zip(reversed(given), reversed(node.args.defaults), strict=False):
            local.setdefault(argument, self.value(default, {}))
        if set(given) - set(local):
            self.refuse(node, f"'{name}' is called without some of its arguments")
        found = self.block(node.body, local)
        self.depth -= 1
        return found

    def block(self, statements: Sequence[ast.stmt], local: dict[str, Any]) -> Any:
        """What these statements return; None where they do not."""
        for place, statement in enumerate(statements):
            if isinstance(statement, ast.Return):
                return None if statement.value is None else self.value(statement.value, local)
            if isinstance(statement, ast.If):
                test = self.value(statement.test, local)
                if not isinstance(test, Expr):
                    found = self.block(statement.body if test else statement.orelse, local)
                    if found is not None:
                        return found
                    continue
                return_ = self._branched(statement, test, statements[place + 1 :], local)
                if return_ is not None:
                    return return_
                continue
            self.statement(statement, local)
        return None

    def _branched(self, node: ast.If, test: Expr, rest: Sequence[ast.stmt], local: dict[str, Any]) -> Any:
        """Both ways of a conditional, merged where they differ."""
        if any(isinstance(part, ast.Return) for part in ast.walk(node)):
            ways = [self.block([*body, *rest], dict(local)) for body in (node.body, node.orelse)]
            return self.chosen(node, test, *ways)
        yes, no = dict(local), dict(local)
        self.block(node.body, yes)
        self.block(node.orelse, no)
        for name in {*yes, *no}:
            if name in yes and name in no and yes[name] is not no[name]:
                local[name] = self.chosen(node, test, yes[name], no[name])
            elif name not in local:
                local.pop(name, None)
        return None

    def chosen(self, node: ast.AST, test: Expr, a: Any, b: Any) -> Any:
        if isinstance(a, StateValue) and isinstance(b, StateValue):
            return StateValue({f: self.chosen(node, test, a.values[f], b.values[f]) for f in a.values})
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(self.chosen(node, test, x, y) for x, y in zip(a, b, strict=True))
        if a == b:
            return a
        if not all(isinstance(way, (Expr, int, float)) for way in (a, b)):
            self.refuse(node, "the two ways of this condition give different things")
        return simplified("where", test, a, b)

    def statement(self, node: ast.stmt, local: dict[str, Any]) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node.targets[0], self.value(node.value, local), local)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.value(node.value, local), local)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            now = self.value(ast.Name(node.target.id, ast.Load(), lineno=node.lineno), local)
            self.assign(node.target, self._operated(node, node.op, now, self.value(node.value, local)), local)
        elif isinstance(node, ast.For) and not node.orelse:
            for item in self.turns(node.iter, local):
                self.assign(node.target, item, local)
                if self.block(node.body, local) is not None:
                    self.refuse(node, "a loop that returns has no equation")
        elif not (isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))):
            self.refuse(node, "this statement cannot be written as an equation")

    def turns(self, node: ast.expr, local: dict[str, Any]) -> Sequence[Any]:
        """What a loop goes through; a loop over a named number of sub-steps is read once."""
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range" and len(node.args) == 1:
            counted = node.args[0]
            if isinstance(counted, ast.Name) and counted.id in self.constants and counted.id not in local:
                return (var(counted.id),)
        return self._sequence(node, self.value(node, local))

    def assign(self, target: ast.expr, value: Any, local: dict[str, Any]) -> None:
        if isinstance(target, ast.Name):
            local[target.id] = self.named(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = self._parts(target, value, len(target.elts))
            for element, part in zip(target.elts, parts, strict=True):
                self.assign(element, part, local)
        else:
            self.refuse(target, "this assignment cannot be written as an equation")

    def named(self, name: str, value: Any) -> Any:
        """What a local name stands for from now on."""
        return value

    def _parts(self, node: ast.AST, value: Any, count: int) -> Sequence[Any]:
        if isinstance(value, Expr) and (value.op in ("call", "item") or not self.inline):
            return tuple(_item(value, k) for k in range(count))
        parts = self._sequence(node, value)
        if len(parts) != count:
            self.refuse(node, "a different number of values is assigned here")
        return parts

    def _sequence(self, node: ast.AST, value: Any) -> Sequence[Any]:
        if not isinstance(value, (tuple, StateValue)):
            self.refuse(node, "how many values there are here is not known")
        return tuple(value)

    # Expressions

    def value(self, node: ast.expr, local: Mapping[str, Any]) -> Any:
        self.left -= 1
        if self.left < 0:
            self.refuse(node, "the program is too long to be read as equations")
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            self.refuse(node, f"this part ({type(node).__name__}) cannot be written as an equation")
        return method(node, local)

    def _constant(self, node: ast.Constant, local: Mapping[str, Any]) -> Any:
        if node.value is not None and not isinstance(node.value, (int, float)):
            self.refuse(node, "only numbers can be written in an equation")
        return node.value

    def _name(self, node: ast.Name, local: Mapping[str, Any]) -> Any:
        if node.id in local:
            return local[node.id]
        if node.id in self.constants:
            value = self.constants[node.id]
            return _numbers(value) if isinstance(value, (tuple, list)) and self.inline else var(node.id)
        return self.refuse(node, f"nothing says what '{node.id}' is")

    def _attribute(self, node: ast.Attribute, local: Mapping[str, Any]) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in self.arrays and node.value.id not in local:
            if node.attr == "pi":
                return var("pi")
            return {"e": math.e, "inf": math.inf, "nan": math.nan}.get(node.attr, node.attr)
        value = self.value(node.value, local)
        if isinstance(value, StateValue) and node.attr in value.values:
            return value.values[node.attr]
        if isinstance(value, Expr) and value.op in ("call", "item"):
            return _item(value, node.attr)
        return self.refuse(node, f"nothing says what '{node.attr}' is")

    def _tuple(self, node: ast.Tuple | ast.List, local: Mapping[str, Any]) -> tuple[Any, ...]:
        found: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                found += self._sequence(element, self.value(element.value, local))
            else:
                found.append(self.value(element, local))
        return tuple(found)

    _list = _tuple

    def _binop(self, node: ast.BinOp, local: Mapping[str, Any]) -> Any:
        return self._operated(node, node.op, self.value(node.left, local), self.value(node.right, local))

    def _operated(self, node: ast.AST, op: ast.operator, a: Any, b: Any) -> Any:
        if isinstance(op, ast.Add) and isinstance(a, tuple) and isinstance(b, tuple):
            return a + b
        if type(op) not in BINARY:
            self.refuse(node, "this operation cannot be written in an equation")
        return self._of(node, BINARY[type(op)], a, b)

    def _of(self, node: ast.AST, op: str, *args: Any) -> Any:
        if not all(isinstance(arg, (Expr, int, float)) for arg in args):
            self.refuse(node, "an operation on several values at once cannot be written as an equation")
        found = simplified(op, *args)
        if isinstance(found, Expr) and sum(1 for _ in found.nodes()) > MOST_NODES:
            self.refuse(node, "the equation would be too long to read")
        return found

    def _unaryop(self, node: ast.UnaryOp, local: Mapping[str, Any]) -> Any:
        value = self.value(node.operand, local)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.USub):
            return -value if isinstance(value, (int, float)) else self._of(node, "neg", value)
        return self._of(node, "not", value) if isinstance(value, Expr) else not value

    def _compare(self, node: ast.Compare, local: Mapping[str, Any]) -> Any:
        sides = [self.value(side, local) for side in (node.left, *node.comparators)]
        found: Any = None
        for a, op, b in zip(sides, node.ops, sides[1:], strict=False):
            if isinstance(op, (ast.Is, ast.IsNot)) and (a is None or b is None):
                found = (a is b) == isinstance(op, ast.Is)
                continue
            if type(op) not in COMPARED:
                self.refuse(node, "this comparison cannot be written in an equation")
            name = COMPARED[type(op)]
            known = isinstance(a, (int, float)) and isinstance(b, (int, float))
            one = _compared(name, a, b) if known else self._of(node, name, a, b)
            found = one if found is None else self._both(node, "and", found, one)
        return found

    def _boolop(self, node: ast.BoolOp, local: Mapping[str, Any]) -> Any:
        op = "and" if isinstance(node.op, ast.And) else "or"
        found = self.value(node.values[0], local)
        for other in node.values[1:]:
            if isinstance(found, bool) and found == (op == "or"):
                return found
            found = self._both(node, op, found, self.value(other, local))
        return found

    def _both(self, node: ast.AST, op: str, a: Any, b: Any) -> Any:
        for known, other in ((a, b), (b, a)):
            if isinstance(known, bool):
                return other if known == (op == "and") else known
        return self._of(node, op, a, b)

    def _ifexp(self, node: ast.IfExp, local: Mapping[str, Any]) -> Any:
        test = self.value(node.test, local)
        if not isinstance(test, Expr):
            return self.value(node.body if test else node.orelse, local)
        return self.chosen(node, test, self.value(node.body, local), self.value(node.orelse, local))

    def _subscript(self, node: ast.Subscript, local: Mapping[str, Any]) -> Any:
        value = self.value(node.value, local)
        if isinstance(node.slice, ast.Slice):
            ends = [None if end is None else self.value(end, local) for end in (node.slice.lower, node.slice.upper)]
            if node.slice.step is None and all(end is None or isinstance(end, int) for end in ends):
                return tuple(self._sequence(node, value))[slice(*ends)]
            self.refuse(node, "this part of a sequence is not known")
        place = self.value(node.slice, local)
        if isinstance(value, Expr) and isinstance(place, int):
            return _item(value, place)
        parts = self._sequence(node, value)
        if not isinstance(place, int) or not -len(parts) <= place < len(parts):
            self.refuse(node, "which of several values is taken here is not known")
        return parts[place]

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp, local: Mapping[str, Any]) -> tuple[Any, ...]:
        rows = [dict(local)]
        for part in node.generators:
            more = []
            for row in rows:
                for item in self._sequence(node, self.value(part.iter, row)):
                    inner = dict(row)
                    self.assign(part.target, item, inner)
                    kept = [self.value(test, inner) for test in part.ifs]
                    if any(isinstance(test, Expr) for test in kept):
                        self.refuse(node, "a choice among values cannot be written as an equation")
                    more += [inner] if all(kept) else []
            rows = more
        return tuple(self.value(node.elt, row) for row in rows)

    _generatorexp = _listcomp

    # Calls

    def _call(self, node: ast.Call, local: Mapping[str, Any]) -> Any:
        arguments: list[Any] = []
        open_ = None  # a starred call whose number of values is not known
        for argument in node.args:
            if not isinstance(argument, ast.Starred):
                arguments.append(self.value(argument, local))
                continue
            value = self.value(argument.value, local)
            if isinstance(value, Expr) and open_ is None:
                open_ = len(arguments), value
            else:
                arguments += self._sequence(argument, value)
        named = {word.arg: self.value(word.value, local) for word in node.keywords if word.arg is not None}
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "_replace":
            before = self.value(called.value, local)
            if not isinstance(before, StateValue) or set(named) - set(before.values):
                self.refuse(node, "what is replaced here is not a field of a state")
            return replace(before, values={**before.values, **named})
        if isinstance(called, ast.Attribute):
            name = self.value(called, local)
            if not isinstance(name, str):
                self.refuse(node, "this function cannot be written in an equation")
            return self._array_function(node, name, arguments)
        if not isinstance(called, ast.Name):
            self.refuse(node, "this function cannot be written in an equation")
        if called.id == "State":
            return self._state(node, arguments, named, open_)
        if called.id in self.hooks:
            return self.hooks[called.id](*arguments)
        if called.id in self.functions:
            return self._own(node, called.id, arguments, named)
        return self._builtin(node, called.id, arguments)

    def _state(
        self, node: ast.Call, arguments: list[Any], named: dict[str, Any], open_: tuple[int, Expr] | None
    ) -> StateValue:
        fields = self.program.fields
        if open_ is not None:
            place, value = open_
            count = len(fields) - len(arguments) - len(named)
            arguments[place:place] = [_item(value, k) for k in range(count)]
        values = {**dict(zip(fields, arguments, strict=False)), **named}
        for name, default in self._defaults().items():
            values.setdefault(name, default)
        if set(values) != set(fields) or len(arguments) > len(fields):
            self.refuse(node, "a state with other fields cannot be written as equations")
        return StateValue({name: values[name] for name in fields})

    def _defaults(self) -> dict[str, Any]:
        return {
            part.target.id: self.value(part.value, {})
            for node in self.program.module.body
            if isinstance(node, ast.ClassDef) and node.name == "State"
            for part in node.body
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.value is not None
        }

    def _own(self, node: ast.Call, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
        """A function of the program: followed where it has to do with several values, else named and defined beside."""
        function = self.functions[name]
        order = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        given = {**dict(zip(order, arguments, strict=False)), **named}
        if set(given) - set(order):
            self.refuse(node, f"'{name}' takes no such arguments")
        values = [given[argument] for argument in order if argument in given]
        single = all(isinstance(value, (Expr, int, float)) for value in values)
        if single and values and _gives_a_number(function):
            self.helpers[name] = function
        elif self.inline:
            return self.call(name, *values)
        return Expr("call", tuple(_as_tree(value) for value in values), name)

    def _builtin(self, node: ast.Call, name: str, arguments: list[Any]) -> Any:
        if name == "len" and len(arguments) == 1:
            return len(self._sequence(node, arguments[0]))
        if name == "range" and all(isinstance(argument, int) for argument in arguments):
            return tuple(range(*arguments)[:BUDGET])
        if name == "zip":
            return tuple(zip(*(self._sequence(node, argument) for argument in arguments), strict=False))
        if name == "enumerate" and len(arguments) == 1:
            return tuple(enumerate(self._sequence(node, arguments[0])))
        if name == "sum" and len(arguments) == 1:
            total: Any = 0
            for part in self._sequence(node, arguments[0]):
                total = self._of(node, "add", total, part)
            return total
        return self._array_function(node, name, arguments)

    def _array_function(self, node: ast.AST, name: str, arguments: list[Any]) -> Any:
        if name in PLAIN_CASTS and arguments:
            return arguments[0]
        name = NAMED.get(name, name)
        if name in ("min", "max", "and", "or", "hypot") and len(arguments) != 2:
            parts = self._sequence(node, arguments[0]) if len(arguments) == 1 else arguments
            found = parts[0]
            for part in parts[1:]:
                found = self._of(node, name, found, part)
            return found
        if name == "sqrt" and isinstance(arguments[0], Expr):
            inside = arguments[0]  # a root is taken of what is not negative anyway
            if inside.op == "max" and inside.args[1] == number(0.0):
                return self._of(node, "sqrt", inside.args[0])
        return self._of(node, name, *arguments)


def _gives_a_number(function: ast.FunctionDef) -> bool:
    """Whether a function is one line that gives one value."""
    body = [line for line in function.body if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))]
    return len(body) == 1 and isinstance(body[0], ast.Return) and not isinstance(body[0].value, (ast.Tuple, ast.List))


def _compared(op: str, a: float, b: float) -> bool:
    return {"lt": a < b, "gt": a > b, "le": a <= b, "ge": a >= b, "eq": a == b, "ne": a != b}[op]


def _numbers(value: Any) -> Any:
    return tuple(_numbers(part) for part in value) if isinstance(value, (tuple, list)) else value


def _item(value: Expr, place: int | str) -> Expr:
    if value.op == "var" and value.name in ("action", "observation"):
        return var(f"{value.name}[{place}]")
    return Expr("item", (value,), str(place))


def _as_tree(value: Any) -> Expr:
    if isinstance(value, (tuple, StateValue)):
        return Expr("tuple", tuple(_as_tree(part) for part in value))
    return var("None") if value is None else as_expr(value)
