"""The recorded environments of the code-world-model benchmark: accuracy as it is counted there, and as it should be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import Column, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables._lines import figure, read_lines

COMMAND = "python benchmarks/cwmb.py"
PARTS = (("fitted", "as_counted"), ("fitted", "isclose"), ("held_out", "as_counted"), ("held_out", "isclose"))


def table(results: Results, quoted: Quoted) -> Table:
    """A row per environment, their mean, and what others published."""
    lines = {line["name"]: line for line in read_lines(results, "cwmb", COMMAND)}
    plans = {plan["name"]: plan for plan in read_lines(results, "cwmb_plans") if plan["ok"]}
    names = [row["name"] for row in quoted.rows]
    rows = [_row(name, lines.get(name, {}), plans.get(name, {}), quoted) for name in names]
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
            Section("Measured, with published figures in columns of their own", (*rows, _means(done, len(names), quoted))),
            Section(f"Quoted, not measured here: {quoted.source}", tuple(means), quoted=True),
        ),
        notes=tuple(_notes(done, names, quoted)),
        measured=tuple(done),
    )


def _row(name: str, line: Mapping[str, Any], plan: Mapping[str, Any], quoted: Quoted) -> tuple[Entry, ...]:
    told = quoted.row(name=name)
    scores = [Entry(number(line.get(part, {}).get(key), 3)) for part, key in PARTS]
    seen = Entry(number(line.get("fitted", {}).get("observation"), 3))
    earned = [figure(plan.get(key), 3) for key in ("return_mean", "random_return")]
    return (words(name), *scores, seen, *earned, *(quote(told.get(key)) for key in ("accuracy", "gif_mcts", "oracle")))


def _means(done: Sequence[Mapping[str, Any]], wanted: int, quoted: Quoted) -> tuple[Entry, ...]:
    values = [[line[part][key] for line in done if part in line] for part, key in PARTS]
    scores = [
        Entry(number(float(np.mean(value)), 3) if value else "-", f"of {len(value)}" if len(value) < wanted else "") for value in values
    ]
    published = [row["accuracy"] for row in quoted.rows]
    rest = quote(float(np.mean(published)), "our mean of the column"), Entry("", quoted=True), Entry("", quoted=True)
    return (words("mean"), *scores, *[Entry("")] * 3, *rest)


def _notes(done: Sequence[Mapping[str, Any]], names: Sequence[str], quoted: Quoted) -> list[str]:
    notes = [
        "Accuracy as counted there: per transition a third each for the next observation (every field within 1e-5), the reward (equal) and "
        "done, on the very transitions that were fitted. With isclose the reward counts up to 1e-5: it was stored in single precision.",
        "Held out: fitted to two of three trajectories and counted on the others.",
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
