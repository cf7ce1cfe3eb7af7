"""What `induction.json` holds, checked on reading: a page is made of whole records or says that there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from visualpatchworld.errors import VpwError


class BadRecord(VpwError):
    """A record of an induction that is not there, damaged or of another make."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class VerdictRecord(_Record):
    """One form against one probe."""

    probe: str
    asks: str
    explained: bool
    errors: dict[str, float]


class CandidateRecord(_Record):
    """One form, what it explains, or why it was not tried."""

    sketch: str
    explained: int
    probes: int
    constants: dict[str, float]
    set_aside: str | None
    verdicts: tuple[VerdictRecord, ...]


class ConstantRecord(_Record):
    """A fitted constant; a whole number that was chosen among a few has no standard error."""

    value: float
    stderr: float | None
    unit: str


class ErrorRecord(_Record):
    """How far rollouts stray after some number of steps."""

    mean: float
    median: float
    p90: float


class SettingsRecord(_Record):
    """What the induction of a whole run was asked for."""

    version: str
    episodes: int
    seed: int
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
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadRecord(f"There is no {path.name}; `vpw induce` and `vpw run` write it.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadRecord(f"{path.name} cannot be read: {reason}.") from None
    try:
        return InductionRecord.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise BadRecord(f"{path.name} is damaged ({where}: {first['msg'].lower()}); delete it and run `vpw run` again.") from None
