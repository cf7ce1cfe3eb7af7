"""What the tool path sees in pictures of test episodes, against the oracle, with shapes as they appear in the picture."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from visualpatchworld.errors import VpwError
from visualpatchworld.extras import cv2
from visualpatchworld.paper.analyses.analysis import Measurand, Measured, plain
from visualpatchworld.scene.calibrate import RECENT, SEED, audit, extractor, read_moments
from visualpatchworld.scene.extractor import Moment
from visualpatchworld.scene.schema import SceneGraph, SceneObject
from visualpatchworld.scene.tool.look import Camera

ROUND = np.linspace(0, 2 * np.pi, 49)
MARK_PX = 5.0  # half of a cross for what has a place but no shape

Line = Float[np.ndarray, "N 2"]


def outlines(graph: SceneGraph, camera: Camera) -> dict[str, list[Line]]:
    """Lines in pixels for every object that moves and has a place."""
    placed = [item for item in graph.objects if not item.fixed and item.pose.x is not None and item.pose.y is not None]
    return {item.name: _lines(item, camera) for item in placed}


def _lines(item: SceneObject, camera: Camera) -> list[Line]:
    shape, place = item.geometry, np.array([item.pose.x, item.pose.y, item.pose.z or 0.0])
    cosine, sine = np.cos(item.pose.angle or 0.0), np.sin(item.pose.angle or 0.0)
    turn = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])

    def pixels(points: np.ndarray) -> Line:
        flat = np.concatenate([points, np.zeros((len(points), 3 - points.shape[1]))], axis=1)
        return camera.project(flat @ turn + place)

    if shape.polygons is not None:
        return [pixels(np.array([*polygon, polygon[0]])) for polygon in shape.polygons]
    if shape.half_sizes is not None:
        corners = np.array(list(itertools.product(*[(-size, size) for size in shape.half_sizes])))
        hull = cv2.convexHull(pixels(corners).astype(np.float32))[:, 0]
        return [np.concatenate([hull, hull[:1]])]
    if shape.length is not None:
        return [pixels(np.array([[0.0, 0.0], [shape.length, 0.0]]))]
    if shape.radius is not None:
        return [pixels(shape.radius * np.stack([np.cos(ROUND), np.sin(ROUND)], axis=1))]
    return [camera.project(place) + MARK_PX * np.array(arm) for arm in ([[-1.0, 0.0], [1.0, 0.0]], [[0.0, -1.0], [0.0, 1.0]])]


NUM_PICTURES = 3


def measure_audit(measurand: Measurand) -> Measured:
    """Precision, recall and errors as `vpw audit` measures them; outlines of both graphs, in pixels, for a few moments."""
    if measurand.episodes_seed == SEED:
        raise VpwError(
            f"The episodes of '{measurand.source}' have the seed {SEED}, as those that the calibration was fitted to; give others."
        )
    domain, seeing = measurand.domain, extractor(measurand.domain, measurand.constants)
    readings = list(read_moments(seeing, _moments(measurand)))
    chosen = {f"{i}": readings[i] for i in np.linspace(0, len(readings) - 1, NUM_PICTURES + 2).astype(int)[1:-1]}
    looks = {}
    for name, reading in chosen.items():
        oracle = domain.scene.oracle(reading.moment.state, measurand.constants)
        looks[name] = {
            "tool": {item: [plain(line) for line in lines] for item, lines in reading.sighting.outlines.items()},
            "oracle": {item: [plain(line) for line in lines] for item, lines in outlines(oracle, seeing.calibration.camera).items()},
        }
    data = {**dataclasses.asdict(audit(domain, seeing, readings)), "looks": looks}
    return Measured(data, {name: np.asarray(reading.moment.frames[-1]) for name, reading in chosen.items()})


def _moments(measurand: Measurand) -> Iterator[Moment]:
    """Moments spread evenly over the test episodes, with the frames before each; drawn anew where the file has no pictures."""
    world = measurand.domain.simulator(measurand.constants)
    places = [(episode, step) for episode in measurand.held_out for step in range(episode.num_rows)]
    for i in np.linspace(0, len(places) - 1, min(measurand.frames, len(places))).astype(int):
        episode, step = places[i]
        first = max(step - RECENT + 1, 0)
        if episode.frames is not None:
            frames = np.asarray(episode.frames[first : step + 1])
        else:
            frames = []
            for engine_state in episode.engine_states[first : step + 1]:
                world.set_engine_state(engine_state)
                frames.append(world.render())
        yield Moment(np.asarray(frames), episode.actions[first:step], episode.observations[step])
