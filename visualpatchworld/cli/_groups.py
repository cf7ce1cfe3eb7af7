"""Options that several verbs share, in groups, each with the kind of world that it applies to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from visualpatchworld.cli._options import Needs, Without
from visualpatchworld.cli._verb import MOST, Fields, finite
from visualpatchworld.domain import DEFAULT
from visualpatchworld.paper.cell import Observe
from visualpatchworld.scene.schema import Source

OF_A_LOG = "leave it out"
OWN_FORM = "the search in any other world finds the form by itself"
NO_ACTING = "it can not be acted in"
FROM_START = "there a program is planned with from where the world itself starts"


class LogColumns(NamedTuple):
    """What is said of the columns of a log."""

    action: Annotated[
        str | None,
        typer.Option("--action", metavar="COL,COL", help="Columns of a table that are actions; or none."),
        Needs("table", instead=OF_A_LOG),
    ] = None
    state: Annotated[
        str | None,
        typer.Option("--state", metavar="COL,COL", help="Columns of a table that are observed."),
        Needs("table", "HDF5", instead=OF_A_LOG),
    ] = None
    episode: Annotated[
        str | None,
        typer.Option("--episode", metavar="COL", help="Column of a table that tells episodes apart."),
        Needs("table", instead=OF_A_LOG),
    ] = None
    dt: Annotated[
        float | None,
        typer.Option("--dt", metavar="SECONDS", callback=finite, help="Seconds between two rows of a log."),
        Needs("log", instead=OF_A_LOG),
    ] = None


class Search(NamedTuple):
    """How a program is searched for."""

    traces: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.h5",
            help="Of a domain: episodes, all but the last fifth of which are fitted to; collected when not given.",
        ),
        Needs("domain", instead="a log is itself the WORLD"),
    ] = None
    view: Annotated[
        Source,
        typer.Option(help="Of a domain: path from observation to scene graph."),
        Needs("domain", instead="the fields of any other world are read as they are"),
    ] = "oracle"
    sketch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a domain: fit this sketch instead of choosing one by probes."),
        Needs("domain", instead=OWN_FORM),
    ] = None
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="Of a domain: try every candidate, even those that cannot win any more."),
        Needs("domain", instead="--seconds says how long the search may take there"),
        Without("--sketch"),
    ] = False
    steps: Annotated[
        int,
        typer.Option(min=50, max=MOST, metavar="N", help="Of an environment: steps of it that may be taken."),
        Needs("environment", instead="--episodes N says how much of it to use"),
    ] = 2000
    seconds: Annotated[
        float,
        typer.Option(
            min=1,
            max=3600,
            callback=finite,
            help="Of an environment or a log: about how many seconds of CPU time the search may take.",
        ),
        Needs("environment", "log", instead="all forms of a domain are tried, however long that takes"),
    ] = 60.0
    fields: Annotated[Fields, Needs("environment", "log", instead="the fields of a domain are known")] = None


class Planning(NamedTuple):
    """How a program is planned with; most of it is about the goals of a domain's own episodes."""

    observe: Annotated[
        Observe,
        typer.Option(help="Of a domain: what the planner is told, the simulator's state or what is read off frames."),
        Needs("domain", instead="the planner there sees what the world shows"),
        Needs("goal"),
    ] = "oracle"
    score: Annotated[
        str,
        typer.Option(
            metavar="[induced|hybrid|sparing|simulator]",
            help="Of a domain: who predicts what candidate plans lead to.",
        ),
        Needs("domain", instead="there the program predicts, and --on-true-world N plans with the world itself, too"),
        Needs("goal"),
    ] = "induced"
    offset: Annotated[
        int,
        typer.Option(min=1, max=MOST, help="Of a domain: steps from start to goal."),
        Needs("domain", instead=FROM_START),
        Needs("goal"),
        Without("--goal", "--goals other-episode"),
    ] = 25
    metric: Annotated[
        str | None,
        typer.Option(help="Of a domain: what counts as success; its main metric when not given."),
        Needs("domain", instead="--tolerance says there how closely a goal has to be met"),
        Needs("goal"),
    ] = None
    planner: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How plans are searched for: default; of a domain paper, cem, icem, mppi, gradient, ...; elsewhere "
            "cem or ilqr.",
        ),
        Without("log", instead=NO_ACTING),
    ] = DEFAULT
    goals: Annotated[
        str | None,
        typer.Option(
            metavar="[same-episode|other-episode]",
            help="Of a domain: goals later in the start's episode, or of another one.",
        ),
        Needs("domain", instead="--goal NAME=NUMBER,... gives one goal there"),
        Needs("goal"),
        Without("--goal"),
    ] = None
    goal_fields: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Of a domain: objects or fields of the goal that count; the others may be anything.",
        ),
        Needs("domain", instead="--goal NAME=NUMBER,... names there the fields that count"),
        Needs("goal"),
    ] = None
    tolerance: Annotated[
        float,
        typer.Option(
            min=1e-6,
            max=100.0,
            metavar="SCALE",
            help="The success radius of a goal is scaled by this.",
            callback=finite,
        ),
        Needs("goal"),
    ] = 1.0
    budget: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, metavar="N", help="Steps allowed to a goal, in place of the protocol's or the world's."
        ),
        Needs("goal"),
    ] = None
    horizon: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1000,
            metavar="N",
            help="Predict N steps ahead, in place of the planner's own; of a domain they are also executed at once.",
        ),
        Without("log", instead=NO_ACTING),
    ] = None


Goal = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|NAME=NUMBER,...",
        help="One goal for all tasks: a picture, or JSON with numbers of some or all fields by name; in "
        "any world also NAME=NUMBER.",
    ),
]
