"""Families: distinct forms, their names, and what the learner may know of a simulator."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.program.source import parts_of
from visualpatchworld.sketch.constant import Constant


def module_of(domain: Domain):
    return sys.modules[domain.family.build.__module__]


def declared_constants(domain: Domain) -> dict[str, Constant]:
    return {name: value for name, value in vars(module_of(domain)).items() if isinstance(value, Constant)}


def test_sketches_are_distinct_and_findable(domain: Domain):
    sketches = domain.family.sketches()
    assert len(sketches) > 2
    assert len({tuple(sketch.roles.values()) for sketch in sketches}) == len(sketches)
    for sketch in sketches:
        assert domain.family.named(sketch.name).choices == sketch.choices
        assert sketch.state._fields[: len(domain.scene.state_space)] == domain.scene.state_space.names


def test_an_unknown_sketch_is_named_with_those_there_are(toy: Domain):
    with pytest.raises(UnknownName, match=r"No sketch 'push\+drug'.*Did you mean 'push\+drag'\?"):
        toy.family.named("push+drug")


def test_every_constant_of_a_family_is_used_by_some_sketch(domain: Domain):
    every = (*domain.family.sketches(), *domain.family.extra)
    used = {name for sketch in every for name in parts_of(sketch).constants}
    assert used == set(declared_constants(domain))


def test_the_learner_imports_no_simulator(domain: Domain):
    """Sketches and probes know a world through scene graphs only."""
    for module in (module_of(domain), sys.modules[domain.probes.__module__]):
        tree = ast.parse(Path(inspect.getsourcefile(module) or "").read_text(encoding="utf-8"))
        imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        imported += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert not [name for name in imported if name.split(".")[-1] in {"simulator", "model", "policy"}]
