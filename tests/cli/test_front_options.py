"""`vpw --version`, `python -m visualpatchworld` and tab completion."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import visualpatchworld

COMMAND = [sys.executable, "-m", "visualpatchworld"]


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, env=os.environ | variables
    )


def test_the_version():
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"vpw {visualpatchworld.__version__}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_for_a_shell(tmp_path: Path, shell: str):
    # The shell is named here; otherwise it is the one that the command was typed in.
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = run("--install-completion", shell, HOME=str(tmp_path), **named)
    assert done.returncode == 0, done.stderr
    assert any("vpw" in path.name for path in tmp_path.rglob("*") if path.is_file())


def test_verbs_are_completed():
    done = run(_VPW_COMPLETE="complete_bash", COMP_WORDS="vpw ind", COMP_CWORD="1")
    assert done.stdout.split() == ["induce"]
