"""Steps per second of a program against its simulator, measured in one run.

Usage: python benchmarks/rollout_speed.py DOMAIN PROGRAM.py [--candidates 600] [--horizon 25]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from visualpatchworld.domain import load_domain
from visualpatchworld.program.batch import compile_rollouts, spread_over_cores
from visualpatchworld.program.program import load_program

REPEATS = 15
ENGINE_SEQUENCES = 12  # per repeat; enough steps for a steady rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("domain")
    parser.add_argument("program", type=Path)
    parser.add_argument("--candidates", type=int, default=600)
    parser.add_argument("--horizon", type=int, default=25)
    options = parser.parse_args()

    spread_over_cores(os.cpu_count() or 1)
    domain = load_domain(options.domain)
    program = load_program(options.program, domain.scene.state_space, domain.layout.action.width)
    simulator = domain.make()
    state, _ = simulator.reset(seed=0)
    start = simulator.get_state()
    actions = np.random.default_rng(0).uniform(-1, 1, (options.candidates, options.horizon, simulator.action_dim))

    began = time.perf_counter()
    run = compile_rollouts(program)
    run(state, actions).block_until_ready()
    compile_s = time.perf_counter() - began

    # Alternate, so that whatever else the machine does falls on both alike.
    program_rates, engine_rates = [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run(state, actions).block_until_ready()
        program_rates.append(options.candidates * options.horizon / (time.perf_counter() - began))
        began = time.perf_counter()
        for sequence in actions[:ENGINE_SEQUENCES]:
            simulator.set_state(start)
            for action in sequence:
                simulator.advance(action)
        engine_rates.append(ENGINE_SEQUENCES * options.horizon / (time.perf_counter() - began))
    ratios = np.array(program_rates) / np.array(engine_rates)
    print(f"{domain.name}: program {np.median(program_rates):,.0f} steps/s, engine in one process {np.median(engine_rates):,.0f} steps/s")
    print(f"ratio: median {np.median(ratios):.0f}, {ratios.min():.0f} to {ratios.max():.0f} over {REPEATS} runs; compile {compile_s:.1f} s")


if __name__ == "__main__":
    main()
