"""Forms and their families: distinct, findable, with constants
that do not clash, and blind to what only a simulator knows.
"""

import ast
from pathlib import Path

import numpy as np
import pytest

import visualpatchworld.laws
from visualpatchworld.domain import Domain
from visualpatchworld.errors import UnknownName
from visualpatchworld.laws.constant import Constant, positive
from visualpatchworld.laws.form import Body, Form, Scene, Use, functions_of
from visualpatchworld.laws.rules import NoForms, propose
from visualpatchworld.program.source import emit
from visualpatchworld.scene.schema import SceneObject
from visualpatchworld.scene.state import StateField, StateSpace

MODULES = sorted(Path(visualpatchworld.laws.__file__).parent.rglob("*.py"))


def every_form(domain: Domain) -> tuple[Form, ...]:
    family = domain.family()
    return (*family.forms(), *family.extra)


def declared_constants(domain: Domain) -> dict[str, Constant]:
    """Every constant of every form of a domain, by name."""
    return {name: constant for form in every_form(domain) for name, constant in form.constants.items()}


def test_forms_are_distinct_and_findable(domain: Domain):
    family = domain.family()
    forms = family.forms()
    assert len(forms) > 2
    assert (
        len({form.acts for form in forms})
        == len({emit(form, {}, {}, "One title.").text for form in forms})
        == len(forms)
    )
    for form in forms:
        assert family.named(form.name).choices == form.choices
        assert tuple(form.fields) == domain.scene.state_space.names


def test_programs_of_all_forms_are_short(domain: Domain):
    header = "\n".join(["A title.", "", "The form.", "Its errors.", "What it was fitted to.", ""])
    for form in domain.family().forms():
        lines = emit(form, dict.fromkeys(form.constants, 1.0), {}, header).text.splitlines()
        assert len(lines) <= 150, form.name


def test_an_unknown_form_is_named_with_those_there_are(toy: Domain):
    with pytest.raises(UnknownName, match=r"No sketch 'push\+drug'.*Did you mean 'push\+drag'\?"):
        toy.family().named("push+drug")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_laws_import_nothing_that_knows_a_simulator(path: Path):
    """Laws, rules and probes know a world through scene graphs and state spaces only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [name for name in imported if name.startswith("visualpatchworld.")]
    assert all(name.split(".")[1] in {"laws", "scene", "errors"} for name in ours), ours


def test_priors_grow_with_the_scene():
    constant = positive("L^2/s", "", 0.001, 10).measured("px", 100.0)
    assert (constant.unit, constant.low, constant.high) == ("px^2/s", 10.0, 1e5)
    assert positive("rad/L", "", 1, 10).measured("m", 0.1).low == 10.0


def grow(body, *, gain=positive("1", "growth", 0.1, 10)):
    return tuple(gain * part for part in body)


def shrink(body, *, gain=positive("1", "another thing of the same name", 0.1, 10)):
    return tuple(part / gain for part in body)


def form_of(*uses: Use) -> Form:
    return Form({"form": "made"}, "made.", {"a": "", "b": ""}, (Body("one", ("a",)), Body("two", ("b",))), once=uses)


def test_two_bodies_with_one_law_have_constants_of_their_own():
    form = form_of(Use(grow, "one", ("one",), of="one"), Use(grow, "two", ("two",), of="two"))
    assert list(form.constants) == ["ONE_GAIN", "TWO_GAIN"]
    state, step = emit(form, {"ONE_GAIN": 2.0, "TWO_GAIN": 5.0}, {}).bind("numpy")
    assert step(state(1.0, 1.0), []) == (2.0, 5.0)
    assert emit(form, {}, {}).text.count("def grow(") == 1


def test_two_constants_of_one_name_are_refused():
    form = form_of(Use(grow, "one", ("one",), of="one"), Use(shrink, "one", ("one",), of="one"))
    with pytest.raises(ValueError, match="two constants of made are called ONE_GAIN"):
        _ = form.constants


def test_two_functions_of_one_name_are_refused():
    def other(body):
        return body

    other.__name__ = "grow"
    with pytest.raises(ValueError, match="two functions of made are called grow"):
        functions_of(form_of(Use(grow, "one", ("one",)), Use(other, "two", ("two",))))


def test_a_scene_that_no_law_knows_gets_a_sentence():
    space = StateSpace((StateField("cloud_x", "m", "cloud.pose.x"),))
    with pytest.raises(NoForms, match=r"No law knows how 3 actions could drive this scene .*cloud"):
        propose(Scene((SceneObject(name="cloud", kind="cloud"),), space, 3, "m"))


def test_probes_repeat_under_seed_and_ask_for_every_axis(domain: Domain):
    family = domain.family()
    first, again, other = (family.probes(np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert all((a.start == b.start).all() and (a.actions == b.actions).all() for a, b in zip(first, again, strict=True))
    assert any((a.start != b.start).any() or (a.actions != b.actions).any() for a, b in zip(first, other, strict=True))
    assert {probe.tests for probe in first} - {""} == {axis for axis, values in family.axes.items() if len(values) > 1}
    assert len({probe.actions.shape for probe in first}) == 1
