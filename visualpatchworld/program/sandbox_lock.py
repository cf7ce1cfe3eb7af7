"""Locking a process in: limits, namespaces and a system call filter, as much as this machine allows; only the child imports this."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct

CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 4, 38, 22, 2
ALLOW, DENY, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # a call that is denied fails with EPERM

# What a process needs that only computes and answers over pipes it already has: no file is opened, nothing is started or signalled.
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
    lines += [line(jump_equal, 0, 4, prlimit), line(load, 0, 0, 16), line(jump_equal, 0, 1, 0), line(answer, 0, 0, ALLOW)]
    lines += [line(answer, 0, 0, DENY)]
    for call in calls:
        if call != prlimit:
            lines += [line(jump_equal, 0, 1, call), line(answer, 0, 0, ALLOW)]
    return b"".join([*lines, line(answer, 0, 0, DENY)])
