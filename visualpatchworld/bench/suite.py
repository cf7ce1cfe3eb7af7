"""Suites: which cells of the benchmark belong together, and the commands that compute them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from visualpatchworld.bench.cell import Observe, Score
from visualpatchworld.bench.quoted import load_quoted
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import UnknownName

MAIN_SEED = 42
SEEDS = (42, 43, 44, 45, 46)
# Observation and scoring, the quick ones first, so that an interrupted benchmark has something of everything.
CONDITIONS: tuple[tuple[Observe, Score], ...] = (
    ("oracle", "induced"),
    ("tool", "induced"),
    ("oracle", "hybrid"),
    ("tool", "hybrid"),
    ("oracle", "simulator"),
)


@dataclass(frozen=True)
class Source:
    """Where the episodes of a domain's tasks come from, and where the program fitted to the others lies."""

    domain: str
    traces: Path
    program: Path
    sketch: str | None = None  # the form that is fitted, where it is not chosen by probes

    def induction(self) -> list[str]:
        form = [] if self.sketch is None else ["--sketch", self.sketch]
        return _vpw("induce", self.domain, "--traces", str(self.traces), *form, "--out", str(self.program.parent), "--json")


@dataclass(frozen=True)
class Job:
    """One cell to compute."""

    source: Source
    observe: str
    score: str
    seed: int
    tasks: int
    options: tuple[str, ...] = field(default=(), kw_only=True)  # further ones of `vpw plan`

    @property
    def title(self) -> str:
        further = [part.lstrip("-") for part in (self.source.sketch or "", *self.options) if part]
        return " ".join([f"{self.source.domain} ({self.source.traces.stem}) {self.observe} + {self.score}, seed {self.seed}", *further])

    def command(self, results: Path) -> list[str]:
        options: Mapping[str, object] = {
            "--program": self.source.program,
            "--traces": self.source.traces,
            "--observe": self.observe,
            "--score": self.score,
            "--seed": self.seed,
            "--episodes": self.tasks,
            "--results": results,
            **({} if self.source.sketch is None else {"--method": self.source.sketch}),
        }
        return _vpw("plan", self.source.domain, *(str(part) for option in options.items() for part in option), *self.options, "--json")


def _itself(source: Source) -> tuple[Source, ...]:
    return (source,)


def _plainly(source: Source) -> tuple[tuple[str, ...], ...]:
    return ((),)


def _with_simpler_forms(source: Source) -> tuple[Source, ...]:
    """The source and, with each extra sketch of its domain, a program of that form; nothing where there is no such sketch."""
    names = [sketch.name for sketch in load_domain(source.domain).family.extra]
    folder = source.program.parent
    simpler = [replace(source, program=folder.with_name(f"{folder.name}-{name}") / source.program.name, sketch=name) for name in names]
    return (source, *simpler) if simpler else ()


def _where_metrics_are_quoted(source: Source) -> tuple[Source, ...]:
    return (source,) if _metrics_and_horizons(source) else ()


def _metrics_and_horizons(source: Source) -> tuple[tuple[str, ...], ...]:
    """Every metric with the frozen planner and with the coarse one, where the paper has a table of both."""
    horizons = [
        quoted.data["coarse_horizon"]
        for quoted in load_quoted().values()
        if quoted.data.get("domain") == source.domain and quoted.kind == "metrics"
    ]
    metrics = load_domain(source.domain).metrics if horizons else ()
    return tuple(
        ("--metric", metric, *further) for horizon in horizons for further in ((), ("--horizon", str(horizon))) for metric in metrics
    )


@dataclass(frozen=True)
class Suite:
    """A name for a set of cells."""

    name: str
    seeds: tuple[int, ...]
    tasks: int
    conditions: tuple[tuple[Observe, Score], ...] = CONDITIONS
    sources: Callable[[Source], tuple[Source, ...]] = _itself  # what is measured of a source
    options: Callable[[Source], tuple[tuple[str, ...], ...]] = _plainly  # how often and with which options it is planned


SUITES = {
    suite.name: suite
    for suite in (
        Suite("smoke", (MAIN_SEED,), 3, (("oracle", "induced"), ("oracle", "hybrid"))),
        Suite("main", (MAIN_SEED,), 50),
        Suite("multiseed", SEEDS, 50),
        Suite("ablation", (MAIN_SEED,), 50, (("oracle", "induced"),), sources=_with_simpler_forms),
        Suite("metrics", (MAIN_SEED,), 50, sources=_where_metrics_are_quoted, options=_metrics_and_horizons),
    )
}


def find_suite(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]


def jobs(suite: Suite, sources: Sequence[Source]) -> list[Job]:
    """All cells of a suite: seed by seed, condition by condition."""
    return [
        Job(source, observe, score, seed, suite.tasks, options=options)
        for seed in suite.seeds
        for observe, score in suite.conditions
        for source in sources
        for options in suite.options(source)
    ]


def collection(domain: str, path: Path, episodes: int, seed: int) -> list[str]:
    """The command that collects the episodes of a source."""
    return _vpw("collect", domain, "--episodes", str(episodes), "--seed", str(seed), "--out", str(path), "--json")


def _vpw(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "visualpatchworld", *arguments]
