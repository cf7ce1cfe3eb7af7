"""What the tool path sees, drawn over the picture with what is there."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from visualpatchworld.paper.exhibits import Exhibit
from visualpatchworld.paper.figures._style import BLUE, VERMILION, WIDTH_IN, domain_order, nothing
from visualpatchworld.paper.results import Results

TITLE = "Scene graphs of the tool path and of the oracle, drawn on the pictures that were read"
MOST_ERRORS = 3  # in a title; the table has all
LOOKS = {"oracle": {"color": BLUE, "linewidth": 3.5, "alpha": 0.6}, "tool": {"color": VERMILION, "linewidth": 1.3}}


def figure(results: Results) -> Figure:
    """One row of pictures per place, with the errors of its audit above them."""
    audits = [exhibit for exhibit in results.exhibits_of("audit") if exhibit.pictures]
    if not audits:
        raise nothing(results, "audits", f"vpw exhibit audit DOMAIN --results {results.out}")
    order = domain_order([audit.domain for audit in audits])
    audits = sorted(audits, key=lambda audit: order.index(audit.domain))
    columns = max(len(audit.pictures) for audit in audits)
    side = WIDTH_IN / columns
    drawn = Figure(figsize=(WIDTH_IN, (side + 0.35) * len(audits) + 0.4), layout="constrained")
    for part, audit in zip(drawn.subfigures(len(audits), 1, squeeze=False)[:, 0], audits, strict=True):
        errors = ", ".join(f"{name} {error:.2g}" for name, error in list(audit.data["rmse"].items())[:MOST_ERRORS])
        part.suptitle(f"{audit.title}: RMSE {errors}", x=0.01, ha="left", fontsize=10, fontweight="bold")
        axes = part.subplots(1, columns, squeeze=False)[0]
        for axis, name in zip(axes, audit.pictures, strict=False):
            _draw(axis, audit, name)
        for axis in axes[len(audit.pictures) :]:
            axis.set_axis_off()
    drawn.legend(handles=[Line2D([], [], label=name, **look) for name, look in LOOKS.items()], loc="outside lower center", ncols=2)
    return drawn


def _draw(axis: Axes, audit: Exhibit, name: str) -> None:
    picture = audit.pictures[name]
    axis.imshow(picture, interpolation="nearest")
    for path, look in LOOKS.items():
        for lines in audit.data["looks"][name][path].values():
            for line in lines:
                axis.plot(*np.array(line, dtype=float).T, **look)
    axis.set_xlim(-0.5, picture.shape[1] - 0.5)
    axis.set_ylim(picture.shape[0] - 0.5, -0.5)
    axis.set_axis_off()
