"""A trajectory: what was observed, what was done between, and what it was worth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.errors import BadTrace


class Frames(Protocol):
    """Pictures, in memory or still in their file: `frames[t]` or `frames[a:b]` reads just those."""

    def __len__(self) -> int: ...

    def __getitem__(self, steps: Any, /) -> UInt8[np.ndarray, "*T h w 3"]: ...


@dataclass(frozen=True)
class Trajectory:
    """T + 1 observations, the T actions between them and, where the world gives them, T rewards and T + 1 pictures.

    A discrete action is a whole number in its column. `terminated` says that the world itself came to an end with the
    last observation; running into a time limit, or a log that just stops, is not an end.
    """

    observations: Float[np.ndarray, "T+1 O"]
    actions: Float[np.ndarray, "T A"]
    rewards: Float[np.ndarray, " T"] | None = None
    terminated: bool = False
    held_out: bool = False  # whoever recorded it says that it is for testing
    frames: Frames | None = field(default=None, repr=False)

    def __post_init__(self):
        if len(self.observations) != len(self.actions) + 1:
            raise BadTrace(
                f"A trajectory of {len(self.actions)} actions has one observation more, not {len(self.observations)}."
            )
        if self.rewards is not None and len(self.rewards) != len(self.actions):
            raise BadTrace(f"A trajectory of {len(self.actions)} actions has as many rewards, not {len(self.rewards)}.")

    def __len__(self) -> int:
        """How many steps it has."""
        return len(self.actions)
