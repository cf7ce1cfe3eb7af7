"""`vpw exhibit`: measure something of a program, or of what is seen, that is not success at planning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._options import MOST, AsJson, DomainName, Seed
from visualpatchworld.cli._show import progress, show, working
from visualpatchworld.cli.plan import TASK_EPISODES, TASK_EPISODES_SEED
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import UnknownName, VpwError


def exhibit(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What to measure; a wrong name lists the kinds.")],
    domain: DomainName,
    program: Annotated[
        Path | None, typer.Option(metavar="FILE.py", help="A world model; when not given, each in DIR/programs for these episodes.")
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="FILE.h5", help="Episodes whose last fifth is measured on; else DIR/traces/DOMAIN.h5, else new ones."),
    ] = None,
    results: Annotated[Path, typer.Option(metavar="DIR", help="What `vpw bench --out DIR` fills, or a folder of results.")] = Path(
        "runs/bench"
    ),
    method: Annotated[str, typer.Option(help="Whose program it is.")] = "vpw",
    sandbox: Annotated[bool, typer.Option("--sandbox", help="The program is a model's: run it nowhere but in the sandbox.")] = False,
    frames: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="How many pictures an audit looks at.")] = 500,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure an exhibit and keep it among the results, where tables and figures find it.

    Example: vpw exhibit rollout DOMAIN --program world_model.py --traces episodes.h5 --results runs/bench
    """
    from visualpatchworld.paper.exhibit import Subject
    from visualpatchworld.paper.exhibits import find_exhibits, measure_exhibit, write_exhibit
    from visualpatchworld.paper.suite import MethodProgram, find_programs
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.read import read_traces

    world, kinds = load_domain(domain), find_exhibits()
    if kind not in kinds:
        raise UnknownName("exhibit", kind, kinds)
    folder = results if results.name == "results" else results / "results"
    kept = folder.parent / "traces" / f"{world.name}.h5"
    source = world.name if traces is None else traces.stem
    if traces is not None or kept.is_file():
        recorded = read_traces(traces or kept, world)
        constants, episodes, episodes_seed = recorded.constants, recorded.episodes, recorded.seed
    else:
        with progress(collect(world, world.constants, episodes=TASK_EPISODES, seed=TASK_EPISODES_SEED), "episodes", TASK_EPISODES) as new:
            constants, episodes, episodes_seed = world.constants, tuple(new), TASK_EPISODES_SEED
    if kinds[kind] != "program":
        measured = [MethodProgram(kinds[kind])]
    elif program is not None:
        measured = [MethodProgram(method, program, sandbox)]
    else:
        measured = find_programs(folder.parent / "programs", world.name, source)
        if not measured:
            raise VpwError(f"There is no program of '{source}' in '{folder.parent / 'programs'}'; give --program FILE.py.")
    written = []
    with working(f"{kind} of {source}") as stage:
        for item in measured:
            stage(item.method)
            subject = Subject(
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
            written.append(str(write_exhibit(folder, measure_exhibit(kind, subject))))
    show({"kind": kind, "domain": world.name, "source": source, "methods": [item.method for item in measured], "files": written}, as_json)
