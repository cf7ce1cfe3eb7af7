"""Acquisition: a program that is wrong somewhere learns from acting, and one that is right is left alone."""

from __future__ import annotations

import pytest

from visualpatchworld.domain import Domain
from visualpatchworld.induction.blackbox import black_box
from visualpatchworld.induction.induce import induce
from visualpatchworld.induction.windows import trajectories_of
from visualpatchworld.paper.acquire import Acquisition, acquire
from visualpatchworld.program.program import Program
from visualpatchworld.trace.episode import Episode, collect


@pytest.fixture
def episodes(toy: Domain) -> list[Episode]:
    return list(collect(toy, toy.constants, episodes=12, seed=3))


@pytest.fixture
def program(toy: Domain, episodes: list[Episode]) -> Program:
    return induce(toy, black_box(toy, toy.constants), trajectories_of(episodes), seed=0, sketch="push+drag").program


def run(toy: Domain, program: Program, episodes: list[Episode]) -> Acquisition:
    return acquire(toy, toy.constants, program, toy.family().named("push+drag"), episodes, tasks=4, seed=0)


def test_a_program_that_foresees_everything_is_left_alone(toy: Domain, program: Program, episodes: list[Episode]):
    found = run(toy, program, episodes)
    assert not found.accepted
    assert found.surprises == 0
    assert found.program.text == program.text


def test_a_program_with_a_wrong_constant_is_surprised_and_mended(
    toy: Domain, program: Program, episodes: list[Episode]
):
    name = next(name for name, value in program.constants.items() if isinstance(value, float) and value > 0)
    wrong = program.edited({name: 1.5 * program.constants[name]})
    found = run(toy, wrong, episodes)
    assert found.accepted
    assert found.surprises > 0
    quantity = next(iter(toy.error_metrics))
    assert found.errors_after is not None
    assert found.errors_after[quantity][toy.horizon]["mean"] < 0.1 * found.errors_before[quantity][toy.horizon]["mean"]
    assert found.program.constants[name] == pytest.approx(program.constants[name], rel=0.02)


def test_a_refit_that_makes_held_out_errors_worse_is_refused(
    toy: Domain, program: Program, episodes: list[Episode], monkeypatch
):
    wrong = program.edited(
        {name: 1.02 * value for name, value in program.constants.items() if isinstance(value, float)}
    )

    def bad_fit(unfitted, constants, *rest):
        values = {name: 3.0 * program.constants[name] for name in constants}
        return type("Fit", (), {"values": values, "errors": dict.fromkeys(values)})()

    monkeypatch.setattr("visualpatchworld.paper.acquire.fit", bad_fit)
    monkeypatch.setattr("visualpatchworld.paper.acquire.surprising", lambda *_: trajectories_of(episodes[:1]))
    found = run(toy, wrong, episodes)
    assert not found.accepted
    assert "got worse" in found.reason
    assert found.program.text == wrong.text
