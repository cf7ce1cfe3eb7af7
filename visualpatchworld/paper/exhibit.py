"""Exhibits: what is measured of one program and is no cell, as a value with data and small pictures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from pydantic import BaseModel, ConfigDict, ValidationError

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadPicture, VpwError
from visualpatchworld.induction.windows import trajectories_of
from visualpatchworld.input import read_bytes
from visualpatchworld.output import make_folder, write_text
from visualpatchworld.paper.cell import BadResults
from visualpatchworld.paper.exhibit_data import check_data
from visualpatchworld.program.program import Program
from visualpatchworld.scene.picture import read_picture, write_picture
from visualpatchworld.simulator import Constants
from visualpatchworld.strict_json import from_json, to_json
from visualpatchworld.trace.episode import Episode, for_tasks
from visualpatchworld.world.trajectory import Trajectory

SIGNIFICANT_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Subject:
    """The same for every kind of exhibit; a kind takes from it what it needs."""

    domain: Domain
    constants: Constants  # of the simulator that made the episodes
    episodes: Sequence[Episode]  # all of a source; exhibits are measured on the test episodes
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


@dataclass(frozen=True)
class Measured:
    """What a kind of exhibit found: JSON values, and pictures by name."""

    data: Mapping[str, Any]
    pictures: Mapping[str, Picture] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Exhibit:
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
    """The fields of an exhibit's JSON file."""

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


def exhibit_path(results: Path, kind: str, source: str, method: str) -> Path:
    """Where an exhibit lies in a folder of results, known before it is measured."""
    return results / FOLDER / f"{kind}-{source}-{method}.json"


def write_exhibit(results: Path, exhibit: Exhibit) -> Path:
    """Write an exhibit into a folder of results; the JSON file comes last, so that where it is, its pictures are."""
    path = exhibit_path(results, exhibit.kind, exhibit.source, exhibit.method)
    make_folder(path.parent)
    for name, picture in exhibit.pictures.items():
        write_picture(_picture_path(path, name), picture)
    fields = {key: value for key, value in asdict(exhibit).items() if key != "pictures"}
    write_text(path, to_json({**fields, "pictures": list(exhibit.pictures)}) + "\n")
    return path


def read_exhibits(results: Path) -> tuple[Exhibit, ...]:
    """All exhibits of a folder of results, by file name."""
    return tuple(_read(path) for path in sorted((results / FOLDER).glob("*.json")))


def _read(path: Path) -> Exhibit:
    try:
        told = _File.model_validate(from_json(read_bytes(path, "exhibit", BadResults)))
        check_data(told.kind, told.data, told.pictures)
        pictures = {name: read_picture(_picture_path(path, name)) for name in told.pictures}
        return Exhibit(**{**told.model_dump(), "pictures": pictures})
    except ValidationError as error:
        first = error.errors()[0]
        reason = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg'].lower()}"
    except BadPicture as error:
        reason = str(error).rstrip(".")
    except ValueError as error:
        reason = f"not JSON of that kind: {error}"
    raise BadResults(f"'{path}' does not hold an exhibit as `vpw exhibit` writes it ({reason}); move it elsewhere.")


def _picture_path(path: Path, name: str) -> Path:
    return path.with_name(f"{path.stem}-{name}.png")
