"""Damage, one small piece at a time, the same for the same random
numbers: to bytes, JSON values, HDF5 files, arrays and text.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import pyarrow
import pyarrow.parquet

NUMBERS = (
    0,
    -1,
    1,
    0.5,
    1e300,
    -1e300,
    1e-320,
    2**31,
    2**63,
    2**64,
    10**30,
    10**400,
    float("nan"),
    float("inf"),
    -float("inf"),
)
WORDS = (
    "",
    "x",
    "nan",
    "[bold]",
    "[/]",
    "\ud800",
    "\x00",
    "\x1b[31m",
    "é世界",
    "../..",
    "/dev/null",
    "a" * 5000,
    "{}",
    "slider",
    "pusht",
)
VALUES: tuple[Any, ...] = (*NUMBERS, *WORDS, None, True, False, [], {}, [1], [[1.0]], {"a": 1}, [None], [[]], {"": []})
LINES = r"""
if state.puck_x > 0: pass
y = float(state.puck_x)
y = int(state.puck_vx)
raise SystemExit(0)
raise KeyError('x')
import os
import numpy as np
return None
return (1, 2)
y = [[[[
def step(state):
x = 1 / 0
step(state, action)
print('hello')
import math; math.sin(state.puck_x)
PUSH = nan
PUSH = 'a'
PUSH = 1e400
PUSH = {[]: 1}
class State: pass
step = 3
exit()
assert False, 'two\nlines'
global PUSH
	x = 1
  return State(1, 2)
return State(state.puck_x, [1, 2])
while state.puck_x > 0: pass
for i in state: pass
state.puck_x = 3
del State
from . import x
lambda: (yield)
await x
raise RuntimeError('\x1b[31m red')
x = state.nothing
x = action[7]
return State(*[0.0] * 3)
return State(0.0, 'a')
""".strip("\n").split("\n")
ATTRIBUTES: tuple[Any, ...] = (
    *NUMBERS[:11], float("nan"), True, "", "x", "[1]", "{", '{"push": "x"}', '{"push": 1e999}', '{"drag": -1}', '{"push": NaN}',
    '{"push": [1]}', '{"nothing": 1}', "[" * 9999, "\udce9", b"\xff", [1, 2], ["a"], np.zeros((2, 2)), h5py.Empty("f"),
)  # fmt: skip


def damage_bytes(path: Path, rng: Random) -> str:
    """Some bytes are lost, doubled or turned over; or the file is something else altogether."""
    content = bytearray(path.read_bytes())
    kind = rng.choice(
        ("flip", "flip", "cut", "cut", "drop", "double", "zeros", "insert", "empty", "other", "folder", "gone", "pipe")
    )
    at = rng.randrange(len(content)) if content else 0
    size = min(rng.choice((1, 4, 100, 5000)), len(content) - at)
    if kind == "flip":
        for _ in range(rng.choice((1, 10, 100))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "drop":
        del content[at : at + size]
    elif kind == "double":
        content[at:at] = content[at : at + size]
    elif kind == "zeros":
        content[at : at + size] = bytes(size)
    elif kind == "insert":
        content[at:at] = rng.randbytes(size)
    elif kind == "empty":
        content.clear()
    elif kind == "other":
        content = bytearray(
            rng.choice(
                (
                    b"\x89HDF\r\n\x1a\n",
                    b"PK\x03\x04",
                    b"\x93NUMPY\x01\x00",
                    b"\x89PNG\r\n\x1a\n",
                    b"\xff\xfe",
                    b"[[[",
                    b"\x00",
                )
            )
        )
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "gone":
        path.write_bytes(content)
    return f"{kind} at {at}, {size} bytes"


def damage_value(value: Any, rng: Random) -> Any:
    """A JSON value with one thing in it that is of another kind, is not there, or was never there."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        act = rng.random()
        if act < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if act < 0.15:
            return {**value, rng.choice(WORDS): rng.choice(VALUES)}
        return {**value, key: damage_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at, act = rng.randrange(len(value)), rng.random()
        if act < 0.15:
            return value[:at] + value[at + 1 :]
        if act < 0.25:
            return value[:at] + [value[at]] * 2 + value[at + 1 :]
        return [*value[:at], damage_value(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


def damage_json(path: Path, rng: Random) -> str:
    """One value of a JSON file is another; or it is nested without end."""
    if rng.random() < 0.25:
        return damage_bytes(path, rng)
    if rng.random() < 0.05:
        path.write_text("[" * 100_000 + "]" * 100_000)
        return "nested without end"
    damaged = json.dumps(damage_value(json.loads(path.read_text()), rng))
    path.write_text(damaged)
    return "another value"


def damage_json_line(path: Path, rng: Random) -> str:
    """One line of a JSON-lines file is damaged, doubled, lost, or half there."""
    if rng.random() < 0.25:
        return damage_bytes(path, rng)
    lines = path.read_text().splitlines()
    at = rng.randrange(len(lines))
    kind = rng.choice(("value", "value", "value", "value", "half", "double", "swap", "deep", "blank"))
    if kind == "value":
        lines[at] = json.dumps(damage_value(json.loads(lines[at]), rng))
    elif kind == "half":
        lines[at] = lines[at][: rng.randrange(len(lines[at]))]
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "swap":
        rng.shuffle(lines)
    elif kind == "deep":
        lines[at] = "[" * 50_000
    else:
        lines.insert(at, "")
    path.write_text("\n".join(lines) + rng.choice(("\n", "\n", "")))
    return f"{kind} in line {at + 1}"


def damage_program(path: Path, rng: Random) -> str:
    """A line of a program is another, lost, doubled or moved; or its bytes are damaged."""
    if rng.random() < 0.2:
        return damage_bytes(path, rng)
    lines = path.read_text().splitlines()
    at = rng.randrange(len(lines))
    kind = rng.choice(("insert", "insert", "insert", "replace", "drop", "swap", "word"))
    said = rng.choice(LINES)
    indent = rng.choice(("", "    ", "    "))
    if kind == "insert":
        lines.insert(at, indent + said)
    elif kind == "replace":
        lines[at] = indent + said
    elif kind == "drop":
        del lines[at]
    elif kind == "swap":
        other = rng.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        words = lines[at].split(" ")
        words[rng.randrange(len(words))] = rng.choice(
            ("0", "1e300", "state", "action", "None", "(", "State", "nan", "é", "\x00", "10 ** 5000")
        )
        lines[at] = " ".join(words)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{kind} in line {at + 1}: {said}"


def damage_hdf5(path: Path, rng: Random) -> str:
    """An attribute or a column of a trace file is of another kind or shape, lies elsewhere, or is not there."""
    if rng.random() < 0.2:
        return damage_bytes(path, rng)
    with h5py.File(path, "r+") as file:
        if rng.random() < 0.35:
            name = rng.choice(("domain", "seed", "constants"))
            value = rng.choice(ATTRIBUTES)
            try:
                file.attrs[name] = value
            except (TypeError, ValueError, OverflowError):
                file.attrs[name] = str(value).encode("utf-8", "replace")
            return f"attribute {name} = {value!r:.60}"
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        name = rng.choice(names)
        return f"{name}: {_damage_column(file, name, rng)}"


def _damage_column(file: h5py.File, name: str, rng: Random) -> str:
    values = np.asarray(file[name])
    kind = rng.choice(
        (
            "number",
            "number",
            "number",
            "gone",
            "shape",
            "dtype",
            "rows",
            "text",
            "link",
            "external",
            "huge",
            "group",
            "scalar",
            "soft",
        )
    )
    if kind == "number":
        spoiled = values.astype(np.float64) if rng.random() < 0.5 and name != "pixels" else values.copy()
        with np.errstate(all="ignore"):
            number = rng.choice([number for number in NUMBERS if not isinstance(number, int) or number < 1e300])
            spoiled.flat[rng.randrange(spoiled.size)] = np.array(float(number)).astype(spoiled.dtype)
        del file[name]
        file[name] = spoiled
        return f"{kind} {number}"
    del file[name]
    if kind == "shape":
        file[name] = (
            values.reshape(-1, 1, 1) if rng.random() < 0.5 else values.reshape(-1)[: rng.randrange(values.size)]
        )
    elif kind == "dtype":
        file[name] = values.astype(rng.choice(("float16", "int8", "uint64", "complex128", "bool", "S4", "float32")))
    elif kind == "rows":
        file[name] = rng.choice((values[:0], values[:1], values[:-1], np.concatenate([values, values])))
    elif kind == "text":
        file[name] = np.array(["a", "bc"], dtype=h5py.string_dtype()) if rng.random() < 0.5 else "a"
    elif kind == "link":
        file[name] = h5py.ExternalLink(rng.choice(("elsewhere.h5", "traces.h5", "/dev/zero")), f"/{name}")
    elif kind == "external":
        file.create_dataset(name, values.shape, values.dtype, external=[("/etc/hostname", 0, h5py.h5f.UNLIMITED)])
    elif kind == "huge":
        shape = (rng.choice((10**9, 10**12, 2**62)), *values.shape[1:])
        file.create_dataset(
            name, shape, values.dtype, chunks=(1, *values.shape[1:]), maxshape=(None, *values.shape[1:])
        )
    elif kind == "group":
        file.create_group(name)
    elif kind == "scalar":
        file[name] = 3.0
    elif kind == "soft":
        file[name] = h5py.SoftLink(rng.choice((f"/{name}", "/nowhere", "/state")))
    return kind


def damage_arrays(path: Path, rng: Random) -> str:
    """An array of an .npz file is of another kind or shape; or the file is a single array."""
    if rng.random() < 0.3:
        return damage_bytes(path, rng)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    name = rng.choice(list(arrays))
    values = np.atleast_1d(arrays[name])
    kind = rng.choice(("gone", "dtype", "shape", "objects", "number", "single", "text", "empty", "scalar", "rows"))
    values = np.zeros(len(values)) if values.dtype.kind == "U" else values
    if kind == "gone":
        del arrays[name]
    elif kind == "dtype":
        arrays[name] = values.astype(rng.choice(("float32", "complex64", "bool", "int64", "S3")))
    elif kind == "shape":
        arrays[name] = values.reshape(-1) if rng.random() < 0.5 else values[..., None]
    elif kind == "objects":
        arrays[name] = np.array([{}, []], dtype=object)
    elif kind == "number":
        arrays[name] = values.astype(np.float64) * rng.choice((np.nan, np.inf, 1e300, 1e30, -1e8))
    elif kind == "text":
        arrays[name] = np.array(["a", "b"])
    elif kind == "empty":
        arrays[name] = values[:0]
    elif kind == "scalar":
        arrays[name] = np.array(3.0)
    elif kind == "rows":
        arrays[name] = values[:2]
    if kind == "single":
        with path.open("wb") as stream:
            np.save(stream, values)
    else:
        np.savez(path, **arrays)
    return f"{name}: {kind}"


def damage_packed(path: Path, rng: Random) -> str:
    """An .npz file is packed in another way, says another size than it has, or one of its arrays is damaged."""
    kind = rng.choice(("arrays", "arrays", "arrays", "header", "header", "method", "encrypted", "deep", "bomb"))
    if kind == "arrays":
        return damage_arrays(path, rng)
    with zipfile.ZipFile(path) as packed:
        parts = {item.filename: packed.read(item) for item in packed.infolist()}
    name = rng.choice(list(parts))
    content = bytearray(parts[name])
    if kind == "header":  # what an array says of itself: its shape, its type, and how long that is
        start, end = rng.choice(((0, 12), (10, content.index(b"\n"))))
        for _ in range(rng.choice((1, 2, 8))):
            content[rng.randrange(start, end)] = rng.choice(b"0123456789fiuOSUVc<>|(),'{}:\x00\xff")
    elif kind == "deep":
        content[10:10] = b"[" * 5000
    elif kind == "bomb":
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": (2**28, 2)})
        content = bytearray(stream.getvalue() + bytes(2**20))
    parts[name] = bytes(content)
    how = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(path, "w", how) as packed:
        for part, inside in parts.items():
            packed.writestr(part, inside)
    if kind in ("method", "encrypted"):
        # Where the directory at the end says how each file is packed, or whether it is encrypted.
        whole, mark, place = bytearray(path.read_bytes()), b"PK\x01\x02", 10 if kind == "method" else 8
        at = whole.index(mark) + place
        whole[at] = rng.choice((1, 3, 9, 12, 14, 96))
        path.write_bytes(whole)
    return f"{name}: {kind}"


CELLS = (
    *map(str, NUMBERS[:11]), *WORDS, "nan", "inf", "-inf", "1e400", "1" * 5000, "0x10", "1_000", "\u0661", '"', "'", "=1+1", "1,2", "true",
    "\r", "\u2028", "3.0.1", "2020-01-01",
)  # fmt: skip
NAMES = (
    "",
    "x",
    "t",
    "u",
    "action",
    "episode",
    "reward",
    "terminated",
    "step",
    "class",
    "x²",
    "1",
    "a" * 3000,
    "\x00",
    "[/]",
    '"',
    "{}",
)


def damage_table(path: Path, rng: Random) -> str:
    """A cell, a row or a column of a text table is another one, lost or doubled; or its bytes are damaged."""
    if rng.random() < 0.25:
        return damage_bytes(path, rng)
    text = path.read_text()
    mark = max(",;\t", key=text.count)
    rows = [line.split(mark) for line in text.splitlines()]
    row, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    kind = rng.choice(
        (
            "cell",
            "cell",
            "cell",
            "name",
            "name",
            "column",
            "drop",
            "double",
            "cut",
            "swap",
            "no header",
            "mark",
            "few",
            "quote",
            "wide",
        )
    )
    if kind == "cell":
        rows[row][column] = rng.choice(CELLS)
    elif kind == "name":
        rows[0][column] = rng.choice(NAMES)
    elif kind == "column":
        value = rng.choice(CELLS)
        rows[1:] = [[*line[:column], value, *line[column + 1 :]] for line in rows[1:]]
    elif kind == "drop":
        del rows[row]
    elif kind == "double":
        rows.insert(row, rows[row])
    elif kind == "cut":
        del rows[row][column:]
    elif kind == "swap":
        rows[1:] = rng.sample(rows[1:], len(rows) - 1)
    elif kind == "no header":
        del rows[0]
    elif kind == "few":
        del rows[rng.choice((0, 1, 2, 3, 4)) :]
    elif kind == "quote":
        rows[row][column] = '"' + rows[row][column]
    elif kind == "wide":
        rows = [
            line[: column + 1] + [line[column] if i else f"w{j}" for j in range(200)] for i, line in enumerate(rows)
        ]
    mark = rng.choice(",;\t |") if kind == "mark" else mark
    how = rng.choice(("utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig")) if rng.random() < 0.1 else "utf-8"
    path.write_bytes("\n".join(mark.join(line) for line in rows).encode(how, "surrogatepass"))
    return f"{kind} in row {row}, column {column}"


ARROW = (
    pyarrow.int8(), pyarrow.uint64(), pyarrow.float16(), pyarrow.bool_(), pyarrow.string(), pyarrow.binary(), pyarrow.date32(),
    pyarrow.timestamp("ns"), pyarrow.decimal128(10, 2), pyarrow.duration("s"), pyarrow.null(),
    pyarrow.dictionary(pyarrow.int8(), pyarrow.string()),
)  # fmt: skip


def damage_parquet(path: Path, rng: Random) -> str:
    """A column of a Parquet table is of another type or shape, or not there; or its bytes are damaged."""
    if rng.random() < 0.5:
        return damage_bytes(path, rng)
    table = pyarrow.parquet.read_table(path)
    at = rng.randrange(table.num_columns)
    name, values = table.column_names[at], table.column(at).to_pylist()
    kind = rng.choice(
        (
            "type",
            "type",
            "type",
            "gone",
            "cell",
            "cell",
            "lists",
            "ragged",
            "struct",
            "name",
            "none",
            "few",
            "wide",
            "long",
        )
    )
    column: Any = None
    if kind == "type":
        to = rng.choice(ARROW)
        plain = [value[0] if isinstance(value, list) else value for value in values]
        numbers = pyarrow.array(range(len(plain)))
        column = (
            _tried(lambda: pyarrow.array(plain, to)) or _tried(lambda: numbers.cast(to)) or pyarrow.nulls(len(plain))
        )
    elif kind == "cell":
        row = rng.randrange(len(values))
        wrong = rng.choice((None, float("nan"), float("inf"), 1e300, -1e300, 0.0))
        values[row] = (
            [wrong] * len(values[row])
            if isinstance(values[row], list)
            else None
            if isinstance(values[row], str)
            else wrong
        )
        column = _tried(lambda: pyarrow.array(values))
    elif kind == "lists":
        column = pyarrow.array(
            [rng.choice(([[1.0], [2.0]], [[[]]], [["a"]], [[None]], [[]])) for _ in values[:1]] * len(values)
        )
    elif kind == "ragged":
        column = pyarrow.array([[1.0] * rng.randrange(3) for _ in values])
    elif kind == "struct":
        column = pyarrow.array([{"bytes": b"\xff", "path": "a"}] * len(values))
    elif kind == "none":
        column = pyarrow.nulls(
            len(values), rng.choice((pyarrow.float64(), pyarrow.string(), pyarrow.list_(pyarrow.float64())))
        )
    elif kind == "name":
        table = table.rename_columns(
            [rng.choice(NAMES) if i == at else one for i, one in enumerate(table.column_names)]
        )
    elif kind == "few":
        table = table.slice(0, rng.choice((0, 1, 2, 3)))
    elif kind == "wide":
        column = pyarrow.array([[0.5] * 400] * len(values))
    elif kind == "long":  # a text that is stored once and read thousands of times
        column = pyarrow.DictionaryArray.from_arrays(np.zeros(len(values), np.int32), ["a" * 10**6])
    if kind == "gone":
        table = table.remove_column(at)
    elif column is not None:
        table = table.set_column(at, name, column)
    pyarrow.parquet.write_table(table, path)
    return f"{name}: {kind}"


def _tried(make: Any) -> Any:
    try:
        return make()
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return None
