"""Files of results: whatever stops a run, nothing that was done is lost or done twice."""

import json
import math
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from visualpatchworld.errors import CannotWrite
from visualpatchworld.paper.cell import BadResults, Cell, Outcome, open_cell, read_cells

CELL = Cell(
    domain="slider", method="vpw", observe="oracle", score="induced", metric="at_goal", offset=5, budget=10, seed=1, source="toy",
    planner="", tasks="abc", n=60,
)  # fmt: skip

# Writes what is missing of the cell, slowly; `sys.argv` has the folder and how many tasks there are.
WRITER = """
import sys, time
from pathlib import Path
from paper.test_cells import CELL, outcome
from visualpatchworld.paper.cell import open_cell

with open_cell(Path(sys.argv[1]), CELL, {}) as file:
    for number in range(int(sys.argv[2])):
        if number not in file.outcomes:
            file.add(outcome(number))
            time.sleep(0.01)
"""


def outcome(number: int) -> Outcome:
    return Outcome(
        task=number, episode=number // 10, step=number, success=number % 2 == 0, solved_at_start=False, steps=3, plans=1,
        engine_rollouts=0, non_finite=0, plan_seconds=(0.5,), states=((0.1, 0.2), (0.3, 0.4)), actions=((1.0,),),
    )  # fmt: skip


def write(folder: Path, *numbers: int) -> Path:
    with open_cell(folder, CELL, {"jax": "0"}) as file:
        for number in numbers:
            file.add(outcome(number))
    return folder / CELL.file_name


def writer(folder: Path, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, str(folder), str(count)], cwd=Path(__file__).parent.parent)


def until(happened, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def test_what_is_written_is_read_back(tmp_path: Path):
    path = write(tmp_path, 0, 1, 2)
    assert read_cells(tmp_path) == [(CELL, [outcome(0), outcome(1), outcome(2)])]
    row = json.loads(path.read_text().splitlines()[0])
    assert (row["cell"]["seed"], row["versions"]) == (1, {"jax": "0"})


def test_unequal_cells_never_share_a_file():
    others = [
        replace(CELL, seed=2), replace(CELL, program="other"), replace(CELL, tasks="abd"), replace(CELL, vary={"drag": "1"}),
        replace(CELL, planner="other"), replace(CELL, metric="other"), replace(CELL, budget=11), replace(CELL, n=61),
    ]  # fmt: skip
    assert len({cell.file_name for cell in [CELL, *others]}) == 1 + len(others)


@pytest.mark.parametrize("cut", [1, 20, "line"])
def test_an_unfinished_last_line_is_done_again(tmp_path: Path, cut: int | str):
    path = write(tmp_path, 0, 1, 2)
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    path.write_bytes(whole[: -(last - 1 if cut == "line" else int(cut))])
    assert [row.task for row in read_cells(tmp_path)[0][1]] == [0, 1]
    with open_cell(tmp_path, CELL, {"jax": "0"}) as file:
        assert set(file.outcomes) == {0, 1}
        file.add(outcome(2))
    assert path.read_bytes() == whole


def test_a_killed_writer_loses_and_doubles_nothing(tmp_path: Path):
    path = tmp_path / CELL.file_name
    first = writer(tmp_path, 60)
    until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 5)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    done = path.read_bytes()
    assert 5 <= done.count(b"\n") < 60
    assert writer(tmp_path, 60).wait() == 0
    assert path.read_bytes().startswith(done)
    assert read_cells(tmp_path)[0][1] == [outcome(number) for number in range(60)]


def test_a_second_writer_waits_and_finds_the_work_done(tmp_path: Path):
    entered, found = threading.Event(), []

    def second() -> None:
        with open_cell(tmp_path, CELL, {}) as file:
            found.append(sorted(file.outcomes))
            entered.set()

    with open_cell(tmp_path, CELL, {}) as file:
        file.add(outcome(0))
        waiting = threading.Thread(target=second)
        waiting.start()
        assert not entered.wait(0.2)
        file.add(outcome(1))
    waiting.join(10)
    assert found == [[0, 1]]


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="Could not write results to"), open_cell(tmp_path / "file", CELL, {}):
        pass


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path):
    path = write(tmp_path, 0, 1)
    whole = path.read_bytes()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_cell(tmp_path, CELL, {"jax": "0"}) as file:
        # As on a full disk, the next line is written in part before there is no room.
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, usual[1]))
        try:
            with pytest.raises(CannotWrite, match="Could not write results to"):
                file.add(outcome(2))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert path.read_bytes() == whole
        assert set(file.outcomes) == {0, 1}
        file.add(outcome(2))
    assert [row.task for row in read_cells(tmp_path)[0][1]] == [0, 1, 2]


def damaged(line: str, **changes: object) -> str:
    row = json.loads(line)
    row["outcome"] |= changes
    return json.dumps(row)


DAMAGE = {
    "half": (lambda line: line[:80], "it is not JSON"),
    "deep": (lambda line: "[" * 50_000, "it is not JSON"),
    "text for a number": (lambda line: damaged(line, task="1"), "outcome.task: input should be a valid integer"),
    "not finite": (
        lambda line: damaged(line, plan_seconds=[math.nan]),
        "outcome.plan_seconds.0: input should be a finite number",
    ),
    "negative": (lambda line: damaged(line, steps=-1), "outcome.steps"),
    "a field too many": (lambda line: damaged(line, more=1), "outcome.more"),
    "twice": (lambda line: damaged(line, task=0), "task 0 is in line 1 already"),
    "another cell": (lambda line: line.replace('"seed": 1', '"seed": 2'), "it is of another cell than the first line"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_line_is_named_by_its_number(name: str, tmp_path: Path):
    damage, reason = DAMAGE[name]
    path = write(tmp_path, 0, 1, 2)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], damage(lines[1]), lines[2]]) + "\n")
    before = path.read_bytes()
    with pytest.raises(BadResults) as told:
        read_cells(tmp_path)
    assert f"'{path}', line 2, is not a result" in str(told.value) and reason in str(told.value)
    assert "delete that line" in str(told.value)
    with pytest.raises(BadResults, match="line 2"), open_cell(tmp_path, CELL, {}):
        pass
    assert path.read_bytes() == before


def test_numbers_that_are_not_finite_are_kept_as_null(tmp_path: Path):
    with open_cell(tmp_path, CELL, {}) as file:
        file.add(replace(outcome(0), states=((math.nan, 1.0),)))
    assert read_cells(tmp_path)[0][1][0].states == ((None, 1.0),)
