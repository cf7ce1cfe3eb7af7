"""`--sandbox` wherever a program is loaded: it holds, or it is refused; it is never dropped."""

import json
from pathlib import Path

import numpy as np
import pytest
from cart import CART, CART_ID
from cli.conftest import Vpw

from visualpatchworld.program.program import Program


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A program that would leave a trace wherever it runs unprotected."""
    path = tmp_path / "evil.py"
    path.write_text(f"open({str(tmp_path / 'trace.txt')!r}, 'w').write('here')\n{CART.text}")
    return path


REFUSED = {
    f"plan {CART_ID} --program {{evil}} --episodes 1 --sandbox": "may not use 'open'",
    f"plan {CART_ID} --program {{evil}} --goal x=0 --sandbox": "read the program first",
    "plan slider --program {evil} --task reward --sandbox": "gives rewards",
    "plan slider --program {evil} --sandbox": "may not use 'open'",
    "rollout {evil} --traces log.npz --sandbox": "may not use 'open'",
    f"live {{evil}} --world {CART_ID} --sandbox": "read it first",
    f"record {{evil}} --world {CART_ID} --film film.mp4 --sandbox": "read it first",
    "acquire slider --program {evil} --sketch push+drag --out new.py --sandbox": "read it first",
    f"run {CART_ID} --sandbox": "`vpw plan` and `vpw rollout` lock in",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_a_strangers_program_never_runs_unprotected(vpw: Vpw, evil: Path, arguments: str, tmp_path: Path):
    np.savez("log.npz", observations=np.zeros((1, 4, 2)), actions=np.zeros((1, 3, 1)))
    assert REFUSED[arguments] in vpw.refused(*arguments.format(evil=evil).split())
    assert not (tmp_path / "trace.txt").exists()


def test_an_edit_never_runs_a_strangers_program_unprotected(vpw: Vpw, evil: Path, tmp_path: Path):
    vpw("edit", evil, "GAIN=3.0", "--out", "new.py", "--sandbox")
    assert "GAIN = 3.0" in Path("new.py").read_text() and not (tmp_path / "trace.txt").exists()
    vpw("edit", evil, "GAIN=3.0", "--out", "new.py")
    assert (tmp_path / "trace.txt").exists()


def test_a_log_is_replayed_and_nothing_runs_here(vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(self: Program, *_: object) -> None:
        raise AssertionError("the program ran in this process")

    monkeypatch.setattr(Program, "_run", refuse)
    (tmp_path / "cart.py").write_text(CART.text)
    rng = np.random.default_rng(0)
    np.savez("log.npz", observations=rng.normal(size=(2, 13, 2)), actions=rng.normal(size=(2, 12, 1)))
    told = json.loads(vpw("rollout", "cart.py", "--traces", "log.npz", "--horizon", 5, "--sandbox", "--json"))
    assert set(told["normalised_error"]) == {"1", "5"}


def test_a_reward_is_planned_for_and_nothing_runs_here(vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(self: Program, *_: object) -> None:
        raise AssertionError("the program ran in this process")

    monkeypatch.setattr(Program, "_run", refuse)
    (tmp_path / "cart.py").write_text(CART.text)
    options = ("--episodes", 1, "--horizon", 4, "--on-true-world", 0, "--sandbox", "--json")
    told = json.loads(vpw("plan", CART_ID, "--program", "cart.py", *options))
    assert told["n"] == 1 and "4 steps ahead" in told["planner"]
