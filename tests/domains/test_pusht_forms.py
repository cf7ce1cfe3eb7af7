"""PushT's right form, given the engine's own constants, is the engine; and its wrong forms are not."""

import numpy as np
import pytest

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.domains.pusht.simulator import PHYSICS_STEP_S, PushTConstants, build
from visualpatchworld.induction.windows import Windows, cut_windows, predict, trajectories_of
from visualpatchworld.program.source import emit
from visualpatchworld.trace.episode import collect


@pytest.fixture(scope="module")
def domain() -> Domain:
    return load_domain("pusht")


def engine_values(constants: PushTConstants) -> dict[str, float | int]:
    space, _, (block, *_) = build(constants)
    return {
        "AGENT_REACH": constants.reach,
        "AGENT_GAIN": constants.gain,
        "AGENT_DAMPING": constants.damping,
        "STEP_SECONDS": constants.substeps * PHYSICS_STEP_S,
        "SUBSTEPS": constants.substeps,
        "BLOCK_INERTIA": block.moment / block.mass,
        "BLOCK_CENTER_X": block.center_of_gravity.x,
        "BLOCK_CENTER_Y": block.center_of_gravity.y,
        "BLOCK_RECOVERY": (1 - space.collision_bias**PHYSICS_STEP_S) / PHYSICS_STEP_S,
        "BLOCK_SLOP": space.collision_slop,
        "BLOCK_FRICTION": constants.friction,
        "BLOCK_DRAG": -np.log(constants.inertia_keep),
    }


def windows(domain: Domain, constants: PushTConstants, horizon: int) -> Windows:
    recordings = trajectories_of(collect(domain, constants, episodes=4, seed=3, pixels=False))
    return cut_windows(recordings, horizon, 200, np.random.default_rng(0))


def block_errors(domain: Domain, form_name: str, constants: PushTConstants, cut: Windows) -> np.ndarray:
    form = domain.family(domain.scene.objects(constants)).named(form_name)
    values = {name: value for name, value in engine_values(constants).items() if name in form.constants}
    program = emit(form, values, {})
    return domain.error_metrics["block_px"](predict(program, cut), cut.truths)[:, -1]


@pytest.mark.parametrize(
    "vary",
    [
        {},
        {"gain": 60.0, "agent_radius": 20.0, "moment": 2.0, "substeps": 5},
        {"block_shape": "L"},
        {"block_shape": "+", "block_scale": 22.0},
        {"block_shape": "hexagon"},
        {"block_shape": "disc"},
    ],
    ids=str,
)
def test_rigid_smooth_contact_is_what_the_engine_does(domain: Domain, vary: dict):
    constants = domain.constants.varied(vary)
    assert isinstance(constants, PushTConstants)
    errors = block_errors(domain, "PD+pushed+quasi-static+smooth", constants, windows(domain, constants, 10))
    assert np.median(errors) < 1e-3


def test_an_overlap_is_undone_even_while_the_agent_draws_back(domain: Domain):
    """An agent that moves in jumps enters the block before that
    yields; what is left of it then shows when it goes back.
    """
    constants = domain.constants.varied({"drive": "direct"})
    assert isinstance(constants, PushTConstants)
    simulator = domain.simulator(constants)
    first, _ = simulator.reset(options={"state": np.array([240.0, 210.0, 256.0, 256.0, 0.3, 0.0, 0.0])})
    actions = np.array([[0.02, 0.3]] * 3 + [[-0.02, -0.05]] * 3)
    seen = np.array([simulator.step(action)[0] for action in actions])
    errors = block_errors(
        domain, "direct+pushed+quasi-static+smooth", constants, Windows(first[None], actions[None], seen[None])
    )
    assert np.linalg.norm(seen[-1, 2:4] - seen[2, 2:4]) > 0.1  # the block still moves while the agent goes back
    assert errors[0] < 1e-6


def test_a_frozen_block_is_not_what_the_engine_does(domain: Domain):
    constants = domain.constants
    assert isinstance(constants, PushTConstants)
    assert (
        np.median(block_errors(domain, "PD+frozen+quasi-static+smooth", constants, windows(domain, constants, 10)))
        > 5.0
    )


def test_rough_contact_is_what_the_engine_does_with_friction(domain: Domain):
    constants = domain.constants.varied({"friction": 0.5})
    assert isinstance(constants, PushTConstants)
    cut = windows(domain, constants, 5)
    rough = np.median(block_errors(domain, "PD+pushed+quasi-static+rough", constants, cut))
    smooth = np.median(block_errors(domain, "PD+pushed+quasi-static+smooth", constants, cut))
    assert rough < 0.2 * smooth
