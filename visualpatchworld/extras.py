"""Packages that only some worlds and verbs need: loaded when they are first used;
where one is missing, a sentence says how to get it.

`from visualpatchworld.extras import cv2` is always fine; using `cv2` where it is not installed raises `MissingExtra`.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import TYPE_CHECKING, Any

from visualpatchworld.errors import MissingExtra

if TYPE_CHECKING:
    import cv2 as cv2
    import h5py as h5py
    import hdf5plugin as hdf5plugin
    import mujoco as mujoco
    import pymunk as pymunk

# What pyproject.toml lists under [project.optional-dependencies], by the names they are imported with.
EXTRAS = {
    "hdf5": ("h5py", "hdf5plugin"),
    "parquet": ("pyarrow",),
    "mujoco": ("mujoco", "dm_control", "ogbench"),
    "pymunk": ("pymunk",),
    "vision": ("cv2", "PIL"),
    "films": ("imageio",),
    "report": ("jinja2", "markupsafe", "matplotlib", "pygments"),
    "live": ("websockets",),
    "dask": ("distributed",),
    "rerun": ("rerun",),
}
_EXTRA_OF = {package: extra for extra, packages in EXTRAS.items() for package in packages}
# Blosc, with which trace files are packed, is known to HDF5 once this is imported.
_COMPANIONS = {"h5py": ("hdf5plugin",)}


def need(extra: str) -> None:
    """Raise `MissingExtra` unless all packages of an extra are installed; none is imported."""
    for package in EXTRAS[extra]:
        if importlib.util.find_spec(package) is None:
            raise _missing(package)


class _Package(ModuleType):
    """A package that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # whoever looks at a module from outside does not want it loaded
        package = _imported(self.__name__)
        if not hasattr(package, name):
            importlib.import_module(f"{self.__name__}.{name}")
        value = getattr(package, name)
        setattr(self, name, value)
        return value


def _imported(name: str) -> ModuleType:
    try:
        for companion in _COMPANIONS.get(name, ()):
            importlib.import_module(companion)
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).partition(".")[0]
        raise _missing(missing if missing in _EXTRA_OF else name) from error


def _missing(package: str) -> MissingExtra:
    return MissingExtra(
        f"This needs the package '{package}', which is not installed: run `{install_command(_EXTRA_OF[package])}`."
    )


def install_command(extra: str) -> str:
    """What installs an extra."""
    return f"pip install 'visualpatchworld[{extra}]'"


def __getattr__(name: str) -> ModuleType:
    if name not in _EXTRA_OF:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    package = globals()[name] = _Package(name)
    return package
