"""What a page draws: a scene as shapes that move, and a session as JSON,
what stays the same once and what a wish changed each time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from visualpatchworld.files import to_json
from visualpatchworld.live.session import HORIZONS, Session
from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import SceneTemplate, StateSpace

POSE = ("pose.x", "pose.y", "pose.z", "pose.angle", "attributes.opening")  # what a page places an object by
MARGIN = 0.08  # of the extent, around what is drawn
POINT = 0.02  # of the extent: the size of an object that has none


@dataclass(frozen=True)
class Drawing:
    """The objects of a scene, where each of their numbers lies in a state, and the box that holds everything."""

    objects: tuple[SceneObject, ...]
    columns: tuple[tuple[int, ...], ...]  # per object: the field of each number of POSE, -1 where no field holds it
    low: tuple[float, ...]
    high: tuple[float, ...]
    unit: str
    y_down: bool
    solid: bool  # drawn in three dimensions

    @property
    def moving(self) -> list[int]:
        """Numbers of the objects that move."""
        return [i for i, item in enumerate(self.objects) if not item.fixed]

    def places(self, states: Float[np.ndarray, "T S"], objects: Sequence[int]) -> Float[np.ndarray, "T N 5"]:
        """x, y, z, angle and opening of these objects at each moment.

        A link without a place of its own begins where the object listed before it ends,
        and its angle counts from that one's.
        """
        found = np.stack([self._place(states, i) for i in range(len(self.objects))], axis=1)
        for i, item in enumerate(self.objects):
            if item.geometry.length is None or self.columns[i][0] >= 0 or item.pose.x is not None or i == 0:
                continue
            before, length = found[:, i - 1], self.objects[i - 1].geometry.length or 0.0
            found[:, i, 3] += before[:, 3] if length else 0.0
            found[:, i, 0] = before[:, 0] + length * np.cos(before[:, 3])
            found[:, i, 1] = before[:, 1] + length * np.sin(before[:, 3])
        return found[:, list(objects)]

    def _place(self, states: Float[np.ndarray, "T S"], number: int) -> Float[np.ndarray, "T 5"]:
        pose = self.objects[number].pose
        rest = (pose.x, pose.y, pose.z, pose.angle, 0.0)
        parts = [
            states[:, column] if column >= 0 else np.full(len(states), value or 0.0)
            for column, value in zip(self.columns[number], rest, strict=True)
        ]
        return np.stack(parts, axis=1)

    def shapes(self) -> list[dict[str, Any]]:
        """The objects for a page: name, kind, shape in its own frame, and the fields that a drag of it changes."""
        size = max(high - low for low, high in zip(self.low, self.high, strict=True))
        return [
            {
                "name": item.name,
                "kind": item.kind,
                "fixed": item.fixed,
                "fields": list(columns[:4]),
                "opens": columns[4] >= 0,
                "shape": item.geometry.model_dump(mode="json", exclude_none=True) or {"radius": POINT * size},
            }
            for item, columns in zip(self.objects, self.columns, strict=True)
        ]


def drawing_of(template: SceneTemplate, constants: Any, seen: Float[np.ndarray, "T S"]) -> Drawing:
    """How to draw a domain's scenes; what was seen tells how large they are where no object does."""
    objects = template.objects(constants)
    columns = tuple(tuple(_column(template.state_space, f"{item.name}.{part}") for part in POSE) for item in objects)
    solid = any(row[2] >= 0 for row in columns) or any(item.geometry.length is not None for item in objects)
    rough = Drawing(objects, columns, (0.0,) * 3, (0.0,) * 3, template.length_unit, template.y_axis == "down", solid)
    corners = [rough.places(seen, range(len(objects)))[:, :, :3].reshape(-1, 3)]
    if template.workspace is not None:
        corners.append(np.array([[*corner, 0.0, 0.0][:3] for corner in template.workspace]))
    reach = sum(item.geometry.length or 0.0 for item in objects)
    for item in objects:
        around = (reach + (item.geometry.radius or 0.0)) if item.geometry.length is not None else _around(item)
        middle = np.array([item.pose.x or 0.0, item.pose.y or 0.0, item.pose.z or 0.0])
        if item.fixed or item.geometry.length is not None:
            wide = np.array([*np.broadcast_to(around, 2), 0.0])
            corners.append(np.stack([middle - wide, middle + wide]))
    points = np.concatenate(corners)
    low, high = points.min(axis=0), points.max(axis=0)
    pad = MARGIN * max(float((high - low).max()), 1e-9)
    low, high = low - pad, high + pad
    if solid:
        low[2] = min(0.0, points[:, 2].min())  # things stand on the ground
    return Drawing(objects, columns, tuple(low.tolist()), tuple(high.tolist()), rough.unit, rough.y_down, solid)


def _column(space: StateSpace, place: str) -> int:
    return next((i for i, field in enumerate(space) if field.at == place), -1)


def _around(item: SceneObject) -> Float[np.ndarray, " 2"]:
    """How far an object reaches from its middle, along x and y."""
    shape, radius = item.geometry, item.geometry.radius or 0.0
    if shape.half_sizes is not None:
        return np.array(shape.half_sizes[:2]) + radius
    points = [point for polygon in shape.polygons or () for point in polygon] + list(shape.segment or ())
    return (np.abs(np.array(points)).max(axis=0) if points else np.zeros(2)) + radius


MOST_FRAMES = 250  # of a stretch, which longer ones are thinned to
DIGITS = 7


def world_text(session: Session) -> str:
    """What stays the same: names, bounds, shapes and the program's listing."""
    truth, drawing = session.truth, session.drawing
    return to_json(
        {
            "kind": "world",
            "title": truth.name if truth.runs else Path(truth.name).name,
            "runs": truth.runs,
            "episodes": truth.num_episodes,
            "horizons": HORIZONS,
            "dt": truth.dt,
            "acts": len(truth.action_space),
            "task": session.imagination.cost is not None,
            "fields": [
                {"name": name, "unit": unit, "low": low, "high": high, "spread": spread}
                for name, unit, low, high, spread in zip(
                    truth.field_names,
                    session.units,
                    session.low.tolist(),
                    session.high.tolist(),
                    session.spread.tolist(),
                    strict=True,
                )
            ],
            "dials": [
                {
                    "name": dial.name,
                    "value": dial.value,
                    "stderr": dial.stderr,
                    "unit": dial.unit,
                    "meaning": dial.meaning,
                    "low": dial.low,
                    "high": dial.high,
                    "whole": dial.whole,
                }
                for dial in session.dials
            ],
            "listing": listing(session),
            "scene": None
            if drawing is None
            else {
                "shapes": drawing.shapes(),
                "moving": drawing.moving,
                "rest": _rows(drawing.places(session.true[:1], range(len(drawing.objects)))[0]),
                "low": drawing.low,
                "high": drawing.high,
                "unit": drawing.unit,
                "yDown": drawing.y_down,
                "solid": drawing.solid,
            },
        }
    )


def motion_text(session: Session, serial: int = 0) -> str:
    """What changes: values, the stretch, true and imagined, and the goal."""
    steps = np.arange(len(session.motion.observations))
    steps = steps[:: max(1, math.ceil((len(steps) - 1) / MOST_FRAMES))]
    true_steps = steps[steps < len(session.true)]
    true, imagined = session.true[true_steps], session.motion.observations[steps]
    parts = {
        "kind": "motion",
        "serial": serial,
        "values": session.values,
        "changed": len(session.changed),
        "horizon": session.horizon,
        "episode": session.episode,
        "start": session.start,
        "steps": steps.tolist(),
        "true": _rows(true),
        "imagined": _rows(imagined),
        "errors": _rows(session.errors[true_steps]),
        "goal": {"values": _rows(session.goal.values), "chosen": session.goal.chosen.tolist()},
        "planned": session.planned,
        "aim": session.aim,
    }
    if session.drawing is not None:
        moving = session.drawing.moving
        goal = session.goal.values[None]
        parts["places"] = {
            "true": _rows(session.drawing.places(true, moving)),
            "imagined": _rows(session.drawing.places(imagined, moving)),
            "goal": _rows(session.drawing.places(goal, moving)[0]),
        }
    return to_json(parts)


def said_text(sentence: str, serial: int = 0) -> str:
    """A sentence for whoever looks at the page."""
    return to_json({"kind": "said", "text": sentence, "serial": serial})


def listing(session: Session) -> list[dict[str, Any]]:
    """The program's lines, coloured; the value of a dial stands in an element of its own,
    so that a page can change it.
    """
    dials = {dial.line: i for i, dial in enumerate(session.dials)}
    rows = []
    coloured = highlight(session.imagination.program.text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    for number, line in enumerate(coloured.split("\n"), start=1):
        if number in dials:
            dial = session.dials[dials[number]]
            text = session.imagination.program.text.splitlines()[number - 1]
            comment = text.partition("#")[2]
            value = Markup('{} = <b class="dial">{!r}</b>').format(dial.name, dial.written(dial.value))
            line = value + (Markup('  <span class="c1">#{}</span>').format(comment) if comment else Markup(""))
        rows.append({"html": str(line), "dial": dials.get(number)})
    return rows


def _rows(values: Float[np.ndarray, "*N"]) -> Any:
    """Numbers as lists with as many digits as a screen can show; what is not finite becomes null."""
    if values.ndim > 1:
        return [_rows(row) for row in values]
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values.tolist()]
