"""Films of attempts: the goal shines through every picture, and the way that a plan imagined lies over the way that came true."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.domain import Domain
from visualpatchworld.extras import cv2, imageio
from visualpatchworld.files import writing
from visualpatchworld.paper.evaluation import EvalConfig, attempts
from visualpatchworld.plan.control import Attempt, PlanMade, Task
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.simulator import Simulator

SCALE = 2  # a film is so many times as large as the world's picture
CAPTION_PX = 32  # below the picture; both sides of a film have to be multiples of 16
GOAL_SHARE = 0.35  # of the goal's picture in every frame
FRAMES_PER_SECOND = 10
LAST_FRAMES = 12  # how long the end stays
REAL, IMAGINED = (0, 170, 60), (240, 0, 200)
SUBPIXEL_BITS = 4

Frames = UInt8[np.ndarray, "N h w 3"]
# From states to the pixels of every object that has a place in them.
Ways = Callable[[Float[np.ndarray, "T S"]], Mapping[str, Float[np.ndarray, "T 2"]]]


def write_films(folder: Path, request: EvalConfig, count: int, first: Collection[int] = ()) -> Iterator[Path]:
    """Films of tasks that are not solved at their start, as MP4 and as GIF; the measured attempts are made again for them.

    The tasks with the numbers `first` come before others: who has failures wants to see those.
    """
    attempt, world, ways = attempts(request), request.domain.simulator(request.constants), ways_in(request.domain)
    unsolved = [task for task in request.tasks if not request.meets(task.start, task.goal)]
    for task in sorted(unsolved, key=lambda task: task.number not in first)[:count]:
        world.reset(seed=request.seed, options={"engine_state": task.start_engine_state})
        made = attempt(task, world)
        imagined = [] if request.program is None else imagine(request.program, made.plans)
        frames = film(world, task, made, imagined, ways, request.planner.title)
        name = f"{request.domain.name}-{request.method}-{request.observe}-{request.score}-{request.seed}-task{task.number:02d}"
        yield from (write_film(folder / f"{name}{suffix}", frames) for suffix in (".mp4", ".gif"))


def ways_in(domain: Domain) -> Ways:
    """Where objects lie in the picture: the state space says which numbers are their places, the calibrated camera where those appear."""
    camera = extractor(domain).calibration.camera  # constants that vary change what is drawn, not how it is looked at
    column = {field.at: i for i, field in enumerate(domain.scene.state_space)}
    named = dict.fromkeys(place.split(".")[0] for place in column)
    axes = {name: [column[f"{name}.pose.{axis}"] for axis in "xyz" if f"{name}.pose.{axis}" in column] for name in named}
    return lambda states: {name: camera.project(states[:, where]) for name, where in axes.items() if len(where) >= 2}


def imagine(program: Program, plans: Sequence[PlanMade]) -> list[Float[np.ndarray, "H+1 S"]]:
    """For each plan the states it was made from and was to lead through."""
    dynamics = program.bind("jax")
    run = jax.jit(lambda state, actions: rollout(dynamics, state, actions))
    states = [np.asarray(run(jnp.asarray(plan.state, jnp.float32), jnp.asarray(plan.actions, jnp.float32))) for plan in plans]
    return [np.concatenate([plan.state[None], ahead]) for plan, ahead in zip(plans, states, strict=True)]


def film(world: Simulator, task: Task, attempt: Attempt, imagined: Sequence[Float[np.ndarray, "H+1 S"]], ways: Ways, title: str) -> Frames:
    """The frames of an attempt, which is repeated in `world` to draw it."""
    world.set_engine_state(task.goal_engine_state)
    goal = world.render()
    world.set_engine_state(task.start_engine_state)
    frames = []
    for step in range(len(attempt.states)):
        if step:
            world.step(attempt.actions[step - 1])
        shown = cv2.addWeighted(world.render(), 1 - GOAL_SHARE, goal, GOAL_SHARE, 0)
        canvas = cv2.resize(shown, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_CUBIC)
        _draw(canvas, ways(attempt.states[: step + 1]), REAL, 4)
        for plan, states in zip(attempt.plans, imagined, strict=False):
            if plan.step <= step:
                _draw(canvas, ways(states), IMAGINED, 1, dots=True)
        ended = "" if step < len(attempt.actions) else ", goal met" if attempt.success else ", not met"
        frames.append(_captioned(canvas.astype(np.uint8), f"step {step}{ended}", title, bool(imagined)))
    return np.stack(frames + [frames[-1]] * LAST_FRAMES)


def _draw(
    canvas: np.ndarray, ways: Mapping[str, Float[np.ndarray, "T 2"]], color: tuple[int, int, int], width: int, dots: bool = False
) -> None:
    for way in ways.values():
        points = np.round(((way[np.isfinite(way).all(axis=1)] + 0.5) * SCALE - 0.5) * 2**SUBPIXEL_BITS).astype(np.int32)
        cv2.polylines(canvas, [points], False, color, width, cv2.LINE_AA, SUBPIXEL_BITS)
        for x, y in points if dots else ():
            cv2.circle(canvas, (int(x), int(y)), 2 << SUBPIXEL_BITS, color, -1, cv2.LINE_AA, SUBPIXEL_BITS)


def _captioned(canvas: UInt8[np.ndarray, "h w 3"], said: str, title: str, with_imagined: bool) -> UInt8[np.ndarray, "H w 3"]:
    """The picture with a line below it: what the colours mean, who planned, and how far it is."""
    line = np.full((CAPTION_PX, canvas.shape[1], 3), 255, np.uint8)
    words = [
        ("real", REAL),
        *([("imagined", IMAGINED)] if with_imagined else []),
        ("goal shines through", (120, 120, 120)),
        (said, (0, 0, 0)),
    ]
    x = 6
    for word, color in words:
        cv2.putText(line, word, (x, 13), cv2.FONT_HERSHEY_SIMPLEX, 0.4, color, 1, cv2.LINE_AA)
        x += cv2.getTextSize(word, cv2.FONT_HERSHEY_SIMPLEX, 0.4, 1)[0][0] + 14
    cv2.putText(line, title, (6, 27), cv2.FONT_HERSHEY_SIMPLEX, 0.36, (120, 120, 120), 1, cv2.LINE_AA)
    return np.concatenate([canvas, line])


def write_film(path: Path, frames: Frames) -> Path:
    """Write frames as MP4, or as GIF where the name says so."""
    if path.suffix == ".mp4":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # JAX warns of forks; this one becomes ffmpeg at once
            content = imageio.v3.imwrite("<bytes>", frames, extension=".mp4", plugin="FFMPEG", fps=FRAMES_PER_SECOND, codec="libx264")
    else:
        content = imageio.v3.imwrite("<bytes>", frames, extension=".gif", plugin="pillow", duration=1000 // FRAMES_PER_SECOND, loop=0)
    with writing(path) as aside:
        aside.write_bytes(content or b"")
    return path
