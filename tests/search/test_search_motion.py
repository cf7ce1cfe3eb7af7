"""One step of rates under each scheme is the textbook's, and stages say where rates were taken."""

from dataclasses import replace

import numpy as np
import pytest
from draws import SEED
from known_worlds import Pendulum, integrated

from visualpatchworld.grammar.expr import call, number, var
from visualpatchworld.search.motion import Motion, Rate, Scheme, averages
from visualpatchworld.search.rows import Field, Rows

THETA, SPEED, PUSHED = var("theta"), var("speed"), var("action_0")
DT = 0.07
KINDS = ("explicit", "semi-implicit", "midpoint", "rk4")


def drawn() -> tuple[Pendulum, Motion, Rows]:
    rng = np.random.default_rng(SEED)
    p = Pendulum.drawn(rng)
    rates = {
        "theta": Rate((SPEED,), (DT,)),
        "speed": Rate((call("sin", THETA), SPEED, PUSHED), (-p.pull * DT, -p.drag * DT, p.drive * DT)),
    }
    states = rng.uniform(-2, 2, (30, 2))
    fields = (Field("theta", (0,)), Field("speed", (1,)))
    inputs = {"action_0": rng.uniform(-1, 1, 30)}
    return p, Motion(rates), Rows(fields, states, states, inputs, np.zeros(30, int), np.arange(30), np.full(2, 1e-11))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("substeps", [1, 2, 5])
def test_a_step_is_that_of_the_textbook(kind: str, substeps: int):
    p, motion, rows = drawn()
    fast = frozenset({"speed"}) if kind == "semi-implicit" else frozenset()
    after, stages = replace(motion, scheme=Scheme(kind, substeps, fast)).step(rows)
    step = integrated(p.rate, kind, substeps, DT, fast=[1])
    truth = [np.asarray(step(x, np.array([u]))) for x, u in zip(rows.before, rows.inputs["action_0"], strict=True)]
    np.testing.assert_allclose(after, truth, rtol=1e-12, atol=1e-13)
    assert not stages.ruled.any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_change_is_the_weights_times_the_averages_over_stages(kind: str):
    _, motion, rows = drawn()
    fast = frozenset({"speed"}) if kind == "semi-implicit" else frozenset()
    motion = replace(motion, scheme=Scheme(kind, 3, fast))
    after, stages = motion.step(rows)
    for k, (name, rate) in enumerate(motion.rates.items()):
        change = averages(rate.terms, rows, stages, name in fast) @ np.array(rate.weights)
        np.testing.assert_allclose(change, (after - rows.before)[:, k], atol=1e-12)
        assert sum(weight for weight, _ in stages.of(name in fast)) == pytest.approx(1.0)


def test_dry_friction_stops_what_is_slow_and_slows_the_rest():
    _, _, rows = drawn()
    rows.before[:3, 1] = [0.05, -0.05, 1.0]
    motion = Motion({"speed": Rate((call("grip", SPEED),), (-0.1,))})
    after, stages = motion.step(rows)
    np.testing.assert_allclose(after[:3, 1], [0.0, 0.0, 0.9])
    assert stages.ruled[:3].tolist() == [True, True, False]
    assert motion.rates["speed"].grip == pytest.approx(0.1)
    np.testing.assert_array_equal(after[:, 0], rows.before[:, 0])


def test_events_come_after_each_sub_step_and_between_fast_and_slow():
    _, motion, rows = drawn()
    called = []

    def event(place):
        def act(now, start):
            called.append(place)
            np.testing.assert_array_equal(start, rows.before)
            return now, np.ones(len(now), bool)

        return act

    motion = replace(motion, scheme=Scheme("semi-implicit", 2, frozenset({"speed"})))
    _, stages = motion.step(rows, (event("after"), event("between")))
    assert called == ["between", "after"] * 2
    assert stages.ruled.all()


def test_a_field_without_a_rate_stays_and_an_empty_rate_is_zero():
    _, _, rows = drawn()
    after, _ = Motion({"theta": Rate((), ())}).step(rows)
    np.testing.assert_array_equal(after, rows.before)
    assert Rate((), ()).variables == frozenset()
    assert Rate((number(2.0) * THETA, SPEED), (1.0, 1.0)).variables == {"theta", "speed"}


def test_schemes_have_names():
    assert str(Scheme("rk4")) == "rk4"
    assert str(Scheme("rk4", 4)) == "rk4, 4 sub-steps"
