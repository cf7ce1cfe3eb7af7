"""Cube: a robot arm that picks up a block and puts it elsewhere."""

from visualpatchworld.domain import Domain
from visualpatchworld.domains.cube import look, policy, scene, settings, simulator, task

DOMAIN = Domain(
    name="cube",
    title="Cube",
    engine="MuJoCo (ogbench)",
    challenge="3D manipulation: grasp, carry, release",
    gym_id="Cube-v0",
    simulator=simulator.Cube,
    constants=simulator.CubeConstants(),
    scene=scene.SCENE,
    look=look.LOOK,
    layout=scene.LAYOUT,
    policy=policy.noisy_oracle,
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
    far_budget=settings.FAR_BUDGET,
    variant=scene.of_blocks,
)
