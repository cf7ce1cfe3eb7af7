"""Asking a language model within a budget, and tapes of what was asked and answered.

One POST to an OpenAI-compatible endpoint, tried again where that can help; the key comes from the environment only.
Plain urllib: the whole protocol is one request without streaming, and a recording needs the very bytes of it.
"""

from __future__ import annotations

import http.client
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from visualpatchworld.errors import CannotWrite, VpwError
from visualpatchworld.files import from_json, read_text, to_json, write_lines

KEY_VARIABLES = ("VPW_API_KEY", "OPENAI_API_KEY")
WORTH_RETRYING = (408, 409, 425, 429, 500, 502, 503, 504)
LONGEST_ANSWER = 8 * 2**20  # bytes
LONGEST_REASON = 200  # characters of an error page that are repeated


class EndpointFailed(VpwError):
    """An endpoint that cannot be reached, refuses, or answers with something that is not an answer."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is served: `url` ends before /chat/completions."""

    url: str
    timeout_s: float = 120.0
    num_retries: int = 4
    backoff_s: float = 1.0  # before the first new try; doubled each time
    longest_wait_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        try:
            netloc = urllib.parse.urlsplit(self.url).netloc
        except ValueError:
            raise EndpointFailed(f"An endpoint is a URL such as http://127.0.0.1:8080/v1, not '{self.url}'.") from None
        if "@" in netloc:
            raise EndpointFailed(
                f"An endpoint's URL is shown and written down; put the key into {KEY_VARIABLES[0]}, not into the URL."
            )
        if not self.url.startswith(("http://", "https://")):
            raise EndpointFailed(f"An endpoint is a URL such as http://127.0.0.1:8080/v1, not '{self.url}'.")

    def post(self, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """The answer to a chat completion, and how often it had to be asked again."""
        for attempt in range(self.num_retries + 1):
            try:
                return self._post(body), attempt
            except _TryAgain as failure:
                if attempt == self.num_retries:
                    raise EndpointFailed(f"{self.url} failed {attempt + 1} times: {failure}.") from None
                wait = self.backoff_s * 2**attempt if failure.wait_s is None else failure.wait_s
                self.sleep(min(wait, self.longest_wait_s))
        raise AssertionError("unreachable")

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url.rstrip('/')}/chat/completions", to_json(body).encode(), _headers())
        try:
            with _OPENER.open(request, timeout=self.timeout_s) as response:
                text = response.read(LONGEST_ANSWER + 1)
        except urllib.error.HTTPError as error:
            reason = f"HTTP {error.code} ({_without_key(_page(error))})"
            if error.code in WORTH_RETRYING:
                raise _TryAgain(reason, _wait_asked_for(error)) from None
            raise EndpointFailed(f"{self.url} refused: {reason}.") from None
        except (OSError, http.client.HTTPException) as error:
            raise _TryAgain(_without_key(str(getattr(error, "reason", error)) or type(error).__name__)) from None
        return _parsed(text)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """An endpoint that points elsewhere is refused: the key would go there too."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


class _TryAgain(Exception):
    def __init__(self, reason: str, wait_s: float | None = None):
        super().__init__(reason)
        self.wait_s = wait_s


def _parsed(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_ANSWER:
        raise EndpointFailed(f"The endpoint's answer is longer than {LONGEST_ANSWER} bytes.")
    try:
        answer = from_json(text)
    except ValueError:
        raise _TryAgain("its answer is not JSON") from None
    if not isinstance(answer, dict):
        raise _TryAgain("its answer is not a JSON object")
    return answer


def _headers() -> dict[str, str]:
    key = _key()
    return {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})


def _key() -> str:
    return next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")


def _without_key(text: str) -> str:
    key = _key()
    return text.replace(key, "***") if key else text


def _page(error: urllib.error.HTTPError) -> str:
    try:
        return " ".join(error.read(LONGEST_ANSWER).decode("utf-8", "replace").split())[:LONGEST_REASON] or str(
            error.reason
        )
    except OSError:
        return str(error.reason)


def _wait_asked_for(error: urllib.error.HTTPError) -> float | None:
    value = error.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None


Mode = Literal["record", "replay"]


class BadRecording(VpwError):
    """A recording that cannot be read, belongs to another run, or ends too early."""


class Tape:
    """Calls in order. Those that are on the tape are answered from
    it; the next ones are added, unless the tape is only replayed.
    """

    def __init__(self, path: Path, mode: Mode):
        self.path, self.mode = path, mode
        self._entries = _read(path) if mode == "replay" or path.exists() else []
        self._lock, self._pending = threading.Lock(), {}
        if mode == "record":
            # What can not be written is told before anything is asked.
            write_lines(path, [_line(entry) for entry in self._entries])

    def __len__(self) -> int:
        return len(self._entries)

    def recall(self, index: int, body: dict[str, Any]) -> dict[str, Any] | None:
        """The recorded answer to call number `index`, or None where it is not recorded yet."""
        if index >= len(self._entries):
            if self.mode == "replay":
                raise BadRecording(
                    f"The recording '{self.path}' holds {len(self._entries)} calls, and the run asks for more."
                )
            return None
        entry = self._entries[index]
        if entry["request"] != body:
            raise BadRecording(
                f"The recording '{self.path}' is of another run: its call {index + 1} asks something else."
            )
        return entry["answer"]

    def add(self, index: int, body: dict[str, Any], answer: dict[str, Any]) -> None:
        """Write a call down; calls that were made side by side are written in the order in which they were asked."""
        with self._lock:
            self._pending[index] = {"request": body, "answer": answer}
            while len(self._entries) in self._pending:
                entry = self._pending.pop(len(self._entries))
                _append(self.path, entry)
                self._entries.append(entry)


def _read(path: Path) -> list[dict[str, Any]]:
    lines = read_text(path, "recording", BadRecording).removesuffix("\n").split("\n")
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            entry = from_json(line)
            if not (isinstance(entry["request"], dict) and isinstance(entry["answer"], dict)):
                raise TypeError
            entries.append({"request": entry["request"], "answer": entry["answer"]})
        except (ValueError, KeyError, TypeError, IndexError):
            if number == len(lines):
                break  # the run was interrupted while it wrote this line
            raise BadRecording(f"'{path}' is not a recording: line {number} is not a call.") from None
    return entries


def _line(entry: dict[str, Any]) -> str:
    return to_json(entry, sort_keys=True) + "\n"


def _append(path: Path, entry: dict[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_line(entry))
    except OSError as error:
        raise CannotWrite(f"Could not write the recording '{path}' ({error.strerror}).") from error


class OutOfBudget(VpwError):
    """The calls or tokens that were allowed are used up."""


@dataclass(frozen=True)
class Budget:
    """How much may be asked; tokens count both ways."""

    calls: int = 50
    tokens: int | None = None


@dataclass(frozen=True)
class Sampling:
    """How a model is to answer."""

    temperature: float = 0.7
    max_tokens: int = 1500


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, in whatever currency."""

    asked_per_million: float
    answered_per_million: float


@dataclass(frozen=True)
class Reply:
    """What a model answered: its text, empty where it refused, and what the answer took."""

    text: str
    finish: str
    tokens_asked: int
    tokens_answered: int
    call: int  # number of the call, counted from 1


@dataclass(frozen=True)
class Usage:
    """What was used so far."""

    calls: int = 0
    tokens_asked: int = 0
    tokens_answered: int = 0
    retries: int = 0

    def data(self, price: Price | None = None) -> dict[str, Any]:
        """The cost line of a result."""
        line = {"calls": self.calls, "tokens_asked": self.tokens_asked, "tokens_answered": self.tokens_answered}
        if price is None:
            return line
        cost = self.tokens_asked * price.asked_per_million + self.tokens_answered * price.answered_per_million
        return {**line, "cost": round(cost / 1e6, 6)}


@dataclass
class Client:
    """A model that can be asked; holds the budget and counts against it."""

    model: str
    endpoint: Endpoint | None  # none where a recording answers everything
    tape: Tape | None = None
    budget: Budget = Budget()
    sampling: Sampling = Sampling()
    seed: int = 0
    concurrency: int = 1
    usage: Usage = Usage()
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def calls_left(self) -> int:
        return self.budget.calls - self.usage.calls

    def ask(self, prompt: str | Sequence[dict[str, Any]]) -> Reply:
        """One answer; `OutOfBudget` where nothing may be asked any more.

        A prompt is a text, or the parts of one (text and pictures).
        """
        return self.ask_many([prompt])[0]

    def ask_many(self, prompts: Sequence[str | Sequence[dict[str, Any]]]) -> list[Reply]:
        """As many answers as prompts, or as the budget has calls
        for, asked side by side within the concurrency limit.
        """
        self._check_budget()
        first = self.usage.calls
        bodies = [self._body(prompt, first + i) for i, prompt in enumerate(prompts[: self.calls_left])]
        with ThreadPoolExecutor(self.concurrency) as pool:
            answers = list(pool.map(self._answer, range(first, first + len(bodies)), bodies))
        return [self._counted(answer, retries) for answer, retries in answers]

    def _check_budget(self) -> None:
        if self.calls_left <= 0:
            raise OutOfBudget(f"The budget of {self.budget.calls} calls is used up.")
        tokens = self.usage.tokens_asked + self.usage.tokens_answered
        if self.budget.tokens is not None and tokens >= self.budget.tokens:
            raise OutOfBudget(f"The budget of {self.budget.tokens} tokens is used up.")

    def _body(self, prompt: str | Sequence[dict[str, Any]], index: int) -> dict[str, Any]:
        content = prompt if isinstance(prompt, str) else list(prompt)
        # A seed of its own for each call: the same question asked twice is meant to be answered twice.
        sampling = {
            "temperature": self.sampling.temperature,
            "max_tokens": self.sampling.max_tokens,
            "seed": self.seed + index,
        }
        return {"model": self.model, "messages": [{"role": "user", "content": content}], "stream": False, **sampling}

    def _answer(self, index: int, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
        recorded = self.tape.recall(index, body) if self.tape is not None else None
        if recorded is not None:
            return recorded, 0
        if self.endpoint is None:
            raise EndpointFailed("There is no endpoint to ask; give one, or a recording that holds every call.")
        answer, retries = self.endpoint.post(body)
        if self.tape is not None:
            self.tape.add(index, body, answer)
        return answer, retries

    def _counted(self, answer: dict[str, Any], retries: int) -> Reply:
        text, finish = _text(answer)
        asked, answered = (_used(answer, name) for name in ("prompt_tokens", "completion_tokens"))
        with self._lock:
            before = self.usage
            self.usage = Usage(
                before.calls + 1,
                before.tokens_asked + asked,
                before.tokens_answered + answered,
                before.retries + retries,
            )
            return Reply(text, finish, asked, answered, self.usage.calls)


def _used(answer: dict[str, Any], name: str) -> int:
    """The tokens that an answer says it took; none where it does not say."""
    used = answer.get("usage")
    count = used.get(name) if isinstance(used, dict) else None
    return count if isinstance(count, int) and count >= 0 else 0


def _text(answer: dict[str, Any]) -> tuple[str, str]:
    """The text of an answer; a refusal is an empty one, and an answer of no known form is an error."""
    try:
        choice = answer["choices"][0]
        message = choice["message"]
        finish = str(choice.get("finish_reason") or "stop")
        content = message.get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise EndpointFailed(
            "The endpoint's answer has no 'choices' with a message; is it OpenAI-compatible?"
        ) from None
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content), "refusal" if message.get("refusal") else finish
