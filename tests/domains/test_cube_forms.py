"""Cube's forms against the simulator: what its laws foresee, and that its probes refute wrong forms."""

from collections.abc import Mapping

import numpy as np
import pytest

from visualpatchworld.domain import load_domain
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import emit

CUBE = load_domain("cube")
FAMILY = CUBE.family()
# What the data of a nominal simulator make of the constants, roughly.
VALUES = {
    "GRIPPER_STRIDE": 0.0218, "GRIPPER_TURN": 0.067, "GRIPPER_GRIP": 1.0, "GRIPPER_FOLLOW": 0.37, "GRIPPER_FLOOR": 0.02,
    "GRIPPER_SHARE": 0.44, "GRIPPER_KEEP": 0.05, "GRIPPER_OUT": 1.03, "GRIPPER_LIFT": 0.92, "GRIPPER_WRIST": 0.52,
    "GRIPPER_SWAY": 0.13, "GRIPPER_SAG": 0.0012, "GRIPPER_SHOULDER": 0.135, "GRIPPER_WIDE": 0.0075, "GRIPPER_TALL": 0.01,
    "GRIPPER_ROOM": 0.017, "GRIPPER_STOP": 0.56, "BLOCK_FALL": 0.0245,
}  # fmt: skip
DIRECT = {**VALUES, "GRIPPER_STRIDE": 0.05, "GRIPPER_TURN": 0.3}
# A block held in the air, and one that lies on the table far from the hand.
HELD = np.array([0.40, -0.10, 0.20, 0.3, 0.56, 1.0, 0.40, -0.10, 0.20, 0.3])
APART = np.array([0.40, -0.10, 0.20, 0.3, 0.2, 0.0, 0.45, 0.15, 0.02, 0.5])
MOVE, CLOSE, OPEN = np.array([0.4, 0.4, 0.2, 0.3, 0.0]), np.array([0, 0, 0, 0, 1.0]), np.array([0, 0, 0, 0, -1.0])


def program(name: str, values: Mapping[str, float] = VALUES) -> Program:
    return emit(FAMILY.named(name), values, {}).check(CUBE.scene.state_space, 5)


def watch(start: np.ndarray, actions: np.ndarray, vary: Mapping[str, object] | None = None) -> np.ndarray:
    """What the simulator does, from its start on."""
    simulator = CUBE.make(vary)
    first, _ = simulator.reset(options={"state": start})
    return np.array([first, *(simulator.step(action)[0] for action in actions)])


def worst_error(name: str, seen: np.ndarray, actions: np.ndarray) -> float:
    """The largest error of a form that foresees what was seen, in units of what is tolerated of a probe."""
    dynamics = program(name, DIRECT if "direct" in name else VALUES).bind("numpy")
    state, foreseen = dynamics.State(*seen[0]), []
    for action in actions:
        state = dynamics.step(state, action)
        foreseen.append(state[: len(seen[0])])
    errors = {
        quantity: float(np.max(error(np.array(foreseen), seen[1:]))) for quantity, error in CUBE.error_metrics.items()
    }
    return max(errors[quantity] / tolerance for quantity, tolerance in CUBE.probe_tolerances.items())


def test_the_axes_make_eight_forms():
    assert [form.name for form in FAMILY.forms()] == [
        *("free+direct+floats", "free+lagged+floats", "coupled+direct+floats", "coupled+lagged+floats"),
        *("gripped+direct+floats", "gripped+direct+falls", "gripped+lagged+floats", "gripped+lagged+falls"),
    ]


@pytest.mark.parametrize("form", FAMILY.forms(), ids=lambda form: form.name)
def test_every_form_is_a_short_program(form):
    assert len(program(form.name).text.splitlines()) <= 140


CARRY_AND_DROP = np.concatenate([np.tile(MOVE + CLOSE, (6, 1)), np.tile(OPEN, (8, 1))])


@pytest.mark.parametrize(
    ("name", "vary"),
    [
        ("gripped+lagged+falls", {}),
        ("gripped+lagged+floats", {"release": "floats"}),
        ("gripped+direct+falls", {"effector": "direct"}),
        ("coupled+lagged+floats", {"object": "coupled"}),
        ("free+lagged+floats", {"object": "free"}),
    ],
)
def test_a_form_foresees_its_own_world_and_no_other(name: str, vary: Mapping[str, object]):
    seen = [watch(start, CARRY_AND_DROP, vary) for start in (HELD, APART)]
    errors = {form.name: max(worst_error(form.name, run, CARRY_AND_DROP) for run in seen) for form in FAMILY.forms()}
    assert [form for form, error in errors.items() if error < 1] == [name], errors


def test_the_hand_comes_to_rest_above_the_table():
    low = APART.copy()
    low[2] = 0.08
    down = np.tile([0.0, 0.0, -0.8, 0.0, -1.0], (12, 1))
    assert worst_error("gripped+lagged+falls", watch(low, down), down) < 0.7


def test_a_block_in_a_drop_probe_begins_between_the_fingers():
    for probe in FAMILY.probes(np.random.default_rng(3)):
        if probe.tests == "release":
            state, _ = CUBE.make().reset(options={"state": probe.start})
            assert state[5] > 0.5


@pytest.mark.parametrize(("height_m", "holds"), [(0.05, True), (0.09, False)], ids=["from just above", "from too high"])
def test_fingers_that_close_on_the_way_down_hold_only_what_they_came_down_around(height_m: float, holds: bool):
    start = np.array([0.42, 0.0, height_m, 0.3, 0.0, 0.0, 0.42, 0.0, 0.02, 0.3])
    actions = np.concatenate([np.tile([0, 0, -0.8, 0, 1.0], (5, 1)), np.tile([0, 0, 0.6, 0, 1.0], (6, 1))])
    seen = watch(start, actions)
    assert (seen[-1, 8] > 0.05) == holds
    assert worst_error("gripped+lagged+falls", seen, actions) < 1.5
