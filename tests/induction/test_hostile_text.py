"""Nobody's text becomes code: headers, labels, names and file names of a log, each with a right program."""

import ast
import builtins
import csv
import random
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from visualpatchworld.induction.discover import Discovery, discover
from visualpatchworld.program.program import Program, read_program
from visualpatchworld.program.quoting import OWN_NAMES
from visualpatchworld.world.log_table import Columns
from visualpatchworld.world.open import open_world
from visualpatchworld.world.world import World

FLAG = "ran_from_a_log"
CODE = f"__import__('builtins').__dict__.update({FLAG}=True)"
WRITTEN = [
    f'"""\n{CODE}\n"""',
    f'""" + str({CODE}) + """',
    f"'''\n{CODE}\n'''",
    f'\\"""\n{CODE}\n\\"""',
    f"\n{CODE}",
    f"\r{CODE}",
    f"\u2028{CODE}",
    f"x\n    {CODE}  #",
    f"x: float = {CODE}",
    f"x); {CODE}; (",
    f"{{{CODE}}}",
    "C:\\Users\\new\\table",
    "\\",
    '"',
    "\0a",
    "x²",
    "µ",
    "μ",
    "½",
    "ﬁ",
    "fi",
    "температура",
    "温度",
    "cos(theta)",
    "Heater [kW]",
    "[/red]",
    "[bold]",
    "lambda",
    "None",
    "COLUMN_1",
    "parameter_0",
    "x_next",
    "DT",
    "dt",
    "DTs",
    "time",
    "SUBSTEPS",
    "State",
    "x0",
    "x1",
    "count",
    "index",
    "_replace",
    "_fields",
    "__class__",
    *sorted(OWN_NAMES),
]


def hostile(count: int) -> list[str]:
    """So many different texts: written ones, and code with letters of every class of Unicode around it."""
    classes: dict[str, list[str]] = {}
    for code in range(sys.maxunicode + 1):
        classes.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    classes.pop("Cs")  # no file can hold them
    draw = random.Random(1)
    found = [text for text in dict.fromkeys(WRITTEN) if text]
    while len(found) < count:
        sign = draw.choice(classes[draw.choice(sorted(classes))])
        found.append(draw.choice(('{}"""\n' + CODE + "\n{}", "x{}" + CODE, "{}\\")).format(sign, sign))
    return found


HOSTILE = hostile(200)


def spring(rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Episodes of a body on a spring that is pushed one way, the other, or not; places and speeds, and choices."""
    rng = np.random.default_rng(0)
    seen, done = np.zeros((3, rows, 2)), rng.integers(0, 3, (3, rows))
    seen[:, 0] = rng.normal(size=(3, 2))
    for t in range(rows - 1):
        place, speed = seen[:, t].T
        speed = speed + 0.1 * (-place - 0.3 * speed + (done[:, t] - 1.0))
        seen[:, t + 1] = np.stack([place + 0.1 * speed, speed], axis=-1)
    return seen, done


SEEN, DONE = spring()


def write(path: Path, place: str, speed: str, action: str, labels: list[str], episode: str = "episode") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow([episode, place, speed, action])
        for number, (states, choices) in enumerate(zip(SEEN, DONE, strict=True)):
            table.writerows([number, *map(float, state), labels[k]] for state, k in zip(states, choices, strict=True))


def found_in(world: World) -> Discovery:
    return discover(world, seconds=10)


def assert_right(program: Program, order: list[int]) -> None:
    """The program moves as the spring does, and nothing in it or about it ran; `order` is that of the choices."""
    model = program.bind_world("numpy")
    for states, choices in zip(SEEN, DONE, strict=True):
        for t in range(0, len(states) - 1, 7):
            state = model.State(*states[t]) if model.read is None else model.read(states[t])
            after = model.step(state, np.array([float(order[choices[t]])]))
            seen = tuple(after) if model.observe is None else model.observe(after)
            np.testing.assert_allclose(seen, states[t + 1], rtol=1e-5, atol=1e-6)
    assert not hasattr(builtins, FLAG)


@pytest.fixture(autouse=True)
def _no_flag():
    yield
    if hasattr(builtins, FLAG):
        delattr(builtins, FLAG)


@pytest.mark.parametrize("first", range(0, len(HOSTILE), 20))
def test_text_of_a_log_stays_text(first: int, tmp_path: Path):
    for k in range(first, first + 20):
        one, two, three = (HOSTILE[(k + far) % len(HOSTILE)].strip() for far in (0, 67, 131))
        names = [one, two + "'", three + "''"]
        labels = [f"{HOSTILE[(k + far) % len(HOSTILE)]} {far}" for far in (0, 67, 131)]
        name = "".join(sign for sign in one if sign not in "/\0\ud800")[:40] + ".csv"
        path = tmp_path / name
        write(path, names[0], names[1], names[2], labels)
        found = found_in(open_world(path, columns=Columns(action=names[2], state=names[:2], episode="episode", dt=0.1)))
        text = found.program.text
        (tmp_path / "world_model.py").write_text(text, encoding="utf-8")
        assert_right(read_program(tmp_path / "world_model.py"), [sorted(labels).index(label) for label in labels])
        said = ast.get_docstring(ast.parse(text), clean=False) or ""
        assert name in said
        assert all(label in said for label in labels)
        parts = [type(node) for node in ast.parse(text).body]
        assert parts.count(ast.Expr) == 1 and set(parts) <= {
            *(ast.Expr, ast.ImportFrom, ast.Import, ast.Assign, ast.ClassDef, ast.FunctionDef),
        }


def test_a_field_keeps_its_label_beside_its_name(tmp_path: Path):
    write(tmp_path / "log.csv", "Lage [m]\n", "v (m/s)", "push", ["a", "b", "c"])
    columns = Columns(action="push", state=("Lage [m]", "v (m/s)"), dt=0.1)
    world = open_world(tmp_path / "log.csv", columns=columns)
    assert world.field_names == ("Lage_m", "v_m_s") and world.field_labels == ("Lage [m]", "v (m/s)")
    text = found_in(world).program.text
    assert "    lage_m: float  # Lage [m]\n    v_m_s: float  # v (m/s)\n" in text


def test_names_in_arrays_stay_text():
    names = ['"""\n' + CODE, "np"]
    world = open_world({"observations": SEEN, "actions": DONE[:, :-1, None], "names": names, "dt": 0.1})
    assert_right(found_in(world).program, [0, 1, 2])
