"""Whether a drawn world is worth keeping: it stays finite, moves, obeys actions, and its events happen."""

import itertools
from typing import Any

import numpy as np

from zoo.env import clean, start
from zoo.judge import judged
from zoo.policies import POLICIES, actions
from zoo.record import columns, recorded
from zoo.spec import Spec

EPISODES, STEPS = 9, 80
LARGEST = 1e5  # of any field
LEAST_MOTION = 1e-3  # of a field's size, its change over an episode
LEAST_EFFECT = 0.01  # of the spread of motion, by another action
MOST_GROWTH = 3e3  # of a small change of the start over 25 steps
LEAST_EVENTS = 2
LONG_EPISODES = 6
NUDGE = 1e-7
JUDGED_EXACT = 1e-4  # of the spread of motion


class Unfit(Exception):
    """A world that is not worth keeping, and why."""


@np.errstate(all="ignore")
def spreads(spec: Spec, law: dict, wanted: set[str]) -> dict[str, float]:
    """The spread of every number that is seen, of a world that is fit; raises Unfit for any other."""
    rng = np.random.default_rng(spec.seed)
    law["SEEN"].clear()
    episodes = [_episode(spec, law, POLICIES[k % len(POLICIES)], rng) for k in range(EPISODES)]
    seen = np.concatenate([[clean(law, state) for state in states] for states, _ in episodes])
    _must(np.isfinite(seen).all() and np.abs(seen).max() < LARGEST, "it runs away")
    _must(np.median([len(states) for states, _ in episodes]) > 20, "it ends too soon")
    missing = [tag for tag in wanted if law["SEEN"].count(tag) < LEAST_EVENTS]
    _must(not missing, f"{missing} never happens")
    if "end:" in " ".join(spec.tags):
        _must(any(len(states) <= STEPS for states, _ in episodes), "it never ends")
    _check_motion(spec, episodes, law)
    _check_actions(spec, law, episodes)
    _check_growth(spec, law, episodes)
    _check_long_episodes(spec)
    _check_judgeable(spec)
    return dict(zip((readout.name for readout in spec.readouts), seen.std(axis=0).tolist(), strict=False))


def _episode(spec: Spec, law: dict, policy: str, rng: np.random.Generator) -> tuple[list, list]:
    state, acts = start(spec, law, rng), actions(spec, policy, rng)
    states, done = [state], []
    for _ in range(STEPS):
        action = next(acts)
        state = law["step"](state, action)
        _must(all(np.isfinite(value) and abs(value) < LARGEST for value in state), "it runs away")
        states.append(state)
        done.append(action)
        if law["terminated"](state):
            break
    return states, done


def _check_motion(spec: Spec, episodes: list, law: dict) -> None:
    for readout in spec.readouts:
        if readout.kind == "signal":
            at = spec.readouts.index(readout)
            change = max(np.ptp([clean(law, state)[at] for state in states]) for states, _ in episodes[:3])
            _must(change > LEAST_MOTION * readout.scale, f"{readout.name} does not move")


def _check_actions(spec: Spec, law: dict, episodes: list) -> None:
    """Other actions from the same start must lead elsewhere."""
    effects = []
    for (states, done), (_, other) in itertools.pairwise(episodes):
        length = min(len(done), len(other), 40)
        state = states[0]
        for action in other[:length]:
            state = law["step"](state, action)
        far = np.abs(clean(law, state) - clean(law, states[length]))
        size = np.std([clean(law, one) for one in states], axis=0) + 1e-9
        effects.append(np.nanmax(np.where(_signals(spec), far / size, 0.0)))
    _must(float(np.median(effects)) > LEAST_EFFECT, "actions do not matter")


def _check_growth(spec: Spec, law: dict, episodes: list) -> None:
    """A world in which tiny differences grow a lot can not be predicted by anyone."""
    growth = []
    for states, done in episodes:
        if len(done) > 30:
            one, other = states[4], _nudged(law, states[4])
            for action in done[4:29]:
                one, other = law["step"](one, action), law["step"](other, action)
            growth.append(np.abs(np.subtract(one, other)).max() / NUDGE)
    _must(not growth or float(np.median(growth)) < MOST_GROWTH, "it is chaotic")


def _check_long_episodes(spec: Spec) -> None:
    """Over whole episodes no number may run away."""
    seen = np.concatenate([episode.observations for episode in recorded(spec, LONG_EPISODES, spec.limit)])
    _must(np.isfinite(seen).all() and np.abs(seen).max() < LARGEST, "it runs away in the end")


def _check_judgeable(spec: Spec) -> None:
    """Where fields are hidden, the true program itself must be found exact by the judge."""
    if "# not observed" in spec.text:
        errors = judged(spec.text, recorded(spec, 6, STEPS), columns(spec))["errors"]
        far = errors[max(errors, key=int)]
        _must(far["worst"] <= JUDGED_EXACT, "what is hidden can not be found out")


def _nudged(law: dict, state: Any) -> Any:
    return law["State"](*(value + NUDGE if value != round(value) else value for value in state))


def _signals(spec: Spec) -> np.ndarray:
    return np.array([readout.kind == "signal" for readout in spec.readouts])


def _must(true: Any, why: str) -> None:
    if not true:
        raise Unfit(why)
