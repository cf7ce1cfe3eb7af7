"""Tuned values of Cube, each with its reason."""

EPISODE_STEPS = 200  # as upstream's episodes

HORIZON = 5  # steps that programs are fitted to foresee: the planner's

PROBE_TOLERANCES = {"effector_m": 0.015, "block_m": 0.02}
