"""From nothing to a program that plans: 30 episodes of Two-room,
experiments, a fit, the program's text, and ten tasks.
"""

import visualpatchworld as vpw

world = vpw.load_domain("tworoom")
traces = vpw.collect(world, episodes=30, seed=0)
print(world, traces, sep="\n", end="\n\n")

# Level 1 chooses the form by experiments, level 2 fits its constants to all episodes but the last fifth.
found = vpw.induce(world, traces)
print(found.evidence, end="\n\n")
print(found, end="\n\n")
print(found.program.text)

# Goals are 25 steps ahead in the test episodes, the last fifth; acting is in the true world, planning in the program.
print(vpw.evaluate(world, found.program, traces, tasks=10))
