"""An empirical program is never worse than standing still or going on evenly, field by field."""

from dataclasses import replace

import numpy as np
from draws import FIXED
from small_worlds import PUSH, run, second_order

from visualpatchworld.induction.floor import floored
from visualpatchworld.induction.march import march
from visualpatchworld.induction.motion import Rates, assemble
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.search import search_dynamics


def mean_errors(program, trajectories, horizon):
    """By field, of the program and of standing still."""
    starts = np.concatenate([t.observations[:-horizon:5] for t in trajectories])
    ends = np.concatenate([t.observations[horizon::5] for t in trajectories])
    actions = np.concatenate(
        [[t.actions[k : k + horizon] for k in range(0, len(t) - horizon + 1, 5)] for t in trajectories]
    )
    given = march(program, starts, actions)[:, -1]
    return np.mean(np.abs(given - ends), axis=0), np.mean(np.abs(starts - ends), axis=0)


def test_only_the_field_whose_law_fails_goes_on_evenly():
    rng = np.random.default_rng(FIXED)
    gain, drag = rng.uniform(2, 6), rng.uniform(0.3, 0.8)
    step = second_order(lambda q, v, a: [gain * a[0] - drag * v[0], -drag * v[1] - q[1]], 0.05, 2)
    trajectories = run(rng, step, lambda: rng.normal(size=4), PUSH)
    found = search_dynamics(trajectories, PUSH)
    best = found.evidence[0]
    worse = tuple(replace(n, value=-90 * n.value) if n.name.startswith("X1_") else n for n in best.rates.numbers)
    rates = replace(best.rates, numbers=worse)
    broken = replace(best, rates=rates, draft=assemble(best.reading, rates, integrator=best.integrator))
    off, still = mean_errors(broken.draft.program, trajectories, 25)
    assert off[1] > 10 * still[1] and off[3] > 10 * still[3]
    again = floored(replace(found, draft=broken.draft, evidence=(broken,), verdict="unexplained"), trajectories)
    off, still = mean_errors(again.draft.program, trajectories, 25)
    shown = f"{again.why}\n{again.draft.program.text}"
    assert (off <= 1.05 * still).all() and off[0] < 0.01 * still[0], shown
    assert "x1_speed stays the same" in again.why or "x1 stands still" in again.why, shown


def test_what_is_explained_stays_as_it_is():
    rng = np.random.default_rng(FIXED)
    trajectories = run(rng, lambda s, a: s + 0.3 * a - 0.1 * s, lambda: rng.normal(size=1), PUSH)
    found = search_dynamics(trajectories, PUSH)
    assert floored(found, trajectories) is found


def test_velocities_from_a_table_of_chance_are_not_followed():
    rng = np.random.default_rng(FIXED)
    table = rng.normal(size=997)

    def step(s, a):
        speed = s[2] + 0.1 * (2.0 * a[0] - 0.5 * s[2])
        chance = table[int(abs(s[1] * 1e5)) % 997]
        return np.array([s[0] + 0.1 * speed, s[1] + 0.1 * chance, speed, chance])

    trajectories = run(rng, step, lambda: rng.normal(size=4), PUSH)
    found = search_dynamics(trajectories, PUSH, seconds=10)
    again = floored(found, trajectories)
    assert again.verdict == "unexplained", again.why
    for horizon in (1, 25):
        off, still = mean_errors(again.draft.program, trajectories, horizon)
        assert (off <= 1.05 * still).all(), f"{off} {still} {again.why}\n{again.draft.program.text}"


def test_a_program_in_which_nothing_is_predicted_runs():
    reading = Reading(fields=(), coordinates=(Coordinate("x", (0,)), Coordinate("y", (1,))))
    for integrator in ("rk4", "explicit", "none"):
        program = assemble(reading, Rates("still", (), (), ()), integrator=integrator).program
        starts = np.random.default_rng(FIXED).normal(size=(3, 2))
        np.testing.assert_array_equal(march(program, starts, np.zeros((3, 4, 1)))[:, -1], starts)
