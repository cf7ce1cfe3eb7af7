"""Reacher's laws against its simulator, with the constants that
each kind of world really has, and what its probes show.
"""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

import numpy as np
import pytest

from visualpatchworld.domain import load_domain
from visualpatchworld.domains.reacher.simulator import STEP_S, SUBSTEPS, ReacherConstants, build_model
from visualpatchworld.graphics import mujoco
from visualpatchworld.induction.fit import fit
from visualpatchworld.induction.loss import search_over
from visualpatchworld.induction.windows import Windows
from visualpatchworld.program.program import Backend, Program
from visualpatchworld.program.source import emit, unfitted

REACHER = load_domain("reacher")
FAMILY = REACHER.family()
HEAVY = {"link1": 0.24, "link2": 0.06, "density": 2000, "damping": 0.005, "gear": 0.1, "wrist_limit": 80}
SLOW = {"link1": 0.06, "link2": 0.24, "density": 500, "damping": 0.02, "gear": 0.025, "wrist_limit": 170}
WORLDS = {
    "joint+second+wrist": {},
    "joint+second+none": {"limits": "none"},
    "joint+first+wrist": {"order": "first"},
    "joint+first+none": {"order": "first", "limits": "none"},
    "cartesian+first+wrist": {"space": "cartesian"},
    "cartesian+first+none": {"space": "cartesian", "limits": "none"},
}


def true_constants(vary: dict[str, object]) -> dict[str, float]:
    """What a perfect fit finds, from the engine's own inertia and its documented way of solving joint limits."""
    world = REACHER.constants.varied(vary)
    assert isinstance(world, ReacherConstants)
    model = build_model(world)
    data = mujoco.MjData(model)

    def inertia(wrist: float) -> np.ndarray:
        data.qpos[1] = wrist
        mujoco.mj_forward(model, data)
        full = np.zeros((2, 2))
        mujoco.mj_fullM(model, data, full)
        return full / world.gear

    straight, bent = inertia(0.0), inertia(np.pi / 2)
    upper, forearm = bent[0, 0] - bent[1, 1], bent[1, 1]
    impedance, time_constant = 0.95, 2 * STEP_S / SUBSTEPS
    limit = np.radians(world.wrist_limit)
    return {
        "STEP_SECONDS": STEP_S,
        "SUBSTEPS": SUBSTEPS,
        "UPPER_ARM_LENGTH": world.link1,
        "FOREARM_LENGTH": world.link2,
        "UPPER_ARM_INERTIA": upper,
        "FOREARM_INERTIA": forearm,
        "FOREARM_COUPLING": (straight[0, 1] - forearm) / np.sqrt(upper * forearm),
        "HINGE_DAMPING": world.damping / world.gear,
        "WRIST_LIMIT": limit,
        "WRIST_STIFFNESS": 1 / (impedance * time_constant**2),
        "WRIST_BRAKING": 2 / (impedance * time_constant),
        "WRIST_GIVE": (1 - impedance) / impedance * model.dof_invweight0[1] * world.gear,
        "HINGE_SPEED": world.gear / world.damping,
        "FINGER_SPEED": world.finger_speed * STEP_S,
        "FINGER_FARTHEST": world.link1 + world.link2,
        "FINGER_NEAREST": np.sqrt(world.link1**2 + world.link2**2 + 2 * world.link1 * world.link2 * np.cos(limit)),
        "FINGER_MEMORY": 0.5,
    }


def program(name: str, vary: dict[str, object]) -> Program:
    """The form with true constants."""
    form = FAMILY.named(name)
    values = {key: float(true_constants(vary)[key]) for key in form.constants}
    values = {key: int(value) if key == "SUBSTEPS" else value for key, value in values.items()}
    return emit(form, values, {})


def probed(vary: dict[str, object], seed: int) -> Windows:
    """What really happens in each probe."""
    simulator = REACHER.make(vary)
    runs = REACHER.family(REACHER.scene.objects(simulator.constants)).probes(np.random.default_rng(seed))
    starts = np.stack([simulator.reset(options={"state": run.start})[0] for run in runs])
    actions = np.stack([run.actions for run in runs])
    truths = np.stack([simulator.rollout(start[:4], one[None])[0] for start, one in zip(starts, actions, strict=True)])
    return Windows(starts, actions, truths)


def worst_errors(made: Program, windows: Windows, backend: Backend = "numpy") -> np.ndarray:
    """The largest fingertip error in each window, rolled out from its start."""
    dynamics = made.bind(backend)
    errors = []
    for start, actions, truth in zip(windows.starts, windows.actions, windows.truths, strict=True):
        state, predicted = dynamics.State(*start), []
        for action in actions:
            state = dynamics.step(state, action)
            predicted.append(np.array(state[:6], dtype=float))
        errors.append(REACHER.error_metrics["finger_m"](np.stack(predicted), truth).max())
    return np.array(errors)


@pytest.mark.parametrize("vary", [{}, HEAVY, SLOW], ids=["nominal", "heavy", "slow"])
@pytest.mark.parametrize("name", WORLDS)
def test_true_form_follows_its_world(name: str, vary: dict[str, object]):
    # Unequal links can not fold onto the base.
    world = {**WORLDS[name], **({} if name == "cartesian+first+none" else vary)}
    assert worst_errors(program(name, world), probed(world, seed=1)).max() < REACHER.probe_tolerances["finger_m"]


@pytest.mark.parametrize("vary", [{}, HEAVY, SLOW], ids=["nominal", "heavy", "slow"])
@pytest.mark.parametrize(
    ("world", "axis"),
    [("joint+second+wrist", "limits"), ("joint+second+wrist", "order"), ("joint+first+wrist", "limits")],
)
def test_each_axis_has_a_probe_that_refutes_its_other_value(world: str, axis: str, vary: dict[str, object]):
    other = {"limits": world.replace("wrist", "none"), "order": world.replace("second", "first")}[axis]
    everything = {**WORLDS[world], **vary}
    testing = [run.tests == axis for run in FAMILY.probes(np.random.default_rng(1))]
    assert (
        worst_errors(program(other, everything), probed(everything, seed=1))[testing]
        > REACHER.probe_tolerances["finger_m"]
    ).all()


@pytest.mark.parametrize(
    ("true", "other"),
    [("joint+second+wrist", "cartesian+second+wrist"), ("cartesian+first+wrist", "joint+first+wrist")],
)
def test_space_shows_in_different_poses(true: str, other: str):
    assert (worst_errors(program(other, {}), probed(WORLDS[true], seed=1)) > REACHER.probe_tolerances["finger_m"]).all()


def test_wrist_is_bent_beyond_every_limit_even_where_it_turns_slowly():
    windows = probed({**SLOW, "limits": "none"}, seed=2)
    testing = [run.tests == "limits" for run in FAMILY.probes(np.random.default_rng(2))]
    bends = np.abs(windows.truths[testing, :, 1]).max(axis=1)
    assert (bends > np.pi).all()


def test_program_follows_its_world_under_jax_too():
    windows = probed({}, seed=3)
    few = Windows(windows.starts[-1:], windows.actions[-1:], windows.truths[-1:])
    assert worst_errors(program("joint+second+wrist", {}), few, "jax").max() < REACHER.probe_tolerances["finger_m"]


def test_program_is_short():
    assert len(program("joint+second+wrist", {}).text.splitlines()) <= 110


@pytest.mark.parametrize("name", ["joint+first+wrist", "joint+second+none"])
def test_constants_are_found_from_broad_priors(name: str):
    form, windows = FAMILY.named(name), probed({**WORLDS[name], "gear": 0.04, "link2": 0.1}, seed=4)
    truth = true_constants({**WORLDS[name], "gear": 0.04, "link2": 0.1})
    rng, constants = np.random.default_rng(4), form.constants
    found = fit(
        unfitted(form), constants, windows, windows, REACHER.scene.state_space, rng, search_over(windows.horizon)
    )
    assert found.values == pytest.approx({key: truth[key] for key in constants}, rel=0.02)
