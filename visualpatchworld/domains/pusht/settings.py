"""Tuned values of PushT, each with its reason."""

from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.siblings import siblings

EPISODE_STEPS = 125  # four or five pushes with the ways between them; human demonstrations have about as many

# A probe counts as explained while its errors stay below these: a twentieth of the success radius, and of its angle.
PROBE_TOLERANCES = {"agent_px": 1.0, "block_px": 1.0, "angle_rad": 0.02}

HORIZON = 25  # steps that programs are fitted to foresee: the planner's

# One predicted step counts as right within a twentieth of the success radius, and of its angle.
TRANSITION_TOLERANCES = {"agent_px": 1.0, "block_px": 1.0, "angle_rad": 0.0175}

# The paper's budget: 600 samples, 15 rounds, 5 blocks of 5 actions, all executed. There are several sides to push from: a wide
# first draw and a share of each spread kept for the next round keep the search from settling on the first that helps.
PLANNER = CEM(samples=600, iterations=15, elites=60, horizon=25, replan_every=25, init_std=1.0, smoothing=0.3)
BUDGET_PER_OFFSET = 2  # steps allowed for each step that lies between start and goal

# With an exact program a search is worth more: a longer look ahead, actions that are held (so that ten are searched for, not fifty), and
# restarts, since a block can be gone around in more than one way. Steps are executed ten at a time, from what is left of the plan before.
SEARCH = CEM(
    samples=600, iterations=15, elites=60, horizon=50, replan_every=10, init_std=1.0, smoothing=0.3,
    hold=5, restarts=4, warm_start=True, warm_std=0.2, enough=0.3, heeds_budget=True,
)  # fmt: skip
PLANNERS = {"default": SEARCH, **siblings(SEARCH)}
