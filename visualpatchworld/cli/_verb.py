"""What verbs share: options that several have, progress, how they compute, and how results are shown."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console, Group, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from visualpatchworld.cli._options import Needs
from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.errors import BadConstant, VpwError
from visualpatchworld.files import from_json, make_folder, read_bytes, to_json, write_text
from visualpatchworld.scene.schema import Source
from visualpatchworld.simulator import Constants

if TYPE_CHECKING:
    from visualpatchworld.paper.evaluation import EvalConfig

MOST = 1_000_000  # of anything that can be counted: a typing slip is told, not waited for
LARGEST_SEED = 2**32 - 1  # that every generator of random numbers takes


def finite(value: float | tuple[float, ...] | None) -> float | tuple[float, ...] | None:
    """The value of an option that has to be a number; `nan` and `inf` are none."""
    for number in value if isinstance(value, tuple) else () if value is None else (value,):
        if not math.isfinite(number):
            raise typer.BadParameter(f"{number} is not a number to calculate with")
    return value


DomainName = Annotated[str, typer.Argument(metavar="DOMAIN", help="Name of a domain; `vpw domains` lists them.")]


def find_here(world: str | None) -> str | None:
    """The name of a world as it was typed; for `mine:Env-v0`, `mine.py` may lie in the present folder.

    That folder comes last, so that it stands in for nothing that is installed, and for no other name at all: a file in
    a downloaded folder may be called like a package that is missing.
    """
    if world is not None and ":" in world:
        from visualpatchworld.world.open import module_of

        with suppress(OSError):  # the folder is gone
            here = str(Path.cwd())
            if module_of(world) is not None and here not in sys.path:
                sys.path.append(here)
    return world


WorldName = Annotated[
    str,
    typer.Argument(
        metavar="WORLD",
        callback=find_here,
        help="A domain, a Gymnasium id, dmc:DOMAIN/TASK, or a log (.npz .csv .parquet .h5 minari: lerobot:).",
    ),
]
Fields = Annotated[
    str | None,
    typer.Option("--fields", metavar="NAME=ROLE,...", help="Correct what fields are: theta=angle,w=velocity:theta."),
]
DomainOption = Annotated[
    str, typer.Option("--domain", metavar="DOMAIN", help="Name of a domain; `vpw domains` lists them.")
]
TraceFile = Annotated[Path, typer.Argument(metavar="FILE.h5", help="Trace file in the LeWM layout.")]
Via = Annotated[Source, typer.Option(help="Path from observation to scene graph.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Same seed, same output.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout and nothing else there.")]
InSandbox = Annotated[
    bool,
    typer.Option(
        "--sandbox",
        help="Run the program nowhere but in the sandbox; for any that you have not read, a model's among them.",
    ),
]
# Where a program can not be locked in, the option is there to say so.
NoSandbox = Annotated[bool, typer.Option("--sandbox", hidden=True)]
Unfiltered = Annotated[
    bool,
    typer.Option(
        "--unfiltered", help="With --sandbox: go on where the machine cannot keep the program from your files."
    ),
    Needs("--sandbox"),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="NAME=VALUE",
        help="Change a constant of a domain's simulator (repeatable); `vpw domains --json` lists them.",
    ),
    Needs("domain", instead="an environment of your own can be registered with other settings"),
]


def varied_domain(name: str, vary: Sequence[str] | None) -> tuple[Domain, Constants]:
    """The domain of that name with the changes that `--vary` asks for, and its constants."""
    domain = load_domain(name)
    constants = domain.constants.varied(changes(vary))
    return domain.of(constants), constants


def changes(vary: Sequence[str] | None) -> dict[str, str]:
    """What `--vary` asks for, by name."""
    asked = {}
    for change in vary or ():
        name, equals, value = change.partition("=")
        if not equals:
            raise BadConstant(f"--vary takes NAME=VALUE, not '{change}'.")
        asked[name] = value
    return asked


Item = TypeVar("Item")


def show(result: Mapping[str, Any], as_json: bool, *parts: RenderableType) -> None:
    """Print a result as one JSON object, or for people: as the parts that are given, else as a table of its fields."""
    if as_json:
        print(to_json(result))
        return
    for part in [part for part in parts if part] or [fields_table(result)]:
        _console().print(part)


def _console(*, stderr: bool = False) -> Console:
    """Text is text: a bracket or a colon in somebody's path is no markup."""
    return Console(stderr=stderr, markup=False, emoji=False)


def fields_table(result: Mapping[str, Any]) -> Table:
    """One row per field."""
    table = Table(show_header=False)
    for name, value in result.items():
        table.add_row(name, value if isinstance(value, str) else to_json(value))
    return table


@contextmanager
def progress(items: Iterable[Item], what: str, total: int) -> Iterator[Iterable[Item]]:
    """The items, with a bar on stderr while they come, if someone is watching there."""
    console = _console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with _shown(*columns, console=console) as bar:
        task = bar.add_task(what, total=total)

        # Not rich's own `track`: its thread outlives a failure between two items and keeps the process from ending.
        def counted() -> Iterator[Item]:
            for item in items:
                yield item
                bar.advance(task)

        yield counted()


@contextmanager
def _shown(*columns: ProgressColumn, console: Console) -> Iterator[Progress]:
    """A bar that starts only where someone is watching: some versions of Rich end even a disabled one with a line."""
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar if console.is_terminal else nullcontext():
        yield bar


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """A function to say what is being done now; it shows on stderr with the time so far,
    if someone is watching there.
    """
    console = _console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with _shown(*columns, console=console) as bar:
        task = bar.add_task(what)
        yield lambda stage: bar.update(task, description=f"{what}: {stage}")


def announce(number: int, of: int, what: str) -> None:
    """One line per stage of a long job, on stderr, so that a log has it, too."""
    _console(stderr=True).print(f"{number}/{of} {what}", highlight=False, soft_wrap=True)


WORTH_KEEPING_S = 0.3


def keep_compiled(*, all_cores: bool = False) -> None:
    """Let JAX keep what it compiles in the user's cache folder, unless a folder is set already;
    for planning, let it use all cores.
    """
    import jax

    from visualpatchworld.program.rollout import spread_over_cores

    if all_cores:
        spread_over_cores(len(os.sched_getaffinity(0)))
    if jax.config.values["jax_compilation_cache_dir"] is None:
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        jax.config.update("jax_compilation_cache_dir", str(cache / "visualpatchworld" / "xla"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", WORTH_KEEPING_S)


@contextmanager
def timed(stage: Callable[[str], None], seconds: dict[str, float]) -> Iterator[Callable[[str], None]]:
    """A function that passes on what is being done, `fit: step 3` say, and adds up in
    `seconds` how long each kind of it takes.
    """
    doing, began = "", time.perf_counter()

    def note(next_kind: str) -> None:
        nonlocal doing, began
        now = time.perf_counter()
        if doing:
            seconds[doing] = seconds.get(doing, 0.0) + now - began
        doing, began = next_kind, now

    def tell(what: str) -> None:
        note(what.partition(":")[0])
        stage(what)

    yield tell
    note("")


def note_seconds(path: Path, seconds: Mapping[str, float]) -> None:
    """Add these to the times in a file; one that cannot be read is begun anew."""
    try:
        kept = dict(from_json(read_bytes(path, "times", VpwError)))
    except (VpwError, ValueError, TypeError):
        kept = {}
    write_text(path, to_json(kept | {name: round(value, 3) for name, value in seconds.items()}, indent=2) + "\n")


def candidates_table(rows: Sequence[Mapping[str, Any]], tolerances: Mapping[str, float]) -> Table:
    """Every candidate of an `induction.json` with what it explains and why it was not chosen, the winner first.

    The tolerances are the largest errors that explain a probe.
    """
    from visualpatchworld.paper.record import CandidateRecord

    table = Table(title="Level 1: which form explains the probes?")
    table.add_column("sketch")
    table.add_column("explained", justify="right")
    table.add_column("constants", justify="right")
    table.add_column("why not")
    for i, row in enumerate(rows):
        tried, why = bool(row["verdicts"]), CandidateRecord.model_validate(row).why_not(tolerances) if i else "chosen"
        explained, constants = (
            (f"{row['explained']}/{row['probes']}", str(len(row["constants"]))) if tried else ("-", "-")
        )
        table.add_row(row["sketch"], explained, constants, why, style="" if i else "bold green")
    return table


def unexplained_sentence(probes: Sequence[str]) -> str:
    """What the family cannot explain, or nothing."""
    named = ", ".join(f"'{name}'" for name in probes)
    return f"No sketch of this family explains {named}." if probes else ""


def program_table(result: Mapping[str, Any]) -> Group:
    """Constants with their errors, rollout errors by horizon, and where the program lies."""
    constants = Table(title=f"Level 2: {result['sketch']}")
    for heading in ("constant", "value", "standard error", "unit"):
        constants.add_column(heading, justify="right" if heading != "constant" else "left")
    for name, row in result["constants"].items():
        error = "not determined by the data" if name in result["undetermined"] else _error(row["stderr"])
        constants.add_row(name, f"{row['value']:g}", error, row["unit"])
    errors = errors_table(result["rollout_error"], "Open-loop error on validation episodes, which were not fitted to")
    return Group(constants, errors, f"{result['program']} ({result['seconds']:.0f} s)")


def _error(value: float | None) -> str:
    return "" if value is None else f"{value:.1g}"


def errors_table(errors: Mapping[str, Mapping[Any, Mapping[str, float]]], title: str = "Open-loop error") -> Table:
    """Open-loop error by horizon; the title says on which episodes."""
    table = Table(title=title)
    for heading in ("quantity", "steps", "median", "mean", "p90"):
        table.add_column(heading, justify="left" if heading == "quantity" else "right")
    for quantity, by_horizon in errors.items():
        for steps, row in by_horizon.items():
            table.add_row(quantity, str(steps), *(f"{row[key]:.3g}" for key in ("median", "mean", "p90")))
    return table


def stops_line(told: Mapping[str, Any]) -> str:
    """How often a sandboxed program had to be stopped, and why at first."""
    end = "then it was not tried again; " if told["gave_up"] else ""
    return (
        f"{told['late']} times for time, {told['failed']} times otherwise; {end}{told['unanswered']} "
        f"calls unanswered; {told['first']}"
    )


def success_list(cell: Mapping[str, Any]) -> Table:
    """The score of one cell with all that is needed to judge it, one line each, so that it fits a narrow terminal."""
    unsolved, seconds = cell["success_unsolved"], cell["seconds_per_plan_median"]
    lines = {
        "success": f"{cell['success']:.1f} % of {cell['n']} tasks",
        "95 % interval": "{:.1f} to {:.1f} %".format(*cell["ci95"]),
        "not solved at the start": "none" if unsolved is None else f"{unsolved:.1f} % of {cell['n_unsolved']} tasks",
        "floor, zero actions": f"{cell['floor_zero']:.1f} %",
        "floor, random actions": f"{cell['floor_random']:.1f} %",
        "what counts": f"{cell['metric']} within {cell['budget']} steps, {_goals(cell)}",
        "observed and scored by": f"{cell['observe']} + {cell['score']}",
        "planner": cell["planner"],
        "engine rollouts per plan": f"{cell['engine_rollouts_per_plan']:.0f}",
        "seconds per plan": "-" if seconds is None else f"{seconds:.3f} (median)",
        "tasks": f"from {cell['source']}, seed {cell['seed']}",
    }
    if cell.get("sandbox", {}).get("unanswered"):
        lines["stopped in the sandbox"] = stops_line(cell["sandbox"])
    if cell["program"] is None and cell["score"] != "simulator":
        lines["program"] = "none that loads came out of the search; every task counts as failed"
    table = Table(title=f"{cell['domain']}: planning", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, said in lines.items():
        table.add_row(name, said, style="bold green" if name == "success" else "")
    return table


def _goals(cell: Mapping[str, Any]) -> str:
    from visualpatchworld.paper.task import Goals

    given = () if cell["goals"] == "given" else None
    return Goals(cell["goals"], cell["tolerance"], tuple(cell["goal_fields"]), given).told(cell["offset"])


NUM_FILMS = 3  # tasks that are filmed


def planned(config: EvalConfig, program: Path | None, results: Path, video: Path | None) -> dict[str, Any]:
    """The fields of `vpw plan --json`; what the results hold already is not computed again."""
    from visualpatchworld.films import write_films
    from visualpatchworld.paper.evaluation import measure, measure_floors, report

    folder = make_folder(results)
    with working("planning") as stage:
        stage("zero and random actions")
        floors = measure_floors(folder, config)
    with progress(measure(folder, config), "planning", config.count) as done:
        outcomes = list(done)
    films = []
    if video is not None:
        failed = [outcome.task for outcome in outcomes if not outcome.success]
        with progress(write_films(make_folder(video), config, NUM_FILMS, failed), "filming", 2 * NUM_FILMS) as written:
            films = [str(path) for path in written]
    places = {"program": None if program is None else str(program), "results": str(folder), "films": films}
    return report(config, outcomes, floors) | places
