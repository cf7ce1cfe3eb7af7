"""A domain in a few fields: what follows from them, where it is looked for, and what is said of one that is broken."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from visualpatchworld.domain import DOMAINS_VARIABLE, Domain, find_domains, load_domain
from visualpatchworld.errors import BadDomain, BadPicture, BadState, UnknownName
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.scene.state import StateField, StateSpace
from visualpatchworld.simulator import Constants, Simulator


class Drone(Simulator):
    """A point that goes where it is steered; a basket hangs below and turns."""

    state_space = StateSpace.of(drone_x="m", drone_y="m", basket_x="m", basket_y="m", basket_angle="rad")
    action_dim = 2

    def __init__(self, constants: Constants = Constants(), render_mode: str | None = None):
        super().__init__(constants, render_mode)
        self.state = np.zeros(5)

    def get_engine_state(self) -> np.ndarray:
        return self.state.copy()

    def set_engine_state(self, engine_state: np.ndarray) -> None:
        self.state = np.array(engine_state, dtype=float)

    def sample_start(self, rng: np.random.Generator) -> None:
        self.state = rng.uniform(-1, 1, 5)

    def advance(self, action: np.ndarray) -> None:
        self.state = self.state + np.array([*action, *action, 0.1])


DRONE = Domain(
    name="drone", simulator=Drone, constants=Constants(), goals={"there": {"basket_m": 0.4, "basket_rad": 0.1}}
)


def test_objects_and_columns_follow_from_the_fields():
    assert [(item.name, item.kind) for item in DRONE.scene.objects(DRONE.constants)] == [
        ("drone", "agent"),
        ("basket", "block"),
    ]
    assert (DRONE.scene.domain, DRONE.scene.length_unit, DRONE.gym_id) == ("drone", "m", "Drone-v0")
    graph = DRONE.scene.oracle(np.array([1.0, 2.0, 3.0, 4.0, 0.5]), DRONE.constants)
    assert graph["basket"].pose.angle == 0.5
    assert [column.width for column in DRONE.layout.columns] == [5, 2]
    with pytest.raises(BadState, match="'height' ends in none of"):
        StateField("height", "m")


def test_errors_and_tolerances_follow_from_the_success_radius():
    assert set(DRONE.error_metrics) == {"drone_m", "basket_m", "basket_rad"}
    assert DRONE.probe_tolerances == pytest.approx({"drone_m": 0.02, "basket_m": 0.02, "basket_rad": 0.005})
    state, other = np.array([0.0, 0.0, 3.0, 4.0, 0.1]), np.array([0.0, 0.0, 0.0, 0.0, 2 * np.pi - 0.1])
    assert DRONE.error_metrics["basket_m"](state, other) == pytest.approx(5.0)
    assert DRONE.error_metrics["basket_rad"](state, other) == pytest.approx(0.2)


def test_costs_are_in_success_radii_and_run_under_jax():
    goal, cost = np.zeros(5), DRONE.cost_for("default", "there")
    states = np.array([[9.0, 9.0, 0.4, 0.0, 0.05], [9.0, 9.0, 0.2, 0.0, 0.05]])
    assert DRONE.metrics["there"](states, goal).tolist() == [False, True]
    assert float(cost(states, goal)) == pytest.approx(np.hypot(0.5, 0.5))
    assert float(cost(jnp.asarray(states), jnp.asarray(goal))) == pytest.approx(np.hypot(0.5, 0.5), rel=1e-5)


def test_the_default_policy_drives_every_actuator_alone():
    act = DRONE.policy(DRONE.make(), np.random.default_rng(0))
    actions = np.array([act() for _ in range(100)])
    assert (actions.std(axis=0) > 0.3).all() and abs(np.corrcoef(actions.T)[0, 1]) < 0.7


def test_what_needs_pictures_says_that_there_are_none():
    with pytest.raises(BadPicture, match="Drone has no pictures"):
        DRONE.make().render()
    with pytest.raises(BadPicture, match="'drone' has no pictures"):
        extractor(DRONE)


def test_a_goal_that_names_no_error_is_refused():
    with pytest.raises(UnknownName, match="No error metric 'basket_px'"):
        Domain(name="drone", simulator=Drone, constants=Constants(), goals={"there": {"basket_px": 0.4}})
    with pytest.raises(BadDomain, match="names no goal"):
        Domain(name="drone", simulator=Drone, constants=Constants(), goals={})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DOMAIN = 1 / 0\n", "does not load .*ZeroDivisionError"),
        ("DOMAIN = (\n", "does not load .*SyntaxError"),
        ("DOMAIN = 3\n", "defines no DOMAIN"),
        ("from slider import DOMAIN\n", "is named 'slider'"),
    ],
)
def test_a_file_is_a_domain_or_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str):
    load_domain("slider")
    file = tmp_path / "crooked.py"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "notes.py").write_text("PLAN = 1\n", encoding="utf-8")
    monkeypatch.setenv(DOMAINS_VARIABLE, str(file))
    assert find_domains()["crooked"] == file
    with pytest.raises(BadDomain, match=said):
        load_domain("crooked")
    monkeypatch.setenv(DOMAINS_VARIABLE, str(tmp_path))
    assert ("crooked" in find_domains()) == text.startswith("DOMAIN") and "notes" not in find_domains()
