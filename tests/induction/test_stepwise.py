"""The choice of terms: what is left tells whether one is missing."""

import numpy as np
from draws import SEED

from visualpatchworld.induction.stepwise import choose
from visualpatchworld.induction.terms import Term, rows_of, samples_at_start


def test_a_term_that_is_little_more_than_rounding_is_kept():
    rng = np.random.default_rng(SEED)
    states = rng.normal(size=(1501, 3))
    samples = samples_at_start(rows_of(("x", "y", "z"), [states], [np.zeros((1500, 1))]))
    terms = [Term(f"state.{name}", "coupling", name.upper()) for name in "xyz"]
    floor, kept = 0.01 / np.sqrt(12), np.ones(1500, bool)
    x, y, z = states[:-1].T
    for size in (0.0, rng.uniform(2, 3) * floor):
        target = np.round(rng.uniform(0.2, 0.5) * x + rng.uniform(0.2, 0.5) * y + size * z, 2)
        best = choose(target, samples, terms, kept, floor, scale=float(np.std(target)), rounded=True)[0]
        names = {term.code for term in best.terms}
        assert best.exact and names == {"state.x", "state.y", *(["state.z"] if size else [])}, f"seed {SEED}: {best}"
