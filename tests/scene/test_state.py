"""State vectors and scene graphs say the same thing, and angles wrap."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from visualpatchworld.errors import BadGraph, BadState
from visualpatchworld.scene.schema import Geometry, SceneObject, parse_graph
from visualpatchworld.scene.state import SceneTemplate, StateField, StateSpace

SPACE = StateSpace(
    (
        StateField("x", "m", "block.pose.x"),
        StateField("y", "m", "block.pose.y"),
        StateField("angle", "rad", "block.pose.angle", period=2 * math.pi),
        StateField("yaw", "rad", "hand.attributes.yaw", period=math.pi, low=-math.pi / 2),
        StateField("spin", "rad/s", "block.velocity.spin"),
    )
)
OBJECTS = (
    SceneObject(name="block", kind="block", geometry=Geometry(radius=1.0)),
    SceneObject(name="hand", kind="hand"),
)
TEMPLATE = SceneTemplate(
    domain="made-up", state_space=SPACE, objects=lambda constants: OBJECTS, length_unit="m", near=0.1
)

number = st.floats(-1e6, 1e6)
states = st.lists(number, min_size=len(SPACE), max_size=len(SPACE)).map(np.array)


@given(states)
def test_graph_and_state_are_one(state: np.ndarray):
    graph = TEMPLATE.oracle(state, None, step=3)
    np.testing.assert_array_equal(SPACE.read(graph), state)
    assert TEMPLATE.oracle(SPACE.read(graph), None, step=3) == graph
    assert parse_graph(graph.text()) == graph


@given(states)
def test_wrapped_angles_lie_in_their_range(state: np.ndarray):
    wrapped = SPACE.wrap(state)
    for value, field in zip(wrapped, SPACE, strict=True):
        if field.period is not None:
            assert field.low <= value < field.low + field.period
    np.testing.assert_allclose(SPACE.difference(wrapped, state), 0, atol=1e-6)
    np.testing.assert_array_equal(SPACE.wrap(wrapped), wrapped)


@given(states, states)
def test_differences_go_the_short_way(a: np.ndarray, b: np.ndarray):
    for delta, field in zip(SPACE.difference(a, b), SPACE, strict=True):
        if field.period is not None:
            assert abs(delta) <= field.period / 2


def test_two_degrees_apart():
    state, other = np.zeros(5), np.zeros(5)
    state[2], other[2] = math.radians(359), math.radians(1)
    assert SPACE.difference(state, other)[2] == pytest.approx(math.radians(-2))


def test_bad_states_are_named():
    with pytest.raises(BadState, match="5 numbers"):
        SPACE.checked([1.0, 2.0])
    with pytest.raises(BadState, match="'spin' is not finite"):
        SPACE.checked([0, 0, 0, 0, np.nan])


def test_a_missing_value_is_named():
    with pytest.raises(BadGraph, match=r"does not say block\.pose\.x"):
        SPACE.read(TEMPLATE.graph(OBJECTS, "vlm"))


HEAD = '"metadata": {"domain": "d", "source": "tool", "length_unit": "m"}, "objects": []'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "Not a scene graph"),
        ('{"metadata": {"domain": "d", "source": "dream", "length_unit": "m"}, "objects": []}', r"metadata\.source"),
        (f'{{{HEAD}, "mood": 1}}', "mood"),
        (f'{{{HEAD}, "relations": [{{"subject": "a", "object": "b"}}]}}', "which is not an object"),
    ],
)
def test_bad_graphs_are_named(text: str, message: str):
    with pytest.raises(BadGraph, match=message):
        parse_graph(text)
