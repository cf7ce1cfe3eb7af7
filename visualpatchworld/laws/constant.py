"""Unknown constants of a sketch: named, bounded, with a unit, and not a number until they are fitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from visualpatchworld.scene.schema import SceneGraph

Kind = Literal["log", "linear", "threshold", "choice"]


class Constant(float):
    """A number nobody has measured yet. Laws use it as a float; until it is fitted it is NaN, so an unfitted law predicts nothing."""

    kind: Kind
    unit: str
    doc: str
    low: float
    high: float
    options: tuple[int, ...]

    def __new__(cls, kind: Kind, unit: str, doc: str, low: float, high: float, options: tuple[int, ...] = ()) -> Constant:
        self = super().__new__(cls, "nan")
        self.kind, self.unit, self.doc, self.low, self.high, self.options = kind, unit, doc, low, high, options
        return self


def positive(unit: str, doc: str, low: float, high: float) -> Constant:
    """A constant whose order of magnitude is unknown: its prior is flat in the logarithm."""
    return Constant("log", unit, doc, low, high)


def signed(unit: str, doc: str, low: float, high: float) -> Constant:
    """A constant that may have either sign or be zero: its prior is flat."""
    return Constant("linear", unit, doc, low, high)


def threshold(unit: str, doc: str, low: float, high: float) -> Constant:
    """A constant that only decides a comparison: the loss has no gradient in it, so it is found by a scan."""
    return Constant("threshold", unit, doc, low, high)


def choice(unit: str, doc: str, *options: int) -> Any:
    """A whole number from a small set; every option is tried and the data decide."""
    return Constant("choice", unit, doc, min(options), max(options), options)


class FromScene(float):
    """A shape that is read off the scene graph and written into the program as it stands there."""

    unit: str
    doc: str
    read: Callable[[SceneGraph], Any]

    def __new__(cls, unit: str, doc: str, read: Callable[[SceneGraph], Any]) -> FromScene:
        self = super().__new__(cls, "nan")
        self.unit, self.doc, self.read = unit, doc, read
        return self


def from_scene(unit: str, doc: str, read: Callable[[SceneGraph], Any]) -> Any:
    """A number or nested tuple of numbers that the scene graph holds."""
    return FromScene(unit, doc, read)
