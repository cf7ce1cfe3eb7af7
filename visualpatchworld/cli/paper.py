"""`vpw analyse`, `vpw table`, `vpw figure` and `vpw report`: what was measured, shown from results alone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import Needs, Without
from visualpatchworld.cli._verb import MOST, AsJson, DomainName, InSandbox, Seed, progress, show, working
from visualpatchworld.cli.plan import TASK_EPISODES, TASK_EPISODES_SEED
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import UnknownName, VpwError

RESULTS_HELP = (
    "What `vpw bench --out DIR` filled, or a folder of results; `results` where there is one, else runs/bench."
)


def analyse(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What to measure; a wrong name lists the kinds.")],
    domain: DomainName,
    program: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py",
            help="A world model: code, which runs here unless --sandbox is given; when not given, each in DIR/programs "
            "for these episodes.",
        ),
        Without("kind audit", instead="an audit is of the tool path"),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.h5",
            help="Episodes whose last fifth is measured on; else DIR/traces/DOMAIN.h5, else new ones.",
        ),
    ] = None,
    results: Annotated[
        Path, typer.Option(metavar="DIR", help="What `vpw bench --out DIR` fills, or a folder of results.")
    ] = Path("runs/bench"),
    method: Annotated[str, typer.Option(help="Whose program it is."), Needs("--program")] = "vpw",
    sandbox: Annotated[
        InSandbox,
        Needs("--program", instead="of the programs in DIR, those that a model wrote always run in the sandbox"),
    ] = False,
    frames: Annotated[
        int,
        typer.Option(min=1, max=MOST, metavar="N", help="How many pictures an audit looks at."),
        Needs("kind audit"),
    ] = 500,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure an analysis and keep it among the results, where tables and figures find it.

    A program is code: it runs in this process with all your rights, or with --sandbox in a locked process alone.

    Example: vpw analyse rollout DOMAIN --program world_model.py --traces episodes.h5 --results runs/bench
    """
    from visualpatchworld.paper.analysis import find_analyses, write_analysis
    from visualpatchworld.paper.measure import Measurand, measure_analysis
    from visualpatchworld.paper.suite import MethodProgram, find_programs
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.file import read_traces

    world, kinds = load_domain(domain), find_analyses()
    if kind not in kinds:
        raise UnknownName("analysis", kind, kinds)
    folder = results if results.name == "results" else results / "results"
    kept = folder.parent / "traces" / f"{world.name}.h5"
    source = world.name if traces is None else traces.stem
    if traces is not None or kept.is_file():
        recorded = read_traces(traces or kept, world)
        constants, episodes, episodes_seed = recorded.constants, recorded.episodes, recorded.seed
    else:
        with progress(
            collect(world, world.constants, episodes=TASK_EPISODES, seed=TASK_EPISODES_SEED), "episodes", TASK_EPISODES
        ) as new:
            constants, episodes, episodes_seed = world.constants, tuple(new), TASK_EPISODES_SEED
    if kinds[kind] != "program":
        measured = [MethodProgram(kinds[kind])]
    elif program is not None:
        measured = [MethodProgram(method, program, sandbox)]
    else:
        measured = find_programs(folder.parent / "programs", world.name, source)
        if not measured:
            raise VpwError(
                f"There is no program of '{source}' in '{folder.parent / 'programs'}'; give --program FILE.py."
            )
    written = []
    with working(f"{kind} of {source}") as stage:
        for item in measured:
            stage(item.method)
            measurand = Measurand(
                domain=world,
                constants=constants,
                episodes=episodes,
                episodes_seed=episodes_seed,
                source=source,
                method=item.method,
                program=item.program,
                sandboxed=item.sandboxed,
                written_by=item.written_by,
                seed=seed,
                frames=frames,
            )
            written.append(str(write_analysis(folder, measure_analysis(kind, measurand))))
    show(
        {
            "kind": kind,
            "domain": world.name,
            "source": source,
            "methods": [item.method for item in measured],
            "files": written,
        },
        as_json,
    )


def table(
    name: Annotated[str, typer.Argument(metavar="ID", help="Which table; a wrong name lists them.")],
    results: Annotated[Path | None, typer.Option(metavar="DIR", help=RESULTS_HELP)] = None,
    layout: Annotated[
        str,
        typer.Option("--format", metavar="[text|markdown|latex|html|json]", help="How it is written."),
        Without("--json"),
    ] = "text",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there instead of showing it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Make a table of what was measured, with the paper's figures beside ours, marked as quoted.

    Example: vpw table main --results runs/bench
    """
    from visualpatchworld.files import write_text
    from visualpatchworld.paper.results import read_results
    from visualpatchworld.paper.table import FORMATS
    from visualpatchworld.paper.tables import make_table

    layout = "json" if as_json else layout
    if layout not in FORMATS:
        raise UnknownName("format", layout, FORMATS)
    width = shutil.get_terminal_size().columns if out is None else 80
    text = FORMATS[layout](make_table(name, read_results(results or _usual_results())), width)
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)


def figure(
    name: Annotated[str, typer.Argument(metavar="ID", help="Which figure; a wrong name lists them.")],
    results: Annotated[Path | None, typer.Option(metavar="DIR", help=RESULTS_HELP)] = None,
    layout: Annotated[
        str | None, typer.Option("--format", metavar="[png|svg]", help="By default what --out ends with, else png.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where it is written; ID.FORMAT when not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a figure of what was measured; nothing is computed for it.

    Example: vpw figure success --results runs/bench --out success.svg
    """
    from visualpatchworld.paper.figures.draw import FORMATS, find_figures, make_figure, write_figure
    from visualpatchworld.paper.results import read_results

    layout = layout or (out.suffix.lstrip(".") if out is not None else FORMATS[0])
    if layout not in FORMATS:
        raise UnknownName("format", layout, FORMATS)
    path = out or Path(f"{name}.{layout}")
    with working("drawing"):
        write_figure(path, make_figure(name, read_results(results or _usual_results())), layout)
    show({"figure": name, "title": find_figures()[name], "results": str(results), "file": str(path)}, as_json)


def report(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="What `vpw run --out DIR` filled; the page becomes its report.html."),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="All tables and figures of the paper beside ours, in place of a run.")
    ] = False,
    worlds: Annotated[
        bool, typer.Option("--worlds", help="Every world of which a program was found, with all tables about them.")
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Results for --paper and --worlds; the folder `results` where there is one, else runs/bench.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where such a page goes; report.html or worlds.html beside the results."),
    ] = None,
    sandbox: Annotated[
        bool,
        typer.Option("--sandbox", help="Always so: the program of a run predicts nowhere but in the sandbox."),
        Without("--paper", "--worlds", instead="no program runs for such a page"),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write one HTML file that shows everything: it loads nothing, so that it opens
    from disk and can be sent to someone.

    A run's program is code: it is shown, and predicts nowhere but in the sandbox. Nothing outside DIR is read.

    Example: vpw report runs/DOMAIN

    Example: vpw report --paper --results runs/bench

    Example: vpw report --worlds
    """
    if (folder is not None) + paper + worlds != 1:
        raise VpwError(
            "Say which run, as `vpw report DIR`, or `vpw report --paper` or `vpw report --worlds` for all results."
        )
    if folder is not None and (results is not None or out is not None):
        raise VpwError(
            "--results and --out go with --paper and --worlds; the page of a run is the report.html in its folder."
        )
    with working("writing the page") as stage:
        if folder is not None:
            from visualpatchworld.report.run_page import write_report

            written = write_report(folder, stage)
        else:
            from visualpatchworld.report.overview import write_paper, write_worlds

            written = (write_paper if paper else write_worlds)(results or _usual_results(), out, stage)
    result = {"report": str(written.path), "bytes": written.path.stat().st_size, "missing": list(written.missing)}
    show(result, as_json, "\n".join([*written.missing, f"report: {written.path}"]))


def _usual_results() -> Path:
    return Path("results") if Path("results").is_dir() else Path("runs/bench")
