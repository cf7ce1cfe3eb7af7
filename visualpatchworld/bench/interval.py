"""How sure a share of successes is."""

from __future__ import annotations

from scipy.stats import binomtest


def wilson_percent(successes: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, in percent."""
    interval = binomtest(successes, count).proportion_ci(0.95, method="wilson")
    return 100 * float(interval.low), 100 * float(interval.high)
