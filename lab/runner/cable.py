"""A host's cable with faults to order: lab/wire in place of its veth."""

import json

from . import processes
from .wire import Wire

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
        self.wire = Wire(f"{INTERFACE}@{self.host.space}", f"{self.host.name}@{self.bridge.name}", *options)
        host = ["ip", "-n", self.host.space]
        # Its neighbours know it by that.
        processes.run(*host, "link", "set", INTERFACE, "address", mac)
        processes.run(*host, "address", "add", f"{self.host.address}/24", "dev", INTERFACE)
        processes.run("ip", "-n", self.bridge.name, "link", "set", self.host.name, "master", "br0", "up")

    def _mac(self):
        return json.loads(processes.run("ip", "-j", "-n", self.host.space, "link", "show", INTERFACE))[0]["address"]

    def order(self, line):
        """A line of lab/wire's, such as "down" or "loss 1%"; its answer."""
        return self.wire.order(line)

    def counts(self):
        """What happened to frames from the host ("a_to_b") and to it."""
        return self.wire.counts()

    def remove(self):
        """The host has no cable then."""
        if self.wire is None:
            return
        self.wire.end()
        self.wire = None
