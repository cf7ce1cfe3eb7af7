"""A world of one's own: the folder `puck` beside this file is found through VPW_DOMAINS, probed, induced and planned in."""

import os
from pathlib import Path

os.environ["VPW_DOMAINS"] = str(Path(__file__).parent)  # what you would export in your shell

import visualpatchworld as vpw

world = vpw.load_domain("puck")
print(world, "\n")

traces = vpw.collect(world, episodes=15, seed=0)
found = vpw.induce(world, traces)
print("Which form explains short experiments?")
print(found.evidence, "\n")
print(found, "\n")

print("The answer, which induction was not told:", world.constants, "\n")

print(found.program.text)
print(vpw.evaluate(world, found.program, traces, tasks=10))
