"""The emitted program steps exactly as the law does, under NumPy and JAX, whatever the fields are called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from draws import SEED

from visualpatchworld.grammar.expr import Expr, call, number, var
from visualpatchworld.program.program import Backend, Program
from visualpatchworld.search.emit import Emitted, emit, shortest, time_step
from visualpatchworld.search.find import Law
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.rows import Field, Rows
from visualpatchworld.search.rules import Rule, before, predicted

ROWS = 200
DT = 0.05
FIELDS = (
    Field("theta", (0, 1), "angle"),
    Field("w", (2,)),
    Field("x", (3,)),
    Field("gain", (4,), "steady"),
    Field("clock", ()),
    Field("action_0_due_0", ()),
)
THETA, W, X, GAIN, CLOCK, DUE = (var(f.name) for f in FIELDS)
SCHEMES = [
    Scheme(kind, substeps, frozenset({"w"}) if kind == "semi-implicit" else frozenset())
    for kind in ("explicit", "semi-implicit", "midpoint", "rk4")
    for substeps in (1, 3)
]
RULES = {
    "sub-step": Rule(
        (call("gt", X, number(0.4, free=True)),), (("x", number(0.4, free=True)), ("w", number(-0.5, free=True) * W))
    ),
    "step": Rule((call("lt", X, number(-0.3, free=True)), call("gt", before("w"), 0.1)), (("x", before("x")),), "step"),
    "first": Rule((call("gt", W, number(0.3, free=True)),), (("w", W - number(0.25, free=True)),), "first"),
    "between": Rule((call("gt", call("abs", W), number(0.6, free=True)),), (("w", number(0.0)),), "between"),
    "delay": Rule((), (("action_0_due_0", var("action_0")),), "step"),
}


def rates(rng: np.random.Generator) -> dict[str, Rate]:
    a, b, c, d, level, wave, grip = rng.uniform(0.2, 0.9, 7)
    inside = call("where", call("gt", X, number(level, free=True)), 1.0, 0.0)
    return {
        "theta": Rate((W,), (DT,)),
        "w": Rate(
            (call("sin", THETA), W, DUE, inside, call("sin", number(wave, free=True) * CLOCK), call("grip", W)),
            (-a, -b * 0.1, c, d * 0.3, -0.2, -grip * 0.05),
        ),
        "x": Rate((number(1.0), GAIN * var("action_1"), X / (number(2.0, free=True) + X**2)), (0.02, -d, a)),
        "clock": Rate((number(1.0),), (1.0,)),
    }


def law_of(motion: Motion, rules: tuple[Rule, ...] = (), fields: tuple[Field, ...] = FIELDS) -> Law:
    return Law(fields, motion, rules, {}, {})


def drawn_rows(rng: np.random.Generator, fields: tuple[Field, ...] = FIELDS, actions: int = 2) -> Rows:
    states = rng.uniform(-1.0, 1.0, (ROWS, len(fields)))
    inputs = {f"action_{k}": rng.uniform(-1.0, 1.0, ROWS) for k in range(actions)}
    steps = np.arange(ROWS)
    return Rows(fields, states, states, inputs, np.zeros(ROWS, int), steps, np.full(len(fields), 1e-11))


def stepped(emitted: Emitted, rows: Rows, backend: Backend) -> np.ndarray:
    """One step of the program from all rows at once."""
    model = Program(f'"""A law."""\n\n{emitted.text}').bind_world(backend)
    numeric = [name for name in rows.inputs if "_is_" not in name]
    actions = [rows.inputs[name] for name in numeric]
    with jax.enable_x64(True):
        array = jnp.asarray if backend == "jax" else np.asarray
        after = model.step(model.State(*(array(c) for c in rows.before.T)), [array(c) for c in actions])
        return np.stack([np.broadcast_to(np.asarray(column, float), len(rows)) for column in after], axis=1)


def assert_same(law: Law, rows: Rows, backends: tuple[Backend, ...] = ("numpy", "jax")) -> Emitted:
    emitted = emit(law, DT, {})
    meant, _ = predicted(rows, law.motion, law.rules)
    for backend in backends:
        np.testing.assert_allclose(stepped(emitted, rows, backend), meant, rtol=1e-6, atol=1e-8, err_msg=emitted.text)
    return emitted


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_every_scheme_steps_as_the_law(scheme: Scheme):
    rng = np.random.default_rng(SEED)
    assert_same(law_of(Motion(rates(rng), scheme)), drawn_rows(rng))


@pytest.mark.parametrize(
    ("scheme", "place"),
    [(s, place) for s in SCHEMES for place in RULES if place != "between" or s.kind == "semi-implicit"],
    ids=str,
)
def test_rules_act_in_their_place(scheme: Scheme, place: str):
    rng = np.random.default_rng(SEED)
    law, rows = law_of(Motion(rates(rng), scheme), (RULES[place],)), drawn_rows(rng)
    assert (predicted(rows, law.motion, law.rules)[0] != predicted(rows, law.motion, ())[0]).any()
    assert_same(law, rows, ("numpy",))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_all_rules_together_step_as_the_law(scheme: Scheme):
    rng = np.random.default_rng(SEED)
    rules = tuple(r for place, r in RULES.items() if place != "between" or scheme.kind == "semi-implicit")
    assert_same(law_of(Motion(rates(rng), scheme), rules), drawn_rows(rng))


@pytest.mark.parametrize("scheme", SCHEMES[:4], ids=str)
@pytest.mark.parametrize("place", ["first", "sub-step", "step"])
def test_the_value_before_the_step_is_the_one_before_all_rules(scheme: Scheme, place: str):
    rng = np.random.default_rng(SEED)
    later = Rule((call("gt", var("x"), 0.0),), (("x", before("w")),), place)
    assert_same(law_of(Motion(rates(rng), scheme), (RULES["first"], later)), drawn_rows(rng), ("numpy",))


def test_choices_become_comparisons():
    rng = np.random.default_rng(SEED)
    fields = (Field("x", (0,)), Field("n", (1,), "whole"))
    chosen = [var(f"action_0_is_{c}") for c in range(3)]
    choice = rng.integers(0, 3, ROWS).astype(float)
    inputs = {"action_0": choice} | {f"action_0_is_{c}": (choice == c).astype(float) for c in range(3)}
    before_ = np.column_stack([rng.uniform(-1, 1, ROWS), rng.integers(0, 5, ROWS)])
    rows = Rows(
        fields, before_, before_, inputs, np.zeros(ROWS, int), np.arange(ROWS), np.full(2, 1e-11), {"action_0": 3}
    )
    moves = {
        "x": Rate((chosen[1], chosen[2] * var("x")), (0.3, -DT)),
        "n": Rate((number(1.0), chosen[1], chosen[2]), (1.0, -2.0, -1.0)),
    }
    wall = Rule((call("gt", var("n"), 4.5), call("gt", chosen[0], 0.5)), (("n", before("n")),))
    assert_same(law_of(Motion(moves), (wall,), fields), rows)


AWKWARD = ("k1", "mass", "state", "np", "x²", "x³", "lambda", "DT", "SUBSTEPS", "dt", "X", "x", "_x_", "2nd", "count")
MORE = (
    "index",
    "é",
    "hit",
    "start",
    "a b",
    "a-b",
    "rates",
    "moved",
    "match",
    "None",
    "slope",
    "float",
    "action",
    "zip",
)


@pytest.mark.parametrize("scheme", SCHEMES[:3] + SCHEMES[-1:], ids=str)
def test_any_names_of_fields_give_a_right_program(scheme: Scheme):
    rng = np.random.default_rng(SEED)
    names = AWKWARD + MORE
    fields = tuple(Field(name, (k,)) for k, name in enumerate(names))
    moves = {
        name: Rate(
            (var(names[k - 1]), var(name) * var(names[k - 2]), var("action_0")), tuple(rng.uniform(-0.3, 0.3, 3))
        )
        for k, name in enumerate(names)
    }
    fast = frozenset(names[::2]) if scheme.kind == "semi-implicit" else frozenset()
    stop = Rule((call("gt", var("lambda"), number(0.2, free=True)),), (("np", before("DT")), ("x³", number(0.0))))
    law = law_of(Motion(moves, Scheme(scheme.kind, scheme.substeps, fast)), (stop,), fields)
    emitted = assert_same(law, drawn_rows(rng, fields), ("numpy", "jax") if scheme.substeps == 1 else ("numpy",))
    assert len(set(emitted.fields.values())) == len(names)
    assert all(name.isidentifier() for name in emitted.fields.values())


def test_observe_and_read_are_inverse():
    rng = np.random.default_rng(SEED)
    derived: dict[int, Expr] = {5: call("sqrt", number(1.0) * X * X + number(0.25) * W * W)}
    law = Law(FIELDS, Motion(rates(rng)), (), derived, {6: 2.5})
    model = Program(emit(law, DT, {}).text).bind_world("numpy")
    assert model.read is not None
    assert model.observe is not None
    seen = np.array([np.cos(0.7), np.sin(0.7), 0.3, -0.4, 1.5, np.hypot(0.4, 0.15), 2.5])
    state = model.read(seen)
    np.testing.assert_allclose(model.observe(state), seen, atol=1e-12)
    assert state.clock == 0.0


def test_constants_are_as_short_as_their_errors_allow():
    weight = 0.1 * DT + 3e-8
    fields = (Field("x", (0,)), Field("v", (1,)))
    law = law_of(Motion({"x": Rate((var("v"),), (weight,)), "v": Rate((), ())}), (), fields)
    close, far = emit(law, DT, {"x": ((1e-12,),)}), emit(law, DT, {"x": ((1e-7,),)})
    assert [v for v, _ in far.constants.values()] == [0.1]
    assert [v for v, _ in close.constants.values()] == pytest.approx([weight / DT], abs=1e-10)
    assert "+- 2e-06" in far.text


@pytest.mark.parametrize(("value", "tolerance", "short"), [(0.123456, 1e-3, 0.123), (19.999999, 1e-5, 20.0), (0, 0, 0)])
def test_shortest(value: float, tolerance: float, short: float):
    assert shortest(value, tolerance) == short


def test_the_time_step_is_read_off_places_that_move_by_their_speeds():
    fields = tuple(Field(name, (k,)) for k, name in enumerate(("x", "y", "v", "w")))
    pushed = Rate((var("action_0"),), (0.4,))
    moves = {"x": Rate((var("v"),), (0.02,)), "y": Rate((var("w"),), (0.02 + 1e-9,)), "v": pushed, "w": pushed}
    assert time_step(law_of(Motion(moves), (), fields)) == 0.02
    assert time_step(law_of(Motion({**moves, "y": Rate((var("w"),), (0.03,))}), (), fields)) is None
