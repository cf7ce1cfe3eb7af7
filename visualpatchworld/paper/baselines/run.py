"""One search from data to record: a rival by name, its program where one loads, and everything that it tried."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.induction.windows import split_trajectories
from visualpatchworld.llm.client import Client, OutOfBudget, Price
from visualpatchworld.paper import baselines
from visualpatchworld.paper.baselines.answer import transitions_of
from visualpatchworld.paper.baselines.study import Candidate, Method, Study
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.world.trajectory import Trajectory


def log_bump(distance):
    """The logarithm of an opinion so many tolerances away from the foreseen value."""
    return np.log((1 - 1e-6) * np.exp(-np.minimum(distance * distance / 0.18, 100.0)) + 1e-6)


def likeliest(now, tolerance, opinions):
    """The foreseen value that all experts together find likeliest; where none speaks, the value stays."""
    spoken = [(value, weight) for value, weight in opinions if value is not None]
    if len(spoken) < 2:
        return spoken[0][0] if spoken else now
    best, best_score = now, -math.inf
    for value, _ in spoken:
        score = sum(weight * log_bump((value - other) / tolerance) for other, weight in spoken)
        best, best_score = np.where(score > best_score, value, best), np.maximum(score, best_score)
    return best


STEP = '''def step(state, action):
    """Every field becomes what its experts together find likeliest."""
    after = {}
    for name, (tolerance, experts) in EXPERTS.items():
        opinions = [(expert(state, action), weight) for expert, weight in experts]
        after[name] = likeliest(state._asdict()[name], tolerance, opinions)
    return State(**after)
'''


def mode_text() -> str:
    """The functions as they stand in a program."""
    return "\n\n".join([*(inspect.getsource(function) for function in (log_bump, likeliest)), STEP])


HELD_OUT_SHARE = 0.2
MOST_TRAIN, MOST_HELD_OUT = 2000, 1000  # transitions; more add nothing to a share


@dataclass(frozen=True)
class Search:
    """A finished search: the chosen program, if any loads, and all candidates."""

    chosen: Candidate | None
    study: Study


def find_methods() -> dict[str, Method]:
    """Every rival by its name: the modules of this folder that offer one."""
    modules = (importlib.import_module(f"{baselines.__name__}.{info.name}") for info in pkgutil.iter_modules(baselines.__path__))
    found = {module.METHOD.name: module.METHOD for module in modules if hasattr(module, "METHOD")}
    return dict(sorted(found.items()))


def find_method(name: str) -> Method:
    """The rival of that name."""
    found = find_methods()
    if name not in found:
        raise UnknownName("baseline", name, found)
    return found[name]


def run(
    method: Method, domain: Domain, graph: SceneGraph, recordings: Sequence[Trajectory], client: Client, *, seed: int, prompt_tokens: int
) -> Search:
    """Search with this method on these recordings, whole recordings held out; the budget's end ends the search, not the run."""
    rng = np.random.default_rng(seed)
    train, held_out = split_trajectories(recordings, HELD_OUT_SHARE, rng)
    study = Study(
        domain=domain,
        graph=graph,
        train=transitions_of(train).thinned(MOST_TRAIN),
        held_out=transitions_of(held_out).thinned(MOST_HELD_OUT),
        client=client,
        rng=rng,
        prompt_tokens=prompt_tokens,
        method=method.name,
    )
    try:
        chosen = method.search(study)
    except OutOfBudget:
        chosen = study.best()
    return Search(chosen, study)


def summary(search: Search, price: Price | None = None) -> dict[str, Any]:
    """The search as a record; it holds no times, so that a replayed search writes the same bytes."""
    study, chosen = search.study, search.chosen
    return {
        "method": study.method,
        "domain": study.domain.name,
        "model": study.client.model,
        "seed": study.client.seed,
        "budget": {"calls": study.client.budget.calls, "tokens": study.client.budget.tokens},
        # With these a recording can be replayed by whoever has only this record.
        "sampling": asdict(study.client.sampling),
        "prompt_tokens": study.prompt_tokens,
        **study.client.usage.data(price),
        "tolerances": dict(study.domain.transition_tolerances),
        "num_train": len(study.train),
        "num_held_out": len(study.held_out),
        "chosen": None if chosen is None else chosen.index,
        "score": None if chosen is None else chosen.score,
        "num_candidates": len(study.candidates),
        "num_loadable": sum(candidate.loads for candidate in study.candidates),
        "candidates": [candidate.data() for candidate in study.candidates],
    }
