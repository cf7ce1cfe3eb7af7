"""Speeds that no column shows are found from places alone, under any integrator."""

import numpy as np
import pytest
from draws import SEED
from known_worlds import Pendulum, Small

from visualpatchworld.grammar.expr import call, var
from visualpatchworld.search.check import followed, rollout_errors
from visualpatchworld.search.find import find_law
from visualpatchworld.search.hidden import differences, share_of
from visualpatchworld.search.motion import Scheme
from visualpatchworld.search.rows import Field, rows_of
from visualpatchworld.search.speeds import successors
from visualpatchworld.world.trajectory import Trajectory

DT = 0.1


def places_only(world: Small) -> Small:
    """The same world without its last column, the speed."""
    kept = tuple(Trajectory(t.observations[:, :-1], t.actions) for t in world.trajectories)
    return Small(kept, world.names[:-1], world.space)


@pytest.mark.parametrize(
    ("kind", "substeps"), [("explicit", 1), ("explicit", 5), ("semi-implicit", 1), ("semi-implicit", 2), ("rk4", 1)]
)
def test_a_pendulum_without_its_speed(kind: str, substeps: int):
    rng = np.random.default_rng(SEED)
    p = Pendulum.drawn(rng)
    world = places_only(p.episodes(rng, kind, substeps, DT))
    law = find_law(world.trajectories[:-1], world.names, world.space)
    assert law.exact, (law.open, law.motion)
    hidden = next(f for f in law.fields if f.speed_of == "theta")
    assert law.motion.rates["theta"].terms == (var(hidden.name),)
    found = dict(zip(law.motion.rates[hidden.name].terms, law.motion.rates[hidden.name].weights, strict=True))
    # The speed is counted per step.
    assert found[call("sin", var("theta"))] == pytest.approx(-p.pull * DT**2, rel=1e-4)
    assert found[var(hidden.name)] == pytest.approx(-p.drag * DT, rel=1e-3)
    assert found[var("action_0")] == pytest.approx(p.drive * DT**2, rel=1e-4)
    errors = rollout_errors(law, world.trajectories[-1:], world.space, (10,))
    assert errors[10]["p90"] < 1e-3


def test_the_share_of_a_later_push_is_that_of_the_integrator():
    rng = np.random.default_rng(SEED)
    push = rng.normal(size=40)
    for scheme in (Scheme("explicit", 1), Scheme("explicit", 4), Scheme("semi-implicit", 2), Scheme("rk4", 1)):
        n, x, v, seen = scheme.substeps, 0.0, 0.3, [0.0]
        for a in push:
            for _ in range(n):
                if scheme.kind == "semi-implicit":
                    v += a / n
                    x += v / n
                elif scheme.kind == "explicit":
                    x += v / n
                    v += a / n
                else:
                    x += v / n + a / (2 * n**2)
                    v += a / n
            seen.append(x)
        share = share_of(scheme)
        np.testing.assert_allclose(np.diff(seen, 2), (1 - share) * push[:-1] + share * push[1:], atol=1e-9)


def test_differences_start_in_every_episode():
    rng = np.random.default_rng(SEED)
    world = places_only(Pendulum.drawn(rng).episodes(rng, "explicit", 1, DT))
    rows = rows_of(world.trajectories, [Field("theta", (0, 1), "angle")], world.space)
    speeds = differences(rows, ["theta"], 0.5)[:, 0]
    assert np.isnan(speeds[rows.time == 0]).all() and np.isfinite(speeds[rows.time > 0]).all()
    last = ~successors(rows)
    assert last.sum() == len(world.trajectories)
    assert (rows.time[last] == [len(t) - 1 for t in world.trajectories]).all()


def test_speeds_follow_along_new_episodes():
    rng = np.random.default_rng(SEED)
    whole = Pendulum.drawn(rng).episodes(rng, "semi-implicit", 1, DT)
    world = places_only(whole)
    law = find_law(world.trajectories[:-1], world.names, world.space)
    rows = followed(law, world.trajectories[-1:], world.space)
    hidden = next(k for k, f in enumerate(law.fields) if f.speed_of)
    true = whole.trajectories[-1].observations[:-1, -1] * DT
    np.testing.assert_allclose(rows.before[1:, hidden], true[1:], atol=1e-6)
