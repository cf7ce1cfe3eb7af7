"""Rolled loops: under JAX, `for _ in range(SUBSTEPS)` becomes one compiled loop instead of SUBSTEPS copies of its body."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

ROLL = "_roll"
GPU_UNROLL = 2


def roll(count: Any, body: Callable[[Any], Any], carry: Any) -> Any:
    """Apply `body` to `carry` `count` times; the carried numbers keep one floating type throughout."""
    dtype = jnp.result_type(*jax.tree.leaves(carry), jnp.float32)

    def cast(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), tree)

    # A GPU spends such a loop on launching small kernels: fewer, larger turns halve the time, for twice the time to compile.
    unroll = GPU_UNROLL if isinstance(count, int) and jax.default_backend() == "gpu" else 1
    return jax.lax.fori_loop(0, count, lambda _, value: cast(body(value)), cast(carry), unroll=unroll)


def rolled(module: ast.Module) -> ast.Module:
    """The module with each loop over `range(NAME)` replaced by a call of `roll`; its meaning stays what Python says it is."""
    return ast.fix_missing_locations(_Roller().visit(module))


class _Roller(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        body: list[ast.stmt] = []
        known = {argument.arg for argument in node.args.args}
        for statement in node.body:
            body.extend(_rolled_loop(statement, known) if _is_counted_loop(statement) else [statement])
            known |= _assigned(statement)
        node.body = body
        return node


def _is_counted_loop(node: ast.stmt) -> bool:
    """A loop over `range(NAME)` with a constant's name, whose index is not used."""
    if not (isinstance(node, ast.For) and isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)):
        return False
    call = node.iter
    counted = isinstance(call.func, ast.Name) and call.func.id == "range" and len(call.args) == 1
    index_used = any(isinstance(part, ast.Name) and part.id == node.target.id for line in node.body for part in ast.walk(line))
    return counted and isinstance(call.args[0], ast.Name) and call.args[0].id.isupper() and not index_used and not node.orelse


def _assigned(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _rolled_loop(node: ast.stmt, known: set[str]) -> list[ast.stmt]:
    assert isinstance(node, ast.For) and isinstance(node.iter, ast.Call)
    # What the body assigns and was there before carries over from one turn to the next; the rest is local to a turn.
    carried = sorted({name for line in node.body for name in _assigned(line)} & known)
    names = ", ".join(carried) + ","
    template = f"def _turn(_carry):\n    {names} = _carry\n    return ({names})\n{names} = {ROLL}(None, _turn, ({names}))"
    turn, call = ast.parse(template).body
    assert isinstance(turn, ast.FunctionDef) and isinstance(call, ast.Assign) and isinstance(call.value, ast.Call)
    turn.body[1:1] = node.body
    call.value.args[0] = node.iter.args[0]
    return [ast.copy_location(turn, node), ast.copy_location(call, node)]
