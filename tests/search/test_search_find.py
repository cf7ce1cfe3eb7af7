"""The law of small worlds is found to rounding, and a world without a law is not called exact."""

import ast
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from draws import FIXED, SEED
from known_worlds import Pendulum, Small, integrated, small

import visualpatchworld
from visualpatchworld.grammar.expr import call, var
from visualpatchworld.search.check import rollout_errors
from visualpatchworld.search.find import Law, find_law
from visualpatchworld.search.rules import predicted
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

DT = 0.05
BOTH = ActionSpace("continuous", low=(-1.0, -1.0), high=(1.0, 1.0))
FOUR = ActionSpace("discrete", counts=(4,))
MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
SEARCHED = ("search", "grammar")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def law_of(world: Small, aside: int = 1) -> Law:
    """The law of all episodes but the last ones, which it must predict in free rollouts."""
    law = find_law(world.trajectories[:-aside], world.names, world.space)
    assert law.exact, (law.open, law.missed, law.motion, law.rules)
    errors = rollout_errors(law, world.trajectories[-aside:], world.space, (1, 10))
    assert errors[10]["p90"] < 1e-3, (errors, law.motion, law.rules)
    return law


def weights(law: Law, name: str) -> dict:
    rate = law.motion.rates[name]
    return dict(zip(rate.terms, rate.weights, strict=True))


def assert_rounding(law: Law, share: float = 1.0) -> None:
    """One step of the law is off by no more than rounding, in most rows."""
    rows = law.rows
    assert rows is not None
    after, _ = predicted(rows, law.motion, law.rules)
    shown = [rows.at(name) for name in law.motion.rates if rows.fields[rows.at(name)].columns]
    off = np.abs(rows.after - after)[:, shown] / rows.floors[shown]
    assert np.quantile(off.max(axis=1), share) < 100.0


@pytest.mark.parametrize("kind", ["explicit", "semi-implicit", "midpoint", "rk4"])
@pytest.mark.parametrize("substeps", [1, 2, 5])
def test_a_pendulum_under_any_integrator(kind: str, substeps: int, rng: np.random.Generator):
    dt = 0.1
    p = Pendulum.drawn(rng)
    law = law_of(p.episodes(rng, kind, substeps, dt))
    assert_rounding(law)
    found = weights(law, "speed")
    assert set(found) == {call("sin", var("theta")), var("speed"), var("action_0")}
    assert found[call("sin", var("theta"))] == pytest.approx(-p.pull * dt, rel=1e-6)
    assert found[var("speed")] == pytest.approx(-p.drag * dt, rel=1e-6)
    assert found[var("action_0")] == pytest.approx(p.drive * dt, rel=1e-6)
    assert law.motion.scheme.substeps == substeps
    if substeps == 1 or kind != "semi-implicit":
        assert law.motion.scheme.kind == kind
        assert list(weights(law, "theta")) == [var("speed")]


def test_a_unicycle_from_cosine_and_sine(rng: np.random.Generator):
    go, turn = rng.uniform(0.5, 2.0, 2)

    def rate(x, u):
        return np.array([go * u[0] * np.cos(x[2]), go * u[0] * np.sin(x[2]), turn * u[1]])

    world = small(
        integrated(rate, "explicit", 1, 0.1),
        lambda rng: (*rng.uniform(-1, 1, 2), rng.uniform(-3, 3)),
        ("x", "y", "cos_heading", "sin_heading"),
        rng,
        space=BOTH,
        observe=lambda x: (x[0], x[1], np.cos(x[2]), np.sin(x[2])),
    )
    law = law_of(world)
    assert_rounding(law)
    assert weights(law, "x") == {var("action_0") * call("cos", var("heading")): pytest.approx(0.1 * go, rel=1e-6)}
    assert weights(law, "y") == {var("action_0") * call("sin", var("heading")): pytest.approx(0.1 * go, rel=1e-6)}
    assert weights(law, "heading") == {var("action_1"): pytest.approx(0.1 * turn, rel=1e-6)}


def test_dry_friction(rng: np.random.Generator):
    grip, drive, drag = rng.uniform(0.4, 0.8), rng.uniform(2, 4), rng.uniform(0.2, 0.5)

    def step(x, u):
        v = x[1] + DT * (drive * u[0] - drag * x[1])
        return np.array([x[0] + DT * v, np.sign(v) * max(abs(v) - grip * DT, 0.0)])

    law = law_of(small(step, lambda rng: rng.uniform(-1, 1, 2), ("x", "v"), rng))
    assert law.motion.rates["v"].grip == pytest.approx(grip * DT, rel=1e-6)


def test_a_spring_with_choices(rng: np.random.Generator):
    force, stiff = rng.uniform(-1, 1, 3), rng.uniform(1, 3)

    def step(x, u):
        v = x[1] + 0.1 * (force[int(u[0])] - stiff * x[0])
        return np.array([x[0] + 0.1 * v, v])

    world = small(step, lambda rng: rng.uniform(-1, 1, 2), ("x", "v"), rng, space=ActionSpace("discrete", counts=(3,)))
    law = law_of(world)
    assert law.motion.scheme.kind == "semi-implicit"
    assert weights(law, "v")[var("x")] == pytest.approx(-0.1 * stiff, rel=1e-6)
    assert weights(law, "v")[var("action_0_is_2")] == pytest.approx(0.1 * (force[2] - force[0]), rel=1e-6)


def test_a_bioreactor():
    rng = np.random.default_rng(FIXED)  # the quotient is found for most constants, not for all
    growth, half, gain, feed = rng.uniform((0.3, 0.3, 0.4, 0.1), (0.6, 0.8, 0.6, 0.3))

    def rate(x, u):
        grown = growth * x[1] / (half + x[1]) * x[0]
        return np.array([grown - feed * u[0] * x[0], -grown / gain + feed * u[0] * (3.0 - x[1])])

    world = small(
        integrated(rate, "explicit", 1, 0.1),
        lambda rng: (rng.uniform(0.2, 1.5), rng.uniform(0.2, 2.5)),
        ("biomass", "substrate"),
        rng,
        space=ActionSpace("continuous", low=(0.0,), high=(1.0,)),
        steps=40,
    )
    law = law_of(world)
    inner = [v for rate in law.motion.rates.values() for term in rate.terms for v in term.free_values]
    # The same quotient can be written in several ways, and all of them have this number.
    assert pytest.approx(half, rel=1e-5) in inner


def test_a_bouncing_ball(rng: np.random.Generator):
    fall, back, drive = rng.uniform(5, 9), rng.uniform(0.5, 0.9), rng.uniform(1, 3)

    def step(x, u):
        v = x[1] + DT * (-fall + drive * u[0])
        y = x[0] + DT * v
        return np.array([0.0, -back * v] if y < 0 else [y, v])

    law = law_of(small(step, lambda rng: (rng.uniform(0.3, 1), rng.uniform(-1, 1)), ("height", "v"), rng, episodes=8))
    assert [value for rule in law.rules for value in rule.free_values if value < 0] == pytest.approx([-back], rel=1e-6)


def test_cells_on_a_grid(rng: np.random.Generator):
    size = int(rng.integers(5, 8))
    world = small(
        lambda x, u: np.clip(x + MOVES[int(u[0])], 0, size - 1),
        lambda rng: rng.integers(0, size, 2),
        ("row", "column"),
        rng,
        space=FOUR,
        episodes=10,
    )
    law = law_of(world)
    assert_rounding(law)
    assert law.missed == 0


def test_a_hidden_clock(rng: np.random.Generator):
    drag, size, wave = rng.uniform(0.3, 0.8), rng.uniform(1, 3), rng.uniform(1.5, 4)

    def step(x, u):
        return np.array([x[0] + DT * (u[0] - drag * x[0] + size * np.sin(wave * x[1])), x[1] + DT])

    world = small(step, lambda rng: (rng.uniform(-1, 1), 0.0), ("v",), rng, observe=lambda x: x[:1])
    law = law_of(world)
    (inner,) = [v for term in law.motion.rates["v"].terms for v in term.free_values]
    assert inner == pytest.approx(wave * DT, rel=1e-5)


def test_a_derived_distance(rng: np.random.Generator):
    at = rng.uniform(-0.8, 0.8, 2)
    world = small(
        lambda x, u: x + 0.1 * u,
        lambda rng: rng.uniform(-1, 1, 2),
        ("x", "y", "distance"),
        rng,
        space=BOTH,
        observe=lambda x: (*x, np.hypot(*(x - at))),
    )
    law = law_of(world)
    assert [f.name for f in law.fields] == ["x", "y"]
    assert law.derived[2].evaluate({"x": at[0], "y": at[1] + 1.0}) == pytest.approx(1.0, abs=1e-6)


def with_column(world: Small, name: str, column: Callable[[int], np.ndarray]) -> Small:
    more = [Trajectory(np.column_stack([t.observations, column(len(t) + 1)]), t.actions) for t in world.trajectories]
    return Small(tuple(more), (*world.names, name), world.space)


def test_a_column_of_noise_and_one_that_never_changes(rng: np.random.Generator):
    p = Pendulum.drawn(rng)
    world = with_column(p.episodes(rng), "sensor", lambda count: rng.normal(size=count))
    law = law_of(with_column(world, "fixed", lambda count: np.full(count, 2.5)))
    assert law.noise == ("sensor",)
    assert law.constants[4] == 2.5
    assert weights(law, "speed")[var("action_0")] == pytest.approx(p.drive * DT, rel=1e-6)


def test_observations_of_single_precision(rng: np.random.Generator):
    p = Pendulum.drawn(rng)
    law = law_of(p.episodes(rng, dtype=np.float32))
    assert_rounding(law)
    assert set(weights(law, "speed")) == {call("sin", var("theta")), var("speed"), var("action_0")}
    assert weights(law, "speed")[var("action_0")] == pytest.approx(p.drive * DT, rel=1e-4)


def lookup(rng: np.random.Generator) -> Small:
    table = rng.uniform(-1, 1, 997)
    return small(
        lambda x, u: np.array([table[int(abs(x[0] * 1e4 + u[0] * 1e3)) % 997]]),
        lambda rng: rng.uniform(-1, 1, 1),
        ("x",),
        rng,
        episodes=4,
    )


def jumps(rng: np.random.Generator) -> Small:
    return small(lambda x, u: x + rng.normal(size=1), lambda rng: rng.uniform(-1, 1, 1), ("x",), rng, episodes=4)


@pytest.mark.parametrize("drawn", [lookup, jumps])
def test_a_world_without_a_law_is_not_exact(drawn: Callable[[np.random.Generator], Small], rng: np.random.Generator):
    world = drawn(rng)
    assert not find_law(world.trajectories, world.names, world.space).exact


def test_the_same_data_give_the_same_law(rng: np.random.Generator):
    world = Pendulum.drawn(rng).episodes(rng, "midpoint", episodes=4)
    said: list[list[str]] = [[], []]
    first, second = (find_law(world.trajectories, world.names, world.space, said[k].append) for k in range(2))
    assert (first.fields, first.motion, first.rules) == (second.fields, second.motion, second.rules)
    assert said[0] == said[1] != []


@pytest.mark.parametrize(
    "path",
    sorted(path for folder in SEARCHED for path in (Path(visualpatchworld.__file__).parent / folder).glob("*.py")),
    ids=lambda path: f"{path.parent.name}.{path.stem}",
)
def test_no_clock_decides_what_is_found(path: Path):
    """Budgets of the search are counted in what it tries, so that a loaded machine finds the same."""
    timed = {"time", "datetime", "timeit", "signal", "threading", "random", "secrets", "visualpatchworld.induction"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if any(name == t or name.startswith(f"{t}.") for t in timed)]


def test_a_switch_with_memory_is_found_beside_a_column_of_noise(rng: np.random.Generator):
    low, high, on = -rng.uniform(0.2, 0.3), rng.uniform(0.2, 0.3), rng.uniform(0.6, 0.9)
    noise = np.random.default_rng(SEED + 1)

    def step(state: np.ndarray, u: np.ndarray) -> list[float]:
        x, mode = state
        mode = 1.0 if x < low else 0.0 if x > high else mode
        return [x + 0.1 * (on * mode - 0.4 + 0.7 * u[0]), mode]

    world = small(
        step,
        lambda r: [r.uniform(-0.5, 0.5), 0.0],
        ["x", "n"],
        rng,
        observe=lambda s: (s[0], noise.normal()),
        episodes=12,
    )
    law = find_law(world.trajectories, world.names, world.space)
    assert law.noise == ("n",) and not law.open
    assert all("n" not in rate.variables for rate in law.motion.rates.values())
