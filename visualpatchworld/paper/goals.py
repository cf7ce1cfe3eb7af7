"""Which goals tasks have: of the same episode or of another, of a file or a picture, for some fields only, with a radius that is scaled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.files import from_json, read_text
from visualpatchworld.scene.calibrate import extractor
from visualpatchworld.scene.picture import read_picture
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.simulator import Constants

GoalsOf = Literal["same-episode", "other-episode", "moving", "given"]


class BadGoal(VpwError):
    """A goal that cannot be read, or that no state of the world has."""


@dataclass(frozen=True)
class Goals:
    """Where goals come from, how closely they have to be met, and what of them counts.

    Example: `vpw.evaluate(world, program, traces, goals=vpw.Goals(of="other-episode", tolerance=0.5))`
    """

    of: GoalsOf = "same-episode"
    tolerance: float = 1.0  # on the success radius
    fields: tuple[str, ...] = ()  # objects or fields that count; all of them when none is named
    given: tuple[float, ...] | None = None  # the goal where it is the same for all tasks; what is not a number does not matter

    def __post_init__(self):
        if self.of not in get_args(GoalsOf):
            raise UnknownName("kind of goals", self.of, get_args(GoalsOf)[:2])
        if not 0 < self.tolerance <= 100:
            raise BadGoal(f"The success radius can be scaled by a number above 0 and up to 100, not by {self.tolerance}.")
        if (self.of == "given") != (self.given is not None):
            raise ValueError("a given goal needs its numbers, and others have none")

    def told(self, offset: int) -> str:
        """The goals in a few words."""
        where = {
            "same-episode": f"goals {offset} ahead",
            "other-episode": "goals of other episodes",
            "moving": "goals that go another episode's way",
            "given": "a given goal",
        }[self.of]
        radius = "" if self.tolerance == 1.0 else f" met within {self.tolerance:g} of the success radius"
        return where + (f" for {', '.join(self.fields)}" if self.fields else "") + radius

    def masked(self, goal: Float[np.ndarray, " S"], space: StateSpace) -> Float[np.ndarray, " S"]:
        """The goal with all that does not count replaced by no number."""
        return np.where(counted(space, self.fields), goal, math.nan)


def counted(space: StateSpace, fields: Sequence[str]) -> np.ndarray:
    """Which numbers of a state belong to the named objects or fields; all of them when none is named."""
    if not fields:
        return np.ones(len(space), bool)
    of_object = [field.at.split(".")[0] for field in space]
    for name in fields:
        if name not in space.names and name not in of_object:
            raise UnknownName("object or field", name, (*dict.fromkeys(of_object), *space.names))
    return np.array([field.name in fields or owner in fields for field, owner in zip(space, of_object, strict=True)])


def read_goal(path: Path, domain: Domain, constants: Constants) -> tuple[float, ...]:
    """The goal in a file: a picture, which the tool path reads, or JSON with the numbers of some or all fields by name."""
    space = domain.scene.state_space
    if path.suffix.lower() in (".png", ".jpg", ".jpeg"):
        return tuple(extractor(domain, constants).observe([read_picture(path)]).tolist())
    try:
        content = from_json(read_text(path, "goal", BadGoal))
    except ValueError:
        raise BadGoal(f"'{path}' is neither a picture nor JSON.") from None
    if isinstance(content, list) and len(content) == len(space):
        content = dict(zip(space.names, content, strict=True))
    if not isinstance(content, Mapping) or not content:
        raise BadGoal(f"'{path}' does not hold a goal; write the numbers of fields by name, as {{\"{space.names[0]}\": 1.0}}.")
    for name, value in content.items():
        if name not in space.names:
            raise UnknownName("field", str(name), space.names)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)):
            raise BadGoal(f"'{path}': '{name}' must be a number, not {value!r}.")
    if all(value is None for value in content.values()):
        raise BadGoal(f"'{path}' does not say what any field should be.")
    return tuple(math.nan if content.get(name) is None else float(content[name]) for name in space.names)
