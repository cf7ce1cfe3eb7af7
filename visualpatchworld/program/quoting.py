"""Text from data as it may stand in a program: escaped in docstrings and comments, or turned into Python names.

Headers of tables, labels, file names and keys are somebody else's text. They enter a program through this module alone.
"""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Sequence

LONGEST_NAME = 60  # letters of a name; the label itself stays whole
# What programs call things of their own where a field's name could stand in for it: arguments, functions and locals.
OWN_NAMES = frozenset(
    {"state", "action", "observation", "next_state", "np", "jax", "nan", "step", "move", "moved", "rates", "nudged"}
    | {"observe", "read", "reward", "terminated", "valid", "wrap", "wrapped", "bell", "dome", "tail", "new", "blocked"}
    | {
        "k1",
        "k2",
        "k3",
        "k4",
        "slope",
        "mass",
        "forces",
        "gained",
        "lumps",
        "angles",
        "spins",
        "turning",
        "solve",
        "joints",
    }
    | {"mass_matrix", "centrifugal", "add_at_joints", "clip_angle", "soft_stop", "stop_links", "stop_body"}
    | {"range", "float", "int", "bool", "abs", "min", "max", "sum", "len", "print", "tuple"}
)
OWN_ENDINGS = ("_gained",)  # of locals that are named after a field


def escaped(text: str) -> str:
    """The text on one line, so that a string of double quotes around it has the text as its value.

    The same line can stand behind a `#`: it holds no end of a line.
    """
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in plain)


def docstring(*lines: str) -> str:
    """The literal of these lines; a line that has a line break of its own shows it as `\\n`."""
    return '"""' + "\n".join(map(escaped, lines)) + '"""'


def commented(code: str, *parts: str) -> str:
    """A line of code with these parts of a comment behind it, where there are any."""
    comment = "  ".join(escaped(part) for part in parts if part)
    return f"{code}  # {comment}" if comment else code


def python_name(label: str, taken: set[str]) -> str:
    """A Python name for a label, which `taken` then holds.

    Two names differ in more than their case, since programs write fields in small letters and their constants in
    capitals. Letters of any script stay as they are.
    """
    name = _plain(label)
    name = f"f_{name}" if not name[0].isidentifier() else name
    stem = name[:LONGEST_NAME].rstrip("_")
    name = f"{stem}_" if _is_reserved(stem) else stem
    number = 2
    while (key := _key(name)) in taken:
        name, number = f"{stem}_{number}", number + 1
    taken.add(key)
    return name


def python_names(labels: Sequence[str]) -> tuple[str, ...]:
    """A Python name for every label, each once.

    Example: `python_names(["Heater [kW]", "x²", "x2", "lambda"])` is `("Heater_kW", "x2", "x2_2", "lambda_")`
    """
    taken: set[str] = set()
    return tuple(python_name(label, taken) for label in labels)


def _is_reserved(name: str) -> bool:
    """Whether Python or a program uses the name itself, in small letters or as it is."""
    small = name.lower()
    return keyword.iskeyword(name) or keyword.iskeyword(small) or small in OWN_NAMES or small.endswith(OWN_ENDINGS)


def _plain(label: str) -> str:
    """Letters, digits and single underscores of a label, as Python itself would write them."""
    text = unicodedata.normalize("NFKC", label)
    name = "".join(sign if f"a{sign}".isidentifier() else "_" for sign in text)
    if not all(
        form == unicodedata.normalize("NFKC", form) for form in (name, name.lower(), name.upper(), name.lower().upper())
    ):
        name = name.encode("ascii", "replace").decode().replace("?", "_")  # its capitals are other letters
    return re.sub(r"_{2,}", "_", name).strip("_") or "field"


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name.lower().upper())
