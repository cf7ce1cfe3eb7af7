"""The planners that a user can name: one budget and one horizon, several ways to search."""

from __future__ import annotations

from dataclasses import asdict

from visualpatchworld.plan.cem import CEM, ICEM, Polished
from visualpatchworld.plan.mppi import MPPI
from visualpatchworld.plan.planner import Planner

MPPI_TEMPERATURE = 0.1


def siblings(cem: CEM) -> dict[str, Planner]:
    """This search and others like it, by name."""
    fields = asdict(cem)
    shared = {name: value for name, value in fields.items() if name not in ("elites", "smoothing")}
    return {
        "cem": cem,
        "icem": ICEM(**fields | {"colour": max(cem.colour, ICEM.colour)}),
        "mppi": MPPI(**shared, temperature=MPPI_TEMPERATURE),
        "gradient": Polished(**fields),
    }
