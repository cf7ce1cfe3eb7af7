"""PatchWorld: one program, then rounds of repair against the transitions it gets wrong, keeping only patches that are strictly better."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

from visualpatchworld.paper.baselines.answer import action_kind, contrastive
from visualpatchworld.paper.baselines.study import Candidate, Method, Study

GRAVITY = ("load error", "exception", "mismatch")  # the gravest first


@dataclass(frozen=True)
class PatchWorld(Method):
    """Counterexample-guided repair with a small beam."""

    name: str = "patchworld"
    most_examples: int = 60
    examples_per_kind: int = 5
    num_retries: int = 5  # where the first program does not load
    num_rounds: int = 15
    num_patches: int = 4
    num_failures: int = 16
    beam_width: int = 2
    patience: int = 2  # rounds without improvement

    def search(self, study: Study) -> Candidate | None:
        """First program, then rounds of patches until all is right, nothing improves, or the budget is spent."""
        beam, idle = [first_program(self, study)], 0
        for _ in range(self.num_rounds):
            if beam[0].score == 1.0 or idle == self.patience or not study.calls_left:
                break
            patches = propose(self, study, beam)
            improved, beam = accept(beam, patches, self.beam_width)
            idle = 0 if improved else idle + 1
        return study.best()


def first_program(method: PatchWorld, study: Study) -> Candidate:
    """A program from contrasting examples, asked for again with its error while it does not load."""
    chosen = contrastive(study.domain, study.train, per_kind=method.examples_per_kind, most=method.most_examples, rng=study.rng)
    examples = study.examples(range(len(chosen)), chosen)
    candidate = study.tried(study.client.ask(study.prompt("patchworld_first", examples)), "first", None)
    for _ in range(method.num_retries):
        if candidate.loads or not study.calls_left:
            break
        prompt = study.prompt("fix", examples, code=candidate.code, problem=candidate.problem)
        candidate = study.tried(study.client.ask(prompt), "retry", candidate)
    return candidate


def propose(method: PatchWorld, study: Study, beam: list[Candidate]) -> list[Candidate]:
    """The round's patches, members of the beam in turn; each sees its own worst failures and their diagnosis."""
    parents = [beam[i % len(beam)] for i in range(method.num_patches)]
    replies = study.client.ask_many([patch_prompt(method, study, parent) for parent in parents])
    return [study.tried(reply, "patch", parent) for reply, parent in zip(replies, parents, strict=False)]


def patch_prompt(method: PatchWorld, study: Study, parent: Candidate) -> str:
    """The code, what goes wrong with it, and the failures themselves."""
    failures = study.examples(top_failures(method, study, parent), study.held_out, parent.held_out)
    return study.prompt("patchworld_patch", failures, code=parent.code, diagnosis=diagnosis(study, parent))


def clusters(study: Study, candidate: Candidate) -> dict[tuple[str, str], list[int]]:
    """Wrong held-out transitions by kind of error and of action: the gravest kind first, then the most frequent."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, fine in enumerate(candidate.held_out.right):
        if not fine:
            found.setdefault((candidate.held_out.failure_kind(i), action_kind(study.held_out.actions[i])), []).append(i)
    order = sorted(found, key=lambda key: (GRAVITY.index(key[0]), -len(found[key]), key[1]))
    return {key: found[key] for key in order}


def top_failures(method: PatchWorld, study: Study, candidate: Candidate) -> list[int]:
    """The failures to show: one of each cluster in turn, so that the largest cluster does not hide the others."""
    turns = itertools.zip_longest(*clusters(study, candidate).values())
    return [i for turn in turns for i in turn if i is not None][: method.num_failures]


def diagnosis(study: Study, candidate: Candidate) -> str:
    """How often the program is wrong, in which ways and under which actions."""
    wrong = Counter({key: len(rows) for key, rows in clusters(study, candidate).items()})
    parts = [f"{count} x {kind} under {action}" for (kind, action), count in wrong.items()]
    return f"{wrong.total()} of {len(study.held_out)} wrong: {'; '.join(parts[:8])}."


def accept(beam: list[Candidate], patches: list[Candidate], width: int) -> tuple[bool, list[Candidate]]:
    """Whether the best got strictly better, and the new beam: only patches that beat their own parent come in."""
    parents = {candidate.index: candidate for candidate in beam}
    better = [patch for patch in patches if patch.loads and _beats(patch, parents[patch.parent or 0])]
    ranked = sorted([*beam, *better], key=lambda candidate: (not candidate.loads, -candidate.score, candidate.index))
    return bool(better) and _beats(ranked[0], beam[0]), ranked[:width]


def _beats(patch: Candidate, parent: Candidate) -> bool:
    return (patch.loads, patch.score) > (parent.loads, parent.score)


METHOD = PatchWorld()
