"""All baselines on all domains against one model: a cell that is done is skipped, a cell that was interrupted goes on from its recording.

python benchmarks/baselines.py --endpoint http://127.0.0.1:8081/v1 --model NAME --out runs/baselines [--calls 8] [--traces DIR]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from visualpatchworld.baselines.run import find_methods
from visualpatchworld.domain import find_domains

VPW = [sys.executable, "-c", "from visualpatchworld.cli import main; main()"]


def cells() -> list[tuple[str, str]]:
    """Every (method, domain) once, so ordered that each round has every domain with another method."""
    methods, domains = list(find_methods()), list(find_domains())
    return [(methods[(turn + i) % len(methods)], domain) for turn in range(len(methods)) for i, domain in enumerate(domains)]


def main() -> None:
    """Run what is not done yet, one cell after another, and say how each went."""
    parser = argparse.ArgumentParser(description="All baselines on all domains against one model.")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--calls", default="8")
    parser.add_argument("--max-tokens", default="700")
    parser.add_argument("--prompt-tokens", default="1300")
    parser.add_argument("--traces", type=Path, help="folder with DOMAIN.h5; collected into --out when not given")
    options = parser.parse_args()
    traces = options.traces or options.out
    options.out.mkdir(parents=True, exist_ok=True)
    for method, domain in cells():
        folder, file = options.out / f"{method}-{domain}", traces / f"{domain}.h5"
        if (folder / "search.json").exists():
            continue
        if not file.exists():
            subprocess.run([*VPW, "collect", domain, "--episodes", "50", "--out", str(file)], check=True)
        began = time.perf_counter()
        arguments = ["--endpoint", options.endpoint, "--model", options.model, "--calls", options.calls, "--traces", str(file)]
        arguments += ["--max-tokens", options.max_tokens, "--prompt-tokens", options.prompt_tokens, "--timeout", "900"]
        run = subprocess.run([*VPW, "baseline", method, domain, *arguments, "--out", str(folder), "--json"], capture_output=True, text=True)
        told = json.loads(run.stdout) if run.returncode == 0 else {"failed": run.stderr.strip()[-300:]}
        kept = {key: told[key] for key in ("score", "num_candidates", "num_loadable", "calls", "tokens_answered", "failed") if key in told}
        print(json.dumps({"method": method, "domain": domain, **kept, "seconds": round(time.perf_counter() - began)}), flush=True)


if __name__ == "__main__":
    main()
