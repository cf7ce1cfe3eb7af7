"""The tables in the README and the docs, and the committed results, belong together."""

import importlib.util
import json
import re
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from paper.made_results import add, share

ROOT = Path(__file__).parent.parent
loader = SourceFileLoader("fill_tables", str(ROOT / "scripts" / "fill_tables"))
spec = importlib.util.spec_from_loader("fill_tables", loader)
assert spec is not None
fill_tables = importlib.util.module_from_spec(spec)
loader.exec_module(fill_tables)

TEXT = "Before.\n<!-- results -->\nold\n<!-- /results -->\nAfter.\n"


def test_only_what_is_between_the_markers_is_replaced():
    once = fill_tables.filled(TEXT, "results", "new\n")
    assert once == "Before.\n<!-- results -->\nnew\n<!-- /results -->\nAfter.\n"
    assert fill_tables.filled(once, "results", "new\n") == once


def test_a_page_without_markers_is_refused():
    with pytest.raises(SystemExit, match="needs one line '<!-- results -->'"):
        fill_tables.filled("No markers.\n", "results", "new\n")


def test_the_short_table_keeps_every_note(tmp_path: Path):
    add(tmp_path / "results", share(47, 50))
    table = fill_tables.make_table("main", fill_tables.read_results(tmp_path / "results"))
    text = fill_tables.short(table)
    assert "94 [84, 98]" in text and "(quoted)" in text
    assert all(f"- {note}".replace("*", r"\*") in text for note in table.notes)
    assert len(text.splitlines()) < len(fill_tables.as_markdown(table).splitlines())


def test_yardsticks_fill_the_pages_that_have_markers_for_them(tmp_path: Path):
    line = {"id": 1, "condition": "clean", "method": "vpw", "r2_same": 0.95, "r2_other": 0.5, "law_error": 0.1}
    line |= {"seconds": 2.0, "version": "1.2.3", "commit": "abc", "date": "2026-01-01"}
    (tmp_path / "results" / "odebench").mkdir(parents=True)
    (tmp_path / "results" / "odebench" / "odebench.jsonl").write_text(json.dumps(line) + "\n")
    markers = "".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in ("zoo", "odebench"))
    for page, text in {"README.md": markers, "long.md": markers, "other.md": "None.\n"}.items():
        (tmp_path / page).write_text(text)
    results = fill_tables.read_results(tmp_path / "results")
    filled = {page: fill_tables.yardsticks(tmp_path, page, results) for page in ("README.md", "long.md", "other.md")}
    assert [list(blocks) for blocks in filled.values()] == [
        ["odebench"],
        ["odebench"],
        [],
    ]  # of the zoo there is nothing
    assert "<details>" in filled["README.md"]["odebench"] and "<details>" not in filled["long.md"]["odebench"]
    assert all("| noise-free | vpw | 1 | 1 | 0 |" in filled[page]["odebench"] for page in ("README.md", "long.md"))


PAGES = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in ("benchmark", "live", "quickstart", "performance", "induction", "perception", "integrations")
    ),
)


@pytest.fixture(scope="module")
def blocks() -> dict[str, dict[str, str]]:
    """What belongs between the markers of every page; it takes a while to read all results."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return fill_tables.blocks(ROOT)


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_the_committed_results(page: str, blocks: dict[str, dict[str, str]]):
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, content in blocks[page].items():
        assert fill_tables.filled(text, name, content) == text, "run `make readme`"


def test_figures_of_speed_stand_nowhere_else():
    """Seconds per plan and steps per second are told by the filled blocks alone, so that none can grow old."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    outside = re.sub(r"<!-- ([a-z-]+) -->.*?<!-- /\1 -->", "", text, flags=re.DOTALL)
    assert not re.findall(r"\d[\d.,]* (?:steps/s|s per plan|times as)", outside)


# Limits, settings and definitions that read like measurements and are none.
SET_BY_US = {
    "quickstart.md: 2,000 times": "the most steps of an environment",
    "baselines.md: 5 times": "a published rule of search",
    "baselines.md: 3 times": "a published rule of search",
    "benchmark.md: 95 %": "the level of intervals",
    "perception.md: 15 %": "how much the light is changed in tests",
}
MEASURED = r"(?<![\w.])\d[\d.,]*\s?(?:%|ms\b|s\b|seconds|min\b|minutes|times\b|MB\b|GB\b|of \d+)"


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_measurements_stand_in_filled_blocks_alone(page: Path):
    """A figure that is typed by hand grows old: whatever was measured comes from results/ through `make readme`."""
    text = re.sub(r"<!-- ([a-z-]+) -->\n.*?<!-- /\1 -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    typed = {f"{page.name}: {found}" for found in re.findall(MEASURED, text)}
    assert typed <= set(SET_BY_US)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_tables_of_figures_are_filled(page: Path):
    """A row of figures is a measurement, whatever its unit."""
    text = re.sub(r"<!-- ([a-z-]+) -->\n.*?<!-- /\1 -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    assert not [
        row
        for row in rows
        if sum(bool(re.fullmatch(r"[-<~]?[\d.,]+(?:e[-+]\d+)?(?: [\[(].*)?", cell)) for cell in row) >= 2
    ]


def test_a_typed_figure_would_be_found():
    assert re.findall(MEASURED, "It plans in 24 ms, 98.4 % of the time, 19 of 20, for 3 s.") == [
        "24 ms",
        "98.4 %",
        "19 of 20",
        "3 s",
    ]
