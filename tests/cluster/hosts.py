"""Hosts of a cluster on one machine, without VMs: a daemon in a network namespace each,
joined by veth through a bridge that lies in one more.

Needs root. The namespaces have no names: they end with the processes that hold them.
"""

import atexit
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from etcd_request import ask_etcd

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from rig import BIN, ENGINE_USER, PATIENCE_S, children_of, give, kill_daemon, wait_for  # noqa: E402  pylint: disable=wrong-import-position

LEASE_S = 15  # how long a host counts when it is gone (inventory/member.h)


class Namespace:
    """A network namespace, held by a process that sleeps."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        atexit.register(self.close)
        own = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, "a namespace")
        self.run("ip", "link", "set", "lo", "up")

    def words(self, *words):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *[str(word) for word in words]]

    def run(self, *words):
        subprocess.run(self.words(*words), check=True, timeout=PATIENCE_S)

    def close(self):
        self.holder.kill()
        self.holder.wait(PATIENCE_S)


class Wire:
    """The bridge between the hosts."""

    def __init__(self):
        self.space = Namespace()
        # An address of its own: a bridge takes the lowest of its ports' otherwise, and changes it when one
        # joins, so that who has talked to it talks to nobody for seconds.
        self.space.run("ip", "link", "add", "br0", "address", "02:00:00:00:00:01", "type", "bridge")
        self.space.run("ip", "link", "set", "br0", "up")

    def join(self, space, name, address, inside="eth0"):
        """Gives a namespace an interface at the bridge; without an address it has none."""
        self.space.run("ip", "link", "add", name, "type", "veth", "peer", "name", inside,
                       "netns", str(space.holder.pid))
        self.space.run("ip", "link", "set", name, "master", "br0", "up")
        if address:
            space.run("ip", "address", "add", f"{address}/24", "dev", inside)
        space.run("ip", "link", "set", inside, "up")

    def cut(self, name):
        self.space.run("ip", "link", "set", name, "down")

    def mend(self, name):
        self.space.run("ip", "link", "set", name, "up")


class Host:
    """A daemon, its directories and its place on the wire."""

    def __init__(self, test, number, cluster="", programs=BIN):
        """`programs`: the folder of its paravaned and paravane."""
        self.test, self.name, self.address = test, f"h{number}", f"10.77.0.{number}"
        self.programs = programs
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"paravane-{self.name}-"))
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.api, self.log = self.folder / "api.sock", self.folder / "log"
        self.state, self.vms = self.folder / "state", self.folder / "vms"
        self.config = self.folder / "paravaned.toml"
        self.clock = self.folder / "clock"
        for directory in (self.state, self.vms):
            directory.mkdir()
            give(directory)
        give(self.folder)
        self.space = Namespace()
        test.addCleanup(self.space.close)
        test.wire.join(self.space, self.name, self.address)
        self.daemon = None
        test.addCleanup(self.end)
        self.write_config(cluster)

    def write_config(self, cluster="", address=True):
        self.config.write_text(
            f'[api]\nsocket = "{self.api}"\n[state]\ndirectory = "{self.state}"\n'
            f'[vfio_user]\nsocket_directory = "{self.vms}"\n[sandbox]\nuser = "{ENGINE_USER}"\n'
            "[cluster]\n" + (f'address = "{self.address}"\n' if address else "") + cluster)

    def start(self, env=None):
        with self.log.open("ab") as log:
            self.daemon = subprocess.Popen(
                self.space.words("env", *[f"{name}={value}" for name, value in (env or {}).items()],
                                 self.programs / "paravaned", "--config", self.config),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def answers():
            assert self.daemon.poll() is None, self.log_text()
            return self.cli("status", check=False).returncode == 0
        wait_for(answers, f"the daemon of {self.name}")
        return self

    def set_clock(self, offset_s):
        """Of its daemon, if it was started with clock_environment(). In place: it has the file mapped."""
        if not self.clock.exists():
            self.clock.write_bytes(struct.pack("q", 0))
            self.clock.chmod(0o644)
        with self.clock.open("r+b") as file:
            file.write(struct.pack("q", offset_s))

    def clock_environment(self):
        """For a clock that can be shifted."""
        return {"LD_PRELOAD": os.environ["PARAVANE_CLOCK_OFFSET"], "CLOCK_OFFSET_FILE": str(self.clock)}

    def end(self, kill=False):
        if self.daemon is None:
            return None
        daemon, self.daemon = self.daemon, None
        if kill:
            return kill_daemon(daemon)
        daemon.terminate()
        return daemon.wait(PATIENCE_S)

    def log_text(self):
        return self.log.read_text() if self.log.exists() else ""

    def wait_log(self, text):
        """The log is written by a thread of its own: a command's answer may be there before its line."""
        wait_for(lambda: text in self.log_text(), f"{text} in the log of {self.name}")

    def cli(self, *words, check=True, text=None, programs=None):
        """`programs`: the folder of another paravane than its own."""
        done = subprocess.run([str((programs or self.programs) / "paravane"), "--socket", str(self.api), *words], check=False,
                              input=text or "", capture_output=True, text=True, timeout=PATIENCE_S)
        if check:
            self.test.assertEqual(done.returncode, 0, f"{words}: {done.stderr}\n{self.log_text()}")
        return done

    def refused(self, *words, text=None, programs=None):
        """What a command complains about that must fail."""
        done = self.cli(*words, check=False, text=text, programs=programs)
        self.test.assertEqual(done.returncode, 1, f"{words}: {done.stderr}\n{done.stdout}")
        self.test.assertRegex(done.stderr, r"(?s)^paravane: .+\n  \S")  # with a remedy
        return done.stderr

    def status(self):
        return json.loads(self.cli("cluster", "status", "--formatter=json").stdout)

    def present(self):
        """The names of the hosts that it sees."""
        return [host["name"] for host in self.status().get("hosts", []) if host["present"]]

    def channel(self, to):
        """As its operator sees it: the state of the channel to a host, and why it is not there."""
        seen = [one for one in self.status().get("hosts", []) if one["name"] == to.name]
        return (seen[0]["channel"], seen[0]["channel_problem"]) if seen else ("", "it is not listed")

    def open_channel(self):
        """As an operator opens it: at the management network's interface."""
        self.cli("system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic", "-s", "vmk0")
        self.cli("network", "firewall", "ruleset", "set", "-e", "true", "-r", "pvrdma")

    def connected(self):
        return self.status()["connected"]

    def token(self, host, *more):
        return self.cli("cluster", "token", host, *more).stdout.strip()

    def file(self, name):
        return self.state / "cluster" / name

    def children(self):
        """Process ids by program name, of the keeper's children. Of several the oldest: one that is to be
        etcd is called as the keeper at first."""
        named = {}
        for child in children_of(self.daemon.pid):
            try:
                named.setdefault(pathlib.Path(f"/proc/{child}/comm").read_text().strip(), child)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
        return named

    def etcd(self, path, *bodies, **who):
        """Asks etcd as an intruder in this host's engine could."""
        return ask_etcd(self.space.words(), self.state / "cluster", path, *bodies, **who)


class ClusterTest(unittest.TestCase):
    """Has self.wire and makes hosts."""

    HOST = Host

    def setUp(self):
        self.wire = Wire()
        self.addCleanup(self.wire.space.close)

    def cluster(self, count, cluster="", channels=True):
        """So many hosts, of which the first has the authority and runs etcd."""
        hosts = [self.HOST(self, number + 1, cluster).start() for number in range(count)]
        for host in hosts if channels else []:
            host.open_channel()
        hosts[0].cli("cluster", "init", "--name", hosts[0].name)
        for host in hosts[1:]:
            host.cli("cluster", "join", text=hosts[0].token(host.name) + "\n")
        names = sorted(host.name for host in hosts)
        for host in hosts:
            wait_for(lambda host=host: host.present() == names, f"{host.name} to see all")
        return hosts
