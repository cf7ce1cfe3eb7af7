"""How far a state is from making a condition true: the comparisons of traced code read as distances, which have slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal
from jaxtyping import Array, Float

TRUE, FALSE = 1.0, -1.0  # the margin of what is true or false without a comparison of numbers
LEAST_SCALE = 1e-6
SHAPES = frozenset(["broadcast_in_dim", "reshape", "squeeze", "concatenate", "stack", "slice", "transpose", "copy", "stop_gradient"])
LESS, MORE = frozenset(["lt", "le"]), frozenset(["gt", "ge"])


class Margin(NamedTuple):
    """A truth value as a number: positive where true, and the larger the farther from false."""

    value: Array


def margin_of(condition: Callable[[Any], Any], reference: Float[Array, " S"]) -> Callable[[Float[Array, " S"]], Float[Array, ""]]:
    """A function from a state to the margin by which the condition holds there; each comparison is in units of its margin at a reference.

    `and` is the least of margins, `or` the largest, `not` the opposite. Where code decides in another way than by comparing numbers, the
    margin is 1 or -1 and has no slope.
    """
    scales: list[Array] = []
    closed = jax.make_jaxpr(condition)(reference)

    def first(margin: Array) -> Array:
        scales.append(jnp.maximum(jnp.abs(margin), LEAST_SCALE))
        return margin / scales[-1]

    _run(closed, [reference], first)

    def margin(state: Float[Array, " S"]) -> Float[Array, ""]:
        left = iter(scales)
        return _value(_run(closed, [state], lambda raw: raw / next(left))[0])

    return margin


def _run(closed: ClosedJaxpr, given: list[Any], scaled: Callable[[Array], Array]) -> list[Any]:
    """The outputs of traced code; truth values that come from comparisons are margins."""
    code = closed.jaxpr
    known: dict[Any, Any] = dict(zip(code.constvars, closed.consts, strict=True)) | dict(zip(code.invars, given, strict=True))
    for line in code.eqns:
        values = [one.val if isinstance(one, Literal) else known[one] for one in line.invars]
        known |= dict(zip(line.outvars, _result(line, values, scaled), strict=True))
    return [one.val if isinstance(one, Literal) else known[one] for one in code.outvars]


def _result(line: Any, values: list[Any], scaled: Callable[[Array], Array]) -> list[Any]:
    name = line.primitive.name
    inner = line.params.get("jaxpr") or line.params.get("call_jaxpr") or line.params.get("fun_jaxpr")
    if isinstance(inner, ClosedJaxpr) and name in ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "remat"):
        return _run(inner, values, scaled)
    if name in LESS | MORE and jnp.issubdtype(jnp.result_type(values[0]), jnp.floating):
        return [Margin(scaled(values[1] - values[0] if name in LESS else values[0] - values[1]))]
    if not any(isinstance(value, Margin) for value in values):
        out = line.primitive.bind(*values, **line.params)
        return list(out) if line.primitive.multiple_results else [out]
    if name in ("and", "or"):
        a, b = map(_value, values)
        return [Margin(jnp.minimum(a, b) if name == "and" else jnp.maximum(a, b))]
    if name == "not":
        return [Margin(-_value(values[0]))]
    if name == "select_n" and len(values) == 3 and any(isinstance(value, Margin) for value in values[1:]):
        asked, otherwise, then = map(_value, values)
        return [Margin(jnp.maximum(jnp.minimum(asked, then), jnp.minimum(-asked, otherwise)))]
    if name in ("reduce_and", "reduce_or"):
        return [Margin((jnp.min if name == "reduce_and" else jnp.max)(_value(values[0]), axis=line.params["axes"]))]
    if name in SHAPES:
        return [Margin(line.primitive.bind(*map(_value, values), **line.params))]
    return [line.primitive.bind(*(value.value > 0 if isinstance(value, Margin) else value for value in values), **line.params)]


def _value(truth: Any) -> Array:
    return truth.value if isinstance(truth, Margin) else jnp.where(truth, TRUE, FALSE)
