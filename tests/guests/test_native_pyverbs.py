"""rdma-core's own test suite between vmw_pvrdma and Linux's rdma_rxe: both devices are in one VM, the second on a NIC in the Ethernet
beyond the uplink of Paravane's switch."""
import unittest

import paired_suite
import pyverbs_suite
from hosts_rig import HostsRig
from runner import processes  # hosts_rig makes it importable
from runner.host import guest_mac

VM, SECOND_NIC = 1, 2
TAP, BRIDGE, CABLE = "peer0", "peer", "eth2"
OURS, LINUX = "vmw_pvrdma0", "rxe0"


class NativePyverbs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(1)
        cls.addClassCleanup(cls.rig.close)
        host = cls.rig.lab.hosts[0]
        host.paravane("portgroup", "create", "native", "--vds", "lan", "--roce", "native")
        host.paravane("vm", "add", f"vm{VM}", "--mac", guest_mac(VM), "--port-group", "native")
        cls.rig.lab.ethernet.join("peer", host.space, CABLE)
        ip = ["ip", "-n", host.space]
        processes.run(*ip, "link", "add", BRIDGE, "type", "bridge")
        processes.run(*ip, "tuntap", "add", TAP, "mode", "tap", "vnet_hdr")
        for interface in TAP, CABLE:
            processes.run(*ip, "link", "set", interface, "master", BRIDGE, "up")
        processes.run(*ip, "link", "set", BRIDGE, "up")
        nic = ["-netdev", f"tap,id=peer,ifname={TAP},script=no,downscript=no,vhost=off",
               "-device", f"vmxnet3,netdev=peer,mac={guest_mac(SECOND_NIC)},addr=0x18,romfile="]
        cls.rig.hosts[0].up(1, "--layer", "python", "--memory", "2048", "--smp", "2", *(f"--qemu={word}" for word in nic))
        cls.rig.shell(VM, "echo 0 >/proc/sys/net/ipv6/conf/eth1/accept_dad && ip link set eth1 up && modprobe rdma_rxe && "
                          "rdma link add rxe0 type rxe netdev eth1")

    def received(self):
        """How many packets Linux counts at the second device."""
        return int(self.rig.guest(VM, "cat", "/sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts"))

    def judge(self, first, second):
        before = self.received()
        verdicts = pyverbs_suite.run(self.rig, VM, patterns=paired_suite.PATTERNS, prelude=paired_suite.prelude(first, second))
        passed = {case.rsplit(".", 1)[1] for case, verdict in verdicts.items() if verdict == "ok"}
        self.assertEqual([case for case, verdict in verdicts.items() if verdict == "failed"], [])
        self.assertEqual(paired_suite.TRAFFIC - passed, set())
        self.assertGreater(self.received() - before, 200)

    def test_1_the_suite_with_the_vms_device_as_its_client(self):
        self.judge(OURS, LINUX)

    def test_2_the_suite_with_the_vms_device_as_its_server(self):
        self.judge(LINUX, OURS)


if __name__ == "__main__":
    unittest.main()
