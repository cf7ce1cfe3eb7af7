"""From an answer to a program: whatever stands around the code goes, and the state is always the world's own."""

import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.paper.baselines.answer import code_of, kept, own_code, program_of
from visualpatchworld.program.program import Program

STEP = "def step(state, action):\n    return state._replace(puck_x=state.puck_x + SPEED * action[0])"
ANSWERS = {
    "a block": f"Sure!\n```python\nSPEED = 2.0\n{STEP}\n```\nHope it helps.",
    "no block": f"SPEED = 2.0\n{STEP}",
    "a block never closed": f"```python\nSPEED = 2.0\n{STEP}\n",
    "two blocks": f"```python\nimport os\n```\n```py\nSPEED = 2.0\n{STEP}\n```",
    "a state of its own": "```\nfrom typing import NamedTuple\nclass State(NamedTuple):\n    x: float\nSPEED = "
    f"2.0\n{STEP}\n```",
    "a named tuple": f"```\nState = namedtuple('State', 'x')\nSPEED = 2.0\n{STEP}\n```",
    "an example of use": f"```\nSPEED = 2.0\n{STEP}\ns = State(0.0, 0.0)\nprint(step(s, [1]))\nif s:\n    step(s, "
    "[0])\n```",
    "imports again": "```\nfrom __future__ import annotations\nimport math\nimport numpy as np\nSPEED = "
    f"2.0\n{STEP}\n```",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_program_in_an_answer_keeps_the_contract(name: str, toy: Domain):
    text = program_of(ANSWERS[name], toy.scene.state_space, "A header.")
    program = Program(text).check(toy.scene.state_space, 1)
    dynamics = program.bind("numpy")
    assert dynamics.step(dynamics.State(1.0, 0.0), [0.5]) == (2.0, 0.0)
    assert own_code(text) == f"SPEED = 2.0\n\n\n{STEP}"


def test_code_that_can_not_be_parsed_stays_as_it_is():
    assert kept("def step(:") == "def step(:"
    assert code_of("nothing here") == "nothing here"
