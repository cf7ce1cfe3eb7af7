"""Slider: a puck on a rail with drag; what it does next is known in closed form."""

from slider import look, policy, scene, settings, simulator, task
from visualpatchworld.domain import Domain

DOMAIN = Domain(
    name="slider",
    title="Slider",
    engine="numpy",
    challenge="1D motion with drag",
    gym_id="Slider-v0",
    simulator=simulator.Slider,
    constants=simulator.SliderConstants(),
    scene=scene.SCENE,
    look=look.LOOK,
    layout=scene.LAYOUT,
    policy=policy.random_pushes,
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
