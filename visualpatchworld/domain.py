"""What a domain offers, how domains are found, and each of them as a Gymnasium environment."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from visualpatchworld import domains as _bundled
from visualpatchworld.errors import BadDomain, BadPicture, MissingExtra, UnknownName
from visualpatchworld.laws.form import Family, Scene
from visualpatchworld.laws.rules import propose
from visualpatchworld.plan.planner import Planner
from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import SceneTemplate, objects_of_fields
from visualpatchworld.scene.tool.look import Look
from visualpatchworld.simulator import Column, Constants, Simulator, TraceLayout
from visualpatchworld.task import (
    Cost,
    ErrorMetric,
    GoalCost,
    GoalDistance,
    Metric,
    field_distances,
    goal_terms,
    tolerances,
)

PAPER, DEFAULT = "paper", "default"  # names of planners that every domain has
DOMAINS_VARIABLE = "VPW_DOMAINS"  # folders with further domains, or files that are one, separated as in PATH
NEAR_PARTS = 4  # two things nearly touch within a quarter of the success radius
HELD_STEPS = (3, 16)  # for how long a random action is held, the end excluded

# act() returns the next action, or None when the episode is over.
Policy = Callable[[], np.ndarray | None]
# A success radius for some error metrics, all of which have to be met, or the distance from a goal in success radii.
Goal = Mapping[str, float] | ErrorMetric

_DERIVED: Any = None  # what follows from the rest where a domain does not say it


def held_actions(simulator: Simulator, rng: np.random.Generator) -> Policy:
    """Random actions, each held for a while: they drive every
    actuator, and lead where a policy with a purpose never goes.
    """

    def actions() -> Iterator[np.ndarray]:
        while True:
            action = rng.uniform(-1.0, 1.0, simulator.action_dim)
            for _ in range(rng.integers(*HELD_STEPS)):
                yield action

    chosen = actions()
    return lambda: next(chosen)


@dataclass(frozen=True, kw_only=True)
class Domain:
    """A world and what counts as success in it; all else has a default
    that follows from the fields of its state and the success radius.
    """

    name: str
    simulator: Callable[..., Simulator]  # called with (constants)
    constants: Constants  # the nominal ones
    goals: Mapping[str, Goal]  # when a goal is met, by metric; the first is the main one

    title: str = ""
    engine: str = "Python"
    challenge: str = ""
    scene: SceneTemplate = _DERIVED
    look: Look | None = None  # how it looks, where a scene is to be read off pictures
    layout: TraceLayout = _DERIVED
    policy: Callable[[Any, np.random.Generator], Policy] = held_actions  # called with (simulator of this domain, rng)
    episode_steps: int = 100
    error_metrics: Mapping[str, ErrorMetric] = _DERIVED  # how far a predicted state is from the true one
    probe_tolerances: Mapping[str, float] = _DERIVED  # largest error with which a probe counts as explained
    transition_tolerances: Mapping[str, float] = _DERIVED  # largest error with which one predicted step counts as right
    horizon: int = 25  # steps that programs are fitted to predict
    # What planners minimise, by metric, in success radii and never less than those.
    costs: Mapping[str, Cost] = field(default_factory=dict)
    cost: Cost = _DERIVED  # what the frozen planner minimises
    planner: Planner = _DERIVED  # frozen: the same for every scoring model
    planners: Mapping[str, Planner] = field(default_factory=dict)  # by name; `default` is what users get
    budget_per_offset: int = 2  # steps a task allows for each step that lies between its start and its goal
    far_budget: int = 200  # steps allowed where a goal has nothing to do with the start
    # What of all this is different in a world with these constants: the state, say, where they add an object.
    variant: Callable[[Any], Mapping[str, Any]] = lambda constants: {}

    def __post_init__(self):
        if not self.goals:
            raise BadDomain(
                f"The domain '{self.name}' names no goal; give a success radius, as goals={{'at_goal': "
                f"{{'puck_m': 0.1}}}}."
            )
        space = self.scene.state_space if self.scene is not None else ()
        space = space or getattr(self.simulator, "state_space", None)
        if space is None:
            raise BadDomain(f"The simulator of the domain '{self.name}' has no state_space.")
        self._fill("title", lambda: self.name.capitalize())
        self._fill("error_metrics", lambda: field_distances(space))
        radii = {
            name: radius for goal in self.goals.values() if isinstance(goal, Mapping) for name, radius in goal.items()
        }
        self._fill("probe_tolerances", lambda: tolerances(radii, self.error_metrics))
        self._fill("transition_tolerances", lambda: tolerances(radii, self.error_metrics))
        goal_terms(radii, self.error_metrics)
        near = min(radii.values(), default=0.0) / NEAR_PARTS
        self._fill("scene", lambda: SceneTemplate(objects=lambda constants: objects_of_fields(space), near=near))
        object.__setattr__(self, "scene", self.scene.of_domain(self.name, space))
        state, action = Column("state", len(space)), Column("action", getattr(self.simulator, "action_dim", 0))
        self._fill("layout", lambda: TraceLayout(engine_state=(state,), state=(state,), action=action))
        self._fill("planner", _default_planner)
        self._fill("cost", lambda: self.cost_for(DEFAULT, next(iter(self.goals))))

    def _fill(self, name: str, value: Callable[[], Any]) -> None:
        if getattr(self, name) in (None, ""):
            object.__setattr__(self, name, value())

    def __repr__(self) -> str:
        state = ", ".join(f"{field.name} ({field.unit})" for field in self.scene.state_space)
        about = ", ".join(part for part in (self.title, self.challenge, f"on {self.engine}") if part)
        return f"<Domain {self.name}: {about}; state {state}; {self.layout.action.width} numbers per action>"

    @property
    def gym_id(self) -> str:
        """Its name for `gymnasium.make`, after `vpw/`."""
        return gym_id(self.title)

    @cached_property
    def goal_distances(self) -> Mapping[str, ErrorMetric]:
        """How far states are from meeting goals, by metric and in success
        radii: below 1 they do, or below a tolerance that is given.
        """
        named = self.goals.items()
        return {
            metric: GoalDistance(goal_terms(goal, self.error_metrics)) if isinstance(goal, Mapping) else goal
            for metric, goal in named
        }

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Whether states meet goals; the first is the main one."""
        return {metric: partial(_is_near, distance) for metric, distance in self.goal_distances.items()}

    def planner_named(self, name: str) -> Planner:
        """The planner of that name: `paper` is the frozen one, `default` what users get."""
        known = {PAPER: self.planner, DEFAULT: self.planner, **self.planners}
        if name not in known:
            raise UnknownName("planner", name, known)
        return known[name]

    def cost_for(self, planner: str, metric: str) -> Cost:
        """What the planner of that name minimises."""
        if planner == PAPER:
            return self.cost
        if metric in self.costs:
            return self.costs[metric]
        goal = self.goals[metric]
        if isinstance(goal, Mapping):
            return GoalCost(goal_terms(goal, self.error_metrics))
        return lambda states, wanted: goal(states, wanted).min(-1)

    def meets(self, metric: str, tolerance: float = 1.0) -> Metric:
        """Whether states meet goals with the success radius scaled; where
        a goal has no number, whatever the state has there is right.
        """
        distance = self.goal_distances[metric]
        return lambda state, goal: distance(state, np.where(np.isnan(goal), state, goal)) < tolerance

    def seen(self) -> Look:
        """How it looks, or one sentence where it has no pictures."""
        if self.look is None:
            raise BadPicture(f"The domain '{self.name}' has no pictures to read: it has no `look`.")
        return self.look

    def make(self, vary: Mapping[str, object] | None = None) -> Simulator:
        """A simulator of this domain, with some of its constants changed; it pays 1 where the main metric is met."""
        constants = self.constants.varied(vary or {})
        simulator = self.simulator(constants)
        simulator.success = next(iter(self.of(constants).metrics.values()))
        return simulator

    def of(self, constants: Constants) -> Domain:
        """This domain as it is in a world with these constants, which may have another state than the nominal one."""
        return replace(self, **self.variant(constants))

    def family(self, objects: Sequence[SceneObject] | None = None) -> Family:
        """What the dynamics of a scene with these objects may be: by default of the nominal one."""
        shown = self.scene.objects(self.constants) if objects is None else objects
        width = self.layout.action.width
        return propose(Scene(tuple(shown), self.scene.state_space, width, self.scene.length_unit, self.scene.workspace))


def _is_near(distance: ErrorMetric, state: np.ndarray, goal: np.ndarray) -> np.ndarray:
    return distance(state, goal) < 1


def _default_planner() -> Planner:
    from visualpatchworld.plan.cem import CEM  # here, because it loads JAX

    return CEM(
        samples=300, iterations=10, elites=30, horizon=25, replan_every=10, init_std=0.7,
        hold=5, restarts=2, warm_start=True, enough=0.3, heeds_budget=True,
    )  # fmt: skip


def find_domains() -> dict[str, Path]:
    """Name and place of every domain: the bundled ones, then the folders and files of VPW_DOMAINS.

    Example: `print(*vpw.find_domains())`
    """
    roots = [Path(path) for path in _bundled.__path__]
    roots += [Path(path) for path in os.environ.get(DOMAINS_VARIABLE, "").split(os.pathsep) if path]
    found: dict[str, Path] = {}
    for root in roots:
        for place in [root] if root.suffix == ".py" else sorted(root.iterdir()) if root.is_dir() else []:
            if not place.name.startswith(("_", ".")) and (place == root or _is_domain(place)):
                found.setdefault(place.stem, place)
    return dict(sorted(found.items()))


def _is_domain(place: Path) -> bool:
    """Whether it is a package, or a file that defines a DOMAIN; other files may lie beside it."""
    if place.is_dir():
        return (place / "__init__.py").is_file()
    return place.suffix == ".py" and re.search(r"^DOMAIN\b", _text(place), flags=re.MULTILINE) is not None


def _text(place: Path) -> str:
    try:
        return (place if place.suffix == ".py" else place / "__init__.py").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""  # loading the domain says what is wrong


def load_domain(name: str) -> Domain:
    """The domain of that name, bundled or found through VPW_DOMAINS; its engine is imported only now.

    Example: `world = vpw.load_domain(name); print(world)`
    """
    found = find_domains()
    if name not in found:
        raise UnknownName("domain", name, found)
    place = found[name]
    if place.parent in [Path(path) for path in _bundled.__path__]:
        return importlib.import_module(f"{_bundled.__name__}.{name}").DOMAIN
    if getattr(sys.modules.get(name), "__file__", None) != str(_source(place)):
        _import(name, place)
    domain = getattr(sys.modules[name], "DOMAIN", None)
    if not isinstance(domain, Domain):
        raise BadDomain(f"The domain '{name}' in '{place}' does not load: it defines no DOMAIN.")
    if domain.name != name:
        raise BadDomain(f"The domain in '{place}' is named '{domain.name}'; its file and its name must be the same.")
    return domain


def _source(place: Path) -> Path:
    return place / "__init__.py" if place.is_dir() else place


def _import(name: str, place: Path) -> None:
    """Load a folder as the package of that name, or a file as the module; where that fails, nothing is left of it."""
    inside = [str(place)] if place.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, _source(place), submodule_search_locations=inside)
    assert spec is not None and spec.loader is not None
    before = sys.modules.get(name)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        if isinstance(error, MissingExtra):
            raise
        places = [
            frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(place)
        ]
        where = f", {places[-1].filename}:{places[-1].lineno}" if places else ""
        raise BadDomain(
            f"The domain '{name}' in '{place}' does not load ({type(error).__name__}: {error}{where})."
        ) from error


NAMESPACE = "vpw"


def gym_id(title: str) -> str:
    """`TallTower-v0` for a world with the title Tall tower."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[^\W_]+", title)) + "-v0"


def register() -> None:
    """Make the domains that can be found known to `gymnasium.make`; calling it again adds what is new."""
    for name, place in find_domains().items():
        key = f"{NAMESPACE}/{gym_id(_title(place))}"
        if key not in gym.registry:
            gym.register(key, entry_point=partial(_make, name), order_enforce=False)


def _make(name: str, render_mode: str | None = None, **vary: object) -> Simulator:
    simulator = load_domain(name).make(vary)
    simulator.render_mode = render_mode or simulator.render_mode
    return simulator


def _title(place: Path) -> str:
    # Read, not imported: importing a domain loads its engine, and MuJoCo's fixes how it draws.
    try:
        calls = [node for node in ast.walk(ast.parse(_text(place))) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError):
        calls = []  # loading the domain says what is wrong
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == Domain.__name__]
    titles = [keyword.value for call in made for keyword in call.keywords if keyword.arg == "title"]
    given = (value.value for value in titles if isinstance(value, ast.Constant) and isinstance(value.value, str))
    return next(given, place.stem.capitalize())
