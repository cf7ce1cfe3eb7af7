"""Programs: one text for numpy and JAX, emitted from the source
that was fitted, editable, and refused with a line when broken.
"""

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toy_program import RIGHT

from visualpatchworld.domain import Domain
from visualpatchworld.laws.constant import Constant
from visualpatchworld.program.program import BadProgram, Program, load_program
from visualpatchworld.program.rollout import rollout, teacher_forced_rollout
from visualpatchworld.program.source import emit, unfitted


def some_value(constant: Constant) -> float | int:
    if constant.kind == "choice":
        return constant.options[1]
    return (
        (constant.low * constant.high) ** 0.5
        if constant.kind == "log"
        else constant.low + 0.4 * (constant.high - constant.low)
    )


def emitted(domain: Domain, name: str) -> Program:
    form = domain.family().named(name)
    values = {name: float(f"{some_value(constant):.6g}") for name, constant in form.constants.items()}
    values = {name: int(value) if form.constants[name].kind == "choice" else value for name, value in values.items()}
    return emit(form, values, dict.fromkeys(values, 0.1), "A header.\n")


@pytest.fixture
def program(toy: Domain) -> Program:
    return emitted(toy, "push+drag")


def test_every_form_becomes_a_program_that_keeps_the_contract(domain: Domain):
    family = domain.family()
    for form in (*family.forms(), *family.extra):
        program = emitted(domain, form.name)
        program.check(domain.scene.state_space, domain.layout.action.width)
        assert len(program.text.splitlines()) <= 162
        assert max(map(len, program.text.splitlines())) <= 250


def test_numpy_and_jax_agree(domain: Domain):
    simulator = domain.make()
    state, _ = simulator.reset(seed=1)
    actions = np.random.default_rng(0).uniform(-1, 1, (3, domain.layout.action.width))
    # Operation by operation: to compile every form takes ten times as long, and other tests run compiled programs.
    with jax.enable_x64(True), jax.disable_jit():
        for form in domain.family().forms():
            program = emitted(domain, form.name)
            dynamics = program.bind("numpy")
            by_hand = dynamics.State(*state)
            for action in actions:
                by_hand = dynamics.step(by_hand, action)
            rolled = rollout(program.bind("jax"), jnp.asarray(state), jnp.asarray(actions))[-1]
            np.testing.assert_allclose(rolled, np.array(by_hand[: len(state)], dtype=float), rtol=1e-9, atol=1e-9)


def test_emit_load_emit_is_the_identity(toy: Domain, program: Program, tmp_path: Path):
    path = tmp_path / "world_model.py"
    path.write_text(program.text, encoding="utf-8")
    loaded = load_program(path, toy.scene.state_space, 1)
    assert loaded.text == program.text
    again = emit(toy.family().named("push+drag"), loaded.constants, dict.fromkeys(loaded.constants, 0.1), "A header.\n")
    assert again.text == program.text


def test_a_loaded_program_rolls_out_bit_equal_to_the_form_it_came_from(toy: Domain, program: Program):
    draft = unfitted(toy.family().named("push+drag"))
    state, actions = jnp.array([0.3, -0.2]), jnp.linspace(-1, 1, 12)[:, None]
    fitted = jax.jit(lambda s, a: rollout(draft.bind("jax", program.constants), s, a))(state, actions)
    loaded = jax.jit(lambda s, a: rollout(Program(program.text).bind("jax"), s, a))(state, actions)
    assert np.array_equal(fitted, loaded)


def test_a_program_runs_on_its_own(program: Program, tmp_path: Path):
    text = program.text.replace("import jax.numpy as np  # or: import numpy as np", "import numpy as np")
    (tmp_path / "world_model.py").write_text(text + "\nprint(step(State(0.0, 1.0), [0.5]))\n", encoding="utf-8")
    said = subprocess.run(
        [sys.executable, "world_model.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith("State(puck_x=")


def test_edited_constants_change_what_it_foresees(program: Program):
    edited = program.edited({"PUCK_DRAG": 0.25})
    assert edited.constants["PUCK_DRAG"] == 0.25
    assert edited.text.count("# 1/s") == program.text.count("# 1/s")
    state = (0.0, 1.0)
    before, after = program.bind("numpy"), edited.bind("numpy")
    assert before.step(before.State(*state), [0.0]) != after.step(after.State(*state), [0.0])
    with pytest.raises(BadProgram, match="no constant 'DRUG'"):
        program.edited({"DRUG": 1.0})


def test_a_teacher_forced_rollout_goes_on_from_what_was_seen(program: Program):
    dynamics = program.bind("jax")
    state, actions = jnp.array([0.0, 1.0]), jnp.zeros((4, 1))
    seen = jnp.tile(jnp.array([5.0, 1.0]), (4, 1))
    resync = jnp.array([False, True, False, False])
    forced = teacher_forced_rollout(dynamics, state, actions, seen, resync)
    free = rollout(dynamics, state, actions)
    np.testing.assert_allclose(forced[:2], free[:2], rtol=1e-6)
    np.testing.assert_allclose(forced[2:], rollout(dynamics, seen[1], actions[2:]), rtol=1e-6)


LOOP = """
from typing import NamedTuple
import jax.numpy as np
COUNT = 7
class State(NamedTuple):
    x: float
    v: float
def step(state, action):
    total = 0.0
    for _ in range(COUNT):
        half = 0.5 * state.v
        state = state._replace(x=state.x + half, v=0.9 * state.v + action[0])
        total = total + half
    return state._replace(v=state.v + total)
"""


def test_a_rolled_loop_means_what_python_says():
    program = Program(LOOP)
    plain, compiled = program.bind("numpy"), program.bind("jax")
    expected = plain.step(plain.State(0.1, 0.7), [0.3])
    np.testing.assert_allclose(jax.jit(compiled.step)(compiled.State(0.1, 0.7), jnp.array([0.3])), expected, rtol=1e-6)


def test_a_rolled_loop_stands_once_and_not_once_for_every_turn():
    def size(turns: int) -> int:
        dynamics = Program(LOOP.replace("COUNT = 7", f"COUNT = {turns}")).bind("jax")
        return len(str(jax.make_jaxpr(dynamics.step)(dynamics.State(0.1, 0.7), jnp.array([0.3]))).splitlines())

    assert size(7) == size(70) < 70


SHOUTS = """from typing import NamedTuple
class State(NamedTuple):
    puck_x: float
    puck_vx: float
def step(state, action):
    raise ValueError("\\x1b[2J")
"""
BROKEN = {
    "codes for the terminal": (SHOUTS, r":6: ValueError: \\x1b\[2J"),
    "deeply nested": (f"x = {'-' * 50_000}1", "not Python"),
    "not Python": ("def step(state, action)\n    return state\n", r":1: not Python"),
    "no step": (
        "from typing import NamedTuple\nclass State(NamedTuple):\n    puck_x: float\n    puck_vx: float\n",
        "defines no 'step'",
    ),
    "a number beyond any float": (f"X = 0x{'f' * 20_000}\n", r":1: a whole number here is larger"),
    "no State": ("def step(state, action):\n    return state\n", "defines no 'State'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_programs_are_refused_with_the_line(name: str, toy: Domain, tmp_path: Path):
    text, sentence = BROKEN[name]
    path = tmp_path / "broken.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadProgram, match=sentence):
        load_program(path, toy.scene.state_space, 1)


EDITS = {
    "unknown name": ("push=PUCK_PUSH", "push=PUCK_PUSHH", "NameError"),
    "wrong field": ("puck_vx: float", "speed: float", "State must begin with the fields puck_x, puck_vx"),
    "another import": (
        "from typing import NamedTuple",
        "import os\nfrom typing import NamedTuple",
        "may import .* not 'os'",
    ),
    "returns a tuple": ("return State(*puck, *velocity)", "return dict(puck_x=puck)", "must return a State, not dict"),
    "not a number": ("State(*puck,", "State(np.stack([puck[0], puck[0]]),", r"'puck_x' with the shape \(2,\)"),
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_that_break_the_contract_are_refused_with_the_line(name: str, toy: Domain, program: Program):
    before, after, sentence = EDITS[name]
    assert before in program.text
    with pytest.raises(BadProgram, match=sentence) as refused:
        Program(program.text.replace(before, after)).check(toy.scene.state_space, 1)
    line = int(str(refused.value).split(":")[1])
    assert 1 <= line <= len(program.text.splitlines()) + 1


def test_a_program_that_is_not_there_gets_a_sentence(toy: Domain, tmp_path: Path):
    with pytest.raises(BadProgram, match=r"Cannot read the program .*: No such file or directory"):
        load_program(tmp_path / "nowhere.py", toy.scene.state_space, 1)


UNTRACEABLE = {
    "while": "    while state.puck_x > 0:\n        state = state._replace(puck_x=state.puck_x - 1)\n",
    "a changed list": "    found = []\n    if state.puck_x > 0:\n        found.append(1.0)\n",
    "a filter": "    found = [field for field in state if field > 0]\n",
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_a_program_that_looks_at_one_state_is_refused_in_one_line(name: str, toy: Domain, tmp_path: Path):
    path = tmp_path / "looks.py"
    path.write_text(RIGHT.text.replace("def step(state, action):\n", f"def step(state, action):\n{UNTRACEABLE[name]}"))
    with pytest.raises(
        BadProgram, match=r"looks\.py:1[3-5]: a value of the state decides.* write `np.where`"
    ) as refused:
        load_program(path, toy.scene.state_space, 1)
    assert "\n" not in str(refused.value)


RUDE = {
    "exit": "raise SystemExit(0)",
    "recursion": "step(state, action)",
    "no end": "while True: pass",
    "two lines": "raise ValueError('one\\ntwo')",
}


@pytest.mark.parametrize("name", RUDE)
def test_a_program_that_ends_or_rambles_is_refused_in_one_line(name: str, toy: Domain, tmp_path: Path):
    path = tmp_path / "rude.py"
    path.write_text(RIGHT.text.replace("def step(state, action):\n", f"def step(state, action):\n    {RUDE[name]}\n"))
    with pytest.raises(BadProgram, match=r"rude\.py:13: \w+") as refused:
        load_program(path, toy.scene.state_space, 1)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"x = 1\x00", b"\xff\xfe", b"(" * 100_000, b"x = 1\n" * 400_000])
def test_what_is_no_text_of_a_program_is_refused(content: bytes, toy: Domain, tmp_path: Path):
    path = tmp_path / "odd.py"
    path.write_bytes(content)
    with pytest.raises(BadProgram, match=r"odd\.py"):
        load_program(path, toy.scene.state_space, 1)


def test_what_a_program_prints_goes_to_stderr(toy: Domain, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "talks.py"
    path.write_text(RIGHT.text.replace("def step(state, action):\n", "def step(state, action):\n    print('hello')\n"))
    load_program(path, toy.scene.state_space, 1)
    said = capsys.readouterr()
    assert (said.out, "hello" in said.err) == ("", True)
