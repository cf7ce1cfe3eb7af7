"""Suites: the cells of a question, the programs that they measure, and what the results hold of them already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visualpatchworld.domain import PAPER, load_domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.paper.cell import Cell, Observe, Score
from visualpatchworld.paper.jobs import AnalysisJob, CellJob, Source
from visualpatchworld.paper.record import PROGRAM, read_written
from visualpatchworld.paper.table import load_quoted

if TYPE_CHECKING:  # programs load JAX, which suites can be listed without
    from visualpatchworld.paper.evaluation import EvalConfig
    from visualpatchworld.program.program import Program
    from visualpatchworld.trace.episode import Episode

OURS = "vpw"


@dataclass(frozen=True)
class MethodProgram:
    """A method and the file of its program; none where the method needs no program."""

    method: str
    path: Path | None = None
    sandboxed: bool = False

    @cached_property
    def program(self) -> Program | None:
        from visualpatchworld.program.program import read_program

        return None if self.path is None else read_program(self.path)

    @property
    def written_by(self) -> str:
        """Model and budget, where a language model wrote the program and nobody has edited it since."""
        return "" if self.path is None or not self.sandboxed else read_written(self.path)[1]


def find_programs(programs: Path, domain: str, source: str) -> list[MethodProgram]:
    """Programs by the names of their folders, ours first:
    SOURCE, SOURCE-SKETCH, and METHOD-DOMAIN, which a language model wrote.
    """
    found = []
    for path in sorted(programs.glob(f"*/{PROGRAM}")):
        folder = path.parent.name
        if folder == source:
            found.append(MethodProgram(OURS, path, sandboxed=False))
        elif folder.startswith(f"{source}-"):
            found.append(MethodProgram(folder.removeprefix(f"{source}-"), path, sandboxed=False))
        elif folder.endswith(f"-{domain}"):
            found.append(MethodProgram(folder.removesuffix(f"-{domain}"), path, sandboxed=True))
    return sorted(found, key=lambda program: (program.method != OURS, program.method))


MAIN_SEED = 42
SEEDS = (42, 43, 44, 45, 46)
TASKS = 50
# Observation and scoring, the quick ones first, so that an interrupted benchmark has something of everything.
CONDITIONS: tuple[tuple[Observe, Score], ...] = (
    ("oracle", "induced"),
    ("tool", "induced"),
    ("oracle", "hybrid"),
    ("tool", "hybrid"),
    ("oracle", "simulator"),
)


def _itself(source: Source) -> tuple[Source, ...]:
    return (source,)


def _plainly(source: Source) -> tuple[tuple[str, ...], ...]:
    return ((),)


def _with_simpler_forms(source: Source) -> tuple[Source, ...]:
    """The source and, with each extra sketch of its domain, a program of that form;
    nothing where there is no such sketch.
    """
    names = [sketch.name for sketch in load_domain(source.domain).family().extra]
    folder = source.program.parent
    simpler = [
        replace(source, program=folder.with_name(f"{folder.name}-{name}") / source.program.name, sketch=name)
        for name in names
    ]
    return (source, *simpler) if simpler else ()


def _with_rivals(source: Source) -> tuple[Source, ...]:
    """What every baseline makes of the domain's own episodes."""
    from visualpatchworld.paper.baselines.study import find_methods

    folder = source.program.parent
    if folder.name != source.domain:
        return ()
    return tuple(
        replace(source, program=folder.with_name(f"{name}-{folder.name}") / source.program.name, rival=name)
        for name in find_methods()
    )


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
        ("--metric", metric, *further)
        for horizon in horizons
        for further in ((), ("--horizon", str(horizon)))
        for metric in metrics
    )


@dataclass(frozen=True)
class Suite:
    """A name for a set of cells, or for several such sets and all analyses."""

    name: str
    seeds: tuple[int, ...] = (MAIN_SEED,)
    tasks: int = TASKS
    conditions: tuple[tuple[Observe, Score], ...] = CONDITIONS
    sources: Callable[[Source], tuple[Source, ...]] = _itself  # what is measured of a source
    # How often and with which options it is planned.
    options: Callable[[Source], tuple[tuple[str, ...], ...]] = _plainly
    parts: tuple[Suite, ...] = ()  # where it is made of others

    @property
    def sets(self) -> tuple[Suite, ...]:
        return self.parts or (self,)


SMOKE = Suite("smoke", tasks=3, conditions=(("oracle", "induced"), ("oracle", "hybrid")))
ALL = (
    Suite("main"),
    Suite("multiseed", SEEDS),
    Suite("ablation", conditions=(("oracle", "induced"),), sources=_with_simpler_forms),
    Suite("metrics", sources=_where_metrics_are_quoted, options=_metrics_and_horizons),
    Suite("baselines", conditions=(("oracle", "induced"),), sources=_with_rivals),
)
SUITES = {suite.name: suite for suite in (SMOKE, *ALL, Suite("paper", parts=ALL))}


def find_suite(name: str) -> Suite:
    """The suite of that name."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]


def sources(suite: Suite, given: Sequence[Source]) -> list[Source]:
    """Everything that a suite measures of the given sources, once each."""
    return list(dict.fromkeys(wanted for part in suite.sets for source in given for wanted in part.sources(source)))


def cells(suite: Suite, given: Sequence[Source]) -> list[CellJob]:
    """All cells of a suite: quick conditions first, then seed by seed."""
    made = [
        CellJob(source, observe, score, seed, part.tasks, options=options)
        for part in suite.sets
        for seed in part.seeds
        for observe, score in part.conditions
        for each in given
        for source in part.sources(each)
        for options in part.options(source)
    ]
    return sorted(dict.fromkeys(made), key=lambda job: CONDITIONS.index((job.observe, job.score)))


def analyses(suite: Suite, given: Sequence[Source], results: Path) -> list[AnalysisJob]:
    """The analyses that a suite of suites lacks: of every program as it is now, and of how each source looks."""
    from visualpatchworld.paper.analysis import find_analyses, read_analyses
    from visualpatchworld.program.program import read_program

    if not suite.parts:
        return []
    there = {(analysis.kind, analysis.source, analysis.method, analysis.program) for analysis in read_analyses(results)}
    programs = {
        source: read_program(source.program).hash for source in sources(suite, given) if source.program.exists()
    }
    return [
        AnalysisJob(source, kind)
        for kind, of in find_analyses().items()
        for source in (programs if of == "program" else given)
        if (kind, source.traces.stem, *((source.method, programs[source]) if of == "program" else (of, "")))
        not in there
    ]


def kept_reports(jobs: Sequence[CellJob], results: Path) -> dict[CellJob, dict[str, Any]]:
    """What `vpw plan --json` would print, for every job whose cell and floors have all their outcomes already.

    A suite that goes on starts no process for them.
    """
    from visualpatchworld.paper.evaluation import measure, measure_floors, report
    from visualpatchworld.trace.file import read_traces

    episodes = cache(lambda source: read_traces(source.traces, load_domain(source.domain)).episodes)
    found = {}
    for job in jobs:
        try:
            config = _config(job, episodes(job.source))
            cells = [
                config.cell(config.method, job.observe, job.score),
                *(config.cell(name, "oracle", "none") for name in ("zero", "random")),
            ]
        except VpwError:
            continue  # whoever computes the cell says what is wrong
        if all(_is_whole(results, cell) for cell in cells):
            places = {
                "program": str(job.source.program) if config.program else None,
                "results": str(results),
                "films": [],
            }
            found[job] = report(config, list(measure(results, config)), measure_floors(results, config)) | places
    return found


def _config(job: CellJob, episodes: Sequence[Episode]) -> EvalConfig:
    """What the job's command asks for."""
    from visualpatchworld.paper.evaluation import EvalConfig
    from visualpatchworld.paper.results import OFFSET
    from visualpatchworld.paper.task import Goals
    from visualpatchworld.program.program import read_program

    world, options = load_domain(job.source.domain), dict(zip(job.options[::2], job.options[1::2], strict=True))
    program, written_by = None, ""
    if job.score != "simulator":
        path = job.source.program
        program, written_by = (read_program(path), "") if job.source.rival is None else read_written(path)
    return EvalConfig(
        domain=world,
        constants=world.constants,
        vary={},
        method="engine" if job.score == "simulator" else job.source.method,
        program=program,
        observe=job.observe,
        score=job.score,
        episodes=episodes,
        source=job.source.traces.stem,
        count=job.tasks,
        offset=int(options.get("--offset", OFFSET)),
        seed=job.seed,
        metric=options.get("--metric", next(iter(world.metrics))),
        written_by=written_by,
        planner_name=options.get("--planner", PAPER),
        horizon=int(options["--horizon"]) if "--horizon" in options else None,
        goals=Goals(of=options.get("--goals", "same-episode"), tolerance=float(options.get("--tolerance", 1))),  # type: ignore[arg-type]
    )


def _is_whole(results: Path, cell: Cell) -> bool:
    path = results / cell.file_name
    return path.is_file() and path.read_bytes().count(b"\n") >= cell.n
