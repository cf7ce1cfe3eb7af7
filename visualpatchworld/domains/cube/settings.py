"""Tuned values of Cube, each with its reason."""

from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.shooting import Shooting
from visualpatchworld.plan.siblings import siblings

EPISODE_STEPS = 200  # as upstream's episodes

HORIZON = 5  # steps that programs are fitted to foresee: the planner's

# A probe counts as explained while its errors stay below these, over 16 steps of open loop. A short law of six joints under gravity
# strays 5 to 13 mm, a wrong form by 20 mm and more: the arm sinks that far alone. Half of the success radius for the block.
PROBE_TOLERANCES = {"effector_m": 0.015, "block_m": 0.02}

# One predicted step counts as right within a twentieth of the success radius; the hand is held to the same as the block it carries.
TRANSITION_TOLERANCES = {"effector_m": 0.002, "block_m": 0.002}

# The paper's library: 400 macros of 5 actions from the training episodes, the best executed to its end.
PLANNER = Shooting(macros=400, horizon=5, replan_every=5)
BUDGET_PER_OFFSET = 4  # steps allowed for each step that lies between start and goal; the paper allows 100 for 25
FAR_BUDGET = 400  # steps allowed where a goal has nothing to do with the start
# Twice as far ahead as the macros, and free to go where no training episode went; ten steps are enough to come down around the block.
SEARCH = CEM(
    samples=300, iterations=8, elites=30, horizon=10, replan_every=5, init_std=0.7,
    hold=5, restarts=2, warm_start=True, enough=0.3, heeds_budget=True,
)  # fmt: skip
PLANNERS = {"default": SEARCH, **siblings(SEARCH), "shooting": PLANNER}
