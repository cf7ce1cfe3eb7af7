"""Two-room: a point agent, two rooms, one door."""

from visualpatchworld.domain import Domain
from visualpatchworld.domains.tworoom import look, policy, scene, settings, simulator, task

DOMAIN = Domain(
    name="tworoom",
    title="Two-room",
    engine="numpy",
    challenge="2D navigation: walls, goals",
    gym_id="TwoRoom-v0",
    simulator=simulator.TwoRoom,
    constants=simulator.TwoRoomConstants(),
    scene=scene.SCENE,
    look=look.LOOK,
    layout=scene.LAYOUT,
    policy=policy.door_expert,
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
)
