"""What the README shows runs."""

import re
from pathlib import Path

import pytest

import visualpatchworld

README = Path(__file__).parent.parent / "README.md"


def test_python_snippets_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(snippets) >= 2
    for snippet in snippets:
        exec(compile(snippet, "README.md", "exec"), {})


def test_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from visualpatchworld.cli import main

    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^vpw (.*?)(?:  +#.*)?$", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        monkeypatch.setattr("sys.argv", ["vpw", *command.split()])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code in (0, None), capsys.readouterr().err


def test_the_program_shown_is_the_one_that_was_induced():
    text = (README.parent / "programs" / "worlds" / "Pendulum-v1" / "world_model.py").read_text(encoding="utf-8")
    assert text[text.index("from typing") :] in README.read_text(encoding="utf-8")


def test_the_picture_is_small_enough_to_load_at_once():
    shown = re.search(r"!\[.*?\]\((.*?\.png)\)", README.read_text(encoding="utf-8"))
    assert shown is not None and (README.parent / shown[1]).stat().st_size < 400_000


def test_the_citation_names_this_version_and_the_paper():
    citation = (README.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {visualpatchworld.__version__}\n" in citation
    title = re.search(r"title  = \{(.*)\}", README.read_text(encoding="utf-8"))
    assert title is not None and title[1] in citation
