"""The sandbox's child: a process that locks itself in, then answers what one program makes of states and actions."""

from __future__ import annotations

import ast
import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import numpy.ma  # numpy brings it in late, when no file can be opened any more

from visualpatchworld.program.sandbox_modules import (
    OWN_MODULE,
    LanesStep,
    UnfitForLanes,
    fit_for_lanes,
    lanes_builtins,
    plain_builtins,
    together,
)

CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 4, 38, 22, 2
ALLOW, DENY, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # a call that is denied fails with EPERM

# What a process needs that only computes and answers over pipes it already has: no file is opened, nothing is started
# or signalled.
NEEDED_CALLS = {
    "x86_64": (
        0xC000003E,
        {
            "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12,
            "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "select": 23, "sched_yield": 24, "mremap": 25, "madvise": 28,
            "exit": 60, "gettimeofday": 96, "getrusage": 98, "times": 100, "sigaltstack": 131, "futex": 202, "restart_syscall": 219,
            "clock_gettime": 228, "exit_group": 231, "prlimit64": 302, "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "close": 57, "lseek": 62, "read": 63, "write": 64, "fstat": 80, "exit": 93, "exit_group": 94, "futex": 98,
            "clock_gettime": 113, "sched_yield": 124, "restart_syscall": 128, "sigaltstack": 132, "rt_sigaction": 134,
            "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153, "getrusage": 165, "gettimeofday": 169, "brk": 214, "munmap": 215,
            "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "prlimit64": 261, "getrandom": 278,
        },
    ),
}  # fmt: skip


def lock(memory_mb: int, parent: int | None = None) -> list[str]:
    """Lock this process in and name every protection that is now active; what the machine does not allow is left out.

    It ends at once where the parent is no longer this process.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    active = ["own process group", "empty environment", "folder without a name", "closed descriptors"]
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) == 0:
        active.append("own network namespace")
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0:
        active.append("ends with its parent")
    if parent is not None and os.getppid() != parent:
        os._exit(1)  # it was gone before it could be watched
    active += _limit(memory_mb)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        active.append("no new privileges")
        if _filter_calls(libc):
            active.append("system call filter")
    return active


def allow_cpu(seconds: float) -> None:
    """From now on this process may use so many seconds of processor time before it is ended."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _limit(memory_mb: int) -> list[str]:
    size = memory_mb * 2**20
    num_open = max(int(name) for name in os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 8
    limits = {
        "memory": (resource.RLIMIT_AS, size),
        "no file grows": (resource.RLIMIT_FSIZE, 0),
        "no new descriptor": (resource.RLIMIT_NOFILE, num_open),
        "no new process": (resource.RLIMIT_NPROC, 0),
        "no core dump": (resource.RLIMIT_CORE, 0),
    }
    for kind, value in limits.values():
        resource.setrlimit(kind, (value, value))
    return [f"limit: {name}" for name in limits] + ["limit: processor time"]


def _filter_calls(libc: ctypes.CDLL) -> bool:
    """Let the kernel refuse every system call that computing does not need."""
    if platform.machine() not in NEEDED_CALLS:
        return False
    architecture, calls = NEEDED_CALLS[platform.machine()]
    code = _filter_program(architecture, sorted(calls.values()), calls["prlimit64"])
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    return libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0) == 0


def _filter_program(architecture: int, calls: list[int], prlimit: int) -> bytes:
    """A BPF program over struct seccomp_data: number at 0, architecture at 4, first argument at 16."""
    load, jump_equal, answer = 0x20, 0x15, 0x06

    def line(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    lines = [line(load, 0, 0, 4), line(jump_equal, 1, 0, architecture), line(answer, 0, 0, KILL), line(load, 0, 0, 0)]
    # Limits of this process may be set, of another they may not.
    lines += [
        line(jump_equal, 0, 4, prlimit),
        line(load, 0, 0, 16),
        line(jump_equal, 0, 1, 0),
        line(answer, 0, 0, ALLOW),
    ]
    lines += [line(answer, 0, 0, DENY)]
    for call in calls:
        if call != prlimit:
            lines += [line(jump_equal, 0, 1, call), line(answer, 0, 0, ALLOW)]
    return b"".join([*lines, line(answer, 0, 0, DENY)])


# Lanes of every batch that are also run alone; where the two differ, the program runs one state at a time.
NUM_COMPARED = 8
MOST_FAILURES_TOLD = 8
LONGEST_SENTENCE = 300
NUMBERS = (float, int, np.float64)


@dataclass
class Loaded:
    """A program made runnable: plain, and over lanes where it is fit for that.

    A step gives a state, or where the whole world was asked for, a state and what comes with it (`life_of`).
    """

    state_type: Any
    step: Any
    result_type: Any
    defined: dict[str, Any]  # all that the program's text defines
    lanes: LanesStep | None = None

    @property
    def num_fields(self) -> int:
        return len(self.state_type._fields)


WORLD = ("reward", "terminated", "valid")  # what comes with a step, if the program says it


def life_of(namespace: Mapping[str, Any]) -> tuple[Any, Any]:
    """A step with its reward, whether it ended, and whether the laws were seen to hold there; and its type.

    A program without a reward earns nothing, one without an end never ends, and one without bounds always holds.
    """
    step = namespace["step"]
    reward, terminated, valid = (namespace.get(name) for name in WORLD)
    lived = namedtuple("lived", [f"value_{i}" for i in range(len(namespace["State"]._fields) + len(WORLD))])

    def live(state: Any, action: Any) -> Any:
        after = step(state, action)
        if not isinstance(after, namespace["State"]):
            raise TypeError(f"step must return a State, not {type(after).__name__}")
        earned = 0.0 if reward is None else reward(state, action, after)
        ended = False if terminated is None else terminated(after)
        return lived(*after, earned, ended, True if valid is None else valid(after))

    return live, lived


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
                defines = [name for name in WORLD if name in loaded.defined]
                _write(answers, {"fields": loaded.state_type._fields, "defines": defines})
            elif job["do"] in ("read", "observe"):
                assert loaded is not None
                rows = converted(loaded, job["do"], _read(jobs, job["shapes"][0]))
                _write(answers, {"width": rows.shape[1]}, rows.tobytes())
            else:
                assert loaded is not None
                states, actions = (_read(jobs, shape) for shape in job["shapes"])
                after, told = advance(loaded, states, actions)
                _write(answers, {"shape": after.shape, **told}, after.tobytes())
        except MemoryError:
            _write(answers, {"error": "MemoryError: it asked for more memory than it may have", "line": None})
        except Exception as error:
            _write(answers, {"error": told_of(error), "line": line_of(error)})


def load(text: str, fields: list[str] | None, action_dim: int) -> Loaded:
    """The program of this text, checked against the contract on one state; its whole world where no fields are told."""
    module = ast.parse(text)
    plain = _namespace(module, plain_builtins())
    state_type, step = plain.get("State"), plain.get("step")
    if state_type is None or step is None:
        raise TypeError(f"the program defines no '{'State' if state_type is None else 'step'}'")
    own = tuple(getattr(state_type, "_fields", ()))
    if not own or own[: len(fields or ())] != tuple(fields or ()):
        raise TypeError(f"State must begin with the fields {', '.join(fields or ('of the world',))}")

    def stepping(namespace: Mapping[str, Any]) -> tuple[Any, Any]:
        return life_of(namespace) if fields is None else (namespace["step"], namespace["State"])

    loaded = Loaded(state_type, *stepping(plain), plain)
    with np.errstate(all="ignore"):
        seen = np.full(len(own if fields is None else fields), 0.5)
        advanced(loaded, _with_hidden(loaded, seen), np.zeros(action_dim))
    if fit_for_lanes(module):
        over_lanes = _namespace(module, lanes_builtins())
        step, result_type = stepping(over_lanes)
        loaded.lanes = together(step, over_lanes["State"], result_type)
    return loaded


def converted(loaded: Loaded, how: str, rows: np.ndarray) -> np.ndarray:
    """States (N, S) that observations (N, O) show, or observations of states; a program that does not say how
    shows the fields without a default.
    """
    convert, own = loaded.defined.get(how), loaded.state_type
    shown = [name for name in own._fields if name not in own._field_defaults]
    found = []
    for row in rows:
        if how == "read":
            result = own(*row.tolist()) if convert is None else convert(row.copy())
        else:
            state = own(*row.tolist())
            result = [getattr(state, name) for name in shown] if convert is None else convert(state)
        found.append([float(value) for value in result])
    return np.array(found, dtype=np.float64).reshape(len(rows), -1)


def advance(loaded: Loaded, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
    """The observed states (H, N, S) after each of H actions (H, N, A), begun at N states, and what comes
    with each step where the whole world was asked for; NaN from where a lane failed.
    """
    whole = loaded.result_type is not loaded.state_type
    num_seen = len(loaded.result_type._fields) if whole else states.shape[1]
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
        current[:, lanes] = after[: loaded.num_fields]
        kept = alive[lanes]
        seen[t, lanes[kept]] = after[:num_seen, kept].T
    told = dict(list(failures.items())[:MOST_FAILURES_TOLD])
    return seen, {"failures": told, "num_failed": len(failures), "num_together": num_together}


def _together(loaded: Loaded, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lanes done together, and a mask of those that are still to be done alone."""
    none_done = np.full((len(loaded.result_type._fields), states.shape[1]), np.nan), np.ones(states.shape[1], bool)
    if loaded.lanes is None or states.shape[1] == 0:
        return none_done
    try:
        after, undone = loaded.lanes(states, actions)
        for i in sorted(set(np.linspace(0, states.shape[1] - 1, NUM_COMPARED).astype(int))):
            if not undone[i] and not np.allclose(
                advanced(loaded, states[:, i], actions[:, i]), after[:, i], 1e-9, 1e-9, equal_nan=True
            ):
                raise UnfitForLanes("alone and together differ")
    except Exception:
        loaded.lanes = None
        return none_done
    return after, undone


def advanced(loaded: Loaded, state: np.ndarray, action: np.ndarray) -> np.ndarray:
    """One state one step later, checked to be a State of real numbers."""
    after = loaded.step(loaded.state_type(*state.tolist()), action.copy())
    if not isinstance(after, loaded.result_type):
        raise TypeError(f"step must return a State, not {type(after).__name__}")
    names = (*loaded.state_type._fields, *(WORLD if loaded.result_type is not loaded.state_type else ()))
    for name, value in zip(names, after, strict=True):
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
            alias.asname, alias.name = (
                alias.asname or alias.name.split(".")[0],
                alias.name.replace("jax.numpy", "numpy"),
            )
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
