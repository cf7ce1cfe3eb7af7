"""Drafts: laws of motion that are proposed as the text of a program,
refined by rollouts and compared by what they leave unexplained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.optimize import least_squares

from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout

WORST = 1e3  # the residual of what is not finite, in units of the typical motion
SOFT = 3.0  # so many times the typical residual counts as an outlier
MOST_WINDOWS = 256


@dataclass(frozen=True)
class Draft:
    """A program whose form is proposed and whose free constants are yet to be refined.

    `laws` names what it is made of and on which coordinates, for the record: `("torque", ("theta",))`.
    """

    name: str
    program: Program
    free: tuple[str, ...]  # module-level constants that refinement may move
    laws: tuple[tuple[str, tuple[str, ...]], ...] = ()
    stderr: Mapping[str, float] = field(default_factory=dict)
    empirical: bool = False  # a sum of terms of the last resort, not a law


class Stretches(NamedTuple):
    """N stretches of H steps: where each starts, what was done, and the states that followed."""

    starts: Float[np.ndarray, "N S"]
    actions: Float[np.ndarray, "N H A"]
    truths: Float[np.ndarray, "N H S"]


def cut(
    states: Sequence[Float[np.ndarray, "T+1 S"]],
    actions: Sequence[Float[np.ndarray, "T A"]],
    horizon: int,
    *,
    usable: Sequence[Bool[np.ndarray, " T"]] | None = None,
    most: int = MOST_WINDOWS,
) -> Stretches:
    """Stretches of this horizon from all trajectories, evenly thinned;
    steps that are not `usable` (events set aside) are not in them.
    """
    places = []
    for i, acted in enumerate(actions):
        fine = np.ones(len(acted), bool) if usable is None else usable[i]
        places += [(i, t) for t in range(len(acted) - horizon + 1) if fine[t : t + horizon].all()]
    kept = (
        [places[k] for k in np.unique(np.linspace(0, len(places) - 1, min(most, len(places))).astype(int))]
        if places
        else []
    )
    width, action_dim = states[0].shape[1], actions[0].shape[1]
    return Stretches(
        np.array([states[i][t] for i, t in kept]).reshape(len(kept), width),
        np.array([actions[i][t : t + horizon] for i, t in kept]).reshape(len(kept), horizon, action_dim),
        np.array([states[i][t + 1 : t + horizon + 1] for i, t in kept]).reshape(len(kept), horizon, width),
    )


def predict(
    program: Program, stretches: Stretches, constants: Mapping[str, float] | None = None
) -> Float[np.ndarray, "N H S"]:
    """Open-loop rollouts of the program, in double precision."""
    with jax.enable_x64(True):
        run = jax.jit(lambda starts, actions: _predicted(program, constants or {}, starts, actions))
        return np.asarray(run(jnp.asarray(stretches.starts), jnp.asarray(stretches.actions)))


def refine(
    draft: Draft,
    stretches: Stretches,
    *,
    scales: Float[np.ndarray, " S"] | None = None,
    evaluations: int = 40,
    robust: bool = True,
) -> Draft:
    """The draft with its free constants moved to where rollouts
    stay closest to the stretches; with their standard errors.

    Residuals count in units of each field's typical motion over a stretch (`scales` where given).
    """
    if not draft.free or not len(stretches.starts):
        return draft
    scales = motion_scales(stretches) if scales is None else scales
    first = np.array([float(draft.program.constants[name]) for name in draft.free])
    unit = np.where(first == 0, 1.0, np.abs(first))
    with jax.enable_x64(True):
        data = tuple(jnp.asarray(part) for part in stretches)

        def residuals(place: Float[Array, " C"]) -> Float[Array, " R"]:
            values = dict(zip(draft.free, place * unit, strict=True))
            delta = (_predicted(draft.program, values, *data[:2]) - data[2]) / scales
            return jnp.where(jnp.isfinite(delta), jnp.clip(delta, -WORST, WORST), WORST).ravel()

        run, jacobian = jax.jit(residuals), jax.jit(jax.jacfwd(residuals))

        def finite_jacobian(place: np.ndarray) -> np.ndarray:
            return np.nan_to_num(np.clip(np.asarray(jacobian(place)), -1e9, 1e9))

        place = first / unit
        for _ in range(2 if robust else 1):
            sizes = np.abs(np.asarray(run(place)))
            typical = max(SOFT * float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0, 1e-12)
            place = least_squares(
                lambda p: np.asarray(run(p)),
                place,
                jac=finite_jacobian,  # pyright: ignore[reportArgumentType]
                loss="soft_l1" if robust else "linear",
                f_scale=typical if robust else 1.0,
                x_scale="jac",
                max_nfev=evaluations,
                xtol=1e-15,
                ftol=1e-15,
                gtol=1e-15,
            ).x
        left, slope = np.asarray(run(place)), finite_jacobian(place)
    inside = np.abs(left) <= SOFT * max(float(np.median(np.abs(left))), 1e-15) * 2
    noise = float(np.sqrt(np.mean(left[inside] ** 2))) if inside.any() else 0.0
    covariance = np.linalg.pinv(slope[inside].T @ slope[inside]) * noise**2
    values = {name: float(value) for name, value in zip(draft.free, place * unit, strict=True)}
    errors = {
        name: float(e) for name, e in zip(draft.free, np.sqrt(np.maximum(np.diag(covariance), 0)) * unit, strict=True)
    }
    return replace(draft, program=draft.program.edited(values), stderr=errors)


def motion_scales(stretches: Stretches) -> Float[np.ndarray, " S"]:
    """The typical motion of each field over a stretch; a field that never moves counts in its own size."""
    moved = np.std(stretches.truths[:, -1] - stretches.starts, axis=0)
    size = np.maximum(np.std(stretches.starts, axis=0), 1e-12)
    return np.where(moved > 1e-12, moved, size)


def normalised_errors(
    predicted: Float[np.ndarray, "N H S"], truths: Float[np.ndarray, "N H S"], starts: Float[np.ndarray, "N S"]
) -> Float[np.ndarray, " N"]:
    """Per stretch, the root mean square over fields of the last step's
    error over the standard deviation of that field's H-step change.
    """
    change = np.std(truths[:, -1] - starts, axis=0)
    live = change > 1e-12
    if not live.any():
        return np.zeros(len(starts))
    off = (predicted[:, -1] - truths[:, -1])[:, live] / change[live]
    return np.sqrt(np.mean(np.where(np.isfinite(off), off, WORST) ** 2, axis=-1))


def _predicted(
    program: Program, constants: Mapping[str, object], starts: Float[Array, "N S"], actions: Float[Array, "N H A"]
) -> Array:
    dynamics = program.bind("jax", constants)
    return jax.vmap(lambda start, acted: rollout(dynamics, start, acted))(starts, actions)
