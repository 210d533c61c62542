"""Hosts and containers as the peers of VMs: Linux's rdma_rxe over an interface as a host's VMkernel interface is (docs/switch.md), and
programs in a container on it. The kernel of the machine that tests run on may lack rdma_rxe, so a guest plays the host; what the guide
says to type on one is typed there."""
import unittest

import guide_text
from guests import ROOT
from native_rig import NativeRig
from test_kernel_storage import NVME_CONNECT, NVME_SERVE

HOST, VM = 1, 2
BOTH_WAYS = ((HOST, VM), (VM, HOST))  # server, client
PATIENT = ["-u", "18"]

# Of the NIC and the host's own end of a pair, whose other end is on the bridge. The bridge itself answers no ARP: what comes to its
# MAC address is not the interface's, and its rdma_rxe never sees it.
VMKERNEL = f"""
set -e
modprobe -a bridge veth
ip link add pvs-lan type bridge
ip link add vmk1 type veth peer name vmk1-port
ip address flush dev eth0
ip link set eth0 master pvs-lan
ip link set vmk1-port master pvs-lan
for one in eth0 pvs-lan vmk1-port; do echo 8 >/proc/sys/net/ipv4/conf/$one/arp_ignore; done
for one in eth0 pvs-lan vmk1-port vmk1; do ip link set $one up; done
ip address add 10.77.0.{HOST}/24 dev vmk1
"""


def typed_on_a_host():
    """The commands of the guide that are left to this test, in their order."""
    lines = [line[2:] for step in guide_text.steps(ROOT / "docs" / "guides" / "native-endpoints.md")
             if "NativeHost" in step.reason_not_to_run for line in step.lines]
    *links, server, container = lines
    return "\n".join(["set -e", *links]), server.split(), container.split()


MAKE_RXE, SERVER, CONTAINER = typed_on_a_host()

# A network of its own, on the same bridge.
APART = """
ip netns add apart && ip link add c0 netns apart type veth peer name c0-port && ip link set c0-port master pvs-lan up &&
echo 8 >/proc/sys/net/ipv4/conf/c0-port/arp_ignore && ip -n apart link set c0 up && ip -n apart address add 10.77.0.77/24 dev c0 && ip netns exec apart ping -c 1 -w 10 10.77.0.2 >&2
ip netns exec apart rdma link add rxe1 type rxe netdev c0 || true
"""


class HostRig(NativeRig):
    """Its machine is a host."""

    def start_rxe(self):
        self.shell(self.machine, VMKERNEL)
        self.shell(self.machine, MAKE_RXE)


class NativeHost(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = HostRig(vm=VM, machine=HOST)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up("--layer", "switch", "--layer", "storage", "--memory", "768")

    def test_1_a_host_and_a_vm_exchange_in_both_roles(self):
        for server, client in BOTH_WAYS:
            with self.subTest(server=server):
                self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-c", "-n", "50")
                self.rig.exchange(server, client, "ib_write_bw", "-x", "1", "-F", *PATIENT, "-s", "65536", "-n", "50")
                self.rig.rping(server, client)

    def test_2_a_vm_has_a_disk_of_the_host(self):
        self.rig.shell(HOST, NVME_SERVE)
        self.rig.shell(VM, NVME_CONNECT, timeout=120)
        self.rig.shell(VM, "set -e; head -c 4194304 /dev/urandom >/tmp/data; dd if=/tmp/data of=/dev/nvme0n1 bs=65536 conv=fsync; "
                           "echo 3 >/proc/sys/vm/drop_caches; head -c 4194304 /dev/nvme0n1 | cmp - /tmp/data", timeout=180)
        self.rig.shell(HOST, f"head -c 4194304 /dev/ram0 | md5sum | cut -c-32 | grep -qx {self.md5_of_data()}")
        self.assertEqual({path for path, _ in self.rig.paths()}, {"roce"})

    def md5_of_data(self):
        return self.rig.shell(VM, "md5sum </tmp/data | cut -c-32").strip()

    def answers(self, server):
        server = self.rig.spawn(HOST, *server, timeout=120)
        self.rig.wait_listening(HOST, 18515)
        self.rig.guest(VM, "ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "1", "-c", "-n", "100", f"10.77.0.{HOST}", timeout=120)
        server.expect_success(30)

    def test_3_what_the_guide_says_to_type_on_a_host_and_in_a_container_with_its_network(self):
        for server in SERVER, CONTAINER:
            with self.subTest(server):
                self.answers(server)

    def test_4_a_container_with_a_network_of_its_own_needs_an_rdma_rxe_that_knows_them(self):
        """Those of Linux 6.1 and 6.12 have RoCE in init_net alone."""
        knows = int(self.rig.shell(HOST, "uname -r").split(".")[0]) >= 7
        self.rig.shell(HOST, APART, timeout=60)
        server = self.rig.spawn(HOST, "ip", "netns", "exec", "apart", "ibv_rc_pingpong", "-d", "rxe1", "-g", "1", "-n", "5", timeout=60)
        client = self.rig.spawn(VM, "sh", "-c", "i=0; until ibv_rc_pingpong -d vmw_pvrdma0 -g 1 -n 5 10.77.0.77; do i=$((i+1)); "
                                                "[ $i -lt 3 ] || exit 1; sleep 1; done", timeout=60)
        code, text = client.finish(90)
        server.end()
        self.assertEqual(code == 0, knows, text)


if __name__ == "__main__":
    unittest.main()
