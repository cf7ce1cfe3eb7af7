"""Films: of attempts, where the goal shines through and plans lie over what came true;
and of any world, with its fields beside it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld import graphics as graphics  # chooses how MuJoCo draws before anything imports MuJoCo
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.extras import PIL, cv2, imageio, need
from visualpatchworld.files import make_folder, writing
from visualpatchworld.paper.evaluation import EvalConfig, agent
from visualpatchworld.plan.control import Attempt, PlanMade, Task
from visualpatchworld.plan.return_search import compiled_search
from visualpatchworld.plan.reward import Controller, choose_planner
from visualpatchworld.program.imagine import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout
from visualpatchworld.scene.calibrate import Ways, ways_in
from visualpatchworld.simulator import Simulator
from visualpatchworld.world.collect import excitation, record, replay
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import Outcome, World

HEIGHT_PX, PANEL_PX, STRIP_PX, WORDS_PX = 288, 240, 48, 16  # sides of a film are multiples of 16
MOST_FIELDS = 6  # that fit beside the picture
MOST_FRAMES = 200
MOST_STEPS = 300  # of an episode that is acted for a film alone
RESYNC_EVERY = 50  # steps after which imagining begins anew from the truth
# Pictures need no window and no sound: without these pygame looks for both, and says so.
QUIET = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
PAPER, INK, TRUE_LINE, IMAGINED_LINE = (251, 250, 247), (60, 66, 74), (176, 170, 158), (11, 107, 116)

Frame = UInt8[np.ndarray, "H W 3"]


def imagined(program: Program, trajectory: Trajectory, horizon: int) -> Float[np.ndarray, "T+1 O"]:
    """What the program predicts along the actions of a trajectory, beginning anew
    from the truth every so many steps.
    """
    steps, width = len(trajectory), trajectory.observations.shape[1]
    starts = np.arange(0, steps, horizon)
    surplus = len(starts) * horizon - steps
    actions = np.concatenate([trajectory.actions, np.zeros((surplus, trajectory.actions.shape[1]))]).reshape(
        len(starts), horizon, -1
    )
    with jax.enable_x64(True):
        world = imagine(program, "jax", np.float64)
        ahead = jax.jit(jax.vmap(lambda start, acted: world.ahead(world.read(start), acted)))
        seen = ahead(jnp.asarray(trajectory.observations[starts], jnp.float64), jnp.asarray(actions, jnp.float64))
        predicted = np.asarray(seen)
    if predicted.shape[-1] != width:
        raise BadTrace(f"The program observes {predicted.shape[-1]} fields, and the world {width}.")
    return np.concatenate([trajectory.observations[:1], predicted.reshape(-1, width)[:steps]])


class NoPictures(VpwError):
    """A world that cannot be drawn here, and why."""


class Filmed(World):
    """A world that keeps the pictures of its present episode; all else is the world's own."""

    def __init__(self, world: World):
        self.world = world
        self.name, self.field_names, self.action_space = world.name, world.field_names, world.action_space
        self.time_limit, self.dt = world.time_limit, world.dt
        self.frames: list[Frame] = []
        self._seen: list[np.ndarray] = []
        self._acted: list[np.ndarray] = []
        self.rolling = True  # pictures are kept; they take longer than steps

    @property
    def powers(self):
        return self.world.powers

    @property
    def env_steps(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.world.env_steps

    @property
    def episode(self) -> Trajectory:
        """The episode that the pictures are of."""
        return Trajectory(np.array(self._seen), np.array(self._acted).reshape(len(self._acted), len(self.action_space)))

    def taken(self, action: Float[np.ndarray, " A"]) -> Float[np.ndarray, " A"]:
        return self.world.taken(action)

    def reset(self, seed: int) -> Float[np.ndarray, " O"]:
        first = self.world.reset(seed)
        if self.rolling:
            self.frames, self._seen, self._acted = [self.world.render()], [first], []
        return first

    def step(self, action: Float[np.ndarray, " A"]) -> Outcome:
        outcome = self.world.step(action)
        if self.rolling:
            self.frames.append(self.world.render())
            self._seen.append(outcome.observation)
            self._acted.append(self.world.taken(action))
        return outcome

    def snapshot(self) -> Any:
        return self.world.snapshot()

    def restore(self, snapshot: Any) -> Float[np.ndarray, " O"]:
        return self.world.restore(snapshot)


def open_filmed(name: str) -> Filmed:
    """The world behind a name, opened to be drawn; `NoPictures` where it has none or they cannot be drawn here."""
    need("films")
    for name_of, value in QUIET.items():
        os.environ.setdefault(name_of, value)
    try:
        world = open_world(name, render_mode="rgb_array")
    except VpwError:
        world = open_world(name)  # whatever takes no render mode
    if "reset" not in world.powers:
        raise NoPictures(f"{world.name} has no pictures: it is a log.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what packages for drawing think of one another
            world.reset(0)
            picture = np.asarray(world.render())
    except Exception as error:  # a missing package or library, each in its own way
        raise NoPictures(
            f"{world.name} is not filmed: {str(error).strip().rstrip('.') or type(error).__name__}."
        ) from None
    if picture.ndim != 3 or picture.shape[2] != 3:
        raise NoPictures(f"{world.name} is not filmed: its render() gives no picture of three colours.")
    return Filmed(world)


def film_world(path: Path, name: str, program: Program, seed: int, progress: Callable[[str], None]) -> dict[str, Any]:
    """Film one episode of a world, planned for the program's own reward, or of varied actions where it defines none."""
    filmed = open_filmed(name)
    thought = imagine(program)
    progress("an episode")
    if thought.has_reward and "reward" in filmed.powers:
        planner = choose_planner(filmed, thought, [seed])
        search = compiled_search(planner, filmed.action_space, thought)
        episode = Controller(filmed, thought, planner, search, seed).episode(seed, MOST_STEPS)
    else:
        actions = excitation(
            filmed.action_space, "held", min(filmed.time_limit or MOST_STEPS, MOST_STEPS), np.random.default_rng(seed)
        )
        episode = record(filmed, filmed.reset(seed), replay(actions))
    earned = None if episode.rewards is None else float(episode.rewards.sum())
    caption = filmed.name if earned is None else f"{filmed.name}: return {earned:.4g}"
    write_world_film(path, program, filmed.frames, filmed.episode, filmed.field_names, caption, progress)
    return {"film": str(path), "film_steps": len(episode), "film_return": earned}


def write_world_film(
    path: Path,
    program: Program,
    frames: Sequence[Frame],
    episode: Trajectory,
    names: Sequence[str],
    caption: str,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Write an episode as a film: its pictures, and the true and the imagined
    course of its fields up to each moment.
    """
    progress("imagining")
    ahead = imagined(program, episode, RESYNC_EVERY)
    every = -(-len(frames) // MOST_FRAMES)
    shown = range(0, min(len(frames), len(episode.observations)), every)
    progress("drawing")
    panels = _panels(episode.observations, ahead, names)
    make_folder(path.parent)
    pictures = [_frame(frames[step], panels, step, f"{caption}, step {step}") for step in shown]
    return write_film(path, np.stack(pictures))


def _panels(
    true: Float[np.ndarray, "T O"], ahead: Float[np.ndarray, "T O"], names: Sequence[str]
) -> list[tuple[str, Any, Any]]:
    """Name, true and imagined points in the strip of each field that moves most in its own units."""
    moving = np.flatnonzero(np.ptp(true, axis=0) > 0)[:MOST_FIELDS]
    panels = []
    for i in moving:
        low, high = float(true[:, i].min()), float(true[:, i].max())
        low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)

        def points(values: np.ndarray, low: float = low, high: float = high) -> list[tuple[float, float]]:
            xs = 8 + np.linspace(0, PANEL_PX - 16, len(values))
            ys = 14 + (STRIP_PX - 18) * (1 - np.clip((values - low) / (high - low), 0, 1))
            return list(zip(xs.tolist(), np.nan_to_num(ys).tolist(), strict=True))

        panels.append((names[i], points(true[:, i]), points(ahead[:, i])))
    return panels


def _frame(picture: Frame, panels: Sequence[tuple[str, Any, Any]], step: int, caption: str) -> Frame:
    """One moment: the picture on the left, the fields on the right, a line of words below."""
    scaled = PIL.Image.fromarray(np.ascontiguousarray(picture, dtype=np.uint8))
    width = max(16, round(scaled.width * HEIGHT_PX / scaled.height / 16) * 16)
    canvas = PIL.Image.new("RGB", (width + PANEL_PX, HEIGHT_PX + 2 * WORDS_PX), PAPER)
    canvas.paste(scaled.resize((width, HEIGHT_PX)), (0, 0))
    draw = PIL.ImageDraw.Draw(canvas)
    for row, (name, true, ahead) in enumerate(panels):
        x, y = width, row * STRIP_PX
        draw.text((x + 8, y), name, fill=INK)
        for points, color, wide in ((true, TRUE_LINE, 4), (ahead, IMAGINED_LINE, 1)):
            line = [(x + px, y + py) for px, py in points[: step + 1]]
            if len(line) > 1:
                draw.line(line, fill=color, width=wide)
    draw.text((8, HEIGHT_PX + 2), caption, fill=INK)
    draw.text(
        (8, HEIGHT_PX + 16), f"thick: true; thin: imagined by the program, anew every {RESYNC_EVERY} steps", fill=INK
    )
    return np.asarray(canvas)


SCALE = 2  # a film is so many times as large as the world's picture
CAPTION_PX = 32  # below the picture; both sides of a film have to be multiples of 16
GOAL_SHARE = 0.35  # of the goal's picture in every frame
FRAMES_PER_SECOND = 10
LAST_FRAMES = 12  # how long the end stays
REAL, IMAGINED = (0, 170, 60), (240, 0, 200)
SUBPIXEL_BITS = 4

Frames = UInt8[np.ndarray, "N h w 3"]


def write_films(folder: Path, config: EvalConfig, count: int, first: Collection[int] = ()) -> Iterator[Path]:
    """Films of tasks that are not solved at their start, as MP4 and as GIF;
    the measured attempts are made again for them.

    The tasks with the numbers `first` come before others: who has failures wants to see those.
    """
    attempt, world, ways = agent(config), config.make_world(), ways_in(config.domain)
    unsolved = [task for task in config.tasks if not config.meets(task.start, task.goal)]
    for task in sorted(unsolved, key=lambda task: task.number not in first)[:count]:
        world.reset(seed=config.seed, options={"engine_state": task.start_engine_state})
        made = attempt(task, world)
        imagined = [] if config.program is None else imagined_states(config.program, made.plans)
        frames = film(world, task, made, imagined, ways, config.planner.title)
        name = (
            f"{config.domain.name}-{config.method}-{config.observe}-{config.score}-{config.seed}-task{task.number:02d}"
        )
        yield from (write_film(folder / f"{name}{suffix}", frames) for suffix in (".mp4", ".gif"))


def imagined_states(program: Program, plans: Sequence[PlanMade]) -> list[Float[np.ndarray, "H+1 S"]]:
    """For each plan the states it was made from and was to lead through."""
    dynamics = program.bind("jax")
    run = jax.jit(lambda state, actions: rollout(dynamics, state, actions))
    states = [
        np.asarray(run(jnp.asarray(plan.state, jnp.float32), jnp.asarray(plan.actions, jnp.float32))) for plan in plans
    ]
    return [np.concatenate([plan.state[None], ahead]) for plan, ahead in zip(plans, states, strict=True)]


def film(
    world: Simulator,
    task: Task,
    attempt: Attempt,
    imagined: Sequence[Float[np.ndarray, "H+1 S"]],
    ways: Ways,
    title: str,
) -> Frames:
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
    canvas: np.ndarray,
    ways: Mapping[str, Float[np.ndarray, "T 2"]],
    color: tuple[int, int, int],
    width: int,
    dots: bool = False,
) -> None:
    for way in ways.values():
        points = np.round(((way[np.isfinite(way).all(axis=1)] + 0.5) * SCALE - 0.5) * 2**SUBPIXEL_BITS).astype(np.int32)
        cv2.polylines(canvas, [points], False, color, width, cv2.LINE_AA, SUBPIXEL_BITS)
        for x, y in points if dots else ():
            cv2.circle(canvas, (int(x), int(y)), 2 << SUBPIXEL_BITS, color, -1, cv2.LINE_AA, SUBPIXEL_BITS)


def _captioned(
    canvas: UInt8[np.ndarray, "h w 3"], said: str, title: str, with_imagined: bool
) -> UInt8[np.ndarray, "H w 3"]:
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
            content = imageio.v3.imwrite(
                "<bytes>", frames, extension=".mp4", plugin="FFMPEG", fps=FRAMES_PER_SECOND, codec="libx264"
            )
    else:
        content = imageio.v3.imwrite(
            "<bytes>", frames, extension=".gif", plugin="pillow", duration=1000 // FRAMES_PER_SECOND, loop=0
        )
    with writing(path) as aside:
        aside.write_bytes(content or b"")
    return path
