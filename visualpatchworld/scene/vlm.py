"""The VLM path of stage 1: a vision-language model names what it sees and how things stand;
its coordinates count only once calibrated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from pydantic import BaseModel, ConfigDict, ValidationError

from visualpatchworld import scene
from visualpatchworld.errors import BadGraph, BadPicture, first_problem
from visualpatchworld.files import from_json
from visualpatchworld.llm import Client, Reply
from visualpatchworld.scene.extractor import Extractor, Moment
from visualpatchworld.scene.picture import as_data_url
from visualpatchworld.scene.schema import Direction, Metadata, Pose, Relation, SceneGraph, SceneObject
from visualpatchworld.scene.state import SceneTemplate

NUM_TRIES = 3  # of which all but the first tell the model what was wrong with its answer


class SeenObject(BaseModel):
    """An object as a model reports it; what else it says of it does not matter."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    name: str
    visible: bool = True
    x: float | None = None
    y: float | None = None


class SeenRelation(BaseModel):
    """A relation as a model reports it."""

    model_config = ConfigDict(extra="ignore")

    subject: str
    object: str
    near_contact: bool | None = None
    direction: Direction | None = None


class Seen(BaseModel):
    """A model's whole answer."""

    objects: list[SeenObject]
    relations: list[SeenRelation] = []


@dataclass(frozen=True)
class VlmExtractor(Extractor):
    """Reads one picture at a time by asking a model;
    `picture_to_world` is an affine map (2, 3), without which no coordinate is kept.
    """

    template: SceneTemplate
    known: tuple[SceneObject, ...]  # what may be in the scene; only names and kinds are given
    client: Client
    picture_to_world: Float[np.ndarray, "2 3"] | None = None
    sees = "pictures"

    def extract(self, moment: Moment) -> SceneGraph:
        if not len(moment.frames):
            raise BadPicture("There is no picture to read.")
        return self.read(moment.frames[-1], step=moment.step)

    def read(self, picture: UInt8[np.ndarray, "h w 3"], *, step: int | None = None) -> SceneGraph:
        """The scene graph of a picture: identities and qualitative relations, metric fields empty unless calibrated."""
        prompt, complaint = prompt_text(self.known, picture.shape), ""
        for _ in range(NUM_TRIES):
            reply = self.client.ask([{"type": "text", "text": prompt + complaint}, _image_part(picture)])
            try:
                return self._graph(parsed(reply), step)
            except BadGraph as error:
                complaint = f"\nYour last answer could not be used: {error}"
        raise BadGraph(
            f"The model '{self.client.model}' gave no usable answer in {NUM_TRIES} tries;{complaint.partition(':')[2]}"
        )

    def _graph(self, seen: Seen, step: int | None) -> SceneGraph:
        reports = {report.name: report for report in seen.objects}
        names = {item.name for item in self.known}
        objects = tuple(self._object(item, reports.get(item.name)) for item in self.known)
        relations = [relation for relation in seen.relations if {relation.subject, relation.object} <= names]
        metadata = Metadata(
            domain=self.template.domain,
            source="vlm",
            length_unit=self.template.length_unit,
            y_axis=self.template.y_axis,
            step=step,
            notes=_notes(reports, names, self.picture_to_world is None),
        )
        return SceneGraph(
            metadata=metadata,
            objects=objects,
            relations=tuple(Relation(**relation.model_dump()) for relation in relations),
        )

    def _object(self, item: SceneObject, report: SeenObject | None) -> SceneObject:
        visible = report is not None and report.visible
        pose = self._pose(report) if report is not None and visible else Pose()
        return SceneObject(name=item.name, kind=item.kind, fixed=item.fixed, visible=visible, pose=pose)

    def _pose(self, report: SeenObject) -> Pose:
        if self.picture_to_world is None or report.x is None or report.y is None:
            return Pose()
        x, y = self.picture_to_world @ np.array([report.x, report.y, 1.0])
        return Pose(x=float(x), y=float(y))


def prompt_text(known: Sequence[SceneObject], shape: Sequence[int]) -> str:
    """What the model is asked, with the names it may use."""
    template = Template(resources.files(scene).joinpath("vlm_prompt.txt").read_text(encoding="utf-8"))
    objects = "\n".join(f"- {item.name} ({item.kind})" for item in known)
    return template.substitute(
        objects=objects, first=known[0].name, second=known[-1].name, width=shape[1], height=shape[0]
    )


def parsed(reply: Reply) -> Seen:
    """The answer as reported objects and relations; `BadGraph` says why where it is none."""
    if reply.finish == "refusal" or not reply.text.strip():
        raise BadGraph("the model refused to answer.")
    found = re.search(r"\{.*\}", reply.text, re.DOTALL)
    try:
        return Seen.model_validate(from_json(found[0] if found else ""))
    except ValidationError as error:
        raise BadGraph(f"{first_problem(error, 'the answer')}.") from None
    except ValueError:
        cut = " (it was cut short)" if reply.finish == "length" else ""
        raise BadGraph(f"it holds no JSON object{cut}.") from None


def _image_part(picture: UInt8[np.ndarray, "h w 3"]) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": as_data_url(picture)}}


def _notes(reports: dict[str, SeenObject], names: set[str], uncalibrated: bool) -> tuple[str, ...]:
    unknown = sorted(set(reports) - names)
    notes = ["coordinates left empty: the model is not calibrated"] if uncalibrated else []
    return (*notes, *([f"unknown objects left out: {', '.join(unknown)}"] if unknown else []))
