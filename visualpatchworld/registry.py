"""Every domain as a Gymnasium environment, `vpw/<id>`, without importing an engine before one is made."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

import gymnasium as gym

from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.simulator import Simulator

NAMESPACE = "vpw"


def register() -> None:
    """Make the domains that can be found known to `gymnasium.make`; calling it again adds what is new."""
    for name, folder in find_domains().items():
        gym_id = _gym_id(folder)
        if gym_id is not None and f"{NAMESPACE}/{gym_id}" not in gym.registry:
            gym.register(f"{NAMESPACE}/{gym_id}", entry_point=partial(_make, name), order_enforce=False)


def _make(name: str, render_mode: str = "rgb_array", **vary: object) -> Simulator:
    simulator = load_domain(name).make(vary)
    simulator.render_mode = render_mode
    return simulator


def _gym_id(folder: Path) -> str | None:
    # Read, not imported: importing a domain loads its engine, and MuJoCo's fixes how it draws.
    try:
        tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None  # whoever asks for the domain is told what is wrong
    keywords = (node for node in ast.walk(tree) if isinstance(node, ast.keyword))
    values = (keyword.value for keyword in keywords if keyword.arg == "gym_id")
    return next((value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)), None)
