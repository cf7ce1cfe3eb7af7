"""One transition to look at: the picture before and after it, the scene graph, and what the program foresaw."""

from __future__ import annotations

import numpy as np

from visualpatchworld.bench.exhibit import Measured
from visualpatchworld.bench.exhibits._foresight import foresight
from visualpatchworld.bench.film import ways_in
from visualpatchworld.bench.subject import Subject, plain
from visualpatchworld.induction.windows import Windows
from visualpatchworld.trace.episode import Episode

OF = "program"


def measure(subject: Subject) -> Measured:
    """The liveliest step of the first test episode."""
    domain, episode = subject.domain, subject.held_out[0]
    step = _liveliest(subject, episode)
    before, after, action = episode.states[step], episode.states[step + 1], episode.actions[step]
    with foresight(subject) as foresee:
        predicted = foresee(Windows(before[None], action[None, None], after[None, None]))[0, 0]
    world, pictures = domain.simulator(subject.constants), {}
    for name, row in (("before", step), ("after", step + 1)):
        world.set_state(episode.engine_states[row])
        pictures[name] = world.render()
    moments = {"before": before, "after": after, "predicted": predicted}
    ways = ways_in(domain)(np.stack(list(moments.values())))
    return Measured(
        {
            "episode": episode.index,
            "step": step,
            "fields": [{"name": field.name, "unit": field.unit} for field in domain.scene.state_space],
            **{name: plain(state) for name, state in moments.items()},
            "action": plain(action),
            "error": {name: plain(quantity(predicted, after)) for name, quantity in domain.quantities.items()},
            "pixels": {name: dict(zip(moments, plain(way), strict=True)) for name, way in ways.items()},
            "graph": domain.scene.oracle(before, subject.constants, step=step).data(),
            "program_text": subject.needed_program().text,
        },
        pictures,
    )


def _liveliest(subject: Subject, episode: Episode) -> int:
    """The step in which things move most, each measured by how much it moves on average: what seldom moves counts when it does."""
    moves = [quantity(episode.states[1:], episode.states[:-1]) for quantity in subject.domain.quantities.values()]
    return int(np.argmax(sum(move / max(float(move.mean()), np.finfo(float).tiny) for move in moves)))
