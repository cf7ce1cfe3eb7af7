"""One good input of every kind, made once for the toy domain; each mutation damages a copy of one of them."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet
from paper.made_results import add, add_analysis, add_floors
from report.made_run import TEXT, induction, make_run

from visualpatchworld.domain import load_domain
from visualpatchworld.llm import Budget, Client, Sampling, Tape
from visualpatchworld.program.program import Program
from visualpatchworld.scene.picture import write_picture
from visualpatchworld.scene.vlm import VlmExtractor
from visualpatchworld.trace.episode import collect
from visualpatchworld.trace.file import write_traces

PICTURE = np.zeros((8, 8, 3), np.uint8)
MODEL = "small"
WORLDS = ("reacher", "pusht")  # whose trace files have more columns than the toy's
SEEN = {"objects": [{"name": "puck", "x": 140, "y": 112}, {"name": "rail", "x": 112, "y": 112}], "relations": []}


def make_inputs(folder: Path) -> Path:
    """Fill a folder with everything that a verb can read."""
    world = load_domain("slider")
    recorded = list(collect(world, world.constants, episodes=5, seed=7, pixels=True))
    write_traces(folder / "traces.h5", recorded, world.layout, domain=world.name, constants=world.constants, seed=7)
    with h5py.File(folder / "traces.h5") as file:
        frames, states = np.asarray(file["pixels"])[:3], np.asarray(file["state"])[:3]
    np.savez(folder / "frames.npz", frames=frames, state=states)
    write_picture(folder / "frame.png", frames[0])
    (folder / "program.py").write_text(TEXT)
    (folder / "calibration.json").write_text("[[0.035, 0, -4.0], [0, 0, 0]]")
    _record_call(folder / "calls.jsonl", frames[0])
    for name in WORLDS:
        other = load_domain(name)
        write_traces(
            folder / f"{name}.h5", collect(other, other.constants, episodes=1, seed=1), other.layout,
            domain=name, constants=other.constants, seed=1,
        )  # fmt: skip
    make_run(folder / "run")
    _fill_bench(folder / "bench")
    make_logs(folder / "logs")
    return folder


def make_logs(folder: Path) -> Path:
    """One log of every kind and layout that is read, all of the same damped spring."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    states = np.zeros((3, 41, 2))
    forces = rng.uniform(-1, 1, (3, 41, 1))
    states[:, 0] = rng.uniform(-1, 1, (3, 2))
    for t in range(40):
        x, v = states[:, t].T
        states[:, t + 1] = np.stack([x + 0.1 * v, v + 0.1 * (forces[:, t, 0] - x - 0.2 * v)], -1)
    rows, done, rewards = states.reshape(-1, 2), forces.reshape(-1, 1), -(states[..., 0].reshape(-1) ** 2)
    episode, step = np.repeat(np.arange(3), 41), np.tile(np.arange(41), 3)
    ends = step == 40
    np.savez_compressed(folder / "flat.npz", observations=rows, actions=done, rewards=rewards, truncated=ends, dt=0.1)
    np.savez(
        folder / "padded.npz", states=states, actions=forces[:, :-1], rewards=rewards.reshape(3, 41)[:, :-1],
        lengths=[40, 40, 30], terminated=[0, 0, 1], held_out=[0, 1, 0], names=["x", "v"], action_names=["u"],
    )  # fmt: skip
    np.savez(
        folder / "transitions.npz", observations=states[:, :-1].reshape(-1, 2), next_observations=states[:, 1:].reshape(-1, 2),
        actions=rng.integers(0, 3, 120), rewards=np.zeros(120), dones=ends[ends | (step < 40)][:120],
    )  # fmt: skip
    columns = {
        "episode": episode,
        "t": 0.1 * step,
        "x": rows[:, 0],
        "v": rows[:, 1],
        "u": done[:, 0],
        "reward": rewards,
    }
    for name, mark in (("comma.csv", ","), ("semicolon.csv", ";"), ("tab.tsv", "\t")):
        lines = [
            mark.join(columns),
            *(mark.join(map(repr, map(float, row))) for row in zip(*columns.values(), strict=True)),
        ]
        (folder / name).write_text("\n".join(lines) + "\n")
    words = np.array(["left", "stay", "right"])[rng.integers(0, 3, len(rows))]
    (folder / "words.csv").write_text(
        "time,x,action\n"
        + "".join(f"{i / 10},{x},{word}\n" for i, (x, word) in enumerate(zip(rows[:, 0], words, strict=True)))
    )
    pyarrow.parquet.write_table(pyarrow.table(columns | {"action": words}).drop(["u"]), folder / "table.parquet")
    lists = {"t": 0.1 * np.arange(len(rows)), "state": rows.tolist(), "action": done.tolist()}
    pyarrow.parquet.write_table(pyarrow.table(lists), folder / "lists.parquet", row_group_size=50)
    with h5py.File(folder / "plain.h5", "w") as file:
        file["state"], file["action"], file["reward"] = rows, done, rewards
        file["ep_len"], file["ep_offset"], file["step_idx"] = [41] * 3, [0, 41, 82], step
    _make_minari(folder / "minari", states, forces)
    _make_lerobot(folder / "lerobot", columns | {"observation.state": rows.tolist(), "action": done.tolist()})
    return folder


def _make_minari(folder: Path, states: np.ndarray, forces: np.ndarray) -> None:
    (folder / "data").mkdir(parents=True)
    space = {"type": "Box", "dtype": "float32", "shape": [1], "low": [-1.0], "high": [1.0]}
    (folder / "data" / "metadata.json").write_text(json.dumps({"action_space": json.dumps(space), "total_episodes": 3}))
    with h5py.File(folder / "data" / "main_data.hdf5", "w") as file:
        for i, (seen, done) in enumerate(zip(states, forces, strict=True)):
            group = file.create_group(f"episode_{i}")
            group["observations/place"], group["observations/speed"] = seen[:, 0], seen[:, 1:]
            group["actions"], group["rewards"] = done[:-1], np.zeros(40)
            group["terminations"], group["truncations"] = np.zeros(40, bool), np.arange(40) == 39


def _make_lerobot(folder: Path, columns: dict) -> None:
    (folder / "meta").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    state = {"dtype": "float32", "shape": [2], "names": ["x", "v"]}
    features = {"observation.state": state, "action": {"dtype": "float32", "shape": [1], "names": {"motors": ["u"]}}}
    about = {"codebase_version": "v2.1", "fps": 10, "features": features, "total_episodes": 3}
    (folder / "meta" / "info.json").write_text(json.dumps(about))
    kept = {name: columns[name] for name in ("observation.state", "action")}
    table = kept | {"episode_index": columns["episode"], "timestamp": columns["t"], "next.reward": columns["reward"]}
    table["frame_index"] = np.round(10 * columns["t"]).astype(int)
    for i, part in enumerate((slice(0, 41), slice(41, None))):
        path = folder / "data" / "chunk-000" / f"episode_{i:06d}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({name: values[part] for name, values in table.items()}), path)


def _record_call(path: Path, frame: np.ndarray) -> None:
    """A recording of one question about the picture, with its answer."""
    world, tape = load_domain("slider"), Tape(path, "record")
    client = Client(model=MODEL, endpoint=None, tape=tape, budget=Budget(1), sampling=Sampling(temperature=0.0))
    asked = {}
    client._answer = lambda index, body: (
        asked.update(body) or ({"choices": [{"message": {"content": json.dumps(SEEN)}}]}, 0)
    )  # type: ignore[method-assign]
    VlmExtractor(world.scene, world.scene.objects(world.constants), client, None).read(frame)
    usage = {"prompt_tokens": 300, "completion_tokens": 40}
    tape.add(
        0, asked, {"choices": [{"message": {"content": json.dumps(SEEN)}, "finish_reason": "stop"}], "usage": usage}
    )


def _fill_bench(folder: Path) -> None:
    """Results of a few cells with all analyses, and the programs beside them."""
    results, program = folder / "results", folder / "programs" / "slider"
    fingerprint = Program(TEXT).hash
    for seed in (42, 43):
        add(results, [True, False, True, True], solved=1, seed=seed, program=fingerprint)
        add_floors(results, [True, False, False, False], [True, True, False, False], solved=1, seed=seed)
    errors = {"mean": [0.1, 0.2, None], "median": [0.1, 0.1, 0.2], "p90": [0.2, 0.3, None]}
    add_analysis(results, "rollout", {"horizon": 3, "rollout_error": {"puck_m": errors}})
    motion = {
        "episode": 4,
        "true": [1.0, 2.0],
        "predicted": [1.0, None],
        "true_sum": 3.0,
        "predicted_sum": 1.0,
        "not_finite": 1,
    }
    add_analysis(results, "motion", {"motion": {"block_px": motion}}, domain="pusht")
    grid = np.add.outer(np.arange(3.0), 10.0 * (np.arange(3) > 1))
    add_analysis(
        results,
        "smoothness",
        {"action": [-1, 0, 1], "engine": grid.tolist(), "program": (grid / 2).tolist()},
        domain="tworoom",
    )
    looks = {"0": {"tool": {"puck": [[[1, 2], [3, 4]]]}, "oracle": {"puck": [[[1, 2], [3, 5]]]}}}
    add_analysis(results, "audit", {"rmse": {"puck_m": 0.012}, "looks": looks}, method="tool", pictures={"0": PICTURE})
    pixels = {"puck": {"before": [10.0, 20.0], "after": [30.0, 20.0], "predicted": [32.0, 20.0]}}
    fields = [{"name": "puck_x", "unit": "m"}, {"name": "puck_vx", "unit": "m/s"}]
    states = {
        "before": [0.0, 1.0],
        "after": [0.1, 0.9],
        "predicted": [0.12, None],
        "action": [0.5],
        "error": {"puck_m": 0.02},
    }
    moment = {"episode": 2, "step": 7, "fields": fields, **states, "pixels": pixels, "program_text": TEXT}
    add_analysis(results, "transition", moment, pictures={"before": PICTURE, "after": PICTURE})
    program.mkdir(parents=True)
    (program / "world_model.py").write_text(TEXT)
    (program / "induction.json").write_text(json.dumps(induction()))
    rival = folder / "programs" / "worldcoder-slider"
    rival.mkdir()
    (rival / "world_model.py").write_text(TEXT)
    budget = {"calls": 8, "tokens": None}
    (rival / "search.json").write_text(
        json.dumps({"model": MODEL, "budget": budget, "chosen": 0, "candidates": [{"program": TEXT}]})
    )
