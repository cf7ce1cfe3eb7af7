"""The recorded environments of the Code World Models Benchmark:
programs from ten trajectories alone, counted as they count; resumable.

Usage: python benchmarks/cwmb.py [--only NAME ...] [--data ../shared/reference/cwmb] [--seconds 60]
       python benchmarks/cwmb.py --plan [--only NAME ...] [--episodes 10] [--plan-seconds 300]

A line per environment goes to results/worlds/cwmb.jsonl, of planning to results/worlds/cwmb_plans.jsonl; the programs
to programs/worlds/. Several of these may run side by side, each with --only.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from lines import Lines

from visualpatchworld.cli._verb import keep_compiled
from visualpatchworld.errors import VpwError
from visualpatchworld.induction.discover import discover, summary
from visualpatchworld.program.program import Program, read_program
from visualpatchworld.world.open import open_world

ROOT = Path(__file__).parents[1]
NAMES = (
    "CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Pendulum-v1", "Reacher-v4", "Pusher-v4", "InvertedPendulum-v4",
    "InvertedDoublePendulum-v4", "HalfCheetah-v4", "Hopper-v4", "Swimmer-v4", "Walker2d-v4", "Ant-v4",
)  # fmt: skip
CLOSE = 1e-5  # absolute and relative, of a next observation
HELD_OUT_EVERY = 3  # of ten trajectories three judge where seven teach
PLAN_STEPS = 100  # of an episode, as the benchmark plans in its continuous environments

Say = Callable[[str], None]


def accuracy(program: Program, arrays: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, float]:
    """Per transition a third each for next observation, reward and
    done; each also for itself, and the reward also with isclose.
    """
    model = program.bind_world("jax")
    width = arrays["observations"].shape[1]
    acted = arrays["actions"].reshape(len(arrays["actions"]), -1).astype(float)

    def one(observation, action):
        state = model.State(*observation) if model.read is None else model.read(observation)
        after = model.step(state, action)
        seen = jnp.stack([jnp.asarray(v) for v in (after[:width] if model.observe is None else model.observe(after))])
        paid = jnp.asarray(0.0 if model.reward is None else model.reward(state, action, after), float)
        over = jnp.asarray(False if model.terminated is None else model.terminated(after), bool)
        return seen, paid, over

    with jax.enable_x64(True):
        run = jax.jit(jax.vmap(one))
        seen, paid, over = (
            np.asarray(v) for v in run(jnp.asarray(arrays["observations"][rows], float), jnp.asarray(acted[rows]))
        )
    truth, earned = arrays["next_observations"][rows], arrays["rewards"][rows]
    close = np.array(
        [np.allclose(a, b, rtol=CLOSE, atol=CLOSE) for a, b in zip(seen.astype(np.float32), truth, strict=True)]
    )
    equal, near, done = (
        paid == earned,
        np.isclose(paid, earned, rtol=CLOSE, atol=CLOSE),
        over == arrays["dones"][rows].astype(bool),
    )
    # Numpy's own tolerances.
    strict = np.array([np.allclose(a, b) for a, b in zip(seen.astype(np.float32), truth, strict=True)])
    parts = {
        "observation": close,
        "observation_strict": strict,
        "reward_equal": equal,
        "reward_isclose": near,
        "done": done,
    }
    record = {name: float(np.mean(part)) for name, part in parts.items()}
    as_counted = (record["observation"] + record["reward_equal"] + record["done"]) / 3
    return record | {
        "as_counted": as_counted,
        "isclose": (record["observation"] + record["reward_isclose"] + record["done"]) / 3,
    }


def measure(name: str, folder: Path, seconds: float, programs: Path, say: Say) -> dict[str, Any]:
    """Fitted to all trajectories and counted on them, as the
    benchmark does; and fitted to some and counted on the others.
    """
    with np.load(folder / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    starts = np.unique(arrays["trajectory_start"])
    record: dict[str, Any] = {
        "name": name,
        "ok": True,
        "transitions": len(arrays["rewards"]),
        "trajectories": len(starts),
    }
    everything = np.ones(len(arrays["rewards"]), bool)
    held = np.isin(arrays["trajectory_start"], starts[HELD_OUT_EVERY - 1 :: HELD_OUT_EVERY])
    for part, learn, judge in (("fitted", everything, everything), ("held_out", ~held, held)):
        if not learn.any() or not judge.any():
            continue
        began, cpu = time.perf_counter(), time.process_time()
        try:
            chosen = {key: value[learn] for key, value in arrays.items()}
            chosen["trajectory_start"] = np.searchsorted(np.flatnonzero(learn), chosen["trajectory_start"])
            found = discover(open_world(chosen), seconds=seconds, progress=say)
            scores: dict[str, Any] = accuracy(found.program, arrays, np.flatnonzero(judge)) | {
                "verdict": found.verdict,
                "why": found.why,
            }
            scores |= {"form": found.found.draft.name, "lines": len(found.program.text.splitlines())}
            if part == "fitted":
                path = program_path(programs, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(found.program.text, encoding="utf-8")
                told = summary(found, str(path.relative_to(programs.parent)))
                record |= {key: told[key] for key in ("constants", "reward", "terminated", "program", "program_hash")}
        except Exception as error:  # no program counts as nothing
            why = str(error) if isinstance(error, VpwError) else f"{type(error).__name__}: {error}"
            if not isinstance(error, VpwError):
                traceback.print_exc()
            scores = {"failed": why, "as_counted": 0.0, "isclose": 0.0}
        spent = {
            "wall_seconds": round(time.perf_counter() - began, 1),
            "cpu_seconds": round(time.process_time() - cpu, 1),
        }
        record[part] = scores | spent
    return record


def plan(name: str, episodes: int, seconds: float, programs: Path, say: Say) -> dict[str, Any]:
    """Returns of planning in the environment itself, episodes cut to the benchmark's length where it cuts them."""
    from visualpatchworld.plan.reward import evaluate_return

    path = program_path(programs, name)
    if not path.is_file():
        raise VpwError("no program was found to plan with")
    discrete = name.startswith(("CartPole", "MountainCar", "Acrobot"))
    settings: dict[str, Any] = {} if discrete else {"max_episode_steps": PLAN_STEPS}
    world = open_world(name, **settings)
    program = read_program(path)
    done = evaluate_return(
        world,
        program,
        episodes=episodes,
        seconds=seconds,
        on_episode=lambda k, earned: say(f"episode {k + 1}: {earned:.1f}"),
    )
    return {"name": name, "ok": True, "episodes": episodes, "program_hash": program.hash} | done.report


def program_path(programs: Path, name: str) -> Path:
    """Where the program of an environment lies."""
    return programs / f"cwmb-{name}" / "world_model.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "reference" / "cwmb")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--plan", action="store_true", help="measure returns with the programs that are there")
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument(
        "--plan-seconds", type=float, default=300.0, help="after which no further episode is planned in an environment"
    )
    parser.add_argument("--again", action="store_true", help="measure also what is there already")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "worlds")
    parser.add_argument("--programs", type=Path, default=ROOT / "programs" / "worlds")
    options = parser.parse_args()
    keep_compiled()
    lines = Lines(options.results / ("cwmb_plans.jsonl" if options.plan else "cwmb.jsonl"), ("name",))
    for name in options.only:
        if _measured(lines, name, options) and not options.again:
            print(f"{name}: measured before")
            continue
        began = time.perf_counter()

        def say(text: str, name: str = name, began: float = began) -> None:
            print(f"{name} {time.perf_counter() - began:6.1f} s  {text}", flush=True)

        try:
            record = (
                plan(name, options.episodes, options.plan_seconds, options.programs, say)
                if options.plan
                else measure(name, options.data, options.seconds, options.programs, say)
            )
        except Exception as error:  # a failure is a result, too; what is no sentence of ours is shown in full
            if not isinstance(error, VpwError):
                traceback.print_exc()
            why = str(error) if isinstance(error, VpwError) else f"{type(error).__name__}: {error}"
            record = {"name": name, "ok": False, "failed": why}
        lines.put(record)
        say(
            str(
                {part: record[part]["isclose"] for part in ("fitted", "held_out") if part in record}
                or record.get("failed", "done")
            )
        )


def _measured(lines: Lines, name: str, options: argparse.Namespace) -> bool:
    """Whether a line is there, and of planning one with the program that is there now."""
    if not options.plan:
        return lines.has(name=name)
    path = program_path(options.programs, name)
    now = read_program(path).hash if path.is_file() else None
    return any(line["name"] == name and line.get("program_hash") == now for line in lines.read())


if __name__ == "__main__":
    main()
