"""What a domain folder offers, how domains are found, and each of them as a Gymnasium environment."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from visualpatchworld import domains as _bundled
from visualpatchworld.errors import BadDomain, MissingExtra, UnknownName
from visualpatchworld.laws.form import Family
from visualpatchworld.laws.rules import propose
from visualpatchworld.laws.scene import Scene
from visualpatchworld.plan.planner import Planner
from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import SceneTemplate
from visualpatchworld.scene.tool.look import Look
from visualpatchworld.simulator import Constants, Simulator
from visualpatchworld.trace.layout import TraceLayout

PAPER, DEFAULT = "paper", "default"  # names of planners that every domain has
DOMAINS_VARIABLE = "VPW_DOMAINS"  # folders with further domains, separated as in PATH

# act() returns the next action, or None when the episode is over.
Policy = Callable[[], np.ndarray | None]
# A distance of predicted states to true ones, lower is better: two arrays of shape (..., S) to one of shape (...).
Quantity = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Whether states meet goals: two arrays of shape (..., S) to a boolean one of shape (...).
Metric = Callable[[np.ndarray, np.ndarray], np.ndarray]
# What a future costs, lower is better: states (*B H S) and a goal (S), or one for every state where it moves or only some fields count,
# to an array of shape (*B); take differences as `(states - goal)[..., i]`. Written with operators and array methods alone, so that numpy
# and JAX arrays both do.
Cost = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Domain:
    """A world, how its scenes and traces look, how data is gathered in it, and how success and error are measured."""

    name: str
    title: str
    engine: str
    challenge: str
    gym_id: str
    simulator: Callable[..., Simulator]  # called with (constants)
    constants: Constants  # the nominal ones
    scene: SceneTemplate
    look: Look
    layout: TraceLayout
    policy: Callable[[Any, np.random.Generator], Policy]  # called with (simulator of this domain, rng)
    episode_steps: int
    metrics: Mapping[str, Metric]  # the first is the main one
    quantities: Mapping[str, Quantity]
    probe_tolerances: Mapping[str, float]  # largest error of a quantity with which a probe counts as explained
    transition_tolerances: Mapping[str, float]  # largest error of a quantity with which one predicted step counts as right
    horizon: int  # steps that programs are fitted to foresee
    cost: Cost  # what a planner minimises
    planner: Planner  # frozen: the same for every scoring model
    budget_per_offset: int  # steps a task allows for each step that lies between its start and its goal
    # How far states are from meeting goals, by metric and in success radii: below 1 they do, or below a tolerance that is given.
    goal_distances: Mapping[str, Quantity] = field(default_factory=dict)
    # What the planners below minimise, by metric: in success radii, and never less than the least distance on the way.
    goal_costs: Mapping[str, Cost] = field(default_factory=dict)
    planners: Mapping[str, Planner] = field(default_factory=dict)  # by name; `default` is what users get
    far_budget: int = 200  # steps allowed where a goal has nothing to do with the start
    # What of all this is different in a world with these constants: the state, say, where they add an object.
    variant: Callable[[Any], Mapping[str, Any]] = lambda constants: {}

    def __repr__(self) -> str:
        state = ", ".join(f"{field.name} ({field.unit})" for field in self.scene.state_space)
        actions = f"{self.layout.action.width} numbers per action"
        return f"<Domain {self.name}: {self.title}, {self.challenge}, on {self.engine}; state {state}; {actions}>"

    def planner_named(self, name: str) -> Planner:
        """The planner of that name: `paper` is the frozen one, `default` what users get."""
        known = {PAPER: self.planner, DEFAULT: self.planner, **self.planners}
        if name not in known:
            raise UnknownName("planner", name, known)
        return known[name]

    def cost_for(self, planner: str, metric: str) -> Cost:
        """What the planner of that name minimises."""
        return self.cost if planner == PAPER else self.goal_costs.get(metric, self.cost)

    def meets(self, metric: str, tolerance: float = 1.0) -> Metric:
        """Whether states meet goals with the success radius scaled; where a goal has no number, whatever the state has there is right."""
        if tolerance != 1.0 and metric not in self.goal_distances:
            raise BadDomain(f"The domain '{self.name}' names no distance for '{metric}', so its success radius cannot be scaled.")
        exact = self.metrics[metric]
        distance = self.goal_distances.get(metric)

        def met(state: np.ndarray, goal: np.ndarray) -> np.ndarray:
            wanted = np.where(np.isnan(goal), state, goal)
            return exact(state, wanted) if tolerance == 1.0 or distance is None else distance(state, wanted) < tolerance

        return met

    def make(self, vary: Mapping[str, object] | None = None) -> Simulator:
        """A simulator of this domain, with some of its constants changed."""
        return self.simulator(self.constants.varied(vary or {}))

    def of(self, constants: Constants) -> Domain:
        """This domain as it is in a world with these constants, which may have another state than the nominal one."""
        return replace(self, **self.variant(constants))

    def family(self, objects: Sequence[SceneObject] | None = None) -> Family:
        """What the dynamics of a scene with these objects may be: by default of the nominal one."""
        shown = self.scene.objects(self.constants) if objects is None else objects
        width = self.layout.action.width
        return propose(Scene(tuple(shown), self.scene.state_space, width, self.scene.length_unit, self.scene.workspace))


def find_domains() -> dict[str, Path]:
    """Name and folder of every domain: the bundled ones, then those in the folders of VPW_DOMAINS.

    Example: `print(*vpw.find_domains())`
    """
    roots = [Path(path) for path in _bundled.__path__]
    roots += [Path(path) for path in os.environ.get(DOMAINS_VARIABLE, "").split(os.pathsep) if path]
    found: dict[str, Path] = {}
    for root in roots:
        for module in pkgutil.iter_modules([str(root)]):
            if module.ispkg and not module.name.startswith("_"):
                found.setdefault(module.name, root / module.name)
    return dict(sorted(found.items()))


def load_domain(name: str) -> Domain:
    """The domain of that name, bundled or in a folder of VPW_DOMAINS; its engine is imported only now.

    Example: `world = vpw.load_domain(name); print(world)`
    """
    found = find_domains()
    if name not in found:
        raise UnknownName("domain", name, found)
    folder = found[name]
    if folder.parent in [Path(path) for path in _bundled.__path__]:
        return importlib.import_module(f"{_bundled.__name__}.{name}").DOMAIN
    if name not in sys.modules:
        _import_folder(name, folder)
    found_domain = getattr(sys.modules[name], "DOMAIN", None)
    if not isinstance(found_domain, Domain):
        raise BadDomain(f"The domain '{name}' in '{folder}' does not load: its __init__.py defines no DOMAIN.")
    return found_domain


def _import_folder(name: str, folder: Path) -> None:
    """Load a folder as the package of that name; where that fails, nothing is left of it."""
    spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        if isinstance(error, MissingExtra):
            raise
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(folder)]
        where = f", {places[-1].filename}:{places[-1].lineno}" if places else ""
        raise BadDomain(f"The domain '{name}' in '{folder}' does not load ({type(error).__name__}: {error}{where}).") from error


NAMESPACE = "vpw"


def register() -> None:
    """Make the domains that can be found known to `gymnasium.make`; calling it again adds what is new."""
    for name, folder in find_domains().items():
        gym_id = _gym_id(folder)
        if gym_id is not None and f"{NAMESPACE}/{gym_id}" not in gym.registry:
            gym.register(f"{NAMESPACE}/{gym_id}", entry_point=partial(_make, name), order_enforce=False)


def _make(name: str, render_mode: str = "rgb_array", **vary: object) -> Simulator:
    simulator = load_domain(name).make(vary)
    simulator.render_mode = render_mode
    return simulator


def _gym_id(folder: Path) -> str | None:
    # Read, not imported: importing a domain loads its engine, and MuJoCo's fixes how it draws.
    try:
        tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None  # whoever asks for the domain is told what is wrong
    keywords = (node for node in ast.walk(tree) if isinstance(node, ast.keyword))
    values = (keyword.value for keyword in keywords if keyword.arg == "gym_id")
    return next((value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)), None)
