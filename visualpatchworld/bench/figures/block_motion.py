"""How far a pushed thing is foreseen to move, against how far it moves."""

from __future__ import annotations

from itertools import accumulate

from matplotlib.figure import Figure

from visualpatchworld.bench.figures._style import BLACK, domain_order, methods_of, nothing, panels, shared_legend
from visualpatchworld.bench.quoted import load_quoted
from visualpatchworld.bench.results import Results

MOST = 1.6  # of the true way: a program that jumps leaves the panel
TITLE = "Predicted against true motion, summed step by step over a contact episode"


def figure(results: Results) -> Figure:
    """One panel per place in which something is pushed: the way so far, foreseen one step at a time by each method, and true."""
    quantities = load_quoted()["cases"].data["motion_quantities"]
    exhibits = [exhibit for exhibit in results.exhibits_of("motion") if quantities.get(exhibit.domain) in exhibit.data["motion"]]
    if not exhibits:
        raise nothing(results, "motion", f"vpw exhibit motion DOMAIN --results {results.out}")
    looks = methods_of(exhibits)
    order = domain_order([exhibit.domain for exhibit in exhibits])
    sources = dict.fromkeys((exhibit.domain, exhibit.source) for exhibit in sorted(exhibits, key=lambda item: order.index(item.domain)))
    drawn, axes = panels(len(sources), height_in=3.2)
    for axis, (domain, source) in zip(axes, sources, strict=True):
        quantity = quantities[domain]
        shown = {exhibit.method: exhibit for exhibit in exhibits if exhibit.source == source}
        first = next(iter(shown.values()))
        axis.set_title(f"{first.title}: {quantity}")
        true = list(accumulate(first.data["motion"][quantity]["true"]))
        axis.plot(range(1, len(true) + 1), true, color=BLACK, linewidth=5, alpha=0.25, label="true")
        for method, look in looks.items():
            if method in shown:
                way = list(accumulate(value or 0.0 for value in shown[method].data["motion"][quantity]["predicted"]))
                axis.plot(range(1, len(way) + 1), way, **look)
        axis.set_ylim(0, min(axis.get_ylim()[1], MOST * true[-1]))
        axis.set_xlabel(f"step of episode {first.data['motion'][quantity]['episode']}")
        axis.set_ylabel("moved so far")
    shared_legend(drawn, axes)
    return drawn
