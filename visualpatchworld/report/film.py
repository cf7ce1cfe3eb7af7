"""Films inside a page: the file as text, its first picture for paper and for phones that load no film unasked, and how the task ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from visualpatchworld.extras import PIL, imageio
from visualpatchworld.paper.cell import Cell, Outcome
from visualpatchworld.report.page import data_url, in_steps
from visualpatchworld.report.run import LARGEST_FILM, NotSent, sent
from visualpatchworld.scene.picture import as_data_url

MOST_CHARACTERS = 12_000_000  # of films in a page; what would go beyond is left out and named


@dataclass(frozen=True)
class Film:
    """A film that plays from the page itself."""

    task: int
    success: bool | None  # None where no result says how the task ended
    steps: int | None
    url: str
    still: str  # empty where there is none

    @property
    def ending(self) -> str:
        if self.steps is None:
            return "not measured"
        return f"goal met after {in_steps(self.steps)}" if self.success else f"goal not met within {in_steps(self.steps)}"


@dataclass(frozen=True)
class Films:
    """The films of one cell, failures first, and the names of those that are too large to take along or cannot be read."""

    shown: tuple[Film, ...]
    left_out: tuple[str, ...]


def films_of(paths: Sequence[Path], cell: Cell, outcomes: Sequence[Outcome]) -> Films:
    """The films of a cell's tasks, as `vpw plan --video` names them."""
    begins = f"{cell.domain}-{cell.method}-{cell.observe}-{cell.score}-{cell.seed}-task"
    ended = {outcome.task: outcome for outcome in outcomes}
    numbered = [(int(found[1]), path) for path in paths if (found := re.fullmatch(re.escape(begins) + r"(\d+)", path.stem))]
    shown, left_out, size = [], [], 0
    for task, path in sorted(numbered, key=lambda item: (item[0] not in ended or ended[item[0]].success, item[0])):
        outcome = ended.get(task)
        known = (None, None) if outcome is None else (outcome.success, outcome.steps)
        try:
            read = sent(path.parent, path, LARGEST_FILM)
            film = Film(task, *known, data_url(read, "video/mp4"), _still(sent(path.parent, path.with_suffix(".gif"), LARGEST_FILM)))
        except (OSError, NotSent):
            left_out.append(path.name)
            continue
        size += len(film.url) + len(film.still)
        if size <= MOST_CHARACTERS:
            shown.append(film)
        else:
            left_out.append(path.name)
    return Films(tuple(shown), tuple(left_out))


def _still(gif: Path) -> str:
    try:
        return as_data_url(imageio.v3.imread(gif, plugin="pillow", index=0, mode="RGB"))
    except (OSError, ValueError, EOFError, PIL.Image.DecompressionBombError):
        return ""
