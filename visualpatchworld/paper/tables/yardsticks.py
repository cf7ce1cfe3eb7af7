"""Tables of outside yardsticks: worlds that are drawn at random, and ODEBench beside PySINDy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import MISSING, Entry, Quoted, Section, Table, number, quote, words
from visualpatchworld.paper.tables import headed, quoted_section, read_lines

Line = Mapping[str, Any]

ZOO_COMMAND = "cd benchmarks && python -m zoo.score"
CATEGORIES = ("exact", "good", "poor", "crash")
REWARD_LEFT = 0.05  # of a reward's spread: a reward with a smaller residual counts as found
ENDS_CAUGHT, FALSE_ENDS = 0.9, 0.02  # an end counts as found if more ends than this, and fewer others, are predicted


def zoo_table(results: Results, quoted: Quoted) -> Table:
    """Counts by level, then by primitive with the hardest first."""
    lines = read_lines(results, "zoo", ZOO_COMMAND, folder="zoo", key="category")
    levels = [[line for line in lines if line["level"] == level] for level in sorted({line["level"] for line in lines})]
    tags = {tag: [line for line in lines if tag in line["tags"]] for line in lines for tag in line["tags"]}
    hardest = sorted(tags, key=lambda tag: (_share(tags[tag], "exact"), tag))
    return Table(
        id=quoted.id,
        title="Worlds drawn at random: how right the programs are",
        columns=headed(("worlds",), ("number", *CATEGORIES, "false explained", "reward", "end", "seconds, median")),
        sections=(
            Section(
                "By level", (*(_zoo_row(some[0]["level"], some) for some in levels if some), _zoo_row("all", lines))
            ),
            Section("By primitive", tuple(_zoo_row(tag, tags[tag]) for tag in hardest)),
        ),
        notes=(
            "After 25 steps a program is exact if the median error of its worst field is at most 0.001 of the spread of "
            "that field's change, and 90 % of all errors are below 0.01; it is good if the former is at most 0.05. "
            "Crash: no program was written.",
            "False explained: the verdict is `explained`, but the program is poor.",
            f"Reward: the residual is below {REWARD_LEFT} of its spread. End: of the worlds that end, those whose end is "
            "predicted.",
            *_measured_with(lines),
            f"`{ZOO_COMMAND}` adds worlds.",
        ),
        measured=tuple(lines),
    )


def _share(lines: Sequence[Line], category: str) -> float:
    return sum(line["category"] == category for line in lines) / len(lines)


def _zoo_row(title: str, lines: Sequence[Line]) -> tuple[Entry, ...]:
    ending = [line for line in lines if line.get("ends_caught") is not None]
    ends = sum(line["ends_caught"] > ENDS_CAUGHT and (line["false_ends"] or 0) < FALSE_ENDS for line in ending)
    left = [line.get("reward_left") for line in lines]
    counts = [sum(line["category"] == category for line in lines) for category in CATEGORIES]
    counts += [sum(line["false_explained"] for line in lines)]
    counts += [sum(value is not None and value < REWARD_LEFT for value in left)]
    middle = number(median(line["seconds"] for line in lines)) if lines else MISSING
    return (
        words(title),
        *(Entry(str(count)) for count in (len(lines), *counts)),
        Entry(f"{ends} of {len(ending)}" if ending else MISSING),
        Entry(middle),
    )


ODEBENCH_COMMAND = "python benchmarks/odebench.py --data FILE"
CONDITIONS = {
    "clean": "noise-free",
    "noise-1": "1 % noise",
    "noise-5": "5 % noise",
    "dropped": "half of the rows dropped",
}
METHODS = {"vpw": "vpw", "sindy": "PySINDy"}
FAIR, CLOSE = 0.9, 0.999  # R2 that counts
LAW = 0.01  # error of a law that counts as right


def odebench_table(results: Results, quoted: Quoted) -> Table:
    """A row per condition and method, and what others published."""
    lines = read_lines(results, "odebench", ODEBENCH_COMMAND, folder="odebench", key="condition")
    rows = []
    for condition, title in CONDITIONS.items():
        for method, name in METHODS.items():
            some = [line for line in lines if (line["condition"], line["method"]) == (condition, method)]
            rows.append((words(title), words(name), *_odebench_cells(some)))
    published = [
        (
            words(f"{row['method']}, {row['told']}"),
            quote(""),
            quote(""),
            *(quote("" if row[key] is None else f"{row[key]:g} %") for key in ("same", "other")),
            *[quote("")] * 2,
            quote("" if row["equations"] is None else f"{row['equations']:g} %"),
            *[quote("")] * 2,
        )
        for row in quoted.rows
    ]
    headings = (
        "systems",
        f"same start, R2 > {FAIR}",
        f"other start, R2 > {FAIR}",
        f"same start, R2 > {CLOSE}",
        f"other start, R2 > {CLOSE}",
        "law within 1 %",
        "failed",
        "seconds, median",
    )
    return Table(
        id=quoted.id,
        title="ODEBench: laws of ordinary differential equations from one trajectory each",
        columns=headed(("data", "method"), headings),
        sections=(Section("Measured", tuple(rows)), quoted_section(quoted.source, published)),
        notes=(
            "The first of two trajectories is the only data. Its law is simulated from the first row of either "
            "trajectory and compared with the noise-free rows; R2 is weighted by the variance of the fields.",
            "Law within 1 %: in 90 % of the states drawn from the box around both trajectories, the change over one step "
            "is right to 1 % in every field, of the true change there and of the median one. Failed: no law, or a "
            "simulation that diverges.",
            "Some systems are chaotic, and the stored trajectories have a tolerance of 1e-5: simulated exactly, the true "
            "equations reach R2 > 0.9 on all 63 first trajectories and on 62 of the second ones.",
            "PySINDy: of 16 settings (four libraries, four thresholds), fitted to the first 70 % of the rows, the one that "
            "simulates the others best; it is then fitted to all rows. Noisy rows are smoothed before differences are taken.",
            "Seconds are those of the search, without the start of Python.",
            *_measured_with(lines),
            "Published figures were measured under conditions of their own.",
            f"'-' was not measured; `{ODEBENCH_COMMAND}` computes it.",
            quoted.note,
        ),
        measured=tuple(lines),
    )


def _odebench_cells(lines: Sequence[Line]) -> Iterable[Entry]:
    if not lines:
        return [Entry(MISSING)] * 8
    scores = [[line[key] for line in lines] for key in ("r2_same", "r2_other")]
    counts = [sum(value is not None and value > least for value in some) for least in (FAIR, CLOSE) for some in scores]
    counts += [sum(line["law_error"] is not None and line["law_error"] <= LAW for line in lines)]
    counts += [sum(line["r2_same"] is None or line["r2_other"] is None for line in lines)]
    return [Entry(str(count)) for count in (len(lines), *counts)] + [
        Entry(number(median(line["seconds"] for line in lines), 2))
    ]


def _measured_with(lines: Sequence[Line]) -> list[str]:
    """Of which code the lines are; lines of several versions may stand in one file."""
    codes = dict.fromkeys((line["version"], line["commit"], line["date"]) for line in lines)
    told = "; ".join(f"version {version}, commit {commit or 'unknown'}, {date}" for version, commit, date in codes)
    return [f"Measured with {told}."] if lines else []


TABLES: dict[str, Callable[[Results, Quoted], Table]] = {"odebench": odebench_table, "zoo": zoo_table}
