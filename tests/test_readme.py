"""What the README shows runs, and is what it says it is."""

import csv
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import visualpatchworld

README = Path(__file__).parent.parent / "README.md"
ONE_SCREEN = 72  # lines of a tall window


class Cart(gym.Env):
    """Somebody's environment: `x0` is its place."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-1, 1, 2)
        return self.state.copy(), {}

    def step(self, action: np.ndarray):
        place, speed = self.state
        speed += 0.05 * (3.1 * float(action[0]) - 0.7 * speed)
        self.state = np.array([place + 0.05 * speed, speed])
        return self.state.copy(), -float(place**2), False, False, {}


def write_log(path: Path, seed: int = 0) -> None:
    """Somebody's machine: a motor that turns against friction."""
    rng = np.random.default_rng(seed)
    angle, speed, voltage = 0.0, 0.0, 0.0
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["time", "angle", "angle_speed", "voltage"])
        for t in range(400):
            if t % 10 == 0:
                voltage = float(rng.uniform(-6, 6))
            rows.writerow([f"{0.02 * t:.2f}", angle, speed, voltage])
            speed += 0.02 * (2.3 * voltage - 1.9 * speed)
            angle += 0.02 * speed


@pytest.fixture(scope="module")
def text() -> str:
    return README.read_text(encoding="utf-8")


def test_python_snippets_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
):
    """One after the other, as a reader would type them, with an environment and a log of the reader's own."""
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "machine.csv")
    snippets = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(snippets) == 5
    typed: dict[str, Any] = {"env": gym.wrappers.TimeLimit(Cart(), 50)}
    for snippet in snippets:
        # The program is a file of its own, and would else leave its names behind.
        exec(compile(snippet, "README.md", "exec"), {} if "def step(" in snippet else typed)
    said = capsys.readouterr().out
    assert "Pendulum-v1: explained" in said and "machine.csv: explained" in said
    assert "ANGLE_DRAG = 0.1" in said


def test_the_program_shown_is_the_one_that_was_induced(text: str):
    program = (README.parent / "programs" / "worlds" / "Pendulum-v1" / "world_model.py").read_text(encoding="utf-8")
    listing = program[program.index("from typing") :]
    assert listing in text
    assert len(listing.splitlines()) <= ONE_SCREEN


def test_what_is_shown_of_yours_takes_three_lines(text: str):
    yours = text[text.index("## Yours") : text.index("## Results")]
    assert [len(snippet.splitlines()) for snippet in re.findall(r"```python\n(.*?)```", yours, flags=re.DOTALL)] == [
        3,
        3,
        3,
    ]


def test_the_map_leads_to_every_page(text: str):
    pages = {f"docs/{page.name}" for page in (README.parent / "docs").glob("*.md")} - {"docs/index.md"}
    assert pages <= set(re.findall(r"\]\((docs/[^)#]+\.md)", text))


def test_the_picture_is_small_enough_to_load_at_once(text: str):
    shown = re.search(r"!\[.*?\]\((.*?\.png)\)", text)
    assert shown is not None and (README.parent / shown[1]).stat().st_size < 400_000


def test_the_citation_names_this_version_and_the_paper(text: str):
    citation = (README.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {visualpatchworld.__version__}\n" in citation
    title = re.search(r"title  = \{(.*)\}", text)
    assert title is not None and title[1] in citation
