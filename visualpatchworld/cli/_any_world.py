"""What the verbs do where the world is no bundled domain: an
environment, a task or a log, of which nothing is known beforehand.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.table import Table

from visualpatchworld.cli._groups import LogColumns, Search
from visualpatchworld.cli._verb import announce, changes, keep_compiled, show, working
from visualpatchworld.domain import DEFAULT
from visualpatchworld.errors import VpwError, printable

if TYPE_CHECKING:  # worlds load engines, and programs JAX
    from visualpatchworld.world.log_table import Columns
    from visualpatchworld.world.world import World

UNEXPLAINED = 3  # the exit status of a search that found no law, and says so
NOTHING = "none"  # what `--action` says where nothing was done
LOGS = (".npz", ".csv", ".parquet", ".h5", ".hdf5")
TRUE_WORLD_SECONDS = 30.0  # for planning in a world itself, unless someone asks for more
PROGRAM, RECORD = "world_model.py", "induction.json"


class Asked(NamedTuple):
    """What is asked of planning in any world."""

    episodes: int
    seed: int
    planner: str = DEFAULT
    horizon: int | None = None


def opened(name: str, log: LogColumns = LogColumns(), vary: Sequence[str] | None = None) -> World:
    """The world behind a name; of a log, what was said of its columns, and of a domain, what varies."""
    from visualpatchworld.world.open import open_world

    return open_world(name, columns=columns_of(*log), vary=changes(vary))


def columns_of(action: str | None, state: str | None, episode: str | None, dt: float | None) -> Columns:
    """What `--action`, `--state`, `--episode` and `--dt` say about a table."""
    from visualpatchworld.world.log_table import Columns

    return Columns(action=() if action == NOTHING else _named(action), state=_named(state), episode=episode, dt=dt)


def _named(columns: str | None) -> tuple[str, ...] | None:
    return None if columns is None else _split(columns)


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def corrections(fields: str | None) -> dict[str, str]:
    """What `--fields theta=angle,w=velocity:theta` says, by field."""
    told = {}
    for part in _split(fields or ""):
        name, equals, role = part.partition("=")
        if not equals:
            raise VpwError(f"--fields takes NAME=ROLE,NAME=ROLE, not '{part}'.")
        told[name] = role
    return told


def look(world: World, fields: str | None, seed: int, as_json: bool) -> None:
    """Read the fields of a world, and show what each is and why."""
    import numpy as np

    from visualpatchworld.induction.discover import BUDGET, FIRST_SHARE, given_names
    from visualpatchworld.induction.fields import read_fields
    from visualpatchworld.induction.reading import table
    from visualpatchworld.world.collect import collect

    with working("looking") as progress:
        progress("collecting")
        seen = collect(world, round(FIRST_SHARE * BUDGET), np.random.default_rng(seed))
        reading = read_fields(seen, world.action_space, given_names(world), world.dt, corrections(fields))
    names = world.action_space.names or tuple(f"action[{i}]" for i in range(len(world.action_space)))
    kind = world.action_space.kind
    result = {
        "world": world.name,
        "fields": [{**row, "label": world.field_labels[k]} for k, row in enumerate(table(reading.fields))],
        "actions": [{"name": name, "role": kind} for name in names],
        "dt": reading.dt,
        "integrator": reading.integrator,
        "env_steps": world.env_steps,
    }
    acts = f"actions ({kind}): {printable(', '.join(names))}" if names else "nothing is done: there are no actions"
    show(
        result,
        as_json,
        fields_table(world.name, result["fields"]),
        f"{acts}; dt {reading.dt:g}, integrator {reading.integrator}",
    )


def fields_table(world: str, fields: Sequence[Mapping[str, Any]]) -> Table:
    """One row per field: what it is, of what, and how that shows."""
    table = Table(title=printable(world))
    for heading in ("field", "role", "of", "evidence"):
        table.add_column(heading, overflow="fold")
    for field in fields:
        label = field.get("label", field["name"])  # what the source calls it
        name = field["name"] if label == field["name"] else f"{field['name']} ({printable(label)})"
        table.add_row(name, field["role"], field["of"] or "", field["evidence"])
    return table


def induce(world: World, out: Path, search: Search, episodes: int | None, seed: int, as_json: bool) -> None:
    """Find a world's program, write it down with its record, and
    show what was found; the exit status says whether it explains.
    """
    result = induced(world, out, search, episodes, seed)
    show(result, as_json, *found_parts(result))
    if result["verdict"] == "unexplained":
        raise typer.Exit(UNEXPLAINED)


def induced(world: World, out: Path, search: Search, episodes: int | None, seed: int) -> dict[str, Any]:
    """The record of an induction, after program and record were written."""
    from visualpatchworld.files import make_folder, to_json, write_text, writing
    from visualpatchworld.induction.discover import discover, summary

    folder = make_folder(out)
    with writing(folder / PROGRAM) as aside, working("inducing") as progress:
        found = discover(
            world,
            budget=search.steps,
            seed=seed,
            seconds=search.seconds,
            episodes=episodes,
            fields=corrections(search.fields),
            progress=progress,
        )
        aside.write_text(found.program.text, encoding="utf-8")
    result = summary(found, str(folder / PROGRAM))
    write_text(folder / RECORD, to_json(result, indent=2) + "\n")
    return result


def found_parts(result: Mapping[str, Any]) -> list[Any]:
    """What was found, for people: the law as equations, its constants, the fields, the errors, and the verdict."""
    constants = Table(title=f"{result['form']}")
    for heading in ("constant", "value", "+-"):
        constants.add_column(heading)
    for name, constant in result["constants"].items():
        spread = constant["stderr"]
        constants.add_row(name, f"{constant['value']:.7g}", "" if spread is None else f"{spread:.1g}")
    errors = ", ".join(f"{row['median']:.2g} after {steps}" for steps, row in result["normalised_error"].items())
    lines = [
        f"{result['verdict']}: {result['why']}",
        f"held-out error (median, of each field's spread of change): {errors} steps" if errors else "",
        f"reward: {result['reward']['why']}",
        f"end: {result['terminated']['why']}",
        (f"{result['env_steps']} steps of the world, " if result["env_steps"] else "")
        + f"{result['seconds']:g} s; written to {result['program']}",
    ]
    law = "\n".join((result.get("equations") or {}).get("text", ()))
    fields = fields_table(result["world"], result["fields"])
    return [*([f"{law}\n"] if law else []), constants, fields, "\n".join(line for line in lines if line)]


def rollout(
    program: Path,
    world: World,
    horizon: int,
    last: int | None,
    seed: int,
    as_json: bool,
    *,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> None:
    """Roll a program out along a log, and measure its error by horizon in units of each field's spread of change."""
    import numpy as np

    from visualpatchworld.induction.windows import replay_errors
    from visualpatchworld.program.program import read_program
    from visualpatchworld.world.collect import collect
    from visualpatchworld.world.log import INTERPOLATED, LogWorld

    model = read_program(program)
    if isinstance(world, LogWorld) and any(line.startswith(INTERPOLATED) for line in model.text.splitlines()):
        world = world.with_neighbours()
    with working("rolling out") as progress:
        progress("collecting")
        seen = collect(world, 1000, np.random.default_rng(seed))[-last if last else None :]
        errors, by_field = replay_errors(model, seen, horizon, sandbox=sandbox, unfiltered=unfiltered)
    result = {
        "world": world.name,
        "program": str(program),
        "program_hash": model.hash,
        "normalised_error": errors,
        "normalised_by_field": {steps: _by_name(row, world.field_names) for steps, row in by_field.items()},
    }
    table = Table(title="error over the spread of each field's change")
    for heading in ("steps", "mean", "median", "p90"):
        table.add_column(heading)
    for steps, row in errors.items():
        table.add_row(str(steps), *(f"{row[name]:.3g}" for name in ("mean", "median", "p90")))
    show(result, as_json, table)


def _by_name(row: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    return {names[int(column)]: value for column, value in row.items()}


def plan(
    world: World,
    program: Path,
    asked: Asked,
    as_json: bool,
    *,
    on_true_world: int | None = None,
    video: Path | None = None,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> None:
    """Plan for the return in a world with a program's reward and end."""
    result = planned(
        world, program, asked, on_true_world=on_true_world, films=video, sandbox=sandbox, unfiltered=unfiltered
    )
    show(result, as_json)


def planned(
    world: World,
    program: Path,
    asked: Asked,
    *,
    on_true_world: int | None = None,
    films: Path | None = None,
    sandbox: bool = False,
    unfiltered: bool = False,
) -> dict[str, Any]:
    """The report of planned episodes, beside random and zero actions
    and the same planner on the true world, on the same starts.

    Unless someone says how many episodes, the true world is planned in for as many as fit into half a minute. The first
    episode is filmed where there are pictures. The program runs here, or with `sandbox` nowhere but there.
    """
    from visualpatchworld.plan.reward import evaluate_return, return_planner
    from visualpatchworld.program.program import read_program

    keep_compiled(all_cores=True)
    episodes, seed = asked.episodes, asked.seed
    planner = return_planner(asked.planner, asked.horizon, world.action_space)
    model = read_program(program)
    shown: dict[str, Any] = {}
    filmed = None
    if films is not None:
        from visualpatchworld.films import NoPictures, open_filmed

        try:
            world = filmed = open_filmed(world.name)
        except NoPictures as error:
            shown["not_filmed"] = str(error)
    with working("planning") as progress:

        def told(number: int, earned: float) -> None:
            progress(f"episode {number + 1} of {episodes} earned {earned:.4g}")
            if filmed is not None and films is not None and filmed.rolling:
                from visualpatchworld.films import write_world_film

                filmed.rolling = False
                path = films / f"{folder_name(filmed.name)}-reward-{seed}.mp4"
                shown["film"] = str(
                    write_world_film(
                        path, model, filmed.frames, filmed.episode, filmed.field_names, f"return {earned:.4g}", progress
                    )
                )

        def told_of_truth(number: int, earned: float) -> None:
            progress(f"episode {number + 1}, planned in the world itself, earned {earned:.4g}")

        found = evaluate_return(
            world,
            model,
            planner,
            episodes=episodes,
            seed=seed,
            sandbox=sandbox,
            unfiltered=unfiltered,
            true_world_episodes=episodes if on_true_world is None else on_true_world,
            true_world_seconds=TRUE_WORLD_SECONDS if on_true_world is None else None,
            on_episode=told,
            on_true_episode=told_of_truth,
        )
    return {
        "world": world.name,
        "program": str(program),
        "program_hash": model.hash,
        "task": "reward",
        "seed": seed,
        **found.report,
        **shown,
    }


def plan_to_goal(
    world: World, program: Path, goal: Path, asked: Asked, tolerance: float, budget: int | None, as_json: bool
) -> None:
    """Plan from a world's starts to a given state, and show how often it is reached."""
    from visualpatchworld.paper.task import wilson_percent
    from visualpatchworld.plan.goal_state import evaluate_goal
    from visualpatchworld.plan.reward import return_planner
    from visualpatchworld.program.program import read_program

    keep_compiled(all_cores=True)
    episodes, seed = asked.episodes, asked.seed
    planner = return_planner(asked.planner, asked.horizon, world.action_space)
    model = read_program(program)
    with working("planning") as progress:

        def told(number: int, steps: int | None) -> None:
            progress(
                f"episode {number + 1} of {episodes}: "
                + ("not reached" if steps is None else f"reached after {steps} steps")
            )

        found = evaluate_goal(
            world,
            model,
            goal,
            planner,
            episodes=episodes,
            seed=seed,
            tolerance=tolerance,
            budget=budget,
            on_episode=told,
        )
    low, high = wilson_percent(sum(steps is not None for steps in found.steps), episodes)
    known = {"world": world.name, "program": str(program), "program_hash": model.hash, "task": "goal", "seed": seed}
    show(known | found.report | {"ci95": [low, high]}, as_json)


def run(
    open_it: Callable[[], World],
    out: Path,
    search: Search,
    episodes: int | None,
    asked: Asked,
    on_true_world: int,
    as_json: bool,
) -> None:
    """Look, induce, check, plan for the reward where there is one, and write the page; each opens the world anew."""
    from visualpatchworld.extras import need
    from visualpatchworld.files import to_json, write_text
    from visualpatchworld.plan.reward import return_planner
    from visualpatchworld.program.program import read_program
    from visualpatchworld.report.recording import check
    from visualpatchworld.report.run_page import write_report
    from visualpatchworld.report.world import CHECK, FILMS, PLAN

    need("report")  # told before the long work, not after it
    began = time.perf_counter()
    world = open_it()
    return_planner(asked.planner, asked.horizon, world.action_space)
    acted = {"reset", "reward"} <= world.powers
    seen = f"at most {search.steps} of its steps" if "reset" in world.powers else "its rows"
    announce(1, 4, f"a program of {world.name}, from {seen}")
    result = induced(world, out, search, episodes, asked.seed)
    parts = found_parts(result)
    for earlier in (out / CHECK, out / PLAN, *(out / FILMS).glob("*.mp4")):
        earlier.unlink(missing_ok=True)
    announce(
        2,
        4,
        f"{result['verdict']}; now held against "
        f"{'steps that no search has seen' if result['env_steps'] else 'the log'}",
    )
    with working("checking") as progress:
        progress("steps")
        names = [field["name"] for field in result["fields"]]
        checked = check(read_program(out / PROGRAM), open_it(), names, asked.seed)
    write_text(out / CHECK, to_json(checked) + "\n")
    if acted and result["reward"]["paid"]:
        announce(3, 4, f"{asked.episodes} episodes planned for its reward with the program, acted in the true world")
        result["plan"] = planned(open_it(), out / PROGRAM, asked, on_true_world=on_true_world, films=out / FILMS)
        earned = result["plan"]
        write_text(out / PLAN, to_json(earned, indent=2) + "\n")
        parts.append(
            f"planned return {earned['return_mean']:.4g} +- {earned['return_std']:.2g}, random "
            f"{earned['random_return']:.4g}"
        )
        parts.append(f"film: {earned['film']}" if "film" in earned else earned["not_filmed"])
    else:
        announce(3, 4, "nothing to plan for: " + ("no reward was paid" if acted else "a log can not be acted in"))
    announce(4, 4, f"a page of all that, {out / 'report.html'}")
    with working("writing the page") as progress:
        result["report"] = str(write_report(out, progress).path)
    parts.append(f"report: {result['report']}")
    result["seconds"] = round(time.perf_counter() - began, 1)
    show(result, as_json, *parts)
    if result["verdict"] == "unexplained":
        raise typer.Exit(UNEXPLAINED)


def folder_name(world: str) -> str:
    """A folder's name for a world: what is no letter, digit, dot or dash becomes a dash."""
    return re.sub(r"[^\w.-]+", "-", Path(world).stem if Path(world).suffix in LOGS else world).strip("-") or "world"
