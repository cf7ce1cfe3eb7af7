"""Each rival finds the right program by its own rule: the rules are pinned, not only the happy end."""

import math

import numpy as np
import pytest
from paper.baselines.conftest import BROKEN, CHATTER, NO_DRAG, RAISES, RIGHT, STAYS, StudyOf, prompts

from visualpatchworld.paper.baselines import refine
from visualpatchworld.paper.baselines.refine import CwmGame, GifMcts, Node, PatchWorld, PomdpCoder, Tree, WorldCoder
from visualpatchworld.paper.baselines.study import Candidate, Study, find_methods
from visualpatchworld.program.program import Program

CODERS = [method for method in find_methods().values() if method.name != "poe-world"]


def test_there_are_six():
    assert list(find_methods()) == ["cwm-game", "gif-mcts", "patchworld", "poe-world", "pomdp-coder", "worldcoder"]


@pytest.mark.parametrize("method", CODERS, ids=lambda method: method.name)
def test_the_right_program_is_found_after_wrong_ones_and_keeps_the_contract(method, study_of: StudyOf):
    study = study_of([CHATTER, BROKEN, RAISES, STAYS, NO_DRAG, RIGHT])
    found = method.search(study)
    assert found is not None and found.score == 1.0
    Program(found.text).check(study.domain.scene.state_space, 1)
    assert [c.loads for c in study.candidates[:3]] == [False] * 3, (
        "chatter, a syntax error and an exception do not load"
    )


@pytest.mark.parametrize("method", find_methods().values(), ids=lambda method: method.name)
def test_no_loadable_program_is_none_and_the_budget_holds(method, study_of: StudyOf):
    study = study_of([CHATTER, BROKEN], calls=7)
    assert method.search(study) is None
    assert study.client.usage.calls <= 7
    assert len(study.candidates) == study.client.usage.calls, "every call is on record"


@pytest.mark.parametrize("method", find_methods().values(), ids=lambda method: method.name)
def test_the_same_seed_asks_the_same(method, study_of: StudyOf):
    first, again = (study_of([STAYS, NO_DRAG, RAISES], calls=4, seed=4) for _ in range(2))
    for one in (first, again):
        method.search(one)
    assert prompts(first) == prompts(again)


# Thompson sampling


def test_the_belief_counts_the_score_c_times_and_failed_pulls_once():
    assert refine.belief(0.6, 0, 5.0) == (1 + 3.0, 1 + 2.0)
    assert refine.belief(0.6, 4, 5.0) == (4.0, 3.0 + 4)
    assert refine.belief(0.25, 1, 20.0) == (6.0, 17.0)


def test_draws_are_beta_draws_and_the_highest_wins(study_of: StudyOf):
    study = study_of([STAYS, NO_DRAG])
    pool = [study.tried(study.client.ask("?"), "test", None) for _ in range(2)]
    rng, twin = np.random.default_rng(9), np.random.default_rng(9)
    for _ in range(50):
        worths = [twin.beta(*refine.belief(c.score, 3 * c.index, 5.0)) for c in pool]
        assert refine.draw(pool, {1: 3}, 5.0, rng) is pool[int(np.argmax(worths))]


def test_a_high_concentration_trusts_scores_more(study_of: StudyOf):
    study = study_of([STAYS, NO_DRAG])
    pool = [study.tried(study.client.ask("?"), "test", None) for _ in range(2)]

    def share(concentration: float) -> float:
        rng = np.random.default_rng(0)
        return float(np.mean([refine.draw(pool, {}, concentration, rng) is pool[1] for _ in range(300)]))

    assert share(20.0) > share(5.0) > 0.5
    assert (WorldCoder().concentration, PomdpCoder().concentration) == (5.0, 20.0)


def test_a_failed_pull_counts_against_its_parent(study_of: StudyOf, monkeypatch: pytest.MonkeyPatch):
    seen = []

    def spy(pool, failed_pulls, concentration, rng):
        seen.append(dict(failed_pulls))
        return pool[0]

    monkeypatch.setattr(refine, "draw", spy)
    for method in (WorldCoder(), PomdpCoder()):
        seen.clear()
        method.search(study_of([STAYS, NO_DRAG, STAYS, RIGHT]))
        assert seen == [{}, {0: 1}, {0: 2}]


def test_worldcoder_shows_three_right_and_one_wrong_experience(study_of: StudyOf):
    study = study_of([NO_DRAG])
    chosen = study.tried(study.client.ask("?"), "first", None)
    prompt = WorldCoder().refine_prompt(study, chosen)
    assert prompt.count("State(puck_x=") == 3 + 1
    assert prompt.count("but the program gave: puck_x=") == 1
    assert "0.3 * action[0]" in prompt


def test_worldcoder_begins_with_seven_experiences(study_of: StudyOf):
    study = study_of([RIGHT])
    WorldCoder().search(study)
    assert len(prompts(study)) == 1, "a right first program ends the search"
    assert prompts(study)[0].count("State(puck_x=") == 7


def test_pomdp_coder_shows_up_to_five_impossible_transitions_and_stops_after_its_attempts(study_of: StudyOf):
    assert PomdpCoder().num_attempts == 25
    study = study_of([NO_DRAG], calls=60)
    PomdpCoder(num_attempts=4).search(study)
    assert study.client.usage.calls == 4
    assert prompts(study)[1].count("but the program gave:") == 5


def test_pomdp_coder_picks_by_test_then_train(study_of: StudyOf):
    study = study_of([NO_DRAG, RIGHT])
    worse, better = (study.tried(study.client.ask("?"), "test", None) for _ in range(2))
    tied = Candidate(2, "test", "", None, (), worse.held_out, better.train)
    study.candidates[:] = [worse, tied]
    assert PomdpCoder().pick(study) is tied
    study.candidates[:] = [worse, tied, better]
    assert PomdpCoder().pick(study) is better


def test_cwm_game_shows_one_failing_test_and_grows_a_tree(study_of: StudyOf):
    study = study_of([RAISES, STAYS, NO_DRAG, RIGHT])
    CwmGame().search(study)
    assert "FAILED: raised" in prompts(study)[1] and "no attribute 'speed'" in prompts(study)[1]
    for prompt in prompts(study)[1:]:
        assert prompt.count("test: State(") == prompt.count("FAILED:") == 1
    assert any("FAILED: got" in prompt for prompt in prompts(study)[2:]) or study.candidates[2].parent == 0
    assert study.candidates[0].parent is None
    assert all(c.parent is not None and c.parent < c.index for c in study.candidates[1:])


# PatchWorld


def test_contrastive_examples_are_few_of_each_kind(study_of: StudyOf):
    study = study_of([STAYS])
    from visualpatchworld.paper.baselines.answer import action_kind, contrastive, outcome_kind

    chosen = contrastive(study.domain, study.train, per_kind=5, most=60, rng=np.random.default_rng(0))
    kinds = [
        (action_kind(a), outcome_kind(study.domain, b, c))
        for b, a, c in zip(chosen.before, chosen.actions, chosen.after, strict=True)
    ]
    everywhere = {
        (action_kind(a), outcome_kind(study.domain, b, c))
        for b, a, c in zip(study.train.before, study.train.actions, study.train.after, strict=True)
    }
    assert set(kinds) == everywhere
    assert max(kinds.count(kind) for kind in kinds) <= 5
    assert len(set(kinds[: len(everywhere)])) == len(everywhere), "every kind once before any kind twice"


def test_the_first_program_is_asked_for_again_while_it_does_not_load(study_of: StudyOf):
    study = study_of([BROKEN])
    PatchWorld(num_rounds=0).search(study)
    assert [c.how for c in study.candidates] == ["first"] + ["retry"] * 5
    assert "in `def step(state, action)`: not Python" in prompts(study)[1]


def test_a_round_has_four_patches_and_patience_ends_the_search(study_of: StudyOf):
    study = study_of([STAYS], calls=50)
    PatchWorld().search(study)
    assert [c.how for c in study.candidates] == ["first"] + ["patch"] * 8, "two rounds of four that improve nothing"


def scored(study: Study, answers: list[str], parents: list[Candidate | None]) -> list[Candidate]:
    study.client.endpoint.answers[:] = answers  # type: ignore[union-attr]
    study.client.endpoint.prompts.clear()  # type: ignore[union-attr]
    return [study.tried(study.client.ask("?"), "test", parent) for parent in parents]


def test_only_strictly_better_patches_enter_the_beam(study_of: StudyOf):
    study = study_of([])
    (first,) = scored(study, [STAYS], [None])
    same, better, best = scored(study, [STAYS, NO_DRAG, RIGHT], [first] * 3)
    assert refine.accept([first], [same], 2) == (False, [first])
    improved, beam = refine.accept([first], [same, better, best], 2)
    assert improved and beam == [best, better]
    (worse_than_parent,) = scored(study, [NO_DRAG], [best])
    assert refine.accept([best], [worse_than_parent], 2) == (False, [best])
    (second,) = scored(study, [NO_DRAG], [first])
    improved, beam = refine.accept([better, first], [second], 2)
    assert not improved and beam == [better, second], "the beam gets better, the best does not"


def test_a_program_that_loads_beats_one_that_does_not(study_of: StudyOf):
    study = study_of([])
    (first,) = scored(study, [BROKEN], [None])
    (loads,) = scored(study, ["```python\ndef step(state, action):\n    return State(9.0, 9.0)\n```"], [first])
    assert loads.score == first.score == 0.0
    assert refine.accept([first], [loads], 2) == (True, [loads, first])


def test_failures_come_gravest_first_and_the_prompt_has_sixteen(study_of: StudyOf):
    body = "if state.puck_x < 0:\n        return State(math.sqrt(state.puck_x), 0.0)\n    return State(0.0, 0.0)"
    half = f"```python\ndef step(state, action):\n    {body}\n```"
    study = study_of([half])
    candidate = study.tried(study.client.ask("?"), "first", None)
    kinds = [kind for kind, _ in refine.clusters(study, candidate)]
    assert kinds == sorted(kinds, key=refine.GRAVITY.index) and set(kinds) == {"exception", "mismatch"}
    top = refine.top_failures(PatchWorld(), study, candidate)
    assert top[: len(kinds)] == [rows[0] for rows in refine.clusters(study, candidate).values()], (
        "each cluster once before any twice"
    )
    prompt = refine.patch_prompt(PatchWorld(), study, candidate)
    assert prompt.count("but the program gave:") == 16
    assert f"of {len(study.held_out)} wrong:" in prompt


# GIF-MCTS


def node_of(tree: Tree, parent: Node, edit: str, study: Study, answer: str) -> Node:
    (candidate,) = scored(study, [answer], [parent.candidate])
    return tree.add(parent, edit, candidate)


def test_a_bug_offers_only_fixes_and_only_three_in_a_row(study_of: StudyOf):
    study, tree = study_of([], calls=99), Tree(GifMcts())
    assert tree.edits(tree.root) == ["generate"]
    fine = node_of(tree, tree.root, "generate", study, STAYS)
    assert tree.edits(fine) == ["generate", "improve"]
    bug = node_of(tree, tree.root, "generate", study, BROKEN)
    for _ in range(3):
        assert tree.edits(bug) == ["fix"]
        bug = node_of(tree, bug, "fix", study, BROKEN)
    assert tree.edits(bug) == []


def test_untried_edits_are_worth_the_mean_of_everywhere_mixed_with_siblings(study_of: StudyOf):
    study, tree = study_of([], calls=99), Tree(GifMcts())
    assert tree.estimate(tree.root, "generate") == 0.5
    assert tree.estimate(tree.root, "improve") == 0.55
    child = node_of(tree, tree.root, "generate", study, NO_DRAG)
    score = child.candidate.score if child.candidate else 0.0
    assert tree.estimate(tree.root, "generate") == pytest.approx(((0.5 + score) / 2 + score) / 2)
    assert tree.estimate(child, "generate") == pytest.approx((0.5 + score) / 2)
    assert tree.estimate(child, "improve") == 0.55


def test_the_choice_is_uct_with_its_constants(study_of: StudyOf):
    study, tree = study_of([], calls=99), Tree(GifMcts())
    assert tree.uct(0.4, 3, 10) == pytest.approx(0.4 + 0.1 * math.sqrt(math.log(10) / (3 + 1)))
    assert tree.select() == (tree.root, "generate")
    good = node_of(tree, tree.root, "generate", study, NO_DRAG)
    assert good.candidate is not None and good.candidate.score > 0.55
    assert tree.select() == (good, "generate" if (0.5 + good.candidate.score) / 2 > 0.55 else "improve")
    bug = node_of(tree, good, "generate", study, BROKEN)
    assert (good.visits, tree.root.visits) == (2, 2)
    assert good.total == pytest.approx(good.candidate.score), "a bug passes 0 up"
    assert tree.worth(bug) == tree.estimate(bug, "fix") == 0.5
    assert tree.worth(good) == pytest.approx(good.candidate.score / 2)


def test_a_branch_without_anything_to_do_is_left(study_of: StudyOf):
    study, tree = study_of([], calls=99), Tree(GifMcts(longest_fix_chain=0))
    node_of(tree, tree.root, "generate", study, BROKEN)
    assert tree.select() == (tree.root, "generate")


def test_generate_goes_on_from_the_first_lines_of_its_parent(study_of: StudyOf):
    study, tree = study_of([], calls=99), Tree(GifMcts())
    child = node_of(tree, tree.root, "generate", study, NO_DRAG)
    kept = refine.beginning(GifMcts(lines_per_level=1), child)
    assert kept == "def step(state, action):\n    v = state.puck_vx + 0.3 * action[0]"
    assert refine.beginning(GifMcts(), tree.root) == "def step(state, action):"


def test_a_model_is_shown_its_own_code_and_the_line_at_fault(study_of: StudyOf):
    study = study_of([RAISES])
    candidate = study.tried(study.client.ask("?"), "first", None)
    assert candidate.code == "def step(state, action):\n    return State(state.speed, 0.0)"
    assert candidate.problem.startswith(
        "in `return State(state.speed, 0.0)`: AttributeError: 'State' object has no attribute 'speed'"
    )
