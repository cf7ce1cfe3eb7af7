"""From a regression to the chain that it stands for: crossed terms become angles, and a bias the centre of an action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from visualpatchworld.induction.chain import Chain
from visualpatchworld.induction.chain_inputs import Input
from visualpatchworld.induction.lagrange import Regression, Term
from visualpatchworld.induction.topology import Topology


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
    """What to add to each link's angle so that crossed terms vanish: right angles where they do, and the links where they do not."""
    size, ground = len(topology), len(topology)
    edges: dict[tuple[int, int], complex] = {}
    for term, value in values.items():
        far = {"coupling": term.other, "cross coupling": term.other, "pull": ground, "cross pull": ground}.get(term.kind)
        if far is not None:
            edge = edges.get((term.link, far), 0j)
            edges[term.link, far] = edge + (value * 1j if term.kind.startswith("cross") else value)
    root = ground if any(far == ground for _, far in edges) else 0
    turned: dict[int, float] = {root: 0.0}
    free: list[int] = []
    rising = [ground, *range(size)]
    while True:
        reach = [
            (abs(amount), near, far) for (near, far), amount in edges.items() if (near in turned) != (far in turned) and abs(amount) > 0
        ]
        if not reach:
            missing = [i for i in rising if i not in turned]
            if not missing:
                break
            turned[missing[0]] = 0.0
            continue
        _, near, far = max(reach)
        phase = float(np.angle(edges[near, far]))  # of near minus far: adding angles of which the difference is its negative makes it real
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
