"""The command line as people and scripts use it, on the toy domain."""

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from cli.conftest import Vpw

from visualpatchworld.cli import build_app
from visualpatchworld.domain import find_domains
from visualpatchworld.scene.picture import read_picture, write_picture

COMMAND = "from visualpatchworld.cli import main; main()"


def test_domains_tells_what_there_is(vpw: Vpw):
    rows = json.loads(vpw("domains", "--json"))["domains"]
    assert [row["name"] for row in rows] == list(find_domains())
    for row in rows:
        assert {"name", "engine", "action_dim", "state", "sketches", "planner", "varies"} <= set(row)
    toy = next(row for row in rows if row["name"] == "slider")
    assert toy["state"] == [{"name": "puck_x", "unit": "m"}, {"name": "puck_vx", "unit": "m/s"}]
    assert [item["name"] for item in toy["varies"]] == ["push", "drag", "radius"]
    assert "slider" in vpw("domains")


def test_collect_export_scene(vpw: Vpw):
    collected = json.loads(
        vpw(
            "collect",
            "slider",
            "--episodes",
            3,
            "--out",
            "a.h5",
            "--seed",
            5,
            "--vary",
            "drag=0",
            "--vary",
            "push=2",
            "--json",
        )
    )
    assert (collected["rows"], collected["seed"], collected["constants"]["push"]) == (93, 5, 2.0)
    exported = json.loads(vpw("export", "a.h5", "--domain", "slider", "--view", "oracle", "--out", "a.jsonl", "--json"))
    assert (exported["episodes"], exported["transitions"], exported["stride"]) == (3, 18, 5)
    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert sum(len(line["transitions"]) for line in lines) == 18
    # The known answer: without drag, velocity changes by push x action x time step.
    item = lines[1]["transitions"][2]
    change = item["after"]["objects"][0]["velocity"]["x"] - item["before"]["objects"][0]["velocity"]["x"]
    assert change == pytest.approx(2.0 * 0.1 * np.sum(item["action"]))
    graph = json.loads(vpw("scene", "slider", "a.h5:41", "--via", "oracle", "--json"))
    assert graph == item["before"]
    assert json.loads(vpw("scene", "slider", "a.h5:41", "--via", "oracle")) == graph


def test_what_is_seen_in_pictures(vpw: Vpw):
    vpw("collect", "slider", "--episodes", 2, "--out", "a.h5", "--seed", 5, "--pixels")
    exported = json.loads(vpw("export", "a.h5", "--domain", "slider", "--view", "tool", "--out", "a.jsonl", "--json"))
    assert exported["transitions"] == 12
    item = json.loads(Path("a.jsonl").read_text().splitlines()[1])["transitions"][2]["before"]
    assert item["metadata"]["source"] == "tool"
    assert json.loads(vpw("scene", "slider", "a.h5:41", "--via", "tool", "--json")) == item
    truth = json.loads(vpw("scene", "slider", "a.h5:41", "--via", "oracle", "--json"))
    assert item["objects"][0]["pose"]["x"] == pytest.approx(truth["objects"][0]["pose"]["x"], abs=0.03)
    assert item["objects"][0]["velocity"]["x"] == pytest.approx(truth["objects"][0]["velocity"]["x"], abs=0.2)
    with h5py.File("a.h5") as file:
        write_picture(Path("frame.png"), file["pixels"][41])  # pyright: ignore[reportIndexIssue, reportArgumentType]
        np.savez("frames.npz", frames=file["pixels"][:], state=file["state"][:])  # pyright: ignore[reportIndexIssue, reportArgumentType]
    alone = json.loads(vpw("scene", "slider", "frame.png", "--via", "tool", "--overlay", "seen.png", "--json"))
    assert "velocity" not in alone["objects"][0]
    assert read_picture(Path("seen.png")).shape == (896, 896, 3)
    found = json.loads(vpw("audit", "slider", "--frames", "frames.npz", "--overlay", "seen", "--overlays", 2, "--json"))
    assert {"precision", "recall", "rmse", "p99", "worst", "frames", "seconds_per_frame"} <= set(found)
    assert found["rmse"]["puck_m"] <= found["worst"]["puck_m"] >= found["p99"]["puck_m"]
    assert "worst" in vpw("audit", "slider", "--frames", "frames.npz")
    assert (found["precision"], found["recall"], found["frames"]) == (1.0, 1.0, 62)
    assert found["rmse"]["puck_m"] < 0.03
    assert len(list(Path("seen").iterdir())) == 2
    assert json.loads(vpw("audit", "slider", "--episodes", 1, "--json"))["rmse"]["puck_vx"] < 0.2


def test_collecting_repeats_under_its_seed_and_keeps_pictures_when_asked(vpw: Vpw):
    for name in ("a.h5", "b.h5"):
        assert "93" in vpw("collect", "slider", "--episodes", 3, "--out", name, "--seed", 5)
    assert Path("a.h5").read_bytes() == Path("b.h5").read_bytes()
    vpw("collect", "slider", "--episodes", 1, "--out", "c.h5", "--pixels")
    with h5py.File("c.h5") as file:
        assert file["pixels"].shape == (31, 224, 224, 3)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("collect", "Missing argument 'DOMAIN'"),
        ("collect slidr --episodes 1 --out a.h5", "Did you mean 'slider'?"),
        ("collect slider --episodes two --out a.h5", "--episodes"),
        ("collect slider --episodes 0 --out a.h5", "--episodes"),
        ("collect slider --episodes 1 --out no/a.h5", "there is no folder 'no'"),
        ("collect slider --episodes 1 --out .", "is not a file"),
        ("collect slider --episodes 1 --out /proc/a.h5", "Could not write '/proc/a.h5'"),
        ("collect slider --episodes 1 --out a.h5 --vary drag", "--vary takes NAME=VALUE, not 'drag'"),
        ("collect slider --episodes 1 --out a.h5 --vary darg=1", "Did you mean 'drag'?"),
        ("collect slider --episodes 1 --out a.h5 --vary drag=much", "'drag' must be a number"),
        ("collect slider --episodes 1 --out a.h5 --vary drag=nan", "'drag' must lie between 0 and 9"),
        ("export none.h5 --domain slider --view oracle --out a.jsonl", "There is no file 'none.h5'"),
        ("export text.h5 --domain slider --view oracle --out a.jsonl", "is not an HDF5 file"),
        ("export bare.h5 --domain slider --view tool --out a.jsonl", "holds no pictures; collect it with --pixels"),
        ("export good.h5 --domain slider --view dream --out a.jsonl", "'dream' is not one of"),
        ("export good.h5 --domain slider --view oracle --stride 0 --out a.jsonl", "--stride"),
        ("scene slider good.h5:93 --via oracle", "rows 0 to 92, not 93"),
        ("scene slider good.h5 --via oracle", "as FILE.h5:ROW"),
        ("scene slider frame.png --via tool", "Cannot read the picture 'frame.png'"),
        ("scene slider text.h5 --via tool", "is not a picture that can be read"),
        ("scene slider small.png --via tool", "A picture here is 224 x 224 pixels"),
        ("audit slider --frames none.npz", "Cannot read the file of pictures 'none.npz'"),
        ("audit slider --frames other.npz", "has no pictures in an array 'frames'"),
        ("audit slider --seed 7000", "choose another"),
        ("dream", "No such command 'dream'"),
        ("--dream", "No such option"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_no_file(
    vpw: Vpw, toy_file: Path, tmp_path: Path, arguments: str, message: str
):
    toy_file.rename("good.h5")
    Path("text.h5").write_text("not a trace")
    with h5py.File("good.h5") as whole, h5py.File("bare.h5", "w") as bare:
        for name in set(whole) - {"pixels"}:
            whole.copy(name, bare)
        bare.attrs.update(whole.attrs)
    write_picture(Path("small.png"), np.zeros((8, 8, 3), np.uint8))
    np.savez("other.npz", images=np.zeros(3))
    before = sorted(tmp_path.iterdir())
    assert message in vpw.refused(*arguments.split())
    assert sorted(tmp_path.iterdir()) == before


def test_every_verb_has_help_with_an_example(vpw: Vpw):
    verbs = [command.callback.__name__ for command in build_app().registered_commands if command.callback is not None]
    overview = vpw()
    assert overview == vpw("--help")
    for verb in verbs:
        assert verb in overview
        assert f"Example: vpw {verb}" in vpw(verb, "--help")


def test_help_loads_no_engine():
    code = f"""
import sys
sys.argv = ["vpw", "--help"]
try:
    {COMMAND}
finally:
    print(sorted({{"jax", "mujoco", "pymunk", "ogbench", "dm_control", "cv2", "h5py"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_ctrl_c_in_the_middle_of_a_write(tmp_path: Path):
    arguments = ["collect", "slider", "--episodes", "100000", "--pixels", "--out", str(tmp_path / "a.h5")]
    # Where tests run in the background, an interrupt is ignored, and a child would inherit that.
    interruptible = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-c", COMMAND, *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible
    )
    while not any(path.stat().st_size > 10_000 for path in tmp_path.iterdir()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, err) == ("", "Interrupted; no half-written file was left.\n")
    assert list(tmp_path.iterdir()) == []


CTRL_C = """
import os, signal, time
import typer
from visualpatchworld import cli

class Lost:
    def __del__(self):  # as in a callback of JAX: what is raised here is ignored
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

def lost():
    Lost()
    while True:
        time.sleep(0.05)

def turned():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:  # as numpy does when it converts something
        raise ValueError("setting an array element with a sequence.")

signal.signal(signal.SIGINT, signal.default_int_handler)
app = typer.Typer(pretty_exceptions_enable=False)
app.command()(VERB)
cli.build_app = lambda: app
cli.main()
"""


@pytest.mark.parametrize("verb", ["lost", "turned"])
def test_ctrl_c_that_becomes_something_else(verb: str):
    done = subprocess.run(
        [sys.executable, "-c", CTRL_C.replace("VERB", verb)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted; no half-written file was left.\n")


@pytest.mark.parametrize("limit_bytes", [1, 5_000, 200_000])
@pytest.mark.parametrize("pixels", [True, False])
def test_a_disk_that_fills_up(tmp_path: Path, limit_bytes: int, pixels: bool):
    # A limit on file sizes makes writes fail underneath HDF5 as a full disk does, and needs no mount.
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes}, {limit_bytes})); {COMMAND}"
    arguments = ["collect", "slider", "--episodes", "1000", "--out", str(tmp_path / "a.h5")] + ["--pixels"] * pixels
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []
