"""`vpw analyse` as people and scripts use it."""

import json
from pathlib import Path

import numpy as np
from cli.conftest import Vpw
from toy_program import OBEYS, RIGHT

from visualpatchworld.paper.results import read_results


def test_a_program_is_measured_and_kept_among_the_results(vpw: Vpw, toy_file: Path):
    Path("world_model.py").write_text(RIGHT.text)
    said = json.loads(
        vpw(
            "analyse",
            "rollout",
            "slider",
            "--program",
            "world_model.py",
            "--traces",
            toy_file,
            "--results",
            "b",
            "--json",
        )
    )
    assert said["files"] == ["b/results/exhibits/rollout-toy-vpw.json"]
    (analysis,) = read_results(Path("b")).analyses
    assert (analysis.program, analysis.method, analysis.source) == (RIGHT.hash, "vpw", "toy")
    assert "rollout-toy-vpw.json" in vpw(
        "analyse", "rollout", "slider", "--program", "world_model.py", "--traces", toy_file, "--results", "b"
    )


def test_every_program_of_a_benchmark_is_measured_and_a_models_in_the_sandbox(vpw: Vpw, toy_file: Path):
    for folder, text in {
        "toy": RIGHT.text,
        "worldcoder-slider": f"import os\n{OBEYS.text}",
        "poe-world-slider": OBEYS.text,
    }.items():
        (Path("b/programs") / folder).mkdir(parents=True)
        (Path("b/programs") / folder / "world_model.py").write_text(text)
    record = {
        "model": "small",
        "budget": {"calls": 8, "tokens": None},
        "chosen": 0,
        "candidates": [{"program": OBEYS.text}],
    }
    Path("b/programs/poe-world-slider/search.json").write_text(json.dumps(record))
    # The sandbox screens it.
    assert "import" in vpw.refused("analyse", "motion", "slider", "--traces", toy_file, "--results", "b")
    Path("b/programs/worldcoder-slider/world_model.py").unlink()
    said = json.loads(vpw("analyse", "motion", "slider", "--traces", toy_file, "--results", "b", "--json"))
    assert said["methods"] == ["vpw", "poe-world"]
    assert {analysis.method: analysis.written_by for analysis in read_results(Path("b")).analyses} == {
        "vpw": "",
        "poe-world": "small, 8 calls",
    }


def test_an_audit_needs_no_program_and_episodes_are_collected_where_there_are_none(vpw: Vpw):
    said = json.loads(vpw("analyse", "audit", "slider", "--results", "b", "--frames", 4, "--json"))
    assert said["methods"] == ["tool"]
    (analysis,) = read_results(Path("b")).analyses
    assert analysis.data["frames"] == 4 and analysis.source == "slider"
    assert np.shape(next(iter(analysis.pictures.values()))) == (224, 224, 3)


def test_what_is_wrong_is_one_sentence(vpw: Vpw, toy_file: Path):
    assert vpw.refused("analyse", "rolout", "slider").endswith("Did you mean 'rollout'?")
    assert "give --program FILE.py" in vpw.refused("analyse", "rollout", "slider", "--traces", toy_file)
    assert "Cannot read the program" in vpw.refused(
        "analyse", "rollout", "slider", "--traces", toy_file, "--program", "none.py"
    )
    Path("broken.py").write_text("def step(state):\n")
    assert "broken.py:1" in vpw.refused("analyse", "rollout", "slider", "--traces", toy_file, "--program", "broken.py")
    assert not Path("runs").exists()
