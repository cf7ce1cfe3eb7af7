"""A real Chromium to open pages with, asked over its own DevTools protocol; what goes wrong in a page is kept."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE_S = 60.0  # generous: machines are slow, and a page that never answers is the failure


class Tab:
    """One tab: evaluates, points and presses as a person would."""

    def __init__(self, socket: ClientConnection):
        self._socket, self._number = socket, 0
        self.wrong: list[str] = []  # errors and warnings of the console, and failures of the page's code
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            told = json.loads(self._socket.recv(timeout=PATIENCE_S))
            self._note(told)
            if told.get("id") == self._number:
                assert "error" not in told, told
                return told["result"]

    def _note(self, told: dict[str, Any]) -> None:
        parameters = told.get("params", {})
        if told.get("method") == "Runtime.exceptionThrown":
            self.wrong.append(str(parameters["exceptionDetails"]))
        elif told.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.wrong.append(str(parameters["args"]))
        elif told.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.wrong.append(parameters["entry"]["text"])

    def value(self, expression: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str) -> Any:
        """The expression's value as soon as it is true."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if found := self.value(expression):
                return found
            time.sleep(0.02)
        raise AssertionError(f"never came true: {expression}")

    def open(self, url: str, *, width: int = 1440, height: int = 900, dark: bool = False) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.theme(dark)
        self.ask("Page.navigate", url=url)

    def theme(self, dark: bool) -> None:
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of an element, brought into view."""
        box = f"document.querySelector({json.dumps(selector)})"
        self.value(f"{box}.scrollIntoView({{block: 'center'}})")
        x, y = self.value(
            f"(() => {{ const b = {box}.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        )
        return x, y

    def click(self, selector: str) -> None:
        x, y = self.middle(selector)
        self.drag((x, y), (x, y), steps=0)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
        def mouse(kind: str, x: float, y: float, buttons: int) -> None:
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

        mouse("mousePressed", *start, 1)
        for i in range(1, steps + 1):
            mouse(
                "mouseMoved", start[0] + (end[0] - start[0]) * i / steps, start[1] + (end[1] - start[1]) * i / steps, 1
            )
        mouse("mouseReleased", *end, 0)

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser without a window, which ends with the block."""
    assert CHROMIUM is not None
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-port=0",
        "--no-first-run",
        "--hide-scrollbars",
    )
    with subprocess.Popen(
        [CHROMIUM, *options, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.DEVNULL
    ) as process:
        try:
            told, until = profile / "DevToolsActivePort", time.monotonic() + PATIENCE_S
            while not (told.is_file() and len(told.read_text().splitlines()) == 2):
                assert time.monotonic() < until and process.poll() is None, "Chromium did not start"
                time.sleep(0.05)
            port, path = told.read_text().splitlines()
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as socket:
                yield Browser(port, socket)
        finally:
            process.terminate()


class Browser:
    """Opens tabs."""

    def __init__(self, port: str, socket: ClientConnection):
        self._port, self._socket, self._number = port, socket, 0

    @contextmanager
    def tab(self) -> Iterator[Tab]:
        self._number += 1
        self._socket.send(
            json.dumps({"id": self._number, "method": "Target.createTarget", "params": {"url": "about:blank"}})
        )
        while (told := json.loads(self._socket.recv(timeout=PATIENCE_S))).get("id") != self._number:
            pass
        with connect(
            f"ws://127.0.0.1:{self._port}/devtools/page/{told['result']['targetId']}", max_size=None
        ) as socket:
            yield Tab(socket)
