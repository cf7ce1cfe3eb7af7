"""What a page may ask for: one of a few things, with numbers; whatever else arrives is refused and does nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from visualpatchworld.errors import VpwError
from visualpatchworld.live import session as sessions
from visualpatchworld.live.session import Session

MOST_CHARACTERS = 300  # of what is asked at once
LARGEST = 1e12
MOST_EPISODES = 100_000


class Refused(VpwError):
    """Something that no page of ours asks for."""


class Wish(NamedTuple):
    """What is asked for: its name, which dial, field, step or episode it is about, and a value where one is set."""

    do: str
    number: int = 0
    value: float = 0.0
    serial: int = 0  # the page's own count, so that it knows which answer is to which wish

    @property
    def replaces(self) -> tuple[str, int] | None:
        """Of several wishes alike only the last counts: where a dial or a goal is, not where it came through."""
        return (self.do, self.number) if self.do in ("turn", "aim") else None


# Each makes the next session of one; the limits of `number` are in `_LIMITS`.
DEEDS: dict[str, Callable[[Session, Wish], Session]] = {
    "turn": lambda session, wish: sessions.turned(session, wish.number, wish.value),
    "back": lambda session, wish: sessions.turned_back(session, [wish.number]),
    "back_all": lambda session, wish: sessions.turned_back(session, range(len(session.dials))),
    "aim": lambda session, wish: sessions.aimed(session, wish.number, wish.value),
    "aimless": lambda session, wish: sessions.aimless(session),
    "plan": lambda session, wish: sessions.planned(session, wish.number),
    "step": lambda session, wish: sessions.stepped(session, wish.number),
    "perturb": lambda session, wish: sessions.perturbed(session, wish.number),
    "episode": lambda session, wish: sessions.begun(session, wish.number),
    "look": lambda session, wish: sessions.looking(session, wish.number),
}
SAVE = "save"
_LIMITS: dict[str, Callable[[Session], int]] = {
    "turn": lambda session: len(session.dials) - 1,
    "back": lambda session: len(session.dials) - 1,
    "aim": lambda session: len(session.goal.values) - 1,
    "plan": lambda session: session.horizon,
    "step": lambda session: session.horizon,
    "perturb": lambda session: session.horizon,
    "episode": lambda session: min(MOST_EPISODES, session.truth.num_episodes or MOST_EPISODES) - 1,
    "look": lambda session: max(sessions.HORIZONS),
}


def read_wish(text: str | bytes, session: Session) -> Wish:
    """The wish that a message holds, each number of it within its limits; otherwise `Refused` says what is wrong."""
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise Refused("A wish is a short text.")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused("A wish is JSON.") from None
    if not isinstance(found, dict) or not found.keys() <= set(Wish._fields):
        raise Refused(f"A wish has no other parts than {', '.join(Wish._fields)}.")
    do = found.get("do")
    if not isinstance(do, str) or do not in (*DEEDS, SAVE):
        raise Refused("There is no such wish.")
    wish = Wish(do, _whole(found.get("number", 0)), _number(found.get("value", 0.0)), _whole(found.get("serial", 0)))
    most = _LIMITS.get(do, lambda _: 0)(session)
    if not 0 <= wish.number <= most:
        raise Refused(f"The number of '{do}' lies between 0 and {most}.")
    return wish


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise Refused("A number of something is a whole number.")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value) or abs(value) > LARGEST:
        raise Refused("A value is a finite number.")
    return float(value)
