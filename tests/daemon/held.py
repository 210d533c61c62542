"""Threads of a daemon that are held while the others run."""

import ctypes
import os
import pathlib

SEIZE, INTERRUPT, CONTINUE, DETACH, MESSAGE = 0x4206, 0x4207, 7, 17, 0x4201
STOP_WHEN_EXECUTING, EXECUTED = 0x10, 4  # PTRACE_O_TRACEEXEC, PTRACE_EVENT_EXEC
STOP_WHEN_THREADS_BEGIN, THREAD_BEGAN = 0x8, 3  # PTRACE_O_TRACECLONE, PTRACE_EVENT_CLONE
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


class HeldWhenThreadsBegin:
    """A process stands when it has begun a thread, if it is to, until this is over."""

    def __init__(self, process):
        self.process, self.has_ended = process, False

    def __enter__(self):
        ptrace(SEIZE, self.process, STOP_WHEN_THREADS_BEGIN)
        return self

    def wait_held(self, is_time):
        """At the first thread when that is true."""
        while True:
            _, status = os.waitpid(self.process, WAIT_FOR_THREAD)
            if not os.WIFSTOPPED(status):
                raise AssertionError(f"ended with status {status:#x}")
            if status >> 16 == THREAD_BEGAN:
                self.let_go_of_thread()
                if is_time():
                    return
            signal = 0 if status >> 16 else os.WSTOPSIG(status)
            ptrace(CONTINUE, self.process, signal)

    def let_go_of_thread(self):
        thread = ctypes.c_ulong()
        ptrace(MESSAGE, self.process, ctypes.addressof(thread))
        os.waitpid(thread.value, WAIT_FOR_THREAD)
        ptrace(DETACH, thread.value)

    def wait_end(self):
        """Of the process, whose end is not seen by others before."""
        os.waitpid(self.process, WAIT_FOR_THREAD)
        self.has_ended = True

    def __exit__(self, kind, *_):
        if self.has_ended:
            return
        try:
            ptrace(DETACH, self.process)
        except ProcessLookupError:
            if kind is None:
                raise


def worker_of(engine):
    for thread in os.listdir(f"/proc/{engine}/task"):
        if pathlib.Path(f"/proc/{engine}/task/{thread}/comm").read_text().strip() == "worker":
            return int(thread)
    raise AssertionError("no thread is called worker")
