"""How programs came about, as `induction.json` and `search.json` say it; checked when they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from visualpatchworld.errors import VpwError, first_problem
from visualpatchworld.files import from_json, read_bytes, read_text, to_json

if TYPE_CHECKING:  # records are read where no program runs, and programs load JAX
    from visualpatchworld.program.program import Program


PROGRAM, INDUCTION, SEARCH = "world_model.py", "induction.json", "search.json"  # in the folder of a program

# JSON has no infinity: what strayed without bound is written as null.
Error = Annotated[float, BeforeValidator(lambda value: math.inf if value is None else value)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class BadRecord(VpwError):
    """A record that is not there, damaged or of another make."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class VerdictRecord(_Record):
    """One form against one probe."""

    probe: str
    asks: str
    explained: bool
    errors: dict[str, Error]


class CandidateRecord(_Record):
    """One form, what it explains, or why it was not tried."""

    sketch: str
    explained: Count
    probes: Count
    constants: dict[str, float | None]
    set_aside: str | None
    verdicts: tuple[VerdictRecord, ...]

    def why_not(self, tolerances: Mapping[str, float]) -> str:
        """What speaks against a form that was not chosen."""
        from visualpatchworld.induction.select import refutation  # here: records are read where JAX is not loaded

        if self.set_aside:
            return f"set aside: {self.set_aside}"
        return str(refutation(self.verdicts, tolerances) or "explains as much, but is less simple")


class ConstantRecord(_Record):
    """A fitted constant; a whole number that was chosen among a few has no standard error."""

    value: float
    stderr: float | None
    unit: str


class ErrorRecord(_Record):
    """How far rollouts stray after some number of steps."""

    mean: Error
    median: Error
    p90: Error


class SettingsRecord(_Record):
    """What the induction of a whole run was asked for."""

    version: str
    episodes: Count
    seed: Count
    constants: dict[str, Any]


class InductionRecord(_Record):
    """How a program came about, as far as a page shows it."""

    domain: str
    sketch: str
    constants: dict[str, ConstantRecord]
    undetermined: tuple[str, ...]
    candidates: tuple[CandidateRecord, ...]  # best first; none where the form was named, not chosen
    unexplained_probes: tuple[str, ...]
    # Quantity -> largest error that explains; more than the domain's where states are read.
    probe_tolerances: dict[str, float] = {}
    rollout_error: dict[str, dict[int, ErrorRecord]]
    program_hash: str
    seconds: float = Field(ge=0)
    settings: SettingsRecord | None = None


def read_induction(path: Path) -> InductionRecord:
    """The record in a file, or `BadRecord` with what is wrong and what to do."""
    if not path.exists():
        raise BadRecord(f"There is no {path.name}; `vpw induce` and `vpw run` write it.")
    text = read_text(path, "record", BadRecord)
    try:
        return InductionRecord.model_validate(from_json(text))
    except ValidationError as error:
        said = first_problem(error, "the file")
    except ValueError:
        said = "it is not JSON"
    raise BadRecord(f"{path.name} is damaged ({said}); delete it and run `vpw run` again.")


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """What a finished search tells of itself."""

    model: str
    calls: int  # that could be made
    tokens: int | None  # that could be used; no limit where None
    program: str | None  # text of the chosen program; None where none loads

    @property
    def label(self) -> str:
        """Model and budget as tables name them."""
        return f"{self.model}, {self.calls} calls" + ("" if self.tokens is None else f", {self.tokens} tokens")


def read_search(folder: Path) -> SearchRecord | None:
    """What the search in this folder tells; None where there was none."""
    path = folder / SEARCH
    if not path.exists():
        return None
    try:
        told = from_json(read_bytes(path, "record", BadRecord))
        chosen, budget = told["chosen"], told["budget"]
        program = None if chosen is None else told["candidates"][chosen]["program"]
        fields = {"model": told["model"], "calls": budget["calls"], "tokens": budget["tokens"], "program": program}
        return TypeAdapter(SearchRecord).validate_json(to_json(fields), strict=True)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise BadRecord(f"'{path}' is no record of a search as `vpw baseline` writes it; move it elsewhere.") from error


def read_written(path: Path) -> tuple[Program | None, str]:
    """A model's program, None where its search ended without one, and who wrote it:
    nobody known unless a record has that very text.
    """
    from visualpatchworld.program.program import read_program

    record = read_search(path.parent)
    program = None if record is not None and record.program is None else read_program(path)
    text = None if program is None else program.text
    return program, record.label if record is not None and record.program == text else ""


class FoundProgram(NamedTuple):
    """Where a program lies, and which world the record beside it says that it is of."""

    path: Path
    world: str | None

    def world_or(self, typed: str | None, traces: Path | None = None) -> str | None:
        """The world that a user typed, else the recorded one; a file alone never has a module imported.

        Where there are traces no world is opened.
        """
        from visualpatchworld.world.open import module_of

        if typed is traces is None and self.world is not None and module_of(self.world) is not None:
            raise BadRecord(
                f"The record beside '{self.path}' names the world '{self.world}', whose module is imported and so runs; "
                f"give --world {self.world} if you trust it."
            )
        return typed or self.world


def find_program(path: Path) -> FoundProgram:
    """The program that a folder or a file stands for."""
    program = path / PROGRAM if path.is_dir() else path
    if not program.is_file():
        raise BadRecord(f"There is no program '{program}'; `vpw induce WORLD --out {path}` writes one.")
    try:
        told = from_json(read_bytes(program.parent / INDUCTION, "record", BadRecord))
        world = told.get("world") or told.get("domain")
    except (BadRecord, ValueError, AttributeError):
        world = None
    return FoundProgram(program, world if isinstance(world, str) else None)
