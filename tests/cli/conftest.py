"""The command line, run in this process."""

import re
import sys
from pathlib import Path

import pytest

from visualpatchworld.cli import main


def without_stages(err: str) -> str:
    """What stands on stderr besides the stages of a long job, one line each."""
    return re.sub(r"^\d/\d .*\n", "", err, flags=re.MULTILINE)


class Vpw:
    """Runs `vpw` in this process and keeps what it said."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> str:
        """What a command that succeeds prints on stdout."""
        code, out, err = self.run(*arguments)
        assert code in (0, None), err
        assert without_stages(err) == ""
        return out

    def refused(self, *arguments: object) -> str:
        """The one sentence of a command that is refused."""
        code, out, err = self.run(*arguments)
        assert code == 2
        assert out == ""
        sentence = without_stages(err)
        assert sentence.count("\n") == 1
        return sentence.strip()

    def run(self, *arguments: object) -> tuple[object, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["vpw", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = self._capsys.readouterr()
        return stopped.value.code, said.out, said.err


@pytest.fixture
def vpw(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Vpw:
    monkeypatch.chdir(tmp_path)
    return Vpw(monkeypatch, capsys)
