"""From an observed moment to its scene graph: one interface, whichever path reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadPicture
from visualpatchworld.scene.schema import SceneGraph
from visualpatchworld.scene.state import SceneTemplate


@dataclass(frozen=True)
class Moment:
    """Pictures up to a moment, the oldest first, the actions between them, and the true state, NaN where it is not known."""

    frames: Sequence[UInt8[np.ndarray, "h w 3"]] | UInt8[np.ndarray, "T h w 3"] = ()
    actions: Float[np.ndarray, "T-1 A"] | None = None
    state: Float[np.ndarray, " S"] | None = None
    step: int | None = None


class Extractor(ABC):
    """A path from observation to scene graph: the oracle's, the tools', a vision-language model's, or a user's own."""

    sees: ClassVar[Literal["state", "pictures"]]  # what it needs of a moment

    @abstractmethod
    def extract(self, moment: Moment) -> SceneGraph:
        """The scene graph of a moment."""


@dataclass(frozen=True)
class OracleExtractor(Extractor):
    """Reads the simulator's state and shapes directly, with no perception in between."""

    sees = "state"
    template: SceneTemplate
    constants: Any

    def extract(self, moment: Moment) -> SceneGraph:
        if moment.state is None:
            raise BadPicture("The oracle reads states, and a picture alone has none; give a row of a trace file, as FILE.h5:ROW.")
        return self.template.oracle(moment.state, self.constants, step=moment.step)
