"""What the file of each kind of exhibit has to hold, checked on reading, so that no table or figure meets a surprise."""

from __future__ import annotations

from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

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


class Pixels(_Data):
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
    pixels: dict[str, Pixels]
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
PICTURES = {"transition": ("before", "after")}  # that a kind always has


def check_data(kind: str, data: Any, pictures: list[str]) -> None:
    """Raise a `ValueError` unless this is what such an exhibit holds; a kind that is not known here is nobody's surprise."""
    if kind in KINDS:
        KINDS[kind].model_validate(data)
    shown = data.get("looks", {}) if kind == "audit" else pictures
    for name in (*PICTURES.get(kind, ()), *pictures):
        if name not in pictures or name not in shown:
            raise ValueError(f"the picture '{name}' is not described")
