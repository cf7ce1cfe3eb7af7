"""Reacher: a two-link arm that torques drive in a plane."""

from visualpatchworld.domain import Domain
from visualpatchworld.domains.reacher import look, policy, scene, settings, simulator, task

DOMAIN = Domain(
    name="reacher",
    title="Reacher",
    engine="MuJoCo (dm_control)",
    challenge="second-order arm dynamics",
    gym_id="Reacher-v0",
    simulator=simulator.Reacher,
    constants=simulator.ReacherConstants(),
    scene=scene.SCENE,
    look=look.LOOK,
    layout=scene.LAYOUT,
    policy=policy.random_torques,
    episode_steps=settings.EPISODE_STEPS,
    metrics=task.METRICS,
    quantities=task.QUANTITIES,
    probe_tolerances=settings.PROBE_TOLERANCES,
    transition_tolerances=settings.TRANSITION_TOLERANCES,
    horizon=settings.HORIZON,
    cost=task.cost,
    planner=settings.PLANNER,
    budget_per_offset=settings.BUDGET_PER_OFFSET,
    goal_distances=task.GOAL_DISTANCES,
    goal_costs=task.GOAL_COSTS,
    planners=settings.PLANNERS,
    variant=scene.of_links,
)
