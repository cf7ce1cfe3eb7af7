"""What `induction.json` holds, checked on reading: a page or table is made of whole records or says that there is none."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, read_text

# JSON has no infinity: what strayed without bound is written as null.
Error = Annotated[float, BeforeValidator(lambda value: math.inf if value is None else value)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class BadRecord(VpwError):
    """A record of an induction that is not there, damaged or of another make."""


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
    probe_tolerances: dict[str, float] = {}  # quantity -> largest error that explains; more than the domain's where states are read
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
        first = error.errors()[0]
        said = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg'].lower()}"
    except ValueError:
        said = "it is not JSON"
    raise BadRecord(f"{path.name} is damaged ({said}); delete it and run `vpw run` again.")
