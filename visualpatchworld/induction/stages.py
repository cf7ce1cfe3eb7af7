"""Searches: how much is tried on the way to a fit, as values."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stage:
    """One pass of least squares over rollouts of this horizon."""

    horizon: int
    trials: int  # how many of the best trials so far take part
    rounds: int  # of least squares, each with a stricter idea of what is an outlier
    evaluations: int  # at most, in a round
    # Of the largest residual: what is smaller is no outlier in the first round, even where most residuals are smaller still. A law that
    # only few residuals tell of (a limit that is seldom met) is hardly ever found without.
    no_outlier: float = 0.0


@dataclass(frozen=True)
class Search:
    """How much is tried: draws from the priors, and the stages that the best of them go through.

    The stages before the longer ones see few windows and short rollouts, whose loss is nearly convex and leads into the right valley of
    the long one. In that of the options, the best trial so far is tried with every option of the choices.
    """

    first: tuple[Stage, ...]
    every_option: Stage
    longer: tuple[Stage, ...]
    draws: int = 1024
    draws_kept: int = 1  # for every set of options
    draw_every_option: bool = True  # otherwise only those options that the hints name
    exact: bool = True  # whether gradients go through the program; otherwise differences, which a form that is tried once compiles faster

    @property
    def horizon(self) -> int:
        """Of the rollouts that it ends with."""
        return self.longer[-1].horizon


def quick_search_over(horizon: int) -> Search:
    """A search for a form that may be refuted: more starts, of which most are soon given up, and nothing that is slow to compile."""
    search = search_over(horizon)
    first = (
        Stage(horizon=1, trials=24, rounds=1, evaluations=12, no_outlier=0.01),
        Stage(horizon=1, trials=8, rounds=2, evaluations=30, no_outlier=0.01),
    )
    return replace(search, first=first, every_option=replace(search.every_option, no_outlier=0.01), draws_kept=3, exact=False)


def search_over(horizon: int, *, draw_every_option: bool = True) -> Search:
    """A search that ends with rollouts of this horizon."""
    middle = max(1, round(horizon**0.5))
    return Search(
        first=(Stage(horizon=1, trials=12, rounds=2, evaluations=30),),
        every_option=Stage(horizon=1, trials=12, rounds=2, evaluations=40),
        longer=(Stage(horizon=middle, trials=4, rounds=2, evaluations=30), Stage(horizon=horizon, trials=2, rounds=3, evaluations=30)),
        draw_every_option=draw_every_option,
    )
