"""Names of a program's fields: the world's own where it gives them, plain words where not."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

RESERVED = ("state", "action", "np", "step", "move", "rates", "nudged", "observe", "read", "reward", "terminated", "valid", "wrapped")


class Names:
    """Python names for fields, each given once."""

    def __init__(self, labels: Sequence[str], given: bool):
        self.labels, self.given = labels, given
        self.used: set[str] = set(RESERVED)

    def coordinate(self, columns: Sequence[int], angle: bool) -> str:
        """The name of a coordinate that these columns show."""
        label = self.labels[columns[0]]
        if len(columns) == 2:
            bare = re.sub(r"(?i)\b(cos|sin|cosine|sine)\b|_?(cos|sin)_?", " ", label).replace("(", " ").replace(")", " ").strip()
            return self._unique(bare if self.given and bare and not re.fullmatch(r"[\d\W_]*", bare) and bare != label else "angle")
        if self.given:
            return self._unique(label)
        return self._unique("angle" if angle else f"x{columns[0]}")

    def velocity(self, column: int | None, coordinate: str) -> str:
        """The name of a coordinate's velocity, which a column shows or none."""
        return self._unique(self.labels[column] if self.given and column is not None else f"{coordinate}_speed")

    def plain(self, column: int) -> str:
        """The name of a column that is in the state as it is."""
        return self._unique(self.labels[column])

    def shift(self, column: int) -> str:
        """The name of what is added to a column all through an episode."""
        return self._unique(f"{self.labels[column]}_shift")

    def _unique(self, name: str) -> str:
        name = re.sub(r"\W+", "_", name).strip("_").lower() or "field"
        name = f"x_{name}" if name[0].isdigit() else name
        name = f"{name}_" if keyword.iskeyword(name) else name
        base, number = name, 2
        while name in self.used:
            name, number = f"{base}_{number}", number + 1
        self.used.add(name)
        return name
