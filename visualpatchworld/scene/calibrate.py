"""Calibrating the tool path of a domain: its own simulator's pictures with known states, once, and the result kept in a file."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path

import numpy as np

from visualpatchworld import __version__
from visualpatchworld.domain import Domain, find_domains, held_actions
from visualpatchworld.errors import VpwError
from visualpatchworld.input import read_text
from visualpatchworld.output import make_folder, write_text
from visualpatchworld.scene.tool.calibration import Calibration, calibrate, parse_calibration, sources
from visualpatchworld.scene.tool.extractor import ToolExtractor
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants
from visualpatchworld.trace.episode import collect
from visualpatchworld.world.trajectory import Trajectory

SEED = 7000  # of the episodes to calibrate with; data that others collect has other seeds
WANDERING_SEED = SEED + 1
SHIPPED = "calibration.json"  # beside a domain's look: the calibration for its nominal constants


def extractor(domain: Domain, constants: Constants | None = None) -> ToolExtractor:
    """The tool extractor of a world; calibrated at the first call, from then on read from a file."""
    constants = constants or domain.constants
    return ToolExtractor(domain.scene, domain.seen(), _calibration(domain, constants), FRAME_SIZE_PX)


def fresh_calibration(domain: Domain, constants: Constants) -> Calibration:
    """A calibration from episodes collected now."""
    look = domain.seen()
    found = pictured(domain, constants, SEED, look.num_episodes)
    if look.num_wandering:
        found += pictured(dataclasses.replace(domain, policy=held_actions), constants, WANDERING_SEED, look.num_wandering)
    return calibrate(look, domain.scene.state_space, found)


def pictured(domain: Domain, constants: Constants, seed: int, episodes: int) -> list[Trajectory]:
    """Episodes of the domain's policy with pictures, one step in as many as its look takes."""
    every, simulator = domain.seen().every, domain.simulator(constants)
    found = []
    for episode in collect(domain, constants, episodes=episodes, seed=seed):
        steps = slice(None, None, every)
        frames = []
        for engine_state in episode.engine_states[steps]:
            simulator.set_engine_state(engine_state)
            frames.append(simulator.render())
        states = episode.observations[steps]
        found.append(Trajectory(states, episode.actions[steps][: len(states) - 1], frames=np.array(frames)))
    return found


def calibration_path(domain: Domain, constants: Constants) -> Path:
    """Where the calibration lies: with the domain for its nominal constants, in the user's cache for others."""
    if _key(domain, constants) == _key(domain, domain.constants):
        place = find_domains().get(domain.name)
        if place is not None and (place / SHIPPED).is_file():
            return place / SHIPPED
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "visualpatchworld" / "calibration" / f"{domain.name}-{_key(domain, constants)}.json"


def _calibration(domain: Domain, constants: Constants) -> Calibration:
    path = calibration_path(domain, constants)
    if path.is_file():
        try:
            return parse_calibration(read_text(path, "calibration", VpwError))
        except VpwError as error:
            raise VpwError(f"'{path}': {error}") from error
    text = fresh_calibration(domain, constants).text()
    make_folder(path.parent)
    write_text(path, text)
    return parse_calibration(text)  # as the next process reads it: its numbers are rounded, and pictures must be read alike


def _key(domain: Domain, constants: Constants) -> str:
    """A short name for what a calibration depends on: the look, and the constants that change pictures or velocities."""
    values = dataclasses.asdict(constants)
    if not sources(domain.scene.state_space)[0]:
        values = {name: values[name] for name in domain.seen().seen_constants}
    return hashlib.sha256(json.dumps([__version__, repr(domain.look), values]).encode()).hexdigest()[:16]
