"""Laws of undriven smooth worlds, with noise and with rows left out; none of these equations is in ODEBench."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from visualpatchworld.grammar.expr import var
from visualpatchworld.induction.discover import discover
from visualpatchworld.program.env import imagine
from visualpatchworld.search.motion import Rate
from visualpatchworld.search.shoot import Shooting, roll, slope_of
from visualpatchworld.search.smooth import find_smooth
from visualpatchworld.search.smooth_rates import find_rates, form_of
from visualpatchworld.search.smooth_terms import libraries_of, shapes_of
from visualpatchworld.search.weak import curves_of, noise_of
from visualpatchworld.world.log import LogWorld
from visualpatchworld.world.log_table import Columns, recording_of_table


def solved(rates, start, end=10.0, rows=300):
    times = np.linspace(0.0, end, rows)
    done = solve_ivp(lambda _, x: rates(x), (0.0, end), start, t_eval=times, rtol=1e-8, atol=1e-10)
    return times, done.y.T


def decay(x):  # two fields: a place that is pushed, and a speed with drag
    return [x[1], 0.8 - 1.7 * x[0] - 0.35 * x[1]]


def prey(x):
    return [1.1 * x[0] - 0.6 * x[0] * x[1], 0.5 * x[0] * x[1] - 0.9 * x[1]]


def thinned(times, rows, seed=0):
    kept = np.append(True, np.random.default_rng(seed).random(len(times) - 1) >= 0.5)
    return times[kept], rows[kept]


def terms(law):
    return {name: {str(term) for term in rate.terms} for name, rate in law.motion.rates.items()}


def per_second(law, name, term, dt):
    rate = law.motion.rates[name]
    return dict(zip(map(str, rate.terms), rate.weights, strict=True))[term] / dt


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_terms_and_constants_are_found_with_noise_and_with_uneven_rows(noise, dropped):
    times, rows = solved(prey, [1.3, 0.7])
    rows = rows * (1 + noise * np.random.default_rng(1).normal(size=rows.shape))
    times, rows = thinned(times, rows) if dropped else (times, rows)
    dt = float(np.median(np.diff(times)))
    found = find_smooth([(times, rows)], ["hare", "lynx"], dt)
    assert found is not None
    assert terms(found.law) == {"hare": {"hare", "hare * lynx"}, "lynx": {"lynx", "hare * lynx"}}
    assert per_second(found.law, "hare", "hare", dt) == pytest.approx(1.1, rel=0.03)
    assert per_second(found.law, "lynx", "lynx", dt) == pytest.approx(-0.9, rel=0.03)
    assert found.left < 2.0 and found.noisy == (noise > 0) and found.even == (not dropped)


def test_several_curves_make_one_law():
    pieces = [solved(decay, start, 6.0, 90) for start in ([1.0, 0.0], [-0.5, 0.4], [0.2, -1.0])]
    found = find_smooth(pieces, ["x", "v"], float(pieces[0][0][1]))
    assert found is not None
    assert terms(found.law) == {"x": {"v"}, "v": {"1", "x", "v"}}


def test_a_saturating_rate_is_found_by_its_shape():
    pieces = [solved(lambda x: [2.0 - 3.0 * x[0] / (0.4 + x[0])], [start], 8.0) for start in (4.0, 0.02)]
    found = find_smooth(pieces, ["x"], float(pieces[0][0][1]))
    assert found is not None and found.left < 2.0
    law = found.law.motion.rates["x"]
    x = np.linspace(0.1, 3.5, 20)
    rate = sum(w * t.evaluate({"x": x}) for w, t in zip(law.weights, law.terms, strict=True)) / pieces[0][0][1]
    assert rate == pytest.approx(2.0 - 3.0 * x / (0.4 + x), abs=0.02)


def test_what_is_not_smooth_has_no_smooth_law():
    rng = np.random.default_rng(0)
    times = np.arange(200.0)
    assert find_smooth([(times, rng.normal(size=(200, 1)))], ["x"], 1.0) is None
    assert find_smooth([(times, rng.integers(0, 5, size=(200, 1)).astype(float))], ["x"], 1.0) is None
    assert find_smooth([], ["x"], 1.0) is None


def test_columns_that_stand_still_are_constants():
    times, rows = solved(decay, [1.0, 0.0])
    found = find_smooth([(times, np.column_stack([rows, np.full(len(rows), 3.5)]))], ["x", "v", "g"], float(times[1]))
    assert found is not None
    assert found.law.constants == {2: 3.5} and "g" not in found.law.motion.rates


def test_a_log_with_uneven_times_gets_an_accurate_program():
    times, rows = thinned(*solved(prey, [1.3, 0.7]))
    table = {"t": times, "hare": rows[:, 0], "lynx": rows[:, 1]}
    found = discover(LogWorld(recording_of_table(table, "log", Columns(action=())), "log"))
    assert found.verdict == "explained" and "uneven" not in found.why
    dt, start = found.reading.dt, np.array([0.5, 1.5])  # a start that was never seen
    world = imagine(found.program, "numpy")
    state = world.read(start)
    for _ in range(40):
        state = world.step(state, np.zeros(0))
    true = solve_ivp(lambda _, x: prey(x), (0.0, 40 * dt), start, rtol=1e-9, atol=1e-12).y[:, -1]
    assert np.asarray(world.observe(state)) == pytest.approx(true, rel=0.01)


@pytest.mark.parametrize("growing", [False, True])
def test_noise_is_told_from_motion_at_uneven_times(growing):
    times, rows = thinned(*solved(decay, [3.0, 0.0], rows=1000))
    true = 0.02 * (np.abs(rows[:, 0]) if growing else np.ones(len(rows)))
    noisy = rows[:, 0] + true * np.random.default_rng(2).normal(size=len(rows))
    (found,) = noise_of([times], [noisy])
    assert np.median(found / true) == pytest.approx(1.0, rel=0.15)
    assert (np.ptp(found) > 0) == growing


def test_curves_of_noisy_rows_are_closer_to_the_truth_than_the_rows():
    times, rows = solved(prey, [1.3, 0.7])
    noisy = rows + 0.05 * np.random.default_rng(3).normal(size=rows.shape)
    (curve,) = curves_of([(times, noisy)])
    assert np.std(curve.at(times) - rows) < 0.5 * np.std(noisy - rows)


def test_rollouts_are_those_of_the_equation():
    rates = {"x": Rate((var("x"),), (-0.7,))}
    rows = roll(slope_of(rates, ["x"]), np.array([[2.0, 1.0]]), np.array([[0.1], [0.35], [0.1]]), 0.1, 1e9)
    assert rows[:, 0, 0] == pytest.approx(2.0 * np.exp(-0.7 * np.array([0.0, 0.1, 0.45, 0.55])), rel=1e-5)


def test_shooting_moves_constants_to_the_true_ones_with_honest_errors():
    times, rows = solved(prey, [1.3, 0.7])
    curves = curves_of([(times, rows + 0.02 * np.random.default_rng(4).normal(size=rows.shape))])
    hare, lynx = var("hare"), var("lynx")
    start = {"hare": Rate((hare, hare * lynx), (1.0, -0.5)), "lynx": Rate((hare * lynx, lynx), (0.6, -1.0))}
    shot = Shooting(curves, ["hare", "lynx"], np.zeros(2)).fit(start)
    assert shot is not None
    assert np.sqrt(np.mean(shot.residual**2)) == pytest.approx(1.0, abs=0.2)
    off = np.array(shot.rates["hare"].weights) - [1.1, -0.6]
    assert np.all(np.abs(off) < 5 * np.array([error for (error,) in shot.errors["hare"]]))


def test_libraries_grow_and_divide_by_nothing_that_crosses_zero():
    values = {"x": np.linspace(-1.0, 1.0, 50), "y": np.linspace(2.0, 3.0, 50)}
    libraries = libraries_of(["x", "y"], values)
    assert sorted(map(len, libraries))[0] == len(libraries[0]) and len({len(one) for one in libraries}) > 2
    below = {str(t.args[1]) for t in libraries[-1] if t.op == "div"}
    assert "y" in below and "x" not in below
    assert all(np.isfinite(t.evaluate(values)).all() for t in shapes_of(["x", "y"], values))


def test_rates_of_one_curve_do_not_depend_on_the_run():
    curves = curves_of([solved(decay, [1.0, 0.0])])
    first, second = (find_rates(curves, ["x", "v"]) for _ in range(2))
    assert first is not None and second is not None and first.rates == second.rates
    assert all(form_of(rate.terms) == rate.terms for rate in first.rates.values())
