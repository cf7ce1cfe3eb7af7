"""Dry friction that holds: a body stands still while all other forces are weaker, which no force of its velocity alone can say."""

from __future__ import annotations

import re
from dataclasses import replace

from visualpatchworld.induction.motion import Limit, Number, Rates, summands
from visualpatchworld.induction.reading import Reading

STICKING = "stick"  # the law's name


def sticking(reading: Reading, rates: Rates) -> tuple[Rates, tuple[Limit, ...]] | None:
    """The rates without their dry friction, and limits that take the same friction off the new speed, at most all of it."""
    changes, numbers, limits = dict(rates.changes), list(rates.numbers), []
    for coordinate in reading.coordinates:
        speed = coordinate.velocity
        if speed is None or speed not in changes:
            continue
        parts = summands(changes[speed])
        for part in parts:
            found = re.fullmatch(rf"(\w+) \* np\.sign\(state\.{speed}\)", part)
            number = next((n for n in numbers if found and n.name == found.group(1)), None)
            if number is None or number.value >= 0:
                continue
            changes[speed] = " + ".join(p for p in parts if p != part) or "0.0"
            numbers.remove(number)
            held = Number(number.name, -number.value, doc=f"dry friction of {speed}, which holds it still while the rest is weaker")
            line = f"{speed} = np.sign({speed}) * np.maximum(np.abs({speed}) - DT * {number.name}, 0.0)"
            limits.append(Limit("velocity", (line,), (held,), STICKING, (speed,)))
    if not limits:
        return None
    of = {body for limit in limits for body in limit.of}
    laws = tuple((law, bodies) for law, bodies in rates.laws if not (law == "dry" and set(bodies) & of))
    name = "; ".join(text.replace("dry", "dry that holds") if text.partition(":")[0] in of else text for text in rates.name.split("; "))
    return replace(rates, name=name, changes=tuple(changes.items()), numbers=tuple(numbers), laws=laws), tuple(limits)
