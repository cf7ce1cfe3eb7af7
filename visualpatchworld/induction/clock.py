"""The clock of a search: when an answer is due.

It counts the CPU time of the process, so a busy machine gives a search as much of it as an idle one. JAX compiles on
threads of its own while the search waits for them: the time of the calling thread alone would miss two thirds of the
work, that of the whole process agrees with a wall clock on an idle machine to within a few percent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Clock:
    """A moment at which an answer is due; whatever may take long
    looks at it in its loops and ends with the best that it has.
    """

    until: float = np.inf  # s, of CPU time of this process

    @classmethod
    def of(cls, seconds: float) -> Clock:
        """A clock that runs out after so many more seconds of CPU time."""
        return cls(time.process_time() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left; negative once the answer is late."""
        return self.until - time.process_time()

    @property
    def over(self) -> bool:
        return self.left <= 0

    def part(self, share: float) -> Clock:
        """A clock that runs out after this share of the seconds that are left."""
        return self if self.until == np.inf else Clock.of(share * max(self.left, 0.0))

    def at_least(self, seconds: float) -> Clock:
        """The clock, or a later one that leaves so many seconds: for what an answer cannot do without."""
        return self if self.left >= seconds else Clock.of(seconds)


NO_LIMIT = Clock()
