"""The world changes: the old program fails, one induced from episodes of the new world works."""

from pathlib import Path

import visualpatchworld as vpw

INDUCED = Path(__file__).parent.parent / "programs" / "tworoom" / "world_model.py"

world = vpw.load_domain("tworoom")
old = vpw.load_program(world, INDUCED)

# The door is elsewhere, and the distance grows with the cube of the action; `vpw domains` lists what can be varied.
# Traces remember which world they are of: inducing from them experiments there, evaluating on them acts there.
changed = vpw.collect(world, episodes=40, seed=0, vary={"door_center": 170.0, "transport": "cubic"})
new = vpw.induce(world, changed)

for name, program in {"old program": old, "new program": new.program}.items():
    error = vpw.rollout_errors(world, program, changed)["agent_px"][25]
    evaluation = vpw.evaluate(world, program, changed, tasks=15, offset=40)
    print(f"{name}: mean error after 25 steps {error['mean']:.3g} px, success {evaluation.success:.1f} %")

print(f"\nThe form now: {new.sketch.name}")
print("What the old program does not have:")
for name, value in new.program.constants.items():
    if value not in old.constants.values():
        print(f"  {name} = {value}")
