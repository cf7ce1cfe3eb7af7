"""PoE-World: experts where the product is surprised, weights
of highest likelihood, pruning, and the mode as one program.
"""

import numpy as np
from paper.baselines.conftest import StudyOf, prompts

from visualpatchworld.llm import Reply
from visualpatchworld.paper.baselines import poe_world
from visualpatchworld.paper.baselines.poe_world import (
    Expert,
    PoeWorld,
    Product,
    experts_of,
    field_of,
    fit_weights,
    likeliest,
    opinions,
    surprise,
)
from visualpatchworld.program.program import Program

X = (
    "def puck_x(state, action):\n    return state.puck_x + 0.1 * (state.puck_vx + 0.1 * (PUSH * "
    "action[0] - 0.7 * state.puck_vx))"
)
V = "def puck_vx(state, action):\n    return state.puck_vx + 0.1 * (PUSH * action[0] - 0.7 * state.puck_vx)"
RIGHT = f"```python\nPUSH = 3.0\n{X}\n\n{V}\n```"
WRONG = "```python\ndef puck_x_jumps(state, action):\n    return state.puck_x + action[0]\n```"
SILENT = "```python\ndef puck_x(state, action):\n    return None\n```"


def reply(text: str) -> Reply:
    return Reply(text, "stop", 0, 0, 1)


def test_the_product_is_found_and_keeps_the_contract(study_of: StudyOf):
    study = study_of(["no code", WRONG, SILENT, RIGHT])
    found = PoeWorld().search(study)
    assert found is not None and found.score == 1.0
    assert found.held_out.way == "batched"
    Program(found.text).check(study.domain.scene.state_space, 1)
    assert [c.how for c in study.candidates] == [
        "no expert: action",
        "no expert: momentum",
        "no expert: contact",
        "experts: constraint",
    ]


def test_the_four_prompts_take_turns_with_batches_of_ten(study_of: StudyOf):
    study = study_of(["no code"], calls=5)
    PoeWorld().search(study)
    hints = [
        "the action itself",
        "a velocity carries on",
        "another one touches",
        "stops or limits",
        "the action itself",
    ]
    assert all(hint in prompt for hint, prompt in zip(hints, prompts(study), strict=True))
    assert all(prompt.count("State(puck_x=") == 10 for prompt in prompts(study))


def test_nothing_is_asked_where_nothing_surprises(study_of: StudyOf):
    study = study_of(["no code"])
    # A world that stands still.
    study.train = type(study.train)(study.train.before, study.train.actions, study.train.before)
    assert PoeWorld().search(study) is None
    assert study.client.usage.calls == 0


def test_functions_foresee_the_field_they_are_named_after(study_of: StudyOf):
    space = study_of([]).domain.scene.state_space
    assert field_of("puck_vx_after_push", space) == "puck_vx"
    assert field_of("speed", space) is None
    assert [(e.function, e.field) for e in experts_of(reply(RIGHT), space)] == [
        ("puck_x", "puck_x"),
        ("puck_vx", "puck_vx"),
    ]
    assert experts_of(reply("```python\ndef puck_x(state\n```"), space) == []


def test_an_expert_that_says_nothing_abstains_and_one_that_fails_is_not_heard(study_of: StudyOf):
    study = study_of([])
    text = "def puck_x(state, action):\n    if action[0] > 0:\n        return None\n    return 7"
    found = opinions(Expert("puck_x", "puck_x", text), study.train, study.domain)
    assert np.array_equal(np.isfinite(found), study.train.actions[:, 0] <= 0)
    assert set(found[np.isfinite(found)]) == {7.0}
    failing = Expert("puck_x", "puck_x", text.replace("return 7", "return state.nowhere"))
    assert np.isnan(opinions(failing, study.train, study.domain)).all()


def product_of(study_of: StudyOf, *texts: str) -> Product:
    study = study_of([])
    experts = [expert for text in texts for expert in experts_of(reply(text), study.domain.scene.state_space)]
    empty = Product.empty(study.domain, study.train)
    return empty.with_experts([(expert, opinions(expert, study.train, study.domain)) for expert in experts], 0.5)


def test_weights_are_the_penalised_maximum_of_likelihood(study_of: StudyOf):
    start = product_of(study_of, WRONG, RIGHT)
    assert start.weights.tolist() == [0.5, 0.5, 0.5]
    fitted = fit_weights(start, 1.0)
    members = fitted.of_field("puck_x")

    def cost(weights: np.ndarray) -> float:
        opinions = poe_world._log_opinions(fitted, 0, members)
        logs = poe_world._log_likelihoods(fitted, 0, weights, opinions, members)
        return float(-logs[:, len(poe_world.OFFSETS) // 2].sum() + 1.0 * weights.sum())

    best = cost(fitted.weights[members])
    rng = np.random.default_rng(0)
    for _ in range(100):
        assert cost(np.abs(fitted.weights[members] + rng.normal(0, 0.3, len(members)))) >= best - 1e-6
    assert fitted.weights[0] < 0.01 < 1 < fitted.weights[1], "what is wrong loses its weight, what is right gains"
    assert [expert.function for expert in fitted.pruned(0.01).experts] == ["puck_x", "puck_vx"]


def test_a_stronger_penalty_gives_smaller_weights(study_of: StudyOf):
    start = product_of(study_of, RIGHT)
    assert fit_weights(start, 30.0).weights.sum() < fit_weights(start, 1.0).weights.sum()


def test_surprise_goes_where_experts_are_right(study_of: StudyOf):
    empty = product_of(study_of)
    moved = np.abs(empty.differences / empty.tolerances).max(axis=1) > 1
    assert np.all(surprise(empty)[moved] > 0.2)
    assert np.all(surprise(product_of(study_of, RIGHT)) < 0.2), "already at the first weight"


def test_the_mode_is_the_likeliest_foreseen_value():
    assert likeliest(5.0, 0.1, []) == 5.0
    assert likeliest(5.0, 0.1, [(None, 3.0)]) == 5.0
    assert likeliest(5.0, 0.1, [(1.0, 1.0), (2.0, 1.5)]) == 2.0
    assert likeliest(5.0, 0.1, [(1.0, 1.0), (2.0, 1.5), (1.001, 1.0)]) in (1.0, 1.001)
