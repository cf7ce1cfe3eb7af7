"""The VLM path against a scripted server: one schema, no coordinates
without a calibration, and a sentence for every way to fail.
"""

import base64
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from cli.conftest import Vpw, vpw  # noqa: F401  the fixture
from scripted_server import scripted

from visualpatchworld.domain import Domain
from visualpatchworld.errors import BadGraph, BadPicture
from visualpatchworld.llm import Budget, Client, Endpoint, EndpointFailed
from visualpatchworld.scene.picture import as_data_url, read_picture
from visualpatchworld.scene.schema import parse_graph
from visualpatchworld.scene.vlm import VlmExtractor

SEEN = {
    "objects": [
        {"name": "puck", "visible": True, "x": 140, "y": 112},
        {"name": "rail", "x": 112, "y": 112, "colour": "none"},
    ],
    "relations": [{"subject": "puck", "object": "rail", "near_contact": True, "direction": "left"}],
}
FINE = f"Here is what I see:\n```json\n{json.dumps(SEEN)}\n```"
REFUSAL = {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}


def extractor(domain: Domain, url: str, **more: object) -> VlmExtractor:
    client = Client(
        model="m", endpoint=Endpoint(url, timeout_s=5, num_retries=1, sleep=lambda _: None), budget=Budget(10)
    )
    return VlmExtractor(domain.scene, domain.scene.objects(domain.constants), client, **more)  # type: ignore[arg-type]


@pytest.fixture
def picture(toy: Domain) -> np.ndarray:
    simulator = toy.make()
    simulator.reset(seed=0)
    return simulator.render()


def test_identities_and_relations_without_coordinates(toy: Domain, picture: np.ndarray):
    with scripted([FINE]) as server:
        graph = extractor(toy, server.url).read(picture, step=3)
    assert parse_graph(graph.text()) == graph
    assert (graph.metadata.source, graph.metadata.step) == ("vlm", 3)
    assert {item.name: item.visible for item in graph.objects} == {"puck": True, "rail": True}
    assert all(item.pose.model_dump(exclude_none=True) == {} for item in graph.objects)
    (relation,) = graph.relations
    assert (relation.near_contact, relation.direction, relation.distance) == (True, "left", None)
    assert "not calibrated" in graph.metadata.notes[0]
    with pytest.raises(BadGraph, match="does not say"):
        toy.scene.state_space.read(graph)


def test_the_picture_itself_is_sent(toy: Domain, picture: np.ndarray):
    with scripted([FINE]) as server:
        extractor(toy, server.url).read(picture)
    text, image = server.asked[0]["messages"][0]["content"]
    assert "- puck (agent)" in text["text"] and "224 x 224" in text["text"]
    content = base64.b64decode(image["image_url"]["url"].partition(",")[2])
    sent = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    assert sent is not None
    assert np.array_equal(sent[..., ::-1], picture)


def test_a_calibration_turns_pixels_into_the_world(toy: Domain, picture: np.ndarray):
    affine = np.array([[4 / 112, 0.0, -4.0], [0.0, 0.0, 0.0]])
    with scripted([FINE]) as server:
        graph = extractor(toy, server.url, picture_to_world=affine).read(picture)
    assert graph["puck"].pose.x == pytest.approx(1.0)
    assert graph.metadata.notes == ()


def test_strangers_are_left_out_and_named(toy: Domain, picture: np.ndarray):
    answer = {"objects": [{"name": "cat"}, {"name": "rail"}], "relations": [{"subject": "cat", "object": "rail"}]}
    with scripted([json.dumps(answer)]) as server:
        graph = extractor(toy, server.url).read(picture)
    assert {item.name: item.visible for item in graph.objects} == {"puck": False, "rail": True}
    assert graph.relations == ()
    assert "cat" in graph.metadata.notes[1]


def test_a_malformed_answer_is_asked_for_again_with_what_was_wrong(toy: Domain, picture: np.ndarray):
    with scripted(["I see a puck.", '{"objects": [{"visible": true}]}', FINE]) as server:
        graph = extractor(toy, server.url).read(picture)
    assert graph["puck"].visible
    said = [body["messages"][0]["content"][0]["text"] for body in server.asked]
    assert "holds no JSON object" in said[1] and "objects.0.name: field required" in said[2]


FAILURES = {
    "chatter": ("I see a puck.", BadGraph, "no usable answer in 3 tries; it holds no JSON object"),
    "refusal": (REFUSAL, BadGraph, "the model refused to answer"),
    "wrong types": ('{"objects": "puck"}', BadGraph, "objects: input should be a valid list"),
    "unknown direction": (
        '{"objects": [], "relations": [{"subject": "puck", "object": "rail", "direction": "up"}]}',
        BadGraph,
        "direction",
    ),
    "nested deeply": ("{" * 5000 + "}" * 5000, BadGraph, "JSON|nested"),
    "server error": (500, EndpointFailed, "HTTP 500"),
    "no pictures taken": (400, EndpointFailed, "HTTP 400"),
    "no answer": (None, EndpointFailed, "failed 2 times"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_every_failure_is_one_sentence(name: str, toy: Domain, picture: np.ndarray):
    answer, kind, sentence = FAILURES[name]
    with scripted([answer]) as server, pytest.raises(kind, match=sentence) as failure:
        extractor(toy, server.url).read(picture)
    assert "\n" not in str(failure.value)


def test_pictures_survive_files(tmp_path: Path, picture: np.ndarray):
    content = base64.b64decode(as_data_url(picture).partition(",")[2])
    (tmp_path / "frame.png").write_bytes(content)
    assert np.array_equal(read_picture(tmp_path / "frame.png"), picture)
    with pytest.raises(BadPicture, match="No such file"):
        read_picture(tmp_path / "nowhere.png")
    for wrong in (b"", b"hello"):
        (tmp_path / "frame.png").write_bytes(wrong)
        with pytest.raises(BadPicture, match="not a picture"):
            read_picture(tmp_path / "frame.png")


def test_scene_from_the_command_line_recorded_and_replayed(vpw: Vpw, tmp_path: Path, picture: np.ndarray):  # noqa: F811
    frame, tape = tmp_path / "frame.png", tmp_path / "calls.jsonl"
    frame.write_bytes(base64.b64decode(as_data_url(picture).partition(",")[2]))
    shared = ("scene", "slider", frame, "--via", "vlm", "--model", "m", "--json")
    with scripted([FINE]) as server:
        live = vpw(*shared, "--endpoint", server.url, "--record", tape)
    assert vpw(*shared, "--replay", tape) == live
    assert json.loads(live)["relations"][0]["near_contact"] is True
    assert "say who answers" in vpw.refused(*shared)
    (tmp_path / "wrong.json").write_text("[[1, 2], [3, 4]]")
    assert "not a calibration" in vpw.refused(*shared, "--replay", tape, "--calibration", tmp_path / "wrong.json")


def test_export_asks_once_per_kept_frame(vpw: Vpw, toy_file: Path, tmp_path: Path):  # noqa: F811
    out, tape = tmp_path / "out.jsonl", tmp_path / "calls.jsonl"
    shared = (
        "export",
        toy_file,
        "--domain",
        "slider",
        "--view",
        "vlm",
        "--stride",
        15,
        "--out",
        out,
        "--model",
        "m",
        "--json",
    )
    with scripted([FINE]) as server:
        vpw(*shared, "--endpoint", server.url, "--record", tape)
        assert len(server.asked) == 9, "three episodes of 31 rows, every fifteenth"
    live = out.read_bytes()
    first = json.loads(live.splitlines()[0])
    assert (first["view"], len(first["transitions"]), len(first["transitions"][0]["action"])) == ("vlm", 2, 15)
    vpw(*shared, "--replay", tape)
    assert out.read_bytes() == live


def test_a_row_of_a_trace_file_is_read_by_a_model_too(vpw: Vpw, toy_file: Path):  # noqa: F811
    with scripted([FINE]) as server:
        graph = json.loads(
            vpw("scene", "slider", f"{toy_file}:3", "--via", "vlm", "--model", "m", "--endpoint", server.url, "--json")
        )
    assert (graph["metadata"]["source"], graph["metadata"]["step"]) == ("vlm", 3)
