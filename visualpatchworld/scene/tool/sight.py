"""One picture, part after part: each sees with what those before it have seen."""

from __future__ import annotations

from collections.abc import Mapping

from visualpatchworld.scene.tool.camera import Camera
from visualpatchworld.scene.tool.look import Look
from visualpatchworld.scene.tool.part import Masks, Measures, Sighting


def look_at(look: Look, masks: Masks, camera: Camera, measures: Mapping[str, Measures]) -> Sighting:
    """What a picture shows of every part of a look."""
    sighting = Sighting()
    for part in look.parts:
        sighting = sighting.and_also(part.see(masks, camera, measures[part.name], sighting))
    return sighting
