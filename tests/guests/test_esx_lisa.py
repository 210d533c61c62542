"""The cases for PVRDMA of ESX-LISA, the suite with which Red Hat tests RHEL on ESXi
(github.com/VirtQE-S1/ESX-LISA, testscripts/rdma_*.ps1), with the commands that its scripts
give to their guests. A test is named for its script.

Not here: rdma_hot_add_nic is the hot-add of test_power.py; rdma_hot_remove asks for what QEMU
cannot do (docs/vms.md); rdma_reboot_kernel-debug wants a kernel with debugging options, and
Debian has none."""
import os
import unittest

import gid_table
from hosts_rig import HostsRig
from rig import Exchange, Rig, wait_for

# The scripts reload vmxnet3 a hundred times, vmw_pvrdma for ten minutes; run.py --all does a hundred of each.
RELOADS = int(os.environ.get("PARAVANE_RELOADS", "10"))
# The scripts measure all sizes, which takes a minute without KVM: the long check does so too.
SIZES = ["-a"] if RELOADS >= 100 else ["-s", "65536"]
CONTROLLER = "Infiniband controller: VMware Paravirtual RDMA controller"
PERFTEST = [f"ib_{kind}_{what}" for kind in ("send", "read", "write") for what in ("lat", "bw")]


class Tools:
    """What the scripts run between guest B, which serves, and guest A: B is vm2."""

    def perftest(self):
        """Fewer of each size than perftest does unasked, which would be gigabytes, and with -F, or it gives up on
        processors that are busy with something else."""
        for tool in PERFTEST:
            words = [tool, *SIZES, "-F", "-n", "5"]
            self.exchange.run(words, [*words, self.exchange.address], port=18515)

    def pingpong(self, tool):
        """The scripts say -g 1 where the adapter speaks RoCE v2: the GID of the IPv4 address of a guest that has just booted."""
        server, client = ([tool, "-s", "1", "-g", str(gid_table.find(self.rig, vm, gid_table.made_of(f"10.77.0.{vm}")).index)]
                          for vm in (2, 1))
        self.exchange.run(server, [*client, self.exchange.address], port=18515)

    def rping(self):
        address = self.exchange.address
        self.exchange.run(["rping", "-s", "-v", "-V", "-C", "1", "-a", address], ["rping", "-c", "-a", address, "-v", "-C", "1"],
                          cm_port=7174)


class EsxLisaOnOneHost(Tools, unittest.TestCase):
    """Two guests on one host."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2)
        cls.exchange = Exchange(cls.rig, server=2, client=1)

    def reload(self, module):
        self.rig.shell(1, f"i=0; while [ $i -lt {RELOADS} ]; do modprobe -r {module} && modprobe {module} || exit 1; i=$((i+1)); done",
                       timeout=60 + 6 * RELOADS)
        self.assertNotRegex(self.rig.guest(1, "dmesg"), r"\bCall Trace\b|\bBUG:|\bWARNING:|\bOops\b")

    def assert_rdma_works(self):
        wait_for("the port is active", lambda: "PORT_ACTIVE" in self.rig.guest(1, "ibv_devinfo"), 20)
        self.rping()

    def test_rdma_boot_check(self):
        self.assertIn(CONTROLLER, self.rig.guest(1, "lspci"))
        self.assertRegex(self.rig.guest(1, "lsmod"), r"(?m)^vmw_pvrdma ")

    def test_rdma_check_ibstat(self):
        self.rig.guest(1, "modprobe", "ib_umad")
        self.assertIn("Active", self.rig.guest(1, "ibstat"))

    def test_rdma_reload_vmx_pvrdma(self):
        self.reload("vmw_pvrdma")
        self.assert_rdma_works()

    def test_rdma_reload_vmxnet3(self):
        """The adapter's driver stays, and finds its NIC again each time."""
        self.reload("vmxnet3")
        self.rig.shell(1, "echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad; ip link set eth0 up && ip address add 10.77.0.1/24 dev eth0")
        self.assert_rdma_works()

    def test_rdma_tools_test_same_host(self):
        self.perftest()
        self.pingpong("ibv_rc_pingpong")
        self.rping()


class EsxLisaOnTwoHosts(Tools, unittest.TestCase):
    """A guest on each of two hosts."""

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.exchange = Exchange(cls.rig, server=2, client=1)

    def test_rdma_ping_diff_host(self):
        self.assertIn("ttl", self.rig.guest(2, "ping", "10.77.0.1", "-c", "10", "-i", "0.2", "-W", "15"))

    def test_rdma_tools_test_diff_host(self):
        self.perftest()
        for tool in "ibv_rc_pingpong", "ibv_srq_pingpong":
            self.pingpong(tool)
        self.rping()


if __name__ == "__main__":
    unittest.main()
