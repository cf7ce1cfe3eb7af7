"""VisualPatchWorld: readable programs of how a world evolves under
action, from experiments and traces, and planning with them.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# The matrices of a search are small. OpenBLAS would split each product among all cores, which then wait for each other:
# on a busy machine that takes ten times as long, and sums round differently on another number of cores. NumPy reads
# this when it is first imported; a value that is set already stays.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from visualpatchworld.domain import register

if TYPE_CHECKING:
    from visualpatchworld.api import (
        collect,
        evaluate,
        film,
        induce,
        load_program,
        load_traces,
        look,
        make_planner,
        probe,
        rollout_errors,
        save_traces,
        traces_from_arrays,
    )
    from visualpatchworld.domain import find_domains, load_domain
    from visualpatchworld.errors import VpwError
    from visualpatchworld.induction.saved import load
    from visualpatchworld.paper.task import Goals
    from visualpatchworld.plan.goal_state import evaluate_goal
    from visualpatchworld.plan.reward import evaluate_return
    from visualpatchworld.program.env import as_env, as_vector_env
    from visualpatchworld.program.program import Program
    from visualpatchworld.program.rollout import compile_rollouts
    from visualpatchworld.world.log_table import Columns
    from visualpatchworld.world.open import open_world

__version__ = "0.2.0"

__all__ = [
    "Columns",
    "Goals",
    "Program",
    "VpwError",
    "as_env",
    "as_vector_env",
    "collect",
    "compile_rollouts",
    "evaluate",
    "evaluate_goal",
    "evaluate_return",
    "film",
    "find_domains",
    "induce",
    "load",
    "load_domain",
    "load_program",
    "load_traces",
    "look",
    "make_planner",
    "open_world",
    "probe",
    "rollout_errors",
    "save_traces",
    "traces_from_arrays",
]

_ELSEWHERE = {
    "Columns": "world.log_table",
    "Goals": "paper.task",
    "Program": "program.program",
    "VpwError": "errors",
    "as_env": "program.env",
    "as_vector_env": "program.env",
    "compile_rollouts": "program.rollout",
    "evaluate_goal": "plan.goal_state",
    "evaluate_return": "plan.reward",
    "find_domains": "domain",
    "load": "induction.saved",
    "load_domain": "domain",
    "open_world": "world.open",
}


def __getattr__(name: str) -> Any:
    """A name of the library, loaded when it is first asked for: JAX and the engines take seconds."""
    if name in ("plan", "grammar"):  # packages that are also a verb and a value
        return import_module(f"{__name__}.{name}")
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'api')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register()
