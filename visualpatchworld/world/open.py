"""Opening a world, whatever a user brings: a name, a path, an environment,
or arrays; and living plans through in it or in copies of it.
"""

from __future__ import annotations

import difflib
import multiprocessing
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from jaxtyping import Float

from visualpatchworld.domain import Domain, find_domains, load_domain
from visualpatchworld.errors import BadTrace, VpwError
from visualpatchworld.simulator import Simulator
from visualpatchworld.world.environment import DmcWorld, GymWorld, is_dmc
from visualpatchworld.world.live import DomainWorld
from visualpatchworld.world.log import LogWorld, Recording, read_npz, recording_of_arrays, recording_of_lists
from visualpatchworld.world.log_table import INFO, Columns, read_csv, read_lerobot, read_parquet, recording_of_table
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import World

_KINDS = ("dmc", "minari", "lerobot")  # before a colon in a name
_TABLES, _HDF5 = (".csv", ".tsv", ".txt", ".parquet"), (".h5", ".hdf5")
_FILES = (".npz", *_TABLES, *_HDF5)


class UnknownWorld(VpwError):
    """Something that is no world, or a name that nobody knows."""


def open_world(
    world: Any, *, columns: Columns = Columns(), vary: Mapping[str, Any] | None = None, **settings: Any
) -> World:
    """The world behind a name, a path, an environment or arrays;
    `settings` go to `gymnasium.make`, `vary` to a domain's simulator.

    Example: `open_world("Pendulum-v1")`, `open_world(env)`, `open_world("log.csv", columns=Columns(action=("u",)))`
    """
    if isinstance(world, World):
        return world
    if isinstance(world, (str, Path)):
        return _named(str(world), columns, vary or {}, settings)
    if isinstance(world, Domain):
        return DomainWorld(world.make(vary), world.name, world.episode_steps)
    if isinstance(world, Simulator):
        return DomainWorld(world, type(world).__name__)
    if isinstance(world, gym.Env):
        inner = world.unwrapped
        return DomainWorld(inner, type(inner).__name__) if isinstance(inner, Simulator) else GymWorld(world)
    if isinstance(world, gym.vector.VectorEnv):
        raise UnknownWorld("A vector of environments is many worlds at once; give a single one.")
    if isinstance(world, EnvSpec):
        return GymWorld.made(world.id, **settings)
    if is_dmc(world):
        return DmcWorld(world)
    if isinstance(world, type) or callable(world):
        raise UnknownWorld(
            f"Give an environment, not {getattr(world, '__name__', 'the function')} that makes one: call it first."
        )
    return _log(_in_memory(world, columns), "the arrays", columns)


def module_of(name: str) -> str | None:
    """The module that opening a world of this name imports: `mine` for `mine:Env-v0`; None for any other name."""
    module, colon, rest = name.partition(":")
    if not colon or not rest or module in _KINDS or Path(name).is_file():
        return None
    return module


def _in_memory(world: Any, columns: Columns) -> Recording:
    if isinstance(world, Trajectory):
        world = [world]
    if isinstance(world, Mapping):
        return recording_of_arrays(world, "the arrays")
    if hasattr(world, "columns") and hasattr(world, "__getitem__"):  # a data frame
        return recording_of_table({str(key): np.asarray(world[key]) for key in world.columns}, "the table", columns)
    if isinstance(world, Sequence) and world and all(isinstance(one, Trajectory) for one in world):
        return Recording(tuple(world))
    if isinstance(world, Sequence) and 2 <= len(world) <= 3 and all(_is_arrays(part) for part in world):
        observations, actions, *rest = world
        if isinstance(observations, (list, tuple)) and observations and np.ndim(observations[0]) == 2:
            return recording_of_lists(observations, actions, rest[0] if rest else None, "the arrays")
        parts = {"observations": observations, "actions": actions} | ({"rewards": rest[0]} if rest else {})
        return recording_of_arrays(parts, "the arrays")
    raise UnknownWorld(
        f"{type(world).__name__} is no world: give a Gymnasium id or environment, a dm_control task, "
        "a path, or (observations, actions)."
    )


def _is_arrays(part: Any) -> bool:
    return isinstance(part, (np.ndarray, list, tuple)) or hasattr(part, "__array__")


def kinds_of(name: str) -> frozenset[str]:
    """What a world of this name is, without opening it: a `domain`, an `environment` or a `log`;
    of a log also whether it is a `table` or `HDF5`, which need not say what their columns are.
    """
    path = Path(name)
    suffix = path.suffix.lower()
    if name.partition(":")[0] == "dmc":
        return frozenset({"environment"})
    if name.partition(":")[0] in ("minari", "lerobot"):
        return frozenset({"log"})
    if suffix in _FILES or path.is_file():
        more = {"table"} if suffix in _TABLES else {"HDF5"} if suffix in _HDF5 else set()
        return frozenset({"log", *more})
    if name in find_domains():
        return frozenset({"domain"})
    return frozenset({"log"} if path.is_dir() and name not in gym.registry else {"environment"})


def _named(name: str, columns: Columns, vary: Mapping[str, Any], settings: Mapping[str, Any]) -> World:
    kind, _, rest = name.partition(":")
    _check_settings(name, columns, vary, settings)
    if kind == "dmc":
        return DmcWorld.made(name)
    if kind == "minari":
        from visualpatchworld.world.log_hdf5 import read_minari

        return _log(read_minari(rest), name, columns)
    if kind == "lerobot":
        return _log(_folder(Path(rest)), Path(rest).name or name, columns)
    path = Path(name)
    if path.suffix.lower() in _FILES or path.is_file():
        return _log(_file(path, columns), path.name, columns)
    if name in find_domains():
        domain = load_domain(name)
        return DomainWorld(domain.make(vary), name, domain.episode_steps)
    # A run's own folder may bear the name of its environment.
    if path.is_dir() and name not in gym.registry:
        return _log(_folder(path), path.name or name, columns)
    return _gym(name, settings)


def _check_settings(name: str, columns: Columns, vary: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse what would change nothing in a world of this name."""
    kinds = kinds_of(name)
    asked = {part for part in ("action", "state", "episode", "dt") if getattr(columns, part) is not None}
    fit = {"table": asked, "HDF5": {"state", "dt"}, "log": {"dt"}}
    unfit = sorted(asked - set().union(*(fit.get(kind, set()) for kind in kinds)))
    if unfit:
        told = "which column is what" if "log" in kinds else "what the columns of a log are"
        raise UnknownWorld(f"'{name}' needs no word on {told}; leave out {', '.join(unfit)}.")
    if vary and "domain" not in kinds:
        raise UnknownWorld(f"'{name}' is not a domain, so it has no constants that could be varied.")
    if settings and "environment" not in kinds:
        raise UnknownWorld(f"'{name}' is not made by Gymnasium and takes no settings; leave out {', '.join(settings)}.")


def _log(recording: Recording, name: str, columns: Columns) -> LogWorld:
    """The log; how long a step takes is believed of who asks before what the file says."""
    return LogWorld(recording if columns.dt is None else replace(recording, dt=columns.dt), name)


def _file(path: Path, columns: Columns) -> Recording:
    if not path.is_file():
        raise BadTrace(f"There is no file '{path}'.")
    suffix = path.suffix.lower()
    try:
        if suffix == ".npz":
            return read_npz(path)
        if suffix in (".csv", ".tsv", ".txt"):
            return read_csv(path, columns)
        if suffix == ".parquet":
            return read_parquet(path, columns)
        if suffix in (".h5", ".hdf5"):
            from visualpatchworld.world.log_hdf5 import read_hdf5

            return read_hdf5(path, tuple(columns.state or ()))
    except PermissionError:
        raise BadTrace(f"'{path}' is not for us to open.") from None
    raise BadTrace(f"'{path}' is no kind of log that is known; those are {', '.join(_FILES)}.")


def _folder(path: Path) -> Recording:

    if (path / "data" / "main_data.hdf5").is_file():
        from visualpatchworld.world.log_hdf5 import read_minari

        return read_minari(str(path))
    if not path.is_dir():
        raise BadTrace(f"There is no folder '{path}'.")
    if not (path / INFO).is_file():
        raise BadTrace(
            f"The folder '{path}' is neither a LeRobot folder (meta/info.json) nor a Minari one (data/main_data.hdf5)."
        )
    return read_lerobot(path)


def _gym(name: str, settings: Mapping[str, Any]) -> World:
    try:
        return GymWorld.made(name, **settings)
    except VpwError:
        raise
    except ModuleNotFoundError as error:
        raise UnknownWorld(f"Cannot import '{error.name or name.partition(':')[0]}', which '{name}' needs.") from None
    except gym.error.DependencyNotInstalled as error:
        raise UnknownWorld(f"'{name}' needs a package that is not installed: {str(error).strip()}") from None
    except gym.error.Error as error:
        known = [*find_domains(), *gym.registry]
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        lower = {one.lower(): one for one in known}
        close = close or [lower[one] for one in difflib.get_close_matches(name.lower(), lower, n=3, cutoff=0.4)]
        hint = f"; near it: {', '.join(close)}" if close else ""
        reason = (
            "" if isinstance(error, (gym.error.NameNotFound, gym.error.UnregisteredEnv)) else f" ({str(error).strip()})"
        )
        raise UnknownWorld(
            f"No world '{name}'{reason}: it is no domain, no Gymnasium id{hint}. A task of dm_control is "
            "dmc:DOMAIN/TASK, a log is a path."
        ) from None
    except Exception as error:  # whatever somebody's environment raises when it is made
        raise UnknownWorld(f"'{name}' cannot be made: {type(error).__name__}: {str(error).strip()}.") from None


# Snapshot, candidates, steps that remain -> returns.
Live = Callable[[Any, Float[np.ndarray, "K H A"], int], Float[np.ndarray, " K"]]

_copy: World  # of a process that has one


def living_in(world: World) -> Live:
    """Candidates lived through in this very world."""
    return lambda here, actions, remaining: np.array([_lived(world, here, sequence, remaining) for sequence in actions])


@contextmanager
def living_in_copies(name: str, workers: int) -> Iterator[Live]:
    """The same in so many copies of the world of this name."""
    starting = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=starting, initializer=_open, initargs=(name,)) as pool:

        def live(here: Any, actions: Float[np.ndarray, "K H A"], remaining: int) -> Float[np.ndarray, " K"]:
            told, parts = pickle.dumps(here), np.array_split(actions, workers)
            return np.concatenate(list(pool.map(_lived_apart, [told] * len(parts), parts, [remaining] * len(parts))))

        yield live


def _open(name: str) -> None:
    global _copy
    _copy = open_world(name)
    _copy.reset(0)


def _lived_apart(told: bytes, actions: Float[np.ndarray, "K H A"], remaining: int) -> Float[np.ndarray, " K"]:
    here = pickle.loads(told)
    return np.array([_lived(_copy, here, sequence, remaining) for sequence in actions])


def _lived(world: World, here: Any, actions: Float[np.ndarray, "H A"], remaining: int) -> float:
    world.restore(here)
    earned = 0.0
    for action in actions[:remaining]:
        outcome = world.step(action)
        earned += outcome.reward
        if outcome.terminated or outcome.truncated:
            break
    return earned
