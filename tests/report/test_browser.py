"""Pages in a browser: pictures and films load, nothing is asked of
anyone, nothing goes wrong, and a phone need not scroll sideways.
"""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
from paper.made_results import add, share
from report.made_run import make_run

from visualpatchworld.report.overview import write_paper, write_worlds
from visualpatchworld.report.run_page import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to open pages with")

RESULTS = Path(__file__).parents[2] / "results"

# Put into a copy of the page: what went wrong while it loaded, and what came of its pictures and films.
LISTEN = """<script>const wrong = [], asked = [];
addEventListener("error", event => wrong.push(String(event.message || event.target)), true);
addEventListener("securitypolicyviolation", event => asked.push(event.blockedURI));</script>"""
FIND = """<script>addEventListener("load", async () => {
  const films = [...document.querySelectorAll("video")];
  const settled = film => film.readyState > 1 || film.error ? 0 : new Promise(go => { film.onloadeddata = film.onerror = go; });
  await Promise.race([Promise.all(films.map(settled)), new Promise(go => setTimeout(go, 8000))]);
  const found = {
    wrong, asked, images: [...document.images].map(image => image.naturalWidth),
    films: films.map(film => [film.readyState, film.duration, film.videoWidth]),
    dark: getComputedStyle(document.body).backgroundColor, width: innerWidth, needed: document.documentElement.scrollWidth,
  };
  // No browser window is as narrow as a phone, so the page is: what reaches beyond it must be inside a box that scrolls.
  document.body.style.width = "360px";
  const apart = [...document.querySelectorAll("main *")].filter(item => !item.parentElement.closest(".scroll"));
  found.widest = Math.max(...apart.map(item => item.getBoundingClientRect().right));
  const told = document.createElement("pre");
  told.id = "found";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
})</script>"""


def opened(page: Path, width: int = 1200, dark: bool = False) -> dict:
    """What a browser makes of a page."""
    copy = page.with_name("opened.html")
    copy.write_text(
        page.read_text(encoding="utf-8").replace("<head>", f"<head>{LISTEN}").replace("</body>", f"{FIND}</body>"),
        encoding="utf-8",
    )
    assert CHROMIUM is not None
    theme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--dump-dom",
        "--virtual-time-budget=10000",
        "--enable-logging=stderr",
    )
    done = subprocess.run(
        [
            CHROMIUM,
            *options,
            theme,
            f"--window-size={width},900",
            f"--user-data-dir={page.parent / 'profile'}",
            copy.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return {**json.loads(unescape(found[1])), "console": re.findall(r"CONSOLE.*", done.stderr)}


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_run(tmp_path_factory.mktemp("browser") / "made")
    (folder / "films").mkdir()
    frames = np.stack([np.full((64, 64, 3), 20 * i, np.uint8) for i in range(12)])
    for task in (1, 3):
        path = folder / "films" / f"slider-vpw-oracle-induced-42-task{task:02d}.mp4"
        path.write_bytes(
            iio.imwrite("<bytes>", frames, extension=".mp4", plugin="FFMPEG", fps=10, codec="libx264") or b""
        )
    return write_report(folder).path


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (500, True)])
def test_the_page_of_a_run(run_page: Path, width: int, dark: bool):
    found = opened(run_page, width, dark)
    assert found["wrong"] == found["asked"] == found["console"] == []
    assert found["images"] == [224]
    assert [(ready >= 2, round(duration, 1), wide) for ready, duration, wide in found["films"]] == [(True, 1.2, 64)] * 2
    assert found["needed"] <= found["width"]
    assert found["widest"] <= 360
    assert (found["dark"] == "rgb(22, 25, 29)") is dark


def test_failed_tasks_come_first(run_page: Path):
    text = run_page.read_text(encoding="utf-8")
    assert re.findall(r"<figcaption>task (\d)", text) == ["3", "1"]
    assert "goal not met within 1 step" in text


def test_the_page_of_the_paper(tmp_path: Path):
    add(tmp_path / "results", share(47, 50))
    found = opened(write_paper(tmp_path / "results").path, 500)
    assert found["wrong"] == found["asked"] == found["console"] == []
    assert all(found["images"])
    assert found["needed"] <= found["width"]
    assert found["widest"] <= 360


@pytest.mark.parametrize(("width", "dark"), [(1200, True), (500, False)])
def test_the_page_of_worlds(tmp_path: Path, width: int, dark: bool):
    found = opened(write_worlds(RESULTS, tmp_path / "worlds.html").path, width, dark)
    assert found["wrong"] == found["asked"] == found["console"] == []
    assert found["needed"] <= found["width"]
    assert found["widest"] <= 360
    assert (found["dark"] == "rgb(22, 25, 29)") is dark


def test_a_page_that_asks_for_something_would_be_found_out(run_page: Path, tmp_path: Path):
    page = tmp_path / "bad.html"
    page.write_text(
        run_page.read_text(encoding="utf-8").replace(
            "<main>", '<main><img src="http://localhost/missing.png"><script>nothing()</script>'
        )
    )
    found = opened(page)
    assert 0 in found["images"]
    assert any("nothing" in sentence for sentence in found["wrong"])
    assert found["console"]
    assert found["asked"] == ["http://localhost/missing.png"]
