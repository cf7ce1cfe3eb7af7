"""The page in a real browser, and the server as others meet it: on
this machine alone, for its own page alone, until it is told to end.
"""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from chromium import CHROMIUM, Browser, browser
from toy_program import RIGHT
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from visualpatchworld.live import server

COMMAND = "from visualpatchworld.cli import main; main()"


class Page:
    """A running `vpw live`."""

    def __init__(self, folder: Path, *options: str):
        self.folder = folder
        words = [
            sys.executable,
            "-c",
            COMMAND,
            "live",
            str(folder),
            *options,
            "--port",
            "0",
            "--horizon",
            "10",
            "--json",
        ]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None and self.process.stderr is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.url: str = json.loads(line)["url"]
        self.socket = self.url.replace("http", "ws") + "socket"

    def end(self, with_signal: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(with_signal)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("live")
    (folder / "world_model.py").write_text(RIGHT.text)
    running = Page(folder, "--world", "slider")
    yield running
    # Ctrl-C is how such a page is closed, and no failure.
    assert running.end(signal.SIGINT) == (0, "")


def status(url: str, **headers: str) -> int:
    try:
        with urlopen(Request(url, headers=headers), timeout=30) as answer:
            return answer.status
    except HTTPError as error:
        return error.code


def test_only_its_own_files_and_only_to_this_machine(page: Page):
    with urlopen(page.url, timeout=30) as answer:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert status(page.url + "page.js") == 200
    assert status(page.url + "../start.py") == status(page.url + "world_model.py") == 404
    # A name that leads here from elsewhere, and a page of another site.
    assert status(page.url, Host="evil.example") == 403
    with pytest.raises(InvalidStatus), connect(page.socket, origin="http://evil.example"):  # pyright: ignore[reportArgumentType]
        pass
    assert page.url.startswith("http://127.0.0.1:")


def test_what_is_no_wish_ends_that_tab_alone(page: Page):
    with connect(page.socket) as good, connect(page.socket) as bad:
        for tab in (good, bad):
            assert json.loads(tab.recv(timeout=30))["kind"] == "world"
            assert json.loads(tab.recv(timeout=30))["kind"] == "motion"
        bad.send('{"do": "exec", "value": 1}')
        with pytest.raises(ConnectionClosed):
            bad.recv(timeout=30)
        good.send('{"do": "turn", "number": 0, "value": 1e9, "serial": 9}')
        told = json.loads(good.recv(timeout=30))
        assert (told["kind"], told["serial"], told["values"][0]) == ("motion", 9, 6.0)
        good.send('{"do": "back_all"}')
        assert json.loads(good.recv(timeout=30))["changed"] == 0


def test_tabs_see_the_same(page: Page):
    with connect(page.socket) as one, connect(page.socket) as other:
        for tab in (one, other):
            tab.recv(timeout=30)
            tab.recv(timeout=30)
        one.send('{"do": "turn", "number": 1, "value": 0.1}')
        assert json.loads(other.recv(timeout=30))["values"][1] == 0.1
        one.send('{"do": "back_all"}')
        assert json.loads(other.recv(timeout=30))["changed"] == 0


def test_a_tab_has_only_so_many_wishes_waiting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    going_on, begun, told = threading.Event(), threading.Event(), []
    monkeypatch.setitem(server.DEEDS, "plan", lambda session, wish: begun.set() or going_on.wait(60) or session)
    monkeypatch.setattr(server, "motion_text", lambda session, serial: told.append(serial) or "")
    worker = server.Worker(None, server.Saving(tmp_path, "x"))  # pyright: ignore[reportArgumentType]
    greedy, other = object(), object()
    worker.ask(server.Wish("plan"), greedy)
    assert begun.wait(60)  # which waits no more, but is done
    for serial in range(server.MOST_WAITING):
        worker.ask(server.Wish("plan", serial=serial), greedy)
    with pytest.raises(server.TooMany, match="left out"):
        worker.ask(server.Wish("plan", serial=-1), greedy)
    worker.ask(server.Wish("plan", serial=99), other)
    going_on.set()
    assert worker.finish()
    assert told == [0, *range(server.MOST_WAITING), 99]


def test_a_tab_that_takes_no_answers_is_closed():
    class Tab:
        def __init__(self, takes: bool):
            self.takes, self.taken, self.closed = takes, 0, False

        async def send(self, _: str) -> None:
            while not self.takes:
                await asyncio.sleep(60)
            self.taken += 1

        async def close(self, *_: object) -> None:
            self.closed = True

    async def run() -> None:
        tabs, good, bad = server.Tabs(), Tab(True), Tab(False)
        tabs.open |= {good, bad}
        for _ in range(3 * server.MOST_UNREAD):
            tabs.tell("x")
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert tabs.open == {good} and bad.closed and good.taken == 3 * server.MOST_UNREAD

    asyncio.run(run())


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium to open pages with")
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_slide_drag_plan_and_save(page: Page, chromium: Browser, tmp_path: Path):
    with chromium.tab() as tab:
        tab.open(page.url)
        tab.wait(
            "window.live && document.querySelectorAll('.row').length === 2 && "
            "document.querySelectorAll('#fields canvas').length === 2"
        )
        # Slide: the ghost parts from the truth, the text and the other tab say so.
        x, y = tab.middle("input[type=range][data-dial=PUSH]")
        tab.drag((x, y), (x + 60, y))
        tab.wait(
            "document.querySelector('.row').classList.contains('changed') && window.live.drawn === window.live.answered"
        )
        value = tab.value("Number(document.querySelector('input[type=number][data-dial=PUSH]').value)")
        assert 3.0 < value < 6.0
        # The last place of the slider is answered last.
        tab.wait(f"Math.abs(Number(document.querySelector('#listing .changed b.dial').textContent) - {value}) < 1e-4")
        tab.click("#save")
        tab.wait("document.getElementById('said').textContent.includes('world_model_edited.py')")
        assert (page.folder / "world_model_edited.py").is_file()
        tab.click("#back")
        tab.wait("document.querySelectorAll('.row.changed').length === 0")
        # Drag the goal in its chart, then plan to it.
        x, y = tab.middle("#fields canvas")
        tab.drag((x, y), (x, y - 20))
        tab.wait(
            "document.getElementById('plan').textContent === 'plan to goal' && window.live.drawn === "
            "window.live.answered"
        )
        tab.click("#plan")
        tab.wait("document.getElementById('where').textContent.includes('a plan, imagined and done')")
        for button in ("#perturb", "#step", "#next", "#play"):
            before = tab.value("window.live.answered")
            tab.click(button)
            tab.wait(f"window.live.answered > {before} && !document.body.classList.contains('busy')")
        tab.click("#play")
        for dark, wide in ((False, 1440), (True, 1100)):
            tab.open(page.url, dark=dark, width=wide)
            tab.wait("document.querySelectorAll('.row').length === 2")
            assert tab.value("document.documentElement.scrollWidth") <= wide
        assert tab.wrong == [] and tab.value("window.live.wrong") == []
        tab.picture(tmp_path / "page.png")
        assert (tmp_path / "page.png").stat().st_size > 10_000


GOAL_AT = """(() => { const {canvas, goal} = live.scene, box = canvas.getBoundingClientRect(), at = live.scene.project(goal[0]);
return [box.x + at.x, box.y + at.y]; })()"""


def test_a_goal_is_dragged_inside_the_scene(page: Page, chromium: Browser):
    with chromium.tab() as tab, connect(page.socket) as other:
        world, motion = (json.loads(other.recv(timeout=30)) for _ in range(2))
        field = next(i for i, field in enumerate(world["fields"]) if field["name"] == "puck_x")
        before = motion["goal"]["values"][field]
        tab.open(page.url)
        tab.wait("window.live && live.scene && live.scene.goal && live.drawn >= 0")
        tab.middle("#scene")  # brings the canvas into view
        x, y = tab.wait(GOAL_AT)
        middle = tab.value(
            "(() => { const b = live.scene.canvas.getBoundingClientRect(); return b.x + b.width / 2; })()"
        )
        aside = 40 if x < middle else -40
        tab.drag((x, y), (x + aside, y))
        tab.wait("live.answered > 0 && live.drawn === live.answered")
        moved, _ = tab.value(GOAL_AT)
        assert moved == pytest.approx(x + aside, abs=2.0)
        # The other tab is told of the goal's last place, which lies where the hand left it.
        scale = tab.value("live.scene.camera.scale")
        after = before
        while after != pytest.approx(before + aside / scale, rel=1e-2):
            after = json.loads(other.recv(timeout=30))["goal"]["values"][field]
        # Beside every goal the drag takes hold of nothing.
        answered = -1
        while answered != (answered := tab.value("live.answered")):  # the first drag may still be answered
            time.sleep(0.5)
        tab.drag((x, y - 60), (x + aside, y - 60))
        assert tab.value("live.answered") == answered and tab.wrong == []


def test_a_page_whose_code_fails_would_be_found_out(page: Page, chromium: Browser):
    with chromium.tab() as tab:
        tab.open(page.url + "missing")
        tab.value("setTimeout(() => nothing(), 0)")
        until = time.monotonic() + 30
        while not any("nothing" in said for said in tab.wrong) and time.monotonic() < until:
            tab.value("1")
        assert any("nothing" in said for said in tab.wrong)
        assert any("404" in said for said in tab.wrong)
