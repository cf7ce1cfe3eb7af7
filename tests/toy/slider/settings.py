"""Tuned values of the slider, each with its reason."""

EPISODE_STEPS = 31  # six transitions of stride 5 and one row to spare
PROBE_TOLERANCES = {"puck_m": 1e-3}  # a hundredth of the success radius
TRANSITION_TOLERANCES = {"puck_m": 0.005}  # a twentieth of the success radius, for one predicted step
HORIZON = 10  # steps that programs are fitted to foresee
