"""What the pages of the documentation show to be typed does run, in the order in which it stands there."""

import re
import shutil
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from test_readme import Cart, write_log

from visualpatchworld.cli import _any_world, main
from visualpatchworld.plan import goal_state, reward
from visualpatchworld.plan.return_search import ReturnPlanner

ROOT = Path(__file__).parent.parent
SMALL = ReturnPlanner(horizon=8, samples=16, rounds=1, elites=4, execute=4)
FOUND = ROOT / "programs" / "worlds"


def commands(page: str) -> list[list[str]]:
    """Lines of code that begin with `vpw`, with one episode in place of several."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL))
    lines = re.findall(r"^vpw (.*?)(?:  +#.*)?$", code, flags=re.MULTILINE)
    return [re.sub(r"^(plan .*--episodes) \d+", r"\1 1", line).split() for line in lines]


def run(page: str, least: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All commands of a page. Planners are small here, and chosen
    beforehand: how well they plan is measured elsewhere.
    """
    typed = commands(page)
    assert len(typed) >= least
    monkeypatch.setattr(_any_world, "TRUE_WORLD_SECONDS", 0.0)
    for module in (reward, goal_state):
        monkeypatch.setattr(module, "choose_planner", lambda *_: SMALL)
    for words in typed:
        monkeypatch.setattr("sys.argv", ["vpw", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code in (0, None), (words, capsys.readouterr().err)


def put(folder: Path, *worlds: str) -> None:
    """Programs of these worlds where a run would have left them."""
    for world in worlds:
        shutil.copytree(FOUND / world, folder / "runs" / world)


def test_the_quickstart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    run("quickstart.md", 5, monkeypatch, capsys)
    assert "ANGLE_GAIN = 4.0" in (tmp_path / "stronger.py").read_text(encoding="utf-8")


def test_your_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "machine.csv")
    write_log(tmp_path / "other.csv", seed=1)
    run("your-log.md", 3, monkeypatch, capsys)
    page = (tmp_path / "runs" / "machine" / "report.html").read_text(encoding="utf-8")
    assert "those that were learned from among them" in page  # nothing of this log is held out


def test_your_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "Pendulum-v1", "CartPole-v1")
    run("your-reward.md", 2, monkeypatch, capsys)


def test_the_four_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    run("stages.md", 7, monkeypatch, capsys)


def snippets(page: str) -> list[str]:
    """Python that is no part of another file; `test_docs.py` holds the rest to their files."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    text = re.sub(r"<!-- from \S+ -->\n```python\n.*?```", "", text, flags=re.DOTALL)
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def typed(page: str, **given: Any) -> dict[str, Any]:
    """What is known after all snippets of a page were typed."""
    names = dict(given)
    shown = snippets(page)
    assert shown
    for snippet in shown:
        exec(compile(snippet, page, "exec"), names)
    return names


def test_a_program_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = (FOUND / "Pendulum-v1" / "world_model.py").read_text(encoding="utf-8")
    (tmp_path / "world_model.py").write_text(
        program.replace("import jax.numpy as np", "import numpy as np"), encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "world_model", raising=False)
    state = typed("reading-a-program.md")["state"]
    assert state.angle != 3.0 and np.isfinite(state).all()


def test_use_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    names = typed("use-from-python.md", env=gym.wrappers.TimeLimit(Cart(), 50))
    assert "x0_speed' = -X0_DRAG x0_speed + X0_GAIN action[0]" in capsys.readouterr().out
    assert names["seen"].shape == (8, 20, 2) and names["many"].shape == (1000, 2)
    assert names["saved"].program.text == names["program"].text
    assert names["short"].verdict == "explained"


def test_worlds_are_environments():
    assert typed("stages.md")["world"].constants.speed == 8.0


def test_pictures_are_read():
    import visualpatchworld as vpw

    episode = vpw.collect(vpw.load_domain("pusht"), episodes=1, seed=3, pixels=True).episodes[0]
    assert episode.frames is not None
    names = typed("perception.md", frames=list(episode.frames[:4]), actions=episode.actions[:3])
    assert np.abs(names["state"][:2] - episode.observations[3][:2]).max() < 5.0
    assert names["states"].shape == (4, len(names["state"]))


def test_the_sandbox_rolls_out():
    from visualpatchworld.domain import load_domain
    from visualpatchworld.program.program import Program
    from visualpatchworld.program.sandbox import sandboxed_rollouts

    space = load_domain("tworoom").scene.state_space
    text = (ROOT / "programs" / "tworoom" / "world_model.py").read_text(encoding="utf-8")
    given = {
        "sandboxed_rollouts": sandboxed_rollouts,
        "Program": Program,
        "text": text,
        "state_space": space,
        "action_dim": 2,
    }
    typed("baselines.md", **given, state=np.array([72.0, 120.0]), actions=np.zeros((2, 3, 2)))


def test_every_page_with_code_of_its_own_is_typed_here():
    here = Path(__file__).read_text(encoding="utf-8")
    missing = [
        page.name for page in (ROOT / "docs").glob("*.md") if snippets(page.name) and f'"{page.name}"' not in here
    ]
    assert not missing
