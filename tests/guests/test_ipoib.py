"""VMs of two hosts whose switch has a port of an InfiniBand adapter as its uplink: their Ethernet goes by IPoIB over cables, and
RDMA beside it. The section numbers are those of Mellanox's guide."""
import re
import unittest

import test_traffic
from guests import wait_for
from ipoib_rig import MTU, VLANS, IpoibRig
from rig import Exchange

IPERF_BYTES = 16 << 20


class Ipoib(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = IpoibRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up("--layer", "switch")  # a guest may tag its frames
        cls.exchange = Exchange(cls.rig, server=1, client=2)
        for vm in 1, 2:
            cls.rig.shell(vm, f"ip link set {cls.interface(vm)} mtu {MTU}")

    @classmethod
    def interface(cls, vm):
        return re.search(r"^\d+: (\S+) .* 10\.77\.0\.", cls.rig.guest(vm, "ip", "-4", "-o", "address"), re.M)[1]

    @classmethod
    def finds(cls, vm, address, *words):
        """Whether an address answers a guest."""
        text = cls.rig.shell(vm, f"ping -c 1 -W 2 {' '.join(map(str, words))} {address} || true")
        return " 0% packet loss" in text

    def wait_found(self, vm, address, *words):
        wait_for(f"{address} to answer vm{vm}", lambda: self.finds(vm, address, *words), 60)

    def set_group(self, vm, group):
        self.rig.host_of(vm).cli("vm", "set", f"vm{vm}", "--port-group", group)

    def test_M4_4_2_vms_of_two_hosts_reach_each_other_by_both_families(self):
        for host in self.rig.lab.hosts:
            self.assertIn("vmnic32", host.paravane("network", "nic", "list").stdout)
        for vm, other in (1, 2), (2, 1):
            before = self.rig.counters(self.rig.lab.host_of(vm))["frames_sent"]
            self.wait_found(vm, self.rig.address_of(other))
            self.assertGreater(self.rig.counters(self.rig.lab.host_of(vm))["frames_sent"], before)
        link_local = re.search(r"inet6 (fe80::\S+)/64", self.rig.guest(1, "ip", "-6", "-o", "address", "show", "dev", self.interface(1)))[1]
        self.wait_found(2, f"{link_local}%{self.interface(2)}")

    def test_M4_4_2_a_stream_of_tcp_arrives(self):
        self.wait_found(2, self.rig.address_of(1))
        sender = self.rig.lab.host_of(2)
        before = self.rig.counters(sender)["bytes_sent"]
        server = self.rig.spawn(1, "iperf3", "--server", "--one-off")
        self.rig.wait_listening(1, 5201)
        text = self.rig.guest(2, "iperf3", "--client", self.rig.address_of(1), "--bytes", str(IPERF_BYTES), timeout=120)
        self.assertRegex(text, r"receiver")
        server.expect_success(60)
        # iperf3 ends when its kernel has taken all bytes; some never leave it.
        wait_for("the uplink to have counted it", lambda: self.rig.counters(sender)["bytes_sent"] - before > IPERF_BYTES // 2)

    def test_M4_4_2_rdma_beside_it(self):
        """The connection manager's own packets ask for addresses over the uplink; the bytes go by the channel."""
        self.wait_found(2, self.rig.address_of(1))
        for vm in 1, 2:
            self.rig.shell(vm, "ip neigh flush all")
        test_traffic.rping(self.exchange)
        test_traffic.ucmatose(self.exchange)
        before = self.rig.stats(2)["sends"]
        self.exchange.run(["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-n", "1000"],
                          ["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-n", "1000", self.rig.address_of(1)], port=18515)
        self.assertGreater(self.rig.stats(2)["sends"], before + 900)

    def test_M4_4_2_4_a_vlan_is_a_partition_and_others_do_not_hear_it(self):
        first, second = self.rig.hosts
        for vlan in VLANS:
            first.cli("portgroup", "create", f"lan-{vlan}", "--vds", "lan", "--vlan", str(vlan))
        wait_for("h2 to hear of the port groups", lambda: f"lan-{VLANS[-1]}" in second.cli("portgroup", "list").stdout, 30)
        for vm in 1, 2:
            self.addCleanup(self.set_group, vm, "rdma")
            self.set_group(vm, f"lan-{VLANS[0]}")
        self.wait_found(1, self.rig.address_of(2))
        # As the guide has it.
        said = self.rig.shell(1, f"busybox arping -I {self.interface(1)} {self.rig.address_of(2)} -c 1")
        self.assertIn("Received 1 response", said)
        test_traffic.rping(self.exchange)
        self.set_group(2, f"lan-{VLANS[1]}")
        wait_for("vm2 to be out of reach", lambda: not self.finds(1, self.rig.address_of(2)), 30)
        self.assertFalse(self.finds(2, self.rig.address_of(1)))
        self.set_group(1, f"lan-{VLANS[1]}")
        self.wait_found(1, self.rig.address_of(2))

    def test_M4_4_2_4_a_vm_that_tags_its_frames_is_in_each_vlan(self):
        """Virtual guest tagging: vm2 has an interface for each VLAN, vm1 a port group for one at a time."""
        first, second = self.rig.hosts
        for vlan in VLANS:
            first.cli("portgroup", "create", f"tagged-{vlan}", "--vds", "lan", "--vlan", str(vlan))
        first.cli("portgroup", "create", "guests", "--vds", "lan", "--vlan", "4095")
        wait_for("h2 to hear of the port groups", lambda: "guests" in second.cli("portgroup", "list").stdout, 30)
        for vm in 1, 2:
            self.addCleanup(self.set_group, vm, "rdma")
        self.set_group(2, "guests")
        near, far = self.interface(1), self.interface(2)
        self.rig.shell(1, f"ip address add 192.0.2.1/24 dev {near}")
        self.addCleanup(self.rig.shell, 1, f"ip address delete 192.0.2.1/24 dev {near}")
        self.rig.guest(2, "modprobe", "8021q")
        for vlan, other in VLANS, VLANS[::-1]:
            with self.subTest(vlan=vlan):
                self.rig.shell(2, f"ip link add link {far} name {far}.{vlan} type vlan id {vlan}; ip address add 192.0.2.2/24 dev {far}.{vlan}; "
                                  f"ip link set {far}.{vlan} up")
                self.set_group(1, f"tagged-{vlan}")
                self.wait_found(1, "192.0.2.2")
                self.wait_found(2, "192.0.2.1")
                self.set_group(1, f"tagged-{other}")
                wait_for("vm1 to be out of reach", lambda: not self.finds(2, "192.0.2.1"), 30)
                self.rig.shell(2, f"ip link delete {far}.{vlan}")

    def test_M4_4_2_5_jumbo_frames_and_a_guest_that_wants_none(self):
        self.wait_found(2, self.rig.address_of(1), "-M", "do", "-s", MTU - 28)
        self.assertFalse(self.finds(2, self.rig.address_of(1), "-M", "do", "-s", MTU - 27))
        self.rig.shell(2, f"ip link set {self.interface(2)} mtu 1500")
        self.addCleanup(self.rig.shell, 2, f"ip link set {self.interface(2)} mtu {MTU}")
        self.assertTrue(self.finds(2, self.rig.address_of(1), "-M", "do", "-s", 1500 - 28))
        self.assertFalse(self.finds(2, self.rig.address_of(1), "-M", "do", "-s", 1500 - 27))


if __name__ == "__main__":
    unittest.main()
