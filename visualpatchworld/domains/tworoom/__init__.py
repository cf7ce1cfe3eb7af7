"""Two-room: a point agent, two rooms, one door."""

from __future__ import annotations

import numpy as np

from visualpatchworld.domain import Domain, Policy
from visualpatchworld.domains.tworoom.simulator import SIZE_PX, TwoRoom, TwoRoomConstants, sample_position, walls
from visualpatchworld.plan.cem import CEM, siblings
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.scene.tool.look import Look, Paint, Palette
from visualpatchworld.scene.tool.shape import Shape, Walls
from visualpatchworld.simulator import Column, TraceLayout

SUCCESS_PX = 16.0

# How it looks: a red dot that fades, black lines for the border and for the wall with its door.
WHITE = (255, 255, 255)

LOOK = Look(
    palette=Palette(
        paints=(Paint("floor", (WHITE,)), Paint("line", ((0, 0, 0),)), Paint("agent", ((255, 0, 0),))), background=WHITE
    ),
    parts=(
        Shape("agent", kind="agent", paint="agent", behind=("line",), glow=True),
        Walls(paint="line", border="house", wall="wall", door="door"),
    ),
    seen_constants=("radius", "wall_thickness", "door_center", "door_half_width", "border", "wall"),
    num_episodes=6,
)

# Data: a noisy expert that walks to the door first when its goal lies in the other room.
NOISE = 2.0
REPEAT_PROBABILITY = 0.05


def door_expert(simulator: TwoRoom, rng: np.random.Generator) -> Policy:
    """Walks to a random goal through the doors, with noise; the episode is over when it arrives."""
    goal = sample_position(simulator.constants, rng)
    last = np.zeros(2)

    def act() -> np.ndarray | None:
        nonlocal last
        position = simulator.get_state()
        if np.linalg.norm(position - goal) < SUCCESS_PX:
            return None
        if rng.random() >= REPEAT_PROBABILITY:
            ahead = _waypoint(position, goal, simulator) - position
            direction = ahead / max(float(np.linalg.norm(ahead)), 1e-9)
            last = np.clip(direction + rng.normal(0.0, NOISE, 2), -1.0, 1.0)
        return last

    return act


def _waypoint(position: np.ndarray, goal: np.ndarray, simulator: TwoRoom) -> np.ndarray:
    between = [place for place in walls(simulator.constants) if (position[0] < place[0]) != (goal[0] < place[0])]
    if not between:
        return goal
    wall, doors = min(between, key=lambda place: abs(place[0] - position[0]))
    return np.array([wall, min(doors, key=lambda door: abs(door - position[1]))])


def objects(constants: TwoRoomConstants) -> tuple[SceneObject, ...]:
    """The agent and the fixed parts of the house."""
    middle = SIZE_PX / 2
    inner_half = middle - constants.border
    parts = [
        SceneObject(name="agent", kind="agent", geometry=Geometry(radius=constants.radius)),
        SceneObject(
            name="house",
            kind="border",
            fixed=True,
            pose=Pose(x=middle, y=middle),
            geometry=Geometry(half_sizes=(inner_half, inner_half)),
        ),
    ]
    solid = Geometry(half_sizes=(constants.wall_thickness / 2, inner_half))
    gap = Geometry(half_sizes=(constants.wall_thickness / 2, constants.door_half_width))
    for number, (wall, doors) in enumerate(walls(constants)):
        which = f"_{number + 1}" if number else ""
        parts.append(
            SceneObject(name=f"wall{which}", kind="wall", fixed=True, pose=Pose(x=wall, y=middle), geometry=solid)
        )
        for name, door in zip((f"door{which}", f"other_door{which}"), doors, strict=False):
            parts.append(SceneObject(name=name, kind="door", fixed=True, pose=Pose(x=wall, y=door), geometry=gap))
    return tuple(parts)


STATE = Column("state", 2, "float32")

# Far enough ahead to go around by the door from anywhere; a wall is a dead end for a search that sees less than the way
# around it.
SEARCH = CEM(
    samples=300, iterations=10, elites=30, horizon=80, replan_every=10, init_std=1.0,
    hold=10, restarts=4, warm_start=True, enough=0.3, heeds_budget=True,
)  # fmt: skip

DOMAIN = Domain(
    name="tworoom",
    title="Two-room",
    engine="numpy",
    challenge="2D navigation: walls, goals",
    simulator=TwoRoom,
    constants=TwoRoomConstants(),
    goals={"at_goal": {"agent_px": SUCCESS_PX}},
    scene=SceneTemplate(objects=objects, near=5.0, y_axis="down"),
    look=LOOK,
    layout=TraceLayout(engine_state=(STATE,), state=(STATE,), action=Column("action", 2, "float32")),
    policy=door_expert,
    # Far below the success radius; positions are kept in single precision, good to 1e-5.
    probe_tolerances={"agent_px": 0.1},
    # The paper's budget: 300 samples, 10 rounds, 5 blocks of 5 actions, all executed. The expert goes at full speed: a
    # wide first draw.
    planner=CEM(samples=300, iterations=10, elites=30, horizon=25, replan_every=25, init_std=1.0),
    planners={"default": SEARCH, **siblings(SEARCH)},
)
