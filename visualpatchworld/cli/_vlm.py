"""A vision-language model as the verbs use it: who answers, what is recorded, and how its coordinates are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from visualpatchworld.cli._options import MOST
from visualpatchworld.domain import Domain
from visualpatchworld.errors import VpwError
from visualpatchworld.input import read_bytes
from visualpatchworld.strict_json import from_json

if TYPE_CHECKING:
    from visualpatchworld.scene.vlm import VlmExtractor

EndpointUrl = Annotated[str | None, typer.Option("--endpoint", metavar="URL", help="With vlm: OpenAI-compatible endpoint, up to /v1.")]
ModelName = Annotated[str | None, typer.Option("--model", metavar="NAME", help="With vlm: the model to ask for.")]
Record = Annotated[Path | None, typer.Option("--record", metavar="FILE.jsonl", help="With vlm: recording to write or continue.")]
Replay = Annotated[Path | None, typer.Option("--replay", metavar="FILE.jsonl", help="With vlm: recording that answers every call.")]
Calls = Annotated[int, typer.Option("--calls", min=1, max=MOST, metavar="N", help="With vlm: calls that may be made.")]
CalibrationFile = Annotated[
    Path | None,
    typer.Option("--calibration", metavar="FILE.json", help="With vlm: [[a, b, c], [d, e, f]] from the picture's pixels to the world."),
]


def vlm_extractor(
    world: Domain, endpoint: str | None, model: str | None, record: Path | None, replay: Path | None, calls: int, calibration: Path | None
) -> VlmExtractor:
    """An extractor that asks this model, or a recording of it."""
    from visualpatchworld.llm.client import Budget, Client, Sampling, Tape
    from visualpatchworld.llm.endpoint import Endpoint
    from visualpatchworld.scene.vlm import VlmExtractor

    if model is None or (endpoint is None) == (replay is None):
        raise VpwError("For vlm say who answers: --model NAME with --endpoint URL, or with --replay FILE.jsonl, and not both.")
    tape = Tape(replay, "replay") if replay else Tape(record, "record") if record else None
    client = Client(
        model=model,
        endpoint=None if endpoint is None else Endpoint(endpoint),
        tape=tape,
        budget=Budget(calls),
        sampling=Sampling(temperature=0.0),
    )
    known = world.scene.objects(world.constants)
    return VlmExtractor(world.scene, known, client, None if calibration is None else _affine(calibration))


def _affine(path: Path) -> np.ndarray:
    try:
        found = np.array(from_json(read_bytes(path, "calibration", VpwError)), dtype=np.float64)
    except (ValueError, TypeError):
        raise VpwError(f"'{path}' is not a calibration; it holds [[a, b, c], [d, e, f]].") from None
    if found.shape != (2, 3) or not np.isfinite(found).all():
        raise VpwError(f"'{path}' is not a calibration; it holds [[a, b, c], [d, e, f]], two rows of three numbers.")
    return found
