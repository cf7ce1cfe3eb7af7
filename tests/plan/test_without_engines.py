"""A program plans on a machine that has JAX and numpy but no
engine: what `benchmarks/speed.py --program-only` rests on.
"""

import json
import subprocess
import sys
from pathlib import Path

from toy_program import OBEYS

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
PLANS = """
import json, sys
from importlib.abc import MetaPathFinder

MISSING = {"gymnasium", "pymunk", "mujoco", "dm_control", "ogbench", "typer", "rich", "cv2", "h5py", "imageio", "matplotlib", "jinja2"}

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in MISSING:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
sys.path.insert(0, sys.argv[1])
import speed
from workload import Workload

workload = Workload(**json.load(sys.stdin))
speed.SAMPLES, speed.CANDIDATES = (10,), 4
print(json.dumps(speed.measure(workload, program_only=True, repeats=1)))
"""


def test_a_program_is_measured_where_no_engine_is_installed():
    workload = {
        "domain": "slider", "program": OBEYS.text, "cost_terms": [[[0], 0.1]], "planner_kind": "CEM",
        "planner": {"samples": 20, "iterations": 2, "elites": 2, "horizon": 3, "replan_every": 3, "init_std": 0.5}, "macros": [],
        "state": [0.0, 0.0], "goal": [0.3, 0.0], "engine_state": [0.0, 0.0], "action_dim": 1,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PLANS, str(BENCHMARKS)],
        input=json.dumps(workload),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert row["plan_s"]["median"] > 0
    assert row["steps_per_s"] > 0
    assert "plan_ratio" not in row
