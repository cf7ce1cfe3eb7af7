"""How a world looks: its paints and the parts to see in it, declared by the domain and read by machinery that knows none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from visualpatchworld.scene.tool.paint import Palette
from visualpatchworld.scene.tool.part import Part


@dataclass(frozen=True)
class Look:
    """The parts in the order in which they are seen; the known positions of the `anchor`, else of the first, calibrate the camera.

    `seen_constants` are the simulator's constants that change a picture: with others the same calibration serves, but for velocities.
    """

    palette: Palette
    parts: tuple[Part, ...]
    projection: Literal["planar", "perspective"] = "planar"
    anchor: str = ""
    seen_constants: tuple[str, ...] = ()
    num_episodes: int = 4  # to calibrate with
    num_wandering: int = 0  # further ones with random actions, where the policy shows too little of what there is to see
    every: int = 1  # one picture in so many is taken; more than 1 only where no velocity is asked for
