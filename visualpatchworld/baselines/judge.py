"""The judge: one tolerance and one sandbox for all six rivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.baselines.transitions import Transitions, numbers, right
from visualpatchworld.domain import Domain
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, Sandbox

LIMITS = Limits(wall_s=10.0, cpu_s=10.0)

FailureKind = Literal["load error", "exception", "mismatch"]


@dataclass(frozen=True)
class Verdict:
    """What a program makes of transitions; `obstacle` says why where it could not be run at all."""

    predicted: Float[np.ndarray, "N S"]
    right: Bool[np.ndarray, " N"]
    sentences: Mapping[int, str]  # transition -> what the program raised there, the first few
    obstacle: str | None = None
    way: str | None = None

    @property
    def loads(self) -> bool:
        return self.obstacle is None

    @property
    def score(self) -> float:
        """The share of transitions that are right, higher is better; 0 for a program that does not load."""
        return float(self.right.mean()) if len(self.right) else 0.0

    def part(self, rows: slice) -> Verdict:
        """The verdict on some of the transitions."""
        picked = range(len(self.right))[rows]
        sentences = {i - picked.start: text for i, text in self.sentences.items() if i in picked}
        return Verdict(self.predicted[rows], self.right[rows], sentences, self.obstacle, self.way)

    def failure_kind(self, i: int) -> FailureKind:
        """How transition i went wrong, the gravest first."""
        if self.obstacle:
            return "load error"
        return "mismatch" if np.isfinite(self.predicted[i]).all() else "exception"

    def told(self, domain: Domain, transitions: Transitions, i: int) -> str:
        """What the program made of transition i, in words."""
        if self.failure_kind(i) == "mismatch":
            return numbers(domain.scene.state_space, self.predicted[i], transitions.before[i])
        return self.obstacle or self.sentences.get(i) or "an error, or a value that is not a number"


def judge(text: str, transitions: Transitions, domain: Domain) -> Verdict:
    """Run a program on every transition and hold its predictions to the domain's tolerance."""
    space = domain.scene.state_space
    try:
        with Sandbox(Program(text), space.names, transitions.actions.shape[1], LIMITS) as sandbox:
            found = sandbox.predict(transitions.before, transitions.actions)
    except BadProgram as error:
        nothing = np.full_like(transitions.after, np.nan)
        return Verdict(nothing, np.zeros(len(transitions), bool), {}, str(error).removeprefix("program:"))
    predicted = found.states[0]
    return Verdict(predicted, right(domain, predicted, transitions.after), found.failures, None, found.way)
