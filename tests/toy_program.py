"""The slider's own law as a program, and programs that are wrong in a known way."""

from visualpatchworld.program.program import Program

STATE = """from typing import NamedTuple

PUSH = 3.0
DRAG = 0.7


class State(NamedTuple):
    puck_x: float
    puck_vx: float


"""
RIGHT = Program(
    STATE
    + """def step(state, action):
    speed = state.puck_vx + 0.1 * (PUSH * action[0] - DRAG * state.puck_vx)
    return State(puck_x=state.puck_x + 0.1 * speed, puck_vx=speed)
"""
)
# The puck is wherever the action says, so that the best plan is known: the goal, at every step.
OBEYS = Program(
    STATE
    + """def step(state, action):
    return State(puck_x=action[0], puck_vx=0.0 * state.puck_vx)
"""
)
# A push to the left leads nowhere that could be named.
BREAKS_LEFTWARDS = Program(
    STATE
    + """def step(state, action):
    return State(puck_x=action[0] ** 0.5, puck_vx=0.0 * state.puck_vx)
"""
)
