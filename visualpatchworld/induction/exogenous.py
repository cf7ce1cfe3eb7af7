"""Exogenous columns: nothing that was seen predicts them, but others
depend on them. Wind, a demand, a price.

While laws are searched they are inputs, so that every error is given their recorded values. In the program they are
fields of the State that go back to their mean as fast as they were seen to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from visualpatchworld.induction.events import begins_anew, smooth_fit
from visualpatchworld.induction.fields import read_fields
from visualpatchworld.induction.motion import Number, Rates, assemble
from visualpatchworld.induction.reading import FieldRole, Reading
from visualpatchworld.induction.regress import robust_spread, solve
from visualpatchworld.induction.search import Found
from visualpatchworld.induction.terms import Rows, rows_of
from visualpatchworld.program.quoting import python_name
from visualpatchworld.world.trajectory import Trajectory
from visualpatchworld.world.world import ActionSpace

LEAST_ROWS = 200
OPEN = 0.1  # of its change: what a random column leaves to its own mean at least
ALIKE = 0.12  # correlation, or part of the variance, from which something predicts a column
SIGMAS = 6.0  # of chance: a likeness beyond is that of a cause
Laws = tuple[tuple[str, tuple[str, ...]], ...]

STAYS = 0.7  # of the steps: what stays in more of them is drawn anew now and then at most
LEAST_JUMPS = 8
DIFFERENT = 0.7  # of the jumps lead to values of their own
LUCK = 3.5  # of chance: a likeness below may be luck
_ENDS = (slice(None, -1), slice(1, None))  # of rows: where steps begin, and where they end
ACTED = re.compile(r"\baction\[(\d+)\]")


@dataclass(frozen=True)
class Outside:
    """The exogenous columns of a world, which may be none, and what laws are searched in: the reading
    of the other columns, and the inputs that the exogenous ones are among.
    """

    columns: tuple[int, ...]
    names: tuple[str, ...]  # of all columns
    space: ActionSpace
    reading: Reading
    inputs: ActionSpace

    def given(self, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        """The trajectories with their exogenous columns among the actions."""
        return [_given(t, self.columns, self.space) for t in trajectories] if self.columns else list(trajectories)

    def lifted(self, found: Found, trajectories: Sequence[Trajectory]) -> Found:
        """What was found from such trajectories, with the exogenous columns as fields of the State."""
        if not self.columns:
            return found
        best, among = found.evidence[0], found.draft is found.evidence[0].draft
        if not among:  # a law of long stretches
            best = replace(best, reading=found.reading, rates=found.rates or best.rates, limits=(), substeps=1)
            best = replace(best, draft=found.draft, integrator=found.reading.integrator)
        taken = {name.upper() for name in found.reading.state_names}
        named = {c: python_name(self.names[c].lower(), taken) for c in self.columns}
        codes = [*self._codes(), *(f"state.{named[c]}" for c in self.columns)]

        def text(code: str) -> str:
            return ACTED.sub(lambda match: codes[int(match[1])], code)

        memory, numbers = [], []
        for c in self.columns if best.substeps == 1 else ():
            mean, keep = _return(trajectories, c)
            upper = named[c].upper()
            if _stays(*(np.concatenate([t.observations[part, c] for t in trajectories]) for part in _ENDS)):
                memory.append((named[c], mean, f"state.{named[c]}"))
                continue
            numbers += [
                Number(
                    f"{upper}_MEAN", mean, doc=f"{named[c]} is exogenous: nothing predicts it but its mean", free=False
                ),
                Number(f"{upper}_KEEP", keep, doc=f"part of its distance from there that {named[c]} keeps", free=False),
            ]
            memory.append((named[c], mean, f"{upper}_MEAN + {upper}_KEEP * (state.{named[c]} - {upper}_MEAN)"))
        rates = _renamed(best.rates, text)
        rates = replace(rates, numbers=(*rates.numbers, *numbers), memory=(*rates.memory, *memory))
        limits = tuple(replace(limit, lines=tuple(map(text, limit.lines))) for limit in best.limits)
        reading = self._reading(found.reading, named)
        draft = assemble(reading, rates, integrator=best.integrator, substeps=best.substeps, limits=limits)
        laws = _renamed_laws(best.draft.laws, text)
        draft = replace(draft, stderr=best.draft.stderr, empirical=best.draft.empirical, laws=laws)
        lifted = replace(best, draft=draft, rates=rates, limits=limits, reading=reading)
        evidence = (lifted, *found.evidence[1:]) if among else found.evidence
        said = ", ".join(self.names[c] for c in self.columns)
        why = (
            f"{found.why.rstrip('.')}; {said} {'is' if len(self.columns) == 1 else 'are'} exogenous, which nothing that "
            "was seen predicts: errors are given the recorded values."
        )
        return replace(found, reading=reading, draft=draft, evidence=evidence, why=why)

    def _codes(self) -> list[str]:
        """How a program speaks of these numbers."""
        if self.space.kind == "continuous":
            return [f"action[{i}]" for i in range(len(self.space))]
        return [
            code
            for i, count in enumerate(self.space.counts)
            for code in ([f"(action[{i}] == {k})" for k in range(count)] if count > 2 else [f"action[{i}]"])
        ]

    def _reading(self, narrow: Reading, named: dict[int, str]) -> Reading:
        """The reading of the columns that are left as one of all columns."""
        kept = _others(self.columns, len(self.names))
        fields = {kept[k]: field for k, field in enumerate(narrow.fields)}
        for c in self.columns:
            fields[c] = FieldRole(self.names[c], "exogenous", None, "nothing that was seen predicts it")
        coordinates = tuple(
            replace(
                one,
                columns=tuple(kept[k] for k in one.columns),
                velocity_column=None if one.velocity_column is None else kept[one.velocity_column],
            )
            for one in narrow.coordinates
        )
        derived = tuple(replace(one, column=kept[one.column]) for one in narrow.derived)
        return replace(
            narrow,
            fields=tuple(fields[c] for c in range(len(self.names))),
            coordinates=coordinates,
            derived=derived,
            parameters=(
                *((name, kept[k]) for name, k in narrow.parameters),
                *((named[c], c) for c in self.columns),
            ),
            constants={kept[k]: value for k, value in narrow.constants.items()},
        )


def find_outside(
    reading: Reading,
    trajectories: Sequence[Trajectory],
    space: ActionSpace,
    dt: float | None = None,
    corrections: Mapping[str, str] | None = None,
) -> Outside:
    """What laws are searched in: exogenous columns are inputs, unless nothing is left then that moves."""
    names = tuple(field.name for field in reading.fields)
    columns = _random_columns(reading, trajectories)
    if columns:
        given = [_given(trajectory, columns, space) for trajectory in trajectories]
        inputs = _input_space(given, space)
        kept = [names[c] for c in _others(columns, len(names))]
        told = {name: role for name, role in (corrections or {}).items() if name in kept}
        narrow = read_fields(given, inputs, kept, dt, told)
        if narrow.coordinates:
            return Outside(columns, names, space, narrow, inputs)
    return nothing_outside(reading, space)


def nothing_outside(reading: Reading, space: ActionSpace) -> Outside:
    """A world without exogenous columns."""
    return Outside((), tuple(field.name for field in reading.fields), space, reading, space)


def _random_columns(reading: Reading, trajectories: Sequence[Trajectory]) -> tuple[int, ...]:
    """Columns that are random, whatever is done; of those that are
    noise, the ones that something else depends on.
    """
    names = tuple(field.name for field in reading.fields)
    seen = [t.observations for t in trajectories]
    rows = rows_of(names, seen, [t.actions for t in trajectories], ())
    noise = {c for c, field in enumerate(reading.fields) if field.role == "noise"}
    alone = {
        one.columns[0]
        for one in reading.coordinates
        if len(one.columns) == 1 and one.velocity_column is None and not one.angle
    }
    told = {c for c, field in enumerate(reading.fields) if field.role == "exogenous"}
    if len(rows.before) < LEAST_ROWS or not noise | alone:
        return tuple(sorted(told))
    rewards = [t.rewards for t in trajectories if t.rewards is not None]
    paid = np.concatenate(rewards) if len(rewards) == len(trajectories) else np.zeros(len(rows.before))
    found = {c for c in alone if _is_random(rows, c) or _is_drawn_anew(rows, c)}
    found |= told | {c for c in noise if _matters(rows, paid, c)}
    live = {one.columns[0] for one in reading.coordinates} - found
    return tuple(sorted(found)) if live else ()


def _others(columns: Sequence[int], width: int) -> list[int]:
    """The columns that are left to be explained."""
    return [c for c in range(width) if c not in columns]


def _given(trajectory: Trajectory, columns: Sequence[int], space: ActionSpace) -> Trajectory:
    """The trajectory with these columns among the actions."""
    seen = trajectory.observations
    acted = np.concatenate([_as_numbers(trajectory.actions, space), seen[:-1, list(columns)]], axis=1)
    return replace(trajectory, observations=seen[:, _others(columns, seen.shape[1])], actions=acted)


def _as_numbers(actions: Float[np.ndarray, "T A"], space: ActionSpace) -> Float[np.ndarray, "T B"]:
    """Actions as numbers: one column for each of several choices."""
    if space.kind == "continuous":
        return actions
    parts = [
        (actions[:, [i]] == np.arange(count)).astype(float) if count > 2 else actions[:, [i]]
        for i, count in enumerate(space.counts)
    ]
    return np.concatenate(parts, axis=1)


def _input_space(given: Sequence[Trajectory], space: ActionSpace) -> ActionSpace:
    """The action space of such trajectories."""
    acted = np.concatenate([trajectory.actions for trajectory in given])
    low, high = acted.min(axis=0), acted.max(axis=0)
    if space.kind == "continuous":
        low[: len(space)], high[: len(space)] = space.low, space.high
    return ActionSpace("continuous", tuple(low.tolist()), tuple(high.tolist()))


def _is_random(rows: Rows, column: int) -> bool:
    """Whether a column is pulled to its mean at most, and nothing predicts the rest."""
    before, after = rows.before[:, column], rows.after[:, column]
    if len(np.unique(after)) <= 2 or begins_anew(before, after).any():
        return False
    change = after - before
    design = np.stack([np.ones(len(before)), before], axis=-1)
    left = change - design @ solve(design, change)
    size = float(np.std(left))
    # What changes by itself in few steps, as a clock or a switch does, has events.
    if robust_spread(left) <= OPEN * float(np.std(change)):
        return False
    next_one = np.flatnonzero((np.diff(rows.episode) == 0) & (np.diff(rows.time) == 1))
    if abs(float(np.mean(left[next_one] * left[next_one + 1]))) > ALIKE * size**2:
        return False
    fit = smooth_fit(left, rows, 0.0)
    return 1 - float(np.var(fit.left)) / size**2 / fit.freedom <= ALIKE


def _stays(before: Float[np.ndarray, " N"], after: Float[np.ndarray, " N"]) -> bool:
    """Whether a column is the same after most steps."""
    return float(np.mean(before == after)) > STAYS


def _is_drawn_anew(rows: Rows, column: int) -> bool:
    """Whether a column stays as it is but for jumps, to values of which nothing that was seen tells: a setpoint."""
    before, after = rows.before[:, column], rows.after[:, column]
    jumped = after != before
    drawn = after[jumped]
    if not _stays(before, after) or len(drawn) < LEAST_JUMPS or len(np.unique(drawn)) < DIFFERENT * len(drawn):
        return False
    causes = np.concatenate([rows.before, rows.actions, np.delete(rows.after, column, axis=1)], axis=1)[jumped]
    every = np.ones(len(drawn), bool)
    return bool((_likeness(drawn, causes, every) < LUCK / np.sqrt(len(drawn))).all())


def _matters(rows: Rows, paid: Float[np.ndarray, " N"], column: int) -> bool:
    """Whether what a smooth law without a column leaves of another one
    or of the reward is like that column, alone or times something.
    """
    others = [k for k in range(rows.before.shape[1]) if k != column]
    without = rows._replace(
        names=tuple(rows.names[k] for k in others), before=rows.before[:, others], after=rows.after[:, others]
    )
    value = rows.before[:, column] - rows.before[:, column].mean()
    times = np.concatenate([np.ones((len(value), 1)), without.before, rows.actions], axis=1)
    causes = value[:, None] * times
    for target in (*(without.after - without.before).T, paid):
        if np.ptp(target) == 0:
            continue
        fit = smooth_fit(target, without, 0.0)
        if (_likeness(fit.left, causes, fit.kept) > SIGMAS / np.sqrt(len(value))).any():
            return True
    return False


def _likeness(
    left: Float[np.ndarray, " N"], causes: Float[np.ndarray, "N P"], kept: Bool[np.ndarray, " N"]
) -> Float[np.ndarray, " P"]:
    """Correlations, without their signs."""
    left, causes = left[kept] - left[kept].mean(), causes[kept] - causes[kept].mean(axis=0)
    sizes = np.linalg.norm(left) * np.linalg.norm(causes, axis=0)
    return np.abs(left @ causes) / np.maximum(sizes, 1e-300)


def _return(trajectories: Sequence[Trajectory], column: int) -> tuple[float, float]:
    """The mean of a column, and the part of its distance from there that it keeps from one row to the next."""
    before = np.concatenate([t.observations[:-1, column] for t in trajectories])
    after = np.concatenate([t.observations[1:, column] for t in trajectories])
    mean = float(before.mean())
    away = before - mean
    keep = float(np.clip(away @ (after - mean) / max(away @ away, 1e-300), 0.0, 1.0))
    few = 3 / np.sqrt(len(before))
    return float(f"{mean:.4g}"), 0.0 if keep < few else 1.0 if keep > 1 - few / 10 else float(f"{keep:.3g}")


def _renamed(rates: Rates, text: Callable[[str], str]) -> Rates:
    """The rates with other words for inputs."""
    return replace(
        rates,
        changes=tuple((of, text(change)) for of, change in rates.changes),
        lines=tuple(map(text, rates.lines)),
        solution=tuple(map(text, rates.solution)),
        numbers=tuple(replace(number, doc=text(number.doc).replace("state.", "")) for number in rates.numbers),
        laws=_renamed_laws(rates.laws, text),
    )


def _renamed_laws(laws: Laws, text: Callable[[str], str]) -> Laws:
    return tuple((law, tuple(text(body).replace("state.", "") for body in bodies)) for law, bodies in laws)
