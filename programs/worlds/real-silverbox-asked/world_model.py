"""the arrays: spring (output_v), drive (action[0]), field (output_v_speed), viscous (output_v_speed), drive (action[1]), drive (action[2]), field (output_v), quadratic (output_v_speed).

Verdict: valid-inside; stretches of 1000 rows that were not fitted to leave 0.00025 of output_v, their starts taken as unknowns; simulated freely, each field is off by 0.0055 of its spread after 25 steps and 0.0054 of its spread after 1000 steps.
Held-out error (median, of each field's spread of change): 0.0038 after 1, 0.0021 after 5, 0.0036 after 25 steps.
Inputs are on their way between rows: an action is (a0, a0_next, a0_last).
Found from a log by visualpatchworld 0.2.0.
"""

from typing import NamedTuple

import jax.numpy as np  # or: import numpy as np

DT = 0.001638404194  # s, one physics step
OUTPUT_V_SPRING = -170921.4664  # +- 2  spring: output_v
OUTPUT_V_GAIN_1 = 140224.6048  # +- 5e+01  drive: action[0]
OUTPUT_V_PUSH = -938.153348  # +- 0.4  field
OUTPUT_V_DRAG = -39.67233475  # +- 0.008  viscous: output_v_speed
OUTPUT_V_HARD = -640012.0216  # +- 2e+02  spring: output_v ** 3
OUTPUT_V_GAIN_2 = 16836.97705  # +- 3e+01  drive: action[1]
OUTPUT_V_GAIN_3 = 15602.64107  # +- 4e+01  drive: action[2]
OUTPUT_V_BEND = 5690.193603  # +- 7e+01  field: output_v ** 2
OUTPUT_V_DRAG_SQUARE = -0.02126837321  # +- 0.0002  quadratic: abs(output_v_speed) * output_v_speed


class State(NamedTuple):
    output_v: float
    output_v_speed: float


def step(state, action):
    """One step."""
    output_v_speed = state.output_v_speed + DT * (
        OUTPUT_V_SPRING * state.output_v
        + OUTPUT_V_GAIN_1 * action[0]
        + OUTPUT_V_PUSH
        + OUTPUT_V_DRAG * state.output_v_speed
        + OUTPUT_V_HARD * state.output_v ** 3
        + OUTPUT_V_GAIN_2 * action[1]
        + OUTPUT_V_GAIN_3 * action[2]
        + OUTPUT_V_BEND * state.output_v ** 2
        + OUTPUT_V_DRAG_SQUARE * np.abs(state.output_v_speed) * state.output_v_speed
    )
    output_v = state.output_v + DT * output_v_speed
    return state._replace(output_v=output_v, output_v_speed=output_v_speed)


def observe(state):
    """What is seen of a state."""
    return (
        state.output_v,  # output_v
    )


def read(observation):
    """A state that gives this observation."""
    output_v = observation[0]
    output_v_speed = 0.0  # not observed
    return State(output_v=output_v, output_v_speed=output_v_speed)
