"""StrangersRig: two hosts of Paravane that are in no cluster together, with a VM on each, whose port group has native RoCE: to each
other they are machines like any. A cable joins the Ethernets of their uplinks."""
import contextlib

from hosts_rig import HostsRig
from runner import processes  # hosts_rig makes it importable
from runner.host import guest_mac

NATIVE = "native"  # the port group
CABLE = "cable"    # both its ends


class StrangersRig(HostsRig):
    """The guests are 1 and 2, each with a device vmw_pvrdma0."""

    def __init__(self):
        self.other = None
        super().__init__(1)
        try:
            self.other = HostsRig(1)
        except BaseException:
            self.close()
            raise
        self.places = {1: (self.lab, self.hosts[0]), 2: (self.other.lab, self.other.hosts[0])}

    def up(self, *options):
        """`options`: lab/vm up's."""
        here, there = self.lab.ethernet, self.other.lab.ethernet
        here.join(CABLE, there.name, CABLE)
        processes.run("ip", "-n", there.name, "link", "set", CABLE, "master", "br0", "up")
        for number, (lab, guests) in self.places.items():
            lab.hosts[0].paravane("portgroup", "create", NATIVE, "--vds", "lan", "--roce", "native")
            lab.hosts[0].paravane("vm", "add", f"vm{number}", "--mac", guest_mac(number), "--port-group", NATIVE)
            guests.lab("up", "1", "--first", str(number), "--overlay", str(self.overlay), *options)

    def set_roce(self, state):
        """`native`, or `off`: then the guests' own NICs have the RoCE packets."""
        for lab, _ in self.places.values():
            lab.hosts[0].paravane("portgroup", "set", NATIVE, "--roce", state)

    def host_of(self, vm):
        return self.places[vm][1]

    def close(self):
        with contextlib.ExitStack() as each:  # whatever becomes of one
            each.callback(super().close)
            if self.other:
                each.callback(self.other.close)
