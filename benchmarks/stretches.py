"""A stretch of every measured world beside what its program imagines,
for `vpw report --worlds`; stretches of programs that stay are kept.

Usage: python benchmarks/stretches.py [--only Pendulum-v1 ...]

One file per program goes to results/worlds/stretches, named by the program's hash.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lines import plain

from visualpatchworld.errors import VpwError
from visualpatchworld.files import write_text
from visualpatchworld.program.program import read_program
from visualpatchworld.report.recording import check
from visualpatchworld.world.open import open_world

ROOT = Path(__file__).parents[1]
SEED = 7
DIGITS = 5  # of numbers that are only drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", metavar="WORLD")
    options = parser.parse_args()
    folder = ROOT / "results" / "worlds" / "stretches"
    lines = [json.loads(line) for line in (ROOT / "results" / "worlds" / "worlds.jsonl").open(encoding="utf-8")]
    measured = [line for line in lines if line["ok"] and (not options.only or line["name"] in options.only)]
    for line in measured:
        path = ROOT / "programs" / line["program"]
        program = read_program(path)
        kept = folder / f"{program.hash}.json"
        if kept.is_file():
            continue
        try:
            seen = check(program, open_world(line["name"]), [field["name"] for field in line["fields"]], SEED)
        except VpwError as error:
            print(f"{line['name']}: {error}", flush=True)
            continue
        for of in ("true", "imagined"):
            seen[of] = [[float(f"{value:.{DIGITS}g}") for value in row] for row in seen[of]]
        write_text(kept, json.dumps(plain(seen)) + "\n")
        print(f"{line['name']}: {seen['steps']} steps", flush=True)
    if not options.only:
        hashes = {line["program_hash"] for line in measured}
        for path in folder.glob("*.json"):
            if path.stem not in hashes:
                path.unlink()


if __name__ == "__main__":
    main()
