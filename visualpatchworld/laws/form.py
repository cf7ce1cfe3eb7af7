"""From a scene to what it may do: the scene as rules see it, laws at work in it and their source, forms, and probes."""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import UnknownName
from visualpatchworld.laws.constant import Constant, choice, positive
from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import StateSpace

Box = tuple[tuple[float, ...], tuple[float, ...]]
Law = Callable[..., Any]

STEP_SECONDS = positive("s", "duration of one step", 0.001, 1)
SUBSTEPS = choice("", "physics steps in one step", 1, 2, 3, 4, 5, 8, 10, 15, 20)


@dataclass(frozen=True)
class Scene:
    """The objects of a scene graph, the state and the number of
    actions; `workspace` is where an experimenter may put things.
    """

    objects: tuple[SceneObject, ...]
    space: StateSpace
    action_dim: int
    length_unit: str
    workspace: Box | None = None

    def of_kind(self, *kinds: str) -> tuple[SceneObject, ...]:
        return tuple(item for item in self.objects if item.kind in kinds)

    def fields(self, item: SceneObject, *places: str) -> tuple[str, ...]:
        """The names of the state's fields at these places of an object,
        as `pose.x`; those that the state does not have are left out.
        """
        at = {field.at: field.name for field in self.space}
        return tuple(at[f"{item.name}.{place}"] for place in places if f"{item.name}.{place}" in at)

    @property
    def units(self) -> dict[str, str]:
        return {field.name: field.unit for field in self.space}

    @property
    def size(self) -> float:
        """The power of ten above the extent of what is fixed, of the
        longest chain of links, or of where things may be put.
        """
        spans = [0.0]
        corners = np.array([corner for item in self.objects if item.fixed for corner in _corners(item)])
        if len(corners):
            spans += np.ptp(corners, axis=0).tolist()
        spans.append(sum(item.geometry.length or 0.0 for item in self.objects))
        if self.workspace is not None:
            spans += np.ptp(np.array(self.workspace), axis=0).tolist()
        spans.append(max((2 * (item.geometry.radius or 0.0) for item in self.objects), default=0.0))
        return 10.0 ** math.ceil(math.log10(max(spans) or 1.0))

    def start(self, numbers: Mapping[str, float]) -> Float[np.ndarray, " S"]:
        """The state with these numbers at their fields, and zeros elsewhere."""
        state = np.array([float(numbers.get(field.name, 0.0)) for field in self.space])
        assert set(numbers) <= set(self.space.names)
        return self.space.wrap(state)


def _corners(item: SceneObject) -> Sequence[tuple[float, float]]:
    x, y = item.pose.x or 0.0, item.pose.y or 0.0
    if item.geometry.half_sizes is not None:
        half_x, half_y = item.geometry.half_sizes[:2]
        return ((x - half_x, y - half_y), (x + half_x, y + half_y))
    if item.geometry.segment is not None:
        return tuple((x + dx, y + dy) for dx, dy in item.geometry.segment)
    return ((x, y),)


@dataclass(frozen=True)
class Probe:
    """What it tests (an axis of the family), where the world is put, and what is done to it.

    A probe that tests nothing is there for the constants: forms are fitted to it, and not judged by it.
    """

    name: str
    tests: str
    start: Float[np.ndarray, " S"]
    actions: Float[np.ndarray, "T A"]


@dataclass(frozen=True)
class Shape:
    """What a law needs to know of the scene: numbers that the
    scene graph holds, under a name of their own in the program.
    """

    name: str
    value: Any  # a number, or nested tuples of numbers
    unit: str
    doc: str


@dataclass(frozen=True)
class Body:
    """A variable of `step` that begins as these fields of the state
    and ends as them: a tuple, or where there is one name a number.
    """

    name: str
    fields: tuple[str, ...] | str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.fields,) if isinstance(self.fields, str) else self.fields


@dataclass(frozen=True)
class Hidden:
    """A number of the state that nobody observes; rollouts begin with its default."""

    name: str
    doc: str
    default: float = 0.0


@dataclass(frozen=True)
class Use:
    """A law at work, as one line of `step`: what it gives, what it takes, and whose constants it has."""

    law: Law
    gives: str
    takes: tuple[str, ...]
    of: str = ""  # the constants of an argument `gain` are called AGENT_GAIN when this is `agent`
    # Where they are called otherwise, or are several.
    names: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    shapes: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def constants(self) -> Iterator[tuple[str, str | tuple[str, ...], Constant]]:
        """Argument, name or names in the program, and declaration of every constant."""
        for argument, parameter in inspect.signature(self.law).parameters.items():
            if isinstance(parameter.default, Constant):
                own = f"{self.of}_{argument}".strip("_").upper()
                yield argument, self.names.get(argument, own), parameter.default


@dataclass(frozen=True)
class Line:
    """A line of `step` that only names something again."""

    gives: str
    takes: str


@dataclass(frozen=True)
class Form:
    """One qualitative form: the choices that make it, the state
    it evolves, and its laws in the order in which they act.

    `once` acts at the start of a step, `often` in each of its physics steps, `last` at its end.
    """

    choices: Mapping[str, str]
    title: str
    fields: Mapping[str, str]  # name -> unit, as observed
    bodies: tuple[Body, ...]
    once: tuple[Use | Line, ...] = ()
    often: tuple[Use | Line, ...] = ()
    last: tuple[Use | Line, ...] = ()
    hidden: tuple[Hidden, ...] = ()
    clock: Literal["none", "step"] = "none"  # whether laws outside the physics steps need the time `dt`
    length_unit: str = ""
    size: float = 1.0

    @property
    def name(self) -> str:
        """The choices, joined: PD+pushed+quasi-static."""
        return "+".join(self.choices.values())

    @property
    def uses(self) -> tuple[Use, ...]:
        return tuple(part for part in (*self.once, *self.often, *self.last) if isinstance(part, Use))

    @property
    def constants(self) -> dict[str, Constant]:
        """Every unknown constant, in the order of use; two laws share one only where they share its declaration."""
        declared: dict[str, Constant] = {}
        if self.often or self.clock == "step":
            declared["STEP_SECONDS"] = STEP_SECONDS
        if self.often:
            declared["SUBSTEPS"] = SUBSTEPS
        for use in self.uses:
            for argument, names, constant in use.constants:
                for name in (names,) if isinstance(names, str) else names:
                    if declared.setdefault(name, constant) is not constant:
                        raise ValueError(
                            f"two constants of {self.name} are called {name}; one is '{argument}' of {use.law.__name__}"
                        )
        return {name: constant.measured(self.length_unit, self.size) for name, constant in declared.items()}

    @property
    def shapes(self) -> dict[str, Shape]:
        """What the laws use of the scene."""
        found: dict[str, Shape] = {}
        for use in self.uses:
            for shape in use.shapes.values():
                if found.setdefault(shape.name, shape) != shape:
                    raise ValueError(f"two shapes of {self.name} are called {shape.name}")
        return found

    @property
    def acts(self) -> tuple[Any, ...]:
        """What the form does, whatever it is called: equal for two names of one form."""
        parts = []
        for part in (*self.once, "often", *self.often, "last", *self.last):
            parts.append((part.law, part.gives, part.takes, part.of) if isinstance(part, Use) else part)
        return tuple(parts)


@dataclass(frozen=True)
class Family:
    """Every combination of the axes that a scene offers; combinations with the same laws are one form."""

    axes: Mapping[str, tuple[str, ...]]
    build: Callable[[Mapping[str, str]], Form]
    probes: Callable[[np.random.Generator], tuple[Probe, ...]]  # experiments that tell the forms apart
    extra: tuple[Form, ...] = ()  # selectable by name, never a rival: the forms of an ablation

    def forms(self) -> tuple[Form, ...]:
        """The distinct forms, in the order of the product; of several names for the same laws the first stays."""
        distinct: dict[tuple[Any, ...], Form] = {}
        for values in itertools.product(*self.axes.values()):
            form = self.build(dict(zip(self.axes, values, strict=True)))
            distinct.setdefault(form.acts, form)
        return tuple(distinct.values())

    def named(self, name: str) -> Form:
        """The form of that name, rival or extra."""
        found = {form.name: form for form in (*self.forms(), *self.extra)}
        if name not in found:
            raise UnknownName("sketch", name, found)
        return found[name]


def functions_of(form: Form) -> dict[str, Law]:
    """The form's laws and all that they call, in the order of need; two functions of one name are refused."""
    found: dict[str, Law] = {}

    def visit(law: Law) -> None:
        known = found.get(law.__name__)
        if known is not None:
            if known is not law:
                raise ValueError(
                    f"two functions of {form.name} are called {law.__name__}: of {known.__module__} and "
                    f"of {law.__module__}"
                )
            return
        for used in _names(law):
            value = law.__globals__.get(used)
            if inspect.isfunction(value) and value is not law:
                visit(value)
        found[law.__name__] = law

    for use in form.uses:
        visit(use.law)
    return found


def whole_numbers_of(laws: Iterable[Law]) -> dict[str, int]:
    """What laws name of their own module that is a whole number: how often to repeat something, say."""
    return {
        name: law.__globals__[name] for law in laws for name in _names(law) if type(law.__globals__.get(name)) is int
    }


def _names(law: Law) -> list[str]:
    """What the body of a law names and does not itself give a value."""
    parts = [part for line in _parsed(law).body for part in ast.walk(line) if isinstance(part, ast.Name)]
    own = {part.id for part in parts if isinstance(part.ctx, ast.Store)} | set(inspect.signature(law).parameters)
    return list(dict.fromkeys(part.id for part in parts if part.id not in own))


def _parsed(law: Law) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(law))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def source_of_law(law: Law) -> str:
    """The law as it stands in its module, less the declarations of its constants, which are arguments here."""
    text = textwrap.dedent(inspect.getsource(law)).rstrip().splitlines()
    body = text[_parsed(law).body[0].lineno - 1 :]
    parameters = ", ".join(_parameter(one) for one in inspect.signature(law).parameters.values())
    return "\n".join([f"def {law.__name__}({parameters}):", *body])


def _parameter(one: inspect.Parameter) -> str:
    declared = one.default is inspect.Parameter.empty or isinstance(one.default, Constant)
    return one.name if declared else f"{one.name}={one.default!r}"
