"""The planners of the bundled domains are the protocol's, and no scoring model gets another."""

from visualpatchworld.domain import Domain
from visualpatchworld.plan.cem import CEM
from visualpatchworld.plan.planner import Planner, Shooting

# What the protocol freezes: candidates per round, rounds, steps ahead, steps executed, and steps allowed for goals 25
# steps ahead.
PROTOCOL = {
    "tworoom": (300, 10, 25, 25, 50),
    "reacher": (300, 10, 1, 1, 50),
    "pusht": (600, 15, 25, 25, 50),
    "cube": (400, 1, 5, 5, 100),
}
TOYS = {"slider"}


def budgets(planner: Planner) -> tuple[int, ...]:
    if isinstance(planner, Shooting):
        return planner.macros, 1, planner.horizon, planner.replan_every
    assert isinstance(planner, CEM)
    return planner.samples, planner.iterations, planner.horizon, planner.replan_every


def test_every_domain_plans_with_the_budget_of_the_protocol(domain: Domain):
    if domain.name in TOYS:
        assert domain.planner.rollouts_per_plan == 200
        return
    assert (*budgets(domain.planner), 25 * domain.budget_per_offset) == PROTOCOL[domain.name]
    assert domain.planner.rollouts_per_plan == PROTOCOL[domain.name][0] * PROTOCOL[domain.name][1]


def test_a_tenth_of_the_candidates_is_the_elite(domain: Domain):
    if isinstance(domain.planner, CEM):
        assert domain.planner.elites == domain.planner.samples // 10


def test_programs_are_fitted_to_foresee_at_least_what_planners_look_ahead(domain: Domain):
    assert domain.horizon >= domain.planner.horizon
