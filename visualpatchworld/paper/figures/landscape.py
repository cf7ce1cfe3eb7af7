"""What actions cost under the program and under the engine, where the engine's costs have a cliff."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from visualpatchworld.paper.exhibits import Exhibit
from visualpatchworld.paper.figures._style import BLACK, BLUE, WIDTH_IN, domain_order, nothing
from visualpatchworld.paper.results import Results

TITLE = "The scoring landscape beside a wall: program against engine"
COLORS = "viridis"
AXES = ("first action", "second action")


def figure(results: Results) -> Figure:
    """One row per place: the engine's costs over a grid of actions, the program's, and both along the line with the steepest step."""
    exhibits = [exhibit for exhibit in results.exhibits_of("smoothness") if exhibit.method == "vpw"]
    if not exhibits:
        raise nothing(results, "scoring landscapes", f"vpw exhibit smoothness DOMAIN --results {results.out}")
    order = domain_order([exhibit.domain for exhibit in exhibits])
    exhibits = sorted(exhibits, key=lambda exhibit: order.index(exhibit.domain))
    drawn = Figure(figsize=(WIDTH_IN, 2.6 * len(exhibits) + 0.3), layout="constrained")
    for part, exhibit in zip(drawn.subfigures(len(exhibits), 1, squeeze=False)[:, 0], exhibits, strict=True):
        _draw_row(part, exhibit)
    return drawn


def _draw_row(part: SubFigure, exhibit: Exhibit) -> None:
    engine, program = normalised(exhibit)
    agreement = f"{100 * exhibit.data['merit']['agreement']:.1f} % of neighbours in the engine's order"
    part.suptitle(f"{exhibit.title}: {agreement}", x=0.01, ha="left", fontsize=11, fontweight="bold")
    action = np.array(exhibit.data["action"])
    if engine.ndim == 1:
        _draw_cut(part.subplots(), action, engine, program, "action")
        return
    axes = part.subplots(1, 3, width_ratios=(1, 1, 1.1))
    along, line = steepest_line(engine)
    for axis, costs, title in ((axes[0], engine, "engine, dark is cheap"), (axes[1], program, "program")):
        axis.imshow(costs.T, origin="lower", extent=(-1, 1, -1, 1), vmin=0, vmax=1, cmap=COLORS, aspect="equal", interpolation="nearest")
        draw_line = axis.axhline if along == 0 else axis.axvline
        draw_line(action[line], color="white", linestyle="--", linewidth=1)
        axis.set_title(title, fontweight="normal")
        axis.grid(False)
        axis.set_xticks((-1, 0, 1))
        axis.set_yticks((-1, 0, 1))
        axis.set_xlabel(AXES[0])
    axes[0].set_ylabel(AXES[1])
    _draw_cut(axes[2], action, np.take(engine, line, axis=1 - along), np.take(program, line, axis=1 - along), AXES[along])


def _draw_cut(axis: Axes, action: np.ndarray, engine: np.ndarray, program: np.ndarray, label: str) -> None:
    axis.plot(action, engine, color=BLACK, linewidth=5, alpha=0.25, label="engine")
    axis.plot(action, program, color=BLUE, label="program")
    axis.set_title("cost, dashed line", fontweight="normal")
    axis.set_ylim(-0.05, 1.05)
    axis.set_xticks((-1, 0, 1))
    axis.set_xlabel(label)
    axis.legend(loc="best", handlelength=1.2)


def normalised(exhibit: Exhibit) -> tuple[np.ndarray, np.ndarray]:
    """Costs of engine and program in units of the engine's range."""
    engine, program = (np.array(exhibit.data[name], dtype=float) for name in ("engine", "program"))
    low, size = engine.min(), np.ptp(engine) or 1.0
    return (engine - low) / size, (program - low) / size


def steepest_line(engine: np.ndarray) -> tuple[int, int]:
    """Along which number of the action the engine's costs have their largest step, and at which value of the other."""
    steps = [np.abs(np.diff(engine, axis=axis)).max(axis=axis) for axis in (0, 1)]
    along = int(np.argmax([step.max() for step in steps]))
    return along, int(steps[along].argmax())
