"""A host's cable with faults to order: lab/wire in place of its veth."""

import json
import os
import subprocess

from . import processes
from .errors import LabError
from .places import lab_folder

INTERFACE = "eth0"


class Cable:
    """Between a host and the bridge that joins the hosts. The host keeps its addresses."""

    def __init__(self, bridge, host):
        """`bridge`: its Bridge; `host`: the Host, which has been joined to it."""
        self.bridge, self.host, self.wire = bridge, host, None

    def insert(self, *options):
        """`options`: of lab/wire. What was connected is silent for a moment and goes on."""
        mac = self._mac()
        processes.run("ip", "-n", self.bridge.name, "link", "delete", self.host.name)
        self.wire = subprocess.Popen(
            [os.path.join(lab_folder(), "wire"), f"{INTERFACE}@{self.host.space}",
             f"{self.host.name}@{self.bridge.name}", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.wire.stdout.readline() != "ready\n":
            raise LabError("lab/wire", "did not start", "see its complaint above")
        host = ["ip", "-n", self.host.space]
        # Its neighbours know it by that.
        processes.run(*host, "link", "set", INTERFACE, "address", mac)
        processes.run(*host, "address", "add", f"{self.host.address}/24", "dev", INTERFACE)
        processes.run("ip", "-n", self.bridge.name, "link", "set", self.host.name, "master", "br0", "up")

    def _mac(self):
        return json.loads(processes.run("ip", "-j", "-n", self.host.space, "link", "show", INTERFACE))[0]["address"]

    def order(self, line):
        """A line of lab/wire's, such as "down" or "loss 1%"; its answer."""
        self.wire.stdin.write(line + "\n")
        self.wire.stdin.flush()
        answer = self.wire.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise LabError(f"lab/wire: {line}", answer or "it has ended", "see lab/wire --help")
        return answer

    def counts(self):
        """What happened to frames from the host ("a_to_b") and to it."""
        return json.loads(self.order("counts"))

    def remove(self):
        """The host has no cable then."""
        if self.wire is None:
            return
        self.wire.terminate()
        self.wire.communicate(timeout=10)
        self.wire = None
