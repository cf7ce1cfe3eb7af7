"""What is measured but is no cell: an analysis with its data, each kind checked when it is read,
and the small pictures beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from jaxtyping import UInt8
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadPicture, VpwError, first_problem
from visualpatchworld.files import from_json, make_folder, read_bytes, to_json, write_text
from visualpatchworld.induction.windows import trajectories_of
from visualpatchworld.paper.cell import BadResults
from visualpatchworld.program.program import Program
from visualpatchworld.scene.picture import read_picture, write_picture
from visualpatchworld.simulator import Constants
from visualpatchworld.trace.episode import Episode, for_tasks
from visualpatchworld.world.trajectory import Trajectory

Number = Annotated[float, Field(ge=-1e100, le=1e100, allow_inf_nan=False)]
Known = Number | None  # null where a number was not finite
Count = Annotated[int, Field(ge=0, le=2**53)]
Share = Annotated[float, Field(ge=0, le=1)]
Point = Annotated[list[Known], Field(min_length=2, max_length=2)]
Look = dict[str, list[list[Point]]]  # lines by object, in pixels


class _Data(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class LookPair(_Data):
    tool: Look
    oracle: Look


class AuditData(_Data):
    precision: Share
    recall: Share
    rmse: dict[str, Number]
    frames: Count
    seconds_per_frame: Number
    looks: dict[str, LookPair]


class MotionOf(_Data):
    episode: Count
    true: Annotated[list[Number], Field(min_length=1)]
    predicted: list[Known]
    true_sum: Number
    predicted_sum: Known
    not_finite: Count


class MotionData(_Data):
    motion: dict[str, MotionOf]


class ErrorsOf(_Data):
    mean: list[Known]
    median: list[Known]
    p90: list[Known]


class RolloutData(_Data):
    horizon: Annotated[int, Field(ge=1, le=10_000)]
    windows: Count
    not_finite: Count
    rollout_error: Annotated[dict[str, ErrorsOf], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_per_step(self) -> Self:
        for name, errors in self.rollout_error.items():
            if any(len(values) != self.horizon for values in (errors.mean, errors.median, errors.p90)):
                raise ValueError(f"{name} does not have a value for each of {self.horizon} steps")
        return self


class Merit(_Data):
    agreement: Share
    gap: Known
    engine_step: Number
    program_step: Known
    regret: Number


class SmoothnessData(_Data):
    episode: Count
    step: Count
    beside: list[str]
    horizon: Count
    action: Annotated[list[Number], Field(min_length=2)]
    engine: list[Number] | list[list[Number]]
    program: list[Known] | list[list[Known]]
    merit: Merit

    @model_validator(mode="after")
    def _square(self) -> Self:
        side = len(self.action)
        shapes = {np.shape(np.array(costs, dtype=float)) for costs in (self.engine, self.program)}
        if shapes not in ({(side,)}, {(side, side)}):
            raise ValueError(f"the costs are not two grids of {side} actions along each side")
        return self


class NamedField(_Data):
    name: str
    unit: str


class PixelsOf(_Data):
    before: Point
    after: Point
    predicted: Point


class TransitionData(_Data):
    episode: Count
    step: Count
    fields: list[NamedField]
    before: list[Known]
    after: list[Known]
    predicted: list[Known]
    action: list[Number]
    error: dict[str, Known]
    pixels: dict[str, PixelsOf]
    program_text: str

    @model_validator(mode="after")
    def _one_per_field(self) -> Self:
        if any(len(state) != len(self.fields) for state in (self.before, self.after, self.predicted)):
            raise ValueError("a state does not have a number for each of its fields")
        return self


KINDS: dict[str, type[_Data]] = {
    "audit": AuditData,
    "motion": MotionData,
    "rollout": RolloutData,
    "smoothness": SmoothnessData,
    "transition": TransitionData,
}
# Of what a kind is measured: of a `program`, or of the `tool` path, which needs none.
MEASURED_OF = {kind: "tool" if kind == "audit" else "program" for kind in KINDS}
PICTURES = {"transition": ("before", "after")}  # that a kind always has


def find_analyses() -> dict[str, str]:
    """Every kind of analysis that can be measured, and of what."""
    return dict(MEASURED_OF)


def check_data(kind: str, data: Any, pictures: list[str]) -> None:
    """Raise a `ValueError` unless this is what such an analysis holds;
    a kind that is not known here is nobody's surprise.
    """
    if kind in KINDS:
        KINDS[kind].model_validate(data)
    shown = data.get("looks", {}) if kind == "audit" else pictures
    for name in (*PICTURES.get(kind, ()), *pictures):
        if name not in pictures or name not in shown:
            raise ValueError(f"the picture '{name}' is not described")


SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Measurand:
    """The same for every kind of analysis; a kind takes from it what it needs."""

    domain: Domain
    constants: Constants  # of the simulator that made the episodes
    episodes: Sequence[Episode]  # all of a source; analyses are measured on the test episodes
    source: str
    episodes_seed: int | None = None  # that the episodes were collected with, where it is known
    method: str
    program: Program | None = None
    sandboxed: bool = False  # a model's program runs nowhere else
    written_by: str = ""  # model and budget, where a language model wrote the program
    seed: int = 0
    frames: int = 500  # how many pictures are looked at, where that is what is measured

    @property
    def held_out(self) -> Sequence[Episode]:
        return for_tasks(self.episodes)

    @property
    def recordings(self) -> list[Trajectory]:
        """The test episodes without what only a simulator knows."""
        return trajectories_of(self.held_out)

    @property
    def fingerprint(self) -> str:
        """Of the test episodes."""
        return hashlib.sha256(b"".join(episode.observations.tobytes() for episode in self.held_out)).hexdigest()[:12]

    def needed_program(self) -> Program:
        """The program, or a sentence saying how to give one."""
        if self.program is None:
            raise VpwError(f"This needs a program; give --program FILE.py (`vpw induce {self.domain.name}` makes one).")
        return self.program


def plain(values: Any) -> Any:
    """Numbers as JSON keeps them: rounded, in nested lists, null where they are not finite."""
    if np.ndim(values):
        return [plain(value) for value in values]
    number = float(values)
    return float(f"{number:.{SIGNIFICANT_DIGITS}g}") if np.isfinite(number) else None


FOLDER = "exhibits"  # among the results

Picture = UInt8[np.ndarray, "h w 3"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What was measured, of which method's program, on the test episodes of which source."""

    kind: str
    domain: str
    title: str  # the place's, as people say it
    source: str
    method: str
    program: str  # fingerprint of the program's text, empty where none takes part
    written_by: str = ""  # model and budget, where a language model wrote the program
    seed: int
    episodes: str  # fingerprint of the test episodes
    versions: Mapping[str, str]
    data: Mapping[str, Any]
    pictures: Mapping[str, Picture] = field(default_factory=dict, repr=False)


class _File(BaseModel):
    """The fields of an analysis's JSON file."""

    model_config = ConfigDict(strict=True, extra="forbid")

    kind: str
    domain: str
    title: str
    source: str
    method: str
    program: str
    written_by: str = ""
    seed: int
    episodes: str
    versions: dict[str, str]
    data: dict[str, Any]
    pictures: list[str]


def analysis_path(results: Path, kind: str, source: str, method: str) -> Path:
    """Where an analysis lies in a folder of results, known before it is measured."""
    return results / FOLDER / f"{kind}-{source}-{method}.json"


def write_analysis(results: Path, analysis: Analysis) -> Path:
    """Write an analysis into a folder of results; the JSON file comes last, so that where it is, its pictures are."""
    path = analysis_path(results, analysis.kind, analysis.source, analysis.method)
    make_folder(path.parent)
    for name, picture in analysis.pictures.items():
        write_picture(_picture_path(path, name), picture)
    fields = {key: value for key, value in asdict(analysis).items() if key != "pictures"}
    write_text(path, to_json({**fields, "pictures": list(analysis.pictures)}) + "\n")
    return path


def read_analyses(results: Path) -> tuple[Analysis, ...]:
    """All analyses of a folder of results, by file name."""
    return tuple(_read(path) for path in sorted((results / FOLDER).glob("*.json")))


def _read(path: Path) -> Analysis:
    try:
        told = _File.model_validate(from_json(read_bytes(path, "analysis", BadResults)))
        check_data(told.kind, told.data, told.pictures)
        pictures = {name: read_picture(_picture_path(path, name)) for name in told.pictures}
        return Analysis(**{**told.model_dump(), "pictures": pictures})
    except ValidationError as error:
        reason = first_problem(error, "the file")
    except BadPicture as error:
        reason = str(error).rstrip(".")
    except ValueError as error:
        reason = f"not JSON of that kind: {error}"
    raise BadResults(f"'{path}' does not hold an analysis as `vpw analyse` writes it ({reason}); move it elsewhere.")


def _picture_path(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}-{name}.png")
