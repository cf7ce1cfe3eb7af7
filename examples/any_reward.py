"""Reward and end as code: found from what was paid, then edited, then planned with."""

import visualpatchworld as vpw

found = vpw.induce("MountainCarContinuous-v0", seed=0)
print(found.reward.function())
print(found.ends.function())

# The program is text: let reaching the goal be all that counts, and see what a planner makes of it.
text = found.program.text.replace(found.reward.expression, "100.0 * np.where(terminated(next_state), 1.0, 0.0) - 1.0")
for name, program in {"as found": found.program, "in a hurry": vpw.Program(text)}.items():
    earned = vpw.evaluate_return("MountainCarContinuous-v0", program, episodes=2, seed=1).report
    print(f"{name}: return {earned['return_mean']:.1f}, random actions {earned['random_return']:.1f}")
