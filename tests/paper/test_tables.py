"""Tables from results made by hand: what they must say is known."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from paper.made_results import add, add_analysis, add_floors, share
from report import made_run

from visualpatchworld.domain import load_domain
from visualpatchworld.errors import UnknownName, VpwError
from visualpatchworld.paper.cell import NO_PROGRAM
from visualpatchworld.paper.results import read_results
from visualpatchworld.paper.table import FORMATS, Table, as_text
from visualpatchworld.paper.tables import find_tables, make_table

IDS = [
    "main", "envs", "cases", "hybrid-cost", "induction", "ablation", "sim-assist", "perception", "landscape", "cube-ladder",
    "reacher-metrics", "two-room-landscape", "multiseed",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """47 of 50 slider tasks, 5 of them solved at their start; floors of 5 and 10."""
    results = tmp_path / "results"
    add(results, share(47, 50), solved=5)
    add_floors(results, share(5, 50), share(10, 50), solved=5)
    return results


def made(name: str, folder: Path) -> Table:
    return make_table(name, read_results(folder))


def row(table: Table, label: str, section: int = 0) -> dict[str, tuple[str, str]]:
    """A row by its label: text and detail by heading."""
    entries = next(entries for entries in table.sections[section].rows if entries[0].text == label)
    return {column.heading: (entry.text, entry.detail) for column, entry in zip(table.columns, entries, strict=True)}


def told(table: Table) -> str:
    return "\n".join(table.notes)


def test_a_score_has_all_that_is_needed_to_judge_it(folder: Path):
    table = made("main", folder)
    assert row(table, "Oracle+Induced")["Slider"] == ("94", "[84, 98]")  # Wilson: 83.8 to 97.9
    assert row(table, "Oracle+Induced", section=1)["Slider"] == ("93.3", "")  # 42 of 45
    assert row(table, "Floor: zero actions")["Slider"] == ("10", "")
    assert row(table, "Floor: random actions")["Slider"] == ("20", "")
    note = next(note for note in table.notes if note.startswith("Slider:"))
    for fact in (
        "at_goal within 50 steps",
        "n = 50",
        "seed 42",
        "45 not solved",
        "zero floor 10",
        "random floor 20",
        "program aaa",
    ):
        assert fact in note
    record = table.measured[0]
    assert (record["success"], record["ci95"], record["n_unsolved"], record["floor_zero"]) == (94, (83.8, 97.9), 45, 10)


def test_what_is_missing_is_a_dash_and_a_command(folder: Path, monkeypatch: pytest.MonkeyPatch):
    assert "`vpw bench main --out DIR`" in told(made("main", folder))  # a table names no place of one machine
    monkeypatch.chdir(folder.parent.parent)
    folder = folder.relative_to(Path.cwd())
    table = made("main", folder)
    assert row(table, "Tool+Hybrid")["Slider"] == ("-", "")
    assert row(table, "Oracle+Induced")["mean"] == ("-", "")
    assert f"`vpw bench main --out {folder.parent}`" in told(table)


def test_quoted_figures_are_marked_and_apart(folder: Path):
    for name in IDS:
        table = made(name, folder)
        assert "not measured here" in told(table)
        for section in table.sections:
            assert section.title.startswith("Quoted") == section.quoted
            for entries in section.rows:
                for column, entry in zip(table.columns[1:], entries[1:], strict=True):
                    assert entry.quoted == (section.quoted or "(quoted)" in column.heading)
        assert all(record["domain"] == "slider" for record in table.measured)
    paper = made("main", folder)
    quoted = [section for section in paper.sections if section.quoted]
    assert [section.title for section in quoted if "LeWM Fig. 6" in section.title]
    lewm = next(row for section in quoted for row in section.rows if row[0].text == "LeWM")
    assert [entry.text for entry in lewm] == ["LeWM", "87", "86", "96", "74", "-", "85.8"]


def test_means_never_mix_measured_with_quoted_nor_two_sources(folder: Path):
    scores = {"tworoom": 50, "reacher": 40, "pusht": 30, "cube": 20}
    for domain, successes in scores.items():
        add(folder, share(successes, 50), domain=domain)
    add(folder, share(50, 50), domain="pusht", source="pusht_demos")
    table = made("main", folder)
    assert [column.heading for column in table.columns] == [
        "method", "Two-room", "Reacher", "PushT", "PushT demos", "Cube", "Slider", "mean",
    ]  # fmt: skip
    ours = row(table, "Oracle+Induced")
    assert (ours["PushT"][0], ours["PushT demos"][0], ours["mean"][0]) == ("60", "100", "70.0")
    add(folder, share(20, 49), domain="cube", n=50)
    assert row(made("main", folder), "Oracle+Induced")["mean"] == ("-", "")  # an unfinished cell has no part in it
    assert "one source of tasks per domain: Two-room, Reacher, PushT, Cube." in told(table)
    assert "--traces pusht=pusht_demos.h5" in told(table)
    paper = row(table, "VPW Oracle+Induced", section=2)
    assert (paper["PushT"][0], paper["PushT demos"][0], paper["mean"][0]) == ("22", "", "69.0")


def test_of_two_programs_the_one_with_most_outcomes_counts_and_that_is_said(folder: Path):
    add(folder, share(1, 3), program="bbb")
    table = made("main", folder)
    assert row(table, "Oracle+Induced")["Slider"][0] == "94"
    assert "measured more than once (program aaa, n = 50, 50 steps; program bbb, n = 3, 50 steps)" in told(table)


def test_of_two_equal_programs_the_newest_counts(folder: Path):
    newer = add(folder, share(25, 50), program="bbb")
    os.utime(folder / newer.file_name, (2e9, 2e9))
    assert row(made("main", folder), "Oracle+Induced")["Slider"][0] == "50"
    os.utime(folder / newer.file_name, (1e9, 1e9))
    assert row(made("main", folder), "Oracle+Induced")["Slider"][0] == "94"


def test_other_worlds_offsets_metrics_and_planners_do_not_count(tmp_path: Path):
    folder = tmp_path / "results"
    changes: list[dict[str, Any]] = [
        {"vary": {"drag": "0"}},
        {"offset": 10},
        {"metric": "other"},
        {"planner": "another one"},
        {"seed": 7},
    ]
    for change in changes:
        add(folder, share(50, 50), **change)
    table = made("main", folder)
    assert row(table, "Oracle+Induced")["Slider"] == ("-", "")
    assert "measured with another planner (another one)" in told(table)


def test_floors_are_of_the_very_tasks_that_were_done(tmp_path: Path):
    folder = tmp_path / "results"
    add(folder, share(10, 20), n=50)
    add_floors(folder, share(5, 50), share(10, 50))
    add_floors(folder, share(50, 50), share(50, 50), tasks="others")
    table = made("main", folder)
    assert row(table, "Oracle+Induced")["Slider"][0] == "50~"
    assert "~ stands for 20 of 50 tasks so far" in told(table)
    assert (row(table, "Floor: zero actions")["Slider"][0], row(table, "Floor: random actions")["Slider"][0]) == (
        "25",
        "50",
    )
    assert table.measured[0]["n"] == 20


def test_a_floor_that_was_not_measured_is_not_made_up(tmp_path: Path):
    add(tmp_path, share(10, 20))
    table = made("main", tmp_path)
    assert row(table, "Floor: zero actions")["Slider"][0] == "-"
    assert "zero floor not measured" in told(table)


def test_measured_baselines_appear_with_a_star_where_no_program_loads(folder: Path):
    assert not any(
        "WorldCoder" in entries[0].text for section in made("main", folder).sections[:2] for entries in section.rows
    )
    add(folder, share(0, 50), solved=5, method="worldcoder", program=NO_PROGRAM, written_by="small, 8 calls")
    add(folder, share(25, 50), solved=5, method="poe-world", program="ccc", written_by="small, 8 calls")
    table = made("main", folder)
    assert [section.title for section in table.sections[2:4]] == [
        "Measured with small, 8 calls",
        "Measured with small, 8 calls, only tasks not solved at their start",
    ]
    assert row(table, "WorldCoder", section=2)["Slider"][0] == row(table, "WorldCoder", section=3)["Slider"][0] == "0*"
    assert row(table, "PoE-World", section=2)["Slider"] == ("50", "[37, 63]")
    assert row(table, "PoE-World", section=3)["Slider"][0] == "44.4"  # 20 of 45
    assert "A star marks" in told(table)
    assert {record["method"]: record["written_by"] for record in table.measured} == {
        "vpw": "", "worldcoder": "small, 8 calls", "poe-world": "small, 8 calls",
    }  # fmt: skip
    assert "`vpw bench baselines --out DIR --endpoint URL --model NAME`" in told(table)  # other domains lack theirs


def test_what_different_models_wrote_is_never_mixed(folder: Path):
    for label, successes in (("small, 8 calls", 5), ("large, 50 calls", 40), ("", 1)):
        add(folder, share(successes, 50), method="worldcoder", program="ccc", written_by=label)
    table = made("main", folder)
    told_by_title = {
        section.title: section.rows for section in table.sections if section.title.startswith("Measured with")
    }
    shown = {title: rows[0][-2].text for title, rows in told_by_title.items() if "only tasks" not in title}
    assert shown == {
        "Measured with a model that was not recorded": "2",
        "Measured with large, 50 calls": "80",
        "Measured with small, 8 calls": "10",
    }
    assert all(len(rows) == 1 for rows in told_by_title.values())
    assert row(table, "Oracle+Induced")["Slider"][0] == "94"


def test_seeds_are_pooled(folder: Path):
    for seed, successes in {43: 45, 44: 49, 45: 47, 46: 47}.items():
        add(folder, share(successes, 50), seed=seed)
        add_floors(folder, share(0, 50), share(10, 50), seed=seed)
    table = made("multiseed", folder)
    ours = row(table, "Slider")
    # 94, 90, 98, 94, 94; Wilson of 235 in 250: 90.3 to 96.3.
    assert (ours["mean"][0], ours["SD"][0], ours["pooled 95 %"][0]) == ("94", "2.8", "[90, 96]")
    assert (ours["zero"][0], ours["random"][0], ours["n"][0]) == ("2", "20", "250")
    assert table.measured[0]["seeds"] == [42, 43, 44, 45, 46]
    paper = row(table, load_domain("tworoom").title)
    assert (paper["mean"][0], paper["paper (quoted)"]) == ("-", ("94.8 +- 2.3", "[91, 97]"))


def test_seeds_of_two_programs_are_not_pooled(folder: Path):
    add(folder, share(0, 50), seed=43, program="bbb")
    add(folder, share(0, 50), seed=44, program="bbb")
    table = made("multiseed", folder)
    assert (row(table, "Slider")["mean"][0], row(table, "Slider")["n"][0]) == ("0", "100")
    assert "only seeds 43, 44 so far" in told(table)


def test_hybrid_cost_counts_engine_rollouts(folder: Path):
    add(folder, share(50, 50), score="hybrid")
    rows = next(section for section in made("hybrid-cost", folder).sections if section.title == "Slider").rows
    assert [entries[4].text for entries in rows] == ["0", "30", "-"]


def test_landscape_is_induced_over_engine(folder: Path):
    add(folder, share(50, 50), method="engine", score="simulator", program="")
    ours = row(made("landscape", folder), "Slider")
    assert (ours["engine"][0], ours["induced"][0], ours["ratio"][0]) == ("100", "94", "0.94")
    assert "CEM 50 x 4" in ours["planner"][0]


def test_metrics_tell_metric_and_planner_apart(tmp_path: Path):
    folder = tmp_path / "results"
    add(folder, share(50, 50), domain="reacher")
    add(folder, share(20, 50), domain="reacher", metric="qpos_match")
    add(folder, share(10, 50), domain="reacher", planner="CEM 300 x 10, 5 steps ahead, 5 executed")
    table = made("reacher-metrics", folder)
    frame, coarse = row(table, "Oracle+Induced", section=0), row(table, "Oracle+Induced", section=1)
    assert (frame["finger_match"][0], frame["qpos_match"][0]) == ("100", "40")
    assert (coarse["finger_match"][0], coarse["qpos_match"][0]) == ("20", "-")
    assert row(table, "Oracle+Induced", section=2)["qpos_match"][0] == "8"


def induction(folder: Path, name: str, **fields) -> None:
    path = folder.parent / "programs" / name / "induction.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(made_run.induction(**fields)))


def test_induction_names_the_form_of_the_very_program_that_was_measured(folder: Path):
    candidate = {"sketch": "push+drag", "explained": 6, "probes": 6, "constants": {}, "set_aside": None, "verdicts": []}
    for name, fingerprint, sketch in (("a", "bbb", "speed+free"), ("b", "aaa", "push+drag")):
        induction(
            folder,
            name,
            domain="slider",
            sketch=sketch,
            program_hash=fingerprint,
            candidates=[candidate],
            rollout_error={},
        )
    table = made("induction", folder)
    ours = row(table, "Slider")
    assert (ours["recovered form"][0], ours["probes explained"][0], ours["success"][0]) == (
        "push + drag",
        "6 of 6",
        "94",
    )
    assert "no induction.json" not in told(table)


def test_a_measured_program_whose_induction_is_gone_is_told(folder: Path):
    table = made("induction", folder)
    assert (row(table, "Slider")["recovered form"][0], row(table, "Slider")["success"][0]) == ("-", "94")
    assert "Slider, Oracle+Induced: no induction.json of program aaa" in told(table)


def test_ablation_reads_errors_beside_the_programs(tmp_path: Path):
    folder = tmp_path / "results"
    add(folder, share(5, 50), domain="pusht", method="linear", program="lll")
    errors = {
        "block_px": {"1": {"mean": 4.9, "median": 1.0, "p90": 9.0}, "8": {"mean": 30.0, "median": 9.0, "p90": 60.0}}
    }
    induction(
        folder, "pusht-linear", domain="pusht", sketch="linear", program_hash="lll", candidates=[], rollout_error=errors
    )
    table = made("ablation", folder)
    ours = row(table, "linear")
    assert (ours["block_px after 1"], ours["block_px after 8"][0], ours["success"][0]) == (
        ("4.9", "median 1"),
        "30",
        "10",
    )
    assert row(table, "collision-gated")["success"][0] == "-"
    assert "vpw bench ablation" in told(table)


def test_a_ladder_of_one_domain(tmp_path: Path):
    folder = tmp_path / "results"
    add(folder, share(40, 50), domain="cube", observe="tool")
    add_analysis(folder, "audit", {"rmse": {"block_m": 0.0031}}, domain="cube", method="tool")
    ours = row(made("cube-ladder", folder), "Tool+Induced")
    assert [text for text, _ in ours.values()] == ["Tool+Induced", "80", "80", "0.0031", "66", "0.08"]


def test_cases_show_how_far_programs_stray_and_things_move(tmp_path: Path):
    folder = tmp_path / "results"
    add(folder, share(50, 50), domain="reacher")
    add(folder, share(25, 50), domain="reacher", method="worldcoder", program="ccc", written_by="small, 8 calls")
    steps = {"mean": [0.01] * 12 + [9.0] * 13, "median": [0.001] * 25, "p90": [0.1] * 25}
    add_analysis(folder, "rollout", {"rollout_error": {"finger_m": steps}}, domain="reacher")
    astray = {"rollout_error": {"finger_m": {**steps, "mean": [0.5] * 11 + [None] * 14}}}
    add_analysis(folder, "rollout", astray, domain="reacher", method="worldcoder", written_by="small, 8 calls")
    add_analysis(
        folder,
        "rollout",
        {"rollout_error": {"finger_m": {**steps, "mean": [7] * 25}}},
        domain="reacher",
        source="elsewhere",
    )
    moved = {
        "episode": 0,
        "true": [140.4],
        "predicted": [138.04],
        "true_sum": 140.4,
        "predicted_sum": 138.04,
        "not_finite": 0,
    }
    add_analysis(folder, "motion", {"motion": {"block_px": moved}}, domain="pusht")
    table = made("cases", folder)
    ours = [entry.text for entry in table.sections[0].rows[0]]
    assert ours == ["Oracle+Induced", "0.01", "100", "138", "140.4", "-"]
    rival = [entry.text for entry in table.sections[0].rows[1]]
    assert rival == ["WorldCoder", "not finite", "50", "-", "-", "-"]
    assert table.sections[0].rows[0][1].detail == "median 0.001"
    paper = next(entries for entries in table.sections[1].rows if entries[0].text == "GIF-MCTS")
    assert [(entry.text, entry.detail) for entry in paper[3:]] == [("4722", "unstable"), ("140.4", ""), ("0", "")]
    assert "vpw analyse" not in told(table)


def test_cases_without_analyses_tell_how_to_measure_them(folder: Path):
    assert "`vpw analyse rollout reacher --results DIR`" in told(made("cases", folder))
    assert "`vpw analyse motion pusht --results DIR`" in told(made("cases", folder))


def test_perception_has_the_audits_and_says_what_no_model_looked_at(folder: Path):
    audit = {
        "precision": 0.9951,
        "recall": 1.0,
        "rmse": {"puck_m": 0.0123, "puck_vx": 0.1},
        "frames": 500,
        "seconds_per_frame": 0.0124,
    }
    add_analysis(folder, "audit", audit, method="tool")
    table = made("perception", folder)
    errors = "puck_m 0.012 / - / -, puck_vx 0.1 / - / -"  # an audit from before percentiles were kept
    assert [text for text, _ in row(table, "Slider").values()] == ["Slider", "tool", "0.995", "1", errors, "500", "12"]
    assert [entry.text for entry in table.sections[0].rows if entry[1].text == "vlm" for entry in entry[2:]] == [
        "-"
    ] * 20
    assert "vlm was not measured: it needs a model" in told(table)
    assert "`vpw analyse audit DOMAIN --results DIR` measures the tool path: pusht, tworoom, cube, reacher." in told(
        table
    )
    quoted = [tuple(entry.text for entry in entries[:3]) for entries in table.sections[1].rows]
    assert ("Cube", "tool", "0.67") in quoted and ("PushT", "vlm", "-") in quoted
    assert table.measured[0]["rmse"] == audit["rmse"]
    assert "worst" not in table.measured[0]


def test_perception_shows_the_worst_beside_the_mean(folder: Path):
    audit = {"precision": 1.0, "recall": 1.0, "frames": 500, "seconds_per_frame": 0.0124}
    errors = {"rmse": {"puck_m": 0.0123}, "p99": {"puck_m": 0.05}, "worst": {"puck_m": 0.31}}
    add_analysis(folder, "audit", {**audit, **errors}, method="tool")
    table = made("perception", folder)
    assert row(table, "Slider")["RMSE / p99 / worst"][0] == "puck_m 0.012 / 0.05 / 0.31"
    assert table.measured[0]["worst"] == {"puck_m": 0.31}


def test_a_landscape_stands_with_the_success_that_it_leads_to(tmp_path: Path):
    folder = tmp_path / "results"
    add(folder, share(49, 50), solved=5, domain="tworoom")
    assert "`vpw analyse smoothness tworoom --results DIR`" in told(made("two-room-landscape", folder))
    merit = {"agreement": 0.985, "gap": None, "engine_step": 0.49, "program_step": 0.48, "regret": 0.0}
    data = {"merit": merit, "beside": ["wall"], "episode": 51, "step": 3, "horizon": 25}
    add_analysis(folder, "smoothness", data, domain="tworoom")
    table = made("two-room-landscape", folder)
    assert [entry.text for entry in table.sections[0].rows[0]] == ["Oracle+Induced", "98", "96"]
    assert [entry.text for entry in table.sections[1].rows[0]] == ["Oracle+Induced", "97.8", "-"]  # 44 of 45
    assert [entries[1].text for entries in table.sections[2].rows] == ["0.985", "-", "0.49", "0.48", "0"]
    assert "episode 51, step 3, beside wall; 25 steps ahead; program aaa" in told(table)
    assert "vpw analyse" not in told(table)


def test_every_id_is_found_and_others_are_refused(tmp_path: Path):
    assert set(IDS) <= set(find_tables())
    with pytest.raises(UnknownName, match=r"No table 'mian'. Found: .*hybrid-cost.* Did you mean 'main'\?"):
        made("mian", tmp_path)


@pytest.mark.parametrize("name", [name for name in IDS if name != "envs"])
def test_no_results_at_all_is_one_sentence(name: str, tmp_path: Path):
    with pytest.raises(VpwError, match=r"There are no results in .*vpw bench main"):
        made(name, tmp_path)


def test_envs_need_no_results(tmp_path: Path):
    labels = [entries[0].text for entries in made("envs", tmp_path).sections[0].rows]
    assert "Slider" in labels and "PushT" in labels


@pytest.mark.parametrize("name", IDS)
def test_text_fits_a_terminal(name: str, tmp_path: Path):
    for domain in ("tworoom", "reacher", "pusht", "cube"):
        add(tmp_path, share(50, 50), domain=domain)
    add(tmp_path, share(50, 50), domain="pusht", source="pusht_demos")
    lines = as_text(made(name, tmp_path), 80).splitlines()
    assert 40 < max(map(len, lines)) <= 80
    assert max(map(len, as_text(made(name, tmp_path), 120).splitlines())) <= 120


def test_formats_say_the_same(folder: Path):
    table = made("main", folder)
    written = {name: render(table, 80) for name, render in FORMATS.items()}
    assert "| Oracle+Induced | - | - | - | - | 94 [84, 98] | - |" in written["markdown"]
    assert "| LeWM (quoted) | *87* | *86* |" in written["markdown"]
    assert r"94 {\scriptsize [84, 98]}" in written["latex"]
    assert r"LeWM (quoted) & \textit{87}" in written["latex"]
    assert r"at\_goal" in written["latex"]
    assert written["latex"].count(r"\begin{tabular}") == written["latex"].count(r"\end{tabular}") == 1
    data = json.loads(written["json"])
    assert data["measured"][0]["success"] == 94
    assert {"text": "87", "detail": "", "quoted": True} in [
        entry for section in data["sections"] for line in section["rows"] for entry in line
    ]
    lines = written["text"].splitlines()
    score = next(i for i, line in enumerate(lines) if line.startswith("Oracle+Induced"))
    assert lines[score].index("94") > lines[score + 1].index("[84, 98]")  # the interval stands below its score


def test_a_table_refuses_a_quoted_section_with_a_figure_of_its_own(folder: Path):
    from dataclasses import replace

    table = made("main", folder)
    with pytest.raises(ValueError, match="must be marked as quoted"):
        replace(table, sections=(replace(table.sections[0], quoted=True),))
