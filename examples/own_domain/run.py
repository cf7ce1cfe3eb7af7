"""A world of one's own: the folder `puck` beside this file is found through VPW_DOMAINS, probed, induced and planned in."""

import os
from pathlib import Path

os.environ["VPW_DOMAINS"] = str(Path(__file__).parent)  # what you would export in your shell

import visualpatchworld as vpw

world = vpw.load_domain("puck")
print(world, "\n")

print("Which form explains short experiments?")
print(vpw.probe(world), "\n")

traces = vpw.collect(world, episodes=15, seed=0)
found = vpw.induce(world, traces)
print(found, "\n")

simulator = world.constants  # the answer, which induction was not told
print(f"True: push {simulator.push} m/s^2, friction {simulator.friction} m/s^2, a step of 0.1 s\n")  # pyright: ignore

print(found.program.text)
print(vpw.evaluate(world, found.program, traces, tasks=10))
