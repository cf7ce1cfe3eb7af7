"""Losses of rollouts as functions of constants, and how much is tried on the way to the least."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from visualpatchworld.induction.windows import Windows
from visualpatchworld.laws.constant import Constant
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import teacher_forced_rollout
from visualpatchworld.scene.state import StateSpace


@dataclass(frozen=True)
class Stage:
    """One pass of least squares over rollouts of this horizon."""

    horizon: int
    trials: int  # how many of the best trials so far take part
    rounds: int  # of least squares, each with a stricter idea of what is an outlier
    evaluations: int  # at most, in a round
    # Of the largest residual: what is smaller is no outlier in the first round, even where most residuals are smaller
    # still. A law that only few residuals tell of (a limit that is seldom met) is hardly ever found without.
    no_outlier: float = 0.0


@dataclass(frozen=True)
class FitStages:
    """How much is tried: draws from the priors, and the stages that the best of them go through.

    The stages before the longer ones see few windows and short rollouts, whose loss is nearly convex and leads into the
    right valley of the long one. In those of the options, the best trial so far is tried with every option of the
    choices, and most are soon given up.
    """

    first: tuple[Stage, ...]
    every_option: tuple[Stage, ...]
    longer: tuple[Stage, ...]
    draws: int = 1024  # around a warm start, and without any
    draws_beside: int = 256  # anywhere, beside warm starts
    draws_kept: int = 1  # for every set of options
    draw_every_option: bool = True  # otherwise only those options that the warm starts name
    # Whether gradients go through the program; otherwise differences, which a form that is tried once compiles faster.
    exact: bool = True

    @property
    def horizon(self) -> int:
        """Of the rollouts that it ends with."""
        return self.longer[-1].horizon


def quick_search_over(horizon: int) -> FitStages:
    """A search for a form that may be refuted: more starts, of which
    most are soon given up, and nothing that is slow to compile.
    """
    search = search_over(horizon)
    first = (
        Stage(horizon=1, trials=24, rounds=1, evaluations=12, no_outlier=0.01),
        Stage(horizon=1, trials=8, rounds=2, evaluations=30, no_outlier=0.01),
    )
    every_option = tuple(replace(stage, no_outlier=0.01) for stage in search.every_option)
    return replace(search, first=first, every_option=every_option, draws_kept=3, exact=False)


def retry_over(horizon: int) -> FitStages:
    """A search for a form that is tried again from one warm start: what that does not lead to was looked for before."""
    return replace(quick_search_over(horizon), every_option=(), draws=256, draw_every_option=False)


def polish_over(horizon: int) -> FitStages:
    """A search from constants that explain every experiment: no
    other options, and only descents over longer rollouts.
    """
    return replace(
        search_over(horizon, draw_every_option=False), first=(), every_option=(), draws_beside=0, exact=False
    )


def search_over(horizon: int, *, draw_every_option: bool = True) -> FitStages:
    """A search that ends with rollouts of this horizon."""
    middle = max(1, round(horizon**0.5))
    return FitStages(
        first=(Stage(horizon=1, trials=12, rounds=2, evaluations=30),),
        every_option=(
            Stage(horizon=1, trials=12, rounds=1, evaluations=8),
            Stage(horizon=1, trials=4, rounds=2, evaluations=40),
        ),
        longer=(
            Stage(horizon=middle, trials=4, rounds=2, evaluations=30),
            Stage(horizon=horizon, trials=2, rounds=3, evaluations=30),
        ),
        draw_every_option=draw_every_option,
    )


WORST = 1e3  # the residual of a rollout that is not finite: far worse than predicting no motion, which has about 1
FLOOR = 1e-9  # residuals smaller than this are rounding
# Trials are not ranked below this. Otherwise one that gets the easy fields right to the last bit and the hard ones
# wrong beats one that gets all of them right to four digits.
EXACT = 1e-5
DIGITS = 7  # of a constant in the text
SHARPEST = 1e-4  # of the typical motion: no field is taken to be read better than that
DIFFERENCE = 1e-6  # of a constant's prior range, where the Jacobian comes from differences
# Change of a residual over a prior's range: a steeper one is a jump, where a contact begins, say, and leads nowhere.
STEEPEST = 1e4
BATCH = 16  # places at once, at least: fewer take as long
# The default optimisation of XLA's CPU compiler takes twice as long here and gains nothing.
QUICK_COMPILE = {"xla_backend_optimization_level": 1}

Values = Mapping[str, float | int]


@dataclass(frozen=True)
class Trial:
    """Constants that were tried, and what they cost so far."""

    place: Float[np.ndarray, " C"]  # in the unit box of the priors
    options: tuple[int, ...]
    cost: float = np.inf


class Model:
    """A program's constants as places in the unit box of their
    priors, and its rollouts and their residuals as functions of them.

    A form that is tried once has one compiled function, which rolls out many places: a place and its neighbours give
    residuals and their Jacobian by differences. An `exact` one has gradients through the program as well, which take
    longer to compile.
    """

    def __init__(self, program: Program, constants: Mapping[str, Constant], space: StateSpace, *, exact: bool):
        self.choices = {name: constant for name, constant in constants.items() if constant.kind == "choice"}
        self.free = {name: constant for name, constant in constants.items() if constant.kind != "choice"}
        self.smooth = np.flatnonzero([constant.kind != "threshold" for constant in self.free.values()])
        self.steps = np.flatnonzero([constant.kind == "threshold" for constant in self.free.values()])
        self.option_sets = list(itertools.product(*(constant.options for constant in self.choices.values())))
        self.exact = exact
        self._program = program
        self._periods = np.array([field.period or np.inf for field in space])
        self.batch = max(BATCH, 1 + len(self.free))
        rolled = jax.vmap(self._predicted, in_axes=(0, None, None, None))
        self.compiled_predictions = jax.jit(rolled, compiler_options=QUICK_COMPILE)
        self.compiled_residuals = jax.jit(self._residuals, compiler_options=QUICK_COMPILE)
        self.compiled_jacobian = jax.jit(jax.jacfwd(self._residuals), compiler_options=QUICK_COMPILE)

    def agrees(self, options: tuple[int, ...], warm_start: Values) -> bool:
        """Whether these options are the ones the warm start names."""
        return all(warm_start.get(name, option) == option for name, option in zip(self.choices, options, strict=True))

    def values(self, place: Any, options: tuple[int, ...]) -> dict[str, Any]:
        """The constants at a place of the unit box."""
        numbers = {name: value_at(constant, place[i]) for i, (name, constant) in enumerate(self.free.items())}
        return {**numbers, **dict(zip(self.choices, options, strict=True))}

    def written(self, trial: Trial) -> Trial:
        """The trial with constants as they will stand in the text: what is reported is what was evaluated."""
        values = self.values(trial.place, trial.options)
        return replace(
            trial,
            place=np.array([place_of(constant, as_written(values[name])) for name, constant in self.free.items()]),
        )

    def _predicted(
        self, place: Float[Array, " C"], options: Any, resync: Bool[Array, " H"], data: Any
    ) -> Float[Array, "N H S"]:
        dynamics = self._program.bind("jax", self.values(place, options))
        roll = jax.vmap(lambda start, action, truth: teacher_forced_rollout(dynamics, start, action, truth, resync))
        return roll(*data[:3])

    def _residuals(
        self, place: Float[Array, " C"], options: Any, resync: Bool[Array, " H"], data: Any
    ) -> Float[Array, " R"]:
        return self.residuals_of(self._predicted(place, options, resync, data), *data[2:], xp=jnp).ravel()

    def residuals_of(self, predicted: Any, truths: Any, weights: Any, xp: Any = np) -> Any:
        """Differences of rollouts to the truth in units of the typical motion, angles the short way round."""
        with np.errstate(all="ignore"):
            delta = predicted - truths
            turns = xp.where(xp.isinf(self._periods), 0.0, xp.round(delta / self._periods))
            delta = (delta - xp.where(turns == 0, 0.0, turns * self._periods)) * weights
        # A rollout that ends in a non-finite number is as bad as can be, never quietly good.
        return xp.where(xp.isfinite(delta), xp.clip(delta, -WORST, WORST), WORST)


class Loss:
    """A model's residuals on one set of windows, which a horizon cuts
    into shorter ones: by default the one it is in the end about.
    """

    def __init__(self, model: Model, windows: Windows, weights: Float[np.ndarray, " S"], horizon: int):
        self._model = model
        self.horizon = horizon
        self._length = windows.horizon
        self._truths, self._weights = windows.truths, weights
        self._data = jax.tree.map(jnp.asarray, (windows.starts, windows.actions, windows.truths, weights))
        self._last: tuple[Any, np.ndarray] = (None, np.empty(0))

    def _resync_every(self, horizon: int | None) -> Bool[Array, " H"]:
        return jnp.asarray(np.arange(1, self._length + 1) % (horizon or self.horizon) == 0)

    def predicted(self, trial: Trial) -> Float[np.ndarray, "N H S"]:
        """The states that follow from the windows' starts alone."""
        return self._predicted(trial.place[None], trial.options, jnp.zeros(self._length, bool))[0]

    def residuals(self, trial: Trial, horizon: int | None = None) -> np.ndarray:
        if self._model.exact:
            return np.asarray(
                self._model.compiled_residuals(trial.place, trial.options, self._resync_every(horizon), self._data)
            )
        return self._around(trial, horizon)[0]

    def jacobian(self, trial: Trial, horizon: int | None = None) -> np.ndarray:
        if self._model.exact:
            jacobian = np.asarray(
                self._model.compiled_jacobian(trial.place, trial.options, self._resync_every(horizon), self._data)
            )
        else:
            around = self._around(trial, horizon)
            jacobian = (around[1:] - around[0]).T / _moves(trial.place)
            jacobian = np.where(np.abs(jacobian) < STEEPEST, jacobian, 0.0)
        return np.where(np.isfinite(jacobian), np.clip(jacobian, -1e9, 1e9), 0.0)

    def _around(self, trial: Trial, horizon: int | None) -> Float[np.ndarray, "C+1 R"]:
        """The residuals at a place and with each constant moved a little; a search asks for both at the same place."""
        key = (trial.place.tobytes(), trial.options, horizon)
        if self._last[0] != key:
            places = trial.place + np.concatenate([np.zeros((1, len(trial.place))), np.diag(_moves(trial.place))])
            self._last = key, self._many(places, trial.options, self._resync_every(horizon))
        return self._last[1]

    def _many(
        self, places: Float[np.ndarray, "B C"], options: tuple[int, ...], resync: Bool[Array, " H"]
    ) -> Float[np.ndarray, "B R"]:
        return self._model.residuals_of(self._predicted(places, options, resync), self._truths, self._weights).reshape(
            len(places), -1
        )

    def _predicted(
        self, places: Float[np.ndarray, "B C"], options: tuple[int, ...], resync: Bool[Array, " H"]
    ) -> Float[np.ndarray, "B N H S"]:
        """Rollouts with at most a batch of constants, which is filled up: one shape is one compilation."""
        full = places[np.minimum(np.arange(self._model.batch), len(places) - 1)]
        return np.asarray(self._model.compiled_predictions(full, options, resync, self._data))[: len(places)]

    def costs(
        self, places: Float[np.ndarray, "N C"], options: tuple[int, ...], horizon: int = 1, soft: float = 0.1
    ) -> np.ndarray:
        costs = []
        for first in range(0, len(places), self._model.batch):
            residuals = self._many(places[first : first + self._model.batch], options, self._resync_every(horizon))
            costs.append(np.sum(2 * soft**2 * (np.sqrt(1 + (residuals / soft) ** 2) - 1), axis=1))
        return np.concatenate(costs)


def _moves(place: Float[np.ndarray, " C"]) -> Float[np.ndarray, " C"]:
    """How far each constant is moved for its difference: towards the middle of its prior."""
    return np.where(place > 0.5, -DIFFERENCE, DIFFERENCE)


def as_written(value: float) -> float:
    """A constant as it will stand in the text."""
    return float(f"{float(value):.{DIGITS}g}")


def motion_weights(windows: Windows, space: StateSpace) -> np.ndarray:
    """One over the typical motion of each field; zero for fields that no program is asked to predict."""
    motion = space.difference(windows.truths[:, -1], windows.starts)
    scale = np.sqrt(np.mean(motion**2, axis=0))
    asked = np.array([field.predicted for field in space])
    return np.where(asked & (scale > 0), 1.0 / np.where(scale > 0, scale, 1.0), 0.0)


def weights_by_precision(
    weights: Float[np.ndarray, " S"], residuals: Float[np.ndarray, " R"]
) -> Float[np.ndarray, " S"]:
    """Weights in proportion to how well each field is read; nine of
    ten one-step residuals tell, since much may be at rest mostly.
    """
    spread = np.maximum(np.quantile(np.abs(residuals.reshape(-1, len(weights))), 0.9, axis=0), SHARPEST)
    return weights * np.min(spread[weights > 0], initial=1.0) / spread


def value_at(constant: Constant, place: Any) -> Any:
    if constant.kind == "log":
        return constant.low * (constant.high / constant.low) ** place
    return constant.low + (constant.high - constant.low) * place


def place_of(constant: Constant, value: float) -> float:
    if constant.kind == "log":
        return float(np.log(value / constant.low) / np.log(constant.high / constant.low))
    return (value - constant.low) / (constant.high - constant.low)


def log_cost(residuals: np.ndarray) -> float:
    """The mean order of magnitude: one measure for trials that took different residuals for outliers."""
    return float(np.mean(np.log(EXACT + np.abs(residuals))))


def softness(residuals: np.ndarray, share_of_largest: float = 0.0) -> float:
    """The size beyond which a residual counts linearly: three quarters of those that are not zero are smaller."""
    sizes = np.abs(residuals[residuals != 0])
    return max(float(np.quantile(sizes, 0.75)), share_of_largest * float(np.max(sizes)), FLOOR) if len(sizes) else FLOOR


def root_mean_square(residuals: np.ndarray) -> float:
    """Root mean square, no single number counting more than the whole typical motion."""
    return float(np.sqrt(np.mean(np.minimum(residuals**2, 1.0))))
