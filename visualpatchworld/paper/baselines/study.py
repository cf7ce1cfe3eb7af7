"""A study: the data, the ledger of what was tried, and one search from data to record."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.induction.windows import split_trajectories
from visualpatchworld.llm import Client, OutOfBudget, Price, Reply
from visualpatchworld.paper import baselines
from visualpatchworld.paper.baselines.answer import (
    SingleSteps,
    Verdict,
    example,
    joined,
    judge,
    own_code,
    program_of,
    state_text,
    transitions_of,
)
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.world.trajectory import Trajectory

CHARACTERS_PER_TOKEN = 2.2  # of prompts, which are mostly numbers


@dataclass(frozen=True)
class Candidate:
    """A program that was tried: where it came from, how it did, and on what."""

    index: int
    how: str  # the move of the search that made it
    text: str
    parent: int | None
    calls: tuple[int, ...]  # numbers of the calls that it came from
    held_out: Verdict
    train: Verdict

    @property
    def score(self) -> float:
        return self.held_out.score

    @property
    def loads(self) -> bool:
        return self.held_out.loads

    @property
    def code(self) -> str:
        """What the model wrote, without the imports and the state that every program here begins with."""
        return own_code(self.text)

    @property
    def problem(self) -> str:
        """Why the program does not run; the line at fault is quoted, since a model does not see numbers of lines."""
        number, _, said = (self.held_out.obstacle or "1: ").partition(": ")
        lines = self.text.splitlines()[: int(number)]
        return f"in `{lines[-1].strip()}`: {said}" if len(lines) > 1 else said

    def data(self) -> dict[str, Any]:
        """The candidate as a line of the search's record."""
        return {
            "index": self.index,
            "how": self.how,
            "parent": self.parent,
            "calls": list(self.calls),
            "score": self.score,
            "train_score": self.train.score,
            "loads": self.loads,
            "obstacle": self.held_out.obstacle,
            "way": self.held_out.way,
            "program": self.text,
        }


class Method(ABC):
    """A way to search for a program with a language model; the object is its configuration."""

    name: str

    @abstractmethod
    def search(self, study: Study) -> Candidate | None:
        """Ask, judge and choose until the program is right or the budget is spent; the chosen one, or None."""


@dataclass
class Study:
    """What a search is given, and what it has tried so far."""

    domain: Domain
    graph: SceneGraph
    train: SingleSteps
    held_out: SingleSteps
    client: Client
    rng: np.random.Generator
    prompt_tokens: int  # about how long a prompt may be; examples beyond that are left out
    method: str = ""
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def calls_left(self) -> int:
        return self.client.calls_left

    def prompt(self, name: str, examples: Sequence[str] = (), **parts: object) -> str:
        """The prompt of a file, filled in; `$examples` gets as many as fit."""
        template = Template(prompt_text(name))
        filled = {"world": self.world, "examples": "", **{key: str(value) for key, value in parts.items()}}
        room = self.prompt_tokens * CHARACTERS_PER_TOKEN - len(template.substitute(filled))
        shown: list[str] = []
        for text in examples:
            if shown and len(text) > room:
                break
            room -= len(text) + 1
            shown.append(text)
        return template.substitute({**filled, "examples": "\n".join(shown)})

    @cached_property
    def world(self) -> str:
        """What a model is told of the world: its objects, its state and its action, as the scene graph has them."""
        space = self.domain.scene.state_space
        parts = ", ".join(f"action[{i}]" for i in range(self.train.actions.shape[1]))
        limits = f"The action is a list of numbers in [-1, 1]: {parts}. It has no names."
        return f"Objects:\n{objects_text(self.graph)}\n\nState:\n{state_text(space)}\n\n{limits}"

    def examples(
        self, rows: Sequence[int], transitions: SingleSteps | None = None, verdict: Verdict | None = None
    ) -> list[str]:
        """Transitions as lines of a prompt, with what a program made of them where a verdict is given."""
        shown = self.train if transitions is None else transitions
        told = None if verdict is None else {i: verdict.told(self.domain, shown, i) for i in rows}
        return [example(self.domain.scene.state_space, shown, i, told) for i in rows]

    def tried(self, reply: Reply, how: str, parent: Candidate | None) -> Candidate:
        """The program in a reply, judged and written down."""
        header = f"Written by {self.client.model} in a {self.method} search."
        text = program_of(reply.text, self.domain.scene.state_space, header)
        return self.judged(text, how, parent, (reply.call,))

    def judged(self, text: str, how: str, parent: Candidate | None, calls: tuple[int, ...]) -> Candidate:
        """A program, judged on held-out and training transitions and written down."""
        verdict = judge(text, joined(self.held_out, self.train), self.domain)
        num = len(self.held_out)
        index = None if parent is None else parent.index
        candidate = Candidate(
            len(self.candidates),
            how,
            text,
            index,
            calls,
            verdict.part(slice(0, num)),
            verdict.part(slice(num, num + len(self.train))),
        )
        self.candidates.append(candidate)
        return candidate

    def best(self) -> Candidate | None:
        """The program that loads and has the most held-out transitions right, the earlier one among equals."""
        return max((c for c in self.candidates if c.loads), key=lambda c: (c.score, -c.index), default=None)


def prompt_text(name: str) -> str:
    """The prompt of that name, a file beside this one."""
    return resources.files(baselines).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")


def objects_text(graph: SceneGraph) -> str:
    """Every object on a line: name, kind, whether it moves, its shape and, where it is fixed, its place."""
    lines = []
    for item in graph.objects:
        shape = item.geometry.model_dump(exclude_none=True)
        place = item.pose.model_dump(exclude_none=True) if item.fixed else {}
        known = ", ".join(f"{key}={_short(value)}" for key, value in {**shape, **place}.items())
        lines.append(f"- {item.name} ({item.kind}{', never moves' if item.fixed else ''}) {known}".rstrip())
    return "\n".join(lines)


def _short(value: Any) -> str:
    return f"({', '.join(_short(part) for part in value)})" if isinstance(value, tuple) else f"{value:.4g}"


HELD_OUT_SHARE = 0.2
MOST_TRAIN, MOST_HELD_OUT = 2000, 1000  # transitions; more add nothing to a share


@dataclass(frozen=True)
class Search:
    """A finished search: the chosen program, if any loads, and all candidates."""

    chosen: Candidate | None
    study: Study


def find_methods() -> dict[str, Method]:
    """Every rival by its name: the modules of this folder that offer one."""
    modules = (
        importlib.import_module(f"{baselines.__name__}.{info.name}")
        for info in pkgutil.iter_modules(baselines.__path__)
    )
    found = [method for module in modules for method in getattr(module, "METHODS", ())]
    return {method.name: method for method in sorted(found, key=lambda method: method.name)}


def find_method(name: str) -> Method:
    """The rival of that name."""
    found = find_methods()
    if name not in found:
        raise UnknownName("baseline", name, found)
    return found[name]


def run(
    method: Method,
    domain: Domain,
    graph: SceneGraph,
    recordings: Sequence[Trajectory],
    client: Client,
    *,
    seed: int,
    prompt_tokens: int,
) -> Search:
    """Search with this method on these recordings, whole recordings held out;
    the budget's end ends the search, not the run.
    """
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
