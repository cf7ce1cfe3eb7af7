"""Level 2: the constants of a sketch from multi-step rollout error, by least squares with gradients through the program."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.optimize import least_squares

from visualpatchworld.induce.windows import Windows
from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import guided_rollout
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.sketch.constant import Constant

WORST = 1e3  # the residual of a rollout that is not finite: far worse than predicting no motion, which has about 1
FLOOR = 1e-9  # residuals smaller than this are rounding
# Trials are not told apart below this. Otherwise one that gets the easy fields right to the last bit and the hard ones wrong beats one that
# gets all of them right to four digits.
EXACT = 1e-5
SCAN_POINTS = 48  # of a threshold's prior, in a scan of it
SAME = 0.005  # costs closer than this share do not tell one place of a threshold from another
SAME_PLACE = 0.01  # of a prior's range: trials that are this close in every constant are one
SHARPEST = 1e-4  # of the typical motion: no field is taken to be read better than that
DIGITS = 7  # of a constant in the text
FEW_WINDOWS = 24  # enough to find the right valley
DIFFERENCE = 1e-6  # of a constant's prior range, where the Jacobian comes from differences
# The default optimisation of XLA's CPU compiler takes twice as long here and gains nothing.
QUICK_COMPILE = {"xla_backend_optimization_level": 1}

Values = Mapping[str, float | int]


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


@dataclass(frozen=True)
class Fit:
    """Fitted constants with their standard errors (None where the data do not determine a constant) and the errors reached."""

    values: Values
    errors: Mapping[str, float | None]
    held_out_cost: float  # root mean square rollout error, in units of the typical motion
    trial_costs: tuple[float, ...]  # of the other trials that reached the last stage
    not_finite: int

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Constants that the data leave open."""
        return tuple(name for name, error in self.errors.items() if error is None)


@dataclass(frozen=True)
class _Trial:
    place: Float[np.ndarray, " C"]  # in the unit box of the priors
    options: tuple[int, ...]
    cost: float = np.inf


def fit(
    program: Program,
    constants: Mapping[str, Constant],
    train: Windows,
    held_out: Windows,
    state_space: StateSpace,
    rng: np.random.Generator,
    search: Search,
    hints: Sequence[Values] = (),
    progress: Callable[[str], None] = lambda _: None,
    *,
    noisy: bool = False,
) -> Fit:
    """The constants whose rollouts stay closest to the training windows; among the last trials the best on held-out windows.

    A hint is what another fit found for some of the constants: a start to try beside the draws from the priors. Where states were read
    with errors (`noisy`), fields that turn out to be read well come to count more than those that are not.
    """
    with jax.enable_x64(True):
        model = _Model(program, constants, state_space, exact=search.exact)
        sets, weights = (train.thinned(FEW_WINDOWS), train, held_out), _weights(train, state_space)
        few, many, judge = (_Loss(model, windows, weights) for windows in sets)

        def refine(loss: _Loss, trials: list[_Trial], stage: Stage) -> list[_Trial]:
            progress(f"horizon {stage.horizon}")
            return [_refine(model, loss, trial, stage) for trial in _best(trials, stage.trials)]

        def with_every_option(trials: list[_Trial]) -> list[_Trial]:
            best = min(trials, key=lambda trial: trial.cost)
            for _ in range(2):
                trials = trials + refine(few, [_Trial(best.place, options) for options in model.option_sets], search.every_option)
                before, best = best, min(trials, key=lambda trial: trial.cost)
                if best.options == before.options:
                    break  # otherwise once more: what belonged to the other option may belong to yet another
            return trials

        trials = _draw(model, few, search, hints, rng)
        for stage in search.first:
            trials = refine(few, trials, stage)
        trials = with_every_option(trials)
        if noisy:
            weights = _sharpened(weights, many.residuals(min(trials, key=lambda trial: trial.cost), 1))
            few, many, judge = (_Loss(model, windows, weights) for windows in sets)
            trials = with_every_option([replace(trial, cost=_log_cost(few.residuals(trial, 1))) for trial in trials])
        for stage in search.longer:
            trials = refine(many, trials, stage)
        ranked = sorted(trials, key=lambda trial: _log_cost(judge.residuals(trial)))
        return _finish(model, many, judge, ranked)


def _best(trials: Sequence[_Trial], count: int) -> list[_Trial]:
    """The best trials, of those in one place only the first: copies of one valley would crowd out the others."""
    kept: list[_Trial] = []
    for trial in sorted(trials, key=lambda trial: trial.cost):
        if len(kept) < count and not any(
            trial.options == other.options and np.all(np.abs(trial.place - other.place) < SAME_PLACE) for other in kept
        ):
            kept.append(trial)
    return kept


def _draw(model: _Model, loss: _Loss, search: Search, hints: Sequence[Values], rng: np.random.Generator) -> list[_Trial]:
    """The best draws from the priors for every set of options, and around every hint."""
    hinted = [(hint, options) for hint in hints for options in model.option_sets if model.agrees(options, hint)]
    unhinted = [({}, options) for options in model.option_sets if search.draw_every_option or not hints]
    unhinted += [({}, options) for _, options in hinted if ({}, options) not in unhinted]
    trials = []
    for hint, options in unhinted + hinted:
        places = rng.uniform(size=(search.draws, len(model.free)))
        for i, (name, constant) in enumerate(model.free.items()):
            if name in hint:
                places[:, i] = _place(constant, hint[name])
        costs = loss.costs(places, options)
        trials += [_Trial(places[best], options, float(costs[best])) for best in np.argsort(costs)[: search.draws_kept]]
    return trials


class _Model:
    """A program's constants as places in the unit box of their priors, and its rollout residuals as functions of them."""

    def __init__(self, program: Program, constants: Mapping[str, Constant], space: StateSpace, *, exact: bool):
        self.choices = {name: constant for name, constant in constants.items() if constant.kind == "choice"}
        self.free = {name: constant for name, constant in constants.items() if constant.kind != "choice"}
        self.smooth = np.flatnonzero([constant.kind != "threshold" for constant in self.free.values()])
        self.steps = np.flatnonzero([constant.kind == "threshold" for constant in self.free.values()])
        self.option_sets = list(itertools.product(*(constant.options for constant in self.choices.values())))
        self._program = program
        self._periods = jnp.array([field.period or jnp.inf for field in space])
        self.compiled_residuals = jax.jit(self._residuals, compiler_options=QUICK_COMPILE)
        self.compiled_jacobian = jax.jit(jax.jacfwd(self._residuals) if exact else self._differences, compiler_options=QUICK_COMPILE)
        self.compiled_costs = jax.jit(jax.vmap(self._cost, in_axes=(0, None, None, None, None)), compiler_options=QUICK_COMPILE)

    def agrees(self, options: tuple[int, ...], hint: Values) -> bool:
        """Whether these options are the ones the hint names."""
        return all(hint.get(name, option) == option for name, option in zip(self.choices, options, strict=True))

    def values(self, place: Any, options: tuple[int, ...]) -> dict[str, Any]:
        """The constants at a place of the unit box."""
        numbers = {name: _value(constant, place[i]) for i, (name, constant) in enumerate(self.free.items())}
        return {**numbers, **dict(zip(self.choices, options, strict=True))}

    def _residuals(self, place: Float[Array, " C"], options: Any, look: Bool[Array, " H"], data: Any) -> Float[Array, " R"]:
        """Differences of rollouts to the truth in units of the typical motion, angles the short way round."""
        dynamics = self._program.bind("jax", self.values(place, options))
        starts, actions, truths, weights = data
        predicted = jax.vmap(lambda start, action, truth: guided_rollout(dynamics, start, action, truth, look))(starts, actions, truths)
        delta = predicted - truths
        turns = jnp.where(jnp.isinf(self._periods), 0.0, jnp.round(delta / self._periods))
        delta = (delta - jnp.where(turns == 0, 0.0, turns * self._periods)) * weights
        # A rollout that ends in a non-finite number is as bad as can be, never quietly good.
        return jnp.where(jnp.isfinite(delta), jnp.clip(delta, -WORST, WORST), WORST).ravel()

    def _differences(self, place: Float[Array, " C"], options: Any, look: Bool[Array, " H"], data: Any) -> Float[Array, "R C"]:
        """The Jacobian of the residuals to half the digits, each constant moved towards the middle of its prior."""
        moves = jnp.where(place > 0.5, -DIFFERENCE, DIFFERENCE)
        places = place + jnp.concatenate([jnp.zeros((1, len(place))), jnp.diag(moves)])
        here, *moved = jax.vmap(self._residuals, in_axes=(0, None, None, None))(places, options, look, data)
        return (jnp.stack(moved, axis=1) - here[:, None]) / moves

    def _cost(self, place: Float[Array, " C"], options: Any, look: Bool[Array, " H"], data: Any, soft: Any) -> Float[Array, ""]:
        residuals = self._residuals(place, options, look, data)
        return jnp.sum(2 * soft**2 * (jnp.sqrt(1 + (residuals / soft) ** 2) - 1))


class _Loss:
    """A model's residuals on one set of windows, which a horizon cuts into shorter ones."""

    def __init__(self, model: _Model, windows: Windows, weights: Float[np.ndarray, " S"]):
        self._model = model
        self.length = windows.horizon
        self._data = jax.tree.map(jnp.asarray, (windows.starts, windows.actions, windows.truths, weights))

    def _look(self, horizon: int | None) -> Bool[Array, " H"]:
        return jnp.asarray(np.arange(1, self.length + 1) % (horizon or self.length) == 0)

    def residuals(self, trial: _Trial, horizon: int | None = None) -> np.ndarray:
        return np.asarray(self._model.compiled_residuals(trial.place, trial.options, self._look(horizon), self._data))

    def jacobian(self, trial: _Trial, horizon: int | None = None) -> np.ndarray:
        jacobian = np.asarray(self._model.compiled_jacobian(trial.place, trial.options, self._look(horizon), self._data))
        return np.where(np.isfinite(jacobian), np.clip(jacobian, -1e9, 1e9), 0.0)

    def costs(self, places: Float[np.ndarray, "N C"], options: tuple[int, ...], horizon: int = 1, soft: float = 0.1) -> np.ndarray:
        return np.asarray(self._model.compiled_costs(places, options, self._look(horizon), self._data, soft))


def _weights(windows: Windows, space: StateSpace) -> np.ndarray:
    """One over the typical motion of each field; zero for fields that no program is asked to predict."""
    motion = space.difference(windows.truths[:, -1], windows.starts)
    scale = np.sqrt(np.mean(motion**2, axis=0))
    asked = np.array([field.predicted for field in space])
    return np.where(asked & (scale > 0), 1.0 / np.where(scale > 0, scale, 1.0), 0.0)


def _sharpened(weights: Float[np.ndarray, " S"], residuals: Float[np.ndarray, " R"]) -> Float[np.ndarray, " S"]:
    """Weights in proportion to how well each field is read; nine of ten one-step residuals tell, since much may be at rest mostly."""
    spread = np.maximum(np.quantile(np.abs(residuals.reshape(-1, len(weights))), 0.9, axis=0), SHARPEST)
    return weights * np.min(spread[weights > 0], initial=1.0) / spread


def _value(constant: Constant, place: Any) -> Any:
    if constant.kind == "log":
        return constant.low * (constant.high / constant.low) ** place
    return constant.low + (constant.high - constant.low) * place


def _place(constant: Constant, value: float) -> float:
    if constant.kind == "log":
        return float(np.log(value / constant.low) / np.log(constant.high / constant.low))
    return (value - constant.low) / (constant.high - constant.low)


def _refine(model: _Model, loss: _Loss, trial: _Trial, stage: Stage) -> _Trial:
    """Descend in the smooth constants; where there are thresholds, scan each and descend again, since each shifts the other.

    A stage of one round only sorts out the worst trials; it leaves thresholds where they are.
    """
    trial = _descend(model, loss, trial, stage)
    for _ in range(2 if len(model.steps) and stage.rounds > 1 else 0):
        for i in model.steps:
            trial = _scan(loss, trial, int(i), stage)
        trial = _descend(model, loss, trial, stage)
    return trial


def _descend(model: _Model, loss: _Loss, trial: _Trial, stage: Stage) -> _Trial:
    """Trust-region least squares (scipy) inside the unit box; each round takes for outliers what lies beyond most residuals."""

    def at(part: np.ndarray) -> _Trial:
        place = trial.place.copy()
        place[model.smooth] = part
        return _Trial(place, trial.options)

    for number in range(stage.rounds if len(model.smooth) else 0):
        solution = least_squares(
            lambda part: loss.residuals(at(part), stage.horizon),
            np.clip(trial.place[model.smooth], 1e-6, 1 - 1e-6),
            jac=lambda part: loss.jacobian(at(part), stage.horizon)[:, model.smooth],  # pyright: ignore[reportArgumentType]
            bounds=(0.0, 1.0),
            loss="soft_l1",
            f_scale=_softness(loss.residuals(trial, stage.horizon), stage.no_outlier if number == 0 else 0.0),
            x_scale="jac",
            max_nfev=stage.evaluations,
        )
        trial = at(solution.x)
    return _Trial(trial.place, trial.options, _log_cost(loss.residuals(trial, stage.horizon)))


def _log_cost(residuals: np.ndarray) -> float:
    """The mean order of magnitude: one measure for trials that took different residuals for outliers."""
    return float(np.mean(np.log(EXACT + np.abs(residuals))))


def _softness(residuals: np.ndarray, share_of_largest: float = 0.0) -> float:
    """The size beyond which a residual counts linearly: three quarters of those that are not zero are smaller."""
    sizes = np.abs(residuals[residuals != 0])
    return max(float(np.quantile(sizes, 0.75)), share_of_largest * float(np.max(sizes)), FLOOR) if len(sizes) else FLOOR


def _scan(loss: _Loss, trial: _Trial, index: int, stage: Stage) -> _Trial:
    """The middle of the best plateau of one threshold, found on a grid and then on finer grids around it."""
    low, high = 0.0, 1.0
    for _ in range(3):
        grid = np.linspace(low, high, SCAN_POINTS)
        places = np.repeat(trial.place[None], SCAN_POINTS, axis=0)
        places[:, index] = grid
        costs = loss.costs(places, trial.options, stage.horizon)
        first = last = int(np.argmin(costs))
        bound = costs[first] * (1 + SAME)
        while last + 1 < SCAN_POINTS and costs[last + 1] <= bound:
            last += 1
        while first > 0 and costs[first - 1] <= bound:
            first -= 1
        place = trial.place.copy()
        place[index] = (grid[first] + grid[last]) / 2
        trial = _Trial(place, trial.options, float(costs[first]))
        low, high = grid[max(0, first - 1)], grid[min(SCAN_POINTS - 1, last + 1)]
    return trial


def _half_plateau(loss: _Loss, trial: _Trial, index: int) -> float:
    """Half of the stretch of places around a threshold's own that the data do not tell from it."""
    grid = np.linspace(0.0, 1.0, 5 * SCAN_POINTS)
    places = np.repeat(trial.place[None], len(grid), axis=0)
    places[:, index] = grid
    costs = np.concatenate([loss.costs(part, trial.options, loss.length) for part in np.split(places, 5)])
    here = costs[np.argmin(np.abs(grid - trial.place[index]))]
    worse = costs > (1 + SAME) * here
    below, above = grid[worse & (grid < trial.place[index])], grid[worse & (grid > trial.place[index])]
    return (min(above, default=1.0) - max(below, default=0.0)) / 2


def _rms(residuals: np.ndarray) -> float:
    """Root mean square, no single number counting more than the whole typical motion."""
    return float(np.sqrt(np.mean(np.minimum(residuals**2, 1.0))))


def _finish(model: _Model, loss: _Loss, judge: _Loss, ranked: list[_Trial]) -> Fit:
    best = ranked[0]
    values = model.values(best.place, best.options)
    held_out = [judge.residuals(trial) for trial in ranked]
    return Fit(
        values={name: _rounded(value) for name, value in values.items()},
        errors=_standard_errors(model, loss, best, values),
        held_out_cost=_rms(held_out[0]),
        trial_costs=tuple(_rms(residuals) for residuals in held_out[1:]),
        not_finite=int(np.sum(held_out[0] >= WORST)),
    )


def _rounded(value: Any) -> float | int:
    """The value as it will stand in the text: what is reported is what was evaluated."""
    return int(value) if isinstance(value, (int, np.integer)) else float(f"{float(value):.{DIGITS}g}")


def _standard_errors(model: _Model, loss: _Loss, trial: _Trial, values: Mapping[str, Any]) -> dict[str, float | None]:
    """From the Jacobian at the solution, for a threshold from how far it could move unnoticed; None where an error of a tenth of the
    prior's range would not show in the data."""
    residuals, jacobian = loss.residuals(trial), loss.jacobian(trial)[:, model.smooth]
    inside = np.abs(residuals) <= 3 * _softness(residuals)
    spread = max(_rms(residuals[inside]), 1e-9)
    information = jacobian[inside].T @ jacobian[inside]
    # The unit matrix stands for the prior's own range: a direction the data say nothing about keeps the error of the prior.
    covariance = np.linalg.inv(information / spread**2 + np.eye(len(model.smooth)))
    place_errors = dict(zip(model.smooth.tolist(), np.sqrt(np.diag(covariance)), strict=True))
    place_errors |= {i: _half_plateau(loss, trial, i) for i in model.steps.tolist()}
    errors: dict[str, float | None] = {}
    for i, (name, constant) in enumerate(model.free.items()):
        range_here = float(values[name]) * np.log(constant.high / constant.low) if constant.kind == "log" else constant.high - constant.low
        errors[name] = None if place_errors[i] > 0.1 else float(abs(place_errors[i] * range_here))
    return errors
