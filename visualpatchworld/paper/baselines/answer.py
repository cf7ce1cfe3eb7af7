"""From a model's answer to a program, judged by the transitions it gets right."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.domain import Domain
from visualpatchworld.paper.baselines.transitions import Transitions, numbers, right
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, Sandbox
from visualpatchworld.scene.state import StateSpace

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


FENCE = re.compile(r"```[ \t]*(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
IMPORTS = ("from typing import NamedTuple", "import math", "import numpy as np")


def code_of(answer: str, wanted: str = "def ") -> str:
    """The longest block of code that holds what is wanted; an answer without blocks is all code."""
    blocks = [block for block in FENCE.findall(answer) if wanted in block]
    return max(blocks, key=len) if blocks else answer


def program_of(answer: str, space: StateSpace, header: str) -> str:
    """The program in an answer: functions and constants as the model wrote them, after the imports and the `State` of this world.

    Examples of use below the functions go, and so does a `State` of the model's own: there is only one.
    """
    code = code_of(answer, "def step")
    return "\n".join([f'"""{header}"""', "", *IMPORTS, "", "", state_text(space), "", "", kept(code)]) + "\n"


def own_code(text: str) -> str:
    """What a model wrote of a program: all that comes after the `State`."""
    _, found, after = text.partition("\nclass State(NamedTuple):")
    return re.sub(r"\A(?:[ \t]+\S.*\n|\n)*", "", after.lstrip("\n")).rstrip() if found else text


def kept(code: str) -> str:
    """Functions, classes and constants; code that cannot be parsed stays as it is, so that its error can be told."""
    try:
        module = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    parts = [ast.get_source_segment(code, node, padded=True) for node in module.body if _is_part(node)]
    return "\n\n\n".join(part.rstrip() for part in parts if part)


def _is_part(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return ast.unparse(node) not in IMPORTS and getattr(node, "module", "") != "__future__"
    if isinstance(node, ast.ClassDef):
        return node.name != "State"
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        called = {part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)}
        return not called & {"State", "step", "namedtuple", "NamedTuple"}
    return isinstance(node, ast.FunctionDef)


def state_text(space: StateSpace) -> str:
    """The `State` of a world as a program defines it."""
    return "\n".join(["class State(NamedTuple):", *(f"    {field.name}: float  # {field.unit}" for field in space)])
