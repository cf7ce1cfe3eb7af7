"""Stage 4: acting with a program in receding-horizon control.

The package is also a verb, `vpw.plan(world, program)`.
"""

import sys
from types import ModuleType
from typing import Any


class _Verb(ModuleType):
    """The package as something to call."""

    def __call__(self, world: Any, program: Any, *, goal: Any = None, **settings: Any) -> Any:
        """Plan for a world's reward as `vpw.evaluate_return` does, or with a goal as `vpw.evaluate_goal` does.

        Example: `vpw.plan("Pendulum-v1", program, goal={"angle": 0.0}, episodes=5).report`
        """
        from visualpatchworld.plan.goal_state import evaluate_goal
        from visualpatchworld.plan.reward import evaluate_return

        return (
            evaluate_return(world, program, **settings)
            if goal is None
            else evaluate_goal(world, program, goal, **settings)
        )


sys.modules[__name__].__class__ = _Verb
