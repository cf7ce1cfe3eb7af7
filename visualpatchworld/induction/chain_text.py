"""A chain as code: angles and lumps of its links, forces at joints and links, and one linear solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.chain import Chain, constant_names, moving_coordinates
from visualpatchworld.induction.lagrange import Term
from visualpatchworld.induction.motion import Number, Rates, Way
from visualpatchworld.induction.reading import Reading
from visualpatchworld.laws.chain import add_at_joints, centrifugal, mass_matrix, solve

LINE_LENGTH = 116
DOCS = {
    "inertia": "of this link with all it carries",
    "coupling": "force at one per acceleration of the other, where they are parallel",
    "moment": "mass times distance, of this link with all it carries",
    "length": "from this joint to the next",
    "gravity": "",
    "pull": "torque of gravity where the link lies level",
    "damping": "force per speed at the joint",
    "rotor": "inertia of the joint's own motor",
    "stiffness": "force per displacement at the joint",
    "friction": "dry: force against the motion at the joint",
    "drag": "quadratic: force per speed squared at the joint",
    "bias": "constant force at the joint",
    "gain": "force at the joint per action",
    "zero": "rad, turns the angle to where the law counts from",
}


def describe(chain: Chain, reading: Reading) -> str:
    """The chain in a sentence."""
    names, topology = [c.name for c in moving_coordinates(reading)], chain.topology
    slides = [names[i] for i, hinge in enumerate(topology.hinges) if not hinge]
    parts = [f"{name} slides" for name in slides]
    for link in topology.outward:
        parent = topology.parents[link]
        if topology.hinges[link]:
            base = names[parent] if parent is not None else slides[-1] if slides else "the ground"
            parts.append(f"{names[link]} turns on {base}")
    counted = "relative" if topology.relative else "absolute"
    several = sum(topology.hinges) > 1
    return f"A planar chain: {', '.join(parts)}" + (f"; angles are {counted}." if several else ".")


def chain_rates(
    chain: Chain, reading: Reading, name: str = "chain", stderr: Mapping[Term, float] | None = None
) -> Rates:
    """The chain as code: angles and lumps of its links, forces at joints and links, and one linear solution."""
    return _Writer(chain, reading).rates(name, stderr or {})


class _Writer:
    def __init__(self, chain: Chain, reading: Reading):
        self.chain, self.topology = chain, chain.topology
        self.size = len(chain.topology)
        self.names = constant_names(chain, reading)
        moving = moving_coordinates(reading)
        self.coordinates = [c.name for c in moving]
        self.places = [f"state.{c.name}" for c in moving]
        self.velocities = [str(c.velocity) for c in moving]
        self.scales = [c.velocity_scale for c in moving]

    def rates(self, name: str, stderr: Mapping[Term, float]) -> Rates:
        links, mixed = self.topology.links, self.topology.links @ self.chain.mixing
        speeds = [f"state.{velocity}" for velocity in self.velocities]
        spins = [_sum(mixed[i], speeds) if hinge else "0.0" for i, hinge in enumerate(self.topology.hinges)]
        angles = [self._angle(i, links[i]) for i in range(self.size)]
        forces = [
            self._joint_force(i, self.topology.joints @ links, self.topology.joints @ mixed, speeds)
            for i in range(self.size)
        ]
        if self.size == 1:
            return Rates(name, self._laws(), self._numbers(stderr), (self._single(angles[0], forces[0]),))
        rows = [f"({', '.join(self._lump(i, j) for j in range(self.size))})" for i in range(self.size)]
        lines = [
            *_tuple("angles", angles),
            *_tuple("spins", spins),
            *_tuple("lumps", rows, flat=False),
            *_tuple("joints", forces),
        ]
        lines += ["turning = centrifugal(lumps, angles, spins)"]
        lines += _tuple("forces", [self._link_force(i, forces) for i in range(self.size)], flat=False)
        lines += ["mass = mass_matrix(lumps, angles)"]
        helpers: list[Callable[..., Any]] = [mass_matrix, centrifugal, solve]
        rotors, dampings = (
            self._at_joints([self._rotor(i) for i in range(self.size)]),
            self._at_joints(self._implicit_dampings()),
        )
        lines += rotors
        if rotors or dampings:
            helpers.insert(2, add_at_joints)
        # A stop meets the chain as it is; only then does damping act on the speed after the step.
        solution = [*dampings, "gained = solve(mass, forces)"]
        back = np.linalg.inv(mixed)
        gained = [f"gained[{i}]" for i in range(self.size)]
        changes = tuple((velocity, _sum(back[i], gained)) for i, velocity in enumerate(self.velocities))
        speeds_of = ()
        if not np.array_equal(self.chain.mixing, np.diag(self.scales)):
            speeds_of = tuple(
                (c, tuple((v, float(f)) for v, f in zip(self.velocities, row, strict=True) if f))
                for c, row in zip(self.coordinates, self.chain.mixing, strict=True)
            )
        ways = tuple(
            Way(name, tuple(float(share) for share in row), _sum(moved, speeds))
            for name, row, moved in zip(self.coordinates, np.linalg.inv(links), self.chain.mixing, strict=True)
        )
        return Rates(
            name, self._laws(), self._numbers(stderr), changes, tuple(lines), tuple(helpers),
            speeds=speeds_of, solution=tuple(solution), ways=ways,
        )  # fmt: skip

    def _single(self, angle: str, force: str) -> tuple[str, str]:
        """The acceleration of a chain of one link, whose inertia is the unit."""
        parts = [f"{pull} * np.sin({angle})"] if (pull := self.names.get(Term("pull", 0))) else []
        parts += [force] if force != "0.0" else []
        below = " + ".join(part for part in (self._rotor(0), self._implicit_dampings()[0]) if part != "0.0")
        inertia = self.names[Term("inertia", 0)]
        share = f"({inertia} + {below})" if below else inertia
        return self.velocities[0], f"({' + '.join(parts) or '0.0'}) / {share}".replace("+ -", "- ")

    def _angle(self, link: int, row: Float[np.ndarray, " Q"]) -> str:
        turn = self.names.get(Term("zero", link)) or _turn(self.chain.zeros[link])
        if not self.topology.hinges[link]:
            return turn or "0.0"
        place = _sum(row, self.places)
        return f"{place} + {turn}" if turn else place

    def _lump(self, i: int, j: int) -> str:
        if i == j:
            return self._known(Term("inertia", i))
        i, j = min(i, j), max(i, j)
        direct = self._known(Term("coupling", i, j))
        if direct != "0.0":
            return direct
        hinges = self.topology.hinges
        if hinges[i] != hinges[j]:
            return self._known(Term("moment", j if hinges[j] else i))
        for near, far in ((i, j), (j, i)):
            if near in self.topology.above(far) and Term("length", near) in self.names:
                carried = (
                    self._known(Term("moment", far))
                    if Term("moment", far) in self.names
                    else self._known(Term("pull", far))
                )
                return f"{self.names[Term('length', near)]} * {carried}" if carried != "0.0" else "0.0"
        return "0.0"

    def _joint_force(self, i: int, placed: np.ndarray, moved: np.ndarray, speeds: Sequence[str]) -> str:
        speed, parts = _sum(moved[i], speeds), []
        for term, name in self.names.items():
            if term.link != i:
                continue
            if term.kind == "gain":
                parts.append(f"{name} * {self.chain.inputs[term.other].text}")
            elif term.kind == "bias":
                parts.append(name)
        for kind, what in (
            ("damping", speed),
            ("friction", f"np.sign({speed})"),
            ("drag", f"np.abs({speed}) * {_whole(speed)}"),
            ("stiffness", _sum(placed[i], self.places)),
        ):
            if Term(kind, i) in self.names:
                parts.append(f"-{self.names[Term(kind, i)]} * {what if kind in ('friction', 'drag') else _whole(what)}")
        return " + ".join(parts).replace("+ -", "- ") if parts else "0.0"

    def _link_force(self, i: int, forces: Sequence[str]) -> str:
        parts = [("+", f"joints[{i}]")] if forces[i] != "0.0" else []
        parts += [
            ("-", f"joints[{k}]")
            for k, parent in enumerate(self.topology.parents)
            if parent == i and forces[k] != "0.0"
        ]
        pull = self.names.get(Term("pull", i))
        if pull is None and Term("gravity", 0) in self.names and Term("moment", i) in self.names:
            pull = f"GRAVITY * {self.names[Term('moment', i)]}"
        parts += [("+", f"{pull} * np.sin(angles[{i}])")] if pull else []
        text = " ".join(f"{sign} {part}" for sign, part in (*parts, ("-", f"turning[{i}]")))
        return text.removeprefix("+ ") if text.startswith("+ ") else text.replace("- ", "-", 1)

    def _rotor(self, i: int) -> str:
        return self.names.get(Term("rotor", i), "0.0")

    def _implicit_dampings(self) -> list[str]:
        """What damping that acts on the speed after the step adds to the inertia at each joint."""
        damped = [self.names.get(Term("damping", i)) for i in range(self.size)]
        return [f"DT * {name}" if self.chain.implicit and name else "0.0" for name in damped]

    def _at_joints(self, amounts: Sequence[str]) -> list[str]:
        if all(amount == "0.0" for amount in amounts):
            return []
        return [f"mass = add_at_joints(mass, ({', '.join(amounts)},), {self.topology.parents})"]

    def _known(self, term: Term) -> str:
        return self.names.get(term, "0.0")

    def _laws(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        links = tuple(self.coordinates)
        laws = [("chain", links)]
        if any(term.kind in ("pull", "gravity") for term in self.names):
            laws.append(("gravity", links))
        for kind, law in (
            ("gain", "drive"),
            ("damping", "viscous"),
            ("friction", "dry"),
            ("drag", "quadratic"),
            ("stiffness", "spring"),
        ):
            of = tuple(dict.fromkeys(self.coordinates[term.link] for term in self.names if term.kind == kind))
            if of:
                laws.append((law, of))
        return tuple(laws)

    def _numbers(self, stderr: Mapping[Term, float]) -> tuple[Number, ...]:
        units = {Term("inertia", part[0]) for part in self.chain.parts}
        return tuple(
            Number(
                name,
                self.chain.values[term],
                doc="the unit of inertias and forces" if term in units else DOCS[term.kind],
                stderr=None if term in units else stderr.get(term),
                free=term not in units,
            )
            for term, name in self.names.items()
        )


def _sum(factors: Sequence[float] | np.ndarray, parts: Sequence[str]) -> str:
    text = ""
    for factor, part in zip(factors, parts, strict=True):
        if abs(factor) > 1e-9:
            amount = part if abs(abs(factor) - 1) < 1e-9 else f"{abs(factor):.10g} * {part}"
            text += f"{' - ' if factor < 0 else ' + '}{amount}" if text else f"{'-' if factor < 0 else ''}{amount}"
    return text or "0.0"


def _whole(text: str) -> str:
    return f"({text})" if " " in text else text


def _tuple(name: str, parts: Sequence[str], *, flat: bool = True) -> list[str]:
    """An assignment in one line or, where that is too long or not wanted, a part in each."""
    line = f"{name} = ({', '.join(parts)})"
    return [line] if flat and len(line) <= LINE_LENGTH else [f"{name} = (", *(f"    {part}," for part in parts), ")"]


def _turn(angle: float) -> str:
    """A literal angle: a right angle is written as such."""
    quarters = round(angle / (np.pi / 2))
    if quarters == 0:
        return ""
    return {1: "np.pi / 2", -1: "-np.pi / 2", 2: "np.pi", -2: "-np.pi"}[quarters]
