"""Tuned values of Reacher, each with its reason."""

from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.siblings import siblings

EPISODE_STEPS = 200  # as upstream's episodes

# A probe counts as explained while the fingertip's error stays below a twenty-fifth of the success radius; the wrong forms are off by
# centimetres. Joints are not asked for: a form that moves the fingertip says nothing about them.
PROBE_TOLERANCES = {"finger_m": 0.002}

HORIZON = 12  # steps that programs are fitted to foresee: the planner's

# One predicted step counts as right within a twentieth of the success radius, and of the joints' own.
TRANSITION_TOLERANCES = {"finger_m": 0.0025, "q_rad": 0.0025}

# The paper's frame-level planner: one step ahead, executed, and again; the first draw covers all torques.
PLANNER = CEM(samples=300, iterations=10, elites=30, horizon=1, replan_every=1, init_std=0.7)
BUDGET_PER_OFFSET = 2  # steps allowed for each step that lies between start and goal

# A second ahead: time to swing there, and joints as well as the fingertip are met in passing.
SEARCH = CEM(
    samples=300, iterations=10, elites=30, horizon=25, replan_every=5, init_std=0.7,
    hold=5, restarts=2, warm_start=True, enough=0.3, heeds_budget=True,
)  # fmt: skip
PLANNERS = {"default": SEARCH, **siblings(SEARCH)}
