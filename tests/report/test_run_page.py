"""The page of a run: what it says follows from the folder, what
is missing is said, and nothing of a file becomes markup.
"""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from paper.made_results import add
from report.made_run import TEXT, induction, make_run

from visualpatchworld.errors import UnknownName
from visualpatchworld.paper.cell import BadResults
from visualpatchworld.report import run_page
from visualpatchworld.report.run import NoRun
from visualpatchworld.report.run_page import write_report

EVIL = "<script>alert('x')</script>"


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text by section."""

    def __init__(self, path: Path):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.sections: dict[str, str] = {"": ""}
        self._section = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "section":
            self._section = dict(attrs)["id"] or ""
            self.sections[self._section] = ""

    def handle_endtag(self, tag):
        if tag == "section":
            self._section = ""

    def handle_data(self, data):
        self.sections[self._section] += data

    def said(self, section: str) -> str:
        return re.sub(r"\s+", " ", self.sections[section])

    def titles(self, kind: str) -> list[str]:
        """The titles of all marks of one kind."""
        return [
            attributes["title"] or ""
            for _, attributes in self.tags
            if attributes.get("class") == f"mark {kind}" and "title" in attributes
        ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "made")


def page(folder: Path) -> Page:
    return Page(write_report(folder).path)


def test_the_headline_says_what_was_found(folder: Path):
    said = page(folder).said("")
    for needed in ("chose push+drag among 3 forms", "explains 3 of 3 experiments", "2 constants", "solves 83.3 % of 6 " "tasks",
                   "without a single call of the engine", "95 % interval 43.6 to 97 %", "16.7 / 33.3 %"):  # fmt: skip
        assert needed in said
    assert write_report(folder).missing == ()


def test_every_verdict_is_a_mark_and_rivals_are_named_with_what_refutes_them(folder: Path):
    made = page(folder)
    said = made.said("evidence")
    assert "push+free: refuted by 'push 1': puck_m off by 0.25, 0.001 allowed" in said
    assert "1 more form did not have to be tried" in said and "speed+free: 'speed' already failed every probe" in said
    right, wrong = made.titles("good"), made.titles("bad")
    assert [title for title in right if title.startswith("push")] == [f"push {i}: puck_m 0" for i in (0, 1, 2, 0)]
    assert [title for title in wrong if title.startswith("push")] == ["push 1: puck_m 0.25", "push 2: puck_m 0.25"]


def test_every_task_is_a_mark_with_the_floors_below(folder: Path):
    made = page(folder)
    tasks = [[title for title in made.titles(kind) if title.startswith("task")] for kind in ("good", "bad", "start")]
    assert [len(titles) for titles in tasks] == [4 + 1, 1 + 5 + 4, 3]
    assert "task 3: not solved within 1 step" in tasks[1]
    assert "Of the 5 tasks that are not solved at their start, 80 % are solved." in made.said("success")


def test_program_constants_and_warnings(folder: Path):
    said = page(folder).said("program")
    assert "PUCK_PUSH 3 2e-08 m/s^2 acceleration at full action".replace(" ", "") in said.replace(" ", "")
    assert "do not determine" not in said
    assert " ".join(TEXT.split()) in said
    (folder / "induction.json").write_text(json.dumps(induction(undetermined=["DRAG"])))
    assert "The data do not determine DRAG" in page(folder).said("program")


def test_foresight_shows_errors_and_one_stretch_beside_the_truth(folder: Path):
    made = page(folder)
    labels = [attributes["aria-label"] or "" for tag, attributes in made.tags if attributes.get("class") == "chart"]
    assert labels[0] == "error of puck_m: mean ends at 1e-05; median ends at 1e-06."
    ends = [
        re.fullmatch(r"(puck_\w+) \(.+\): truth ends at (\S+); predicted ends at (\S+)\.", label)
        for label in labels[1:]
    ]
    assert [end[1] for end in ends if end] == ["puck_x", "puck_vx"]
    # It is the toy's own law.
    assert all(end and float(end[2]) == pytest.approx(float(end[3]), rel=0.02, abs=1e-6) for end in ends)


def test_timings_and_where_it_comes_from(folder: Path):
    made = page(folder)
    for needed in ("collect500 ms", "probe4 s", "fit8 s", "plan1.2 s"):
        assert needed in made.said("timings")
    said = made.said("provenance")
    assert "constants variednone" in said and "edited sinceno" in said
    assert "vpw run slider --out made --episodes 5 --tasks 6 --seed 7" in said
    settings = induction()["settings"] | {"constants": {"push": 3.0, "drag": 1.4, "radius": 0.2}}
    (folder / "induction.json").write_text(json.dumps(induction(settings=settings)))
    assert "--seed 7 --vary drag=1.4" in page(folder).said("provenance")


def test_an_edited_program_is_said_to_be_edited(folder: Path):
    program = folder / "world_model.py"
    program.write_text(TEXT.replace("DRAG = 0.7", "DRAG = 0.9"))
    made = page(folder)
    assert "edited after it was induced" in made.said("") and "edited sinceyes" in made.said("provenance")
    assert "measured with another version of the program" in made.said("success")
    assert "success and films are not about it as it stands" in made.said("")
    shutil.rmtree(folder / "results")
    assert "success and films" not in page(folder).said("")


@pytest.mark.parametrize(
    ("lost", "section", "sentence"),
    [
        ("results", "success", "No plan has been measured yet; vpw plan slider"),
        ("world_model.py", "program", "There is no world_model.py; vpw run slider --out made writes it."),
        ("episodes.h5", "foresight", "There is no episodes.h5"),
        ("induction.json", "evidence", "There is no induction.json"),
        ("timings.json", "timings", "probe and fit12.5 s"),
    ],
)
def test_half_a_run_says_what_is_missing(folder: Path, lost: str, section: str, sentence: str):
    gone = folder / lost
    gone.rename(folder.parent / lost)
    made = page(folder)
    assert sentence in made.said(section)
    assert [name for name in made.sections if name] == [
        "scene",
        "evidence",
        "program",
        "foresight",
        "success",
        "timings",
        "provenance",
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"domain": "slider"}', "\udcff"])
def test_a_damaged_record_is_told_and_the_rest_is_shown(folder: Path, text: str):
    (folder / "induction.json").write_text(text, errors="surrogateescape")
    made = page(folder)
    assert "induction.json" in made.said("evidence")
    assert "83.3" in made.said("success")


@pytest.mark.parametrize("text", ["no program", "while True: pass", "", "import os\n" + TEXT])
def test_a_program_that_does_not_run_is_shown_and_told(folder: Path, text: str):
    (folder / "world_model.py").write_text(text)
    made = page(folder)
    assert " ".join(text.split()) in made.said("program")
    assert "world_model.py:" in made.said("foresight")


def test_results_that_are_no_plan_of_this_program(folder: Path):
    shutil.rmtree(folder / "results")
    add(folder / "results", [True], method="engine", score="simulator", program="")
    assert "No plan has been measured yet" in page(folder).said("success")
    (folder / "results" / "broken.jsonl").write_text('{"cell": 1}\n')
    made = page(folder)
    assert "broken.jsonl" in made.said("success")
    assert "push+free" in made.said("evidence")


def test_films_of_failed_tasks_come_first_and_stay_when_there_are_too_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    films = folder / "films"
    films.mkdir()
    for task in (1, 2, 3):
        (films / f"slider-vpw-oracle-induced-42-task{task:02d}.mp4").write_bytes(b"film" * 100)
    (films / "slider-vpw-tool-induced-42-task03.mp4").write_bytes(b"of another condition")
    assert re.findall(r"task (\d): goal", page(folder).said("success")) == ["3", "1", "2"]
    monkeypatch.setattr(run_page, "MOST_CHARACTERS", 1500)
    said = page(folder).said("success")
    assert re.findall(r"task (\d): goal", said) == ["3", "1"]
    assert "slider-vpw-oracle-induced-42-task02.mp4" in said


def test_nothing_of_a_file_becomes_markup(folder: Path):
    made = induction(unexplained_probes=[EVIL])
    made["candidates"][0]["sketch"] = made["sketch"] = EVIL
    made["candidates"][2]["set_aside"] = EVIL
    made["candidates"][1]["verdicts"][1]["probe"] = f'"{EVIL}'
    made["constants"][EVIL] = {"value": 1.0, "stderr": 1.0, "unit": EVIL}
    made["undetermined"] = [EVIL]
    made["rollout_error"][EVIL] = made["rollout_error"]["puck_m"]
    (folder / "induction.json").write_text(json.dumps(made))
    (folder / "world_model.py").write_text(f"# {EVIL} </code></pre>\n{TEXT}")
    made = page(folder)
    assert not [tag for tag, _ in made.tags if tag == "script"]
    assert EVIL in made.said("program") and EVIL in made.said("evidence")


def test_values_that_are_not_finite_do_not_stop_the_page(folder: Path):
    made = induction()
    made["rollout_error"]["puck_m"]["10"] = {"mean": float("inf"), "median": float("nan"), "p90": float("inf")}
    made["candidates"][1]["verdicts"][1]["errors"] = {"puck_m": float("nan")}
    (folder / "induction.json").write_text(json.dumps(made))
    said = page(folder).said("evidence")
    assert "puck_m off by inf" in said


def test_a_page_loads_nothing(folder: Path):
    path = write_report(folder).path
    text = path.read_text(encoding="utf-8")
    for tag, attributes in Page(path).tags:
        for name in ("src", "href", "poster", "action", "data", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith(("data:", "#")), (tag, name)
    assert not re.search(r"url\(|@import|https?://", text)
    assert path.stat().st_size < 15_000_000


def test_the_same_run_makes_the_same_page(folder: Path):
    first = write_report(folder).path.read_bytes()
    assert write_report(folder).path.read_bytes() == first
    assert not list(folder.glob(".*"))


def test_no_run_is_refused(tmp_path: Path):
    with pytest.raises(NoRun, match="There is no folder"):
        write_report(tmp_path / "nowhere")
    with pytest.raises(NoRun, match="holds no run"):
        write_report(tmp_path)
    (tmp_path / "induction.json").write_text(json.dumps(induction(domain="slidr")))
    with pytest.raises(UnknownName, match="Did you mean 'slider'"):
        write_report(tmp_path)
    (tmp_path / "induction.json").unlink()
    (tmp_path / "broken.jsonl").write_text('{"cell": 1}\n')
    with pytest.raises(BadResults, match="broken"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
