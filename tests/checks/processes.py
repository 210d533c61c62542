"""The processes of a stage: what it started, what that started, and how all of it ends.

A stage is a process with a session of its own. Whatever is left behind by a program that it
started becomes its child (a "subreaper", prctl(2)), so that all of a stage is one tree: its
processor time is known, and nothing of it outlives it.
"""
import ctypes
import os
import pathlib
import resource
import signal
import threading
import time

GRACE_S = 20  # for programs that end what they made: guests, namespaces, daemons
SIGNALS = {signal.SIGINT, signal.SIGTERM}  # that end a run
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class Ending(Exception):
    """The run was interrupted: nothing more is started."""


def _prctl(option, value):
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def processor_seconds():
    """Of this process and all that it waited for."""
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def _fields(pid):
    """What /proc says of a process after its name: state, parent, group, session, ...; None if it is gone."""
    try:
        return (pathlib.Path("/proc") / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def name_of(pid):
    try:
        return (pathlib.Path("/proc") / str(pid) / "comm").read_text(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return "?"


def descendants(pid):
    """{process: its parent} of all that run below a process; not what has ended and is not yet waited for."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _fields(entry)):
            parents[int(entry)] = (fields[0], int(fields[1]))
    found, layer = {}, {pid}
    while layer:
        layer = {one for one, (_, parent) in parents.items() if parent in layer and one not in found}
        found.update({one: parents[one][1] for one in layer})
    return {one: parent for one, parent in found.items() if parents[one][0] not in "ZX"}


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has just ended


def bury_orphans():
    """Waits for those that have ended, so that their processor time is counted."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def kill_all(limit_s=10):
    """All that runs below this process. Whatever loses its parent becomes our child, so none gets away."""
    end = time.monotonic() + limit_s
    while (left := descendants(os.getpid())) and time.monotonic() < end:
        for one in left:
            send(one, signal.SIGKILL)
        time.sleep(0.02)


class StageProcess:
    """This process as a stage. SIGTERM ends it with all that it started, a second one at once."""

    def __init__(self):
        os.setsid()  # a Ctrl-C at the terminal is for the check, which tells its stages
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # nor does it outlive a check that was killed
        self._told, self._hurry = threading.Event(), threading.Event()
        self._ender = threading.Thread(target=self._end_all, daemon=True)
        signal.signal(signal.SIGTERM, self._on_signal)
        # Caught, not ignored: what is ignored stays so in the programs that a stage starts.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # as checks/lanes.py started us

    def _on_signal(self, *_):
        if self._told.is_set():
            self._hurry.set()
        else:
            self._told.set()
            self._ender.start()

    def refuse_when_ending(self):
        if self._told.is_set():
            raise Ending

    def _end_all(self):
        """As Ctrl-C does, to which programs of the lab listen: they end what they made. Those that their
        parents left behind are asked one by one."""
        end, asked = time.monotonic() + GRACE_S, set()
        os.killpg(os.getpgrp(), signal.SIGINT)
        for child in self._children_where(lambda group, _: group != os.getpgrp()):  # timeout(1) makes a group
            send(child, signal.SIGINT)
        while descendants(os.getpid()) and time.monotonic() < end and not self._hurry.is_set():
            for child in self._children_where(lambda _, session: session != os.getpid()):
                if child not in asked:
                    asked.add(child)
                    send(child, signal.SIGTERM)
            time.sleep(0.1)
        kill_all()

    @staticmethod
    def _children_where(condition):
        """Our own, of whose group and session something is true."""
        fields = {child: _fields(child) for child, parent in descendants(os.getpid()).items() if parent == os.getpid()}
        return [child for child, some in fields.items() if some and condition(int(some[2]), int(some[3]))]

    def end(self):
        """The stage is over. Returns the names of what it left running, which is ended."""
        if self._told.is_set():
            self._ender.join(GRACE_S + 15)
        patience = time.monotonic() + 2  # what was told to end may need a moment
        while (left := descendants(os.getpid())) and time.monotonic() < patience:
            time.sleep(0.05)
        names = sorted({name_of(one) for one in left})
        if left:
            kill_all()
        bury_orphans()
        return names
