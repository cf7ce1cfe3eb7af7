"""A run's folder made by hand for the toy domain, so that what its page must say is known."""

import json
from pathlib import Path
from typing import Any

from paper.made_results import add, add_floors
from toy_program import RIGHT

from visualpatchworld.domain import load_domain
from visualpatchworld.program.program import Program
from visualpatchworld.trace.episode import collect
from visualpatchworld.trace.file import write_traces

TEXT = RIGHT.text.replace("PUSH = 3.0", "PUSH = 3.0  # m/s^2")
NUM_TASKS = 6


def induction(**changes: Any) -> dict[str, Any]:
    """How a program came about: one rival is refuted, one was never tried."""

    def verdicts(*explained: bool) -> list[dict[str, Any]]:
        return [
            {"probe": f"push {i}", "asks": "action", "explained": right, "errors": {"puck_m": 0.0 if right else 0.25}}
            for i, right in enumerate(explained)
        ]

    def candidate(sketch: str, *explained: bool, set_aside: str | None = None) -> dict[str, Any]:
        tried = {"constants": {"PUSH": 3.0}, "verdicts": verdicts(*explained), "set_aside": set_aside}
        return {
            "sketch": sketch,
            "explained": sum(explained),
            "probes": 3,
            "simplicity": -2000,
            "refuted_by": None,
            **tried,
        }

    return {
        "domain": "slider",
        "sketch": "push+drag",
        "choices": {"action": "push", "loss": "drag"},
        "constants": {
            "PUCK_PUSH": {"value": 3.0, "stderr": 2e-8, "unit": "m/s^2"},
            "DRAG": {"value": 0.7, "stderr": None, "unit": "1/s"},
        },
        "undetermined": [],
        "candidates": [
            candidate("push+drag", True, True, True),
            candidate("push+free", True, False, False),
            candidate("speed+free", set_aside="'speed' already failed every probe"),
        ],
        "unexplained_probes": [],
        "rollout_error": {
            "puck_m": {
                "1": {"mean": 1e-7, "median": 1e-8, "p90": 1e-6},
                "10": {"mean": 1e-5, "median": 1e-6, "p90": 1e-4},
            }
        },
        "program": "somewhere/world_model.py",
        "program_hash": Program(TEXT).hash,
        "seconds": 12.5,
        "settings": {
            "version": "0.1.0",
            "episodes": 5,
            "seed": 7,
            "constants": {"push": 3.0, "drag": 0.7, "radius": 0.2},
        },
    } | changes


def make_run(folder: Path, **changes: Any) -> Path:
    """A whole run: five of six tasks solved, one of them at its start; resting solves that one, random actions two."""
    folder.mkdir(parents=True)
    world = load_domain("slider")
    (folder / "world_model.py").write_text(TEXT)
    (folder / "induction.json").write_text(json.dumps(induction(**changes)))
    (folder / "timings.json").write_text(json.dumps({"collect": 0.5, "probe": 4.0, "fit": 8.0}))
    recorded = collect(world, world.constants, episodes=5, seed=7)
    write_traces(folder / "episodes.h5", recorded, world.layout, domain=world.name, constants=world.constants, seed=7)
    results, hashed = folder / "results", Program(TEXT).hash
    add(results, [True, True, True, False, True, True], solved=1, program=hashed, source="episodes")
    add_floors(results, [True] + [False] * 5, [True, True] + [False] * 4, solved=1, source="episodes")
    return folder
