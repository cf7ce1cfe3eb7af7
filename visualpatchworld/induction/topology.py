"""Topologies of planar chains: which coordinates slide and
which turn, what each hangs on, and how its angle is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations, product

import numpy as np
from jaxtyping import Float

MOST_FOREST = 3  # hinges, up to which every way to hang them is tried; beyond, only one after the other


@dataclass(frozen=True)
class Topology:
    """A guess at how coordinates make up a chain: link i belongs to coordinate i.

    An angle counts from the parent's (relative) or from a fixed direction (absolute); a sign of -1 counts it the other
    way round.
    """

    hinges: tuple[bool, ...]  # of each coordinate; the others slide
    parents: tuple[int | None, ...]  # the hinge that a hinge hangs on; None: on the ground or on a slide
    relative: bool
    signs: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.hinges)

    @cached_property
    def links(self) -> Float[np.ndarray, "N N"]:
        """What takes coordinates to the links' own angles in the plane, and slides to themselves."""
        rows = np.diag(np.array(self.signs, float))
        if self.relative:
            for link in self.outward:
                parent = self.parents[link]
                if parent is not None:
                    rows[link] += rows[parent]
        return rows

    @cached_property
    def joints(self) -> Float[np.ndarray, "N N"]:
        """What takes the links' angles to those of the joints between them."""
        rows = np.eye(len(self))
        for link, parent in enumerate(self.parents):
            if parent is not None:
                rows[link, parent] = -1.0
        return rows

    @cached_property
    def outward(self) -> tuple[int, ...]:
        """Links, each after the one it hangs on."""
        order: list[int] = []
        while len(order) < len(self):
            order += [
                i for i, parent in enumerate(self.parents) if i not in order and (parent is None or parent in order)
            ]
        return tuple(order)

    def above(self, link: int) -> list[int]:
        """The links that a link hangs on, the nearest first."""
        found, place = [], self.parents[link]
        while place is not None:
            found.append(place)
            place = self.parents[place]
        return found

    @property
    def text(self) -> str:
        """In a few words, for the record."""
        kinds = " ".join("hinge" if hinge else "slide" for hinge in self.hinges)
        ways = "".join("+" if sign > 0 else "-" for sign in self.signs)
        return f"{kinds}, on {self.parents}, {'relative' if self.relative else 'absolute'} {ways}"


def usual_topologies(angles: Sequence[bool]) -> list[Topology]:
    """Slides first, then hinges, each on the one before, in the order of the coordinates; mirrored angles last."""
    found: list[Topology] = []
    for slides in reversed(range(min(len(angles), 2) + 1)):
        if not any(angles[:slides]):
            hinges = tuple(i >= slides for i in range(len(angles)))
            found += _counted(hinges, _series([i for i, hinge in enumerate(hinges) if hinge], len(angles)))
    return sorted(found, key=lambda topology: topology.signs.count(-1))


def other_topologies(angles: Sequence[bool]) -> list[Topology]:
    """All other choices of slides and hinges, orders and, for few hinges, branches; mirrored angles last."""
    usual, found = set(usual_topologies(angles)), []
    for hinges in product(*((True,) if angle else (False, True) for angle in angles)):
        turning = [i for i, hinge in enumerate(hinges) if hinge]
        ways = _forests(turning, len(angles)) if len(turning) <= MOST_FOREST else _orders(turning, len(angles))
        for parents in ways:
            found += [topology for topology in _counted(hinges, parents) if topology not in usual]
    return sorted(found, key=lambda topology: topology.signs.count(-1))


def _counted(hinges: tuple[bool, ...], parents: tuple[int | None, ...]) -> Iterator[Topology]:
    """Relative and absolute angles, counted either way; mirroring all
    of a chain changes nothing, nor does it for one link alone.
    """
    turning = [i for i, hinge in enumerate(hinges) if hinge]
    for relative in (True, False) if len(turning) > 1 else (True,):
        for flips in product((1, -1), repeat=max(len(turning) - 1, 0)):
            signs = [1] * len(hinges)
            for i, flip in zip(turning[1:], flips, strict=True):
                signs[i] = flip
            if relative and len(turning) > 1 and all(parents[i] is None for i in turning):
                continue  # nothing to count from: the absolute twin is the same
            yield Topology(hinges, parents, relative, tuple(signs))


def _series(order: Sequence[int], size: int) -> tuple[int | None, ...]:
    parents: list[int | None] = [None] * size
    for before, after in pairwise(order):
        parents[after] = before
    return tuple(parents)


def _orders(turning: Sequence[int], size: int) -> Iterator[tuple[int | None, ...]]:
    for order in permutations(turning):
        yield _series(order, size)


def _forests(turning: Sequence[int], size: int) -> Iterator[tuple[int | None, ...]]:
    for choice in product((None, *turning), repeat=len(turning)):
        parents: list[int | None] = [None] * size
        for link, parent in zip(turning, choice, strict=True):
            parents[link] = parent
        if all(_grounded(link, parents) for link in turning):
            yield tuple(parents)


def _grounded(link: int, parents: Sequence[int | None]) -> bool:
    place: int | None = link
    for _ in range(len(parents)):
        if place is None:
            return True
        place = parents[place]
    return place is None
