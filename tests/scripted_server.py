"""A language model for tests: a server on this machine whose answers are written down beforehand."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# A text is answered as a model's; a number is an HTTP status; bytes are sent as they are; a dict is sent as JSON; None
# is no answer at all.
Answer = str | int | bytes | dict[str, Any] | None


@dataclass
class ScriptedServer:
    """Where it listens, what it was asked, and with which headers."""

    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0

    def prompts(self) -> list[str]:
        """The texts of what was asked."""
        return [body["messages"][-1]["content"] for body in self.asked]


@contextmanager
def scripted(answers: Sequence[Answer], *, seconds: float = 0.0) -> Iterator[ScriptedServer]:
    """A server that gives these answers in turn, and the last one from then on."""
    server, lock, state = ScriptedServer(), threading.Lock(), {"now": 0}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                state["now"] += 1
                server.most_at_once = max(server.most_at_once, state["now"])
                answer = answers[min(len(server.asked), len(answers) - 1)]
                server.asked.append(body)
                server.headers.append(dict(self.headers))
            time.sleep(seconds)
            with lock:
                state["now"] -= 1
            if answer is None:
                self.connection.close()
            else:
                self._send(answer if isinstance(answer, int) else 200, payload(answer))

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "0")
            if status in (301, 302, 307):
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{listening.server_address[1]}/v1"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def payload(answer: Answer) -> bytes:
    if isinstance(answer, bytes):
        return answer
    if isinstance(answer, int):
        return b'{"error": "scripted"}'
    if isinstance(answer, dict):
        return json.dumps(answer).encode()
    message = {"choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}]}
    return json.dumps({**message, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}).encode()
