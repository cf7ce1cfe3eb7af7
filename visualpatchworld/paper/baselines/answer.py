"""Transitions that a model is shown and judged by, and the way from its answer to a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.domain import Domain
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Limits, Sandbox
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.world.trajectory import Trajectory

SMALL_ACTION = 0.1  # below it an action counts as rest


@dataclass(frozen=True)
class SingleSteps:
    """N single steps: the state before, the action, the state after."""

    before: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N A"]
    after: Float[np.ndarray, "N S"]

    def __len__(self) -> int:
        return len(self.before)

    def __getitem__(self, chosen: np.ndarray | Sequence[int] | slice) -> SingleSteps:
        return SingleSteps(self.before[chosen], self.actions[chosen], self.after[chosen])

    def thinned(self, most: int) -> SingleSteps:
        """At most so many of them, evenly spread."""
        return self[np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).astype(int))]


def transitions_of(recordings: Sequence[Trajectory]) -> SingleSteps:
    """Every single step of these recordings."""
    return SingleSteps(
        before=np.concatenate([recording.observations[:-1] for recording in recordings]),
        actions=np.concatenate([recording.actions for recording in recordings]),
        after=np.concatenate([recording.observations[1:] for recording in recordings]),
    )


def joined(first: SingleSteps, second: SingleSteps) -> SingleSteps:
    """Both, one after the other."""
    parts = zip((first.before, first.actions, first.after), (second.before, second.actions, second.after), strict=True)
    return SingleSteps(*(np.concatenate(pair) for pair in parts))


def errors(
    domain: Domain, predicted: Float[np.ndarray, "N S"], truth: Float[np.ndarray, "N S"]
) -> dict[str, np.ndarray]:
    """The error of every quantity of the domain, infinite where the prediction is not finite."""
    finite = np.asarray(np.isfinite(predicted).all(axis=-1))
    filled = np.where(finite[:, None], predicted, 0.0)
    return {name: np.where(finite, quantity(filled, truth), np.inf) for name, quantity in domain.error_metrics.items()}


def right(
    domain: Domain, predicted: Float[np.ndarray, "N S"], truth: Float[np.ndarray, "N S"]
) -> Bool[np.ndarray, " N"]:
    """Whether every quantity of each prediction is within the domain's tolerance of one step."""
    found = errors(domain, predicted, truth)
    within = [found[name] <= tolerance for name, tolerance in domain.transition_tolerances.items()]
    return np.all(within, axis=0)


def action_kind(action: Float[np.ndarray, " A"]) -> str:
    """The strongest component of an action and its sign, as `+1`, or `rest`."""
    strongest = int(np.argmax(np.abs(action)))
    if abs(action[strongest]) < SMALL_ACTION:
        return "rest"
    return f"{'+' if action[strongest] > 0 else '-'}action[{strongest}]"


def outcome_kind(domain: Domain, before: Float[np.ndarray, " S"], after: Float[np.ndarray, " S"]) -> str:
    """Which quantities changed by more than their tolerance."""
    moved = [
        name
        for name, quantity in domain.error_metrics.items()
        if quantity(before, after) > domain.transition_tolerances[name]
    ]
    return ",".join(moved) or "nothing"


def contrastive(
    domain: Domain, transitions: SingleSteps, *, per_kind: int, most: int, rng: np.random.Generator
) -> SingleSteps:
    """Transitions of as many kinds as there are (action kind, outcome kind), a few of each, kinds in turn."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for i in rng.permutation(len(transitions)):
        kind = action_kind(transitions.actions[i]), outcome_kind(domain, transitions.before[i], transitions.after[i])
        if len(kinds.setdefault(kind, [])) < per_kind:
            kinds[kind].append(int(i))
    turns = [kinds[kind][turn] for turn in range(per_kind) for kind in sorted(kinds) if turn < len(kinds[kind])]
    return transitions[turns[:most]]


def numbers(space: StateSpace, state: Float[np.ndarray, " S"], others: Float[np.ndarray, " S"] | None = None) -> str:
    """A state as `name=value, ...`; with `others`, only the fields in which they differ."""
    shown = [i for i in range(len(space)) if others is None or not _same(state[i], others[i])]
    return ", ".join(f"{space.names[i]}={state[i]:.5g}" for i in shown) or "unchanged"


def _same(a: float, b: float) -> bool:
    return bool(abs(a - b) <= 1e-6 * max(1.0, abs(b)))


def example(space: StateSpace, transitions: SingleSteps, i: int, predicted: Mapping[int, str] | None = None) -> str:
    """One transition as a line of a prompt: state, action, what changed and, where given, what a program made of it."""
    before, after = transitions.before[i], transitions.after[i]
    action = ", ".join(f"{value:.3g}" for value in transitions.actions[i])
    line = f"State({numbers(space, before)}), action=[{action}] -> {numbers(space, after, before)}"
    return line if predicted is None else f"{line}\n  but the program gave: {predicted[i]}"


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

    def told(self, domain: Domain, transitions: SingleSteps, i: int) -> str:
        """What the program made of transition i, in words."""
        if self.failure_kind(i) == "mismatch":
            return numbers(domain.scene.state_space, self.predicted[i], transitions.before[i])
        return self.obstacle or self.sentences.get(i) or "an error, or a value that is not a number"


def judge(text: str, transitions: SingleSteps, domain: Domain) -> Verdict:
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
    """The program in an answer: functions and constants as the model wrote them,
    after the imports and the `State` of this world.

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
        called = {
            part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        return not called & {"State", "step", "namedtuple", "NamedTuple"}
    return isinstance(node, ast.FunctionDef)


def state_text(space: StateSpace) -> str:
    """The `State` of a world as a program defines it."""
    return "\n".join(["class State(NamedTuple):", *(f"    {field.name}: float  # {field.unit}" for field in space)])
