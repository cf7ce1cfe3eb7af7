"""Makes the scripts and packages of benchmarks/ importable; they come last, so that they hide no module of the tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
