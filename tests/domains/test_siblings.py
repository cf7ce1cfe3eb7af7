"""Worlds that differ from the nominal ones in what they hold: their
forms follow from the scene, and are what their engines do.
"""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from dataclasses import replace

import numpy as np
import pytest

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.domains.pusht.simulator import PHYSICS_STEP_S, PushTConstants, build
from visualpatchworld.domains.reacher.simulator import STEP_S, SUBSTEPS, ReacherConstants, build_model, lengths
from visualpatchworld.domains.tworoom.simulator import DOOR_MARGIN_PX, PUSH_BACK_PX
from visualpatchworld.graphics import mujoco
from visualpatchworld.laws.contact import meet
from visualpatchworld.laws.rules.touching import parts_of
from visualpatchworld.program.program import Program
from visualpatchworld.program.source import emit
from visualpatchworld.scene.schema import Pose, gap
from visualpatchworld.trace.episode import collect
from visualpatchworld.trace.file import read_traces, write_traces


def sibling(name: str, **vary: object) -> Domain:
    """The domain with its constants varied; they are its nominal ones."""
    domain = load_domain(name)
    constants = domain.constants.varied(vary)
    return replace(domain.of(constants), constants=constants)


def rolled_errors(domain: Domain, program: Program, quantity: str, tests: str | None = None) -> np.ndarray:
    """The largest error of the program in each probe of its family
    (of those that ask for an axis), rolled out beside the engine.
    """
    dynamics, simulator, errors = program.bind("numpy"), domain.simulator(domain.constants), []
    for probe in (probe for probe in domain.family().probes(np.random.default_rng(1)) if tests in (None, probe.tests)):
        seen, _ = simulator.reset(options={"state": probe.start})
        state, worst = dynamics.State(*seen), 0.0
        for action in probe.actions:
            seen, *_ = simulator.step(action)
            state = dynamics.step(state, action)
            worst = max(worst, float(domain.error_metrics[quantity](np.array(state[: len(seen)], dtype=float), seen)))
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
    values: dict[str, float | int] = {
        "STEP_SECONDS": STEP_S,
        "SUBSTEPS": SUBSTEPS,
        "HINGE_DAMPING": constants.damping / constants.gear,
    }
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


@pytest.mark.parametrize(
    "vary", [{}, {"link1": 0.08, "link2": 0.15, "link3": 0.06, "density": 2000.0}], ids=["nominal", "uneven"]
)
def test_a_chain_of_three_links_swings_as_the_engines_does(vary: dict[str, object]):
    domain = sibling("reacher", links=3, **vary)
    assert isinstance(domain.constants, ReacherConstants)
    form = domain.family().named("joint+second+elbow-and-wrist")
    program = emit(form, true_arm(domain.constants), {}).check(domain.scene.state_space, 3)
    assert len(program.text.splitlines()) <= 125
    errors = rolled_errors(domain, program, "finger_m")
    assert np.median(errors) < 1e-6 and errors.max() < domain.probe_tolerances["finger_m"]


def true_table(constants: PushTConstants) -> dict[str, float | int]:
    """The constants of a table with blocks, from the engine's own bodies."""
    space, _, blocks = build(constants)
    recovery = (1 - space.collision_bias**PHYSICS_STEP_S) / PHYSICS_STEP_S
    values: dict[str, float | int] = {
        "AGENT_REACH": constants.reach,
        "AGENT_GAIN": constants.gain,
        "AGENT_DAMPING": constants.damping,
    }
    values |= {"STEP_SECONDS": constants.substeps * PHYSICS_STEP_S, "SUBSTEPS": constants.substeps}
    for owner in ("CONTACT", "BLOCK"):
        values |= {
            f"{owner}_RECOVERY": recovery,
            f"{owner}_SLOP": space.collision_slop,
            f"{owner}_FRICTION": constants.friction,
        }
    for name, block in zip(("BLOCK", "BLOCK_2"), blocks, strict=False):
        center = block.center_of_gravity
        values |= {f"{name}_INERTIA": block.moment / block.mass, f"{name}_MASS": block.mass}
        values |= {
            f"{name}_CENTER_X": center.x,
            f"{name}_CENTER_Y": center.y,
            f"{name}_DRAG": -np.log(constants.inertia_keep),
        }
    return values


def table_program(domain: Domain, name: str) -> Program:
    assert isinstance(domain.constants, PushTConstants)
    form, values = domain.family().named(name), true_table(domain.constants)
    return emit(form, {constant: values[constant] for constant in form.constants}, {}).check(
        domain.scene.state_space, 2
    )


BLOCKS = [
    {},
    {"second_shape": "disc", "second_mass": 2.0},
    {"block_shape": "disc", "second_shape": "disc", "second_mass": 1.3},
]


@pytest.mark.parametrize("vary", BLOCKS, ids=str)
def test_a_block_that_is_pushed_into_another_pushes_it(vary: dict[str, object]):
    domain = sibling("pusht", blocks=2, **vary)
    program = table_program(domain, "PD+pushed+quasi-static+smooth+meet")
    errors = rolled_errors(domain, program, "block_px", "blocks")
    assert np.median(errors) < 0.01 and np.quantile(errors, 0.75) < domain.probe_tolerances["block_px"]
    wrong = table_program(domain, "PD+pushed+quasi-static+smooth+pass"), program.edited({"BLOCK_2_MASS": 0.1})
    for rival, least in zip(wrong, (5.0, 0.5), strict=True):
        assert np.median(rolled_errors(domain, rival, "block_px", "blocks")) > least


def test_two_blocks_meet_where_their_outlines_overlap():
    domain = sibling("pusht", blocks=2)
    block, other = domain.scene.objects(domain.constants)[1:3]
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        poses = [(*rng.uniform(0, 160, 2), rng.uniform(0, 7)) for _ in range(2)]
        placed = [
            item.model_copy(update={"pose": Pose(x=x, y=y, angle=a)})
            for item, (x, y, a) in zip((block, other), poses, strict=True)
        ]
        meetings = meet(*poses, polygons=parts_of(block), other_polygons=parts_of(other))
        touch = max(depth for depth, *_ in meetings) >= 0
        assert touch == (gap(*placed) == 0)
        seen.add(touch)
    assert seen == {True, False}


def test_an_inertial_block_shows_its_velocity_and_slides_on_as_foreseen():
    domain = sibling("pusht", response="inertial", inertia_keep=0.05)
    assert domain.scene.state_space.names[-3:] == ("block_vx", "block_vy", "block_spin")
    form = domain.family().named("PD+pushed+inertial+smooth")
    assert not form.hidden
    assert (
        np.median(rolled_errors(domain, table_program(domain, form.name), "block_px", "response"))
        < domain.probe_tolerances["block_px"]
    )
    still = rolled_errors(domain, table_program(domain, "PD+pushed+quasi-static+smooth"), "block_px", "response")
    assert np.median(still) > 5 * domain.probe_tolerances["block_px"]


def test_every_block_has_to_be_at_its_goal():
    for name, second in (("pusht", slice(7, 9)), ("cube", slice(10, 13))):
        domain = sibling(name, blocks=2)
        goal, _ = domain.simulator(domain.constants).reset(seed=1)
        meets, away = next(iter(domain.metrics.values())), goal.copy()
        away[second] += 30.0 if name == "pusht" else 0.05
        assert meets(goal, goal) and not meets(away, goal)
        away = goal.copy()
        away[domain.scene.state_space.names.index("block_x")] += 30.0 if name == "pusht" else 0.05
        assert not meets(away, goal) and domain.cost(away[None], goal) > domain.cost(goal[None], goal) + 0.5


# What the data of a nominal Cube make of the constants, roughly; the two blocks share them.
HAND = {
    "GRIPPER_STRIDE": 0.0218, "GRIPPER_TURN": 0.067, "GRIPPER_GRIP": 1.0, "GRIPPER_FOLLOW": 0.37, "GRIPPER_FLOOR": 0.02,
    "GRIPPER_SHARE": 0.44, "GRIPPER_KEEP": 0.05, "GRIPPER_OUT": 1.03, "GRIPPER_LIFT": 0.92, "GRIPPER_WRIST": 0.52,
    "GRIPPER_SWAY": 0.13, "GRIPPER_SAG": 0.0012, "GRIPPER_SHOULDER": 0.135, "GRIPPER_WIDE": 0.0075, "GRIPPER_TALL": 0.01,
    "GRIPPER_ROOM": 0.017, "GRIPPER_STOP": 0.56, "BLOCKS_FALL": 0.0245,
}  # fmt: skip


def test_a_block_that_is_let_go_above_another_comes_to_lie_on_it():
    domain = sibling("cube", blocks=2)
    errors = {}
    for name in ("gripped+lagged+falls+stack", "gripped+lagged+falls+pass"):
        program = emit(domain.family().named(name), HAND, {}).check(domain.scene.state_space, 5)
        errors[name] = rolled_errors(domain, program, "block_m", "blocks")
        assert np.median(rolled_errors(domain, program, "block_m", "object")) < domain.probe_tolerances["block_m"]
    assert len(errors["gripped+lagged+falls+stack"]) == 6
    assert np.median(errors["gripped+lagged+falls+stack"]) < domain.probe_tolerances["block_m"]
    assert np.median(errors["gripped+lagged+falls+pass"]) > 1.5 * domain.probe_tolerances["block_m"]


@pytest.mark.parametrize(("name", "width"), [("pusht", 10), ("cube", 14)])
def test_a_table_with_two_blocks_goes_on_from_its_engine_state(name: str, width: int):
    domain = sibling(name, blocks=2)
    (episode,) = collect(domain, domain.constants, episodes=1, seed=2, pixels=False)
    assert episode.observations.shape[1] == width
    simulator = domain.simulator(domain.constants)
    for step in range(0, 60, 12):
        simulator.reset(options={"engine_state": episode.engine_states[step]})
        np.testing.assert_allclose(simulator.step(episode.actions[step])[0], episode.observations[step + 1], atol=1e-3)


def test_traces_of_a_sibling_say_what_their_state_is(tmp_path):
    domain = load_domain("reacher")
    constants = domain.constants.varied({"links": 3})
    episodes = list(collect(domain.of(constants), constants, episodes=2, seed=0))
    path = tmp_path / "three.h5"
    write_traces(path, episodes, domain.of(constants).layout, domain=domain.name, constants=constants, seed=0)
    read = read_traces(path, domain)
    assert read.constants == constants
    np.testing.assert_array_equal(read.episodes[1].observations, episodes[1].observations)
    assert read.episodes[0].observations.shape[1] == 8
