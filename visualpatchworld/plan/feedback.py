"""Plans that correct themselves: actions with gains on how far the
world is from where it was meant to be, by iLQR through a program.

An unstable world leaves any fixed sequence of actions within a few steps. Here a plan is a path, the actions along it
and, for each step, a matrix that answers a deviation from the path. It is improved by turns: the program is taken as
linear and the reward as quadratic along the path, which has an exact best answer (`_answered`); the answer is lived
through in the program itself (`_follow`); the best of several such steps is the next path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal
from jaxtyping import Array, Bool, Float, Int

from visualpatchworld.program.imagine import Imagined

TRUE, FALSE = 1.0, -1.0  # the margin of what is true or false without a comparison of numbers
LEAST_SCALE = 1e-6
SHAPES = frozenset(
    ["broadcast_in_dim", "reshape", "squeeze", "concatenate", "stack", "slice", "transpose", "copy", "stop_gradient"]
)
LESS, MORE = frozenset(["lt", "le"]), frozenset(["gt", "ge"])


class Margin(NamedTuple):
    """A truth value as a number: positive where true, and the larger the farther from false."""

    value: Array


def margin_of(
    condition: Callable[[Any], Any], reference: Float[Array, " S"]
) -> Callable[[Float[Array, " S"]], Float[Array, ""]]:
    """A function from a state to the margin by which the condition holds
    there; each comparison is in units of its margin at a reference.

    `and` is the least of margins, `or` the largest, `not` the opposite. Where code decides in another way than by
    comparing numbers, the margin is 1 or -1 and has no slope.
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
    known: dict[Any, Any] = dict(zip(code.constvars, closed.consts, strict=True)) | dict(
        zip(code.invars, given, strict=True)
    )
    for line in code.eqns:
        values = [one.val if isinstance(one, Literal) else known[one] for one in line.invars]
        known |= dict(zip(line.outvars, _result(line, values, scaled), strict=True))
    return [one.val if isinstance(one, Literal) else known[one] for one in code.outvars]


def _result(line: Any, values: list[Any], scaled: Callable[[Array], Array]) -> list[Any]:
    name = line.primitive.name
    inner = line.params.get("jaxpr") or line.params.get("call_jaxpr") or line.params.get("fun_jaxpr")
    if isinstance(inner, ClosedJaxpr) and name in (
        "jit",
        "pjit",
        "closed_call",
        "custom_jvp_call",
        "custom_vjp_call",
        "remat",
    ):
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
    return [
        line.primitive.bind(
            *(value.value > 0 if isinstance(value, Margin) else value for value in values), **line.params
        )
    ]


def _value(truth: Any) -> Array:
    return truth.value if isinstance(truth, Margin) else jnp.where(truth, TRUE, FALSE)


DAMPING = (1e-6, 1e-2, 1.0)  # added to the curvature over a unit of action, in units of that curvature
SHARES = (1.0, 0.5, 0.2, 0.05)  # of the change that the linear picture asks for
CLEAR_OF_ENDS = 0.5  # of the margin that a first state has: there the cost of an end begins to count
SOFTNESS = 0.3  # of that margin, over which it fades
FULL_TURN = 2 * jnp.pi
SEEN_TURN = 1e-4  # less change of what is seen after a full turn is none
FAR = 1e6  # numbers stay within this, so that one that runs off to infinity does not poison the rest

Act = Callable[[Float[Array, " A"]], Float[Array, " A"]]  # units, -1 to 1, to actions as the world takes them


class Guide(NamedTuple):
    """A plan with feedback: at step t, `units[t] + gains[t] @ (state - states[t])` is done, within bounds."""

    units: Float[Array, "H A"]
    states: Float[Array, "H S"]
    gains: Float[Array, "H A S"]
    origin: Float[Array, " S"]  # where the episode began: margins are measured by those of this state
    angles: Bool[Array, " S"]  # which fields come round after a full turn


class Path(NamedTuple):
    """What following a guide brings."""

    units: Float[Array, "H A"]
    states: Float[Array, "H S"]  # before each step
    after: Float[Array, "H S"]
    earned: Float[Array, ""]  # up to an end
    value: Float[Array, ""]  # that the search climbs: what all steps bring, less what coming near an end costs


class _Model(NamedTuple):
    """A program's world over units of action, with margins."""

    step: Any
    reward: Any
    world: Imagined
    to_action: Act
    to_end: Any  # margin by which a state is an end
    to_outside: Any  # margin by which it is where the program is not known to hold
    counted: Float[Array, " H"]  # 1 for steps that count, 0 for those beyond


def first_guide(
    world: Imagined, horizon: int, to_action: Act, rest: Float[Array, " A"], state: Float[Array, " S"]
) -> Guide:
    """Nothing is known: rest, without gains."""
    gains = jnp.zeros((horizon, len(rest), len(state)), state.dtype)
    return Guide(
        jnp.tile(rest, (horizon, 1)), jnp.tile(state, (horizon, 1)), gains, state, turns(world, state, to_action(rest))
    )


def shifted_guide(guide: Guide, steps: int) -> Guide:
    """What is left of a guide some steps later; its last step is held on."""
    at = jnp.minimum(jnp.arange(len(guide.units)) + steps, len(guide.units) - 1)
    return guide._replace(units=guide.units[at], states=guide.states[at], gains=guide.gains[at])


def guided(guide: Guide, at: Any, state: Float[Array, " S"]) -> Float[Array, " A"]:
    """The units of action of a guide's step in this state."""
    return _corrected(guide.units[at], guide.gains[at], _gap(guide.angles, state, guide.states[at]))


def _corrected(units: Float[Array, " A"], gains: Float[Array, "A S"], gap: Float[Array, " S"]) -> Float[Array, " A"]:
    """Units that answer a gap."""
    return jnp.clip(units + _finite(gains @ gap), -1, 1)


def _finite(values: Float[Array, "*B"]) -> Float[Array, "*B"]:
    """Nothing where a program ran away and numbers overflowed."""
    return jnp.where(jnp.isfinite(values), values, 0.0)


def improved(
    world: Imagined,
    to_action: Act,
    rounds: int,
    state: Float[Array, " S"],
    guide: Guide,
    others: Float[Array, "N H A"],
    counted: Int[Array, ""],
) -> tuple[Guide, Float[Array, ""]]:
    """The best plan that iLQR finds from a state, beginning with
    a guide, with other sequences, and with the wish to stay here.

    Also what it earns in the steps that count, up to an end; a step where the program is not known to hold costs more
    than all of it.
    """
    horizon = len(guide.units)
    model = _Model(
        jax.jit(world.step),
        jax.jit(world.reward),
        world,
        to_action,
        margin_of(world.terminated, guide.origin),
        margin_of(lambda s: ~world.valid(s), guide.origin),
        (jnp.arange(horizon) < counted).astype(state.dtype),
    )
    blank = jax.vmap(lambda units: guide._replace(units=units, gains=jnp.zeros_like(guide.gains)))(others)
    stay = guide._replace(
        units=jnp.zeros_like(guide.units),
        states=jnp.broadcast_to(state, guide.states.shape),
        gains=jnp.zeros_like(guide.gains),
    )
    starts = jax.tree.map(lambda one, many, last: jnp.concatenate([one[None], many, last[None]]), guide, blank, stay)
    wish = jnp.arange(len(others) + 2) == len(others) + 1
    found, earned = jax.vmap(lambda start, wish: _climb(model, rounds, state, start, wish))(starts, wish)
    best = jnp.argmax(jnp.where(jnp.isfinite(earned), earned, -jnp.inf))
    return jax.tree.map(lambda part: part[best], found), earned[best]


def _climb(
    model: _Model, rounds: int, state: Float[Array, " S"], start: Guide, wish: Bool[Array, ""]
) -> tuple[Guide, Float[Array, ""]]:
    """A guide made better by so many rounds, and what it earns.

    A wish is a guide that nothing was lived through for yet.
    """
    lived, worth = _follow(model, state, start, jnp.zeros_like(start.units))
    leads = jax.vmap(lambda s, u: model.step(s, model.to_action(u)))(start.states, start.units)
    path = Path(
        jnp.where(wish, start.units, lived.units),
        jnp.where(wish, start.states, lived.states),
        jnp.where(wish, leads, lived.after),
        jnp.where(wish, -jnp.inf, lived.earned),
        jnp.where(wish, -jnp.inf, lived.value),
    )

    def better(carry: tuple[Path, Array], _: Any) -> tuple[tuple[Path, Array], None]:
        path, _ = carry
        guide = start._replace(units=path.units, states=path.states)
        changes, gains = _answered(model, guide, path.after, worth, jnp.asarray(DAMPING, state.dtype))
        change = (changes[:, None] * jnp.asarray(SHARES, state.dtype)[:, None, None]).reshape(-1, *path.units.shape)
        each = jnp.repeat(gains, len(SHARES), axis=0)
        tried, _ = jax.vmap(lambda gain, change: _follow(model, state, guide._replace(gains=gain), change, worth))(
            each, change
        )
        best = jnp.argmax(jnp.where(jnp.isfinite(tried.value), tried.value, -jnp.inf))
        wins = tried.value[best] > path.value
        chosen = jax.tree.map(lambda new, old: jnp.where(wins, new[best], old), tried, path)
        # Gains of the least damping answer best, even where no step along them was better.
        return (chosen, jnp.where(wins, each[best], gains[0])), None

    path, gains = jax.lax.scan(better, (path, start.gains), None, length=rounds)[0]
    return start._replace(units=path.units, states=path.states, gains=gains), path.earned


def _follow(
    model: _Model, state: Float[Array, " S"], guide: Guide, change: Float[Array, "H A"], worth: Array | None = None
) -> tuple[Path, Array]:
    """Live along a guide with changed actions; and what a horizon without
    an end is worth, by the steps before an end where nobody says.
    """
    world = model.world

    def advance(carry: Any, step: Any) -> tuple[Any, Any]:
        state, alive = carry
        units, nominal, gains, asked, counts = step
        units = _corrected(units + asked, gains, _gap(guide.angles, state, nominal))
        action = model.to_action(units)
        after = jnp.clip(jnp.nan_to_num(model.step(state, action), nan=FAR), -FAR, FAR)
        reward = counts * jnp.nan_to_num(model.reward(state, action, after), nan=-FAR)
        brought = (reward, alive * counts, alive * counts * ~world.valid(after), *_nearness(model, after))
        return (after, alive & ~world.terminated(after)), (units, state, after, brought)

    steps = (guide.units, guide.states, guide.gains, change, model.counted)
    _, (units, states, after, (rewards, alive, lost, near_end, near_outside)) = jax.lax.scan(
        advance, (state, jnp.asarray(True)), steps
    )
    earned = jnp.sum(alive * rewards)
    if worth is None:
        worth = jnp.sum(model.counted) * earned / jnp.maximum(alive.sum(), 1.0)
    price = jnp.sum(model.counted * _price(near_end, near_outside, worth))
    most = jnp.max(jnp.abs(jnp.cumsum(alive * rewards))) + 1.0
    return Path(units, states, after, earned - 2 * most * lost.sum(), rewards.sum() - price), worth


def _answered(
    model: _Model, guide: Guide, after: Float[Array, "H S"], worth: Array, damping: Float[Array, " D"]
) -> tuple[Float[Array, "D H A"], Float[Array, "D H A S"]]:
    """Changes of actions, and gains, that are best in the linear
    picture; `after` may differ from the guide's next states.
    """
    size, width = guide.states.shape[1], guide.units.shape[1]

    def lead(both: Float[Array, " S+A"]) -> Float[Array, " S"]:
        return model.step(both[:size], model.to_action(both[size:]))

    def cost(row: Float[Array, " S+A+S"], counts: Array) -> Array:
        before, units, after = row[:size], row[size : size + width], row[size + width :]
        return counts * (_price(*_nearness(model, after), worth) - model.reward(before, model.to_action(units), after))

    both = jnp.concatenate([guide.states, guide.units], axis=1)
    leads = jnp.nan_to_num(jax.vmap(jax.jacfwd(lead))(both))
    rows = jnp.concatenate([both, after], axis=1)
    slope = jnp.nan_to_num(jax.vmap(jax.grad(cost))(rows, model.counted))
    bend = _convex(jnp.nan_to_num(jax.vmap(jax.hessian(cost))(rows, model.counted)))
    chain = jnp.concatenate(
        [jnp.broadcast_to(jnp.eye(size + width), (len(both), size + width, size + width)), leads], axis=1
    )
    slope, bend = jnp.einsum("hij,hi->hj", chain, slope), jnp.einsum("hij,hik,hkl->hjl", chain, bend, chain)
    # Where a guide was not lived through, its next state is not where its step leads.
    missing = jnp.pad(_gap(guide.angles, after[:-1], guide.states[1:]), ((0, 1), (0, 0)))
    ridge = (1e-3 + jnp.mean(jnp.abs(bend[:, size:, size:]))) * jnp.eye(width)

    def back(damping: Array, carry: Any, step: Any) -> tuple[Any, Any]:
        v, vv = carry
        leads, slope, bend, units, missing = step
        q, qq = slope + leads.T @ (v + vv @ missing), bend + leads.T @ vv @ leads
        quu, right = (
            qq[size:, size:] + damping * (ridge + jnp.diag(jnp.diag(qq)[size:])),
            jnp.concatenate([q[size:, None], qq[size:, :size]], axis=1),
        )
        # A column that is at its bound and would go beyond stays there, and answers nothing.
        free = (jnp.abs(units - jnp.linalg.solve(quu, right)[:, 0]) < 1) | (jnp.abs(units) < 1 - 1e-3)
        answer = -jnp.linalg.solve(
            jnp.where(free[:, None] & free, quu, jnp.eye(width)), jnp.where(free[:, None], right, 0.0)
        )
        change, gains = answer[:, 0], answer[:, 1:]
        v = q[:size] + gains.T @ (qq[size:, size:] @ change + q[size:]) + qq[size:, :size].T @ change
        cross = gains.T @ qq[size:, :size]
        vv = qq[:size, :size] + gains.T @ qq[size:, size:] @ gains + cross + cross.T
        return (v, (vv + vv.T) / 2), (change, gains)

    begin = (jnp.zeros(size, both.dtype), jnp.zeros((size, size), both.dtype))
    steps = (leads, slope, bend, guide.units, missing)
    found = jax.vmap(lambda one: jax.lax.scan(lambda c, s: back(one, c, s), begin, steps, reverse=True)[1])(damping)
    return jax.tree.map(_finite, found)


def _gap(angles: Bool[Array, " S"], a: Float[Array, "*B S"], b: Float[Array, "*B S"]) -> Float[Array, "*B S"]:
    """How far a is from b, the short way round where a field is an angle."""
    return jnp.where(angles, (a - b + jnp.pi) % FULL_TURN - jnp.pi, a - b)


def turns(world: Imagined, state: Float[Array, " S"], action: Float[Array, " A"]) -> Bool[Array, " S"]:
    """Which fields are angles: a full turn of them is seen neither now nor after a step."""

    def seen(state: Float[Array, " S"]) -> Array:
        return jnp.concatenate([world.observe(state), world.observe(world.step(state, action))])

    turned = jax.vmap(lambda row: seen(state + FULL_TURN * row))(jnp.eye(len(state), dtype=state.dtype))
    return jnp.abs(turned - seen(state)).max(axis=1) < SEEN_TURN


def _nearness(model: _Model, state: Float[Array, " S"]) -> tuple[Array, Array]:
    """How near a state is to an end, and to where the program is not
    known to hold: zero at a distance, and growing evenly beyond.
    """
    margins = (model.to_end(state), model.to_outside(state))
    near_end, near_outside = (SOFTNESS * jax.nn.softplus((margin + CLEAR_OF_ENDS) / SOFTNESS) for margin in margins)
    return near_end, near_outside


def _price(near_end: Array, near_outside: Array, worth: Array) -> Array:
    """An end costs what is earned without it, and where that is a loss, an end is sought; the unknown never is."""
    return worth * near_end + jnp.abs(worth) * near_outside


def _convex(bend: Float[Array, "H N N"]) -> Float[Array, "H N N"]:
    """The nearest curvature without a downward direction."""
    values, axes = jnp.linalg.eigh((bend + bend.swapaxes(1, 2)) / 2)
    return jnp.einsum("hij,hj,hkj->hik", axes, jnp.maximum(values, 0.0), axes)
