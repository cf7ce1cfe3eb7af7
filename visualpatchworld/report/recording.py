"""True and imagined motion side by side: a recording for Rerun's viewer, and steps that no search has seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.domain import Domain, find_domains, load_domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.extras import need
from visualpatchworld.files import writing
from visualpatchworld.films import imagined
from visualpatchworld.induction.windows import replay_errors
from visualpatchworld.program.program import Program, load_program, read_program
from visualpatchworld.trace.episode import collect
from visualpatchworld.trace.file import read_traces
from visualpatchworld.world.collect import collect as explore
from visualpatchworld.world.collect import excitation, record, replay
from visualpatchworld.world.log import LogWorld
from visualpatchworld.world.open import open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

STEPS = 200  # of an episode of a world that sets itself no limit


@dataclass(frozen=True)
class Recorded:
    """What happened in a world: its fields, and episodes of them."""

    world: str
    names: tuple[str, ...]
    periods: tuple[float | None, ...]  # of fields that come round
    dt: float | None
    episodes: tuple[Trajectory, ...]
    # The world as it looks in a state.
    draw: Callable[[Float[np.ndarray, " O"]], UInt8[np.ndarray, "H W 3"]] | None = None


def truth_of(world: str | None, traces: Path | None, *, episodes: int, seed: int, pictures: bool = False) -> Recorded:
    """Episodes of a log, or new ones in a world that can be stepped."""
    if world in find_domains():
        return _of_domain(load_domain(str(world)), traces, episodes, seed, pictures)
    if world is None and traces is None:
        raise VpwError("Nothing says which world this program is of; name it with --world WORLD or --traces LOG.")
    opened = open_world(str(traces or world))
    if isinstance(opened, LogWorld):
        seen = [*opened.held_out(), *opened.logged()][:episodes]
    else:
        rng = np.random.default_rng(seed)
        length = opened.time_limit or STEPS
        seen = [
            record(opened, opened.reset(seed + i), replay(excitation(opened.action_space, "held", length, rng)))
            for i in range(episodes)
        ]
    return Recorded(opened.name, opened.field_names, (None,) * len(opened.field_names), opened.dt, tuple(seen))


def _of_domain(domain: Domain, traces: Path | None, episodes: int, seed: int, pictures: bool) -> Recorded:
    if traces is None:
        constants, seen = domain.constants, list(collect(domain, domain.constants, episodes=episodes, seed=seed))
    else:
        kept = read_traces(traces, domain)
        constants, seen = kept.constants, list(kept.episodes[-episodes:])
    domain = domain.of(constants)
    simulator, space = domain.simulator(constants), domain.scene.state_space
    simulator.reset(seed=seed)

    def draw(state: Float[np.ndarray, " O"]) -> UInt8[np.ndarray, "H W 3"]:
        simulator.set_state(state)
        return np.asarray(simulator.draw())

    runs = tuple(Trajectory(episode.observations, episode.actions) for episode in seen)
    periods = tuple(field.period for field in space)
    return Recorded(domain.name, space.names, periods, None, runs, draw if pictures else None)


def read_for(path: Path, world: str | None) -> Program:
    """The program in a file; of a bundled domain it is checked against the domain's state."""
    if world in find_domains():
        domain = load_domain(str(world))
        return load_program(path, domain.scene.state_space, domain.layout.action.width)
    return read_program(path)


def errors(
    truth: Recorded, seen: Float[np.ndarray, "T O"], predicted: Float[np.ndarray, "T O"]
) -> Float[np.ndarray, "T O"]:
    """Imagined minus true, the short way round where a field comes round."""
    off = predicted - seen
    for i, period in enumerate(truth.periods):
        if period is not None:
            off[:, i] = (off[:, i] + period / 2) % period - period / 2
    return off


def write_recording(
    path: Path, program: Program, truth: Recorded, *, horizon: int, progress: Callable[[str], None]
) -> dict[str, float]:
    """Write a recording that `rerun FILE.rrd` opens; the root mean square error of each field comes back."""
    need("rerun")
    import rerun as rr  # pyright: ignore[reportMissingImports]
    import rerun.blueprint as rrb  # pyright: ignore[reportMissingImports]

    if not any(len(episode) for episode in truth.episodes):
        raise BadTrace(f"{truth.world} has no episode with a step in it.")
    off = []
    with writing(path) as aside:
        stream = rr.RecordingStream("visualpatchworld", recording_id=f"{program.hash}-{horizon}")
        roots = [f"episode_{i}" for i in range(len(truth.episodes))]
        views = [rrb.TimeSeriesView(origin=f"{roots[0]}/{name}", name=name) for name in truth.names]
        texts = rrb.Tabs(rrb.TextDocumentView(origin="constants"), rrb.TextDocumentView(origin="program"))
        stream.save(aside, default_blueprint=rrb.Horizontal(rrb.Grid(*views), texts, column_shares=(2, 1)))
        stream.log(
            "program", rr.TextDocument(f"```python\n{program.text}\n```", media_type="text/markdown"), static=True
        )
        stream.log("constants", rr.TextDocument(_constants(program), media_type="text/markdown"), static=True)
        for name, value in program.constants.items():
            if isinstance(value, (int, float)):
                stream.log(f"constants/{name}", rr.Scalars(value), static=True)
        for number, (root, episode) in enumerate(zip(roots, truth.episodes, strict=True)):
            progress(f"episode {number + 1} of {len(roots)}")
            predicted = imagined(program, episode, horizon)
            off.append(errors(truth, episode.observations, predicted))
            series = {"true": episode.observations, "imagined": predicted, "error": off[-1]}
            for kind, values in series.items():
                _send(stream, truth, values, [f"{root}/{name}/{kind}" for name in truth.names])
            _send(stream, truth, episode.actions, [f"{root}/action/{i}" for i in range(episode.actions.shape[1])])
            if episode.rewards is not None:
                _send(stream, truth, episode.rewards[:, None], [f"{root}/reward/true"])
            if truth.draw is not None:
                for kind in ("true", "imagined"):
                    for step, state in enumerate(series[kind]):
                        stream.set_time("step", sequence=step)
                        stream.log(f"{root}/picture/{kind}", rr.Image(truth.draw(state)).compress())
        stream.flush()
        stream.disconnect()
    total = np.sqrt(np.mean(np.concatenate(off) ** 2, axis=0))
    return {name: float(value) for name, value in zip(truth.names, total, strict=True)}


def _send(stream: Any, truth: Recorded, values: Float[np.ndarray, "T N"], paths: Sequence[str]) -> None:
    """Columns of numbers over the steps, and over seconds where it is known how many a step has."""
    import rerun as rr  # pyright: ignore[reportMissingImports]

    steps = np.arange(len(values))
    indexes: list[Any] = [rr.TimeColumn("step", sequence=steps)]
    if truth.dt is not None:
        indexes.append(rr.TimeColumn("seconds", duration=steps * truth.dt))
    for path, column in zip(paths, values.T, strict=True):
        stream.send_columns(path, indexes=indexes, columns=rr.Scalars.columns(scalars=column))


def _constants(program: Program) -> str:
    """The constants as a table, each with what the program's own comment says of it."""
    rows = ["| constant | value | |", "|---|---|---|"]
    for line in program.text.splitlines():
        name, equals, rest = line.partition(" = ")
        if equals and name in program.constants:
            value, _, comment = rest.partition("#")
            rows.append(f"| {name} | {value.strip()} | {comment.strip()} |")
    return "\n".join(rows)


CHECK_STEPS = 400  # of a world that runs
HORIZON = 25
STRETCH = 100  # steps of the stretch that is shown
MOST_POINTS = 200
SEED_APART = 7_919  # from the seed of the search, so that episodes are others


def check(program: Program, world: World, names: Sequence[str], seed: int) -> dict[str, Any]:
    """Errors by horizon and field, and one stretch; of a log, what it holds out, else all of it."""
    unseen = not isinstance(world, LogWorld) or bool(world.held_out())
    if isinstance(world, LogWorld):
        seen = list(world.held_out() or world.logged())
    else:
        seen = explore(world, CHECK_STEPS, np.random.default_rng(seed + SEED_APART))
    _, by_field = replay_errors(program, seen, HORIZON)
    longest = max(seen, key=len)
    steps = min(len(longest), max(STRETCH, _steps_of_motion(longest)))
    piece = Trajectory(longest.observations[: steps + 1], longest.actions[:steps])
    every = max(1, steps // MOST_POINTS)
    return {
        "names": list(names),
        "steps": sum(len(one) for one in seen),
        "unseen": unseen,
        "by_field": {steps: {names[int(i)]: error for i, error in row.items()} for steps, row in by_field.items()},
        "true": piece.observations[::every].tolist(),
        "imagined": imagined(program, piece, steps)[::every].tolist(),
        "program_hash": program.hash,
    }


def _steps_of_motion(trajectory: Trajectory) -> int:
    """Steps in which something happens: a log of a thousand rows a second shows nothing in a hundred of them."""
    seen = trajectory.observations
    spread = seen.std(axis=0)
    away = np.abs(seen - seen[0])[:, spread > 0] / spread[spread > 0]
    far = np.flatnonzero(away.max(axis=1, initial=0.0) > 1.0)
    return int(3 * far[0]) if len(far) else len(trajectory)
