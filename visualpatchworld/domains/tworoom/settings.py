"""Tuned values of Two-room, each with its reason."""

from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.siblings import siblings

EPISODE_STEPS = 100  # upstream's limit; the expert usually arrives in 60

HORIZON = 25  # steps that programs are fitted to foresee: the planner's

PROBE_TOLERANCES = {"agent_px": 0.1}  # far below the success radius; positions are kept in single precision, good to 1e-5

# One predicted step counts as right within a twentieth of the success radius.
TRANSITION_TOLERANCES = {"agent_px": 0.8}

# The paper's budget: 300 samples, 10 rounds, 5 blocks of 5 actions, all executed. The expert goes at full speed, so the first draw is wide.
PLANNER = CEM(samples=300, iterations=10, elites=30, horizon=25, replan_every=25, init_std=1.0)
BUDGET_PER_OFFSET = 2  # steps allowed for each step that lies between start and goal

# Far enough ahead to go around by the door from anywhere; a wall is a dead end for a search that sees less than the way around it.
SEARCH = CEM(
    samples=300, iterations=10, elites=30, horizon=80, replan_every=10, init_std=1.0,
    hold=10, restarts=4, warm_start=True, enough=0.3, heeds_budget=True,
)  # fmt: skip
PLANNERS = {"default": SEARCH, **siblings(SEARCH)}
