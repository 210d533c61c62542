"""Rig: a daemon of our own and a lab of guests, for tests on real guests.

Everything lives in one temporary folder and ends with it. Every wait is bounded.
"""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PARAVANE_BUILD", ROOT / "build" / "release"))

CONFIG = """
[api]
socket = "{folder}/api.sock"
[state]
directory = "{folder}/state"
[vfio_user]
socket_directory = "{folder}/vms"
[sandbox]
user = "nobody"
"""


def only_with_all(test):
    """Marks a test that takes long: run.py runs it with --all."""
    @functools.wraps(test)
    def marked(self):
        test(self)
    marked.only_with_all = True
    return marked


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

    def finish(self, timeout=60):
        try:
            output, _ = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, _ = self.process.communicate()
            raise Failed(f"{self.words}: did not end in {timeout} s\n{output}") from None
        return self.process.returncode, output

    def expect_success(self, timeout=60):
        code, output = self.finish(timeout)
        if code != 0:
            raise Failed(f"{self.words}: exit status {code}\n{output}")
        return output


class Rig:
    """One daemon, and guests vm1, vm2, ... at 10.77.0.1, 10.77.0.2, ..."""

    def __init__(self, extra_config=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        (self.folder / "paravaned.toml").write_text(CONFIG.format(folder=self.folder) + extra_config)
        self.daemon = None
        for name in ("", "state", "vms"):
            (self.folder / name).mkdir(exist_ok=True)
            shutil.chown(self.folder / name, "nobody")
        self.overlay = self.folder / "overlay"
        programs = self.overlay / "usr" / "bin"
        programs.mkdir(parents=True)
        for program in (BUILD / "guest").iterdir():
            if program.is_file():
                shutil.copy(program, programs)
        self.start_daemon()

    # ---- the daemon ----

    def start_daemon(self):
        log = (self.folder / "paravaned.log").open("a")
        self.daemon = subprocess.Popen([BUILD / "bin" / "paravaned", "--config", self.folder / "paravaned.toml"],
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("the daemon answers", lambda: self.cli("status", check=False).returncode == 0, 20)

    def engine(self):
        """The files of the daemon's process that serves guests, in /proc."""
        children = pathlib.Path(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children").read_text()
        return pathlib.Path("/proc") / children.split()[0]

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
        return any(v["Name"] == vm and v["State"] != "detached"
                   for v in json.loads(self.cli("--formatter=json", "vm", "list").stdout))

    # ---- guests ----

    def lab(self, *words, timeout=180):
        env = {**os.environ, "LAB_STATE": str(self.folder / "lab"), "LAB_PARAVANE": str(BUILD / "bin" / "paravane"),
               "LAB_API": str(self.folder / "api.sock")}
        done = subprocess.run([ROOT / "lab" / "vm", *words], env=env, capture_output=True, text=True, timeout=timeout,
                              check=False, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Failed(f"lab/vm {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}\n"
                         f"daemon: {self.daemon_log()[-3000:]}")
        return done.stdout

    def up(self, count, *options):
        self.lab("up", str(count), "--overlay", str(self.overlay), *options)

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

    def wait_listening(self, vm, port):
        """Until a TCP port is listened on in a guest."""
        self.shell(vm, f"i=0; until grep -qi ':{port:04X} [0-9A-F:]* 0A' /proc/net/tcp /proc/net/tcp6; do i=$((i+1)); "
                       "[ $i -lt 200 ] || exit 1; sleep 0.1; done")

    def wait_cm_listening(self, vm, port):
        """Until an RDMA CM id listens on a port in a guest."""
        self.shell(vm, f"i=0; until rdma resource show cm_id | grep LISTEN | grep -q ':{port}'; do i=$((i+1)); "
                       "[ $i -lt 200 ] || exit 1; sleep 0.1; done")

    # ---- the end ----

    def close(self):
        try:
            self.lab("down")
        finally:
            if self.daemon and self.daemon.poll() is None:
                self.daemon.terminate()
                try:
                    self.daemon.wait(10)
                except subprocess.TimeoutExpired:
                    self.daemon.kill()
                    self.daemon.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


class Exchange:
    """A program's two ends: a server in one guest, a client in another (or the same)."""

    def __init__(self, rig, server=1, client=2):
        self.rig, self.server, self.client = rig, server, client
        self.address = f"10.77.0.{server}"

    def run(self, server_words, client_words, port=None, cm_port=None, timeout=120):
        """Both must succeed. Returns (server output, client output)."""
        server = self.rig.spawn(self.server, *server_words, timeout=timeout)
        try:
            if port:
                self.rig.wait_listening(self.server, port)
            if cm_port:
                self.rig.wait_cm_listening(self.server, cm_port)
            client = self.rig.spawn(self.client, *client_words, timeout=timeout)
            try:
                code, client_output = client.finish(timeout + 10)
            except Failed as late:
                server.process.kill()
                raise Failed(f"{late}\n{server.words}:\n{server.finish(20)[1]}") from None
            if code != 0:
                server.process.kill()
                _, server_output = server.finish(20)
                raise Failed(f"{client.words}: exit status {code}\n{client_output}\n{server.words}:\n{server_output}\n"
                             f"daemon: {self.rig.daemon_log()[-2000:]}")
            return server.expect_success(30), client_output
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.communicate()
