"""From a slider that moves to the ghost that is drawn anew: how
long that takes in a real browser, and what the page looks like.

    python benchmarks/live.py programs/pusht programs/worlds/Pendulum-v1          milliseconds, one line per program
    python benchmarks/live.py programs/pusht --pictures docs/images --out live.json

Needs a Chromium. The page itself takes the time, from the slider's event to the end of the drawing of the answer to it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from chromium import Tab, browser

TURNS = 60
WARM = 5  # first turns, which are not counted
READY = "window.live && document.querySelectorAll('.row').length > 0 && document.getElementById('where').textContent"
# Turns one dial to a place and waits for the drawing of the answer; the time in milliseconds.
TURN = """(async () => {
  const slider = document.querySelectorAll('.row input[type=range][step=any]')[%d], began = performance.now(), drawn = window.live.drawn;
  slider.value = Number(slider.min) + %f * (slider.max - slider.min);
  slider.dispatchEvent(new Event('input'));
  while (window.live.drawn === drawn) await new Promise(go => setTimeout(go, 0));
  return window.live.at - began;
})()"""


def main() -> None:
    options = _options()
    rows = []
    for program in options.programs:
        rows.append(measured(program, options))
        print(told(rows[-1]), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def measured(program: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One program: the times of many turns of a dial, and a plan where there is something to plan for."""
    command = [sys.executable, "-m", "visualpatchworld", "live", str(program), "--port", "0", "--json"]
    command += ["--horizon", str(options.horizon)] if options.horizon else []
    began = time.perf_counter()
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            assert running.stdout is not None
            told = json.loads(running.stdout.readline())
            ready = time.perf_counter() - began
            with browser(Path(folder) / "profile") as chromium, chromium.tab() as tab:
                tab.open(told["url"], dark=options.dark)
                tab.wait(READY)
                time.sleep(options.settle)
                shares = np.random.default_rng(0).uniform(0.3, 0.7, TURNS + WARM)
                turns = [tab.value(TURN % (options.dial, share)) for share in shares][WARM:]
                if options.pictures:
                    _picture(tab, program, options)
                assert tab.wrong == [], tab.wrong
        finally:
            running.terminate()
    quantiles = {f"p{q}_ms": round(float(np.percentile(turns, q)), 1) for q in (50, 90, 99)}
    return {"program": str(program), "world": told["world"], "turns": TURNS, "start_s": round(ready, 1), **quantiles}


def _picture(tab: Tab, program: Path, options: argparse.Namespace) -> None:
    """The page with one dial turned, late in the stretch, where imagined and true have parted."""
    tab.value(TURN % (options.dial, 0.58))
    tab.value(
        "(() => { const c = document.getElementById('cursor'); c.value = 0.85 * c.max | 0; "
        "c.dispatchEvent(new Event('input')); })()"
    )
    tab.value("document.activeElement.blur()")
    time.sleep(0.5)
    options.pictures.mkdir(parents=True, exist_ok=True)
    tab.picture(options.pictures / f"live-{program.name.lower()}{'-dark' if options.dark else ''}.png")


def told(row: dict[str, Any]) -> str:
    return (
        f"{row['world']}: {row['p50_ms']} ms in the median, {row['p90_ms']} ms at 90 %, "
        f"{row['p99_ms']} ms at 99 % of {row['turns']} turns"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path, help="programs or folders, as `vpw live` takes them")
    parser.add_argument("--dial", type=int, default=1, help="which of the sliders is turned")
    parser.add_argument("--horizon", type=int, help="steps that are imagined")
    parser.add_argument(
        "--settle", type=float, default=20.0, help="seconds in which the first plan is compiled in the background"
    )
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
