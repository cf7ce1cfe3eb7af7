"""PushT: a disc pushes a T-shaped block, which moves only while it is pushed."""

from visualpatchworld.domain import Domain
from visualpatchworld.domains.pusht import look, policy, scene, settings, simulator, task

DOMAIN = Domain(
    name="pusht",
    title="PushT",
    engine="pymunk",
    challenge="2D manipulation: contact, rotation",
    gym_id="PushT-v0",
    simulator=simulator.PushT,
    constants=simulator.PushTConstants(),
    scene=scene.SCENE,
    look=look.LOOK,
    layout=scene.LAYOUT,
    policy=policy.pusher,
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
    variant=scene.of_blocks,
)
