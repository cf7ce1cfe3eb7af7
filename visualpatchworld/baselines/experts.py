"""Experts: functions of a model that each foresee one number of the state, or say nothing."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.baselines.answer import IMPORTS, code_of, kept, state_text
from visualpatchworld.baselines.judge import LIMITS
from visualpatchworld.baselines.transitions import Transitions
from visualpatchworld.domain import Domain
from visualpatchworld.llm.client import Reply
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Sandbox
from visualpatchworld.scene.state import StateSpace


@dataclass(frozen=True)
class Expert:
    """One function of an answer, with all that stood beside it, and the field it foresees."""

    function: str
    field: str
    text: str

    def factory(self, name: str) -> str:
        """The expert as a function that makes it, so that two answers' names do not meet."""
        return f"def {name}():\n{textwrap.indent(self.text, '    ')}\n    return {self.function}\n"


def experts_of(reply: Reply, space: StateSpace) -> list[Expert]:
    """Every function of an answer that is named after a field of the state, or begins with its name."""
    code = kept(code_of(reply.text))
    try:
        module = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    named = [(node.name, field_of(node.name, space)) for node in module.body if isinstance(node, ast.FunctionDef)]
    return [Expert(name, field, code) for name, field in named if field is not None]


def field_of(name: str, space: StateSpace) -> str | None:
    """The longest field name that a function's name begins with."""
    return max((field for field in space.names if name.startswith(field)), key=len, default=None)


def opinions(expert: Expert, transitions: Transitions, domain: Domain) -> Float[np.ndarray, " N"]:
    """What an expert foresees for each transition, NaN where it says nothing; one that fails anywhere is not heard at all."""
    space = domain.scene.state_space
    head = "\n".join([*IMPORTS, state_text(space)])
    step = f"value = EXPERT(state, action)\n    return state._replace({expert.field}=float('nan') if value is None else value)"
    text = f"{head}\n{expert.factory('made')}\nEXPERT = made()\ndef step(state, action):\n    {step}\n"
    try:
        with Sandbox(Program(text), space.names, transitions.actions.shape[1], LIMITS) as sandbox:
            heard = sandbox.predict(transitions.before, transitions.actions)
    except BadProgram:
        return np.full(len(transitions), np.nan)
    return heard.states[0][:, space.names.index(expert.field)] if not heard.num_failed else np.full(len(transitions), np.nan)
