"""Running a method, and what a search has left behind: its record, and the program that it wrote."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.induction.windows import Recording, split_recordings
from visualpatchworld.input import read_bytes
from visualpatchworld.llm.client import Client, OutOfBudget, Price
from visualpatchworld.paper import baselines
from visualpatchworld.paper.baselines.study import Candidate, Method, Study
from visualpatchworld.paper.baselines.transitions import transitions_of
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.strict_json import from_json, to_json

if TYPE_CHECKING:
    from visualpatchworld.program.program import Program


RECORD, PROGRAM = "search.json", "world_model.py"


class BadRecord(VpwError):
    """A record of a search that is damaged or something else."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a finished search tells of itself."""

    model: str
    calls: int  # that could be made
    tokens: int | None  # that could be used; no limit where None
    program: str | None  # text of the chosen program; None where none loads

    @property
    def label(self) -> str:
        """Model and budget as tables name them."""
        return f"{self.model}, {self.calls} calls" + ("" if self.tokens is None else f", {self.tokens} tokens")


def read_record(folder: Path) -> Record | None:
    """What the search in this folder tells; None where there was none."""
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        told = from_json(read_bytes(path, "record", BadRecord))
        chosen, budget = told["chosen"], told["budget"]
        program = None if chosen is None else told["candidates"][chosen]["program"]
        fields = {"model": told["model"], "calls": budget["calls"], "tokens": budget["tokens"], "program": program}
        return TypeAdapter(Record).validate_json(to_json(fields), strict=True)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise BadRecord(f"'{path}' is no record of a search as `vpw baseline` writes it; move it elsewhere.") from error


def read_written(path: Path) -> tuple[Program | None, str]:
    """A model's program, None where its search ended without one, and who wrote it: nobody known unless a record has that very text."""
    from visualpatchworld.program.program import Program, read_program

    record = read_record(path.parent)
    program = None if record is not None and record.program is None else Program(read_program(path), path)
    text = None if program is None else program.text
    return program, record.label if record is not None and record.program == text else ""


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
    method: Method, domain: Domain, graph: SceneGraph, recordings: Sequence[Recording], client: Client, *, seed: int, prompt_tokens: int
) -> Search:
    """Search with this method on these recordings, whole recordings held out; the budget's end ends the search, not the run."""
    rng = np.random.default_rng(seed)
    train, held_out = split_recordings(recordings, HELD_OUT_SHARE, rng)
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
