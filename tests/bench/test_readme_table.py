"""The README's table and the committed results belong together."""

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from bench.made_results import add, share

ROOT = Path(__file__).parent.parent.parent
loader = SourceFileLoader("readme_table", str(ROOT / "scripts" / "readme_table"))
spec = importlib.util.spec_from_loader("readme_table", loader)
assert spec is not None
readme_table = importlib.util.module_from_spec(spec)
loader.exec_module(readme_table)

TEXT = "Before.\n<!-- results -->\nold\n<!-- /results -->\nAfter.\n"


def test_only_what_is_between_the_markers_is_replaced(tmp_path: Path):
    add(tmp_path / "results", share(47, 50))
    (tmp_path / "README.md").write_text(TEXT)
    readme_table.main(tmp_path)
    once = (tmp_path / "README.md").read_text()
    assert once.startswith("Before.\n<!-- results -->\n**Planning success**\n") and once.endswith("<!-- /results -->\nAfter.\n")
    assert "94 [84, 98]" in once and "old" not in once
    readme_table.main(tmp_path)
    assert (tmp_path / "README.md").read_text() == once


def test_a_readme_without_markers_is_left_alone(tmp_path: Path):
    add(tmp_path / "results", share(47, 50))
    (tmp_path / "README.md").write_text("No markers.\n")
    with pytest.raises(SystemExit, match="needs one line"):
        readme_table.main(tmp_path)
    assert (tmp_path / "README.md").read_text() == "No markers.\n"


def test_the_readme_has_markers():
    assert readme_table.with_table((ROOT / "README.md").read_text(encoding="utf-8"), "")


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="no results are committed")
def test_the_readme_shows_the_committed_results(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    results = readme_table.read_results(ROOT / "results")
    table = readme_table.as_markdown(readme_table.make_table("main", results))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme_table.with_table(readme, table) == readme, "run `make readme`"
