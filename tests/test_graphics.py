"""Which OpenGL library is taken, and the one sentence when there is none."""

import ctypes.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from visualpatchworld import graphics
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import MissingGraphics


@pytest.mark.parametrize(
    ("present", "wanted", "chosen"),
    [
        ({"EGL", "GL", "OSMesa"}, None, "egl"),
        ({"OSMesa"}, None, "osmesa"),
        ({"EGL"}, None, "disable"),
        (set(), None, "disable"),
        ({"EGL", "GL", "OSMesa"}, "osmesa", "osmesa"),
        (set(), "egl", "disable"),
        (set(), "glfw", "glfw"),
    ],
)
def test_choice(monkeypatch: pytest.MonkeyPatch, present: set[str], wanted: str | None, chosen: str):
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: f"lib{name}.so" if name in present else None)
    assert graphics.choose_library(wanted) == chosen


def test_a_context_that_can_not_be_made_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    def fail(*_):
        raise RuntimeError("no display")

    monkeypatch.setattr(graphics.mujoco, "GLContext", fail)
    with pytest.raises(MissingGraphics, match=r"run `sudo apt-get install -y libegl1 .*`\.$"):
        load_domain("reacher").make().render()


@pytest.mark.parametrize("name", ["reacher", "cube"])
def test_physics_needs_no_graphics(name: str):
    script = f"""
import ctypes.util
find = ctypes.util.find_library
ctypes.util.find_library = lambda name: None if name in ("EGL", "GL", "OSMesa") else find(name)
from visualpatchworld.domain import load_domain
from visualpatchworld.errors import MissingGraphics
simulator = load_domain({name!r}).make()
simulator.reset(seed=0)
print(simulator.step(simulator.action_space.sample() * 0)[0].tolist())
try:
    simulator.render()
except MissingGraphics as error:
    print(error)
"""
    environment = {key: value for key, value in os.environ.items() if key not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    state, sentence = done.stdout.splitlines()
    simulator = load_domain(name).make()
    simulator.reset(seed=0)
    np.testing.assert_allclose(json.loads(state), simulator.step(np.zeros(simulator.action_dim))[0], atol=1e-12)
    assert "apt-get install" in sentence
    assert not done.stderr
