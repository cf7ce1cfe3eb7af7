"""Only a log, and no world to experiment in: read an HDF5 file in
the LeWM layout, and let errors on test episodes rank the forms.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import numpy as np

import visualpatchworld as vpw


def write_log(path: Path) -> None:
    """What another lab's script may have written: flat columns, one row per step, and the length of each episode."""
    rng, speed = np.random.default_rng(0), 5.0
    states, actions, lengths = [], [], []
    for _ in range(20):
        place = rng.uniform(40, 85, 2)  # in the left room, away from its walls for the most part
        for _ in range(40):
            action = rng.uniform(-1, 1, 2)
            states.append(place)
            actions.append(action)
            place = np.clip(place + speed * action, 21.0, [99.5, 203.0])
        lengths.append(40)
    with h5py.File(path, "w") as file:
        file["state"] = np.array(states, dtype=np.float32)
        file["action"] = np.array(actions, dtype=np.float32)
        file["ep_len"] = np.array(lengths)


world = vpw.load_domain("tworoom")
with TemporaryDirectory() as folder:
    write_log(Path(folder) / "log.h5")
    traces = vpw.load_traces(world, Path(folder) / "log.h5")
print(traces, "\n")

# Without experiments a form is named, not chosen; so name a few rivals and see which one foresees the test episodes.
ranking = {}
for sketch in ("linear+none", "linear+border-and-wall", "nonlinear+none"):
    found = vpw.induce(world, traces, sketch=sketch)
    ranking[sketch] = vpw.rollout_errors(world, found.program, traces)["agent_px"][25]["mean"], found
for sketch, (error, _) in sorted(ranking.items(), key=lambda item: item[1][0]):
    print(f"{error:8.3g} px after 25 steps: {sketch}")

best = min(ranking.values(), key=lambda item: item[0])[1]
print("\n", best, sep="")
