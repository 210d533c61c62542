"""The processes of a stage: what it started, what that started, and how all of it ends.

A stage runs under a supervisor, in a session of its own. Whatever is left behind by a program
of the stage becomes the supervisor's child (a "subreaper", prctl(2)), so that all of a stage is
one tree: its processor time is known, and nothing of it outlives it. The supervisor waits for
each at once, as init does: a program that waits for a daemon's end must not wait for a zombie's.
"""
import ctypes
import os
import pathlib
import resource
import signal
import threading
import time

PATIENCE_S = 2  # what was told to end may need a moment
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


def send_all(pids, number):
    for pid in pids:
        send(pid, number)


class Worker:
    """The process that runs a stage's function and starts its programs."""

    def __init__(self):
        self._is_ending = False
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.signal(signal.SIGTERM, self._on_signal)
        # Caught, not ignored: what is ignored stays so in the programs that a stage starts.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _on_signal(self, *_):
        self._is_ending = True

    def refuse_when_ending(self):
        if self._is_ending:
            raise Ending


class Supervisor:
    """This process as a stage's. SIGTERM ends it with all that it started, a second one at once."""

    def __init__(self):
        os.setsid()  # a Ctrl-C at the terminal is for the check, which tells its stages
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)  # nor does a stage outlive a check that was killed
        self._worker = 0
        self._told, self._hurry, self._is_over = threading.Event(), threading.Event(), threading.Event()
        self._ender = threading.Thread(target=self._end_all, daemon=True)

    def run(self, function):
        """Runs function(worker) in a process of its own. Returns the names of what that left running, which is
        ended."""
        self._worker = os.fork()  # the signals are still blocked (checks/lanes.py)
        if self._worker == 0:
            try:
                function(Worker())
            finally:
                os._exit(0)
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        while os.waitpid(-1, 0)[0] != self._worker:
            pass
        self._is_over.set()
        return self._end_the_rest()

    def _on_signal(self, *_):
        if self._told.is_set():
            self._hurry.set()
        else:
            self._told.set()
            self._ender.start()

    def _programs(self):
        """{process: (its parent, its group)} of all below but the worker."""
        found = {}
        for child, parent in descendants(os.getpid()).items():
            if child != self._worker and (fields := _fields(child)):
                found[child] = parent, int(fields[2])
        return found

    def _end_all(self):
        """As Ctrl-C does, to which programs of the lab listen: they end what they made. Daemons and guests, whose
        starters are gone, are asked one by one."""
        end, asked = time.monotonic() + GRACE_S, set()
        send(self._worker, signal.SIGTERM)  # starts no more
        os.killpg(os.getpgrp(), signal.SIGINT)
        send_all([one for one, (parent, group) in self._programs().items() if parent == self._worker and group != os.getpgrp()],
                 signal.SIGINT)  # timeout(1) makes a group
        while (left := self._programs()) and time.monotonic() < end and not self._hurry.is_set():
            orphans = {one for one, (parent, group) in left.items() if parent == os.getpid() and group != os.getpgrp()} - asked
            asked |= orphans
            send_all(orphans, signal.SIGTERM)
            time.sleep(0.1)
        end = time.monotonic() + 10
        while (left := self._programs()) and time.monotonic() < end:
            send_all(left, signal.SIGKILL)
            time.sleep(0.02)
        if not self._is_over.wait(10):  # it computes, or waits for something that is not below it
            send(self._worker, signal.SIGKILL)

    def _end_the_rest(self):
        patience = time.monotonic() + PATIENCE_S
        names, killed = set(), False
        while self._reap():
            if time.monotonic() > patience or self._told.is_set():
                left = list(self._programs())
                names |= set() if killed else {name_of(one) for one in left}
                killed = True
                send_all(left, signal.SIGKILL)
            time.sleep(0.02)
        return sorted(names)

    @staticmethod
    def _reap():
        """Whether there are any still."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0] > 0:
                pass
            return True
        except ChildProcessError:
            return False
