"""MuJoCo and its offscreen pictures: which OpenGL library draws them, and one sentence when there is none."""

# MuJoCo's names come from compiled modules, which pyright can not look into.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import atexit
import ctypes.util
import os
import weakref

import numpy as np
from jaxtyping import UInt8

from visualpatchworld.errors import MissingGraphics
from visualpatchworld.extras import mujoco as mujoco

INSTALL = "sudo apt-get install -y libegl1 libgl1 libgles2 libegl-mesa0 libgl1-mesa-dri"
# MuJoCo's name for a way to draw without a screen, and the libraries that PyOpenGL loads for it;
# the first that is there is taken.
LIBRARIES = {"egl": ("EGL", "GL"), "osmesa": ("OSMesa",)}
NONE = "disable"


def choose_library(wanted: str | None) -> str:
    """The value of MUJOCO_GL: what the user wants where its libraries are there, else the first way that can work."""
    if wanted and wanted not in LIBRARIES:
        return wanted
    names = [wanted] if wanted else list(LIBRARIES)
    return next((name for name in names if all(map(ctypes.util.find_library, LIBRARIES[name]))), NONE)


# MuJoCo reads the choice when it is imported, so everything here takes MuJoCo from this module.
os.environ["MUJOCO_GL"] = choose_library(os.environ.get("MUJOCO_GL"))


class OffscreenCamera:
    """A camera of a MuJoCo model that takes square pictures of `size_px`."""

    def __init__(self, model: mujoco.MjModel, name: str, size_px: int):
        self._model = model
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._camera.fixedcamid = model.camera(name).id
        self._options = mujoco.MjvOption()
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._frame = mujoco.MjrRect(0, 0, size_px, size_px)
        model.vis.global_.offwidth = model.vis.global_.offheight = size_px
        self._gl = _gl_context(size_px)
        self._gl.make_current()
        self._target = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._target)
        # At exit, too: the OpenGL display closes after this, and what is freed later complains.
        atexit.register(weakref.finalize(self, _free, self._gl, self._target))

    def picture(self, data: mujoco.MjData) -> UInt8[np.ndarray, "size size 3"]:
        """What the camera sees; positions must be up to date."""
        self._gl.make_current()
        mujoco.mjv_updateScene(
            self._model, data, self._options, None, self._camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        mujoco.mjr_render(self._frame, self._scene, self._target)
        image = np.empty((self._frame.height, self._frame.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, self._frame, self._target)
        return np.ascontiguousarray(image[::-1])


def _gl_context(size_px: int):
    try:
        return mujoco.GLContext(size_px, size_px)
    except Exception as error:  # each OpenGL library fails in its own way
        raise MissingGraphics(
            f"Pictures need an OpenGL library, and none works on this machine: run `{INSTALL}`."
        ) from error


def _free(gl, target: mujoco.MjrContext) -> None:
    """Free what one camera holds; without its own context current, another camera's textures would go."""
    gl.make_current()
    target.free()
    gl.free()
