"""How far open-loop rollouts stray, by the number of steps."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from visualpatchworld.bench.exhibits import Exhibit
from visualpatchworld.bench.figures._style import domain_order, methods_of, nothing, panels, shared_legend
from visualpatchworld.bench.results import Results

EXACT = 1e-9  # below this the scale is linear, so that 0 has a place
POWERS = range(-9, 10, 3)
TITLE = "Open-loop error against the number of steps, on test episodes"


def figure(results: Results) -> Figure:
    """One panel per place and quantity: every method's median, and of ours the mean, too, which a few bad rollouts may lift far above."""
    exhibits = results.exhibits_of("rollout")
    if not exhibits:
        raise nothing(results, "rollouts", f"vpw exhibit rollout DOMAIN --results {results.out}")
    looks = methods_of(exhibits)
    places = [
        (source, quantity, [item for item in exhibits if item.source == source and quantity in item.data["rollout_error"]])
        for domain in domain_order([exhibit.domain for exhibit in exhibits])
        for source in dict.fromkeys(exhibit.source for exhibit in exhibits if exhibit.domain == domain)
        for quantity in next(exhibit for exhibit in exhibits if exhibit.source == source).data["rollout_error"]
    ]
    drawn, axes = panels(len(places), height_in=2.2)
    for axis, (_, quantity, shown) in zip(axes, places, strict=True):
        _draw(axis, quantity, sorted(shown, key=lambda exhibit: list(looks).index(exhibit.method)), looks)
    for axis in axes[-2:]:
        axis.set_xlabel("steps ahead")
    shared_legend(drawn, axes)
    return drawn


def _draw(axis: Axes, quantity: str, exhibits: Sequence[Exhibit], looks: dict[str, dict]) -> None:
    axis.set_title(f"{exhibits[0].title}: {quantity}")
    for exhibit in exhibits:
        errors, look = exhibit.data["rollout_error"][quantity], looks[exhibit.method]
        steps = range(1, exhibit.data["horizon"] + 1)
        known = {name: [float("nan") if value is None else value for value in errors[name]] for name in ("median", "mean", "p90")}
        axis.plot(steps, known["median"], **{**look, "label": f"{look['label']}, median"})
        if exhibit is exhibits[0]:
            for name, title, dashes in (("p90", "90th percentile", ":"), ("mean", "mean", "--")):
                axis.plot(steps, known[name], color=look["color"], linewidth=1.0, linestyle=dashes, label=f"{look['label']}, {title}")
    axis.set_yscale("symlog", linthresh=EXACT, linscale=0.5)
    highest = max(axis.get_ylim()[1], 1.0)
    axis.set_ylim(0, highest)
    axis.set_yticks([0, *(10.0**power for power in POWERS if 10.0**power <= highest)], minor=False)
    axis.minorticks_off()
    axis.set_xlim(1, exhibits[0].data["horizon"])
