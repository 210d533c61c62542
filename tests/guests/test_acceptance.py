"""VMware's acceptance sequence for PVRDMA, with our commands: switch and port group; tag and firewall rule, read back; an adapter
hot-added to a VM that runs, one new device with an active port; a second VM likewise; rping between them; all of it undone."""
import unittest

from guests import wait_for
from guide_hosts import GuideHosts

CONFIG = """
[cluster]
address = "10.78.0.{number}"
[network]
uplinks = ["eth1"]
[vfio_user]
group = "kvm"
"""
TAG = "/Net/PVRDMAVmknic"


class AcceptanceSequence(unittest.TestCase):
    """Two hosts, a VM each, which runs before it has the adapter in question; its first one is on no network."""

    def test_from_an_empty_switch_to_rping_and_back(self):
        self.rig = GuideHosts(2)
        self.addCleanup(self.rig.close)
        self.h1, self.h2 = self.rig.machines
        self.start_hosts()
        self.make_switch()
        self.tag_and_open()
        for host in self.rig.machines:
            self.add_vm_without(host)
        for host in self.rig.machines:
            self.hot_add(host)
        self.ping()
        self.undo()

    def start_hosts(self):
        for host in self.rig.machines:
            host.write("/etc/paravane/paravaned.toml", CONFIG.format(number=host.number))
            host.must("paravane daemon stop && systemctl start paravaned")
        self.h1.must("paravane cluster init")
        self.h2.must("ssh h1 paravane cluster token h2 | paravane cluster join")

    def make_switch(self):
        self.h1.must("paravane vds create lan && paravane portgroup create rdma --vds lan")
        for host in self.rig.machines:
            self.h1.must(f"paravane vds add-host lan {host.name} --uplink eth1")
        for host in self.rig.machines:
            wait_for("the switch is there", lambda host=host: [port["Client"] for port in self.ports(host)] == ["vmnic1"], 20)

    def ports(self, host):
        switches = host.rows("network", "vswitch", "dvs", "vmware", "list")
        return switches[0]["DVPort"] if switches else []

    def tag_and_open(self):
        for host in self.rig.machines:
            self.assertEqual((self.tag_of(host), self.is_open(host)), ("", False))
            host.must(f"paravane network ip interface add -i vmk1 -p rdma && paravane network ip interface ipv4 set -i vmk1 "
                      f"-t static -I 192.168.12.{host.number} -N 255.255.255.0")
            host.must(f"esxcli system settings advanced set -o {TAG} -s vmk1 && esxcli network firewall ruleset set -e true -r pvrdma")
            self.assertEqual((self.tag_of(host), self.is_open(host)), ("vmk1", True))
        wait_for("a channel", lambda: self.channel(self.h1, self.h2) == "encrypted", 20)

    @staticmethod
    def tag_of(host):
        return host.rows("system", "settings", "advanced", "list", "-o", TAG)[0]["StringValue"]

    @staticmethod
    def is_open(host):
        return host.rows("network", "firewall", "ruleset", "list", "-r", "pvrdma")[0]["Enabled"]

    @staticmethod
    def channel(host, to):
        return next(one["channel"] for one in host.rows("cluster", "status")["hosts"] if one["name"] == to.name)

    def add_vm_without(self, host):
        host.must(f"paravane vm add vm{host.number} --memory 512M")
        self.rig.prepare_vms(host)
        host.must(f"paravane vm start vm{host.number}")
        self.rig.note_started()

    def hot_add(self, host):
        vm = host.number
        self.rig.shell(vm, "modprobe vmw_pvrdma", timeout=90)
        before = self.devices(vm)
        host.must(f"paravane vm adapter add vm{vm} --port-group rdma")
        self.rig.shell(vm, "i=0; until [ -e /sys/class/net/eth1 ]; do i=$((i+1)); [ $i -lt 200 ] || exit 1; sleep 0.1; done; "
                           f"ip link set eth1 up && ip address add 10.77.0.{vm}/24 dev eth1")
        new = wait_for("a new device", lambda: self.devices(vm) - before, 20)
        self.assertEqual(new, {"vmw_pvrdma1"})
        wait_for("PORT_ACTIVE", lambda: "PORT_ACTIVE" in self.rig.guest(vm, "ibv_devinfo", "-d", "vmw_pvrdma1"), 20)
        self.assertEqual(self.devices(vm) - before, new)
        added = next(one for one in host.rows("vm", "list")[0]["adapters"] if one["number"] == 2)
        self.assertEqual((added["number"], added["state"], added["port_group"], added["problem"]), (2, "active", "rdma", ""))
        self.assertIn(f"vm{vm}.eth1", [port["Client"] for port in self.ports(host)])

    def devices(self, vm):
        return set(self.rig.guest(vm, "ls", "/sys/class/infiniband").split())

    def ping(self):
        server = self.rig.spawn(1, "rping", "-s", "-C", "20", "-v", timeout=60)
        try:
            self.rig.wait_cm_listening(1, 7174)
            text = self.rig.guest(2, "rping", "-c", "-a", "10.77.0.1", "-C", "20", "-v", "-V")
            self.assertEqual(text.count("ping data: rdma-ping-"), 20)
            server.expect_success(20)
        finally:
            server.end()

    def undo(self):
        """In the order in which it was done, backwards; each is seen to be undone."""
        for host in self.rig.machines:
            vm = f"vm{host.number}"
            host.must(f"paravane vm stop {vm} --timeout 60")
            self.assertEqual({row["power"] for row in host.rows("vm", "list")}, {"off"})
            host.must(f"paravane vm adapter remove {vm} 2")
            self.assertEqual([one["number"] for one in host.rows("vm", "list")[0]["adapters"]], [1])
        self.h1.must("esxcli network firewall ruleset set -e false -r pvrdma")
        self.assertFalse(self.is_open(self.h1))
        for one, other in (self.h1, self.h2), (self.h2, self.h1):
            wait_for("no channel", lambda one=one, other=other: self.channel(one, other) == "none", 20)
        for host in self.rig.machines:
            host.must(f"esxcli system settings advanced set -o {TAG} -d && esxcli network firewall ruleset set -e false -r pvrdma")
            self.assertEqual((self.tag_of(host), self.is_open(host)), ("", False))
            self.assertNotIn("2825", host.must("ss -H -l -n -t"))
            host.must("paravane network ip interface remove -i vmk1")
        for host in self.rig.machines:
            self.h1.must(f"paravane vds remove-host lan {host.name}")
        self.h1.must("paravane portgroup delete rdma && paravane vds delete lan")
        for host in self.rig.machines:
            wait_for("no switch", lambda host=host: not host.rows("network", "vswitch", "dvs", "vmware", "list"), 20)
            links = host.must("ip -br link")
            self.assertNotRegex(links, "pvs-|pv-|vmk")


if __name__ == "__main__":
    unittest.main()
