"""The core works without any extra, and a missing package is one sentence with the command that installs it."""

import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import visualpatchworld
from visualpatchworld import extras
from visualpatchworld.errors import MissingExtra

PROJECT = Path(visualpatchworld.__file__).parent.parent / "pyproject.toml"
# Whatever is no part of the core is hidden, as if it had never been installed; rich brings pygments along.
HIDE = f"""
import sys
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(set(extras._EXTRA_OF) - {"pygments"})}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Finder())
"""
LEARNS_AND_PLANS = """
import gymnasium as gym
import numpy as np
import visualpatchworld as vpw
from visualpatchworld.plan.return_search import ReturnPlanner

rng = np.random.default_rng(0)
actions = rng.uniform(-1, 1, (8, 40, 1))
observations = np.concatenate([np.zeros((8, 1, 1)), np.cumsum(0.37 * actions, axis=1)], axis=1)
found = vpw.induce((observations, actions, -np.abs(observations[:, 1:, 0] - 2)))
print(found.program.text)
env = vpw.as_env(found.program, starts=[[0.0]], action_space=gym.spaces.Box(-1, 1, (1,)), time_limit=10)
report = vpw.evaluate_return(env, found.program, ReturnPlanner(horizon=5, samples=64, rounds=2), episodes=1).report
assert report["return_mean"] > report["random_return"]
"""
COMMAND_LINE = "from visualpatchworld.cli import main; main()"


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HIDE + code, *arguments], capture_output=True, text=True, check=False)


def test_the_core_induces_from_arrays_prints_and_plans():
    done = run(LEARNS_AND_PLANS)
    assert done.returncode == 0, done.stderr
    assert "def step" in done.stdout


@pytest.mark.parametrize("arguments", [("--help",), ("domains",)])
def test_the_command_line_speaks_without_extras(arguments: tuple[str, ...]):
    done = run(COMMAND_LINE, *arguments)
    assert done.returncode == 0, done.stderr


def test_a_missing_package_is_one_sentence_with_the_command():
    done = run(COMMAND_LINE, "look", "dmc:cartpole/swingup")
    assert done.returncode == 2
    assert done.stderr.endswith("run `pip install 'visualpatchworld[mujoco]'`.\n")
    assert done.stderr.count("\n") == 1


def test_every_extra_is_declared_and_part_of_all():
    declared = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(extras.EXTRAS) < set(declared)
    everything = re.search(r"\[(.*)\]", declared["all"][0])
    assert everything is not None
    assert set(everything[1].split(",")) == set(declared) - {"all", "dev", "docs"}


def test_a_package_is_loaded_when_something_of_it_is_used(monkeypatch: pytest.MonkeyPatch):
    assert extras.h5py.File.__name__ == "File"
    assert extras.imageio.v3.__name__ == "imageio.v3"
    monkeypatch.setitem(extras._EXTRA_OF, "no_such_package", "vision")
    with pytest.raises(
        MissingExtra, match=r"'no_such_package', which is not installed: run `pip install 'visualpatchworld\[vision\]'`"
    ):
        _ = extras._Package("no_such_package").something


def test_lower_bounds_are_the_oldest_versions_that_are_tested():
    told = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    asked = [*told["dependencies"], *itertools.chain(*told["optional-dependencies"].values())]
    bounds = dict(re.findall(r"^([\w-]+)(?:\[\w+\])?>=([\d.]+)", "\n".join(asked), re.MULTILINE))
    lock = PROJECT.with_name("requirements-oldest.lock").read_text(encoding="utf-8")
    tested = dict(re.findall(r"^([\w-]+)==([\d.]+)$", lock, re.MULTILINE))
    tested = {name.lower(): version for name, version in tested.items()}
    core = {re.split("[>=]", one)[0] for one in told["dependencies"]}
    assert core <= tested.keys()
    for name, bound in bounds.items():
        version = tested.get(name.lower(), bound)
        assert f"{version}.".startswith(f"{bound}."), f"{name} may be {bound}, but {version} is tested"
