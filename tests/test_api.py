"""What `import visualpatchworld as vpw` offers, on the toy domain, whose answer is known."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import visualpatchworld as vpw
from visualpatchworld.domain import Domain
from visualpatchworld.induction.induce import Induction
from visualpatchworld.trace.episode import Traces


@pytest.fixture(scope="module")
def world() -> Domain:
    return vpw.load_domain("slider")


@pytest.fixture(scope="module")
def traces(world: Domain) -> Traces:
    return vpw.collect(world, episodes=10, seed=3)


@pytest.fixture(scope="module")
def found(world: Domain, traces: Traces) -> Induction:
    return vpw.induce(world, traces)


def test_products_of_small_matrices_stay_on_one_core():
    """NumPy reads the number of threads when it is first imported."""
    code = """
import os, sys

class Watch:
    def find_spec(self, name, *_):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"))

sys.meta_path.insert(0, Watch())
import visualpatchworld
"""
    asked = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for given, wanted in ({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**asked, **given}
        )
        assert done.stdout.split()[0] == wanted


def test_importing_loads_no_engine_and_no_jax():
    heavy = "{'jax', 'mujoco', 'pymunk', 'dm_control', 'cv2', 'scipy', 'h5py'}"
    code = (
        f"import sys, visualpatchworld as vpw; print(sorted({heavy} & set(sys.modules)), "
        "set(vpw.__all__) <= set(dir(vpw)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


def test_every_name_says_what_it_does_with_an_example():
    for name in set(vpw.__all__) - {"VpwError"}:
        assert name.lower() in getattr(vpw, name).__doc__.split("Example: ")[1].lower(), name


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'incude'"):
        _ = vpw.incude  # pyright: ignore[reportAttributeAccessIssue]


def test_the_chain_recovers_the_law_and_plans_with_it(world: Domain, traces: Traces, found: Induction):
    assert found.sketch.name == "push+drag"
    assert found.fit.values["PUCK_DRAG"] * found.fit.values["STEP_SECONDS"] == pytest.approx(0.07, rel=1e-4)
    evaluation = vpw.evaluate(world, found.program, traces, tasks=8, offset=20)
    assert evaluation.success >= 75 > evaluation.floors["zero"].success
    assert evaluation.report["n"] == 8


def test_values_say_what_they_are(world: Domain, traces: Traces, found: Induction):
    assert "puck_x (m)" in repr(world)
    assert repr(traces) == "<Traces of slider: 10 episodes, 310 rows>"
    assert repr(traces.episodes[0]) == "<Episode 0: 31 rows>"
    assert "PUCK_DRAG = " in str(found) and "on validation episodes" in str(found)
    assert str(found.program) == found.program.text and found.program.hash in repr(found.program)
    evidence = str(found.evidence).splitlines()
    assert evidence[0].startswith("push+drag: ") and evidence[0].endswith("probes") and "refuted by" in evidence[1]


def test_an_edited_program_is_measured(tmp_path: Path, world: Domain, traces: Traces, found: Induction):
    path = tmp_path / "world_model.py"
    path.write_text(found.program.edited({"PUCK_DRAG": 5.0}).text)
    edited = vpw.load_program(world, path)
    worse, better = (
        vpw.rollout_errors(world, program, traces, horizon=10)["puck_m"][10]["median"]
        for program in (edited, found.program)
    )
    assert worse > 100 * better


def test_traces_survive_a_file(tmp_path: Path, world: Domain, traces: Traces):
    read = vpw.load_traces(world, vpw.save_traces(world, traces, tmp_path / "episodes.h5"))
    assert (read.constants, read.seed) == (traces.constants, traces.seed)
    np.testing.assert_allclose(read.episodes[3].observations, traces.episodes[3].observations, rtol=1e-6)


def test_arrays_are_episodes(world: Domain, traces: Traces, found: Induction):
    runs = [(episode.observations, episode.actions) for episode in traces.episodes]
    again = vpw.traces_from_arrays(world, runs)
    np.testing.assert_array_equal(again.episodes[2].engine_states, traces.episodes[2].engine_states)
    assert vpw.rollout_errors(world, found.program, again) == vpw.rollout_errors(world, found.program, traces)
    with pytest.raises(vpw.VpwError, match="an action between each two states"):
        vpw.traces_from_arrays(world, [(runs[0][0], traces.episodes[0].actions[:-1])])
    with pytest.raises(vpw.VpwError, match="Run 1 holds a value that is not finite"):
        vpw.traces_from_arrays(world, [runs[0], (runs[0][0] * np.nan, runs[0][1])])


def test_a_changed_world_is_that_of_its_traces(world: Domain, found: Induction):
    changed = vpw.collect(world, episodes=10, seed=3, vary={"push": 9.0})
    assert vpw.induce(world, changed, sketch="push+drag").program.hash != found.program.hash
    evaluation = vpw.evaluate(world, found.program, changed, tasks=4, offset=5)
    assert evaluation.config.vary == {"push": "9.0"}


def test_a_planner_leads_to_its_goal(world: Domain, found: Induction):
    plan = vpw.make_planner(world, found.program)
    start, goal = np.array([0.0, 0.0]), np.array([0.3, 0.0])
    actions = plan(start, goal)
    ahead = vpw.compile_rollouts(found.program)(start, actions[None])  # pyright: ignore[reportArgumentType]
    assert float(world.cost(np.asarray(ahead[0]), goal)) < 0.5


def test_films_are_written(tmp_path: Path, world: Domain, traces: Traces, found: Induction):
    evaluation = vpw.evaluate(world, found.program, traces, tasks=4, offset=10)
    assert {path.suffix for path in vpw.film(evaluation, tmp_path / "films", count=1)} == {".mp4", ".gif"}


def test_bad_input_gets_one_sentence(world: Domain, traces: Traces, found: Induction):
    other = vpw.load_domain("tworoom")
    with pytest.raises(vpw.VpwError, match="of the domain 'slider', not of 'tworoom'"):
        vpw.induce(other, traces)
    with pytest.raises(vpw.VpwError, match="No metric 'at_gaol'"):
        vpw.evaluate(world, found.program, traces, metric="at_gaol")
    with pytest.raises(vpw.VpwError, match=r"No way to score 'induce'\. Found: hybrid, induced, simulator"):
        vpw.evaluate(world, found.program, traces, score="induce")  # pyright: ignore[reportArgumentType]
    with pytest.raises(vpw.VpwError, match="at least one task"):
        vpw.evaluate(world, found.program, traces, tasks=0)
    with pytest.raises(vpw.VpwError, match="No episode has 400 steps"):
        vpw.rollout_errors(world, found.program, traces, horizon=400)
    with pytest.raises(vpw.VpwError, match="no numbers to fit to"):
        vpw.induce(world, traces, view="vlm")


def test_no_setting_is_ignored(world: Domain, traces: Traces, tmp_path: Path):
    with pytest.raises(vpw.VpwError, match="for a domain with its traces"):
        vpw.induce("Pendulum-v1", thorough=True)  # type: ignore[call-overload]
    with pytest.raises(vpw.VpwError, match="for a world without traces"):
        vpw.induce(world, traces, steps=100)  # type: ignore[call-overload]
    with pytest.raises(vpw.VpwError, match="leave out the sandbox"):
        vpw.evaluate_goal("Pendulum-v1", vpw.Program(""), {"angle": 0.0}, sandbox=True)
