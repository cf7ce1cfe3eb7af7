"""Every kind of input: which file it is, how it is damaged, and which commands read it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz.inputs import MODEL
from fuzz.mutations import (
    damage_arrays,
    damage_bytes,
    damage_hdf5,
    damage_json,
    damage_json_line,
    damage_packed,
    damage_parquet,
    damage_program,
    damage_table,
)

TABLES = (
    "main",
    "cases",
    "hybrid-cost",
    "induction",
    "ablation",
    "perception",
    "landscape",
    "two-room-landscape",
    "cube-ladder",
)
FIGURES = ("success", "rollout-error", "landscape", "programs", "evidence", "block-motion", "perception", "multiseed")
VLM = ("--via", "vlm", "--model", MODEL, "--replay", "calls.jsonl")
PLAN = ("plan", "slider", "--episodes", "2", "--offset", "5", "--seed", "1")

Damage = Callable[[Path, Random], str]
Command = tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """Files that match a pattern, the damage that is done to one of
    them, and the commands that read it, the cheap ones more often.
    """

    name: str
    pattern: str
    damage: Damage
    commands: Sequence[Command]
    weight: int = 1

    def mutate(self, folder: Path, rng: Random) -> tuple[str, Command]:
        """Damage one file of the folder, and choose a command that meets it."""
        path = rng.choice(sorted(folder.glob(self.pattern)))
        said = self.damage(path, rng)
        command = [
            word.format(file=path.name, stem=path.stem, path=path.relative_to(folder))
            for word in rng.choice(list(self.commands))
        ]
        return f"{path.relative_to(folder)}: {said}", (*command, *rng.choice(((), ("--json",), ("--json",))))


TABLE = tuple(("table", name, "--results", "bench") for name in TABLES)
FIGURE = tuple(("figure", name, "--results", "bench", "--out", "drawn.svg") for name in FIGURES)
ROLLOUT = ("rollout", "program.py", "--domain", "slider", "--traces", "traces.h5", "--horizon", "5")
PLAN_ON = (*PLAN, "--program", "program.py", "--traces", "traces.h5", "--results", "kept")
EXPORT = ("export", "traces.h5", "--domain", "slider", "--out", "out.jsonl", "--view")
SCENE = ("scene", "slider", "traces.h5:3", "--via")
MOTION = ("analyse", "motion", "slider", "--program", "program.py", "--traces", "traces.h5", "--results", "kept")
LOOK, ASK = ("scene", "slider", "frame.png", "--via", "tool"), ("scene", "slider", "frame.png", *VLM)
READ_TRACE = (
    *[(*SCENE, "oracle")] * 6,
    *[(*SCENE, "tool")] * 2,
    (*EXPORT, "oracle"),
    (*EXPORT, "tool"),
    ROLLOUT,
    PLAN_ON,
    MOTION,
)
READ_OTHER = (
    ("scene", "{stem}", "{file}:3", "--via", "oracle"),
    ("export", "{file}", "--domain", "{stem}", "--out", "out.jsonl", "--view", "oracle"),
)
SEARCHED = ("analyse", "rollout", "slider", "--traces", "traces.h5", "--results", "bench")


def damage_as_named(path: Path, rng: Random) -> str:
    """The damage that goes with what a file is."""
    return {".py": damage_program, ".json": damage_json, ".h5": damage_hdf5}[path.suffix](path, rng)


FILES = (
    Kind("trace", "traces.h5", damage_hdf5, READ_TRACE, weight=6),
    Kind("trace of an engine", "[!t]*.h5", damage_hdf5, READ_OTHER, weight=3),
    Kind("program", "program.py", damage_program, [ROLLOUT, ROLLOUT, PLAN_ON], weight=5),
    Kind("pictures", "frames.npz", damage_arrays, [("audit", "slider", "--frames", "frames.npz")], weight=3),
    Kind("picture", "frame.png", damage_bytes, [LOOK, ASK], weight=2),
    Kind("recording", "calls.jsonl", damage_json_line, [ASK], weight=2),
    Kind("calibration", "calibration.json", damage_json, [(*ASK, "--calibration", "calibration.json")]),
    Kind("results", "bench/results/*.jsonl", damage_json_line, [*TABLE, FIGURE[0], FIGURE[-1]], weight=5),
    Kind("analyse", "bench/results/exhibits/*.json", damage_json, [*TABLE[1:8], *FIGURE], weight=5),
    Kind("analysis picture", "bench/results/exhibits/*.png", damage_bytes, [FIGURE[3], FIGURE[6], TABLE[5]]),
    Kind("induction", "bench/programs/*/induction.json", damage_json, [TABLE[3], TABLE[4], FIGURE[4]], weight=3),
    Kind("search", "bench/programs/worldcoder-slider/*", damage_as_named, [SEARCHED]),
    Kind("run", "run/*.*", damage_as_named, [("report", "run")], weight=2),
    Kind("results of a run", "run/results/*.jsonl", damage_json_line, [("report", "run")]),
    Kind("cells to go on with", "kept/*.jsonl", damage_json_line, [PLAN_ON]),
)
LOOKED = ("look", "{path}")
LOGS = (
    Kind("arrays", "logs/*.npz", damage_packed, [LOOKED], weight=5),
    Kind("text table", "logs/*.?sv", damage_table, [LOOKED, LOOKED, (*LOOKED, "--action", "u")], weight=5),
    Kind("Parquet", "logs/*.parquet", damage_parquet, [LOOKED], weight=5),
    Kind("HDF5", "logs/*.h5", damage_hdf5, [LOOKED, LOOKED, (*LOOKED, "--state", "state")], weight=3),
    Kind("Minari", "logs/minari/data/*.hdf5", damage_hdf5, [("look", "logs/minari")], weight=2),
    Kind("Minari's words", "logs/minari/data/*.json", damage_json, [("look", "logs/minari")]),
    Kind("LeRobot", "logs/lerobot/data/*/*.parquet", damage_parquet, [("look", "logs/lerobot")], weight=3),
    Kind("LeRobot's words", "logs/lerobot/meta/info.json", damage_json, [("look", "lerobot:logs/lerobot")], weight=2),
)

NUMBERS = (
    "0",
    "1",
    "-1",
    "3",
    "nan",
    "inf",
    "-inf",
    "1e9",
    "18446744073709551616",
    "1" + "0" * 30,
    "0x10",
    "",
    "é",
    "1.5",
    "4294967296",
)
PATHS = (
    "nowhere", "", ".", "/", "/dev/null", "/dev/full", "/proc/self/mem", "[bold]x[/]", "é世界", "a" * 300, "frame.png", "traces.h5",
    "x/y/z", "\udcff",
)  # fmt: skip
TEXTS = (
    "", "x", "[/red]", "slidr", "pusht ", "../slider", "é", "\udcff", "a" * 3000, "drag", "drag=", "drag=nan", "drag=inf", "=1",
    "drag=1e400", "radius=1=2",
)  # fmt: skip
COMMANDS: tuple[Command, ...] = (
    ("collect", "slider", "--episodes", "1", "--out", "out.h5", "--seed", "3"),
    ("collect", "slider", "--episodes", "1", "--out", "out.h5", "--vary", "drag=0.5"),
    (*EXPORT, "oracle", "--stride", "5"),
    (*SCENE, "oracle"),
    (*LOOK, "--overlay", "out.png"),
    (*ROLLOUT, "--last", "2", "--seed", "1"),
    (*PLAN_ON, "--metric", "at_goal"),
    ("table", "main", "--results", "bench", "--format", "text", "--out", "out.txt"),
    ("figure", "evidence", "--results", "bench", "--out", "out.svg"),
    ("report", "run"),
    ("audit", "slider", "--frames", "frames.npz", "--seed", "2", "--overlay", "seen", "--overlays", "1"),
    ("induce", "slider", "--sketch", "push+drag", "--traces", "traces.h5", "--out", "induced", "--seed", "1"),
    (*MOTION, "--frames", "2"),
    (
        "baseline",
        "worldcoder",
        "slider",
        "--model",
        "m",
        "--replay",
        "calls.jsonl",
        "--calls",
        "1",
        "--timeout",
        "3",
        "--out",
        "b",
    ),
    (
        "baseline",
        "worldcoder",
        "slider",
        "--model",
        "m",
        "--replay",
        "calls.jsonl",
        "--temperature",
        "1",
        "--max-tokens",
        "90",
        "--out",
        "b",
    ),
    (*ASK, "--calls", "1"),
    ("domains",),
    # No such domain: a suite takes minutes.
    ("bench", "smoke", "--out", "bench", "--domain", "slidr", "--workers", "1"),
    ("acquire", "slider", "--program", "nowhere.py", "--sketch", "push+drag", "--out", "better.py", "--tasks", "1"),
)


@dataclass(frozen=True)
class Arguments:
    """Commands whose words are damaged."""

    name: str = "arguments"
    weight: int = 8

    def mutate(self, folder: Path, rng: Random) -> tuple[str, Command]:
        """A command with one word that is another, gone, or one too many; files stay as they are."""
        words = list(rng.choice(COMMANDS))
        at = rng.randrange(1, len(words)) if len(words) > 1 else 0
        kind = rng.random()
        if kind < 0.8:
            words[at] = rng.choice((*NUMBERS, *PATHS, *TEXTS))
        elif kind < 0.9:
            del words[at]
        else:
            words.insert(at, rng.choice(("--nothing", "--json=1", "--", "-h", "--seed")))
        said = f"word {at} is {words[at] if at < len(words) else 'gone'!r:.40}"
        return said, (*words, *rng.choice(((), ("--json",))))


EVERYTHING: tuple[Kind | Arguments, ...] = (*FILES, *LOGS, Arguments())


def copy_inputs(pristine: Path, folder: Path) -> Path:
    """A fresh copy to damage."""
    return Path(shutil.copytree(pristine, folder))
