"""Analyses of the toy domain, whose law is known, and of a world with walls: what they must say is known."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_program import BREAKS_LEFTWARDS, OBEYS, RIGHT, STATE

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.paper.analysis import Analysis, find_analyses, read_analyses, write_analysis
from visualpatchworld.paper.cell import BadResults
from visualpatchworld.paper.measure import Measurand, compare, measure_analysis
from visualpatchworld.paper.suite import find_programs
from visualpatchworld.program.program import Program
from visualpatchworld.scene.calibrate import SEED
from visualpatchworld.trace.episode import Episode, collect

RESTS = Program(STATE + "def step(state, action):\n    return state\n")


def measurand(
    domain: Domain, episodes: Sequence[Episode], program: Program | None = RIGHT, **changes: Any
) -> Measurand:
    fields: dict[str, Any] = {"source": "toy", "method": "vpw"} | changes
    return Measurand(domain=domain, constants=domain.constants, episodes=episodes, program=program, **fields)


def test_an_analysis_says_what_it_was_measured_from(toy: Domain, toy_episodes: list[Episode]):
    analysis = measure_analysis("rollout", measurand(toy, toy_episodes, written_by="small, 8 calls", seed=3))
    assert (analysis.kind, analysis.domain, analysis.title, analysis.source) == (
        "rollout",
        "slider",
        "Slider toy",
        "toy",
    )
    assert (analysis.program, analysis.written_by, analysis.seed) == (RIGHT.hash, "small, 8 calls", 3)
    assert {"visualpatchworld", "jax", "python"} <= set(analysis.versions)
    others = measure_analysis("rollout", measurand(toy, toy_episodes[::-1]))
    assert others.episodes != analysis.episodes  # another episode is for tests


def test_the_law_itself_never_strays(toy: Domain, toy_episodes: list[Episode]):
    errors = measure_analysis("rollout", measurand(toy, toy_episodes)).data["rollout_error"]["puck_m"]
    assert [len(errors[name]) for name in ("mean", "median", "p90")] == [25, 25, 25]
    assert max(errors["p90"]) < 1e-9


def test_rollout_errors_are_the_distances_that_they_should_be(toy: Domain, toy_episodes: list[Episode]):
    data = measure_analysis("rollout", measurand(toy, toy_episodes, OBEYS)).data
    held_out = toy_episodes[-1]  # the last fifth of three episodes, at least one
    starts = range(len(held_out) - 24)
    assert data["windows"] == len(starts)
    # The program says that the puck is where the last action points.
    off = [abs(held_out.actions[t + 24, 0] - held_out.observations[t + 25, 0]) for t in starts]
    assert data["rollout_error"]["puck_m"]["mean"][24] == pytest.approx(np.mean(off), rel=1e-4)
    assert data["rollout_error"]["puck_m"]["median"][24] == pytest.approx(np.median(off), rel=1e-4)


@pytest.mark.parametrize("kind", ["rollout", "motion", "smoothness", "transition"])
def test_a_sandboxed_program_is_measured_like_a_trusted_one(kind: str, toy: Domain, toy_episodes: list[Episode]):
    trusted, locked_in = (
        measure_analysis(kind, measurand(toy, toy_episodes, OBEYS, sandboxed=sandboxed)) for sandboxed in (False, True)
    )
    assert_alike(json.loads(json.dumps(trusted.data)), json.loads(json.dumps(locked_in.data)))


def assert_alike(one: Any, other: Any) -> None:
    """The same data but for rounding: a compiled rollout and a plain one need not agree in the last bit."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_alike(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_alike(a, b)
    else:
        assert one == (pytest.approx(other, rel=1e-4, abs=1e-5) if isinstance(other, float) else other)


def test_what_is_not_finite_is_told_and_kept_as_null(tmp_path: Path, toy: Domain, toy_episodes: list[Episode]):
    rollout = measure_analysis("rollout", measurand(toy, toy_episodes, BREAKS_LEFTWARDS))
    assert rollout.data["not_finite"] > 0
    assert rollout.data["rollout_error"]["puck_m"]["mean"][-1] is None  # an infinite error among them
    motion = measure_analysis("motion", measurand(toy, toy_episodes, BREAKS_LEFTWARDS)).data["motion"]["puck_m"]
    assert motion["not_finite"] == sum(value is None for value in motion["predicted"]) > 0
    landscape = measure_analysis("smoothness", measurand(toy, toy_episodes, BREAKS_LEFTWARDS))
    assert None in landscape.data["program"] and landscape.data["merit"]["agreement"] < 1
    for analysis in (rollout, landscape):
        text = write_analysis(tmp_path, analysis).read_text()
        assert "NaN" not in text and "Infinity" not in text


def test_motion_is_that_of_the_liveliest_episode_one_step_at_a_time(toy: Domain, toy_episodes: list[Episode]):
    episodes = toy_episodes * 4  # so that more than one is for tests
    ways = [np.abs(np.diff(episode.observations[:, 0])) for episode in episodes[-2:]]
    longest = max(ways, key=np.sum)
    motion = measure_analysis("motion", measurand(toy, episodes)).data["motion"]["puck_m"]
    assert motion["true"] == pytest.approx(longest, rel=1e-5)
    assert motion["predicted"] == pytest.approx(longest, rel=1e-5)
    assert motion["true_sum"] == pytest.approx(longest.sum(), rel=1e-5)
    still = measure_analysis("motion", measurand(toy, episodes, RESTS)).data["motion"]["puck_m"]
    assert (still["predicted_sum"], still["true_sum"]) == (0.0, motion["true_sum"])


def test_landscapes_are_compared_by_order_gap_steps_and_best_action():
    engine = np.array([0.0, 1.0, 2.0, 4.0])
    same = compare(2.0 + 0 * engine + engine, engine)
    assert (same["agreement"], same["gap"], same["engine_step"], same["program_step"], same["regret"]) == (
        1.0,
        0.5,
        0.5,
        0.5,
        0.0,
    )
    reversed_ = compare(engine[::-1], engine)
    assert (reversed_["agreement"], reversed_["regret"]) == (0.0, 1.0)
    flat = compare(np.zeros(4), engine)
    assert (flat["agreement"], flat["program_step"], flat["gap"]) == (0.0, 0.0, pytest.approx(7 / 16))
    assert compare(np.full(4, np.nan), engine)["gap"] is None


def test_a_program_without_walls_is_smoother_than_the_engine_beside_a_wall():
    domain = load_domain("tworoom")
    walks = Program(
        "from typing import NamedTuple\n\n\nclass State(NamedTuple):\n    agent_x: float\n    agent_y: float\n\n\n"
        "def step(state, action):\n    return State(state.agent_x + 5 * action[0], state.agent_y + 5 * action[1])\n"
    )
    episodes = list(collect(domain, domain.constants, episodes=15, seed=5))
    data = measure_analysis("smoothness", measurand(domain, episodes, walks)).data
    assert data["beside"]
    assert np.shape(data["engine"]) == np.shape(data["program"]) == (41, 41)
    assert data["merit"]["program_step"] < 0.5 * data["merit"]["engine_step"]
    assert data["merit"]["agreement"] < 0.98
    # The grid is what it says: zero actions cost the distance from start to goal under both, in success radii.
    distance = domain.goal_distances["at_goal"](np.array(data["start"]), np.array(data["goal"]))
    assert data["program"][20][20] == pytest.approx(distance, rel=1e-4)
    assert data["engine"][20][20] == pytest.approx(distance, rel=1e-4)


def test_a_transition_has_pictures_and_what_was_foreseen(tmp_path: Path, toy: Domain, toy_episodes: list[Episode]):
    analysis = measure_analysis("transition", measurand(toy, toy_episodes))
    data, episode = analysis.data, toy_episodes[-1]
    moves = np.abs(np.diff(episode.observations[:, 0]))
    assert data["step"] == np.argmax(moves)
    assert data["before"] == pytest.approx(episode.observations[data["step"]], rel=1e-5)
    assert data["predicted"] == pytest.approx(data["after"], rel=1e-5)
    assert data["error"]["puck_m"] < 1e-9
    assert data["program_text"] == RIGHT.text
    assert data["graph"]["objects"][0]["name"] == "puck"
    assert episode.frames is not None
    write_analysis(tmp_path, analysis)
    (read,) = read_analyses(tmp_path)
    assert np.array_equal(read.pictures["before"], episode.frames[data["step"]])
    assert np.array_equal(read.pictures["after"], episode.frames[data["step"] + 1])


def test_an_audit_draws_both_graphs_where_the_puck_is(toy: Domain, toy_episodes: list[Episode]):
    analysis = measure_analysis("audit", measurand(toy, toy_episodes, None, method="tool", frames=10))
    assert (analysis.data["precision"], analysis.data["recall"], analysis.data["frames"]) == (1.0, 1.0, 10)
    assert analysis.data["rmse"]["puck_m"] <= analysis.data["worst"]["puck_m"] < 0.03
    assert analysis.data["p99"]["puck_m"] <= analysis.data["worst"]["puck_m"]
    assert analysis.program == ""
    assert set(analysis.data["looks"]) == set(analysis.pictures) and len(analysis.pictures) == 3
    for name, look in analysis.data["looks"].items():
        rows, columns = np.nonzero(analysis.pictures[name][..., 1] < 128)  # the red puck on white
        for path in ("tool", "oracle"):
            middle = np.mean(look[path]["puck"][0], axis=0)
            assert middle == pytest.approx([columns.mean(), rows.mean()], abs=2)


def test_an_audit_draws_pictures_where_a_file_has_none(toy: Domain, toy_episodes: list[Episode]):
    bare = [replace(episode, frames=None) for episode in toy_episodes]
    drawn, kept = (
        measure_analysis("audit", measurand(toy, each, None, method="tool", frames=6)) for each in (bare, toy_episodes)
    )
    assert drawn.data["rmse"] == kept.data["rmse"]
    with pytest.raises(VpwError, match="calibration was fitted to"):
        measure_analysis("audit", measurand(toy, bare, None, method="tool", episodes_seed=SEED))


def test_kinds_are_found_and_others_refused(toy: Domain, toy_episodes: list[Episode]):
    assert find_analyses() == {
        "audit": "tool",
        "motion": "program",
        "rollout": "program",
        "smoothness": "program",
        "transition": "program",
    }
    with pytest.raises(UnknownName, match=r"No analysis 'rolout'.*Did you mean 'rollout'\?"):
        measure_analysis("rolout", measurand(toy, toy_episodes))
    with pytest.raises(VpwError, match="give --program FILE"):
        measure_analysis("rollout", measurand(toy, toy_episodes, None))
    short = [
        replace(
            each,
            observations=each.observations[:9],
            engine_states=each.engine_states[:9],
            actions=each.actions[:8],
            frames=None,
        )
        for each in toy_episodes
    ]
    with pytest.raises(VpwError, match="No test episode of 'toy' has 25 steps"):
        measure_analysis("rollout", measurand(toy, short))


def test_analyses_are_read_as_they_were_written(tmp_path: Path):
    analysis = Analysis(
        kind="newest", domain="slider", title="Slider", source="slider", method="vpw", program="aaa", seed=0, episodes="eee", versions={},
        data={"horizon": 1}, pictures={"one": np.zeros((4, 4, 3), np.uint8)},
    )  # fmt: skip
    path = write_analysis(tmp_path, analysis)
    assert path.name == "newest-slider-vpw.json"
    (read,) = read_analyses(tmp_path)
    assert (read.data, read.pictures["one"].shape) == ({"horizon": 1}, (4, 4, 3))
    path.write_text("[]")
    with pytest.raises(BadResults, match="does not hold an analysis"):
        read_analyses(tmp_path)


def test_programs_are_found_by_the_names_of_their_folders(tmp_path: Path):
    for folder in ("pond", "pond_demos", "pond-linear", "worldcoder-pond", "pomdp-coder-pond", "worldcoder-sea"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "world_model.py").touch()
    (tmp_path / "gif-mcts-pond").mkdir()  # wrote nothing that loads
    found = [(program.method, program.sandboxed) for program in find_programs(tmp_path, "pond", "pond")]
    assert found == [("vpw", False), ("linear", False), ("pomdp-coder", True), ("worldcoder", True)]
    assert [program.method for program in find_programs(tmp_path, "pond", "pond_demos")] == [
        "vpw",
        "pomdp-coder",
        "worldcoder",
    ]
