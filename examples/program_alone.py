"""The program without the package: a file, numpy, and thirty lines of planning.

Nothing of visualpatchworld is imported here.
"""

import importlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

INDUCED = Path(__file__).parent.parent / "programs" / "tworoom" / "world_model.py"

with TemporaryDirectory() as folder:
    # The one change a program needs to run under numpy, which its own import line offers.
    text = INDUCED.read_text().replace("import jax.numpy as np", "import numpy as np")
    (Path(folder) / "world_model.py").write_text(text)
    sys.path.insert(0, folder)
    world_model = importlib.import_module("world_model")

State, step = world_model.State, world_model.step


def roll(start: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """K action sequences (K H A) at once: a state's fields may as well be arrays of K numbers."""
    state, states = State(*np.repeat(start[:, None], len(actions), axis=1)), []
    for action in actions.transpose(1, 2, 0):
        state = step(state, action)
        states.append(np.stack(state, axis=-1))
    return np.stack(states, axis=1)


def plan(start: np.ndarray, goal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cross-entropy search over 40 steps: draw, keep the best tenth, draw around those."""
    mean, spread = np.zeros((40, 2)), np.ones((40, 2))
    for _ in range(15):
        actions = np.clip(mean + spread * rng.normal(size=(500, 40, 2)), -1, 1)
        distance = np.linalg.norm(roll(start, actions) - goal, axis=-1).min(axis=1)
        best = actions[np.argsort(distance)[:50]]
        mean, spread = best.mean(axis=0), best.std(axis=0)
    return mean


# Straight ahead is a wall; the door is further up.
start, goal = np.array([70.0, 90.0]), np.array([150.0, 90.0])
actions = plan(start, goal, np.random.default_rng(0))
way = roll(start, actions[None])[0]
nearest = np.linalg.norm(way - goal, axis=1).min()
print("The plan, every fifth step:", *(f"({x:.0f}, {y:.0f})" for x, y in way[::5]))
print(f"It comes within {nearest:.1f} px of the goal behind the wall.")

assert not {"visualpatchworld", "jax"} & set(sys.modules)
