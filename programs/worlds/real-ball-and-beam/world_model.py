"""the arrays: drive (state.action_6_ago).

EMPIRICAL: no law explains this world; what follows is the best that was found, and may be wrong anywhere.

Verdict: unexplained; 25-step error 0.7 of the spread of motion on held-out stretches (90 % below 2); most is left of ball_position: 0.91 of its spread after 25 steps.
Held-out error (median, of each field's spread of change): 0.68 after 1, 0.67 after 5, 0.71 after 25 steps.
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.1  # s, one physics step
BALL_POSITION_GAIN = 1.93123527  # +- 0.03  drive: action_6_ago
BALL_POSITION_SEEN_FROM = -0.1979  # ball_position was not seen beyond
BALL_POSITION_SEEN_TO = 0.1123  # ball_position was not seen beyond


class State(NamedTuple):
    ball_position: float
    action_1_ago: float = 0.0  # not observed
    action_2_ago: float = 0.0  # not observed
    action_3_ago: float = 0.0  # not observed
    action_4_ago: float = 0.0  # not observed
    action_5_ago: float = 0.0  # not observed
    action_6_ago: float = 0.0  # not observed


def rates(state, action):
    """How fast each field changes."""
    return (BALL_POSITION_GAIN * state.action_6_ago,)


def nudged(state, slope, time):
    """The state after a time of even change."""
    return state._replace(ball_position=state.ball_position + time * slope[0])


def step(state, action):
    """One step."""
    k1 = rates(state, action)
    k2 = rates(nudged(state, k1, DT / 2), action)
    k3 = rates(nudged(state, k2, DT / 2), action)
    k4 = rates(nudged(state, k3, DT), action)
    ball_position = state.ball_position + DT / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
    ball_position = np.clip(ball_position, BALL_POSITION_SEEN_FROM, BALL_POSITION_SEEN_TO)
    return state._replace(
        ball_position=ball_position, action_1_ago=action[0], action_2_ago=state.action_1_ago, action_3_ago=state.action_2_ago,
        action_4_ago=state.action_3_ago, action_5_ago=state.action_4_ago, action_6_ago=state.action_5_ago,
    )
