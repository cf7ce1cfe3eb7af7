"""Tuned values of Two-room, each with its reason."""

EPISODE_STEPS = 100  # upstream's limit; the expert usually arrives in 60

HORIZON = 25  # steps that programs are fitted to foresee: the planner's

PROBE_TOLERANCES = {"agent_px": 0.1}  # far below the success radius; positions are kept in single precision, good to 1e-5

# One predicted step counts as right within a twentieth of the success radius.
TRANSITION_TOLERANCES = {"agent_px": 0.8}
