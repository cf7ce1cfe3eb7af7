"""`vpw plan` and `vpw acquire`: act with a program, measure how often that succeeds,
and refit it to what it did not predict.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._goals import goal_config, need_program, sandboxed
from visualpatchworld.cli._groups import Goal, Planning
from visualpatchworld.cli._options import Needs, Refused, Without
from visualpatchworld.cli._verb import (
    LARGEST_SEED,
    MOST,
    AsJson,
    DomainName,
    InSandbox,
    NoSandbox,
    Seed,
    Unfiltered,
    Vary,
    WorldName,
    keep_compiled,
    planned,
    progress,
    show,
    success_list,
    varied_domain,
    working,
)
from visualpatchworld.domain import find_domains
from visualpatchworld.errors import UnknownName, VpwError

# Episodes that tasks are drawn from when no file is given;
# a seed that nobody is likely to have collected training episodes with.
TASK_EPISODES, TASK_EPISODES_SEED = 50, 982_451_653
EPISODES = {"goal": 50, "reward": 20}


def plan(
    world: WorldName,
    program: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py",
            help="A world model: code, which runs here unless --sandbox is given; not needed with --score simulator.",
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.h5",
            help="Of a domain: episodes whose last fifth holds the tasks; collected when not given.",
        ),
        Needs("domain", instead="there a program is planned with from where the world itself starts"),
        Needs("goal"),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="How many tasks of a domain (50), or episodes elsewhere (20)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Same seed, same tasks and draws.")] = 42,
    planning: Planning = Planning(),
    goal: Annotated[Goal, Needs("goal")] = None,
    sandbox: Annotated[
        InSandbox,
        Needs(
            "domain",
            "reward",
            instead="a goal is planned for with derivatives of the program, which only this process has: "
            "read the program first, then leave out --sandbox",
        ),
        Without("--score simulator", instead="nothing is predicted by the program"),
    ] = False,
    unfiltered: Unfiltered = False,
    method: Annotated[
        str,
        typer.Option(help="Of a domain: name of the method that the results are kept under."),
        Needs("domain", instead="nothing is kept there, and --json prints the result"),
        Needs("goal"),
        Without("--score simulator", instead="its results are kept as those of the engine"),
    ] = "vpw",
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Of a domain: where results are kept; a run goes on where it stopped."),
        Needs("domain", instead="nothing is kept there, and --json prints the result"),
        Needs("goal"),
    ] = None,
    video: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write films of the first tasks, or of the first episode, there."),
        Needs("domain", "reward", instead="`vpw record --film` films an episode"),
        Without("--sandbox", instead="a film shows what the program imagines in this process"),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            metavar="[goal|reward]", help="Reach goals (of a domain's episodes, or --goal), or earn the world's reward."
        ),
    ] = "",
    on_true_world: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=MOST,
            metavar="N",
            help="For a reward: plan N episodes with the true world as the model, too; as many as fit into 30 "
            "s unless given.",
        ),
        Needs("reward", instead="--score simulator plans for a domain's goals with the true world"),
    ] = None,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Plan from starts to goals of episodes that were not fitted to, or for a world's reward;
    acting is always in the true world.

    A program is code. It runs in this process with all your rights, or with --sandbox in a locked process
    and nowhere else; give that for a program that you have not read.

    Example: vpw plan DOMAIN --program world_model.py

    Example: vpw plan DOMAIN --program world_model.py --goals other-episode --tolerance 0.5

    Example: vpw plan DOMAIN --program world_model.py --goal goal.png --goal-fields block

    Example: vpw plan Pendulum-v1 --program world_model.py --task goal --goal angle=0,angle_speed=0

    Example: vpw plan Pendulum-v1 --program downloaded.py --sandbox
    """
    from visualpatchworld.cli import _any_world
    from visualpatchworld.files import make_folder
    from visualpatchworld.paper.record import read_written
    from visualpatchworld.plan.scorer import RolloutScorer
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.file import read_traces

    if task not in ("", *EPISODES):
        raise UnknownName("task", task, EPISODES)
    if task == "reward" or world not in find_domains():
        if program is None:
            raise VpwError(f"Planning needs --program FILE.py; `vpw induce {world}` makes one.")
        if task == "goal" and goal is None:
            raise VpwError("Say with --goal which state is to be reached, as --goal angle=0,speed=0.")
        asked = _any_world.Asked(episodes or EPISODES["reward"], seed, planning.planner, planning.horizon)
        opened = _any_world.opened(world, vary=vary)
        if goal is not None:
            return _any_world.plan_to_goal(opened, program, goal, asked, planning.tolerance, planning.budget, as_json)
        return _any_world.plan(
            opened,
            program,
            asked,
            as_json,
            on_true_world=on_true_world,
            video=video,
            sandbox=sandbox,
            unfiltered=unfiltered,
        )
    keep_compiled(all_cores=True)
    domain, constants = varied_domain(world, vary)
    source = "collected" if traces is None else traces.stem
    config = goal_config(
        domain,
        constants,
        vary,
        planning,
        goal,
        method=method,
        episodes=(),
        source=source,
        count=episodes or EPISODES["goal"],
        seed=seed,
    )
    need_program(planning, program, domain.name)
    model, written_by = None, ""
    if program is not None and sandbox:
        model, written_by = read_written(program)
    elif program is not None:
        model = load_program(program, domain.scene.state_space, domain.layout.action.width)
    folder = make_folder(results or Path("runs") / domain.name / "results")
    if traces is not None:
        seen = read_traces(traces, domain).episodes
    else:
        with progress(
            collect(domain, constants, episodes=TASK_EPISODES, seed=TASK_EPISODES_SEED, pixels=False),
            "episodes",
            TASK_EPISODES,
        ) as new:
            seen = tuple(new)
    config = replace(config, episodes=seen)
    by = {"method": "engine"} if planning.score == "simulator" else {"program": model, "written_by": written_by}
    config = replace(config, **by)
    with sandboxed(domain, model if sandbox else None, unfiltered) as rollouts:
        if rollouts is not None:
            config = replace(config, scorer=RolloutScorer(rollouts, config.cost))
        result = planned(config, None if model is None else program, folder, video)
        if rollouts is not None:
            result["sandbox"] = rollouts.told()
    return show(result, as_json, success_list(result))


def acquire(
    domain: DomainName,
    program: Annotated[
        Path,
        typer.Option(metavar="FILE.py", help="The program to start from, which is not changed: code, which runs here."),
    ],
    sketch: Annotated[str, typer.Option(metavar="NAME", help="Its form, as its header names it.")],
    out: Annotated[Path, typer.Option(metavar="FILE.py", help="Where the refitted program goes, if it is accepted.")],
    traces: Annotated[
        Path | None, typer.Option(metavar="FILE.h5", help="Episodes; the last fifth stays untouched.")
    ] = None,
    episodes: Annotated[
        int,
        typer.Option(min=3, max=MOST, metavar="N", help="How many episodes to collect without --traces."),
        Without("--traces"),
    ] = 50,
    tasks: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="Practice tasks.")] = 20,
    sandbox: Annotated[
        NoSandbox,
        Refused(instead="practice plans and refits with the compiled program: read it first, then leave out --sandbox"),
    ] = False,
    seed: Seed = 0,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Practise, gather the surprises, refit inside the form, and accept only what makes nothing worse.

    A program is code: it runs in this process with all your rights.

    Example: vpw acquire DOMAIN --program world_model.py --sketch FORM --out better.py
    """
    from visualpatchworld.files import write_text
    from visualpatchworld.paper import acquire as stage
    from visualpatchworld.program.program import load_program
    from visualpatchworld.trace.episode import collect, for_fitting
    from visualpatchworld.trace.file import read_traces

    keep_compiled(all_cores=True)
    world, constants = varied_domain(domain, vary)
    form = world.family(world.scene.objects(constants)).named(sketch)
    model = load_program(program, world.scene.state_space, world.layout.action.width)
    with working("acquiring") as progress:
        if traces is None:
            progress(f"collecting {episodes} episodes")
            seen = for_fitting(list(collect(world, constants, episodes=episodes, seed=seed)))
        else:
            seen = for_fitting(read_traces(traces, world).episodes)
        found = stage.acquire(world, constants, model, form, seen, tasks=tasks, seed=seed, progress=progress)
    if found.accepted:
        write_text(out, found.program.text)
    result = {
        "domain": world.name,
        "accepted": found.accepted,
        "reason": found.reason,
        "surprises": found.surprises,
        "tasks": tasks,
        "successes_before": found.successes_before,
        "successes_after": found.successes_after,
        "checks": stage.NUM_CHECKS,
        "rollout_error_before": found.errors_before,
        "rollout_error_after": found.errors_after,
        "program": str(out) if found.accepted else str(program),
    }
    show(result, as_json)
