"""What the tool path sees in pictures of test episodes, against the oracle, with a few pictures to judge by eye."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from visualpatchworld.bench.exhibit import Measured
from visualpatchworld.bench.exhibits._outlines import outlines
from visualpatchworld.bench.subject import Subject, plain
from visualpatchworld.errors import VpwError
from visualpatchworld.scene.audit import RECENT, Moment, audit, read_moments
from visualpatchworld.scene.calibrate import SEED, extractor

OF = "tool"
NUM_PICTURES = 3


def measure(subject: Subject) -> Measured:
    """Precision, recall and errors as `vpw audit` measures them; outlines of both graphs, in pixels, for a few moments."""
    if subject.episodes_seed == SEED:
        raise VpwError(
            f"The episodes of '{subject.source}' have the seed {SEED}, as those that the calibration was fitted to; give others."
        )
    domain, seeing = subject.domain, extractor(subject.domain, subject.constants)
    readings = list(read_moments(seeing, _moments(subject)))
    chosen = {f"{i}": readings[i] for i in np.linspace(0, len(readings) - 1, NUM_PICTURES + 2).astype(int)[1:-1]}
    looks = {}
    for name, reading in chosen.items():
        oracle = domain.scene.oracle(reading.moment.state, subject.constants)
        looks[name] = {
            "tool": {item: [plain(line) for line in lines] for item, lines in reading.sighting.outlines.items()},
            "oracle": {item: [plain(line) for line in lines] for item, lines in outlines(oracle, seeing.calibration.camera).items()},
        }
    data = {**dataclasses.asdict(audit(domain, seeing, readings)), "looks": looks}
    return Measured(data, {name: np.asarray(reading.moment.frames[-1]) for name, reading in chosen.items()})


def _moments(subject: Subject) -> Iterator[Moment]:
    """Moments spread evenly over the test episodes, with the frames before each; drawn anew where the file has no pictures."""
    world = subject.domain.simulator(subject.constants)
    places = [(episode, step) for episode in subject.held_out for step in range(len(episode))]
    for i in np.linspace(0, len(places) - 1, min(subject.frames, len(places))).astype(int):
        episode, step = places[i]
        first = max(step - RECENT + 1, 0)
        if episode.frames is not None:
            frames = np.asarray(episode.frames[first : step + 1])
        else:
            frames = []
            for engine_state in episode.engine_states[first : step + 1]:
                world.set_state(engine_state)
                frames.append(world.render())
        yield Moment(np.asarray(frames), episode.actions[first:step], episode.states[step])
