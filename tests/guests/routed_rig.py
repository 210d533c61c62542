"""RoutedRig: two subnets with a router between them, each a switch of the host and an Ethernet at its uplink. The VM of a NativeRig is
in the near one, and its machine in the far one; further VMs are where they are added."""
from native_rig import THERE, CABLE, NativeRig
from runner import processes  # native_rig makes it importable
from runner.bridge import Bridge
from runner.host import guest_mac
from runner.router import LAST, Router

NEAR, FAR = "10.77.0", "10.79.0"  # the subnets
FAR_UPLINK = "eth2"


class RoutedRig(NativeRig):
    def __init__(self, vm=1, machine=2):
        self.subnet_of = {vm: NEAR, machine: FAR}
        self.far, self.router = None, None
        super().__init__(vm, machine, prepare=self.join_far)
        self.router = Router(f"{self.lab.digest}-router")
        self.router.add({self.lab.ethernet: NEAR, self.far: FAR})

    def join_far(self, host):
        self.far = Bridge(f"{self.lab.digest}-far")
        self.far.add()
        self.far.join(host.name, host.space, FAR_UPLINK)
        host.uplinks.append(FAR_UPLINK)

    def connect(self, wire):
        self.far.join(THERE, self.space, CABLE)
        processes.run("ip", "-n", self.space, "link", "set", CABLE, "master", "br0", "up")

    def set_mtu(self, mtu):
        """All is as the kernel makes it: 1500."""

    def up(self, *options, wire=None):
        super().up(*options, wire=wire)
        host = self.lab.hosts[0]
        host.paravane("vds", "create", "far")
        host.paravane("vds", "add-host", "far", host.name, "--uplink", FAR_UPLINK)
        for guest in (self.vm, self.machine):
            self.move(guest)

    def move(self, guest):
        """Gives the guest its address in its subnet, and its gateway."""
        other = FAR if self.subnet_of[guest] == NEAR else NEAR
        self.shell(guest, f"ip -4 address flush dev eth0; ip address add {self.address_of(guest)}/24 dev eth0; "
                          f"ip route add {other}.0/24 via {self.subnet_of[guest]}.{LAST}")

    def add_vm(self, number, subnet, *words):
        """Another VM on the host; `words`: of `paravane vm add`."""
        self.subnet_of[number], self.devices[number] = subnet, "vmw_pvrdma0"
        self.lab.hosts[0].paravane("vm", "add", f"vm{number}", "--mac", guest_mac(number), *words)
        self.hosts[0].lab("up", "1", "--first", str(number), "--overlay", str(self.overlay))
        self.move(number)

    def address_of(self, vm):
        return f"{self.subnet_of[vm]}.{vm}"

    def close(self):
        super().close()
        for one in self.router, self.far:
            if one:
                one.remove()
