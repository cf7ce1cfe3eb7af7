"""Plain Python as JAX can trace it: loops, conditionals, `and`, `min` and `math` of a program, rewritten before it is
compiled for many states at once.

Every rewritten part looks at its values when it runs. Where none of them is traced it does what Python does; where one
is, both ways are computed and the right one is selected.
"""

from __future__ import annotations

import ast
import copy
import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.core import Tracer

GPU_UNROLL = 2
PREFIX = "_vpw_"  # of names that rewritten programs use and no person would
# Calls that change what they are called on: both ways of a conditional would, so such a conditional stays as it is.
CHANGES = frozenset(
    {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault"}
    | {"sort", "update"}
)
_PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Pass, ast.Return, ast.If, ast.For)


def traceable(module: ast.Module) -> ast.Module:
    """The module rewritten; its meaning stays what Python says it is."""
    nodes = list(ast.walk(module))
    own = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return _Rewriter(own).visit(module)


# What rewritten programs call.


def _is_traced(*values: Any) -> bool:
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values))


def _truth(value: Any) -> Any:
    """What Python would take a single number for."""
    return jnp.reshape(jnp.asarray(value) != 0, ())


def _merged(test: Any, yes: Any, no: Any) -> Any:
    """The value after a conditional; one that is bound on one way alone is read on that way alone."""
    if yes is no or no is UNBOUND:
        return yes
    if yes is UNBOUND:
        return no
    if jax.tree.structure(yes) != jax.tree.structure(no):
        raise TypeError("the two ways of an `if` give different kinds of things")
    return jax.tree.map(lambda one, other: jnp.where(_truth(test), one, other), yes, no)


def choose(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`yes if test else no`."""
    if not _is_traced(test):
        return yes() if test else no()
    return _merged(test, yes(), no())


def branch(test: Any, yes: Callable[..., Any], no: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """The names that an `if` statement assigns, after it; `values` are theirs before it."""
    if not _is_traced(test):
        return (yes if test else no)(*values)
    return tuple(_merged(test, one, other) for one, other in zip(yes(*values), no(*values), strict=True))


def both(*parts: Callable[[], Any]) -> Any:
    """`and` of the parts."""
    return functools.reduce(lambda value, part: choose(value, part, lambda: value), parts[1:], parts[0]())


def either(*parts: Callable[[], Any]) -> Any:
    """`or` of the parts."""
    return functools.reduce(lambda value, part: choose(value, lambda: value, part), parts[1:], parts[0]())


def negated(value: Any) -> Any:
    """`not value`."""
    return ~_truth(value) if _is_traced(value) else not value


def contained(value: Any, among: Any) -> Any:
    """`value in among`."""
    if not _is_traced(value, among):
        return value in among
    return functools.reduce(operator.or_, (_truth(value == one) for one in among), jnp.asarray(False))


def item(values: Any, index: Any) -> Any:
    """`values[index]`, also of a tuple of numbers by a traced index."""
    if not _is_traced(index) or isinstance(values, jax.Array):
        return values[index]
    if isinstance(values, dict):
        raise TypeError("a dict has no traced keys")
    return jax.tree.map(lambda *parts: jnp.stack([jnp.asarray(part) for part in parts])[index], *values)


def listed(values: Any) -> Any:
    """`values.tolist()`; traced numbers stay what they are."""
    if not _is_traced(values):
        return values.tolist()
    return [listed(part) for part in values] if jnp.ndim(values) else values


def single(values: Any, *index: Any) -> Any:
    """`values.item()`."""
    return jnp.ravel(values)[index[0] if index else 0] if _is_traced(values) else values.item(*index)


def least(*values: Any, **options: Any) -> Any:
    """`min`, which takes the first of equals."""
    return _extreme(min, lambda one, other: other < one, values, options)


def most(*values: Any, **options: Any) -> Any:
    """`max`, which takes the first of equals."""
    return _extreme(max, lambda one, other: other > one, values, options)


def _extreme(plain: Any, better: Callable[[Any, Any], Any], values: tuple[Any, ...], options: Any) -> Any:
    among = list(values[0]) if len(values) == 1 else list(values)
    if options or not _is_traced(among):
        return plain(among, **options)
    return functools.reduce(lambda one, other: jnp.where(better(one, other), other, one), among)


def whole(*value: Any) -> Any:
    """`int`, which cuts off."""
    return jnp.trunc(value[0]).astype(int) if _is_traced(value) else int(*value)


def real(*value: Any) -> Any:
    """`float`."""
    return jnp.asarray(value[0], float) if _is_traced(value) else float(*value)


def true(*value: Any) -> Any:
    """`bool`."""
    return _truth(value[0]) if _is_traced(value) else bool(*value)


def every(values: Iterable[Any]) -> Any:
    """`all`."""
    return both(lambda: True, *((lambda value=value: true(value)) for value in values))


def some(values: Iterable[Any]) -> Any:
    """`any`."""
    return either(lambda: False, *((lambda value=value: true(value)) for value in values))


class _Math:
    """The module `math`, which also takes traced numbers."""

    _OTHER: ClassVar = {
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "atan2": "arctan2",
        "fabs": "abs",
        "pow": "power",
    }
    _WHOLE = ("floor", "ceil", "trunc")

    def __getattr__(self, name: str) -> Any:
        plain = getattr(math, name)
        traced = getattr(jnp, self._OTHER.get(name, name), None)
        if not callable(plain) or traced is None:
            return plain

        def function(*values: Any) -> Any:
            if not _is_traced(values):
                return plain(*values)
            found = functools.reduce(traced, values) if name == "hypot" else traced(*values)
            return found.astype(int) if name in self._WHOLE else found

        return function


def roll(count: Any, body: Callable[[Any], Any], carry: Any) -> Any:
    """Apply `body` to `carry` `count` times; the carried numbers keep one floating type throughout."""
    dtype = jnp.result_type(*jax.tree.leaves(carry), jnp.float32)

    def cast(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), tree)

    # A GPU spends such a loop on launching small kernels: fewer, larger turns halve the time, for twice the time to
    # compile.
    unroll = GPU_UNROLL if isinstance(count, int) and jax.default_backend() == "gpu" else 1
    return jax.lax.fori_loop(0, count, lambda _, value: cast(body(value)), cast(carry), unroll=unroll)


class _Unbound:
    """What a name is that nothing was assigned to yet."""


UNBOUND = _Unbound()
_HELPERS: tuple[Any, ...] = (choose, branch, both, either, negated, contained, item, listed, single, roll)
_BUILTINS: dict[str, Any] = {"min": least, "max": most, "int": whole, "float": real, "bool": true}
_BUILTINS |= {"all": every, "any": some}
NAMES: dict[str, Any] = {f"{PREFIX}{helper.__name__}": helper for helper in (*_HELPERS, *_BUILTINS.values())}
NAMES |= {f"{PREFIX}math": _Math(), f"{PREFIX}unbound": UNBOUND}


# The rewriting.


def _call(helper: Callable[..., Any], *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(f"{PREFIX}{helper.__name__}", ast.Load()), list(arguments), [])


def _later(expression: ast.expr) -> ast.Lambda:
    made = ast.parse("lambda: 0", mode="eval").body
    assert isinstance(made, ast.Lambda)
    made.body = expression
    return made


def _is_pure(*nodes: ast.AST) -> bool:
    """Whether both ways of a conditional may be computed, and in functions of their own."""
    parts = [part for node in nodes for part in ast.walk(node)]
    calls = [part.func.attr for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
    return not CHANGES & set(calls) and not any(
        isinstance(part, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for part in parts
    )


class _Rewriter(ast.NodeTransformer):
    def __init__(self, own: set[str]):
        self.own = own  # names that the program itself gives a meaning

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.stmt]:
        """`import math` becomes an assignment; other modules are as they were."""
        kept = [alias for alias in node.names if alias.name != "math"]
        found: list[ast.stmt] = [ast.Import(kept)] if kept else []
        for alias in node.names:
            if alias.name == "math":
                found.append(_assign([alias.asname or "math"], ast.Name(f"{PREFIX}math", ast.Load())))
        return [ast.copy_location(part, node) for part in found]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | list[ast.stmt]:
        if node.module != "math" or any(alias.name == "*" for alias in node.names):
            return node
        whole = ast.Name(f"{PREFIX}math", ast.Load())
        return [
            ast.copy_location(_assign([a.asname or a.name], ast.Attribute(whole, a.name, ast.Load())), node)
            for a in node.names
        ]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if not _is_pure(node):
            return node
        return ast.copy_location(_call(choose, node.test, _later(node.body), _later(node.orelse)), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if not _is_pure(node):
            return node
        helper = both if isinstance(node.op, ast.And) else either
        return ast.copy_location(_call(helper, *map(_later, node.values)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(_call(negated, node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Of `a < b < c`, `a < b and b < c`."""
        self.generic_visit(node)
        sides = [node.left, *node.comparators]
        pairs = [_compared(*part) for part in zip(sides, node.ops, sides[1:], strict=False)]
        if len(pairs) == 1:
            return ast.copy_location(pairs[0], node)
        return ast.copy_location(_call(both, *map(_later, pairs)), node) if _is_pure(node) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        known = isinstance(node.slice, (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp))
        if known or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call(item, node.value, node.slice), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in ("tolist", "item") and not node.keywords:
            helper = listed if called.attr == "tolist" else single
            return ast.copy_location(_call(helper, called.value, *node.args), node)
        if isinstance(called, ast.Name) and called.id in _BUILTINS and called.id not in self.own:
            node.func = ast.copy_location(ast.Name(f"{PREFIX}{_BUILTINS[called.id].__name__}", ast.Load()), called)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        if not any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)) for part in ast.walk(node)):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            node.body = _block(node.body, {argument.arg for argument in arguments}, in_loop=False)
        return node


def _compared(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> ast.expr:
    if isinstance(sign, (ast.In, ast.NotIn)):
        found = _call(contained, left, right)
        return found if isinstance(sign, ast.In) else _call(negated, found)
    return ast.Compare(left, [sign], [right])


def _block(statements: Sequence[ast.stmt], known: set[str], *, in_loop: bool) -> list[ast.stmt]:
    """The statements with conditionals and loops rewritten; `known` are names that are bound before them."""
    known, found = set(known), []
    for k, statement in enumerate(statements):
        if isinstance(statement, ast.If) and _is_branchable(statement, in_loop):
            if _returns(statement):
                return [*found, *_returning(statement, statements[k + 1 :], known)]
            found += _branched(statement, known)
        elif _is_counted_loop(statement):
            found += _rolled_loop(statement, known)
            continue  # what a turn alone assigns is not bound after it
        elif isinstance(statement, (ast.For, ast.While)):
            statement.body = _block(statement.body, known | _assigned(statement), in_loop=True)
            found.append(statement)
        else:
            found.append(statement)
        known |= _assigned(statement)
    return found


def _is_branchable(node: ast.If, in_loop: bool) -> bool:
    """Whether both ways may be computed: they assign plain names, or return, and change nothing else."""
    if not _is_pure(*node.body, *node.orelse) or (in_loop and _returns(node)):
        return False
    for part in (*node.body, *node.orelse):
        if not isinstance(part, _PLAIN) and not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)):
            return False
        targets = part.targets if isinstance(part, ast.Assign) else [getattr(part, "target", None)]
        stored = [one for target in targets if target is not None for one in ast.walk(target)]
        if any(isinstance(one, (ast.Subscript, ast.Attribute)) for one in stored):
            return False
        if isinstance(part, ast.If) and not _is_branchable(part, in_loop):
            return False
        if isinstance(part, ast.For) and (part.orelse or not _is_branchable(_as_if(part.body), True)):
            return False
    return True


def _as_if(body: list[ast.stmt]) -> ast.If:
    return ast.If(ast.Constant(True), body, [])


def _returns(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Return) for part in ast.walk(node))


def _ends(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing after these statements is reached."""
    last = statements[-1] if statements else None
    return isinstance(last, ast.Return) or (isinstance(last, ast.If) and _ends(last.body) and _ends(last.orelse))


def _branched(node: ast.If, known: set[str]) -> list[ast.stmt]:
    """An `if` whose ways are functions of the names that either of them assigns."""
    names = sorted(_assigned(*node.body, *node.orelse))
    ways = []
    for name, body in (("yes", node.body), ("no", node.orelse)):
        plain = _block([_unfolded(part) for part in body], known, in_loop=False)
        ways.append(_function(f"{PREFIX}{name}", names, [*plain, ast.Return(_tuple(names))]))
    before = [name if name in known else f"{PREFIX}unbound" for name in names]
    call = _call(branch, node.test, *_references(ways), _tuple(before))
    after: ast.stmt = _assign(names, call, unpacked=True) if names else ast.Expr(call)
    return [ast.copy_location(part, node) for part in (*ways, after)]


def _returning(node: ast.If, rest: Sequence[ast.stmt], known: set[str]) -> list[ast.stmt]:
    """An `if` that may return, with what follows it on each way that does not."""
    bodies = [[*part, *([] if _ends(part) else copy.deepcopy(list(rest)))] for part in (node.body, node.orelse)]
    # A way that assigns a name must know what it was before, so such names are arguments.
    names = sorted(_assigned(*bodies[0], *bodies[1]) & known)
    ways = [
        _function(f"{PREFIX}{name}", names, _block([_unfolded(part) for part in body], known, in_loop=False))
        for name, body in zip(("yes", "no"), bodies, strict=True)
    ]
    given = [_later(ast.Call(way, list(_tuple(names).elts), [])) for way in _references(ways)]
    return [ast.copy_location(part, node) for part in (*ways, ast.Return(_call(choose, node.test, *given)))]


def _unfolded(node: ast.stmt) -> ast.stmt:
    """`x += y` as `x = x + y`, which changes no list that the other way has, too."""
    if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
        return node
    sum_ = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
    return ast.copy_location(_assign([node.target.id], sum_), node)


def _function(name: str, arguments: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.parse(f"def {name}({', '.join(arguments)}): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body or made.body
    return made


def _references(functions: Sequence[ast.FunctionDef]) -> list[ast.Name]:
    return [ast.Name(function.name, ast.Load()) for function in functions]


def _tuple(names: Sequence[str], context: ast.expr_context | None = None) -> ast.Tuple:
    context = context or ast.Load()
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def _assign(names: Sequence[str], value: ast.expr, *, unpacked: bool = False) -> ast.Assign:
    target = _tuple(names, ast.Store()) if unpacked else ast.Name(names[0], ast.Store())
    return ast.Assign([target], value)


def _assigned(*nodes: ast.AST) -> set[str]:
    """Names that statements bind in the function that they stand in: not those of functions and comprehensions."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef):
            found |= set() if node.name.startswith(PREFIX) else {node.name}
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found |= _assigned(*ast.iter_child_nodes(node))
    return found


def _is_counted_loop(node: ast.stmt) -> bool:
    """A loop over `range(NAME)` with a constant's name, whose index is not used and which is never left early."""
    if not (isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
        return False
    call, parts = node.iter, [part for line in node.body for part in ast.walk(line)]
    counted = isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 1
    index_used = any(isinstance(part, ast.Name) and part.id == node.target.id for part in parts)
    left_early = any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for part in parts)
    return (
        counted
        and isinstance(call.args[0], ast.Name)
        and call.args[0].id.isupper()
        and not index_used
        and not left_early
        and not node.orelse
    )


def _rolled_loop(node: ast.stmt, known: set[str]) -> list[ast.stmt]:
    """The loop as one call of `roll`."""
    assert isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
    # What the body assigns and was there before carries over from one turn to the next; the rest is local to a turn.
    names = sorted(_assigned(*node.body) & known)
    body = _block(node.body, known, in_loop=False)
    carry = f"{PREFIX}carry"
    into = _assign(names, ast.Name(carry, ast.Load()), unpacked=True)
    turn = _function(f"{PREFIX}turn", [carry], [into, *body, ast.Return(_tuple(names))])
    call = _call(roll, node.iter.args[0], *_references([turn]), _tuple(names))
    return [ast.copy_location(part, node) for part in (turn, _assign(names, call, unpacked=True))]
