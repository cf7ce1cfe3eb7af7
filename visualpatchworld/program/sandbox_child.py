"""The sandbox's child: a process that locks itself in, then answers what one program makes of states and actions."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.ma  # numpy brings it in late, when no file can be opened any more

from visualpatchworld.program.sandbox_lanes import LanesStep, UnfitForLanes, fit_for_lanes, together
from visualpatchworld.program.sandbox_lock import allow_cpu, lock
from visualpatchworld.program.sandbox_modules import OWN_MODULE, lanes_builtins, plain_builtins

NUM_COMPARED = 8  # lanes of every batch that are also run alone; where the two differ, the program runs one state at a time
MOST_FAILURES_TOLD = 8
LONGEST_SENTENCE = 300
NUMBERS = (float, int, np.float64)


@dataclass
class Loaded:
    """A program made runnable: plain, and over lanes where it is fit for that."""

    state_type: Any
    step: Any
    lanes: LanesStep | None


def serve() -> None:
    """The child's life: lock, say what is locked, then answer jobs until the parent is gone."""
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever writes to stdout must not mix with the answers
    protections = lock(int(sys.argv[1]), int(sys.argv[2]))
    _write(answers, {"protections": protections})
    loaded: Loaded | None = None
    while line := jobs.readline():
        job = json.loads(line)
        allow_cpu(job["cpu_s"])
        try:
            if job["do"] == "load":
                loaded = load(job["text"], job["fields"], job["action_dim"])
                _write(answers, {"fit_for_lanes": loaded.lanes is not None})
            else:
                assert loaded is not None
                states, actions = (_read(jobs, shape) for shape in job["shapes"])
                after, told = advance(loaded, states, actions)
                _write(answers, {"shape": after.shape, **told}, after.tobytes())
        except MemoryError:
            _write(answers, {"error": "MemoryError: it asked for more memory than it may have", "line": None})
        except Exception as error:
            _write(answers, {"error": told_of(error), "line": line_of(error)})


def load(text: str, fields: list[str], action_dim: int) -> Loaded:
    """The program of this text, checked against the contract on one state."""
    module = ast.parse(text)
    plain = _namespace(module, plain_builtins())
    state_type, step = plain.get("State"), plain.get("step")
    if state_type is None or step is None:
        raise TypeError(f"the program defines no '{'State' if state_type is None else 'step'}'")
    if tuple(getattr(state_type, "_fields", ()))[: len(fields)] != tuple(fields):
        raise TypeError(f"State must begin with the fields {', '.join(fields)}")
    loaded = Loaded(state_type, step, None)
    with np.errstate(all="ignore"):
        advanced(loaded, _with_hidden(loaded, np.full(len(fields), 0.5)), np.zeros(action_dim))
    if fit_for_lanes(module):
        over_lanes = _namespace(module, lanes_builtins())
        loaded.lanes = together(over_lanes["step"], over_lanes["State"])
    return loaded


def advance(loaded: Loaded, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """The observed states (H, N, S) after each of H actions (H, N, A), begun at N states; NaN from where a lane failed."""
    num_seen = states.shape[1]
    current = np.stack([_with_hidden(loaded, state) for state in states], axis=1)
    seen = np.full((len(actions), len(states), num_seen), np.nan)
    alive, failures, num_together = np.ones(len(states), bool), {}, 0
    for t, action in enumerate(actions):
        lanes = np.flatnonzero(alive)
        after, undone = _together(loaded, current[:, lanes], action[lanes].T)
        num_together += int((~undone).sum())
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            for i in np.flatnonzero(undone).tolist():
                try:
                    after[:, i] = advanced(loaded, current[:, lanes[i]], action[lanes[i]])
                except Exception as error:
                    alive[lanes[i]] = False
                    failures.setdefault(int(lanes[i]), sentence(error))
        current[:, lanes] = after
        seen[t, alive] = current[:num_seen, alive].T
    told = dict(list(failures.items())[:MOST_FAILURES_TOLD])
    return seen, {"failures": told, "num_failed": len(failures), "num_together": num_together}


def _together(loaded: Loaded, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lanes done together, and a mask of those that are still to be done alone."""
    none_done = np.full_like(states, np.nan), np.ones(states.shape[1], bool)
    if loaded.lanes is None or states.shape[1] == 0:
        return none_done
    try:
        after, undone = loaded.lanes(states, actions)
        for i in sorted(set(np.linspace(0, states.shape[1] - 1, NUM_COMPARED).astype(int))):
            if not undone[i] and not np.allclose(advanced(loaded, states[:, i], actions[:, i]), after[:, i], 1e-9, 1e-9, equal_nan=True):
                raise UnfitForLanes("alone and together differ")
    except Exception:
        loaded.lanes = None
        return none_done
    return after, undone


def advanced(loaded: Loaded, state: np.ndarray, action: np.ndarray) -> np.ndarray:
    """One state one step later, checked to be a State of real numbers."""
    after = loaded.step(loaded.state_type(*state.tolist()), action.copy())
    if not isinstance(after, loaded.state_type):
        raise TypeError(f"step must return a State, not {type(after).__name__}")
    for name, value in zip(loaded.state_type._fields, after, strict=True):
        # The usual types first: asking numpy for a shape takes longer than most programs do.
        if type(value) not in NUMBERS and (isinstance(value, (str, complex)) or np.shape(value) != ()):
            raise TypeError(f"step returns '{name}' as {_kind(value)}, not a number")
    return np.array(after, dtype=np.float64)


def _kind(value: Any) -> str:
    return f"an array of shape {np.shape(value)}" if np.shape(value) else f"a {type(value).__name__}"


def _with_hidden(loaded: Loaded, state: np.ndarray) -> np.ndarray:
    """The state with the fields that nobody observes at their defaults."""
    return np.array(loaded.state_type(*state.tolist()), dtype=np.float64)


def _namespace(module: ast.Module, builtins: Mapping[str, Any]) -> dict[str, Any]:
    for node in ast.walk(module):
        for alias in node.names if isinstance(node, ast.Import) else ():
            alias.asname, alias.name = alias.asname or alias.name.split(".")[0], alias.name.replace("jax.numpy", "numpy")
    namespace: dict[str, Any] = {"__name__": OWN_MODULE, "__builtins__": builtins}
    exec(compile(module, "program", "exec"), namespace)
    return namespace


def sentence(error: BaseException) -> str:
    """An error of one state, with the program's line that it came through."""
    line = line_of(error)
    return told_of(error) if line is None else f"line {line}: {told_of(error)}"


def told_of(error: BaseException) -> str:
    """An error in one short line."""
    return f"{type(error).__name__}: {' '.join(str(error)[: 2 * LONGEST_SENTENCE].split())}"[:LONGEST_SENTENCE]


def line_of(error: BaseException) -> int | None:
    """The innermost line of the program that an error came through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_globals.get("__name__") == OWN_MODULE else line
        trace = trace.tb_next
    return line


def _read(stream: BinaryIO, shape: list[int]) -> np.ndarray:
    return np.frombuffer(stream.read(8 * int(np.prod(shape))), np.float64).reshape(shape)


def _write(stream: BinaryIO, answer: Mapping[str, Any], payload: bytes = b"") -> None:
    stream.write(json.dumps(answer).encode() + b"\n" + payload)
    stream.flush()
