"""Level 2: the constants of a sketch from multi-step rollout
error, by least squares with gradients through the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from scipy.optimize import least_squares

from visualpatchworld.induction.loss import (
    WORST,
    FitStages,
    Loss,
    Model,
    Stage,
    Trial,
    Values,
    as_written,
    log_cost,
    motion_weights,
    place_of,
    root_mean_square,
    softness,
    weights_by_precision,
)
from visualpatchworld.induction.windows import Windows
from visualpatchworld.laws.constant import Constant
from visualpatchworld.program.program import Program
from visualpatchworld.scene.state import StateSpace

SCAN_POINTS = 48  # of a threshold's prior, in a scan of it
SAME = 0.005  # costs closer than this share do not tell one place of a threshold from another
SAME_PLACE = 0.01  # of a prior's range: trials that are this close in every constant are one
FEW_WINDOWS = 24  # enough to find the right valley


@dataclass(frozen=True)
class Fit:
    """Fitted constants with their standard errors (None where the
    data do not determine a constant) and the errors reached.
    """

    values: Values
    errors: Mapping[str, float | None]
    not_finite: int
    # Validation windows, if judged by these.
    predicted: Float[np.ndarray, "N H S"] | None = field(default=None, repr=False, compare=False)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Constants that the data leave open."""
        return tuple(name for name, error in self.errors.items() if error is None)


def fit(
    program: Program,
    constants: Mapping[str, Constant],
    train: Windows,
    validation: Windows,
    state_space: StateSpace,
    rng: np.random.Generator,
    search: FitStages,
    warm_starts: Sequence[Values] = (),
    progress: Callable[[str], None] = lambda _: None,
    *,
    misses: Callable[[Float[np.ndarray, "N H S"]], int] | None = None,
    noisy: bool = False,
) -> Fit:
    """The constants whose rollouts stay closest to the training
    windows; among the last trials the best on validation windows.

    A warm start is what another fit found for some constants: a start to try beside the draws from the priors. Where a
    form is judged by more than closeness, `misses` counts what is wrong with the states that it predicts for the
    validation windows, and the last trials are ranked by that first. Where states were read with errors (`noisy`),
    fields that turn out to be read well come to count more than those that are not.
    """
    with jax.enable_x64(True):
        model = Model(program, constants, state_space, exact=search.exact)
        few_windows = train.thinned(FEW_WINDOWS) if len(train) > 2 * FEW_WINDOWS else train
        sets, weights = (few_windows, train, validation), motion_weights(train, state_space)
        few, many, judge = _losses(model, sets, weights, search.horizon)

        def refine(loss: Loss, trials: list[Trial], stage: Stage) -> list[Trial]:
            progress(f"horizon {stage.horizon}")
            return [_refine(model, loss, trial, stage) for trial in _best(trials, stage.trials)]

        def with_every_option(trials: list[Trial]) -> list[Trial]:
            best = min(trials, key=lambda trial: trial.cost)
            for _ in range(2 if search.every_option else 0):
                tried = [Trial(best.place, options) for options in model.option_sets]
                for stage in search.every_option:
                    tried = refine(few, tried, stage)
                trials = trials + tried
                before, best = best, min(trials, key=lambda trial: trial.cost)
                if best.options == before.options:
                    break  # otherwise once more: what belonged to the other option may belong to yet another
            return trials

        trials = _draw(model, few, search, warm_starts, rng)
        for stage in search.first:
            trials = refine(few, trials, stage)
        trials = with_every_option(trials)
        if noisy:
            weights = weights_by_precision(weights, many.residuals(min(trials, key=lambda trial: trial.cost), 1))
            few, many, judge = _losses(model, sets, weights, search.horizon)
            trials = with_every_option([replace(trial, cost=log_cost(few.residuals(trial, 1))) for trial in trials])
        for stage in search.longer:
            trials = refine(many, trials, stage)
        ranked = sorted(map(model.written, trials), key=lambda trial: log_cost(judge.residuals(trial)))
        if misses is None:
            return _finish(model, many, judge, ranked)
        # A trial that is exact where little happens and wrong where much does can cost less than the right one.
        ranked = sorted(ranked, key=lambda trial: misses(judge.predicted(trial)))
        return replace(_finish(model, many, judge, ranked), predicted=judge.predicted(ranked[0]))


def _losses(model: Model, sets: Sequence[Windows], weights: Float[np.ndarray, " S"], horizon: int) -> list[Loss]:
    """A loss for every set of windows; sets that are one share theirs."""
    losses = {id(windows): Loss(model, windows, weights, horizon) for windows in sets}
    return [losses[id(windows)] for windows in sets]


def _best(trials: Sequence[Trial], count: int) -> list[Trial]:
    """The best trials, of those in one place only the first: copies of one valley would crowd out the others."""
    kept: list[Trial] = []
    for trial in sorted(trials, key=lambda trial: trial.cost):
        if len(kept) < count and not any(
            trial.options == other.options and np.all(np.abs(trial.place - other.place) < SAME_PLACE) for other in kept
        ):
            kept.append(trial)
    return kept


def _draw(
    model: Model, loss: Loss, search: FitStages, warm_starts: Sequence[Values], rng: np.random.Generator
) -> list[Trial]:
    """The best draws from the priors for every set of options, and
    around every warm start that knows one of the constants.
    """
    warm_starts = [warm_start for warm_start in warm_starts if set(warm_start) & {*model.free, *model.choices}]
    warm = [
        (warm_start, options)
        for warm_start in warm_starts
        for options in model.option_sets
        if model.agrees(options, warm_start)
    ]
    cold = [({}, options) for options in model.option_sets if search.draw_every_option or not warm_starts]
    cold += [({}, options) for _, options in warm if ({}, options) not in cold]
    draws_cold = search.draws_beside if warm_starts else search.draws
    trials = []
    for warm_start, options in (cold if draws_cold else []) + warm:
        known = bool(warm_start) and set(model.free) <= set(warm_start)
        places = rng.uniform(size=(1 if known else search.draws if warm_start else draws_cold, len(model.free)))
        for i, (name, constant) in enumerate(model.free.items()):
            if name in warm_start:
                places[:, i] = place_of(constant, warm_start[name])
        costs = loss.costs(places, options)
        trials += [Trial(places[best], options, float(costs[best])) for best in np.argsort(costs)[: search.draws_kept]]
    return trials


def _refine(model: Model, loss: Loss, trial: Trial, stage: Stage) -> Trial:
    """Descend in the smooth constants; where there are thresholds,
    scan each and descend again, since each shifts the other.

    A stage of one round only sorts out the worst trials; it leaves thresholds where they are.
    """
    trial = descend(model, loss, trial, stage)
    for _ in range(2 if len(model.steps) and stage.rounds > 1 else 0):
        for i in model.steps:
            trial = _scan(loss, trial, int(i), stage)
        trial = descend(model, loss, trial, stage)
    return trial


def descend(model: Model, loss: Loss, trial: Trial, stage: Stage) -> Trial:
    """Trust-region least squares (scipy) inside the unit box; each
    round takes for outliers what lies beyond most residuals.
    """

    def at(part: np.ndarray) -> Trial:
        place = trial.place.copy()
        place[model.smooth] = part
        return Trial(place, trial.options)

    for number in range(stage.rounds if len(model.smooth) else 0):
        try:
            solution = least_squares(
                lambda part: loss.residuals(at(part), stage.horizon),
                np.clip(trial.place[model.smooth], 1e-6, 1 - 1e-6),
                jac=lambda part: loss.jacobian(at(part), stage.horizon)[:, model.smooth],  # pyright: ignore[reportArgumentType]
                bounds=(0.0, 1.0),
                loss="soft_l1",
                f_scale=softness(loss.residuals(trial, stage.horizon), stage.no_outlier if number == 0 else 0.0),
                x_scale="jac",
                max_nfev=stage.evaluations,
            )
        except (ValueError, np.linalg.LinAlgError):
            break  # slopes so unequal that a step is lost to rounding: the round before stands
        trial = at(solution.x)
    return Trial(trial.place, trial.options, log_cost(loss.residuals(trial, stage.horizon)))


def _scan(loss: Loss, trial: Trial, index: int, stage: Stage) -> Trial:
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
        trial = Trial(place, trial.options, float(costs[first]))
        low, high = grid[max(0, first - 1)], grid[min(SCAN_POINTS - 1, last + 1)]
    return trial


def _half_plateau(loss: Loss, trial: Trial, index: int) -> float:
    """Half of the stretch of places around a threshold's own that the data do not tell from it."""
    grid = np.linspace(0.0, 1.0, 5 * SCAN_POINTS)
    places = np.repeat(trial.place[None], len(grid), axis=0)
    places[:, index] = grid
    costs = np.concatenate([loss.costs(part, trial.options, loss.horizon) for part in np.split(places, 5)])
    here = costs[np.argmin(np.abs(grid - trial.place[index]))]
    worse = costs > (1 + SAME) * here
    below, above = grid[worse & (grid < trial.place[index])], grid[worse & (grid > trial.place[index])]
    return (min(above, default=1.0) - max(below, default=0.0)) / 2


def _finish(model: Model, loss: Loss, judge: Loss, ranked: list[Trial]) -> Fit:
    best = ranked[0]
    values = model.values(best.place, best.options)
    return Fit(
        values={name: int(value) if name in model.choices else as_written(value) for name, value in values.items()},
        errors=_standard_errors(model, loss, best, values),
        not_finite=int(np.sum(judge.residuals(best) >= WORST)),
    )


def _standard_errors(model: Model, loss: Loss, trial: Trial, values: Mapping[str, Any]) -> dict[str, float | None]:
    """From the Jacobian at the solution, for a threshold from how far it could move unnoticed; None where an error of a
    tenth of the prior's range would not show in the data.
    """
    residuals, jacobian = loss.residuals(trial), loss.jacobian(trial)[:, model.smooth]
    inside = np.abs(residuals) <= 3 * softness(residuals)
    spread = max(root_mean_square(residuals[inside]), 1e-9)
    information = jacobian[inside].T @ jacobian[inside]
    # The unit matrix stands for the prior's own range: a direction the data say nothing about keeps the error of the
    # prior.
    covariance = np.linalg.inv(information / spread**2 + np.eye(len(model.smooth)))
    place_errors = dict(zip(model.smooth.tolist(), np.sqrt(np.diag(covariance)), strict=True))
    place_errors |= {i: _half_plateau(loss, trial, i) for i in model.steps.tolist()}
    errors: dict[str, float | None] = {}
    for i, (name, constant) in enumerate(model.free.items()):
        range_here = (
            float(values[name]) * np.log(constant.high / constant.low)
            if constant.kind == "log"
            else constant.high - constant.low
        )
        errors[name] = None if place_errors[i] > 0.1 else float(abs(place_errors[i] * range_here))
    return errors
