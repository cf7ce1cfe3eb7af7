"""CWM-Game: a tree of programs grown by Thompson sampling; each call is a fresh prompt with one program and one unit test that it fails."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from visualpatchworld.paper.baselines.study import Candidate, Method, Study, draw


@dataclass(frozen=True)
class CwmGame(Method):
    """REx as a tree; a unit test is one transition."""

    name: str = "cwm-game"
    concentration: float = 5.0
    num_experiences: int = 5

    def search(self, study: Study) -> Candidate | None:
        """First program, then children of drawn ones until one passes every test or the budget is spent."""
        newest, failed_pulls = first_program(self, study), Counter()
        while newest.score < 1.0 and study.calls_left:
            chosen = draw(study.candidates, failed_pulls, self.concentration, study.rng)
            newest = study.tried(study.client.ask(refine_prompt(study, chosen)), "refine", chosen)
            failed_pulls[chosen.index] += newest.score < 1.0
        return study.best()


def first_program(method: CwmGame, study: Study) -> Candidate:
    """A program from a few tests that it has to pass."""
    rows = study.rng.choice(len(study.train), min(method.num_experiences, len(study.train)), replace=False).tolist()
    return study.tried(study.client.ask(study.prompt("cwm_game_first", unit_tests(study, rows))), "first", None)


def refine_prompt(study: Study, chosen: Candidate) -> str:
    """The code and the trace of one failing test, whatever the kind of failure."""
    row = int(study.rng.choice(np.flatnonzero(~chosen.train.right)))
    return study.prompt("cwm_game_refine", code=chosen.code, trace=failing_trace(study, chosen, row))


def unit_tests(study: Study, rows: list[int]) -> list[str]:
    """Transitions as assertions."""
    return [f"test: {line.replace(' -> ', ' must give ')}" for line in study.examples(rows)]


def failing_trace(study: Study, chosen: Candidate, row: int) -> str:
    """One failing test: what went in, what was expected, what came out."""
    told = chosen.train.told(study.domain, study.train, row)
    return f"{unit_tests(study, [row])[0]}\nFAILED: {'got' if chosen.train.failure_kind(row) == 'mismatch' else 'raised'} {told}"


METHOD = CwmGame()
