"""Puck: a puck on ice, pushed by hand and held back by friction."""

from puck import look, policy, scene, settings, simulator, task
from visualpatchworld.domain import Domain

DOMAIN = Domain(
    name="puck",
    title="Puck",
    engine="numpy",
    challenge="2D motion with dry friction",
    gym_id="Puck-v0",
    simulator=simulator.Puck,
    constants=simulator.PuckConstants(),
    scene=scene.SCENE,
    look=look.LOOK,
    layout=scene.LAYOUT,
    policy=policy.push_and_coast,
    episode_steps=settings.EPISODE_STEPS,
    metrics=task.METRICS,
    quantities=task.QUANTITIES,
    probe_tolerances=settings.PROBE_TOLERANCES,
    transition_tolerances=settings.TRANSITION_TOLERANCES,
    horizon=settings.HORIZON,
    cost=task.cost,
    planner=settings.PLANNER,
    budget_per_offset=settings.BUDGET_PER_OFFSET,
)
