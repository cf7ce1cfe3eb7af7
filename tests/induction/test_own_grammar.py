"""`vpw.induce(env, grammar=..., max_complexity=...)`: the options are used, or refused in one sentence."""

# ruff: noqa: RUF005  a grammar is a value of its own, not a list
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import visualpatchworld as vpw
from visualpatchworld.errors import VpwError


class Bell(gym.Env):
    """A place that a push moves only near the middle."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1)
        return np.array([self.x]), {}

    def step(self, action: np.ndarray):
        self.x += 0.8 * np.exp(-((3 * self.x) ** 2)) * float(action[0]) - 0.1 * self.x
        return np.array([self.x]), 0.0, False, False, {}


class Wide(Bell):
    observation_space = gym.spaces.Box(-np.inf, np.inf, (20,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        return np.repeat(super().reset(seed=seed)[0], 20), {}

    def step(self, action: np.ndarray):
        seen, *rest = super().step(action)
        return np.repeat(seen, 20), *rest


def env(kind: type[gym.Env] = Bell) -> gym.Env:
    return gym.wrappers.TimeLimit(kind(), 40)


def test_own_terms_make_a_law():
    found = vpw.induce(env(), steps=600, grammar=vpw.grammar + ["exp(-(3.0 * x0) ** 2) * action[0]"])
    assert found.verdict == "explained"
    assert "exp(-(3 x0)^2) action[0]" in str(found.equations)


def test_a_cap_is_kept_where_no_law_fits():
    """The older search, which knows no cap, is not run in its place."""
    found = vpw.induce(env(), steps=600, max_complexity=1)
    assert found.verdict != "explained"
    assert "+" not in found.equations.lines()[0] and found.found.draft.name == "sums of terms"


@pytest.mark.parametrize(
    ("world", "options", "said"),
    [
        (env, {"grammar": vpw.grammar + ["speed"]}, "the search knows x0, action_0"),
        (env, {"max_complexity": 0}, "at least one term"),
        (env, {"max_complexity": 2, "fields": {"x0": "coordinate"}}, "leave `fields` out"),
        (lambda: env(Wide), {"max_complexity": 2}, "at most 14"),
    ],
)
def test_what_cannot_be_done_is_refused(world, options: dict[str, Any], said: str):
    with pytest.raises(VpwError, match=said):
        vpw.induce(world(), steps=400, **options)


def test_a_domain_with_traces_has_no_grammar_of_this_kind():
    domain = vpw.load_domain("slider")
    traces = vpw.collect(domain, episodes=3)
    with pytest.raises(VpwError, match="`grammar` and `max_complexity` are for a world without traces"):
        vpw.induce(domain, traces, max_complexity=2)  # pyright: ignore
