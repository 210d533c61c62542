"""Processes that outlive the command which started them.

A process id alone may belong to somebody else after a while; it is kept with the
process's start time, and only a process that has both is ever signalled.
"""

import contextlib
import os
import signal
import subprocess
import time

from .errors import LabError


def start_time(pid):
    """The kernel's start time of a process, None if it is gone (or a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def remember(path, pid):
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(f"{pid} {start_time(pid)}\n")
    os.replace(path + ".new", path)


@contextlib.contextmanager
def held_back():
    """What would end us between a process's start and the note of it waits for the end of this block."""
    seen = []
    before = {number: signal.signal(number, lambda received, _: seen.append(received))
              for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in seen[:1]:
            signal.raise_signal(number)


def start(path, command, **options):
    """Starts a process that outlives us, and remembers it in `path`."""
    with held_back():
        # Its own session: a Ctrl-C at the terminal is for lab/vm, not for what it started.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                   start_new_session=True, **options)
        remember(path, process.pid)


def recall(path):
    """The process id in `path` if that very process still runs, else None."""
    try:
        with open(path, encoding="ascii") as file:
            pid, started = file.read().split()
    except (OSError, ValueError):
        return None
    return int(pid) if start_time(int(pid)) == started else None


def send(path, number):
    """Signals the remembered process. Returns whether there was one."""
    pid = recall(path)
    if pid is None:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def wait_gone(path, seconds):
    limit = time.monotonic() + seconds
    while recall(path) is not None:
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    reap(path)
    return True


def children(pid, name):
    """What a process has started that has this name (15 characters of it)."""
    found = []
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            pids = file.read().split()
        for child in pids:
            with contextlib.suppress(OSError), open(f"/proc/{child}/comm", encoding="utf-8", errors="replace") as file:
                if file.read().strip() == name[:15]:
                    found.append(int(child))
    return found


def reap(path):
    """If the remembered process was our child and has ended, nothing stays of it. Nobody else's
    child is touched: whoever uses us may wait for some of its own."""
    with contextlib.suppress(OSError, ValueError):
        with open(path, encoding="ascii") as file:
            os.waitpid(int(file.read().split()[0]), os.WNOHANG)


def stop(path, seconds=10):
    """SIGTERM, then SIGKILL. Returns when the process is gone."""
    if send(path, signal.SIGTERM) and not wait_gone(path, seconds):
        kill(path, seconds)


def kill(path, seconds=10):
    """SIGKILL. Returns when the process is gone, or was gone before."""
    send(path, signal.SIGKILL)
    if not wait_gone(path, seconds):
        raise LabError(f"process {recall(path)}", "does not end after SIGKILL",
                       "look at it with ps; the kernel may hold it")


def run(*command, check=True):
    """A short command of the host; its complaint becomes our error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=60, stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise LabError(" ".join(command), (done.stderr or done.stdout).strip(),
                       "the lab needs root and a kernel with network namespaces, bridge and tun")
    return done.stdout
