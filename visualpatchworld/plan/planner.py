"""Planners as values: how many candidates are tried, how far ahead, and how much of a plan is executed before the next one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CEM:
    """Cross-entropy search: draw action sequences, keep the best of them, draw anew around those."""

    samples: int
    iterations: int
    elites: int
    horizon: int  # steps foreseen
    execute: int  # steps of a plan that are executed before the next one is made
    spread: float  # standard deviation of an action in the first draw
    keep: float = 0.0  # share of the earlier mean and spread that stays in the next ones
    warm_start: bool = False  # begin around what is left of the plan before, instead of around resting

    def __post_init__(self):
        if not 1 <= self.elites <= self.samples:
            raise ValueError(f"elites must lie between 1 and {self.samples} samples, not {self.elites}")
        if not 1 <= self.execute <= self.horizon:
            raise ValueError(f"execute must lie between 1 and the horizon of {self.horizon}, not {self.execute}")
        if self.iterations < 1 or self.spread <= 0 or not 0 <= self.keep < 1:
            raise ValueError("iterations and spread must be positive, and keep must lie between 0 and 1")

    @property
    def title(self) -> str:
        return f"CEM {self.samples} x {self.iterations}, {self.horizon} steps ahead, {self.execute} executed"

    @property
    def rollouts_per_plan(self) -> int:
        return self.samples * self.iterations


@dataclass(frozen=True, kw_only=True)
class Shooting:
    """Library shooting: score action sequences cut from training episodes, and execute the best."""

    macros: int
    horizon: int  # steps in a macro
    execute: int  # steps of it that are executed before the next choice

    def __post_init__(self):
        if self.macros < 1 or not 1 <= self.execute <= self.horizon:
            raise ValueError("there must be a macro, and execute must lie between 1 and the horizon")

    @property
    def title(self) -> str:
        return f"library of {self.macros} macros, {self.horizon} steps ahead, {self.execute} executed"

    @property
    def rollouts_per_plan(self) -> int:
        return self.macros


Planner = CEM | Shooting
