"""Studies on the toy domain whose model's answers are written down beforehand."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from scripted_server import Answer, payload

from visualpatchworld.domain import Domain
from visualpatchworld.induction.windows import trajectories_of
from visualpatchworld.llm import Budget, Client, Endpoint
from visualpatchworld.paper.baselines import study as study_module
from visualpatchworld.paper.baselines.answer import SingleSteps, Verdict, judge, transitions_of
from visualpatchworld.paper.baselines.study import Study
from visualpatchworld.trace.episode import collect

RIGHT = """Here it is:
```python
def step(state, action):
    speed = state.puck_vx + 0.1 * (3.0 * action[0] - 0.7 * state.puck_vx)
    return State(puck_x=state.puck_x + 0.1 * speed, puck_vx=speed)
```
"""
STAYS = "```python\ndef step(state, action):\n    return state\n```"
# Right while the puck hardly moves the other way: a share of the transitions between nothing and all.
NO_DRAG = (
    "```python\ndef step(state, action):\n    v = state.puck_vx + 0.3 * action[0]\n    return "
    "State(state.puck_x + 0.1 * v, v)\n```"
)
RAISES = "```python\ndef step(state, action):\n    return State(state.speed, 0.0)\n```"
BROKEN = "```python\ndef step(state, action)\n    return state\n```"
CHATTER = "I am sorry, I can not help with that."


class ScriptedEndpoint(Endpoint):
    """Answers in turn without a server, and keeps the prompts."""

    def __init__(self, answers: list[Answer]):
        object.__setattr__(self, "url", "scripted")
        object.__setattr__(self, "answers", answers)
        object.__setattr__(self, "prompts", [])

    def post(self, body: dict) -> tuple[dict, int]:
        self.prompts.append(body["messages"][-1]["content"])  # type: ignore[attr-defined]
        return json.loads(payload(self.answers[min(len(self.prompts), len(self.answers)) - 1])), 0  # type: ignore[attr-defined]


StudyOf = Callable[..., Study]


@pytest.fixture(scope="session")
def verdicts() -> dict:
    return {}


@pytest.fixture(autouse=True)
def judged_once(monkeypatch: pytest.MonkeyPatch, verdicts: dict) -> None:
    """The same program on the same transitions gets the same
    verdict: it is run once, in a sandbox, and then remembered.
    """

    def remembered(text: str, transitions: SingleSteps, domain: Domain) -> Verdict:
        key = text, transitions.before.tobytes(), domain.name
        if key not in verdicts:
            verdicts[key] = judge(text, transitions, domain)
        return verdicts[key]

    monkeypatch.setattr(study_module, "judge", remembered)


@pytest.fixture
def study_of(toy: Domain) -> StudyOf:
    """A study with these answers, a budget and a seed."""
    recordings = trajectories_of(list(collect(toy, toy.constants, episodes=6, seed=3)))
    graph = toy.scene.oracle(recordings[0].observations[0], toy.constants)

    def make(answers: list[Answer], *, calls: int = 20, seed: int = 0, prompt_tokens: int = 4000) -> Study:
        client = Client(model="scripted", endpoint=ScriptedEndpoint(answers), budget=Budget(calls))
        return Study(
            domain=toy,
            graph=graph,
            train=transitions_of(recordings[:4]),
            held_out=transitions_of(recordings[4:]),
            client=client,
            rng=np.random.default_rng(seed),
            prompt_tokens=prompt_tokens,
            method="test",
        )

    return make


def prompts(study: Study) -> list[str]:
    """What the model was asked."""
    return study.client.endpoint.prompts  # type: ignore[union-attr]
