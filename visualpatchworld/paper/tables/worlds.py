"""Tables of programs found with nothing given, of worlds, recordings, real machines and noisy steps;
and of siblings of domains.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from visualpatchworld.paper.results import NoResults, Results
from visualpatchworld.paper.table import MISSING, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables import error_at, figure, headed, quoted_section, read_lines

WORLDS_COMMAND = "python benchmarks/worlds.py"
LONGEST_FORM = 90  # characters; a sum of many terms is told in its program


def worlds_table(results: Results, quoted: Quoted) -> Table:
    """A row per world and seed; worlds in which nothing was found stay in the table."""
    lines = read_lines(results, "worlds", WORLDS_COMMAND)
    plans = {(plan["name"], plan["seed"]): plan for plan in read_lines(results, "plans")}
    seeds = {line["seed"] for line in lines}
    rows = [
        _worlds_row(line, plans.get((line["name"], line["seed"]), {}), quoted, several=len(seeds) > 1) for line in lines
    ]
    return Table(
        id=quoted.id,
        title="Programs of worlds, nothing given but the world",
        columns=headed(
            ("world", "form", "verdict"),
            (
                *("lines", "constants", "env steps", "CPU s", "1 step", "25 steps", "networks", "PySINDy"),
                *(
                    "return",
                    "random",
                    "zero",
                    "true world",
                    "networks' return",
                    "PySINDy's return",
                    "solved at (quoted)",
                ),
            ),
            ("with little data (quoted)",),
        ),
        sections=(Section("Measured, with published figures in columns of their own", tuple(rows)),),
        notes=tuple(_worlds_notes(lines, plans, quoted)),
        measured=tuple(line | {"plan": plans.get((line["name"], line["seed"]))} for line in lines),
    )


def _worlds_row(
    line: Mapping[str, Any], plan: Mapping[str, Any], quoted: Quoted, *, several: bool
) -> tuple[Entry, ...]:
    name = line["name"]
    told = quoted.row(name=name)
    title = words(f"{name}, seed {line['seed']}" if several else name)
    published = (quote(told.get("solved")), quote(told.get("told", MISSING)))
    earned = [figure(plan.get(key), 3) for key in ("return_mean", "random_return", "zero_return", "true_world_return")]
    if plan.get("return_std") is not None:
        earned[0] = figure(plan["return_mean"], 3, detail=f"+- {plan['return_std']:.2g}, n = {plan['n']}")
    if plan.get("true_world_n"):
        there = f", the program's {plan['same_starts_return']:.4g}" if "same_starts_return" in plan else ""
        earned[3] = figure(plan["true_world_return"], 4, detail=f"n = {plan['true_world_n']}{there}")
    for rival in ("networks_plan", "sindy_plan"):
        theirs = line.get(rival) or {}
        earned.append(figure(theirs.get("return_mean"), 3, detail=_beside(theirs, plan)))
    if not line["ok"]:
        return (title, words(MISSING), words("failed"), *[Entry(MISSING)] * 8, *earned, *published)
    horizon = line["horizon"]
    return (
        title,
        words(textwrap.shorten(line["form"], LONGEST_FORM, placeholder=" ...")),
        words(line["verdict"]),
        Entry(str(line["lines"])),
        Entry(str(len(line["constants"]))),
        Entry(str(line["env_steps"])),
        Entry(number(line["cpu_seconds"])),
        error_at(line, "errors", 1),
        *(error_at(line, of, horizon) for of in ("errors", "networks", "sindy")),
        *earned,
        *published,
    )


def _beside(theirs: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """How many episodes a rival planned, and what the program earned from the same starts."""
    if not theirs:
        return ""
    ours = same_starts(plan, theirs["n"])
    return f"n = {theirs['n']}" + ("" if ours is None else f", the program's {ours:.4g}")


def same_starts(plan: Mapping[str, Any], episodes: int) -> float | None:
    """The program's return in the first so many episodes, which begin where its rivals' do; None where they are fewer."""
    returns = plan.get("returns", ())
    return sum(returns[:episodes]) / episodes if len(returns) >= episodes else None


def _worlds_notes(lines: Sequence[Mapping[str, Any]], plans: Mapping[Any, Any], quoted: Quoted) -> list[str]:
    held = sorted({line["held_out_episodes"] for line in lines if line["ok"]})
    notes = [
        "Errors are medians over windows of episodes that were collected anew, with other seeds, and "
        "are no part of the steps: root mean "
        "square over fields of error over the spread of that field's change in as many steps. p90: 90 "
        "% of the windows stay below.",
        "Networks (five of 2 x 64, predicting changes) and PySINDy (discrete time, control, "
        "polynomials of second degree and sines) "
        "learned from the very transitions of the search; their errors after 25 steps. They plan with "
        "the same planner, with the reward "
        "and the end that were found with the program.",
    ]
    if any(plan.get("true_world_n") for plan in plans.values()):
        notes.append(
            "True world: the same planner in copies of the world itself, in as many episodes as the time "
            "allowed, and what "
            "planning with the program earned from the same starts; none where '-'."
        )
    if held:
        notes.append(f"Between {held[0]} and {held[-1]} episodes judge.")
    short = [line for line in lines if line["ok"] and line["horizon"] < 25]
    notes += [
        f"{line['name']}: no episode lasts 25 steps; the errors are those after {line['horizon']}." for line in short
    ]
    notes += [f"{line['name']}: failed: {line['failed']}" for line in lines if not line["ok"]]
    notes += [
        f"{line['name']}: {line['verdict']}: {line['why']}"
        for line in lines
        if line["ok"] and line["verdict"] != "explained"
    ]
    notes += [f"{name}, planning: {plan['failed']}" for (name, _), plan in plans.items() if not plan["ok"]]
    notes += dict.fromkeys(line["sindy"]["why"] for line in lines if line["ok"] and "why" in line["sindy"])
    if any((line["name"], line["seed"]) not in plans for line in lines):
        notes.append(f"'-' was not measured; `{WORLDS_COMMAND}` computes errors, `{WORLDS_COMMAND} --plan` returns.")
    return [*notes, quoted.note]


REAL_COMMAND = "python benchmarks/real.py"


def real_table(results: Results, quoted: Quoted) -> Table:
    """A row per log and reading of its input."""
    lines = read_lines(results, "real", REAL_COMMAND)
    return Table(
        id=quoted.id,
        title="Programs of real machines from their logs: root mean square error of free simulation",
        columns=headed(
            ("log", "form"),
            ("constants", "CPU s", "error", "linear model", "over a second", "linear, over a second"),
            ("unit", "published (quoted)"),
        ),
        sections=(
            Section(
                "Measured, with published figures in a column of their own",
                tuple(_real_row(line, quoted) for line in lines),
            ),
        ),
        notes=(
            *(f"{line['name']}: {line['test']}; {line['why'].rstrip('.')}." for line in lines),
            *(f"{line['name']}: {_constants(line)}" for line in lines),
            "'diverges': a plant that integrates its input leaves every range when simulated for long; "
            "over a second it can be judged.",
            quoted.note,
        ),
        measured=tuple(lines),
    )


def _real_row(line: Mapping[str, Any], quoted: Quoted) -> tuple[Entry, ...]:
    errors = " / ".join("diverges" if value is None else f"{value:.3g}" for value in line["rmse"])
    others = [figure(line.get(key), 3) for key in ("linear_rmse", "rmse_of_seconds", "linear_rmse_of_seconds")]
    told = quoted.row(log=line["log"])
    known = (Entry(str(len(line["constants"]))), Entry(number(line["cpu_seconds"])), Entry(errors), *others)
    return (words(line["name"]), words(line["form"]), *known, words(line["unit"]), quote(told.get("told", MISSING)))


def _constants(line: Mapping[str, Any]) -> str:
    parts = [
        f"{name} = {row['value']:.6g}" + (f" +- {row['stderr']:.1g}" if row["stderr"] is not None else "")
        for name, row in line["constants"].items()
    ]
    return ", ".join(parts) + "."


NOISE_COMMAND = "python benchmarks/noise.py"


def noise_table(results: Results, quoted: Quoted) -> Table:
    """A row per world and share of noise, seeds pooled; a section on how often standard errors hold."""
    lines = read_lines(results, "noise", NOISE_COMMAND)
    groups: dict[tuple[str, float, bool], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["name"], line["part"], line["hidden"]), []).append(line)
    covered = [
        (
            words(line["name"]),
            Entry(f"{line['part']:g}"),
            Entry(f"{line['trials']} trials"),
            Entry(number(100 * line["covered_95"])),
        )
        for line in read_lines(results, "coverage")
    ]
    sections = [Section("Laws from noisy steps", tuple(_noise_row(key, group) for key, group in groups.items()))]
    if covered:
        blank = (Entry(""),) * 2
        sections.append(
            Section(
                "Constants within 1.96 standard errors of the truth, percent", tuple((*row, *blank) for row in covered)
            )
        )
    return Table(
        id=quoted.id,
        title="Laws found from noisy observations, and how often their standard errors hold",
        columns=headed(("world",), ("noise", "seeds", "explained", "error", "noise alone")),
        sections=tuple(sections),
        notes=(
            "Noise is a share of each field's spread of change in one step. Error is the median over "
            "seeds of what the held-out windows "
            "leave; noise alone makes as much even with the true law.",
            "Explained counts verdicts other than `unexplained`. Coverage should be 95 %.",
            f"`{NOISE_COMMAND}` and `{NOISE_COMMAND} --coverage 100` compute what is missing.",
        ),
        measured=tuple(lines),
    )


def _noise_row(key: tuple[str, float, bool], group: Sequence[Mapping[str, Any]]) -> tuple[Entry, ...]:
    name, part, hidden = key
    found = sum(line["verdict"] != "unexplained" for line in group)
    middle = [_median([line[of] for line in group if line[of] is not None]) for of in ("error", "expected")]
    title = f"{name}, velocities hidden" if hidden else name
    return (
        words(title),
        Entry(f"{part:g}"),
        Entry(str(len(group))),
        Entry(f"{found} of {len(group)}"),
        *map(figure, middle),
    )


def _median(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None


CWMB_COMMAND = "python benchmarks/cwmb.py"
ACCURACIES = (("fitted", "as_counted"), ("fitted", "isclose"), ("held_out", "as_counted"), ("held_out", "isclose"))


def cwmb_table(results: Results, quoted: Quoted) -> Table:
    """A row per environment, their mean, and what others published."""
    lines = {line["name"]: line for line in read_lines(results, "cwmb", CWMB_COMMAND)}
    plans = {plan["name"]: plan for plan in read_lines(results, "cwmb_plans") if plan["ok"]}
    names = [row["name"] for row in quoted.rows]
    rows = [_cwmb_row(name, lines.get(name, {}), plans.get(name, {}), quoted) for name in names]
    done = [lines[name] for name in names if name in lines]
    blank = [Entry("", quoted=True)] * 5
    means = [(words(row["method"]), quote(row["accuracy"]), quote(row["normalised_return"], "normalised return"), *blank, *blank[:3])
             for row in quoted.data["means"]]  # fmt: skip
    headings = ("as counted", "isclose", "held out", "held out, isclose", "next observation", "return", "random")
    return Table(
        id=quoted.id,
        title="Code-world-model benchmark: accuracy of programs from ten recorded trajectories",
        columns=headed(
            ("environment",),
            (*headings, "GIF-MCTS accuracy (quoted)", "GIF-MCTS return (quoted)", "oracle return (quoted)"),
        ),
        sections=(
            Section(
                "Measured, with published figures in columns of their own",
                (*rows, _mean_row(done, plans, len(names), quoted)),
            ),
            quoted_section(quoted.source, means),
        ),
        notes=tuple(_cwmb_notes(done, names, quoted)),
        measured=tuple(done),
    )


def _cwmb_row(name: str, line: Mapping[str, Any], plan: Mapping[str, Any], quoted: Quoted) -> tuple[Entry, ...]:
    told = quoted.row(name=name)
    scores = [Entry(number(line.get(part, {}).get(key), 3)) for part, key in ACCURACIES]
    seen = Entry(number(line.get("fitted", {}).get("observation"), 3))
    earned = [figure(plan.get(key), 3) for key in ("return_mean", "random_return")]
    if plan and told.get("oracle") is not None:
        earned[0] = figure(plan["return_mean"], 3, detail=f"normalised {_normalised(plan, told):.2f}, n = {plan['n']}")
    return (words(name), *scores, seen, *earned, *(quote(told.get(key)) for key in ("accuracy", "gif_mcts", "oracle")))


def _normalised(plan: Mapping[str, Any], told: Mapping[str, Any]) -> float:
    """A return on the published scale, on which acting at random is 0 and their oracle is 1."""
    return (plan["return_mean"] - told["random"]) / (told["oracle"] - told["random"])


def _mean_row(
    done: Sequence[Mapping[str, Any]], plans: Mapping[str, Mapping[str, Any]], wanted: int, quoted: Quoted
) -> tuple[Entry, ...]:
    values = [[line[part][key] for line in done if part in line] for part, key in ACCURACIES]
    scores = [
        Entry(number(float(np.mean(value)), 3) if value else "-", f"of {len(value)}" if len(value) < wanted else "")
        for value in values
    ]
    published = [row["accuracy"] for row in quoted.rows]
    rest = quote(float(np.mean(published)), "our mean of the column"), Entry("", quoted=True), Entry("", quoted=True)
    scaled = [row for row in quoted.rows if row["oracle"] is not None]
    # Without a program there is nothing to plan with, which is worth as much as acting at random.
    returns = [_normalised(plans[row["name"]], row) if row["name"] in plans else 0.0 for row in scaled]
    mean = Entry(
        number(float(np.mean(returns)), 2),
        f"normalised, of {len(scaled)}, {sum(row['name'] in plans for row in scaled)} planned",
    )
    return (words("mean"), *scores, Entry(""), mean if plans else Entry(""), Entry(""), *rest)


def _cwmb_notes(done: Sequence[Mapping[str, Any]], names: Sequence[str], quoted: Quoted) -> list[str]:
    notes = [
        "Accuracy as counted there: per transition a third each for the next observation (every field "
        "within 1e-5), the reward (equal) and "
        "done, on the very transitions that were fitted. With isclose the reward counts up to 1e-5: "
        "it was stored in single precision.",
        "Held out: fitted to two of three trajectories and counted on the others.",
        "Normalised return: 0 for acting at random and 1 for their oracle, both as published; it "
        "plans once, so that planning anew may "
        "earn more. In the mean an environment without a program counts as 0.",
    ]
    notes += [
        f"{line['name']}: {line['trajectories']} trajectories, {line['transitions']} transitions."
        for line in done
        if line["trajectories"] < 3
    ]
    notes += [
        f"{line['name']}, {part}: {line[part]['failed']}"
        for line in done
        for part in ("fitted", "held_out")
        if "failed" in line.get(part, {})
    ]
    if len(done) < len(names):
        notes.append(f"'-' was not measured; `{CWMB_COMMAND}` computes it, `{CWMB_COMMAND} --plan` returns.")
    return [*notes, quoted.note]


SIBLINGS, SIBLINGS_COMMAND = (
    "siblings",
    "python benchmarks/recovery.py DOMAIN --cases siblings --fit --plan 50 --out results/siblings/DOMAIN.jsonl",
)


def siblings_table(results: Results, quoted: Quoted) -> Table:
    """A row per sibling of a domain: the form that was recognised, how far it sees, what is planned with it."""
    files = sorted((results.folder / SIBLINGS).glob("*.jsonl"))
    lines = [line for path in files for line in read_lines(results, path.stem, folder=SIBLINGS, key="domain")]
    if not lines:
        raise NoResults(f"There are no results in '{results.folder / SIBLINGS}'; `{SIBLINGS_COMMAND}` computes some.")
    headings = (
        "probes explained",
        "lines",
        "error of the success radius",
        "success",
        "of unsolved",
        "zero floor",
        "random floor",
    )
    return Table(
        id=quoted.id,
        title="Siblings of the domains, changed by constants of their simulators alone",
        columns=headed(("domain", "change", "form"), headings),
        sections=(Section("Measured", tuple(map(_sibling_row, lines))),),
        notes=(
            "No code is written for a sibling: the form comes from its scene and its probes. A wrong form is marked.",
            "The error is the median after 25 steps over the success radius. Success is in percent; the "
            "program alone plans.",
            f"`{SIBLINGS_COMMAND}` computes what is missing.",
        ),
        measured=tuple(lines),
    )


def _sibling_row(line: Mapping[str, Any]) -> tuple[Entry, ...]:
    changes = ", ".join(f"{name} = {value}" for name, value in line["vary"].items())
    form = line["sketch"] + ("" if line["right"] else " (another is right)")
    planned = [number(line.get(key)) for key in ("success", "success_unsolved", "floor_zero", "floor_random")]
    return (
        words(line["domain"]),
        words(changes),
        words(form),
        Entry(f"{line['explained']} of {line['probes']}"),
        Entry(str(line.get("lines", MISSING))),
        figure((line.get("error_of_radius") or {}).get("median")),
        Entry(planned[0], f"n = {line['n']}" if line.get("n") else ""),
        Entry(planned[1], f"n = {line['n_unsolved']}" if line.get("n_unsolved") else ""),
        *map(Entry, planned[2:]),
    )


TABLES: dict[str, Callable[[Results, Quoted], Table]] = {
    "cwmb": cwmb_table,
    "noise": noise_table,
    "real": real_table,
    "siblings": siblings_table,
    "worlds": worlds_table,
}
