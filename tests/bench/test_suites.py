"""Suites and the processes that compute them."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from visualpatchworld.bench.jobs import run_job, run_jobs
from visualpatchworld.bench.suite import SUITES, Job, Source, find_suite, jobs
from visualpatchworld.errors import UnknownName, WorkerFailed

SOURCES = [Source(name, Path(f"{name}.h5"), Path(f"{name}/world_model.py")) for name in ("one", "two")]


@dataclass(frozen=True)
class Scripted(Job):
    """A job whose command is given."""

    code: str = ""

    def command(self, results: Path) -> list[str]:
        return [sys.executable, "-S", "-c", self.code]


def scripted(observe: str, code: str) -> Scripted:
    return Scripted(SOURCES[0], observe, "induced", 42, 1, code)


@pytest.mark.parametrize(("suite", "seeds", "tasks"), [("main", [42], 50), ("multiseed", [42, 43, 44, 45, 46], 50), ("smoke", [42], 3)])
def test_suites_are_the_protocol_s(suite: str, seeds: list[int], tasks: int):
    made = jobs(find_suite(suite), SOURCES)
    assert len(made) == len(set(made)) == len(seeds) * len(SUITES[suite].conditions) * len(SOURCES)
    assert sorted({job.seed for job in made}) == seeds
    assert {job.tasks for job in made} == {tasks}


def test_all_conditions_of_the_protocol_are_in_the_main_suite():
    wanted = {("oracle", "induced"), ("oracle", "hybrid"), ("oracle", "simulator"), ("tool", "induced"), ("tool", "hybrid")}
    assert set(find_suite("main").conditions) == wanted


def test_an_unknown_suite_gets_a_sentence():
    with pytest.raises(UnknownName, match=r"No suite 'mian'.*Did you mean 'main'"):
        find_suite("mian")


def test_reports_come_back_and_what_was_said_is_kept(tmp_path: Path):
    code = "import sys; print('warned', file=sys.stderr); print('{\"n\": 1}')"
    rows = list(run_jobs([scripted("oracle", code), scripted("tool", code)], tmp_path, tmp_path, workers=2))
    assert rows == [{"n": 1}, {"n": 1}]
    assert [path.read_text() for path in tmp_path.glob("*.log")] == ["warned\n", "warned\n"]


def test_a_job_that_fails_says_why_and_leaves_the_others_be(tmp_path: Path):
    marker = tmp_path / "done"
    good = scripted("tool", f"import time; time.sleep(0.3); open({str(marker)!r}, 'w').close(); print('{{}}')")
    bad = scripted("oracle", "import sys; sys.exit('No program there.')")
    with pytest.raises(WorkerFailed, match=r"'one \(one\) oracle \+ induced, seed 42' failed: No program there\. \(see .*\.log\)"):
        list(run_jobs([bad, good], tmp_path, tmp_path, workers=2))
    assert marker.exists()


def test_a_job_that_dies_silently_is_told_too(tmp_path: Path):
    with pytest.raises(WorkerFailed, match="it said nothing"):
        run_job([sys.executable, "-S", "-c", "import os; os._exit(3)"], tmp_path, "quiet")


def test_a_job_is_a_command_for_this_python(tmp_path: Path):
    job = jobs(find_suite("smoke"), SOURCES)[0]
    command = job.command(tmp_path)
    assert command[:5] == [sys.executable, "-m", "visualpatchworld", "plan", "one"]
    assert command[-1] == "--json"
    assert json.dumps(command)


def wanted(suite: str, domain: str) -> list[Source]:
    return list(find_suite(suite).sources(Source(domain, Path("tasks.h5"), Path("programs/tasks/world_model.py"))))


def test_an_ablation_fits_the_extra_sketches_of_a_domain():
    assert wanted("ablation", "slider") == []
    sources = wanted("ablation", "pusht")
    assert [source.sketch for source in sources] == [None, "linear", "collision-gated"]
    assert sources[1].program == Path("programs/tasks-linear/world_model.py")
    assert sources[1].induction()[-5:] == ["--sketch", "linear", "--out", "programs/tasks-linear", "--json"]
    made = jobs(find_suite("ablation"), sources)
    assert [job.command(Path())[-3:-1] for job in made] == [["--results", "."], ["--method", "linear"], ["--method", "collision-gated"]]
    assert len({job.title for job in made}) == 3


def test_metrics_are_measured_where_the_paper_tells_them_apart():
    assert wanted("metrics", "slider") == wanted("metrics", "pusht") == []
    made = jobs(find_suite("metrics"), wanted("metrics", "reacher"))
    assert len(made) == len({job.title for job in made}) == 5 * 4
    assert {job.options for job in made} == {
        (*metric, *horizon) for metric in (("--metric", "finger_match"), ("--metric", "qpos_match")) for horizon in ((), ("--horizon", "5"))
    }
