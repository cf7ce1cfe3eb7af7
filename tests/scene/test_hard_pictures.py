"""Pictures that were once read quite wrongly, drawn again from
their states: what one mean over many pictures would hide.
"""

import numpy as np
import pytest

from visualpatchworld.domain import load_domain
from visualpatchworld.scene.calibrate import Audit, audit, extractor, read_moments
from visualpatchworld.scene.extractor import Moment


def judged(name: str, *states: tuple[float, ...]) -> Audit:
    """The audit of single pictures of these states."""
    domain = load_domain(name)
    tool, world = extractor(domain), domain.make()
    moments = []
    for state in states:
        reached, _ = world.reset(options={"state": np.array(state)})
        moments.append(Moment(world.render()[None], None, reached))
    return audit(domain, tool, read_moments(tool, moments))


@pytest.mark.parametrize(
    "state",
    [
        (84, 464, 54.8, 451.8, 0.8),  # a corner of the table
        (139, 477, 163.2, 476.7, 6.25),  # the bar alone is in the picture
        (362, 464, 453.5, 138.1, 4.5),  # the stem is cut
        (145, 82, 51.0, 110.2, 1.2),
        (73, 507, 137.4, 481.6, 6.23),  # the stem would fit beside the bar, too
    ],
)
def test_a_block_that_the_edge_cuts_off_is_not_turned_otherwise(state: tuple[float, ...]):
    found = judged("pusht", (*state, 0.0, 0.0))
    assert (found.precision, found.recall) == (1.0, 1.0)
    assert found.worst["block_px"] < 3.0
    assert found.worst["angle_rad"] < 0.05


def test_an_agent_half_under_the_block_is_where_it_is():
    states = [
        (257.3, 209.4, 240.2, 221.6, 5.66),
        (227.0, 381.5, 213.1, 381.6, 3.08),
        (203.8, 365.5, 204.7, 356.4, 4.13),
    ]
    assert judged("pusht", *((*state, 0.0, 0.0) for state in states)).worst["agent_px"] < 2.5


def test_a_nearly_straight_arm_is_turned_all_the_way():
    joints = [(2.808, -0.004), (3.471, 0.005), (5.14, -0.06), (1.505, -0.051), (0.643, -0.172)]
    found = judged("reacher", *((*pair, 0.0, 0.0, 0.0, 0.0) for pair in joints))
    assert found.worst["q_rad"] < 0.02


@pytest.mark.parametrize(
    "state",
    [
        (0.474, 0.036, 0.259, 0.621, 0.222, 0.0, 0.457, 0.03, 0.206, 0.631),
        (0.485, -0.093, 0.276, -2.113, 0.134, 0.0, 0.486, -0.081, 0.203, -2.115),
        (0.443, 0.041, 0.194, -0.762, 0.221, 0.0, 0.443, 0.043, 0.131, -0.566),
    ],
)
def test_a_falling_block_is_not_taken_for_one_that_rests_behind(state: tuple[float, ...]):
    found = judged("cube", state)
    assert found.recall == 1.0
    assert found.worst["block_m"] < 0.03


@pytest.mark.parametrize(
    "state",
    [
        (0.532, -0.146, 0.073, 2.557, 0.978, 0.0, 0.51, -0.03, 0.02, 1.059),  # closed on nothing
        (0.41, -0.239, 0.121, 1.004, 0.978, 0.0, 0.529, -0.115, 0.02, -1.809),
        (0.277, -0.344, 0.12, 1.908, 0.004, 0.0, 0.322, -0.278, 0.02, 0.571),  # at the end of its room
        (0.617, 0.196, 0.143, -0.172, 0.003, 0.0, 0.518, 0.262, 0.02, 1.946),
    ],
)
def test_a_hand_is_seen_where_the_policy_never_brings_it(state: tuple[float, ...]):
    assert judged("cube", state).worst["effector_m"] < 0.04


def test_an_audit_tells_the_worst_that_a_mean_hides():
    domain = load_domain("tworoom")
    tool, world = extractor(domain), domain.make()
    moments = []
    for i in range(10):
        (x, y), _ = world.reset(options={"state": np.array([40.0 + 4 * i, 60.0])})
        # One of the true states is wrong on purpose.
        moments.append(Moment(world.render()[None], None, np.array([x + 5.0 * (i == 7), y])))
    found = audit(domain, tool, read_moments(tool, moments))
    assert found.worst["agent_px"] == pytest.approx(5.0, abs=0.5)
    assert found.rmse["agent_px"] < 2.0 < found.p99["agent_px"] <= found.worst["agent_px"]
