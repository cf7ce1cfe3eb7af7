"""Families: distinct forms, their names, and what the learner may know of a simulator."""

import ast
import inspect
import math
import sys
from pathlib import Path

import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.laws.constant import Constant
from visualpatchworld.program.source import parts_of


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


def test_no_prior_names_or_centres_on_a_constant_of_the_simulator(domain: Domain):
    """Bounds are round numbers, and neither they nor the middle of a prior is a value of the simulator in the same unit."""
    rows = [row for row in domain.constants.table() if isinstance(row["value"], float) and row["value"] != 0]
    for name, constant in declared_constants(domain).items():
        if constant.kind == "choice":
            continue
        assert all(float(f"{bound:.2g}") == bound for bound in (constant.low, constant.high)), f"{name}: bounds are not round"
        middle = math.sqrt(constant.low * constant.high) if constant.kind == "log" else (constant.low + constant.high) / 2
        for row in rows:
            if row["unit"] == constant.unit:
                assert abs(middle / row["value"] - 1) > 0.05, f"the prior of {name} is centred on the simulator's {row['name']}"
                assert row["value"] not in (constant.low, constant.high), f"a bound of {name} is the simulator's {row['name']}"
        assert constant.high >= 10 * constant.low if constant.kind == "log" else constant.high > constant.low
