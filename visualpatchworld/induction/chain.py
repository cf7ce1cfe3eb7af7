"""A chain: a topology with the lumped constants that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.chain_inputs import Input
from visualpatchworld.induction.lagrange import Term
from visualpatchworld.induction.reading import Coordinate, Reading
from visualpatchworld.induction.topology import Topology


@dataclass(frozen=True)
class Chain:
    """Lumped constants over a topology, per unit of the first inertia.

    Kinds of terms are those of the regression without the crossed ones, whose part `zero` plays, and those of a tied chain: `moment` of
    a link, `length` to the next, and `gravity`, of which couplings and pulls are products.
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
        """The chain with these constants, in each part that nothing couples to the rest per unit of its first inertia."""
        bare = replace(self, values=dict(values))
        units = {link: values[Term("inertia", part[0])] for part in bare.parts for link in part}
        scaled = {t: v if t.kind in ("zero", "length", "gravity") else v / units[t.link] for t, v in values.items()}
        return replace(self, values=scaled)

    @cached_property
    def parts(self) -> list[list[int]]:
        """Links that share constants; forces of each part are told from its motion up to a scale of its own."""
        group = list(range(len(self.topology)))

        def join(i: int, j: int) -> None:
            group[:] = [group[i] if g == group[j] else g for g in group]

        for term in self.values:
            parent = self.topology.parents[term.link]
            if term.kind == "coupling":
                join(term.link, term.other)
            elif term.kind in ("moment", "length", "gravity"):
                group[:] = [0] * len(group)
            elif parent is not None and term.kind in ("rotor", "damping", "friction", "drag", "stiffness", "bias", "gain"):
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
