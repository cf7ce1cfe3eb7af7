"""Text from data enters a program as text: parsing the program gives it back, and names made of it are Python's."""

import ast
import io
import keyword
import random
import sys
import tokenize
import unicodedata
from pathlib import Path

import pytest

from visualpatchworld.program.quoting import OWN_ENDINGS, OWN_NAMES, commented, docstring, escaped, python_names

PROGRAMS = Path(__file__).parents[2] / "programs" / "worlds"
HOSTILE = [
    "",
    '"',
    '"""',
    '""""""',
    "'''",
    "\\",
    '\\"',
    '\\"""',
    "\\\\",
    "\\N{DIGIT ONE}",
    "\\x22\\x22\\x22",
    "\n",
    "\r",
    "\r\n",
    "a\nimport os\n",
    '"""\nimport os\n"""',
    "# a comment",
    "\0",
    "\x1b[31m",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0c",
    "\ufeff",
    "\u202e",
    "\udc80",
    "C:\\Users\\new",
    "{x}",
    "%s",
    "x²",
    "µ",
    "½",
]


def of_every_class() -> list[str]:
    """Some letters of every class of Unicode, each alone and between quotes."""
    found: dict[str, list[str]] = {}
    for code in range(sys.maxunicode + 1):
        found.setdefault(unicodedata.category(chr(code)), []).append(chr(code))
    assert len(found) >= 29
    draw = random.Random(0)
    signs = [sign for letters in found.values() for sign in draw.sample(letters, min(8, len(letters)))]
    return [*signs, *(f'"{sign}\\{sign}"""{sign}' for sign in signs)]


TEXTS = [*HOSTILE, *of_every_class()]


def test_a_docstring_gives_the_text_back():
    for text in TEXTS:
        module = ast.parse(f"{docstring(text, text)}\nx = 1\n")
        assert [type(node) for node in module.body] == [ast.Expr, ast.Assign]
        assert ast.get_docstring(module, clean=False) == f"{text}\n{text}"


def test_a_comment_gives_the_text_back_and_ends_with_its_line():
    for text in filter(None, TEXTS):
        source = f"{commented('x = 1', text)}\ny = 2\n"
        source.encode()  # as it is written
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
        assert len(comments) == 1
        assert ast.literal_eval(f'"{comments[0].removeprefix("# ")}"') == text
        assert len(ast.parse(source).body) == 2
        assert len(escaped(text).splitlines()) == 1


def test_plain_text_stays_as_it_is():
    assert docstring("Verdict: explained (90 % below 2e-17).", "") == '"""Verdict: explained (90 % below 2e-17).\n"""'
    assert commented("DT = 0.1", "s", "", "one step") == "DT = 0.1  # s  one step"


def test_every_label_becomes_a_name_of_its_own():
    labels = [*TEXTS, *keyword.kwlist, *OWN_NAMES, *(name.upper() for name in OWN_NAMES), "DT", "dt", "ß", "ss", "x2"]
    names = python_names([*labels, *labels])
    for name in names:
        for form in (name, name.lower(), name.upper()):
            assert form.isidentifier() and unicodedata.normalize("NFKC", form) == form, name
        assert not keyword.iskeyword(name) and not name.startswith("_")
        assert name.lower() not in OWN_NAMES
    for cased in (str.lower, str.upper):
        assert len({cased(name) for name in names}) == len(names)


def test_names_of_names_are_the_same():
    names = python_names(TEXTS)
    assert python_names(names) == names
    assert python_names([name.lower() for name in names]) == tuple(name.lower() for name in names)


def test_names_from_real_life_stay_readable():
    labels = ["Heater [kW]", "x²", "x2", "lambda", "None", "C:\\Users", "k1", "1st", "температура", "cos(theta)"]
    assert python_names(labels) == (
        *("Heater_kW", "x2", "x2_2", "lambda_", "None_", "C_Users", "k1_", "f_1st", "температура", "cos_theta"),
    )


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*/world_model.py")), ids=lambda path: path.parent.name)
def test_programs_use_no_name_of_their_own_that_a_field_could_have(path: Path):
    module = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    fields = {part.target.id for part in classes[0].body if isinstance(part, ast.AnnAssign)}  # pyright: ignore[reportAttributeAccessIssue]
    own = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    for node in module.body:
        # Where fields are locals; the rates of an integrator are a function without such.
        if isinstance(node, ast.FunctionDef) and node.name in ("step", "move", "read"):
            words = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            own |= words | {argument.arg for argument in node.args.args}
    taken = OWN_NAMES | fields | {"_", "State"}
    assert not {name for name in own if name not in taken and not name.endswith(OWN_ENDINGS) and not name.isupper()}
