"""Every domain's scene is drawn from its scene graph alone: objects are where the state says, links hang together."""

import numpy as np
import pytest

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.live.drawing import drawing_of


def test_objects_are_where_the_state_says(domain: Domain):
    states = np.random.default_rng(0).uniform(0.1, 1.0, (3, len(domain.scene.state_space)))
    drawing = drawing_of(domain.scene, domain.constants, states)
    graph = domain.scene.oracle(states[1], domain.constants)
    for number, item in enumerate(drawing.objects):
        place = drawing.places(states, [number])[1, 0]
        pose = graph[item.name].pose
        for axis, value in enumerate((pose.x, pose.y, pose.z)):
            if value is not None:
                assert place[axis] == pytest.approx(value)
                assert drawing.low[axis] - 1e-9 <= value <= drawing.high[axis] + 1e-9
    assert len(drawing.shapes()) == len(graph.objects)


def test_links_hang_on_one_another():
    domain = load_domain("reacher")
    state, _ = domain.make().reset(seed=3)
    drawing = drawing_of(domain.scene, domain.constants, state[None])
    places = drawing.places(state[None], range(len(drawing.objects)))[0]
    last = max(i for i, item in enumerate(drawing.objects) if item.geometry.length is not None)
    x, y, _, angle, _ = places[last]
    length = drawing.objects[last].geometry.length or 0.0
    # The end of the last link is the fingertip, which the state tells by itself.
    assert (x + length * np.cos(angle), y + length * np.sin(angle)) == pytest.approx(
        tuple(places[last + 1, :2]), abs=1e-6
    )
    assert drawing.solid
