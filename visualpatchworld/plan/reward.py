"""Planning for a return: receding-horizon control with a program's own reward and end, measured in the true world."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from visualpatchworld.domain import DEFAULT
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.plan.return_search import (
    ReturnPlanner,
    Search,
    action_of,
    begun,
    compiled_search,
    first_population,
    imagined_return,
    rest_units,
    search_in_sandbox,
    search_in_world,
    shifted,
    to_actions,
)
from visualpatchworld.program.env import locked_tracker, tracker
from visualpatchworld.program.imagine import Imagined, imagine
from visualpatchworld.program.program import Program
from visualpatchworld.program.sandbox import SandboxedWorld
from visualpatchworld.world.collect import record
from visualpatchworld.world.open import living_in, living_in_copies, open_world
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

HORIZONS = (20, 35, 60, 100, 200)  # steps ahead, tried in imagination
USUAL_HORIZON = 60  # steps ahead where nothing is tried
IMAGINED_STEPS = 300  # of an imagined episode
IMAGINED_STARTS = 5  # a horizon that reaches the reward from some starts may miss it from others
IN_SANDBOX = ReturnPlanner(horizon=60, samples=128, rounds=4, elites=16, execute=2)  # each round is a call
IN_IMAGINATION = ReturnPlanner(horizon=20, samples=128, rounds=4, elites=16, execute=5)
WITH_FEEDBACK = ReturnPlanner(horizon=60, samples=64, rounds=2, elites=12, execute=2, feedback=3)
WORTH_FEEDBACK = 0.05  # of imagined returns: with less gain than this, actions without feedback do as well
EARNEST_STARTS = 3  # for a planner as it is to act, in imagination
CLEARLY = 0.5  # of imagined returns: a gain that more candidates could not bring
SHORT_HORIZON = 60  # horizons up to this share one compiled function, and longer ones another
WORTH_LONGER = 0.01  # of the spread of imagined returns: less gain than this is not worth a longer horizon
FIRST_SEARCHES = 4
NO_LIMIT = 1000  # steps of an episode in a world without a time limit
UNLIMITED = 1 << 20

# Observation and steps that remain -> action.
Policy = Callable[[Float[np.ndarray, " O"], int], Float[np.ndarray, " A"] | None]


class CannotPlan(VpwError):
    """A return was asked for in a world or with a program that has no reward."""


@dataclass(frozen=True)
class ReturnEvaluation:
    """Returns of planned episodes in the true world, beside those of random and zero action on the same starts."""

    returns: tuple[float, ...]
    random_returns: tuple[float, ...]
    zero_returns: tuple[float, ...]
    planner: ReturnPlanner
    seconds_per_step: tuple[float, ...]
    env_steps: int
    # The same planner with the world itself in place of the program, on the first starts.
    true_world_returns: tuple[float, ...] = ()
    no_true_world: str = ""  # why there are none

    def __str__(self) -> str:
        told = self.report
        floors = f"random actions {told['random_return']:.4g}, zero actions {told['zero_return']:.4g}"
        return (
            f"return {told['return_mean']:.4g} +- {told['return_std']:.2g} (n = {told['n']}), {floors}; "
            f"{told['planner']}"
        )

    @property
    def report(self) -> dict[str, Any]:
        """As `vpw plan --task reward --json` prints it."""
        rows: dict[str, Any] = {
            "return_mean": float(np.mean(self.returns)),
            "return_std": float(np.std(self.returns)),
            "n": len(self.returns),
            "random_return": float(np.mean(self.random_returns)),
            "zero_return": float(np.mean(self.zero_returns)),
            "planner": self.planner.title,
            "seconds_per_step_median": float(np.median(self.seconds_per_step)) if self.seconds_per_step else 0.0,
            "env_steps": self.env_steps,
            "returns": list(self.returns),
        }
        if self.true_world_returns:
            count = len(self.true_world_returns)
            rows |= {"true_world_return": float(np.mean(self.true_world_returns)), "true_world_n": count}
            rows |= {
                "same_starts_return": float(np.mean(self.returns[:count])),
                "true_world_returns": list(self.true_world_returns),
            }
            if self.planner.feedback:
                rows["true_world_planner"] = replace(self.planner, feedback=0).title
        elif self.no_true_world:
            rows["true_world_why"] = self.no_true_world
        return rows


def evaluate_return(
    world: Any,
    program: Program | Imagined | SandboxedWorld,
    planner: ReturnPlanner | None = None,
    *,
    episodes: int = 20,
    seed: int = 0,
    seconds: float | None = None,
    sandbox: bool = False,
    unfiltered: bool = False,
    true_world_episodes: int = 0,
    true_world_seconds: float | None = None,
    true_world_workers: int = 1,
    on_episode: Callable[[int, float], None] = lambda number, earned: None,
    on_true_episode: Callable[[int, float], None] = lambda number, earned: None,
) -> ReturnEvaluation:
    """Plan so many episodes of a world with a program's reward
    and end; without a planner, one is chosen in imagination.

    A program is code. It is compiled and runs in this process with all your rights, or with `sandbox=True` in a locked
    process and nowhere else: slower, without feedback, and without a planner given it looks a fixed number of steps
    ahead. `unfiltered=True` goes on where the machine cannot keep a program from your files.

    With `seconds` no episode but the first is begun after that time. The world is anything that `open_world` takes.

    Where it can be copied, up to `true_world_episodes` are planned in copies of it, too, from the same starts and with
    the same draws; with `true_world_seconds` only as many as are likely to fit into that time, since every candidate
    has to be lived through. With `true_world_workers` a world that was given by name is copied into so many processes.

    Example: `vpw.evaluate_return("CartPole-v1", program, episodes=5).report["return_mean"]`
    """
    name = world if isinstance(world, str) else None
    world = open_world(world)
    if not {"reset", "reward"} <= world.powers:
        raise CannotPlan(
            f"{world.name} can not be planned in for a return: it must be one that runs and gives rewards."
        )
    if sandbox:
        if not isinstance(program, Program):
            raise CannotPlan("This program is bound already; give the program itself to plan in the sandbox.")
        with SandboxedWorld(program, len(world.action_space), unfiltered=unfiltered) as locked:
            return evaluate_return(
                name or world,
                locked,
                planner,
                episodes=episodes,
                seed=seed,
                seconds=seconds,
                true_world_episodes=true_world_episodes,
                true_world_seconds=true_world_seconds,
                true_world_workers=true_world_workers,
                on_episode=on_episode,
                on_true_episode=on_true_episode,
            )
    seeds = [int(one) for one in np.random.default_rng(seed).integers(2**31, size=episodes)]
    began = time.perf_counter()
    space = world.action_space
    imagined = program if isinstance(program, Imagined | SandboxedWorld) else imagine(program)
    if not imagined.has_reward:
        raise CannotPlan("The program defines no reward(state, action, next_state), so there is nothing to plan for.")
    if isinstance(imagined, SandboxedWorld):
        planner = planner or replace(IN_SANDBOX, horizon=min(IN_SANDBOX.horizon, world.time_limit or NO_LIMIT))
        if planner.feedback:
            raise CannotPlan("Feedback needs slopes of the program, which the sandbox does not give; use cem.")
        search = search_in_sandbox(planner, space, imagined)
    else:
        planner = planner or choose_planner(world, imagined, seeds)
        search = compiled_search(planner, space, imagined)
    before = world.env_steps
    control = Controller(world, imagined, planner, search, seed)
    control.warm_up(world.reset(seeds[0]))
    earned = []
    for number, one in enumerate(seeds):
        if earned and seconds is not None and time.perf_counter() - began > seconds:
            break
        earned.append(_earned(control.episode(one)))
        on_episode(number, earned[-1])
    seeds = seeds[: len(earned)]
    used = world.env_steps - before
    rng = np.random.default_rng(seed)
    rest = np.asarray(to_actions(world.action_space, jnp.asarray(rest_units(world.action_space))), dtype=float)
    random = [_earned(lived(world, one, lambda *_: world.action_space.sample(rng))) for one in seeds]
    zero = [_earned(lived(world, one, lambda *_: rest)) for one in seeds]
    found = ReturnEvaluation(tuple(earned), tuple(random), tuple(zero), planner, tuple(control.seconds), used)
    if not true_world_episodes:
        return found
    if "snapshot" not in world.powers:
        return replace(found, no_true_world="the world can not be copied")
    bare = replace(planner, feedback=0)  # a world has no slopes
    apart = name is not None and true_world_workers > 1
    with living_in_copies(name, true_world_workers) if apart and name else nullcontext(living_in(world)) as live:
        truth = Controller(world, imagined, bare, search_in_world(bare, world.action_space, world, live), seed)
        if true_world_seconds is not None:
            needed = truth.seconds_of_a_plan(seeds[0]) * (FIRST_SEARCHES + used / len(seeds) / bare.execute)
            true_world_episodes = min(true_world_episodes, int(true_world_seconds / needed))
            if not true_world_episodes:
                return replace(found, no_true_world=f"one episode would take about {needed:.0f} s")
        true = []
        for number, one in enumerate(seeds[:true_world_episodes]):
            true.append(_earned(truth.episode(one)))
            on_true_episode(number, true[-1])
    return replace(found, true_world_returns=tuple(true))


class Controller:
    """Acts in a world by planning anew every few steps, each search beginning with what is left of the one before."""

    def __init__(
        self, world: World, imagined: Imagined | SandboxedWorld, planner: ReturnPlanner, search: Search, seed: int
    ):
        self.world, self.planner, self.search = world, planner, search
        self.seconds: list[float] = []
        self._track = locked_tracker(imagined) if isinstance(imagined, SandboxedWorld) else tracker(imagined)
        self._first = jax.jit(
            (lambda _, key: first_population(planner, world.action_space, key))
            if isinstance(imagined, SandboxedWorld)
            else lambda state, key: begun(planner, world.action_space, imagined, jnp.asarray(state, jnp.float32), key)
        )
        self._act = jax.jit(
            lambda plan, at, state: action_of(plan, world.action_space, at, jnp.asarray(state, jnp.float32))
        )
        self._shift = jax.jit(lambda population: shifted(planner, population, planner.execute))
        self._key = jax.random.key(seed)

    def warm_up(self, observation: Float[np.ndarray, " O"]) -> None:
        """Compile everything, so that the time of a step is the time of a step."""
        state = self._track.first(observation)
        plan = self.search(state, self._first(state, self._key), 1, self._key)
        self._shift(plan.population)
        self._track.next(state, np.asarray(self._act(plan, 0, state)), observation)

    def seconds_of_a_plan(self, seed: int) -> float:
        """How long one search takes, after one that compiles."""
        state = self._track.first(self.world.reset(seed))
        for _ in range(2):
            began = time.perf_counter()
            self.search(state, self._first(state, self._key), UNLIMITED, self._key)
        return time.perf_counter() - began

    def episode(self, seed: int, most: int | None = None, late: Callable[[], bool] = lambda: False) -> Trajectory:
        """One episode, or the first so many steps of it, or what of it comes before it is late."""
        return lived(self.world, seed, self.policy(late), most)

    def policy(self, late: Callable[[], bool] = lambda: False) -> Policy:
        """How one episode is acted in, from its first observation on."""
        self._key, first = jax.random.split(self._key)
        population, plan, state, acted, age = None, None, None, None, 0

        def act(observation: Float[np.ndarray, " O"], remaining: int) -> Float[np.ndarray, " A"] | None:
            nonlocal population, plan, state, acted, age
            if late():
                return None
            began = time.perf_counter()
            state = self._track.first(observation) if state is None else self._track.next(state, acted, observation)
            if population is None:
                population = self._first(state, first)
            if plan is None or age == self.planner.execute:
                self._key, key = jax.random.split(self._key)
                # The first plan has nothing to begin with, so it is searched for several times over.
                for again in jax.random.split(key, FIRST_SEARCHES if plan is None else 1):
                    plan = self.search(state, population, remaining, again)
                    population = plan.population
                age, population = 0, self._shift(population)
            acted, age = np.asarray(self._act(plan, age, state), dtype=float), age + 1
            self.seconds.append(time.perf_counter() - began)
            return acted

        return act


def rehearse(
    world: World,
    program: Program,
    planner: ReturnPlanner,
    seed: int,
    most: int,
    late: Callable[[], bool] = lambda: False,
) -> Trajectory:
    """An episode of at most so many steps, planned with a program's
    own reward and end: a planner goes where a program is wrong.
    """
    imagined = imagine(program)
    planner = replace(planner, horizon=max(planner.execute, min(planner.horizon, world.time_limit or planner.horizon)))
    return Controller(world, imagined, planner, compiled_search(planner, world.action_space, imagined), seed).episode(
        seed, most, late
    )


def lived(world: World, seed: int, policy: Policy, most: int | None = None) -> Trajectory:
    """One episode under a policy."""
    limit = world.time_limit
    steps = min(limit or NO_LIMIT, most or UNLIMITED)

    def act(observations: Sequence[Float[np.ndarray, " O"]]) -> Float[np.ndarray, " A"] | None:
        return policy(observations[-1], limit - len(observations) + 1 if limit else UNLIMITED)

    return record(world, world.reset(seed), act, steps)


def _earned(trajectory: Trajectory) -> float:
    assert trajectory.rewards is not None
    return float(trajectory.rewards.sum())


RETURN_PLANNERS = (DEFAULT, "cem", "ilqr")


def return_planner(name: str, horizon: int | None, space: ActionSpace) -> ReturnPlanner | None:
    """A planner for returns by its name and planning horizon; none where it is to be chosen in imagination.

    `cem` searches alone; `ilqr` improves what it found with slopes of the program, and acts with feedback.
    """
    if name not in RETURN_PLANNERS:
        raise UnknownName("planner", name, RETURN_PLANNERS)
    if name == "ilqr":
        if space.kind == "discrete":
            raise CannotPlan("The planner 'ilqr' needs actions that are numbers, and these are choices; use cem.")
        steps = horizon or WITH_FEEDBACK.horizon
        return replace(WITH_FEEDBACK, horizon=steps, execute=min(WITH_FEEDBACK.execute, steps))
    return None if name == DEFAULT and horizon is None else ReturnPlanner(horizon=horizon or USUAL_HORIZON)


def choose_planner(
    world: World, imagined: Imagined, seeds: Sequence[int], base: ReturnPlanner | None = None
) -> ReturnPlanner:
    """The planner that earns most in imagination from the world's own starts: with the shortest horizon of those that
    do as well, and with feedback where that is worth it. Not a step of the world is taken for it.
    """
    limit = world.time_limit or NO_LIMIT
    horizons = [horizon for horizon in HORIZONS if horizon <= limit] or [limit]
    base = base or ReturnPlanner(horizon=horizons[-1])
    starts = [imagined.read(jnp.asarray(world.reset(seed), jnp.float32)) for seed in seeds[:IMAGINED_STARTS]]
    steps = min(limit, IMAGINED_STEPS)
    known: dict[int, Any] = {}
    # One compiled function serves several horizons: a shorter one just earns nothing after its end.
    for group in ([h for h in horizons if h <= SHORT_HORIZON], [h for h in horizons if h > SHORT_HORIZON]):
        if group:
            trial = replace(IN_IMAGINATION, horizon=group[-1], execute=min(IN_IMAGINATION.execute, group[-1]))
            run = imagined_return(trial, world.action_space, imagined, steps=steps)
            earned = {
                h: np.array([run(start, jnp.asarray(h), jax.random.key(i)) for i, start in enumerate(starts)])
                for h in group
            }
            known |= {h: values for h, values in earned.items() if np.isfinite(values).all()}
    if not known:
        return replace(base, horizon=horizons[0])
    means = {h: values.mean() for h, values in known.items()}
    best, spread = max(means.values()), max(means.values()) - min(means.values())
    horizon = min(h for h, value in means.items() if value >= best - WORTH_LONGER * max(abs(best), spread))
    bare = replace(base, horizon=horizon)
    if world.action_space.kind == "discrete" or limit < WITH_FEEDBACK.execute:
        return bare

    def in_earnest(planner: ReturnPlanner) -> float:
        run = imagined_return(planner, world.action_space, imagined, steps=steps)
        own = jnp.asarray(planner.horizon)
        return float(np.mean([run(start, own, jax.random.key(i)) for i, start in enumerate(starts[:EARNEST_STARTS])]))

    feedback = replace(WITH_FEEDBACK, horizon=min(limit, max(horizon, WITH_FEEDBACK.horizon)))
    found, without = in_earnest(feedback), float(known[horizon][:EARNEST_STARTS].mean())
    # Fewer candidates and plans than in earnest do for horizons, but against another kind of planner only where the
    # gain is clear.
    if found > without + CLEARLY * abs(without):
        return feedback
    worth_it = found > without + WORTH_FEEDBACK * abs(without) and found > (
        best := in_earnest(bare)
    ) + WORTH_FEEDBACK * abs(best)
    return feedback if worth_it else bare
