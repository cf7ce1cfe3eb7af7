"""A damaged line in the middle of a results file is one sentence with its number, whoever reads it."""

import json
from pathlib import Path

import pytest
from cli.conftest import Vpw
from paper.made_results import add, add_floors
from report.made_run import make_run
from toy_program import RIGHT


def damage(folder: Path, pattern: str = "*.jsonl") -> Path:
    """The second line of a file of results loses its end."""
    path = sorted(folder.glob(pattern))[0]
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], f"{lines[1][:90]}\n", *lines[2:]]))
    return path


@pytest.mark.parametrize(
    "arguments", [("table", "main"), ("figure", "success"), ("report", "--paper")], ids=lambda words: words[0]
)
def test_tables_figures_and_the_paper_tell_the_line(arguments: tuple[str, ...], vpw: Vpw):
    add(Path("results"), [True, False, True])
    add_floors(Path("results"), [False] * 3, [False] * 3)
    path = damage(Path("results"))
    told = vpw.refused(*arguments, "--results", "results")
    assert f"'{path}', line 2, is not a result" in told and "delete that line" in told
    assert not list(Path().glob("*.html")) + list(Path().glob("*.png"))


def test_a_page_of_a_run_tells_the_line_in_place_of_what_is_missing(vpw: Vpw):
    damage(make_run(Path("run")) / "results")
    missing = json.loads(vpw("report", "run", "--json"))["missing"]
    assert any("line 2, is not a result" in sentence for sentence in missing)


def test_plan_and_bench_tell_the_line_and_go_on_without_it(vpw: Vpw):
    program = Path("out/programs/slider/world_model.py")
    program.parent.mkdir(parents=True)
    program.write_text(RIGHT.text)
    Path("out/traces").mkdir()
    vpw("collect", "slider", "--episodes", 10, "--out", "out/traces/slider.h5")
    plan = ("plan", "slider", "--program", program, "--traces", "out/traces/slider.h5", "--seed", 42, "--episodes", 3)
    options = ("--results", "out/results", "--json")
    for score in ("induced", "hybrid"):
        vpw(*plan, "--score", score, *options)
    path = damage(Path("out/results"), "*-vpw-oracle-induced-*.jsonl")
    assert f"'{path}', line 2" in vpw.refused(*plan, *options)
    assert f"'{path}', line 2" in vpw.refused("bench", "smoke", "--domain", "slider", "--out", "out", "--json")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:]]))
    assert json.loads(vpw(*plan, *options))["n"] == 3
    assert sorted(json.loads(line)["outcome"]["task"] for line in path.read_text().splitlines()) == [0, 1, 2]
