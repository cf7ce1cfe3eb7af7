"""Films of any world that has pictures: an episode as it was seen, with what the program imagined of each field drawn beside it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld import graphics as graphics  # chooses how MuJoCo draws before anything imports MuJoCo
from visualpatchworld.errors import VpwError
from visualpatchworld.extras import PIL, need
from visualpatchworld.files import make_folder
from visualpatchworld.paper.film import write_film
from visualpatchworld.plan.return_search import compiled_search
from visualpatchworld.plan.reward import Controller, choose_planner
from visualpatchworld.program.env import imagine
from visualpatchworld.program.program import Program
from visualpatchworld.report.recording import imagined
from visualpatchworld.world.collect import excitation, record, replay
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import Outcome, World

HEIGHT_PX, PANEL_PX, STRIP_PX, CAPTION_PX = 288, 240, 48, 16  # sides of a film are multiples of 16
MOST_FIELDS = 6  # that fit beside the picture
MOST_FRAMES = 200
MOST_STEPS = 300  # of an episode that is acted for a film alone
RESYNC_EVERY = 50  # steps after which imagining begins anew from the truth
# Pictures need no window and no sound: without these pygame looks for both, and says so.
QUIET = {"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy", "PYGAME_HIDE_SUPPORT_PROMPT": "1"}
PAPER, INK, TRUE, IMAGINED = (251, 250, 247), (60, 66, 74), (176, 170, 158), (11, 107, 116)

Frame = UInt8[np.ndarray, "H W 3"]


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
        raise NoPictures(f"{world.name} is not filmed: {str(error).strip().rstrip('.') or type(error).__name__}.") from None
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
        actions = excitation(filmed.action_space, "held", min(filmed.time_limit or MOST_STEPS, MOST_STEPS), np.random.default_rng(seed))
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
    """Write an episode as a film: its pictures, and the true and the imagined course of its fields up to each moment."""
    progress("imagining")
    ahead = imagined(program, episode, RESYNC_EVERY)
    every = -(-len(frames) // MOST_FRAMES)
    shown = range(0, min(len(frames), len(episode.observations)), every)
    progress("drawing")
    panels = _panels(episode.observations, ahead, names)
    make_folder(path.parent)
    pictures = [_frame(frames[step], panels, step, f"{caption}, step {step}") for step in shown]
    return write_film(path, np.stack(pictures))


def _panels(true: Float[np.ndarray, "T O"], ahead: Float[np.ndarray, "T O"], names: Sequence[str]) -> list[tuple[str, Any, Any]]:
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
    canvas = PIL.Image.new("RGB", (width + PANEL_PX, HEIGHT_PX + 2 * CAPTION_PX), PAPER)
    canvas.paste(scaled.resize((width, HEIGHT_PX)), (0, 0))
    draw = PIL.ImageDraw.Draw(canvas)
    for row, (name, true, ahead) in enumerate(panels):
        x, y = width, row * STRIP_PX
        draw.text((x + 8, y), name, fill=INK)
        for points, color, wide in ((true, TRUE, 4), (ahead, IMAGINED, 1)):
            line = [(x + px, y + py) for px, py in points[: step + 1]]
            if len(line) > 1:
                draw.line(line, fill=color, width=wide)
    draw.text((8, HEIGHT_PX + 2), caption, fill=INK)
    draw.text((8, HEIGHT_PX + 16), f"thick: true; thin: imagined by the program, anew every {RESYNC_EVERY} steps", fill=INK)
    return np.asarray(canvas)
