"""A family of sketches: a product of a few independent choices, each of which decides what some functions of the program are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from visualpatchworld.errors import UnknownName

Law = Callable[..., Any]


@dataclass(frozen=True)
class Role:
    """A function that a step calls by name and that a family's choices fill in."""

    doc: str

    def __call__(self, *arguments: Any) -> Any:
        raise TypeError(f"a role is played by the law a sketch chooses: {self.doc}")


@dataclass(frozen=True)
class Sketch:
    """One qualitative form: the choices that make it, the state it evolves, and the laws that play the roles of its program.

    The role `step` is always there; it calls the others by their role's name.
    """

    choices: Mapping[str, str]
    title: str
    state: type[Any]  # a named tuple
    roles: Mapping[str, Law]

    @property
    def name(self) -> str:
        """The choices, joined: pd+pushed+quasi-static."""
        return "+".join(self.choices.values())


@dataclass(frozen=True)
class Family:
    """Every combination of the axes; `build` says what a combination is, and combinations with the same laws are one sketch."""

    axes: Mapping[str, tuple[str, ...]]
    build: Callable[[Mapping[str, str]], Sketch]
    extra: tuple[Sketch, ...] = ()  # selectable by name, never a rival: the forms of an ablation

    def sketches(self) -> tuple[Sketch, ...]:
        """The distinct forms, in the order of the product; of several names for the same laws the first stays."""
        distinct: dict[tuple[Law, ...], Sketch] = {}
        for values in itertools.product(*self.axes.values()):
            sketch = self.build(dict(zip(self.axes, values, strict=True)))
            distinct.setdefault(tuple(sketch.roles.values()), sketch)
        return tuple(distinct.values())

    def named(self, name: str) -> Sketch:
        """The sketch of that name, rival or extra."""
        found = {sketch.name: sketch for sketch in (*self.sketches(), *self.extra)}
        if name not in found:
            raise UnknownName("sketch", name, found)
        return found[name]
