"""The page of the paper: every table and every figure has its
place, computed or not, and quoted figures look quoted.
"""

import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from paper.made_results import add, add_floors, share

from visualpatchworld.paper.figures.draw import find_figures
from visualpatchworld.paper.results import NoResults
from visualpatchworld.paper.table import Column, Entry, Section, Table, as_html, quote
from visualpatchworld.paper.tables import ABOUT_WORLDS, find_tables
from visualpatchworld.report.overview import LARGEST_DRAWING, drawn, write_paper


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    add(folder, share(47, 50), solved=5)
    add_floors(folder, share(5, 50), share(10, 50), solved=5)
    return folder


def test_every_table_and_figure_has_its_place(results: Path):
    written = write_paper(results)
    assert written.path == results.parent / "report.html"
    text = written.path.read_text(encoding="utf-8")
    of_paper = [name for name in find_tables() if name not in ABOUT_WORLDS]
    for kind, names in (("table", of_paper), ("figure", find_figures())):
        for name in names:
            assert text.count(f'<section id="{kind}-{name}">') == 1
            assert f'<a href="#{kind}-{name}">' in text
    assert '<td class="num">94 <small>[84, 98]</small></td>' in text
    assert re.search(r'<td class="num quoted">87</td>', text)
    assert "LeWM (quoted)" in text


def test_what_was_not_computed_says_what_computes_it(results: Path):
    written = write_paper(results)
    text = written.path.read_text(encoding="utf-8")
    assert written.missing
    assert text.count("<small>not computed</small>") == text.count('<p class="absent">') >= len(written.missing)
    assert all("vpw " in sentence or "python benchmarks/" in sentence for sentence in written.missing)


def test_it_goes_where_it_is_asked_to_and_needs_results(results: Path, tmp_path: Path):
    assert write_paper(results, tmp_path / "all.html").path == tmp_path / "all.html"
    assert not (tmp_path / "report.html").exists()
    with pytest.raises(NoResults, match="vpw bench main"):
        write_paper(tmp_path / "nowhere")


def test_text_of_a_table_is_no_markup():
    evil = '<img src="x">'
    section = Section(evil, ((Entry(evil, evil), quote(evil, evil)),), quoted=True)
    text = as_html(
        Table(id="t", title=evil, columns=(Column(evil, words=True), Column(evil)), sections=(section,), notes=(evil,))
    )
    assert "<img" not in text
    assert text.count("&lt;img") == 9
    assert '<td class="num quoted">' in text


def test_a_figure_is_lines_until_there_are_too_many():
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1])
    assert drawn(figure).startswith("data:image/svg+xml;base64,")
    axes.scatter(range(10_000), range(10_000))
    url = drawn(figure)
    assert url.startswith("data:image/png;base64,")
    assert len(url) < 2 * LARGEST_DRAWING
