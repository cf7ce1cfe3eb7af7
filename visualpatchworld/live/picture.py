"""A session as JSON for a page: what stays the same once, and what a wish changed each time."""

from __future__ import annotations

import math
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
                    truth.field_names, session.units, session.low.tolist(), session.high.tolist(), session.spread.tolist(), strict=True
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


def motion_text(session: Session, serial: int = 0, note: str = "") -> str:
    """What changes: values, the stretch, true and imagined, and the goal."""
    steps = np.arange(len(session.motion.observations))
    steps = steps[:: max(1, math.ceil((len(steps) - 1) / MOST_FRAMES))]
    true_steps = steps[steps < len(session.true)]
    true, imagined = session.true[true_steps], session.motion.observations[steps]
    parts = {
        "kind": "motion",
        "serial": serial,
        "note": note,
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
    """The program's lines, coloured; the value of a dial stands in an element of its own, so that a page can change it."""
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
