"""NativeRig: a host of Paravane with one VM, whose port group has native RoCE, and a machine that knows nothing of Paravane: a
guest in an Ethernet of its own, with Linux's rdma_rxe on its NIC. A cable joins the two Ethernets: a plain one, or lab/wire."""
import contextlib
import json
import sys

import guest_facts
from fault_rig import Tally
from guests import ROOT, Guests
from hosts_rig import HostsRig
from rig import Exchange

sys.path.insert(0, str(ROOT / "lab"))
from runner import processes  # noqa: E402  (the line above makes it importable)
from runner.bridge import NOT_TO_IPTABLES  # noqa: E402
from runner.wire import Wire  # noqa: E402
from runner.host import UPLINK, guest_mac  # noqa: E402

CABLE = "eth1"         # the machine's end of it
HERE, THERE = "h1", "machine"  # the ports of the bridge between the two
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"


class NativeRig(HostsRig):
    """The numbers of both guests make their addresses; the VM has a device vmw_pvrdma0, the machine rxe0."""

    def __init__(self, vm=1, machine=2, mtu=1500, **more):
        """`more`: as of HostsRig."""
        self.vm, self.machine, self.mtu = vm, machine, mtu
        self.devices = {vm: "vmw_pvrdma0", machine: "rxe0"}
        self.wire = None
        super().__init__(1, **more)
        self.other = Guests(self.folder / "machine", self.overlay)
        self.other.folder.mkdir()
        (self.other.folder / "paravaned.log").touch()  # it has no daemon

    def up(self, *options, wire=None):
        """Boots both, with these words of lab/vm's. `wire`: the cable is a lab/wire with these options."""
        host = self.lab.hosts[0]
        words = ["--overlay", str(self.overlay), "--mtu", str(self.mtu), *options]
        self.other.lab("up", "1", "--first", str(self.machine), "--no-rdma", *words)
        self.space = self.other.lab("netns").strip()
        self.connect(wire)
        self.set_mtu(self.mtu)
        host.paravane("portgroup", "create", "native", "--vds", "lan", "--roce", "native")
        host.paravane("vm", "add", f"vm{self.vm}", "--mac", guest_mac(self.vm), "--port-group", "native")
        self.hosts[0].lab("up", "1", "--first", str(self.vm), *words)
        self.start_rxe()
        if self.vm == 1:
            guest_facts.note(self, options)

    def connect(self, wire):
        ethernet = self.lab.ethernet
        if wire is None:
            ethernet.join(THERE, self.space, CABLE)
        else:
            self.wire = Wire(f"{CABLE}@{self.space}", f"{THERE}@{ethernet.name}", *wire)
            processes.run("ip", "-n", ethernet.name, "link", "set", THERE, "master", "br0", "up")
            processes.run("ip", "netns", "exec", self.space, "sh", "-c", NOT_TO_IPTABLES)
        processes.run("ip", "-n", self.space, "link", "set", CABLE, "master", "br0", "up")

    def set_mtu(self, mtu):
        """Of all that is between the guests: their taps, bridges and the cable. Their NICs have their own."""
        host, ethernet = self.lab.hosts[0], self.lab.ethernet.name
        for space, interface in ((host.space, UPLINK), (ethernet, HERE), (ethernet, THERE), (ethernet, "br0"),
                                 (self.space, CABLE), (self.space, f"tap{self.machine}"), (self.space, "br0")):
            processes.run("ip", "-n", space, "link", "set", interface, "mtu", str(mtu))
        host.paravane("vds", "set", "lan", "--mtu", str(mtu))

    def start_rxe(self):
        self.shell(self.machine, "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0")

    # ---- as a HostsRig ----

    def host_of(self, vm):
        return self.other if vm == self.machine else self.hosts[0]

    def sends(self, vm):
        return self.rxe_counters()["rdma_sends"] if vm == self.machine else self.stats(vm)["sends"]

    # ---- traffic ----

    def exchange(self, server, client, *words, timeout=120):
        """A program of rdma-core or perftest at both ends, each with its own device. Returns what they said."""
        exchange = Exchange(self, server=server, client=client)
        return exchange.run([words[0], "-d", self.devices[server], *words[1:]],
                            [words[0], "-d", self.devices[client], *words[1:], exchange.address], timeout=timeout, port=18515)

    def rping(self, server, client, count=20):
        exchange = Exchange(self, server=server, client=client)
        common = ["rping", "-v", "-V", "-C", str(count), "-S", "5000", "-a", exchange.address]
        return exchange.run([*common, "-s"], [*common, "-c"], cm_port=7174)

    def tally(self, server, client, *seconds, **more):
        return Tally(self, server, client, *seconds, **more)

    def rxe_counters(self):
        """What Linux counts for the machine's device."""
        lines = self.shell(self.machine, f"cd {COUNTERS} && grep . *").splitlines()
        return {name: int(value) for name, value in (line.split(":") for line in lines)}

    def paths(self):
        """Of the VM's connections: (path, why)."""
        rows = self.lab.hosts[0].paravane("--formatter=json", "path", "list").stdout
        return [(row["path"], row["why"]) for row in json.loads(rows)]

    def close(self):
        with contextlib.ExitStack() as each:  # the last first, whatever became of it
            each.callback(super().close)
            if hasattr(self, "other"):
                each.callback(self.other.lab, "down")
            if self.wire:
                each.callback(self.wire.end)
