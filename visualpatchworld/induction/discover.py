"""The method on one page, for any world: collect, find the law of
motion, the reward and the end, go where data is missing, write.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld import __version__
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.files import make_folder, to_json, write_text
from visualpatchworld.grammar.productions import Grammar
from visualpatchworld.induction.chains import propose_chains
from visualpatchworld.induction.clock import Clock
from visualpatchworld.induction.draft import cut
from visualpatchworld.induction.ends import Ends, Inside, find_ends
from visualpatchworld.induction.exogenous import find_outside, nothing_outside
from visualpatchworld.induction.experiments import Experiments, Known, hold_out
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.floor import FAR_OFF, HORIZONS, errors_aside, floored, held_to
from visualpatchworld.induction.front import Candidate, Front
from visualpatchworld.induction.inputs import Between, input_between
from visualpatchworld.induction.lawful import Lawful, found_of, rivals_of
from visualpatchworld.induction.long_look import long_look
from visualpatchworld.induction.march import predicted
from visualpatchworld.induction.motion import number_line, source_of
from visualpatchworld.induction.reading import Integrator, Reading, table
from visualpatchworld.induction.reward import Reward, find_reward
from visualpatchworld.induction.reward_places import named_distances
from visualpatchworld.induction.saved import PROGRAM, RECORD, equations_record
from visualpatchworld.induction.search import Found, search_dynamics
from visualpatchworld.induction.transitions import transitions, wrap
from visualpatchworld.induction.trial import MOST_FIELDS, Progress, Trial, narrowed, try_law
from visualpatchworld.program.equations import Equations
from visualpatchworld.program.program import Program
from visualpatchworld.program.quoting import commented, docstring
from visualpatchworld.world.collect import collect
from visualpatchworld.world.log import INTERPOLATED, LogWorld
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace, World

BUDGET = 2000  # environment steps in all
FIRST_SHARE = 0.5  # of the budget, for varied random actions; the rest goes where those did not
FIRST_SECONDS = 0.6  # of those that are left, for a search; the rest for experiments
GIVEN_SECONDS = 0.4  # of all, for a search that is given the fields that nothing predicts
LONG_LOOK_SECONDS = 0.8  # of those that are left then, for long looks at a log
RULES_SECONDS = 0.5  # of those that are left then, for reward and end
LEAST_FOR_RULES = 5.0  # seconds: without a reward nobody can plan
WRITING = 2.0  # seconds to judge and to write what was found
LONG = 1000  # steps of a log that laws are compared over, where none is exact
RUN_AWAY = 1.0  # of a field's spread: whoever is further off would do better by standing still
MOST_LAWS = 12  # that are listed by name
BETTER = 0.9  # of the error of the law that single steps gave: less gain is not worth another law
FAR_BETTER = (
    0.5  # the same where noise explains what that law leaves: a few constants that are slightly off are no reason
)
HALF = 0.5  # of the error of another law: a clear gain


@dataclass(frozen=True)
class Discovery:
    """A program of a world, and how it came about."""

    world: str
    reading: Reading
    found: Found
    reward: Reward
    ends: Ends
    program: Program
    errors: Mapping[int, Mapping[str, float]]  # normalised, by horizon, on episodes that were not fitted to
    env_steps: int
    seconds: float
    rivals: Front = field(default_factory=Front)  # what else was considered, by size and held-out error

    @property
    def verdict(self) -> str:
        return self.found.verdict

    @property
    def equations(self) -> Equations:
        """The program as equations: `print(found.equations)`, `found.equations.latex`."""
        return self.program.equations()

    def save(self, folder: Path | str) -> Path:
        """Write the program and its record into a folder, as `vpw induce` does; `vpw.load` reads both.

        Example: `found.save("runs/pendulum"); vpw.load("runs/pendulum").program`
        """
        path = make_folder(Path(folder)) / PROGRAM
        write_text(path, self.program.text)
        write_text(path.with_name(RECORD), to_json(summary(self, str(path)), indent=2) + "\n")
        return path.parent

    @property
    def why(self) -> str:
        return self.found.why

    def __repr__(self) -> str:
        return f"<Discovery in {self.world}: {self.verdict}, {self.found.draft.name}; print it for what it found>"

    def __str__(self) -> str:
        """The verdict, the laws, the errors, and what is known of reward and end, a line each."""
        lines = [f"{self.world}: {self.verdict} ({self.why.rstrip('.')})"]
        laws = self.found.draft.laws
        lines += [f"  {law} of {', '.join(bodies)}" for law, bodies in laws[:MOST_LAWS]]
        lines += [f"  and {len(laws) - MOST_LAWS} further terms"] if len(laws) > MOST_LAWS else []
        lines += [
            f"  normalised error after {h} steps, held out: median {row['median']:.2g}"
            for h, row in self.errors.items()
        ]
        lines += [f"  reward: {self.reward.why}", f"  end: {self.ends.why}"]
        return "\n".join(lines)


@np.errstate(all="ignore")  # rivals that run away are judged by what they give
def discover(
    world: World,
    *,
    budget: int = BUDGET,
    seed: int = 0,
    seconds: float = 60.0,
    episodes: int | None = None,
    fields: Mapping[str, str] | None = None,
    held_input: bool = False,
    grammar: Grammar = Grammar(),
    progress: Progress = lambda _: None,
) -> Discovery:
    """A program of the world from at most `budget` of its steps, or
    from its log (its first `episodes`), in about so many seconds of CPU time.

    Of a log it is asked whether inputs are held between its rows or on their way to the next one, unless they are given
    as held. Only the search for sums and rules knows a grammar, so that with one of your own no other search runs.
    """
    if not grammar.is_default:
        _check_grammar(world, fields)
    began, clock = time.perf_counter(), Clock.of(seconds - WRITING)
    rng = np.random.default_rng(seed)
    can_act = "reset" in world.powers
    progress("collecting")
    visited: list[np.ndarray] = []
    data = collect(world, round(FIRST_SHARE * budget) if can_act else 0, rng, visited, episodes)
    if isinstance(world, LogWorld) and not held_input and world.action_space.kind == "continuous":
        between = input_between(hold_out(data)[0]) if data else Between(False, "")
        if between.interpolated:
            progress(f"the input is {between.why}")
            world = world.with_neighbours()
            data = list(world.logged())[:episodes]
    if sum(len(trajectory) for trajectory in data) < 2:
        raise BadTrace(f"{world.name} holds no step to learn from.")
    data, kept_aside = hold_out(data)
    trial = try_law(world, data, kept_aside, budget, rng, progress, grammar) if not fields else None
    if trial is None and not grammar.is_default:
        raise VpwError("The search that knows your grammar could not solve its equations on this data.")
    # The older search gets all of its time: what the first one takes is counted in rows and terms, not in seconds.
    clock = Clock.of(seconds - WRITING)
    if trial is not None:
        data, kept_aside = list(trial.data), list(trial.aside)
        if trial.enough or not grammar.is_default:
            return _written(world, trial, began, clock, budget, rng)
    reading = read_fields(data, world.action_space, given_names(world), world.dt, fields)
    outside = find_outside(reading, data, world.action_space, world.dt, fields)

    def search(trajectories: Sequence[Trajectory]) -> Found:
        return search_dynamics(
            outside.given(trajectories),
            outside.inputs,
            reading=outside.reading,
            chains=propose_chains,
            seconds=(GIVEN_SECONDS if outside.columns else FIRST_SECONDS) * max(clock.left, 0.0),
            progress=progress,
        )

    def written(known: Known) -> Program:
        return write(world, known.whole, known.reward, known.ends, known.inside, {})

    if outside.columns:
        progress(f"given {', '.join(outside.names[c] for c in outside.columns)}, which nothing predicts")
    found = search(data)
    if outside.columns and (found.verdict != "explained" or found.memory.steps):
        outside = nothing_outside(reading, world.action_space)
        found = search(data)
    # Single steps that noise explains may hide a loss that only shows after many.
    if (
        not can_act
        and outside.reading.coordinates
        and (found.verdict != "explained" or found.evidence[0].experience.noisy)
    ):
        progress("looking at long stretches of the log")
        given, given_aside = outside.given(data), outside.given(kept_aside)
        found = _at_length(found, given, given_aside, outside.inputs, clock.part(LONG_LOOK_SECONDS), progress)
    progress("finding reward and end")
    whole = outside.lifted(found, data)
    steps = transitions(whole.reading, [*data, *kept_aside])
    rules = clock.part(RULES_SECONDS).at_least(LEAST_FOR_RULES)
    reward = find_reward(whole.reading, world.action_space, steps, rules)
    ends = find_ends(whole.reading, steps, distances=named_distances(reward.expression))
    known = Known(found, outside, reward, ends, tuple(data), tuple(kept_aside))
    if can_act:
        experiments = Experiments(world, search, written, budget=budget, seed=seed, clock=clock, progress=progress)
        known = experiments.run(known, visited)
    errors = errors_aside(known.found, outside.given(known.aside))
    found = floored(held_to(known.found, errors), outside.given(known.data))
    if isinstance(world, LogWorld) and world.caution:
        found = replace(found, why=f"{found.why.rstrip('.')}; {world.caution}.")
    if found.draft is not known.found.draft:
        errors = errors_aside(found, outside.given(known.aside))
    if trial is not None and found.verdict != "explained" and _better(trial.found, errors):
        return _written(world, trial, began, clock, budget, rng)
    known = replace(known, found=found)
    program = write(world, known.whole, known.reward, known.ends, known.inside, errors)
    spent = time.perf_counter() - began
    whole, rivals = known.whole, front_of_laws(known.whole)
    return Discovery(
        world.name, whole.reading, whole, known.reward, known.ends, program, errors, world.env_steps, spent, rivals
    )


def _check_grammar(world: World, fields: Mapping[str, str] | None) -> None:
    """Refuse a grammar where the only search that knows one would not run."""
    if fields:
        raise VpwError("A search with your grammar reads the fields by itself; leave `fields` out, or the grammar.")
    if len(world.field_names) > MOST_FIELDS:
        raise VpwError(
            f"{world.name} has {len(world.field_names)} fields, and a search with your grammar takes at most "
            f"{MOST_FIELDS}; leave `grammar` and `max_complexity` out."
        )


def front_of_laws(found: Found) -> Front:
    """The laws of the older search as a front: of each structure the best, the fewest constants first."""
    best: dict[str, Any] = {}
    for rival in found.evidence:
        known = best.get(rival.draft.name)
        if known is None or rival.error < known.error:
            best[rival.draft.name] = rival
    rows = []
    for name, rival in best.items():
        shown = equations_record(rival.draft.program) or {"text": [name], "latex": ""}
        chosen = rival.draft is found.draft or name == found.draft.name
        line = "; ".join(shown["text"])
        rows.append(Candidate("", rival.constants, None, float(rival.error), line, shown["latex"], chosen))
    return Front(tuple(sorted(rows, key=lambda row: (row.terms, row.error))))


def _better(trial: Lawful, errors: Mapping[int, Mapping[str, float]]) -> bool:
    """Whether the law of sums and rules predicts kept-aside episodes much better than what was found after it."""
    horizon = max(errors, default=0)
    return (
        bool(horizon) and horizon in trial.errors and trial.errors[horizon]["median"] < HALF * errors[horizon]["median"]
    )


def _written(
    world: World, trial: Trial, began: float, clock: Clock, budget: int, rng: np.random.Generator
) -> Discovery:
    """The program of a law of sums and rules, with the reward and the end."""
    lawful = trial.found
    found = found_of(lawful, world.field_names, world.dt, time.perf_counter() - began)
    if isinstance(world, LogWorld) and world.caution and not (lawful.smooth and world.curves):
        found = replace(found, why=f"{found.why}; {world.caution}.")
    seen = narrowed(world, lawful, found.reading, [*trial.data, *trial.aside], budget, rng)
    steps = transitions(found.reading, seen)
    reward = find_reward(found.reading, world.action_space, steps, clock.part(RULES_SECONDS).at_least(LEAST_FOR_RULES))
    ends = find_ends(found.reading, steps, distances=named_distances(reward.expression))
    program = write(world, found, reward, ends, Inside(), lawful.errors)
    rivals = rivals_of(lawful, trial.aside, world.action_space, world.dt)
    spent = time.perf_counter() - began
    return Discovery(
        world.name, found.reading, found, reward, ends, program, lawful.errors, world.env_steps, spent, rivals
    )


def given_names(world: World) -> tuple[str, ...] | None:
    """The names that the world itself gives its fields, if it does."""
    numbered = tuple(f"x{i}" for i in range(len(world.field_names)))
    return None if world.field_names == numbered else world.field_names


def _at_length(
    found: Found, data, kept_aside: Sequence[Trajectory], inputs: ActionSpace, clock: Clock, progress: Progress
) -> Found:
    """What was found, or the law that long stretches of the log
    ask for, whichever goes wrong later on what was kept aside.
    """
    longest = max((len(trajectory) for trajectory in kept_aside), default=0)
    if longest < 2 * HORIZONS[-1]:
        return found
    readings = _second_order(found.reading)
    gain = FAR_BETTER if found.verdict == "explained" else BETTER
    best, error = found, gain * _mean_error(_errors_at_length(found, kept_aside, longest))
    for number, reading in enumerate(readings):
        share = clock.part(1 / (len(readings) - number))
        look = long_look(reading, data, inputs, clock=share, progress=progress) if not share.over else None
        if look is None:
            continue
        left = ", ".join(f"{value:.2g} of {name}" for name, value in look.left.items())
        why = (
            f"stretches of {look.steps * look.stride} rows that were not fitted to leave {left}, their "
            "starts taken as unknowns"
        )
        option = replace(
            found, reading=look.reading, draft=look.draft, rates=look.rates, verdict="valid-inside", why=why
        )
        errors = _errors_at_length(option, kept_aside, longest)
        if _mean_error(errors) < error:
            best, error = replace(option, why=f"{why}; {_errors_text(errors)}"), _mean_error(errors)
    return best


def _mean_error(errors: Mapping[int, float]) -> float:
    return float(np.exp(np.mean(np.log(np.array(list(errors.values())) + 1e-12))))


def _errors_text(errors: Mapping[int, float]) -> str:
    """How far simulations from seen states go wrong, and whether they run away."""
    parts = " and ".join(f"{error:.2g} of its spread after {steps} steps" for steps, error in errors.items())
    (_, near), (last, far) = min(errors.items()), max(errors.items())
    away = (
        f"; left to itself it runs away before {last} steps, so trust it over short stretches alone"
        if far > RUN_AWAY and near < far
        else ""
    )
    return f"simulated freely, each field is off by {parts}{away}"


def _second_order(reading: Reading) -> list[Reading]:
    """The reading and, where a coordinate has no velocity, readings in which it has one that nobody sees."""
    if all(coordinate.velocity is not None for coordinate in reading.coordinates):
        return [reading]
    moving = tuple(c if c.velocity is not None else replace(c, velocity=f"{c.name}_speed") for c in reading.coordinates)
    integrators: tuple[Integrator, ...] = ("semi-implicit", "explicit")
    return [reading, *(replace(reading, coordinates=moving, integrator=integrator) for integrator in integrators)]


def _errors_at_length(found: Found, kept_aside: Sequence[Trajectory], longest: int) -> dict[int, float]:
    """What is off of each field's spread, after a short and after
    a long stretch, of what was observed alone; by steps.
    """
    reading, errors = found.reading, {}
    # Until a difference shows the velocity.
    skip = 1 if any(c.velocity_column is None for c in found.reading.coordinates) else 0
    columns = [k for k, name in enumerate(reading.state_names) if name not in reading.hidden]
    states = [found.states(trajectory)[skip : len(trajectory) + 1 - skip] for trajectory in kept_aside]
    acted = [trajectory.actions[skip : len(trajectory) - skip] for trajectory in kept_aside]
    spread = np.maximum(np.std(np.concatenate(states)[:, columns], axis=0), 1e-12)
    # Half of the longest stretch: of a single one nothing would tell what is usual.
    for horizon in sorted({HORIZONS[-1], min(LONG, max(longest // 2, HORIZONS[-1]))}):
        stretches = cut(states, acted, horizon)
        off = (predicted(found.draft.program, stretches)[:, -1] - stretches.truths[:, -1])[:, columns] / spread
        errors[horizon] = float(
            np.sqrt(np.mean(np.minimum(np.where(np.isfinite(off), np.abs(off), FAR_OFF), FAR_OFF) ** 2))
        )
    return errors


def write(
    world: World, found: Found, reward: Reward, ends: Ends, inside: Inside, errors: Mapping[int, Mapping[str, float]]
) -> Program:
    """The program of the dynamics with the functions of reward and
    end behind it, and a header that says what it is and how good.
    """
    text = found.draft.program.text
    numbers = [number_line(number) for number in (*reward.numbers, *ends.numbers(), *inside.numbers())]
    functions = [source_of(helper) for helper in reward.helpers if f"def {helper.__name__}(" not in text]
    if "wrap(" in ends.function() and not any("def wrap(" in part for part in (text, *functions)):
        functions.append(source_of(wrap))
    functions += [ends.function()] if ends.thresholds or "terminated(" in reward.expression else []
    functions += [inside.function()] if inside.thresholds else []
    functions += [reward.function()] if reward.kind != "none" else []
    if numbers:
        text = re.sub(r"\n\n\nclass State", "\n" + "\n".join(numbers) + "\n\n\nclass State", text, count=1)
    text = text.rstrip() + "".join(f"\n\n\n{function}" for function in functions) + "\n"
    top = docstring(*_header(world, found, errors), "")
    return Program(
        _labelled(re.sub(r'\A""".*?"""', lambda _: top, text, count=1, flags=re.DOTALL), world, found.reading)
    )


def _labelled(text: str, world: World, reading: Reading) -> str:
    """The text with the label of a field beside it in `State`, where that is not the field's name."""
    columns: dict[str | None, tuple[int, ...]] = {c.name: c.columns for c in reading.coordinates}
    columns |= {c.velocity: (c.velocity_column,) for c in reading.coordinates if c.velocity_column is not None}
    columns |= {name: (column,) for name, column in reading.parameters}
    renamed = {k for k, name in enumerate(world.field_names) if world.field_labels[k] != name}

    def line(match: re.Match[str]) -> str:
        return commented(match[0], ", ".join(world.field_labels[k] for k in columns.get(match[1], ()) if k in renamed))

    return re.sub(r"^    (\w+): float$", line, text, flags=re.MULTILINE)


def _header(world: World, found: Found, errors: Mapping[int, Mapping[str, float]]) -> list[str]:
    laws = [f"{law} ({', '.join(bodies)})" for law, bodies in dict.fromkeys(found.draft.laws)]
    more = f" and {len(laws) - MOST_LAWS} further terms" if len(laws) > MOST_LAWS else ""
    lines = [f"{world.name}: {', '.join(laws[:MOST_LAWS]) or found.draft.name}{more}.", ""]
    if found.verdict == "unexplained":
        lines += [
            "EMPIRICAL: no law explains this world; what follows is the best that was found, and may be "
            "wrong anywhere.",
            "",
        ]
    elif found.draft.empirical:
        lines += [
            "EMPIRICAL: a sum of terms that was fitted, no law; trust it among states like those that were seen alone.",
            "",
        ]
    lines.append(f"Verdict: {found.verdict}; {found.why.rstrip('.')}.")
    if errors:
        medians = ", ".join(f"{row['median']:.2g} after {horizon}" for horizon, row in errors.items())
        lines.append(f"Held-out error (median, of each field's spread of change): {medians} steps.")
    if isinstance(world, LogWorld) and world.has_neighbours:
        lines.append(f"{INTERPOLATED}: an action is ({', '.join(world.action_space.names)}).")
    for k, labels in enumerate(world.labels if isinstance(world, LogWorld) else ()):
        lines.append(f"action[{k}] is {', '.join(f'{i} for {label}' for i, label in enumerate(labels))}.")
    seen = f"{world.env_steps} steps of the world" if world.env_steps else "a log"
    lines.append(f"Found from {seen} by visualpatchworld {__version__}.")
    return lines


def summary(discovery: Discovery, path: str | None) -> dict[str, Any]:
    """The discovery as plain data: the fields of `vpw induce --json`."""
    draft = discovery.found.draft
    constants = discovery.program.constants
    return {
        "world": discovery.world,
        "domain": discovery.world,
        "form": draft.name,
        "sketch": draft.name,
        "equations": equations_record(discovery.program),
        "laws": [{"law": law, "bodies": list(bodies)} for law, bodies in draft.laws],
        "fields": table(discovery.reading.fields),
        "dt": discovery.reading.dt,
        "integrator": discovery.reading.integrator,
        "constants": {
            name: {"value": constants[name], "stderr": draft.stderr.get(name), "unit": ""} for name in draft.free
        },
        "reward": {
            "expression": discovery.reward.expression,
            "paid": discovery.reward.kind != "none",
            "left": discovery.reward.left,
            "why": discovery.reward.why,
        },
        "terminated": {
            "thresholds": [
                {
                    "expression": rule.expression,
                    "above": rule.above,
                    "value": rule.value,
                    "bracket": list(rule.bracket),
                    "any_of": i,
                }
                for i, first in enumerate(discovery.ends.thresholds)
                for rule in first.all
            ],
            "why": discovery.ends.why,
        },
        "verdict": discovery.verdict,
        "why": discovery.why,
        "candidates": [
            {
                "sketch": rival.draft.name,
                "source": rival.source,
                "error": rival.error,
                "constants": rival.constants,
                "integrator": rival.integrator,
            }
            for rival in discovery.found.evidence
        ],
        "rivals": discovery.rivals.record,
        "normalised_error": {str(horizon): dict(row) for horizon, row in discovery.errors.items()},
        "env_steps": discovery.env_steps,
        "program": path,
        "program_hash": discovery.program.hash,
        "seconds": round(discovery.seconds, 1),
    }
