"""A session: a program with its constants as they stand, a stretch of the truth,
and what the program imagines of that stretch.

A session is a value. What a person does makes the next one of it; only the true world inside is acted in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.errors import CannotWrite, VpwError
from visualpatchworld.files import write_text
from visualpatchworld.live.worlds import Aim, Imagination, Motion, Truth
from visualpatchworld.program.dial import Dial
from visualpatchworld.program.program import Program
from visualpatchworld.world.trajectory import Trajectory

if TYPE_CHECKING:  # a drawing shows sessions
    from visualpatchworld.live.drawing import Drawing

HORIZONS = (10, 25, 50, 100, 200, 500, 1000)  # steps that can be looked ahead
LEAD_STEPS = 40  # before the start, by which fields that nobody observes become known
MOST_SAVED = 1000  # edited programs beside one


class CannotAim(VpwError):
    """A plan was asked for where there is nothing to plan for, or no way to act."""


@dataclass(frozen=True)
class Goal:
    """Where things should be: a value per field, and which of them count."""

    values: Float[np.ndarray, " O"]
    chosen: Bool[np.ndarray, " O"]


@dataclass(frozen=True)
class Session:
    """All that a page shows. Axes: H steps of the stretch, O observed fields."""

    imagination: Imagination
    truth: Truth
    drawing: Drawing | None
    periods: tuple[float | None, ...]  # of angles among the observed fields
    units: tuple[str, ...]
    spread: Float[np.ndarray, " O"]  # of each field, by which errors are measured
    low: Float[np.ndarray, " O"]  # of goals
    high: Float[np.ndarray, " O"]
    hidden: bool  # a state has fields that no observation shows
    values: tuple[float, ...]  # of the dials
    goal: Goal
    horizon: int
    episode: int = 0
    start: int = 0  # step of the episode that the stretch begins with
    true: Float[np.ndarray, "h+1 O"] = field(default_factory=lambda: np.zeros((1, 0)))
    actions: Float[np.ndarray, "H A"] = field(default_factory=lambda: np.zeros((0, 0)))
    motion: Motion = field(default_factory=lambda: Motion(np.zeros((1, 0)), np.zeros(0)))
    planned: bool = False  # the actions are a plan
    draws: int = 0  # of random numbers so far, so that no two are the same

    @property
    def program(self) -> Program:
        """The program as its constants stand."""
        changed = {dial.name: dial.written(value) for dial, value in self.changed}
        return self.imagination.program.edited(changed) if changed else self.imagination.program

    @property
    def dials(self) -> tuple[Dial, ...]:
        return self.imagination.dials

    @property
    def changed(self) -> list[tuple[Dial, float]]:
        """The dials that were turned, and to what."""
        return [(dial, value) for dial, value in zip(self.dials, self.values, strict=True) if value != dial.value]

    @property
    def errors(self) -> Float[np.ndarray, "h+1 O"]:
        """How far the imagined motion is from the true one, the short way round for angles,
        as long as there is a true one.
        """
        off = self.motion.observations[: len(self.true)] - self.true
        for i, period in enumerate(self.periods):
            if period is not None:
                off[:, i] = np.mod(off[:, i] + period / 2, period) - period / 2
        return np.abs(off)

    @property
    def aim(self) -> Aim | None:
        """What a plan would serve: a goal where one is set, else the reward of the program;
        None where there is neither.
        """
        if self.goal.chosen.any():
            return "task" if self.imagination.cost is not None else "goal"
        return "reward" if self.imagination.has_reward else None


def turned(session: Session, number: int, value: float) -> Session:
    """The session with a dial turned."""
    found = session.dials[number].turned(value)
    if found is None:
        return session
    values = (*session.values[:number], found, *session.values[number + 1 :])
    return imagined(replace(session, values=values))


def turned_back(session: Session, numbers: Sequence[int]) -> Session:
    """The session with some dials where the program's text has them."""
    values = [
        dial.value if i in numbers else value
        for i, (dial, value) in enumerate(zip(session.dials, session.values, strict=True))
    ]
    return imagined(replace(session, values=tuple(values)))


def begun(session: Session, episode: int) -> Session:
    """The session at the start of an episode."""
    session.truth.begin(episode)
    return shown_from(replace(session, episode=episode), 0)


def looking(session: Session, horizon: int) -> Session:
    """The session with another number of steps ahead: the nearest of those that there are."""
    horizon = min(HORIZONS, key=lambda steps: abs(steps - horizon))
    return shown_from(replace(session, horizon=horizon), session.start)


def shown_from(session: Session, start: int) -> Session:
    """The session with the stretch that begins at this step of the episode, as far as that goes on;
    at its end the next one begins.
    """
    session.truth.reach(start + session.horizon)
    seen = session.truth.seen
    if start >= len(seen) and start > 0:
        return begun(session, session.episode + 1)
    until = start + session.horizon
    return imagined(
        replace(
            session,
            start=start,
            true=seen.observations[start : until + 1],
            actions=seen.actions[start:until],
            planned=False,
        )
    )


def stepped(session: Session, steps: int) -> Session:
    """The session so many steps later: the truth goes on, and imagining begins anew from what is seen there.

    What is left of a plan is still what is done.
    """
    later = shown_from(session, session.start + steps)
    return replace(later, planned=session.planned and 0 < later.start == session.start + steps)


def perturbed(session: Session, step: int) -> Session:
    """The session in which the world was pushed elsewhere at a step of the stretch; of a log, another stretch."""
    rng = np.random.default_rng((session.draws, session.start))
    start = session.truth.perturb(session.start + min(step, len(session.true) - 1), rng)
    return shown_from(replace(session, draws=session.draws + 1), start)


def aimed(session: Session, number: int, value: float) -> Session:
    """The session with a goal for one field, within its bounds."""
    if not np.isfinite(value):
        return session
    values, chosen = session.goal.values.copy(), session.goal.chosen.copy()
    values[number] = np.clip(value, session.low[number], session.high[number])
    chosen[number] = True
    return replace(session, goal=Goal(values, chosen))


def aimless(session: Session) -> Session:
    """The session without a goal; a domain always has one."""
    if session.imagination.cost is not None:
        return session
    return replace(session, goal=replace(session.goal, chosen=np.zeros_like(session.goal.chosen)))


def planned(session: Session, step: int) -> Session:
    """The session in which actions for the aim were searched for with the program as it stands,
    and then done in the true world.

    Where the truth is a log, they are only imagined.
    """
    if session.aim is None:
        raise CannotAim(
            "There is nothing to plan for: the program has no reward, and no goal is set. Drag a goal first."
        )
    if not len(session.truth.action_space):
        raise CannotAim(f"Nobody acts in {session.truth.name}, so there is nothing to plan.")
    here = replace(session, start=session.start + min(step, len(session.true) - 1))
    found = search(here)
    session = replace(here, draws=session.draws + 1)
    if not session.truth.runs:
        only = session.truth.seen.observations[session.start : session.start + 1]
        return imagined(replace(session, true=only, actions=found, planned=True))
    session.truth.act(session.start, found)
    seen = session.truth.seen
    return imagined(
        replace(
            session, true=seen.observations[session.start :], actions=found[: len(seen) - session.start], planned=True
        )
    )


def search(session: Session) -> Float[np.ndarray, "H A"]:
    """The best actions found for the aim from the start of the stretch;
    called once beforehand, it compiles what the next call needs.
    """
    aim: Aim = session.aim or "goal"
    state = imagined(replace(session, actions=session.actions[:0])).motion.state
    weights = session.goal.chosen / session.spread**2
    return session.imagination.plan(
        session.values, state, aim, session.goal.values, weights, session.horizon, seed=session.draws
    )


def imagined(session: Session) -> Session:
    """The session with what its program imagines of the stretch."""
    lead_steps = LEAD_STEPS if session.hidden else 0
    motion = session.imagination.motion(
        session.values, lead(session), session.actions, steps=session.horizon, lead_steps=lead_steps
    )
    return replace(session, motion=motion)


def lead(session: Session) -> Trajectory:
    """What was seen up to the start of the stretch, as far as it tells something that the start itself does not."""
    first = max(0, session.start - LEAD_STEPS) if session.hidden else session.start
    seen = session.truth.seen
    return Trajectory(seen.observations[first : session.start + 1], seen.actions[first : session.start])


def saved(session: Session, folder: Path, stem: str) -> Path:
    """Write the program as it stands beside the one that it came from, under a name that is free;
    its header says what was changed.
    """
    changes = [
        f"{dial.name} {dial.written(dial.value)!r} -> {dial.written(value)!r}" for dial, value in session.changed
    ]
    if not changes:
        raise CannotAim("No constant was changed, so there is nothing new to save.")
    text = session.program.text
    opening = '"""'
    note = f"EDITED by hand: {'; '.join(changes)}. What follows was said of the program before.\n\n"
    text = (
        text.replace(opening, opening + note, 1)
        if text.startswith(opening)
        else f"{opening}{note.strip()}{opening}\n\n{text}"
    )
    for number in range(1, MOST_SAVED):
        path = folder / f"{stem}_edited{'' if number == 1 else f'_{number}'}.py"
        if not path.exists():
            write_text(path, text)
            return path
    raise CannotWrite(f"There are {MOST_SAVED - 1} edited programs in '{folder}'; take some away first.")
