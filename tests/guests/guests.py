"""Guests: the guests of one host and its daemon, for tests on real guests.

All of a host's is in one folder: the daemon's API socket and log, and the lab of its guests.
Every wait is bounded.
"""
import json
import os
import pathlib
import shutil
import subprocess
import time

import guest_facts

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PARAVANE_BUILD", ROOT / "build" / "release"))
PEER_FAILED_S = 10


class Failed(AssertionError):
    """A command did not do what it should; the text holds its output."""


def wait_for(what, condition, timeout=30.0, interval=0.05):
    """Waits until condition() is true and returns its value."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"waited {timeout} s in vain: {what}")
        time.sleep(interval)


class Running:
    """A command that runs in a guest."""

    def __init__(self, process, words):
        self.process, self.words = process, words

    def finish(self, timeout=60, peer=None):
        """(exit status, output). What waits for a `peer` whose guest was reset hears nothing of
        it: once that has failed, this has PEER_FAILED_S left."""
        end = time.monotonic() + timeout
        while True:
            try:
                output, _ = self.process.communicate(timeout=max(0, min(1, end - time.monotonic())))
                return self.process.returncode, output
            except subprocess.TimeoutExpired:
                now = time.monotonic()
            if peer and peer.process.poll():
                end = min(end, now + PEER_FAILED_S)
            if now >= end:
                self.process.kill()
                output, _ = self.process.communicate()
                why = "when its peer had failed" if peer and peer.process.poll() else f"in {timeout} s"
                raise Failed(f"{self.words}: did not end {why}\n{output}")

    def end(self):
        """Kills it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def expect_success(self, timeout=60):
        code, output = self.finish(timeout)
        if code != 0:
            raise Failed(f"{self.words}: exit status {code}\n{output}")
        return output


def make_overlay(folder):
    """A folder there with what guests get beside their own files: programs of ours."""
    overlay = folder / "overlay"
    programs = overlay / "usr" / "bin"
    programs.mkdir(parents=True)
    for program in (BUILD / "guest").iterdir():
        if program.is_file():
            shutil.copy(program, programs)
    return overlay


def engine_of(daemon):
    """The files of the daemon's process that serves guests, in /proc."""
    children = [pathlib.Path("/proc") / pid for pid in pathlib.Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()]
    return next(child for child in children if (child / "comm").read_text().strip() == "paravaned")  # another is etcd


class Guests:
    """Guests vm1, vm2, ... at 10.77.0.1, 10.77.0.2, ... and the daemon that they have."""

    def __init__(self, folder, overlay, environment=None):
        """`environment`: more of lab/vm's."""
        self.folder, self.overlay, self.environment = folder, overlay, environment or {}

    # ---- as a HostsRig, of one host ----

    @property
    def hosts(self):
        return [self]

    def host_of(self, _vm):
        """The guests of a guest's host."""
        return self

    def address_of(self, vm):
        return f"10.77.0.{vm}"

    def wait_known(self):
        """Until every host knows where all guests are."""

    # ---- the daemon ----

    def daemon_log(self):
        return (self.folder / "paravaned.log").read_text()

    def cli(self, *words, check=True):
        done = subprocess.run([BUILD / "bin" / "paravane", "--socket", self.folder / "api.sock", *words],
                              capture_output=True, text=True, timeout=30, check=False)
        if check and done.returncode != 0:
            raise Failed(f"paravane {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def stats(self, vm, adapter=1):
        """Every number that the daemon keeps for an adapter of a VM, by its name."""
        adapters = json.loads(self.cli("--formatter=json", "stats", "--vm", vm).stdout)["vms"]
        report = next(one for one in adapters if one["adapter"] == adapter)
        return {counter["name"]: counter["value"] for group in [*report["groups"], report["objects"]]
                for counter in group["counters"]}

    def attached(self, vm):
        """Whether a VMM is attached to a VM's socket."""
        return any(v["name"] == vm and any(one["state"] != "detached" for one in v["adapters"])
                   for v in json.loads(self.cli("--formatter=json", "vm", "list").stdout))

    # ---- guests ----

    def lab(self, *words, timeout=180):
        env = {**os.environ, "LAB_STATE": str(self.folder / "lab"), "LAB_PARAVANE": str(BUILD / "bin" / "paravane"),
               "LAB_API": str(self.folder / "api.sock"), **self.environment}
        done = subprocess.run([ROOT / "lab" / "vm", *words], env=env, capture_output=True, text=True, timeout=timeout,
                              check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"lab/vm {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}\n"
                         f"daemon: {self.daemon_log()[-3000:]}")
        return done.stdout

    def up(self, count, *options):
        self.lab("up", str(count), "--overlay", str(self.overlay), *options)
        guest_facts.note(self, options)

    def spawn(self, vm, *words, timeout=300):
        """Starts a command in a guest and returns at once."""
        env = {**os.environ, "LAB_STATE": str(self.folder / "lab")}
        process = subprocess.Popen([ROOT / "lab" / "vm", "run", "--timeout", str(timeout), str(vm), "--", *words], env=env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return Running(process, f"vm{vm}: {' '.join(words)}")

    def guest(self, vm, *words, timeout=60):
        """Runs a command in a guest; returns its output; fails unless it succeeds."""
        return self.spawn(vm, *words, timeout=timeout).expect_success(timeout + 10)

    def shell(self, vm, script, timeout=60):
        return self.guest(vm, "sh", "-c", script, timeout=timeout)

    def wait_listening(self, vm, *ports):
        """Until TCP ports are listened on in a guest."""
        self.shell(vm, "".join(f"i=0; until grep -qi ':{port:04X} [0-9A-F:]* 0A' /proc/net/tcp /proc/net/tcp6; do i=$((i+1)); "
                               "[ $i -lt 200 ] || exit 1; sleep 0.1; done\n" for port in ports))

    def wait_cm_listening(self, vm, port):
        """Until an RDMA CM id listens on a port in a guest."""
        self.shell(vm, f"i=0; until rdma resource show cm_id | grep LISTEN | grep -q ':{port}'; do i=$((i+1)); "
                       "[ $i -lt 200 ] || exit 1; sleep 0.1; done")
