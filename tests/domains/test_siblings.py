"""Worlds that differ from the nominal ones in what they hold: their forms follow from the scene, and are what their engines do."""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from dataclasses import replace

import numpy as np
import pytest

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.domains.reacher.simulator import STEP_S, SUBSTEPS, ReacherConstants, build_model, lengths
from visualpatchworld.domains.tworoom.simulator import DOOR_MARGIN_PX, PUSH_BACK_PX
from visualpatchworld.graphics import mujoco
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import emit
from visualpatchworld.trace.episode import collect
from visualpatchworld.trace.read import read_traces
from visualpatchworld.trace.write import write_traces


def sibling(name: str, **vary: object) -> Domain:
    """The domain with its constants varied; they are its nominal ones."""
    domain = load_domain(name)
    constants = domain.constants.varied(vary)
    return replace(domain.of(constants), constants=constants)


def rolled_errors(domain: Domain, program: Program, quantity: str) -> np.ndarray:
    """The largest error of the program in each probe of its family, rolled out beside the engine."""
    dynamics, simulator, errors = program.bind("numpy"), domain.simulator(domain.constants), []
    for probe in domain.family().probes(np.random.default_rng(1)):
        seen, _ = simulator.reset(options={"state": probe.start})
        state, worst = dynamics.State(*seen), 0.0
        for action in probe.actions:
            seen, *_ = simulator.step(action)
            state = dynamics.step(state, action)
            worst = max(worst, float(domain.quantities[quantity](np.array(state[: len(seen)], dtype=float), seen)))
        errors.append(worst)
    return np.array(errors)


def test_a_house_of_three_rooms_has_two_walls_with_a_door_each():
    domain = sibling("tworoom", rooms=3, door_center=60.0)
    form = domain.family().named("linear+border-and-wall")
    assert len(form.shapes["WALLS"].value) == 2 and all(len(doors) == 1 for *_, doors in form.shapes["WALLS"].value)
    program = emit(form, {"AGENT_SPEED": 5.0, "DOOR_MARGIN": DOOR_MARGIN_PX, "WALL_PUSH_BACK": PUSH_BACK_PX}, {})
    assert rolled_errors(domain, program, "agent_px").max() < 1e-3
    assert rolled_errors(domain, program.edited({"WALLS": form.shapes["WALLS"].value[:1]}), "agent_px").max() > 5


def true_arm(constants: ReacherConstants) -> dict[str, float | int]:
    """The lumped constants of an arm, from the engine's own inertia at the straight pose."""
    model = build_model(constants)
    data, full = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, full)
    apart = np.linalg.inv(np.tril(np.ones_like(full)))  # from angles against the world to angles between links
    shared = apart.T @ full @ apart / constants.gear
    links, hinges = ("UPPER_ARM", "FOREARM", "HAND"), ("SHOULDER", "ELBOW", "WRIST")
    values: dict[str, float | int] = {"STEP_SECONDS": STEP_S, "SUBSTEPS": SUBSTEPS, "HINGE_DAMPING": constants.damping / constants.gear}
    impedance, time_constant = 0.95, 2 * STEP_S / SUBSTEPS
    for i, (link, length) in enumerate(zip(links, lengths(constants), strict=True)):
        values |= {f"{link}_LENGTH": length, f"{link}_INERTIA": shared[i, i]}
        if i > 0:
            values[f"{link}_COUPLING"] = shared[i - 1, i] / np.sqrt(shared[i - 1, i - 1] * shared[i, i])
            values |= {
                f"{hinges[i]}_LIMIT": np.radians(constants.wrist_limit),
                f"{hinges[i]}_STIFFNESS": 1 / (impedance * time_constant**2),
                f"{hinges[i]}_BRAKING": 2 / (impedance * time_constant),
                f"{hinges[i]}_GIVE": (1 - impedance) / impedance * model.dof_invweight0[i] * constants.gear,
            }
    return {name: value if name == "SUBSTEPS" else float(value) for name, value in values.items()}


@pytest.mark.parametrize("vary", [{}, {"link1": 0.08, "link2": 0.15, "link3": 0.06, "density": 2000.0}], ids=["nominal", "uneven"])
def test_a_chain_of_three_links_swings_as_the_engines_does(vary: dict[str, object]):
    domain = sibling("reacher", links=3, **vary)
    assert isinstance(domain.constants, ReacherConstants)
    form = domain.family().named("joint+second+elbow-and-wrist")
    program = emit(form, true_arm(domain.constants), {}).check(domain.scene.state_space, 3)
    assert len(program.text.splitlines()) <= 125
    errors = rolled_errors(domain, program, "finger_m")
    assert np.median(errors) < 1e-6 and errors.max() < domain.probe_tolerances["finger_m"]


def test_traces_of_a_sibling_say_what_their_state_is(tmp_path):
    domain = load_domain("reacher")
    constants = domain.constants.varied({"links": 3})
    episodes = list(collect(domain.of(constants), constants, episodes=2, seed=0))
    path = tmp_path / "three.h5"
    write_traces(path, episodes, domain.of(constants).layout, domain=domain.name, constants=constants, seed=0)
    read = read_traces(path, domain)
    assert read.constants == constants
    np.testing.assert_array_equal(read.episodes[1].states, episodes[1].states)
    assert read.episodes[0].states.shape[1] == 8
