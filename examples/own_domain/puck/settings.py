"""Tuned values of the puck, each with its reason."""

from visualpatchworld.plan.cem import CEM

EPISODE_STEPS = 61  # six pushes with their coasting, and a last row
PROBE_TOLERANCES = {"puck_m": 3e-3}  # a hundredth of the success radius
TRANSITION_TOLERANCES = {"puck_m": 0.015}  # a twentieth of the success radius, for one predicted step
HORIZON = 25  # steps that programs are fitted to foresee: the planner's
PLANNER = CEM(samples=200, iterations=6, elites=20, horizon=25, replan_every=25, init_std=0.7)
BUDGET_PER_OFFSET = 2  # steps allowed for each step that lies between start and goal
