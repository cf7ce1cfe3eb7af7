"""Rates, weights and the integrator are settled to rounding, with errors that say how sure each weight is."""

from dataclasses import replace

import numpy as np
import pytest
from draws import SEED
from known_worlds import Pendulum, Small, integrated, small

from visualpatchworld.grammar.expr import call, number, var
from visualpatchworld.search.fit import costs_of, standard_errors, sureness
from visualpatchworld.search.library import atoms_of, terms_of
from visualpatchworld.search.look import first_looks, library_of, look_at
from visualpatchworld.search.motion import Motion, Rate, Scheme
from visualpatchworld.search.rows import Rows, find_fields, rows_of
from visualpatchworld.search.settle import pruned, refit, schemes_for, settle

THETA, SPEED, PUSHED = var("theta"), var("speed"), var("action_0")


def rows_from(world: Small) -> Rows:
    return rows_of(world.trajectories, find_fields(world.trajectories, world.names), world.space)


def pendulum_rows(kind: str = "semi-implicit", substeps: int = 1) -> tuple[Pendulum, Rows]:
    rng = np.random.default_rng(SEED)
    p = Pendulum.drawn(rng)
    return p, rows_from(p.episodes(rng, kind, substeps, episodes=4))


def everything(rows: Rows) -> np.ndarray:
    return np.ones(len(rows), bool)


def test_a_first_look_has_the_true_terms_among_its_supports():
    _, rows = pendulum_rows()
    looks = first_looks(
        rows, library_of(rows, terms_of(atoms_of(rows)), everything(rows)), ["theta", "speed"], everything(rows)
    )
    assert {call("sin", THETA), SPEED, PUSHED} in [set(s) for s in looks["speed"].supports]
    assert (SPEED,) in looks["theta"].supports


@pytest.mark.parametrize(("kind", "substeps"), [("explicit", 1), ("semi-implicit", 1), ("midpoint", 2), ("rk4", 1)])
def test_settling_finds_the_scheme_and_the_constants(kind: str, substeps: int):
    p, rows = pendulum_rows(kind, substeps)
    terms = [number(1.0), SPEED, PUSHED, call("sin", THETA), call("cos", THETA)]
    looks = {name: look_at(rows, terms, name, everything(rows)) for name in ("theta", "speed")}
    settled = settle(rows, looks, everything(rows))
    assert (settled.motion.scheme.kind, settled.motion.scheme.substeps) == (kind, substeps)
    found = dict(zip(settled.motion.rates["speed"].terms, settled.motion.rates["speed"].weights, strict=True))
    assert found[call("sin", THETA)] == pytest.approx(-p.pull * 0.05, rel=1e-6)
    assert found[PUSHED] == pytest.approx(p.drive * 0.05, rel=1e-6)
    assert settled.left(rows, "speed") < 2.0


def test_a_place_goes_after_its_speed_even_on_a_linear_spring():
    """Each of both moves the other by itself; only the place moves by nothing else."""
    rng = np.random.default_rng(SEED)
    stiff, drive = rng.uniform(2, 5), rng.uniform(2, 4)
    world = small(
        integrated(lambda x, u: np.array([x[1], -stiff * x[0] + drive * u[0]]), "semi-implicit", 1, 0.05, fast=[1]),
        lambda rng: rng.uniform(-1, 1, 2),
        ("x", "v"),
        rng,
    )
    rows = rows_from(world)
    rates = {"x": Rate((var("v"),), (0.05,)), "v": Rate((var("x"), PUSHED), (-stiff * 0.05, drive * 0.05))}
    assert frozenset({"v"}) in {scheme.fast for scheme in schemes_for(rates)}
    looks = {name: look_at(rows, [number(1.0), var("x"), var("v"), PUSHED], name, everything(rows)) for name in "xv"}
    assert settle(rows, looks, everything(rows)).left(rows, "x") < 2.0


def test_weights_and_inner_numbers_are_fitted_together():
    rng = np.random.default_rng(SEED)
    wave, size, drag = rng.uniform(2.0, 3.0), rng.uniform(0.5, 1.0), rng.uniform(0.2, 0.5)
    world = small(
        lambda x, u: x + 0.1 * (u - drag * x + size * np.sin(wave * x)), lambda rng: rng.uniform(-2, 2, 1), ("x",), rng
    )
    rows = rows_from(world)
    near = call("sin", number(wave * 1.03, free=True) * var("x"))
    motion = Motion({"x": Rate((var("x"), PUSHED, near), (-0.1 * drag * 0.8, 0.09, 0.11 * size))})
    settled = refit(rows, motion, everything(rows))
    rate = settled.motion.rates["x"]
    assert rate.terms[2].free_values[0] == pytest.approx(wave, rel=1e-6)
    np.testing.assert_allclose(rate.weights, [-0.1 * drag, 0.1, 0.1 * size], rtol=1e-6)


def test_needless_terms_are_dropped():
    p, rows = pendulum_rows()
    rates = {
        "theta": Rate((SPEED, PUSHED), (0.05, 0.0)),
        "speed": Rate((call("sin", THETA), SPEED, PUSHED, call("cos", THETA)), (-p.pull * 0.05, 0.0, 0.0, 0.0)),
    }
    motion = Motion(rates, Scheme("semi-implicit", 1, frozenset({"speed"})))
    found = pruned(rows, refit(rows, motion, everything(rows)), everything(rows))
    assert found.motion.rates["theta"].terms == (SPEED,)
    assert set(found.motion.rates["speed"].terms) == {call("sin", THETA), SPEED, PUSHED}


def test_standard_errors_cover_the_truth_under_noise():
    p, rows = pendulum_rows("explicit")
    rng = np.random.default_rng(SEED + 1)
    rates = {"speed": Rate((call("sin", THETA), SPEED, PUSHED), (-p.pull * 0.05, -p.drag * 0.05, p.drive * 0.05))}
    motion = Motion(rates)
    exact = sureness(rows, motion, everything(rows))["speed"]
    off_by = Motion({"speed": replace(rates["speed"], weights=tuple(1.2 * w for w in rates["speed"].weights))})
    off = []
    for _ in range(40):
        after = rows.after + rng.normal(size=rows.after.shape) * 1e-3
        noisy = replace(rows, after=after)
        found = refit(noisy, off_by, everything(noisy)).motion
        errors = standard_errors(noisy, found, everything(noisy))["speed"]
        off += [
            (w - t) / e[0] for w, t, e in zip(found.rates["speed"].weights, rates["speed"].weights, errors, strict=True)
        ]
        assert sureness(noisy, found, everything(noisy))["speed"] < exact
    assert 0.7 < float(np.sqrt(np.mean(np.square(off)))) < 1.4


def test_terms_cost_their_bits_and_a_weight():
    short, long = costs_of([SPEED, call("sin", THETA) * SPEED])
    assert 0 < short < long
