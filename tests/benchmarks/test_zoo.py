"""Drawn worlds: the generator itself, and how programs of them are scored."""

import copy
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import zoo
from gymnasium.utils.env_checker import check_env
from zoo import score
from zoo.blueprint import Blueprint
from zoo.chains import chain
from zoo.chance import Chance
from zoo.compose import blueprint, compose
from zoo.contacts import impact
from zoo.drawing import draw as draw_uncached
from zoo.env import start
from zoo.judge import judged
from zoo.movers import massive_point, pendulum, unicycle
from zoo.observation import look
from zoo.record import columns, recorded
from zoo.score import Settings, WorldJob, category, names_of
from zoo.stocks import tanks
from zoo.text import loaded, program

from visualpatchworld.errors import VpwError

SOME = [(level, seed) for level in zoo.LEVELS for seed in (0, 7, 23)]


def law_of(world: Blueprint, integrator: str = "rk4") -> dict:
    """The program of a hand-made world without reward and end."""
    return loaded(program(world, "test", integrator, look(world, [], ""), "0.0", None, traced=False))


@pytest.mark.parametrize(("level", "seed"), SOME)
def test_same_seed_same_world(level: int, seed: int) -> None:
    first = zoo.draw(seed, level=level)
    draw_uncached.cache_clear()
    again = zoo.draw(seed, level=level)
    assert first.text == again.text
    assert first.truth == again.truth


def test_other_seeds_other_worlds() -> None:
    assert len({zoo.draw(seed, level=1).text for seed in range(10)}) == 10


def test_structures_differ() -> None:
    assert len({tuple(zoo.draw(seed, level=2).tags) for seed in range(10)}) > 7


@pytest.mark.parametrize(("level", "seed"), SOME)
@pytest.mark.filterwarnings("ignore")
def test_gymnasium_accepts_it(level: int, seed: int) -> None:
    env = gymnasium.make(f"zoo:zoo/L{level}-{seed}-v0")
    check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.parametrize(("level", "seed"), SOME)
def test_truth_replays_the_environment(level: int, seed: int) -> None:
    spec, env = zoo.draw(seed, level=level), zoo.make(seed, level=level)
    law = loaded(spec.truth["program"])
    seen, _ = env.reset(seed=3)
    env.action_space.seed(4)
    state = start(spec, law, np.random.default_rng(3))
    for _ in range(60):
        action = env.action_space.sample()
        seen, reward, ended, late, _ = env.step(action)
        acted = np.asarray(action, dtype=float).reshape(-1).tolist()
        before, state = state, law["step"](state, acted)
        exact = [not (readout.kind == "noise" or readout.name in spec.noise) for readout in spec.readouts]
        np.testing.assert_allclose(seen[exact], np.array(law["observe"](state))[exact], rtol=1e-6, atol=1e-6)
        assert reward == law["reward"](before, acted, state)
        assert ended == bool(law["terminated"](state))
        if ended or late:
            break


@pytest.mark.parametrize(("level", "seed"), SOME)
def test_the_truth_is_judged_exact(level: int, seed: int) -> None:
    spec = zoo.draw(seed, level=level)
    found = judged(spec.text, recorded(spec, 6, 60), columns(spec))
    assert category(found["errors"]) == "exact"
    assert found["reward_left"] < 1e-2
    assert not found["false_ends"]


def test_nobody_can_copy_a_world() -> None:
    env = zoo.make(0, level=1)
    with pytest.raises(TypeError):
        copy.deepcopy(env)


@pytest.mark.parametrize("links", [1, 2, 3])
def test_a_free_chain_keeps_its_energy(links: int) -> None:
    world = blueprint(Chance(links), 2)
    mover = chain(world, links, cart=False)
    world.step_time *= 0.1
    law = law_of(world)
    energy = eval(f"lambda {', '.join(world.fields)}: {mover.energy}", law)
    state = law["State"](*(0.9 if field.angle else 0.0 for field in world.fields.values()))
    before, swing = energy(*state), []
    for _ in range(500):
        state = law["step"](state, [])
        swing.append(energy(*state))
    assert np.ptp(swing) < 1e-4 * abs(before)


def test_a_pendulum_swings_with_its_period() -> None:
    world = blueprint(Chance(5), 1)
    pendulum(world)
    world.sums = {name: ["-GRAVITY * np.sin(theta)"] for name in world.sums}
    world.step_time, world.substeps = 0.001, 1
    world.constants["GRAVITY"] = (2 * np.pi) ** 2  # small swings take one second
    law = law_of(world)
    state = law["State"](0.01, 0.0)
    for _ in range(1000):
        state = law["step"](state, [])
    assert state.theta == pytest.approx(0.01, rel=1e-4)


def test_a_tank_runs_empty_as_it_should() -> None:
    world = blueprint(Chance(5), 1)
    tanks(world)
    world.step_time, world.substeps = 0.001, 1
    world.constants["DRAIN"] = 0.5
    world.constants["FULL"] = 10.0
    law = law_of(world)
    state = law["State"](4.0)
    for _ in range(2000):
        state = law["step"](state, [])
    assert state.level == pytest.approx((2.0 - 0.5 * 2.0 / 2) ** 2, rel=1e-6)


def test_a_turning_craft_runs_in_a_circle() -> None:
    world = next(w for w in (blueprint(Chance(seed), 1) for seed in range(20)) if unicycle(w).axes)
    world.sums = {name: ["2.0"] if name == "turn" else [] for name in world.sums}
    world.step_time, world.substeps = np.pi / 1000, 1
    law = law_of(world)
    start_state = state = law["State"](0.0, 0.0, 0.3, 1.5)
    for _ in range(1000):
        state = law["step"](state, [])
    assert np.hypot(state.x - start_state.x, state.y - start_state.y) < 1e-6


def test_an_elastic_impact_keeps_momentum_and_energy() -> None:
    world = blueprint(Chance(5), 4)
    impact(world, massive_point(world))
    world.sums = {name: [] for name in world.sums}  # nothing but the impact
    world.constants |= {"RESTITUTION": 1.0, "MASS_RATIO": 2.0, "REACH": 0.4}
    world.step_time, world.substeps = 0.001, 1
    law = law_of(world)
    state = law["State"](x=0.0, vx=1.0, y=0.0, vy=0.2, disc_x=0.38, disc_vx=-0.5, disc_y=0.1, disc_vy=0.0)
    after = law["step"](state, [])
    assert after.vx < state.vx
    assert after.vx + 2 * after.disc_vx == pytest.approx(state.vx + 2 * state.disc_vx)
    assert after.vy + 2 * after.disc_vy == pytest.approx(state.vy + 2 * state.disc_vy)
    energies = [one.vx**2 + one.vy**2 + 2 * (one.disc_vx**2 + one.disc_vy**2) for one in (state, after)]
    assert energies[1] == pytest.approx(energies[0])


def test_ids_are_read() -> None:
    assert list(names_of("L1:0-2,H:5")) == ["L1-0", "L1-1", "L1-2", "H-5"]


@pytest.mark.parametrize("ids", ["L1", "L1:", "L1:a-b", ""])
def test_ids_that_make_no_sense_are_refused(ids: str) -> None:
    with pytest.raises(VpwError, match="L1:0-19"):
        list(names_of(ids))


def test_a_world_that_is_not_there_is_refused() -> None:
    with pytest.raises(VpwError, match="no world 'L1-200'"):
        Settings().check("L1-200")
    with pytest.raises(VpwError, match="no package 'nowhere'"):
        Settings(package="nowhere").check("L1-0")


def test_ids_keep_their_worlds() -> None:
    """Results of other versions and of other people are about the same worlds only if ids never change their meaning."""
    texts = {f"L{level}-{seed}": zoo.draw(seed, level=level).text for level, seed in SOME}
    kept = json.loads(Path(__file__).with_name("zoo_texts.json").read_text(encoding="utf-8"))
    assert {name: hashlib.sha256(text.encode()).hexdigest()[:12] for name, text in texts.items()} == kept


def test_a_craft_that_nothing_slows_can_be_followed() -> None:
    specs = [compose("test", 0, 3, attempt, ("differential",))[0] for attempt in range(5)]
    assert all("coupling:chases" in spec.tags and "None" not in spec.text for spec in specs)


FAR = {"25": {"worst": 1.0, "p90": 1.0}}
NEAR = {"25": {"worst": 1e-4, "p90": 1e-3}}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A search that says `explained` and writes a program for every world but L1-2; the judge finds L1-1 far off."""

    def induce(world: str, folder: Path, seconds: float) -> dict[str, Any]:
        if "L1-2" not in world:
            (folder / "world_model.py").write_text("")
        return {"verdict": "explained", "program_hash": "0123", "rc": 0, "message": ""}

    monkeypatch.setattr(score, "_induce", induce)
    monkeypatch.setattr(score, "_judge", lambda spec, program: {"errors": FAR if "L1-1" in str(program) else NEAR})
    return Settings(results=tmp_path / "results", programs=tmp_path / "programs")


def test_a_line_says_how_right_a_program_and_its_verdict_are(settings: Settings) -> None:
    lines = {line["id"]: line for line in score.score_here(["L1-0", "L1-1", "L1-2"], settings)}
    told = {name: (line["category"], line["false_explained"], line["crash"]) for name, line in lines.items()}
    assert told == {"L1-0": ("exact", False, False), "L1-1": ("poor", True, False), "L1-2": ("crash", False, True)}
    assert {"date", "version", "commit", "program_hash", "verdict", "seconds", "tags"} <= set(lines["L1-0"])


def test_a_program_of_an_earlier_run_does_not_count(settings: Settings) -> None:
    old = settings.programs / "L1-2" / "world_model.py"
    old.parent.mkdir(parents=True)
    old.write_text("")
    assert next(score.score_here(["L1-2"], settings))["crash"]


def test_a_run_goes_on_where_it_stopped(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--results", str(settings.results), "--programs", str(settings.programs)]
    for ids, further, scored in (("L1:0", [], 1), ("L1:0-1", [], 1), ("L1:0-1", [], 0), ("L1:0-1", ["--again"], 2)):
        monkeypatch.setattr(sys, "argv", ["score.py", "--ids", ids, *places, *further])
        score.main()
        told, table = capsys.readouterr().out.split("Worlds drawn at random", 1)
        assert len(told.splitlines()) == scored
        assert "false" in table
    assert [line["id"] for line in settings.lines.read()] == ["L1-0", "L1-1"]


def test_only_commands_travel_to_a_cluster(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="A cluster needs Dask: pip install 'visualpatchworld[dask]'.")
    command = WorldJob("L1-7", settings).command(settings.results)
    assert command[1:5] == ["-m", "zoo.score", "--ids", "L1:7"]
    assert {"--again", "--json", str(settings.results), str(settings.programs)} <= set(command)

    def told(job: WorldJob, results: Path) -> list[str]:
        # A worker runs a command in the folder in which the package of drawn worlds lies.
        text = f"import json, pathlib; print(json.dumps({{{job.world!r}: pathlib.Path('zoo').is_dir()}}))"
        return [sys.executable, "-c", text]

    monkeypatch.setattr(WorldJob, "command", told)
    rows = list(score.score_on_cluster(["L1-0", "L1-1", "L1-2"], settings, "2"))
    assert len(rows) == 3
    assert all(row in rows for row in ({"L1-0": True}, {"L1-1": True}, {"L1-2": True}))
