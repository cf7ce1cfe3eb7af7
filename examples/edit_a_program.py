"""A program is text: change a constant, change a line, and measure
what that did to its rollouts and to plans made with it.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import visualpatchworld as vpw

INDUCED = Path(__file__).parent.parent / "programs" / "tworoom" / "world_model.py"

world = vpw.load_domain("tworoom")
traces = vpw.collect(world, episodes=40, seed=1)
induced = vpw.load_program(world, INDUCED)

# A constant: what would be, if a step were half as long?
slower = induced.edited({"AGENT_SPEED": 2.5})

# A line: forget the walls. A person would do this in an editor, save, and load the file again.
line = next(line for line in induced.text.splitlines(keepends=True) if "= stop_at_walls(" in line)
with TemporaryDirectory() as folder:
    path = Path(folder) / "through_walls.py"
    path.write_text(induced.text.replace(line, ""))
    through_walls = vpw.load_program(world, path)

# Goals of other episodes often lie in the other room, so plans have to know of the wall.
elsewhere = vpw.Goals(of="other-episode")
for name, program in {"as induced": induced, "half as fast": slower, "through walls": through_walls}.items():
    error = vpw.rollout_errors(world, program, traces)["agent_px"][25]
    evaluation = vpw.evaluate(world, program, traces, tasks=20, goals=elsewhere)
    print(f"{name:>14}: mean error after 25 steps {error['mean']:8.3g} px, success {evaluation.success:5.1f} %")
