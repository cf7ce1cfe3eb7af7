"""Where words go: full disks, closed pipes, terminals without an alphabet, and brackets that are no markup."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Vpw

COMMAND = [sys.executable, "-m", "visualpatchworld"]


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    defaults = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False}
    return subprocess.run([*COMMAND, *map(str, arguments)], **(defaults | options))  # type: ignore[call-overload]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [("domains", "--json"), ("table", "envs")])
def test_a_full_device_is_told(arguments: tuple[str, ...]):
    with open("/dev/full", "w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "No space left" in done.stderr


def test_a_reader_that_has_enough_is_no_failure():
    read, write = os.pipe()
    os.close(read)
    try:
        done = run("table", "envs", stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_without_stdout_the_work_is_done(tmp_path: Path):
    line = f"exec {' '.join(COMMAND)} collect slider --episodes 1 --out {tmp_path / 'a.h5'} >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a.h5").exists()


def test_a_terminal_without_an_alphabet_gets_it_spelled_out(tmp_path: Path):
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = run("collect", "slider", "--episodes", 1, "--out", "é世.h5", cwd=tmp_path, env=plain)
    assert (shown.returncode, shown.stderr) == (0, "") and "\\xe9\\u4e16.h5" in shown.stdout
    told = run("scene", "slider", "nowhere-é.h5:1", "--via", "oracle", cwd=tmp_path, env=plain)
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)


def test_brackets_in_a_path_are_a_path(vpw: Vpw):
    folder = Path("[bold]x")
    folder.mkdir()
    assert "[bold]x/[red]a.h5" in vpw("collect", "slider", "--episodes", 1, "--out", folder / "[red]a.h5")
    assert "[/red]" in vpw.refused("scene", "slider", "[/red].h5:1", "--via", "oracle")


@pytest.mark.parametrize(
    "arguments",
    [
        ("collect", "slider", "--episodes", 1, "--out", "a.h5", "--seed", 2**64),
        ("collect", "slider", "--episodes", 10**30, "--out", "a.h5"),
        ("collect", "slider", "--episodes", -1, "--out", "a.h5"),
        ("collect", "slider", "--episodes", 1, "--out", "a.h5", "--vary", "drag=inf"),
        ("collect", "slider", "--episodes", 1, "--out", "a.h5", "--vary", "drag=nan"),
        ("plan", "slider", "--score", "simulator", "--seed", 2**64),
        ("baseline", "worldcoder", "slider", "--model", "m", "--endpoint", "http://[", "--out", "b"),
        ("baseline", "worldcoder", "slider", "--model", "m", "--replay", "x", "--temperature", "nan"),
        ("baseline", "worldcoder", "slider", "--model", "m", "--replay", "x", "--price", "inf", "1"),
    ],
)
def test_numbers_that_nothing_can_be_done_with_are_refused(arguments: tuple[object, ...], vpw: Vpw):
    vpw.refused(*arguments)
    assert not Path("a.h5").exists()


def test_a_mistake_of_our_own_is_one_line_that_asks_to_be_reported(vpw: Vpw, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("visualpatchworld.cli.worlds.find_domains", lambda: [][1])
    code, out, err = vpw.run("domains")
    assert (code, out, err.count("\n")) == (1, "", 1) and "please report it (IndexError" in err
    monkeypatch.setenv("VPW_TRACEBACK", "1")
    with pytest.raises(IndexError):
        vpw.run("domains")


@pytest.mark.parametrize(
    ("text", "said"),
    [("import nothing_of_that_name", "ModuleNotFoundError"), ("x = 1", "defines no DOMAIN"), ("x = (", "SyntaxError")],
)
def test_a_domain_that_does_not_load_is_told(
    text: str, said: str, vpw: Vpw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = tmp_path / "mine" / "unfinished"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(text)
    monkeypatch.setenv("VPW_DOMAINS", str(folder.parent))
    assert said in vpw.refused("collect", "unfinished", "--episodes", 1, "--out", "a.h5")
    sys.modules.pop("unfinished", None)


def test_errors_without_bound_are_null_in_json(vpw: Vpw):
    vpw("collect", "slider", "--episodes", 2, "--out", "a.h5")
    Path("blows.py").write_text(
        "from typing import NamedTuple\n\nclass State(NamedTuple):\n    puck_x: float\n    puck_vx: float\n\n"
        "def step(state, action):\n    return State(state.puck_x + 1.0, state.puck_vx / (0.0 * state.puck_x))\n"
    )
    text = Path("blows.py").read_text().replace("state.puck_x + 1.0", "state.puck_x + 1e300 * 1e300")
    Path("blows.py").write_text(text)
    told = vpw("rollout", "blows.py", "--domain", "slider", "--traces", "a.h5", "--json")
    assert json.loads(told, parse_constant=pytest.fail)["rollout_error"]["puck_m"]["1"]["mean"] is None
