"""A run in any world: what the records of its folder say and leave open, and its page."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, ValidationError

from visualpatchworld.errors import VpwError, first_problem
from visualpatchworld.files import from_json, read_text
from visualpatchworld.paper.record import INDUCTION, PROGRAM, BadRecord, ConstantRecord, Error
from visualpatchworld.program.dial import dials_of
from visualpatchworld.program.program import MOST_BYTES, Program, read_program
from visualpatchworld.report.page import REPORT, Chart, Curve, Section, Written, coloured, data_url, svg, write_page
from visualpatchworld.report.run import LARGEST_FILM, LARGEST_JSON, lies_in, sent

PLAN, CHECK, FILMS = "plan.json", "check.json", "films"
LOOSE = 0.1  # a standard error of more than this share of its constant leaves the constant open
CLOSE = 3.0  # a rival with at most so many times the error is not refuted


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class FieldRecord(Record):
    name: str
    role: str
    of: str | None = None
    evidence: str = ""


class LawRecord(Record):
    law: str
    bodies: tuple[str, ...] = ()


class RivalRecord(Record):
    sketch: str
    source: str = ""
    error: Error
    constants: int = 0
    integrator: str = ""


class CandidateRecord(Record):
    """A row of the front: a sum for the rate of one field, or a whole law."""

    field: str
    terms: int
    bits: float | None = None
    error: Error
    equation: str
    chosen: bool = False


class ThresholdRecord(Record):
    expression: str
    above: bool
    value: float
    bracket: tuple[float | None, float | None]


class RewardRecord(Record):
    expression: str
    paid: bool
    why: str = ""
    left: Error = math.nan


class EndRecord(Record):
    thresholds: tuple[ThresholdRecord, ...] = ()
    why: str = ""


class SpreadRecord(Record):
    mean: Error
    median: Error
    p90: Error


class WorldRecord(Record):
    """How a program of any world came about: what `vpw induce WORLD` writes."""

    world: str
    form: str
    laws: tuple[LawRecord, ...]
    fields: tuple[FieldRecord, ...]
    dt: float
    integrator: str
    constants: dict[str, ConstantRecord]
    reward: RewardRecord
    terminated: EndRecord
    verdict: Literal["explained", "valid-inside", "ambiguous", "unexplained"]
    why: str
    candidates: tuple[RivalRecord, ...]
    rivals: tuple[CandidateRecord, ...] = ()  # records of earlier versions have none
    normalised_error: dict[int, SpreadRecord]
    env_steps: int
    program_hash: str
    seconds: float


class PlanRecord(Record):
    """Returns of planned episodes: what `vpw plan --task reward` prints."""

    return_mean: float
    return_std: float
    n: int
    random_return: float
    zero_return: float
    planner: str
    seconds_per_step_median: float
    returns: tuple[float, ...] = ()
    not_filmed: str = ""  # why there is no film
    program_hash: str = ""


class CheckRecord(Record):
    """Steps, none of which a search has seen where `unseen` says so, beside what the program imagines of them."""

    names: tuple[str, ...]
    steps: int
    unseen: bool = True
    by_field: dict[int, dict[str, Error]]  # steps ahead -> field -> median error over the spread of its change
    true: tuple[tuple[float | None, ...], ...]
    imagined: tuple[tuple[float | None, ...], ...]
    program_hash: str = ""


@dataclass(frozen=True)
class Open:
    """Something that the data do not determine: what it is, and which experiment would."""

    what: str
    experiment: str


@dataclass(frozen=True)
class WorldRun:
    """A folder that `vpw run WORLD` or `vpw induce WORLD` filled."""

    folder: Path

    @cached_property
    def record(self) -> WorldRecord:
        return self._read(INDUCTION, WorldRecord, "`vpw run WORLD` writes it")

    @cached_property
    def program(self) -> Program:
        path = sent(self.folder, self.folder / PROGRAM, MOST_BYTES)
        return read_program(path, Path(PROGRAM))

    @cached_property
    def plan(self) -> PlanRecord:
        why = "" if self.record.reward.paid else "; no reward was ever paid, so there is nothing to plan for"
        return self._read(PLAN, PlanRecord, f"`vpw run` writes it where a reward is paid{why}")

    @cached_property
    def check(self) -> CheckRecord:
        return self._read(CHECK, CheckRecord, "`vpw run` writes it")

    @property
    def edited(self) -> bool:
        return self.program.hash != self.record.program_hash

    @property
    def films(self) -> list[Path]:
        folder = self.folder / FILMS
        return sorted(folder.glob("*.mp4")) if lies_in(self.folder, folder) else []

    def _read(self, name: str, kind: type[Any], who: str) -> Any:
        path = sent(self.folder, self.folder / name, LARGEST_JSON)
        if not path.exists():
            raise BadRecord(f"There is no {name}; {who}.")
        try:
            return kind.model_validate(from_json(read_text(path, "record", BadRecord)))
        except ValidationError as error:
            raise BadRecord(f"{name} is damaged ({first_problem(error, 'the file')}).") from None
        except ValueError:
            raise BadRecord(f"{name} is damaged (it is not JSON).") from None


def is_world_run(folder: Path) -> bool:
    """Whether a folder's record is one of any world, not of a domain with its own grammar."""
    try:
        return bool(WorldRun(folder).record)
    except VpwError:
        return False


def undetermined(record: WorldRecord, meanings: dict[str, str]) -> list[Open]:
    """What this data does not determine, and which experiment would settle it."""
    return [*_constants(record, meanings), *_rivals(record), *_ends(record), *_fields(record)]


def _constants(record: WorldRecord, meanings: dict[str, str]) -> Iterator[Open]:
    for name, row in record.constants.items():
        term = meanings.get(name, "").partition(":")[2].strip() or "the term that it multiplies"
        if row.stderr is None:
            yield Open(
                f"{name} = {row.value:.6g} has no standard error.",
                f"Episodes in which {term} varies by itself would give it one.",
            )
        elif row.stderr > LOOSE * abs(row.value):
            yield Open(
                f"{name} = {row.value:.4g} ± {row.stderr:.1g}: other values fit as well.",
                f"Episodes in which {term} is larger, or varies while all else is still, would determine it.",
            )


def _rivals(record: WorldRecord) -> Iterator[Open]:
    best, *others = record.candidates or (None,)
    for rival in others:
        if best is not None and rival.sketch != best.sketch and rival.error <= CLOSE * best.error:
            yield Open(
                f"“{rival.sketch}” leaves about the same error ({rival.error:.2g}, against "
                f"{best.error:.2g}); the data do not refute it.",
                "Longer episodes, or starts far from those that were seen, would tell the two apart: "
                "their predictions part with time.",
            )


def _ends(record: WorldRecord) -> Iterator[Open]:
    for rule in record.terminated.thresholds:
        low, high = rule.bracket
        if low is not None and high is not None and high > low:
            side = "above" if rule.above else "below"
            yield Open(
                f"The end at {rule.expression} {side} {rule.value:.6g} lies somewhere between {low:.6g} "
                f"and {high:.6g}.",
                f"Episodes that go on inside that bracket, slowly in {rule.expression}, would narrow it.",
            )
    if not record.terminated.thresholds:
        yield Open(
            f"Where the world ends: {record.terminated.why}.",
            "Episodes that go to the extremes of every field would show an end, if there is one.",
        )
    if not record.reward.paid:
        yield Open(f"What a step is worth: {record.reward.why}.", "A log or an environment with rewards would tell.")


def _fields(record: WorldRecord) -> Iterator[Open]:
    for field in record.fields:
        if field.role == "constant":
            yield Open(
                f"What {field.name} does: it was the same in every step.",
                f"Episodes in which {field.name} differs would tell.",
            )
        elif field.role in ("noise", "exogenous"):
            yield Open(
                f"What moves {field.name}: nothing that is observed.",
                "A field that goes before it would have to be recorded.",
            )
    if record.verdict in ("valid-inside", "unexplained"):
        yield Open(
            f"What happens outside of what is said to hold: {record.why}",
            "More episodes of the steps that are named there.",
        )


MOST_FILMS = 3


def sections() -> dict[str, Section]:
    """What a page is made of; a section that raises a `VpwError` is replaced by its sentence."""
    return {
        "record": lambda run: run.record,
        "equations": lambda run: run.program.equations(),
        "typeset": lambda run: [Markup(line) for line in run.program.equations().mathml],
        "listing": lambda run: coloured(run.program.text),
        "meanings": lambda run: {dial.name: dial.meaning for dial in dials_of(run.program)},
        "edited": lambda run: run.edited,
        "error_chart": _error_chart,
        "check": lambda run: run.check,
        "field_rows": lambda run: _field_rows(run.check),
        "stretch_charts": lambda run: stretch_charts(run.check),
        "plan": lambda run: run.plan,
        "left_open": lambda run: undetermined(run.record, {dial.name: dial.meaning for dial in dials_of(run.program)}),
        "films": lambda run: [
            data_url(sent(run.folder, path, LARGEST_FILM), "video/mp4") for path in run.films[:MOST_FILMS]
        ],
        "commands": _commands,
    }


def write_world_report(folder: Path, progress: Callable[[str], None] = lambda _: None) -> Written:
    """Write the page of a run in any world into its folder."""
    return write_page(folder / REPORT, "world.html", sections(), WorldRun(folder), progress)


def _error_chart(run: WorldRun) -> Markup:
    rows = run.record.normalised_error
    if not rows:
        raise VpwError("No errors were kept.")
    return svg(
        Chart(
            title="error over the spread of change",
            x_label="steps ahead",
            lines=(
                Curve("mean", "quiet", [(steps, row.mean) for steps, row in rows.items()]),
                Curve("median", "predicted", [(steps, row.median) for steps, row in rows.items()]),
            ),
            band=[(steps, row.median, row.p90) for steps, row in rows.items()],
            logarithmic=True,
        )
    )


def _field_rows(check: CheckRecord) -> list[tuple[str, list[str]]]:
    """One row per field: its median error after each number of steps."""
    return [
        (name, [f"{by[name]:.2g}" if name in by else "still" for by in check.by_field.values()]) for name in check.names
    ]


def stretch_charts(check: CheckRecord) -> list[Markup]:
    """One chart per field of the stretch that nobody has seen."""
    charts = []
    for i, name in enumerate(check.names):
        truth, ahead = (
            [(float(step), value) for step, row in enumerate(rows) if (value := row[i]) is not None]
            for rows in (check.true, check.imagined)
        )
        lines = (Curve("truth", "truth", truth), Curve("imagined", "predicted dashed", ahead))
        charts.append(svg(Chart(title=name, x_label="step", lines=lines)))
    return charts


def _commands(run: WorldRun) -> list[str]:
    name, folder = shlex.quote(run.record.world), shlex.quote(run.folder.resolve().name)
    return [f"vpw run {name} --out {folder}", f"vpw live {folder}", f"vpw report {folder}"]
