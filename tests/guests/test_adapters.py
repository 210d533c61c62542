"""VMs with as many adapters as one may have, each with its own NIC and its own network."""
import re
import unittest

import gid_table
from rig import Exchange, Rig, wait_for

ADAPTERS = 8


class EightAdapters(unittest.TestCase):
    """Adapter k of guest i is 10.77.(k-1).i; k is counted from 1."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, "--adapters", str(ADAPTERS))

    def index(self, vm, adapter):
        gid = gid_table.made_of(f"10.77.{adapter}.{vm}")
        return gid_table.find(self.rig, vm, gid, f"vmw_pvrdma{adapter}").index

    def sends(self, vm):
        """How many requests each adapter of a VM has completed."""
        return {adapter: self.rig.stats(vm, adapter)["sends"] for adapter in range(1, ADAPTERS + 1)}

    def test_each_is_a_device_with_its_own_nic_guid_and_gids(self):
        text = self.rig.shell(1, "dmesg | grep vmw_pvrdma")
        guids, gids = set(), set()
        for adapter in range(ADAPTERS):
            self.assertRegex(text, rf"vmw_pvrdma 0000:00:{0x10 + adapter:x}\.1: paired device to eth{adapter}\n")
            device = self.rig.guest(1, "ibv_devinfo", "-d", f"vmw_pvrdma{adapter}")
            self.assertRegex(device, r"state:\s+PORT_ACTIVE \(4\)")
            guids.add(re.search(r"node_guid:\s+(\S+)", device)[1])
            table = gid_table.of(self.rig, 1, f"vmw_pvrdma{adapter}")
            self.assertEqual({entry.netdev for entry in table}, {f"eth{adapter}"})
            gids |= {entry.gid for entry in table}
        self.assertEqual(len(guids), ADAPTERS)
        self.assertEqual(len(gids), 2 * ADAPTERS)  # of its MAC and of its IPv4 address

    def test_ping_pong_over_all_of_them_at_once(self):
        before = self.sends("vm2")
        def words(vm, adapter):
            return ["ibv_rc_pingpong", "-e", "-d", f"vmw_pvrdma{adapter}", "-g", str(indices[vm, adapter]),
                    "-p", str(18600 + adapter), "-n", "100"]
        indices = {(vm, adapter): self.index(vm, adapter) for vm in (1, 2) for adapter in range(ADAPTERS)}
        servers = [self.rig.spawn(1, *words(1, adapter)) for adapter in range(ADAPTERS)]
        for adapter in range(ADAPTERS):
            self.rig.wait_listening(1, 18600 + adapter)
        clients = [self.rig.spawn(2, *words(2, adapter), f"10.77.{adapter}.1") for adapter in range(ADAPTERS)]
        for one in clients + servers:
            self.assertIn("100 iters in", one.expect_success(120))
        for adapter, count in self.sends("vm2").items():
            self.assertGreaterEqual(count - before[adapter], 100, f"adapter {adapter} was not used")

    def test_the_connection_manager_takes_the_adapter_of_the_address(self):
        exchange = Exchange(self.rig, server=1, client=2)
        before = self.sends("vm2")
        exchange.run(["rping", "-s", "-C", "20", "-V"], ["rping", "-c", "-a", "10.77.5.1", "-C", "20", "-V"], cm_port=7174)
        used = [adapter for adapter, count in self.sends("vm2").items() if count > before[adapter] + 20]
        self.assertEqual(used, [6])

    def test_an_address_that_goes_takes_its_gid_along_and_no_other(self):
        self.rig.shell(1, "ip addr del 10.77.7.1/24 dev eth7")
        gid = gid_table.made_of("10.77.7.1")
        wait_for("the GID is gone", lambda: gid not in [e.gid for e in gid_table.of(self.rig, 1, "vmw_pvrdma7")])
        self.index(1, 6)
        self.rig.shell(1, "ip addr add 10.77.7.1/24 dev eth7")
        wait_for("the GID is back", lambda: gid in [e.gid for e in gid_table.of(self.rig, 1, "vmw_pvrdma7")])


if __name__ == "__main__":
    unittest.main()
