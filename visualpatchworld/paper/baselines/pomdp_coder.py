"""POMDP-Coder: generate, test, refine; the model sees transitions that its program holds impossible, beside what it gives instead."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from visualpatchworld.paper.baselines.study import Candidate, Method, Study, draw


@dataclass(frozen=True)
class PomdpCoder(Method):
    """REx over deterministic programs, scored by how many held-out transitions they cover."""

    name: str = "pomdp-coder"
    concentration: float = 20.0
    num_attempts: int = 25
    num_experiences: int = 10
    num_impossible: int = 5

    def search(self, study: Study) -> Candidate | None:
        """First program, then refinements of drawn ones; the pick covers the most of the test, then of the training transitions."""
        newest, failed_pulls = first_program(self, study), Counter()
        for _ in range(self.num_attempts - 1):
            if newest.score == 1.0 or not study.calls_left:
                break
            chosen = draw(study.candidates, failed_pulls, self.concentration, study.rng)
            newest = study.tried(study.client.ask(refine_prompt(self, study, chosen)), "refine", chosen)
            failed_pulls[chosen.index] += newest.score < 1.0
        return final_pick(study.candidates)


def first_program(method: PomdpCoder, study: Study) -> Candidate:
    """A program from a few random transitions."""
    rows = study.rng.choice(len(study.train), min(method.num_experiences, len(study.train)), replace=False)
    return study.tried(study.client.ask(study.prompt("pomdp_coder_first", study.examples(rows.tolist()))), "first", None)


def refine_prompt(method: PomdpCoder, study: Study, chosen: Candidate) -> str:
    """The code and a few transitions that are impossible under it, beside its own samples."""
    if not chosen.loads:
        return study.prompt("fix", code=chosen.code, problem=chosen.problem)
    impossible = np.flatnonzero(~chosen.train.right)
    rows = study.rng.choice(impossible, min(method.num_impossible, len(impossible)), replace=False).tolist()
    examples = study.examples(rows, verdict=chosen.train)
    return study.prompt("pomdp_coder_refine", examples, code=chosen.code, coverage=f"{100 * chosen.train.score:.0f}")


def final_pick(candidates: list[Candidate]) -> Candidate | None:
    """The program that loads with the best (test, train) coverage, the earlier one among equals."""
    loaded = [candidate for candidate in candidates if candidate.loads]
    return max(loaded, key=lambda candidate: (candidate.score, candidate.train.score, -candidate.index), default=None)


METHOD = PomdpCoder()
