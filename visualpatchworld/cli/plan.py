"""`vpw plan` and `vpw acquire`: act with a program, measure how often that succeeds,
and refit it to what it did not predict.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from visualpatchworld.cli._verb import (
    LARGEST_SEED,
    MOST,
    AsJson,
    DomainName,
    InSandbox,
    Seed,
    Unfiltered,
    Vary,
    WorldName,
    changes,
    finite,
    keep_compiled,
    planned,
    progress,
    show,
    success_list,
    varied_domain,
    working,
)
from visualpatchworld.domain import DEFAULT, find_domains
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.paper.cell import Observe

# Episodes that tasks are drawn from when no file is given;
# a seed that nobody is likely to have collected training episodes with.
TASK_EPISODES, TASK_EPISODES_SEED = 50, 982_451_653


SCORES = ("induced", "hybrid", "sparing", "simulator")


def plan(
    world: WorldName,
    program: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.py", help="A world model: code, which runs here; not needed with --score simulator."
        ),
    ] = None,
    observe: Annotated[
        Observe, typer.Option(help="What the planner is told: the simulator's state, or what is read off frames.")
    ] = "oracle",
    score: Annotated[
        str,
        typer.Option(metavar="[induced|hybrid|sparing|simulator]", help="Who predicts what candidate plans lead to."),
    ] = "induced",
    traces: Annotated[
        Path | None,
        typer.Option(metavar="FILE.h5", help="Episodes whose last fifth holds the tasks; collected when not given."),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, metavar="N", help="How many tasks (50), or episodes for a reward (20)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Same seed, same tasks and draws.")] = 42,
    offset: Annotated[int, typer.Option(min=1, max=MOST, help="Steps from start to goal.")] = 25,
    metric: Annotated[
        str | None, typer.Option(help="What counts as success; the domain's main metric when not given.")
    ] = None,
    planner: Annotated[
        str,
        typer.Option(metavar="NAME", help="How plans are searched for: default, paper, cem, icem, mppi, gradient, ..."),
    ] = DEFAULT,
    goals: Annotated[
        str | None,
        typer.Option(
            metavar="[same-episode|other-episode]", help="Goals later in the start's episode, or of another one."
        ),
    ] = None,
    goal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|NAME=NUMBER,...",
            help="One goal for all tasks: a picture, or JSON with numbers of some or all fields by name; in "
            "any world also NAME=NUMBER.",
        ),
    ] = None,
    goal_fields: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="Objects or fields of the goal that count; the others may be anything."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=1e-6, max=100.0, metavar="SCALE", help="The success radius is scaled by this.", callback=finite
        ),
    ] = 1.0,
    budget: Annotated[
        int | None, typer.Option(min=1, max=MOST, metavar="N", help="Steps allowed, in place of the protocol's.")
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, metavar="N", help="Predict and execute N steps at a time, in place of the planner's own."
        ),
    ] = None,
    sandbox: InSandbox = False,
    unfiltered: Unfiltered = False,
    method: Annotated[str, typer.Option(help="Name of the method that the results are kept under.")] = "vpw",
    results: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept; a run goes on where it stopped.")
    ] = None,
    video: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write films of the first tasks there.")
    ] = None,
    task: Annotated[
        str, typer.Option(metavar="[goal|reward]", help="Reach goals of episodes, or earn the world's own reward.")
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
    ] = None,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Plan from starts to goals of episodes that were not fitted to, or for a world's reward;
    acting is always in the true world.

    A program is code with all your rights. Give --sandbox for one that you have not read.

    Example: vpw plan DOMAIN --program world_model.py

    Example: vpw plan DOMAIN --program world_model.py --goals other-episode --tolerance 0.5

    Example: vpw plan DOMAIN --program world_model.py --goal goal.png --goal-fields block

    Example: vpw plan Pendulum-v1 --program world_model.py --task goal --goal angle=0,angle_speed=0
    """
    from visualpatchworld.cli import _any_world
    from visualpatchworld.files import make_folder
    from visualpatchworld.paper.evaluation import EvalConfig
    from visualpatchworld.paper.record import read_written
    from visualpatchworld.paper.task import Goals, counted, read_goal
    from visualpatchworld.plan.scorer import RolloutScorer
    from visualpatchworld.program.program import load_program
    from visualpatchworld.program.sandbox import sandboxed_rollouts
    from visualpatchworld.trace.episode import collect
    from visualpatchworld.trace.file import read_traces

    if task not in ("", "goal", "reward"):
        raise UnknownName("task", task, ("goal", "reward"))
    if task == "reward" or world not in find_domains():
        if program is None:
            raise VpwError(f"Planning needs --program FILE.py; `vpw induce {world}` makes one.")
        if task == "goal" or (goal is not None and task != "reward"):
            if goal is None:
                raise VpwError("Say with --goal which state is to be reached, as --goal angle=0,speed=0.")
            _any_world.plan_to_goal(
                _any_world.opened(world), program, goal, episodes or 20, seed, tolerance, budget, as_json
            )
            return
        _any_world.plan(
            _any_world.opened(world), program, episodes or 20, seed, as_json, on_true_world=on_true_world, video=video
        )
        return
    episodes = episodes or 50
    keep_compiled(all_cores=True)
    domain, constants = varied_domain(world, vary)
    domain.planner_named(planner)
    metric = metric or next(iter(domain.metrics))
    if score not in SCORES:
        raise UnknownName("way to score", score, SCORES)
    if metric not in domain.metrics:
        raise UnknownName("metric", metric, domain.metrics)
    if goals not in (None, "same-episode", "other-episode"):
        raise UnknownName("kind of goals", goals, ("same-episode", "other-episode"))
    if goal is not None and goals is not None:
        raise VpwError("--goal gives one goal to all tasks; leave out --goals.")
    fields = tuple(name for name in (goal_fields or "").split(",") if name)
    counted(domain.scene.state_space, fields)
    domain.meets(metric, tolerance)
    given = None if goal is None else read_goal(goal, domain, constants)
    wanted = Goals("given" if given else goals or "same-episode", tolerance, fields, given)  # type: ignore[arg-type]
    if program is None and score != "simulator":
        raise VpwError(f"Scoring '{score}' needs --program FILE.py; `vpw induce {domain.name}` makes one.")
    if sandbox and video is not None:
        raise VpwError("--video imagines with the program in this process; leave it out with --sandbox.")
    names, action_dim = domain.scene.state_space.names, domain.layout.action.width
    model, written_by = None, ""
    if program is not None and sandbox:
        model, written_by = read_written(program)
    elif program is not None:
        model = load_program(program, domain.scene.state_space, action_dim)
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
    running = (
        sandboxed_rollouts(model, names, action_dim, unfiltered=unfiltered)
        if sandbox and model is not None
        else nullcontext()
    )
    with running as rollouts:
        config = EvalConfig(
            domain=domain,
            constants=constants,
            vary=changes(vary),
            program=None if score == "simulator" else model,
            method="engine" if score == "simulator" else method,
            observe=observe,
            score=score,
            episodes=seen,
            source="collected" if traces is None else traces.stem,
            count=episodes,
            offset=offset,
            seed=seed,
            metric=metric,
            scorer=None if rollouts is None else RolloutScorer(rollouts, domain.cost_for(planner, metric)),
            written_by="" if score == "simulator" else written_by,
            planner_name=planner,
            horizon=horizon,
            goals=wanted,
            steps_allowed=budget,
        )
        result = planned(config, None if model is None else program, folder, video)
        if rollouts is not None:
            result["sandbox"] = rollouts.told()
    show(result, as_json, success_list(result))


def acquire(
    domain: DomainName,
    program: Annotated[Path, typer.Option(metavar="FILE.py", help="The program to start from; it is not changed.")],
    sketch: Annotated[str, typer.Option(metavar="NAME", help="Its form, as its header names it.")],
    out: Annotated[Path, typer.Option(metavar="FILE.py", help="Where the refitted program goes, if it is accepted.")],
    traces: Annotated[
        Path | None, typer.Option(metavar="FILE.h5", help="Episodes; the last fifth stays untouched.")
    ] = None,
    episodes: Annotated[
        int, typer.Option(min=3, max=MOST, metavar="N", help="How many episodes to collect without --traces.")
    ] = 50,
    tasks: Annotated[int, typer.Option(min=1, max=MOST, metavar="N", help="Practice tasks.")] = 20,
    seed: Seed = 0,
    vary: Vary = None,
    as_json: AsJson = False,
) -> None:
    """Practise, gather the surprises, refit inside the form, and accept only what makes nothing worse.

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
