"""An exhibit: something measured that is no planning cell, with what it was measured from; one JSON file and a few pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from pydantic import BaseModel, ConfigDict, ValidationError

from visualpatchworld.bench.cell import BadResults
from visualpatchworld.bench.exhibit_data import check_data
from visualpatchworld.errors import BadPicture
from visualpatchworld.input import read_bytes
from visualpatchworld.output import make_folder, write_text
from visualpatchworld.scene.picture import read_picture, write_picture
from visualpatchworld.strict_json import from_json, to_json

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
