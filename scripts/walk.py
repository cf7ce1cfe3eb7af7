"""The walk from `vpw run DOMAIN` to an executed action: the
modules of this package whose functions are entered on the way.

`python scripts/walk.py pusht` prints them in the order in which they are entered, and how many there are. The program
is a given one, so that nothing is induced: episodes and program lie in the folder already, as an earlier run leaves
them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = "visualpatchworld"
ROOT = Path(__file__).resolve().parent.parent


def _callers(frame: FrameType) -> Iterator[str]:
    """The names of the functions of this package that led here, the last first."""
    at = frame.f_back
    while at is not None:
        if at.f_globals.get("__name__", "").startswith(f"{PACKAGE}."):
            yield at.f_code.co_name
        at = at.f_back


class Arrived(BaseException):
    """An action has been executed."""


def walk(name: str, program: Path) -> list[str]:
    """The modules that a planned task enters, from the command line to the first action that the simulator takes."""
    from visualpatchworld import __version__
    from visualpatchworld.cli import build_app
    from visualpatchworld.domain import load_domain

    domain = load_domain(name)
    arrival = type(domain.make()).advance.__code__
    entered: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith(f"{PACKAGE}.") or frame.f_code.co_name.startswith("<"):
            return
        above = list(_callers(frame))
        if "<module>" in above:  # what an import runs is not on the way
            return
        entered.setdefault(module.removeprefix(f"{PACKAGE}."))
        if frame.f_code is arrival and "control" in above:
            sys.setprofile(None)
            raise Arrived

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        asked = ["--episodes", "15", "--seed", "1"]
        build_app()(["collect", name, *asked, "--out", f"{folder}/episodes.h5"], standalone_mode=False)
        settings = {
            "version": __version__,
            "episodes": 15,
            "seed": 1,
            "constants": dataclasses.asdict(domain.constants),
        }
        (Path(folder) / "world_model.py").write_bytes(program.read_bytes())
        (Path(folder) / "induction.json").write_text(
            json.dumps({"domain": name, "settings": settings}), encoding="utf-8"
        )
        with contextlib.suppress(Arrived):
            sys.setprofile(watch)
            build_app()(["run", name, *asked, "--tasks", "1", "--out", folder], standalone_mode=False)
    return list(entered)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    chosen = sys.argv[1]
    found = walk(chosen, Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "programs" / chosen / "world_model.py")
    print(*found, f"{len(found)} modules", sep="\n")
