"""One POST to an OpenAI-compatible endpoint, tried again where that can help; the key comes from the environment only.

Plain urllib: the whole protocol is one request without streaming, and a recording needs the very bytes of it.
"""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from visualpatchworld.errors import VpwError
from visualpatchworld.files import from_json, to_json

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
            raise EndpointFailed(f"An endpoint's URL is shown and written down; put the key into {KEY_VARIABLES[0]}, not into the URL.")
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
        return " ".join(error.read(LONGEST_ANSWER).decode("utf-8", "replace").split())[:LONGEST_REASON] or str(error.reason)
    except OSError:
        return str(error.reason)


def _wait_asked_for(error: urllib.error.HTTPError) -> float | None:
    value = error.headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
