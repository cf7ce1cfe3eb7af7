"""No prior gives a simulator's constant away, and the guard that says so converts units and can fail."""

import math
from dataclasses import replace

import pytest
from laws.priors import SYMBOLS, Prior, Truth, given_away, in_base_units
from laws.test_form import declared_constants

from visualpatchworld.domain import Domain, load_domain

# How long a step lasts, in worlds that have seconds.
STEP_S = {"cube": 0.05, "pusht": 0.1, "reacher": 0.04, "slider": 0.1}


def priors_of(domain: Domain) -> list[Prior]:
    """What the learner is given of the constants of a domain's laws."""
    found = declared_constants(domain)
    return [Prior(name, constant.unit, constant.low, constant.high, constant.kind) for name, constant in found.items()]


def truths_of(domain: Domain) -> list[Truth]:
    """The numbers among the constants of a simulator."""
    rows = [row for row in domain.constants.table() if isinstance(row["value"], int | float)]
    return [Truth(row["name"], row["unit"], float(row["value"])) for row in rows]


def test_no_prior_gives_a_constant_of_the_simulator_away(domain: Domain):
    assert list(given_away(priors_of(domain), truths_of(domain), STEP_S.get(domain.name))) == []


SIBLINGS = [
    ("pusht", {"blocks": 2}),
    ("pusht", {"response": "inertial"}),
    ("cube", {"blocks": 2}),
    ("reacher", {"links": 3}),
]


@pytest.mark.parametrize(("name", "vary"), SIBLINGS, ids=str)
def test_nor_does_a_prior_of_a_sibling(name: str, vary: dict[str, object]):
    nominal = load_domain(name)
    constants = nominal.constants.varied(vary)
    domain = replace(nominal.of(constants), constants=constants)
    truths = [truth for truth in truths_of(domain) if truth.name not in vary]  # how many there are, everybody sees
    assert list(given_away(priors_of(domain), truths, STEP_S[name])) == []


def test_a_world_with_steps_and_seconds_says_how_long_a_step_is(domain: Domain):
    dimensions = [dict(in_base_units(record.unit, None)[0]) for record in (*priors_of(domain), *truths_of(domain))]
    mixed = any("step" in dimension for dimension in dimensions) and any(
        "time" in dimension for dimension in dimensions
    )
    assert not mixed or domain.name in STEP_S


def test_bounds_are_round_and_priors_broad(domain: Domain):
    for name, constant in declared_constants(domain).items():
        if constant.kind != "choice":
            assert all(float(f"{bound:.2g}") == bound for bound in (constant.low, constant.high)), (
                f"{name}: bounds are not round"
            )
            assert constant.high >= 10 * constant.low if constant.kind == "log" else constant.high > constant.low


@pytest.mark.parametrize(
    ("prior", "truth", "step_s", "expected"),
    [
        (Prior("LIMIT", "rad", 0, math.radians(160)), Truth("limit", "deg", 160), None, "a bound of LIMIT"),
        (Prior("LIMIT", "deg", 0, 320), Truth("limit", "rad", math.radians(160)), None, "is centred on"),
        (Prior("SPEED", "px/step", 0.1, 5, "log"), Truth("speed", "px/s", 50), 0.1, "a bound of SPEED"),
        (Prior("SPEED", "px/s", 0, 100), Truth("speed", "px/step", 5), 0.1, "is centred on"),
        # Without a duration the two say nothing to each other.
        (Prior("SPEED", "px/s", 0, 100), Truth("speed", "px/step", 5), None, ""),
        (Prior("PUSH", "N", 0.1, 10, "log"), Truth("push", "kg m/s^2", 1.02), None, "is centred on"),
        (Prior("WIDTH", "mm", 0, 20), Truth("width", "m", 0.02), None, "a bound of WIDTH"),
        (Prior("GRIP", "", 0.1, 10, "log"), Truth("grip", "opening", 1.0), None, "is centred on"),
        (Prior("SHARE", "", 0, 1), Truth("grip", "opening", 1.0), None, ""),  # no share is more than all
        (Prior("WAY", "m", 0, 1), Truth("length", "m", 1.0), None, "a bound of WAY"),
        (Prior("WAY", "m", 0, 1), Truth("area", "m^2", 1.0), None, ""),
        (
            Prior("PACE", "s", 0.001, 0.1, "log"),
            Truth("gain", "1/s", 3.0),
            0.1,
            "a bound of PACE is the simulator's duration of a step",
        ),
        (Prior("WAY", "m", -1, 1), Truth("offset", "m", 0.0), None, ""),
    ],
)
def test_the_guard_converts_units(prior: Prior, truth: Truth, step_s: float | None, expected: str):
    said = list(given_away([prior], [truth], step_s))
    assert (expected in said[0]) if expected else not said


def test_a_unit_that_is_not_understood_fails():
    with pytest.raises(AssertionError, match="'furlong/s' is not understood: give 'furlong' a line"):
        in_base_units("furlong/s", None)
    assert all(in_base_units(symbol, None) for symbol in SYMBOLS)
