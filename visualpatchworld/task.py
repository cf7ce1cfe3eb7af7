"""How far states are from each other and from their goals:
most of a task follows from the fields of a state and a success radius.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from visualpatchworld.errors import BadDomain, UnknownName

if TYPE_CHECKING:  # a program is planned with where only numpy and JAX are installed
    from visualpatchworld.scene.state import StateField, StateSpace

# A distance of predicted states to true ones, lower is better: two arrays of shape (..., S) to one of shape (...).
ErrorMetric = Callable[[Any, Any], Any]
# Whether states meet goals: two arrays of shape (..., S) to a boolean one of shape (...).
Metric = Callable[[np.ndarray, np.ndarray], np.ndarray]
# What a future costs, lower is better: states (*B H S) and a goal (S),
# or one for every state where it moves or only some fields count,
# to an array of shape (*B); take differences as `(states - goal)[..., i]`.
# Written with operators and array methods alone, so that numpy
# and JAX arrays both do.
Cost = Callable[[Any, Any], Any]

PARTS_OF_RADIUS = 20  # a prediction counts as right within a twentieth of the success radius


@dataclass(frozen=True)
class FieldDistance:
    """How far apart two states are in some of their fields:
    the length of the difference, the short way round for angles.
    """

    fields: tuple[int, ...]
    periods: tuple[float | None, ...] = ()  # of each of these fields, where some are angles

    def __call__(self, state: Any, other: Any) -> Any:
        difference, total = state - other, 0.0
        for index, period in zip_longest(self.fields, self.periods):
            away = difference[..., index]
            if period is not None:
                away = (away + period / 2) % period - period / 2
            total = total + away**2
        return total**0.5


@dataclass(frozen=True)
class GoalDistance:
    """How far states are from meeting goals, in success radii: the largest of the errors, each in its own radius;
    below 1 they do.
    """

    terms: tuple[tuple[ErrorMetric, float], ...]  # an error metric and the radius within which it counts as met

    def __call__(self, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
        return np.max([metric(state, goal) / radius for metric, radius in self.terms], axis=0)


@dataclass(frozen=True)
class GoalCost:
    """The least that a future ever lacks of its goal, all errors together, in success radii;
    never less than the distance that counts.
    """

    terms: tuple[tuple[ErrorMetric, float], ...]

    def __call__(self, states: Any, goal: Any) -> Any:
        return (sum((metric(states, goal) / radius) ** 2 for metric, radius in self.terms) ** 0.5).min(-1)


def goal_terms(
    radii: Mapping[str, float], error_metrics: Mapping[str, ErrorMetric]
) -> tuple[tuple[ErrorMetric, float], ...]:
    """The error metrics that a goal names, each with its success radius."""
    for name, radius in radii.items():
        if name not in error_metrics:
            raise UnknownName("error metric", name, error_metrics)
        if not radius > 0:
            raise BadDomain(f"The success radius of '{name}' must be positive, not {radius}.")
    return tuple((error_metrics[name], float(radius)) for name, radius in radii.items())


def field_distances(space: StateSpace) -> dict[str, ErrorMetric]:
    """An error metric for the place of every object, as `puck_m`, and one for its angle, as `puck_rad`."""
    found: dict[str, list[int]] = {}
    for index, field in enumerate(space):
        if ".pose." in field.at:
            found.setdefault(_metric_name(field), []).append(index)
    periods = [field.period for field in space]
    return {name: FieldDistance(tuple(where), tuple(periods[i] for i in where)) for name, where in found.items()}


def _metric_name(field: StateField) -> str:
    return f"{field.at.split('.')[0]}_{field.unit}"


def tolerances(radii: Mapping[str, float], error_metrics: Mapping[str, ErrorMetric]) -> dict[str, float]:
    """The largest error of a right prediction, for every error metric in whose unit there is a success radius."""
    units = {name.rpartition("_")[2]: radius for name, radius in radii.items()}
    found = {name: radii.get(name, units.get(name.rpartition("_")[2])) for name in error_metrics}
    return {name: radius / PARTS_OF_RADIUS for name, radius in found.items() if radius is not None}
