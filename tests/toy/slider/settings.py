"""Tuned values of the slider, each with its reason."""

from visualpatchworld.plan.cem import CEM

EPISODE_STEPS = 31  # six transitions of stride 5 and one row to spare
PROBE_TOLERANCES = {"puck_m": 1e-3}  # a hundredth of the success radius
TRANSITION_TOLERANCES = {"puck_m": 0.005}  # a twentieth of the success radius, for one predicted step
HORIZON = 10  # steps that programs are fitted to foresee
PLANNER = CEM(samples=50, iterations=4, elites=5, horizon=5, replan_every=5, init_std=0.5)  # enough to plan in no time
BUDGET_PER_OFFSET = 2  # steps allowed for each step that lies between start and goal
