"""WorldCoder: a pool of programs, each refined as often as Thompson sampling finds it worth, from a few right and one wrong experience."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from visualpatchworld.paper.baselines.study import Candidate, Method, Study, draw


@dataclass(frozen=True)
class WorldCoder(Method):
    """The offline pool of REx: arms are "refine program p"."""

    name: str = "worldcoder"
    concentration: float = 5.0  # how much a score says about the worth of refining
    num_experiences: int = 7
    num_right: int = 3
    num_wrong: int = 1

    def search(self, study: Study) -> Candidate | None:
        """First program, then refinements of drawn ones until one is right or the budget is spent."""
        newest, failed_pulls = first_program(self, study), Counter()
        while newest.score < 1.0 and study.calls_left:
            chosen = draw(study.candidates, failed_pulls, self.concentration, study.rng)
            newest = study.tried(study.client.ask(refine_prompt(self, study, chosen)), "refine", chosen)
            failed_pulls[chosen.index] += newest.score < 1.0
        return study.best()


def first_program(method: WorldCoder, study: Study) -> Candidate:
    """A program from a few random experiences."""
    rows = study.rng.choice(len(study.train), min(method.num_experiences, len(study.train)), replace=False)
    return study.tried(study.client.ask(study.prompt("worldcoder_first", study.examples(rows.tolist()))), "first", None)


def refine_prompt(method: WorldCoder, study: Study, chosen: Candidate) -> str:
    """The code, a few experiences that it explains and one that it does not, with its wrong prediction."""
    if not chosen.loads:
        return study.prompt("fix", code=chosen.code, problem=chosen.problem)
    fine = _some(study, np.flatnonzero(chosen.train.right), method.num_right)
    wrong = _some(study, np.flatnonzero(~chosen.train.right), method.num_wrong)
    return study.prompt(
        "worldcoder_refine",
        study.examples(wrong, verdict=chosen.train),
        code=chosen.code,
        right="\n".join(study.examples(fine)) or "none",
    )


def _some(study: Study, rows: np.ndarray, count: int) -> list[int]:
    return study.rng.choice(rows, min(count, len(rows)), replace=False).tolist()


METHOD = WorldCoder()
