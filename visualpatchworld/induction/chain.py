"""A chain: a topology with the lumped constants that it needs,
what its actuators get, and how a regression becomes one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.lagrange import Regression, Term
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.topology import Topology

MOST_VALUES = 6  # of a whole-numbered column that is read as a table


@dataclass(frozen=True)
class Input:
    """A column of the action, less what counts as no action, or whether it has one value."""

    column: int
    value: int | None = None
    centre: float = 0.0
    whole: bool = False  # whether the column holds whole numbers only, as discrete actions do

    def of(self, actions: Float[np.ndarray, "N A"]) -> Float[np.ndarray, " N"]:
        column = actions[:, self.column]
        return column - self.centre if self.value is None else (column == self.value).astype(float)

    @property
    def text(self) -> str:
        """As a program computes it."""
        if self.value is not None:
            return f"(action[{self.column}] == {self.value})"
        return f"(action[{self.column}] - {self.centre:g})" if self.centre else f"action[{self.column}]"


def plain_inputs(actions: Sequence[Float[np.ndarray, "T A"]]) -> tuple[Input, ...]:
    """Every column as it is."""
    acted = np.concatenate(actions)
    return tuple(Input(m, whole=bool(np.all(column == np.round(column)))) for m, column in enumerate(acted.T))


def table_inputs(actions: Sequence[Float[np.ndarray, "T A"]]) -> tuple[Input, ...] | None:
    """Columns of few whole values as a table, one input a value; None where there is no such column."""
    found: list[Input] = []
    for plain in plain_inputs(actions):
        values = np.unique(np.concatenate([acted[:, plain.column] for acted in actions]))
        tabled = plain.whole and 3 <= len(values) <= MOST_VALUES
        found += [Input(plain.column, int(value), whole=True) for value in values] if tabled else [plain]
    return tuple(found) if any(given.value is not None for given in found) else None


@dataclass(frozen=True)
class Chain:
    """Lumped constants over a topology, per unit of the first inertia.

    Kinds of terms are those of the regression without the crossed ones, whose part `zero` plays, and those of a tied
    chain: `moment` of a link, `length` to the next, and `gravity`, of which couplings and pulls are products.
    """

    topology: Topology
    values: Mapping[Term, float]
    zeros: tuple[float, ...]  # rad, what is added to each link's angle; a `zero` among the values goes first
    mixing: Float[np.ndarray, "Q Q"]  # what takes the observed velocities to the coordinates' rates of change
    inputs: tuple[Input, ...]  # what actuators get
    implicit: bool = False  # whether damping acts on the speed after the step

    def pull(self, link: int) -> float:
        """Torque of gravity on a link that lies level."""
        tied = self.values.get(Term("gravity", 0), 0.0) * self.values.get(Term("moment", link), 0.0)
        return self.values.get(Term("pull", link), tied)

    def coupling(self, i: int, j: int) -> float:
        """What couples two links, written out or as a product."""
        i, j = min(i, j), max(i, j)
        if Term("coupling", i, j) in self.values:
            return self.values[Term("coupling", i, j)]
        hinges = self.topology.hinges
        if hinges[i] != hinges[j]:
            return self.values.get(Term("moment", j if hinges[j] else i), 0.0)
        near, far = (i, j) if i in self.topology.above(j) else (j, i)
        carried = self.values.get(Term("moment", far), self.values.get(Term("pull", far), 0.0))
        return self.values.get(Term("length", near), 0.0) * carried

    def with_values(self, values: Mapping[Term, float]) -> Chain:
        """The chain with these constants, in each part that nothing
        couples to the rest per unit of its first inertia.
        """
        bare = replace(self, values=dict(values))
        units = {link: values[Term("inertia", part[0])] for part in bare.parts for link in part}
        scaled = {t: v if t.kind in ("zero", "length", "gravity") else v / units[t.link] for t, v in values.items()}
        return replace(self, values=scaled)

    @cached_property
    def parts(self) -> list[list[int]]:
        """Links that share constants; forces of each part follow from its motion up to a scale of its own."""
        group = list(range(len(self.topology)))

        def join(i: int, j: int) -> None:
            group[:] = [group[i] if g == group[j] else g for g in group]

        for term in self.values:
            parent = self.topology.parents[term.link]
            if term.kind == "coupling":
                join(term.link, term.other)
            elif term.kind in ("moment", "length", "gravity"):
                group[:] = [0] * len(group)
            elif parent is not None and term.kind in (
                "rotor",
                "damping",
                "friction",
                "drag",
                "stiffness",
                "bias",
                "gain",
            ):
                join(parent, term.link)
        return [[i for i, g in enumerate(group) if g == name] for name in dict.fromkeys(group)]


def term_name(term: Term, chain: Chain, names: Sequence[str]) -> str:
    """The constant's name in a program: by body and law."""
    own, hinge = names[term.link].upper(), chain.topology.hinges[term.link]
    if term.kind == "gravity":
        return "GRAVITY"
    if term.kind == "inertia":
        return f"{own}_INERTIA" if hinge else f"{own}_MASS"
    if term.kind == "coupling":
        return f"{own}_{names[term.other].upper()}_COUPLING"
    if term.kind == "gain":
        several = sum(other.kind == "gain" and other.link == term.link for other in chain.values) > 1
        given = chain.inputs[term.other]
        which = given.column if given.value is None else given.value
        return f"{own}_{'TORQUE' if hinge else 'PUSH'}" + (f"_{which}" if several or given.value is not None else "")
    return f"{own}_{term.kind.upper()}"


def constant_names(chain: Chain, reading: Reading) -> dict[Term, str]:
    """The name of every constant of the chain."""
    return {term: term_name(term, chain, [c.name for c in moving_coordinates(reading)]) for term in chain.values}


def moving_coordinates(reading: Reading) -> list[Coordinate]:
    """The coordinates that have a velocity: the links of a chain."""
    return [coordinate for coordinate in reading.coordinates if coordinate.velocity is not None]


def chain_of(regression: Regression, mixing: Float[np.ndarray, "Q Q"], inputs: Sequence[Input]) -> Chain:
    """The chain that a regression stands for."""
    values, topology = regression.values, regression.topology
    zeros, free = _zeros(topology, values)
    near = [round(zero / (np.pi / 2)) * np.pi / 2 if i in free else zero for i, zero in enumerate(zeros)]
    found: dict[Term, float] = {}
    for term, value in values.items():
        if term.kind in ("coupling", "cross coupling"):
            i, j = term.link, term.other
            amount = complex(values.get(Term("coupling", i, j), 0.0), values.get(Term("cross coupling", i, j), 0.0))
            found[Term("coupling", i, j)] = (amount * np.exp(1j * (zeros[i] - zeros[j]))).real
        elif term.kind in ("pull", "cross pull"):
            amount = complex(values.get(Term("pull", term.link), 0.0), values.get(Term("cross pull", term.link), 0.0))
            found[Term("pull", term.link)] = (amount * np.exp(1j * zeros[term.link])).real
        else:
            found[term] = value
    found |= {Term("zero", link): zeros[link] for link in free}
    given = list(inputs)
    for term, gain in values.items():
        bias = Term("bias", term.link)
        if term.kind == "gain" and given[term.other].whole and given[term.other].value is None and bias in found:
            centre = -found[bias] / gain
            if abs(2 * centre - round(2 * centre)) < 0.1:
                given[term.other] = replace(given[term.other], centre=round(2 * centre) / 2)
                del found[bias]
    chain = Chain(topology, found, tuple(near), mixing, tuple(given))
    return chain.with_values(chain.values)


def _zeros(topology: Topology, values: Mapping[Term, float]) -> tuple[list[float], list[int]]:
    """What to add to each link's angle so that crossed terms vanish:
    right angles where they do, and the links where they do not.
    """
    size, ground = len(topology), len(topology)
    edges: dict[tuple[int, int], complex] = {}
    for term, value in values.items():
        far = {"coupling": term.other, "cross coupling": term.other, "pull": ground, "cross pull": ground}.get(
            term.kind
        )
        if far is not None:
            edge = edges.get((term.link, far), 0j)
            edges[term.link, far] = edge + (value * 1j if term.kind.startswith("cross") else value)
    root = ground if any(far == ground for _, far in edges) else 0
    turned: dict[int, float] = {root: 0.0}
    free: list[int] = []
    rising = [ground, *range(size)]
    while True:
        reach = [
            (abs(amount), near, far)
            for (near, far), amount in edges.items()
            if (near in turned) != (far in turned) and abs(amount) > 0
        ]
        if not reach:
            missing = [i for i in rising if i not in turned]
            if not missing:
                break
            turned[missing[0]] = 0.0
            continue
        _, near, far = max(reach)
        # Of near minus far: adding angles of which the difference is its negative makes it real.
        phase = float(np.angle(edges[near, far]))
        link, angle = (near, turned[far] - phase) if far in turned else (far, turned[near] + phase)
        angle = (angle + np.pi / 2) % np.pi - np.pi / 2
        right = round(angle / (np.pi / 2)) * np.pi / 2
        both = abs(edges[near, far].real) > 0 and abs(edges[near, far].imag) > 0
        if both and abs(angle - right) > 1e-9:
            free.append(link)
            turned[link] = angle
        else:
            turned[link] = right if right > -np.pi / 4 else -right
    return [turned[i] for i in range(size)], free
