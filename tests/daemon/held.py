"""Threads of a daemon that are held while the others run."""

import ctypes
import os
import pathlib

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
STOP_WHEN_EXECUTING, EXECUTED = 0x10, 4  # PTRACE_O_TRACEEXEC, PTRACE_EVENT_EXEC
WAIT_FOR_THREAD = 0x40000000  # __WALL

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request, thread, data=None):
    if LIBC.ptrace(request, thread, None, data) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Held:
    """Stops a thread while it lasts."""

    def __init__(self, thread):
        self.thread, self.is_over = thread, False

    def __enter__(self):
        ptrace(SEIZE, self.thread)
        ptrace(INTERRUPT, self.thread)
        os.waitpid(self.thread, WAIT_FOR_THREAD)
        return self

    def __exit__(self, *_):
        if not self.is_over:
            ptrace(DETACH, self.thread)

    def wait_end(self):
        """Of its process, whose end is not seen by others before."""
        os.waitpid(self.thread, WAIT_FOR_THREAD)
        self.is_over = True


class HeldWhenExecuting:
    """A process runs until it executes a program, and stands before that one's first instruction while this lasts."""

    def __init__(self, process):
        self.process = process

    def __enter__(self):
        ptrace(SEIZE, self.process, STOP_WHEN_EXECUTING)
        return self

    def wait_held(self):
        _, status = os.waitpid(self.process, WAIT_FOR_THREAD)
        if not os.WIFSTOPPED(status) or status >> 16 != EXECUTED:
            raise AssertionError(f"status {status:#x} instead of an executed program")

    def __exit__(self, *_):
        ptrace(DETACH, self.process)


def worker_of(engine):
    for thread in os.listdir(f"/proc/{engine}/task"):
        if pathlib.Path(f"/proc/{engine}/task/{thread}/comm").read_text().strip() == "worker":
            return int(thread)
    raise AssertionError("no thread is called worker")
