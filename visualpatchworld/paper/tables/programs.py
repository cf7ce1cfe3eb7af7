"""Tables of programs: the domains, what induction found, simpler forms on the same data, and a published measure of code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.paper.record import InductionRecord
from visualpatchworld.paper.results import Found, Query, Results, find, places
from visualpatchworld.paper.table import MISSING, Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables.parts import figure, notes, read_lines, records, require


def envs_table(results: Results, quoted: Quoted) -> Table:
    """Every domain that is found; this table needs no results."""
    domains = [load_domain(name) for name in find_domains()]
    rows = []
    for domain in domains:
        paper = quoted.row(domain=domain.name)
        sizes = Entry(f"{len(domain.scene.state_space)} / {domain.layout.action.width}")
        told = f"{paper['kind']}: {paper['challenge']}" if paper else None
        rows.append(
            (words(domain.title), words(domain.engine), words(domain.challenge), sizes, words(", ".join(domain.metrics)), quote(told))
        )
    headings = {"domain": True, "engine": True, "challenge": True, "state / action": False, "success": True, "paper (quoted)": True}
    return Table(
        id=quoted.id,
        title="Domains and what is hard about them",
        columns=tuple(Column(heading, words=is_words) for heading, is_words in headings.items()),
        sections=(Section("", tuple(rows)),),
        notes=("The first metric of a domain is the main one.", quoted.note),
    )


def induction_table(results: Results, quoted: Quoted) -> Table:
    """The chosen form, the experiments it explains, and success under oracle state."""
    if not results.inductions:
        require(results)
    where = places(results, [row["domain"] for row in quoted.rows])
    found = [find(results, place, Query(observe="oracle", score="induced")) for place in where]
    rows = [_induction_row(item, induction_of(results, item), quoted) for item in found]
    headings = ("probes explained", "success", "of unsolved", "paper (quoted)")
    return Table(
        id=quoted.id,
        title="Recovered forms, and success of planning with them (oracle state)",
        columns=(
            Column("tasks", words=True),
            Column("recovered form", words=True),
            Column("paper's form (quoted)", words=True),
            *map(Column, headings),
        ),
        sections=(Section("Measured, with the paper's figures in columns of their own", tuple(rows)),),
        notes=(
            *notes(results, found, quoted, "main"),
            *lost_programs(results, found),
            "A form is named by its choices, one per axis of the domain's family of sketches.",
        ),
        measured=records(found),
    )


def induction_of(results: Results, item: Found) -> InductionRecord | None:
    """The induction that wrote the measured program; where none was measured, that of its method from the domain's own episodes."""
    own = [induction for induction in results.inductions if induction.domain == item.place.domain.name]
    if item.parts:
        own = [induction for induction in own if induction.program_hash == item.parts[0].cell.program]
    else:
        # Forms that were chosen by experiments have candidates; those that were named have none.
        chosen = item.query.method == "vpw"
        own = [
            induction
            for induction in own
            if item.place.first and bool(induction.candidates) == chosen and (chosen or induction.sketch == item.query.method)
        ]
    return own[0] if own else None


def lost_programs(results: Results, found: Sequence[Found]) -> list[str]:
    """Which programs were measured without what `vpw induce` said of them being there."""
    lost = [item for item in found if item.parts and not induction_of(results, item)]
    return [
        f"{item.place.title}, {item.query.title}: no induction.json of program {item.parts[0].cell.program} lies in programs/ beside the "
        f"results; `vpw induce {item.place.domain.name} --out DIR` writes one with the program."
        for item in lost
    ]


def _induction_row(item: Found, induction: InductionRecord | None, quoted: Quoted) -> tuple[Entry, ...]:
    paper = quoted.row(domain=item.place.domain.name) if item.place.first else {}
    tried = () if induction is None else induction.candidates
    candidate = next((row for row in tried if induction and row.sketch == induction.sketch), None)
    return (
        words(item.place.title),
        words(induction.sketch.replace("+", " + ") if induction else MISSING),
        quote(paper.get("recovered")),
        Entry(f"{candidate.explained} of {candidate.probes}" if candidate else MISSING),
        item.score(),
        item.unsolved(),
        quote(paper.get("success")),
    )


def ablation_table(results: Results, quoted: Quoted) -> Table:
    """The domain's extra sketches against the form that the method chose by itself."""
    if not results.inductions:
        require(results)
    where = [place for place in places(results, [quoted.data["domain"]]) if place.domain.name == quoted.data["domain"]]
    sections, everything = [], []
    for place in where:
        forms = {sketch.name: sketch.name for sketch in place.domain.family().extra} | {"vpw": "chosen (level 1 + 2)"}
        found = {title: find(results, place, Query(method=method, observe="oracle", score="induced")) for method, title in forms.items()}
        everything += found.values()
        sections.append(
            Section(f"Measured: {place.title}", tuple(_form_row(results, title, item, quoted) for title, item in found.items()))
        )
    paper = tuple(
        (
            words(row["method"]),
            *(
                quote(row[name], "at least" if row.get("one_step_is_lower_bound") and i == 0 else "")
                for i, name in enumerate(quoted.data["horizons"])
            ),
            quote(row["success"]),
            quote(None),
        )
        for row in quoted.rows
    )
    quantity = quoted.data["quantity"]
    return Table(
        id=quoted.id,
        title=f"{where[0].domain.title}: simpler forms on the same scene graphs",
        columns=(
            Column("form", words=True),
            *(Column(f"{quantity} after {steps}") for steps in quoted.data["horizons"].values()),
            Column("success"),
            Column("of unsolved"),
        ),
        sections=(*sections, Section(f"Quoted, not measured here: {quoted.source}", paper, quoted=True)),
        notes=(
            *notes(results, everything, quoted, "ablation"),
            *lost_programs(results, everything),
            f"{quantity}: mean open-loop error on validation episodes after so many steps, with the median below or beside it.",
        ),
        measured=records(everything),
    )


def _form_row(results: Results, title: str, item: Found, quoted: Quoted) -> tuple[Entry, ...]:
    induction = induction_of(results, item)
    errors = {} if induction is None else induction.rollout_error.get(quoted.data["quantity"], {})
    found = [errors.get(steps) for steps in quoted.data["horizons"].values()]
    told = [Entry(f"{error.mean:.3g}", f"median {error.median:.2g}") if error else Entry(MISSING) for error in found]
    return (words(title), *told, item.score(), item.unsolved())


COMMAND = "python benchmarks/cwmb.py"
PARTS = (("fitted", "as_counted"), ("fitted", "isclose"), ("held_out", "as_counted"), ("held_out", "isclose"))


def cwmb_table(results: Results, quoted: Quoted) -> Table:
    """A row per environment, their mean, and what others published."""
    lines = {line["name"]: line for line in read_lines(results, "cwmb", COMMAND)}
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
        columns=(
            Column("environment", words=True),
            *map(Column, headings),
            *map(Column, ("GIF-MCTS accuracy (quoted)", "GIF-MCTS return (quoted)", "oracle return (quoted)")),
        ),
        sections=(
            Section("Measured, with published figures in columns of their own", (*rows, _means(done, plans, len(names), quoted))),
            Section(f"Quoted, not measured here: {quoted.source}", tuple(means), quoted=True),
        ),
        notes=tuple(_notes(done, names, quoted)),
        measured=tuple(done),
    )


def _cwmb_row(name: str, line: Mapping[str, Any], plan: Mapping[str, Any], quoted: Quoted) -> tuple[Entry, ...]:
    told = quoted.row(name=name)
    scores = [Entry(number(line.get(part, {}).get(key), 3)) for part, key in PARTS]
    seen = Entry(number(line.get("fitted", {}).get("observation"), 3))
    earned = [figure(plan.get(key), 3) for key in ("return_mean", "random_return")]
    if plan and told.get("oracle") is not None:
        earned[0] = figure(plan["return_mean"], 3, detail=f"normalised {_normalised(plan, told):.2f}, n = {plan['n']}")
    return (words(name), *scores, seen, *earned, *(quote(told.get(key)) for key in ("accuracy", "gif_mcts", "oracle")))


def _normalised(plan: Mapping[str, Any], told: Mapping[str, Any]) -> float:
    """A return on the published scale, on which acting at random is 0 and their oracle is 1."""
    return (plan["return_mean"] - told["random"]) / (told["oracle"] - told["random"])


def _means(done: Sequence[Mapping[str, Any]], plans: Mapping[str, Mapping[str, Any]], wanted: int, quoted: Quoted) -> tuple[Entry, ...]:
    values = [[line[part][key] for line in done if part in line] for part, key in PARTS]
    scores = [
        Entry(number(float(np.mean(value)), 3) if value else "-", f"of {len(value)}" if len(value) < wanted else "") for value in values
    ]
    published = [row["accuracy"] for row in quoted.rows]
    rest = quote(float(np.mean(published)), "our mean of the column"), Entry("", quoted=True), Entry("", quoted=True)
    scaled = [row for row in quoted.rows if row["oracle"] is not None]
    # Without a program there is nothing to plan with, which is worth as much as acting at random.
    returns = [_normalised(plans[row["name"]], row) if row["name"] in plans else 0.0 for row in scaled]
    mean = Entry(number(float(np.mean(returns)), 2), f"normalised, of {len(scaled)}, {sum(row['name'] in plans for row in scaled)} planned")
    return (words("mean"), *scores, Entry(""), mean if plans else Entry(""), Entry(""), *rest)


def _notes(done: Sequence[Mapping[str, Any]], names: Sequence[str], quoted: Quoted) -> list[str]:
    notes = [
        "Accuracy as counted there: per transition a third each for the next observation (every field within 1e-5), the reward (equal) and "
        "done, on the very transitions that were fitted. With isclose the reward counts up to 1e-5: it was stored in single precision.",
        "Held out: fitted to two of three trajectories and counted on the others.",
        "Normalised return: 0 for acting at random and 1 for their oracle, both as published; it plans once, so that planning anew may "
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
        notes.append(f"'-' was not measured; `{COMMAND}` computes it, `{COMMAND} --plan` returns.")
    return [*notes, quoted.note]
