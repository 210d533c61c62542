"""A daemon of a test's own: its directories, its configuration, its life.

The programs come from PARAVANE_BIN (CTest sets it). Every wait has an end.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ.get("PARAVANE_BIN", "build/release/bin")).resolve()
PATIENCE_S = 60  # nothing takes that long unless it hangs
# Commands that only read.
LISTS = [("vm", "list"), ("vds", "list"), ("portgroup", "list"), ("path", "list"), ("impair", "list"), ("status",), ("stats",),
         ("network", "nic", "list"), ("rdma", "device", "list"), ("network", "ip", "interface", "list"),
         ("network", "firewall", "ruleset", "list"), ("system", "settings", "advanced", "list"), ("events",)]
ENGINE_USER = "nobody"  # who the engine is when root starts the tests


def adapters(vms):
    """A row for each adapter, with what its VM has beside it."""
    return [{**vm, **adapter} for vm in vms for adapter in vm["adapters"]]


def connect(path):
    """A client of a socket file. While the queue before the door is full it waits, within
    PATIENCE_S; with a time-out of Python's it would be turned away (EAGAIN)."""
    client = socket.socket(socket.AF_UNIX)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", PATIENCE_S, 0))
    try:
        client.connect(str(path))
    except OSError:
        client.close()
        raise
    client.settimeout(PATIENCE_S)
    return client


def give(directory):
    """Lets the engine write there."""
    if os.geteuid() == 0:
        shutil.chown(directory, ENGINE_USER)


def wait_for(condition, what, patience_s=PATIENCE_S):
    """Returns the first true answer of `condition`."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"waited {patience_s} s for {what}")


def is_alive(pid):
    """Whether there is such a process that has not ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


HOLDER = "paravane-holder"
RELEASER = "paravane-memory"  # of the memory of an engine that has ended


def children_of(pid):
    """Process ids, the oldest first; of one that has ended none. Holder and releasers are left out."""
    return [child for child in all_children_of(pid) if name_of(child) not in (HOLDER, RELEASER)]


def holder_of(pid):
    return next(child for child in all_children_of(pid) if name_of(child) == HOLDER)


def all_children_of(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kill_daemon(daemon):
    """The keeper, and what ends with it: its engine has its sockets for a moment longer."""
    children = all_children_of(daemon.pid)
    daemon.kill()
    status = daemon.wait(PATIENCE_S)
    for child in children:
        wait_for(lambda child=child: not is_alive(child), "the keeper's children to end")
    return status


def run_cli(api, *words, **more):
    """A command of paravane's, at a daemon's socket. `more`: as of subprocess.run()."""
    # Looking for leaks takes a third of its time, and what a command leaks is gone with it.
    more.setdefault("env", os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    return subprocess.run([str(BIN / "paravane"), "--socket", str(api), *words], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL, **more)


class DaemonTest(unittest.TestCase):
    """Has self.folder, starts daemons in it and ends what is left of them."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.api = self.folder / "api.sock"
        self.state = self.folder / "state"
        self.vms = self.folder / "vms"
        self.config = self.folder / "paravaned.toml"
        self.log = self.folder / "log"
        self.make_directory(self.state)
        self.make_directory(self.vms)
        give(self.folder)
        self.processes = []
        self.addCleanup(self.end_all)
        self.write_config()

    def make_directory(self, directory):
        directory.mkdir()
        give(directory)

    def engine(self, daemon):
        """The process that serves guests."""
        return children_of(daemon.pid)[0]

    def write_config(self, text=""):
        self.config.write_text(
            f'[api]\nsocket = "{self.api}"\n[state]\ndirectory = "{self.state}"\n'
            f'[vfio_user]\nsocket_directory = "{self.vms}"\n'
            f'[sandbox]\nuser = "{ENGINE_USER}"\n{text}')

    def spawn(self, *words, **more):
        """Runs a program until the test ends; its complaints go to the log."""
        with self.log.open("ab") as log:
            process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL,
                                       stdout=log, stderr=log, **more)
        self.processes.append(process)
        return process

    def end_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_S)

    def start(self, *before, env=None, prepare=None, **more):
        """A daemon that answers. `before`: words in front of its command line.
        `prepare`: runs in its process, before it."""
        # In a network of its own: what it makes there goes with it.
        daemon = self.spawn("unshare", "--net", "--", *before, BIN / "paravaned", "--config", self.config,
                            env={**os.environ, **(env or {})}, preexec_fn=prepare, **more)

        def answers():
            self.assertIsNone(daemon.poll(), self.log_text())
            return self.cli("status", check=False).returncode == 0
        wait_for(answers, "the daemon to answer")
        return daemon

    def run_daemon(self, *words):
        """A daemon that is expected to end by itself. Returns (status, complaint)."""
        done = subprocess.run([str(word) for word in words] or
                              [str(BIN / "paravaned"), "--config", str(self.config)],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr + done.stdout

    def stop(self, daemon, number=signal.SIGTERM):
        if number == signal.SIGKILL:
            return kill_daemon(daemon)
        daemon.send_signal(number)
        return daemon.wait(PATIENCE_S)

    def log_text(self):
        return self.log.read_text() if self.log.exists() else ""

    def wait_log(self, text):
        """The log is written by a thread of its own: a command's answer may be there before its line."""
        wait_for(lambda: text in self.log_text(), f"{text} in the log")

    def cli(self, *words, check=True):
        return self.check_cli(run_cli(self.api, *words), words, check)

    def check_cli(self, done, words, check):
        if check:
            self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}\n{self.log_text()}")
        return done

    def refused(self, status, *words):
        """What a command complains about that must fail with this status."""
        done = self.cli(*words, check=False)
        self.assertEqual(done.returncode, status, f"{words}: {done.stderr}")
        self.assertTrue(done.stderr.startswith("paravane: "), done.stderr)
        return done.stderr

    def vm_rows(self):
        return adapters(json.loads(self.cli("vm", "list", "--formatter=json").stdout))

    def vm_names(self):
        return [row["name"] for row in self.vm_rows()]

    def http(self, data):
        """What the API answers to these bytes."""
        with connect(self.api) as client:
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = b""
            try:
                while piece := client.recv(65536):
                    answer += piece
            except ConnectionResetError:
                pass
            return answer
