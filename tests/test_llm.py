"""The client: budgets, retries, keys that stay secret, and recordings that repeat a run."""

from pathlib import Path

import pytest
from scripted_server import scripted

from visualpatchworld.errors import CannotWrite
from visualpatchworld.llm import (
    BadRecording,
    Budget,
    Client,
    Endpoint,
    EndpointFailed,
    OutOfBudget,
    Price,
    Tape,
    Usage,
)


def client(url: str, **settings: object) -> Client:
    waits: list[float] = settings.pop("waits", [])  # type: ignore[assignment]
    endpoint = Endpoint(url, timeout_s=5, num_retries=2, sleep=waits.append)
    return Client(model="m", endpoint=endpoint, **settings)  # type: ignore[arg-type]


def test_an_answer_and_what_it_took():
    with scripted(["hello"]) as server:
        model = client(server.url)
        reply = model.ask("hi")
    assert (reply.text, reply.tokens_asked, reply.tokens_answered, reply.call) == ("hello", 10, 5, 1)
    (body,) = server.asked
    assert body["stream"] is False
    assert body["messages"] == [{"role": "user", "content": "hi"}]


def test_the_budget_of_calls_and_tokens_ends_it():
    with scripted(["x"]) as server:
        model = client(server.url, budget=Budget(calls=2))
        assert len(model.ask_many(["a", "b", "c"])) == 2
        with pytest.raises(OutOfBudget, match="2 calls"):
            model.ask("d")
        model = client(server.url, budget=Budget(calls=9, tokens=20))
        model.ask_many(["a", "b"])
        with pytest.raises(OutOfBudget, match="20 tokens"):
            model.ask("c")
    assert len(server.asked) == 4


def test_what_may_pass_is_tried_again_with_growing_waits():
    waits: list[float] = []
    with scripted([503, b"<html>", "fine"]) as server:
        model = client(server.url, waits=waits)
        assert model.ask("hi").text == "fine"
    assert model.usage == Usage(calls=1, tokens_asked=10, tokens_answered=5, retries=2)
    assert waits == [0.0, 2.0]  # the first as the server asked for, the second from the backoff


@pytest.mark.parametrize(
    ("answer", "sentence"), [(500, "failed 3 times: HTTP 500"), (None, "failed 3 times"), (b"[1]", "not a JSON object")]
)
def test_what_does_not_pass_ends_in_one_sentence(answer: object, sentence: str):
    with scripted([answer]) as server, pytest.raises(EndpointFailed, match=sentence):  # type: ignore[list-item]
        client(server.url).ask("hi")
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (401, "refused: HTTP 401"),
        (302, "refused: HTTP 302"),
        ({"choices": []}, "OpenAI-compatible"),
        ({"a": 1}, "OpenAI-compatible"),
    ],
)
def test_what_can_not_get_better_is_not_tried_again(answer: object, sentence: str):
    with scripted([answer]) as server, pytest.raises(EndpointFailed, match=sentence):  # type: ignore[list-item]
        client(server.url).ask("hi")
    assert len(server.asked) == 1


def test_nobody_listening_and_no_url():
    with pytest.raises(EndpointFailed, match="failed 3 times"):
        client("http://127.0.0.1:9").ask("hi")
    with pytest.raises(EndpointFailed, match="is a URL"):
        client("localhost")


def test_a_refusal_is_an_empty_answer_and_called_one():
    refused = {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}
    with scripted([refused]) as server:
        reply = client(server.url).ask("hi")
    assert (reply.text, reply.finish, reply.tokens_asked) == ("", "refusal", 0)


def test_the_key_is_sent_and_said_nowhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("VPW_API_KEY", "sk-secret")
    with scripted(["x"]) as server:
        model = client(server.url, tape=Tape(tmp_path / "calls.jsonl", "record"))
        model.ask("hi")
        assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in (tmp_path / "calls.jsonl").read_text() + caplog.text + repr(model)


def test_a_key_in_an_error_page_is_struck_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "scripted")  # the very word of the server's error page
    with scripted([400]) as server, pytest.raises(EndpointFailed) as failure:
        client(server.url).ask("hi")
    assert "***" in str(failure.value) and "scripted" not in str(failure.value)


def test_calls_side_by_side_keep_to_the_limit_and_their_order(tmp_path: Path):
    with scripted(["x"], seconds=0.05) as server:
        model = client(server.url, concurrency=2, tape=Tape(tmp_path / "calls.jsonl", "record"))
        model.ask_many([f"question {i}" for i in range(6)])
    assert server.most_at_once == 2
    tape = Tape(tmp_path / "calls.jsonl", "replay")
    again = Client(model="m", endpoint=None, tape=tape)
    assert [reply.call for reply in again.ask_many([f"question {i}" for i in range(6)])] == [1, 2, 3, 4, 5, 6]


def test_a_recording_answers_offline_and_only_its_own_run(tmp_path: Path):
    path = tmp_path / "calls.jsonl"
    with scripted(["one", "two"]) as server:
        live = client(server.url, tape=Tape(path, "record"))
        said = [live.ask("a"), live.ask("b")]
    again = Client(model="m", endpoint=None, tape=Tape(path, "replay"))
    assert [again.ask("a"), again.ask("b")] == said
    assert again.usage == live.usage
    with pytest.raises(BadRecording, match="holds 2 calls"):
        again.ask("c")
    with pytest.raises(BadRecording, match="call 1 asks something else"):
        Client(model="m", endpoint=None, tape=Tape(path, "replay")).ask("z")
    with pytest.raises(BadRecording, match="call 1 asks something else"):
        Client(model="other", endpoint=None, tape=Tape(path, "replay")).ask("a")


def test_an_interrupted_recording_goes_on_where_it_stopped(tmp_path: Path):
    path = tmp_path / "calls.jsonl"
    with scripted(["one"]) as server:
        client(server.url, tape=Tape(path, "record")).ask("a")
    path.write_text(path.read_text() + '{"request": {"mod')  # cut short while it was written
    with scripted(["two"]) as server:
        model = client(server.url, tape=Tape(path, "record"))
        assert [model.ask("a").text, model.ask("b").text] == ["one", "two"]
        assert len(server.asked) == 1
    assert len(Tape(path, "replay")) == 2


def test_a_recording_that_can_not_be_written_is_told_before_anything_is_asked(tmp_path: Path):
    with pytest.raises(CannotWrite, match="no folder"):
        Tape(tmp_path / "nowhere" / "calls.jsonl", "record")


def test_a_password_in_the_address_is_refused_and_not_repeated():
    with pytest.raises(EndpointFailed, match="put the key into VPW_API_KEY") as failure:
        client("http://me:secret@127.0.0.1:9/v1")
    assert "secret" not in str(failure.value)


def test_recordings_that_are_none(tmp_path: Path):
    with pytest.raises(BadRecording, match="No such file"):
        Tape(tmp_path / "nowhere.jsonl", "replay")
    (tmp_path / "other.jsonl").write_text("hello\n{}\n")
    with pytest.raises(BadRecording, match="line 1 is not a call"):
        Tape(tmp_path / "other.jsonl", "replay")


def test_the_cost_line():
    assert Usage(3, 1_000_000, 500_000).data(Price(0.4, 1.6))["cost"] == pytest.approx(1.2)
    assert "cost" not in Usage(3, 10, 10).data()
