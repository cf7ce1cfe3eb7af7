"""Results made by hand, so that what a table must say is known."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from visualpatchworld.domain import load_domain
from visualpatchworld.paper.analysis import Analysis, write_analysis
from visualpatchworld.paper.cell import Cell, Outcome, source_title

# What the file of an analysis has to hold, as far as a test does not care what it is.
WHOLE: dict[str, dict[str, Any]] = {
    "audit": {"precision": 1.0, "recall": 1.0, "frames": 9, "seconds_per_frame": 0.01, "looks": {}},
    "rollout": {"horizon": 25, "windows": 9, "not_finite": 0},
    "smoothness": {
        "episode": 0, "step": 0, "beside": [], "horizon": 5, "action": [-1, 1], "engine": [0, 1], "program": [0, 1],
        "merit": {"agreement": 0.75, "gap": 0.1, "engine_step": 1.0, "program_step": 0.5, "regret": 0.0},
    },
}  # fmt: skip


def add(
    folder: Path, successes: Sequence[bool], solved: int = 0, domain: str = "slider", plans: int = 2, **changes: Any
) -> Cell:
    """A cell with one outcome per success; the first `solved` tasks were solved at their start."""
    folder.mkdir(parents=True, exist_ok=True)
    world = load_domain(domain)
    fields: dict[str, Any] = {
        "domain": domain, "method": "vpw", "observe": "oracle", "score": "induced", "metric": next(iter(world.metrics)), "offset": 25,
        "budget": 50, "seed": 42, "source": domain, "planner": world.planner.title, "program": "aaa", "n": len(successes),
    }  # fmt: skip
    fields |= changes
    fields.setdefault("tasks", f"{fields['source']}-{fields['seed']}")
    cell = Cell(**fields)
    rollouts = 30 * plans if cell.score == "hybrid" else 0
    lines = []
    for task, success in enumerate(successes):
        outcome = Outcome(
            task=task, episode=0, step=task, success=success, solved_at_start=task < solved, steps=1, plans=plans, engine_rollouts=rollouts,
            non_finite=0, plan_seconds=(0.1,) * plans, states=((0.0, 0.0),), actions=((0.0,),),
        )  # fmt: skip
        lines.append(json.dumps({"cell": asdict(cell), "versions": {}, "outcome": asdict(outcome)}) + "\n")
    (folder / cell.file_name).write_text("".join(lines))
    return cell


def add_floors(folder: Path, zero: Sequence[bool], random: Sequence[bool], **changes: Any) -> None:
    """Both floors of a place's tasks."""
    for method, successes in (("zero", zero), ("random", random)):
        add(folder, successes, method=method, score="none", planner="", program="", plans=0, **changes)


def add_analysis(
    folder: Path, kind: str, data: Mapping[str, Any], domain: str = "slider", method: str = "vpw", **changes: Any
) -> Analysis:
    """An analysis with these data."""
    fields: dict[str, Any] = {
        "source": domain,
        "program": "aaa",
        "seed": 0,
        "episodes": "eee",
        "versions": {},
    } | changes
    title = source_title(load_domain(domain), fields["source"])
    analysis = Analysis(
        kind=kind, domain=domain, title=title, method=method, data={**WHOLE.get(kind, {}), **data}, **fields
    )
    write_analysis(folder, analysis)
    return analysis


def share(successes: int, count: int) -> list[bool]:
    """So many successes, then failures."""
    return [i < successes for i in range(count)]
