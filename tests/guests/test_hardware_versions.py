"""Virtual hardware versions, RoCE v1 and v2, and every kind of GID, between stock guests.

vm1 has version 13 and two adapters, which can only speak v1; vm2 and vm3 have version
14, a first adapter that speaks v1 and a second one that speaks v2.
"""
import unittest

import gid_table
from rig import Exchange, Failed, Rig, wait_for

V1, V2 = "IB/RoCE v1", "RoCE v2"
SPOKEN = {(1, 0): V1, (1, 1): V1, (2, 0): V1, (2, 1): V2, (3, 0): V1, (3, 1): V2}


def mac_of(vm, nic):
    return f"52:54:00:77:{nic:02x}:{vm:02x}"


def gids_of(vm, nic):
    return {"MAC": gid_table.made_of_mac(mac_of(vm, nic)), "IPv4": gid_table.made_of(f"10.77.{nic}.{vm}"),
            "IPv6": gid_table.made_of(f"fd77:{nic}::{vm}")}


class HardwareVersions(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.rig = rig = Rig()
        cls.addClassCleanup(rig.close)
        rig.cli("vm", "add", "vm1", "--hw-version", "13", "--mac", mac_of(1, 0))
        rig.cli("vm", "adapter", "add", "vm1", "--mac", mac_of(1, 1))
        for vm in (2, 3):
            rig.cli("vm", "add", f"vm{vm}", "--hw-version", "14", "--protocol", "v1", "--mac", mac_of(vm, 0))
            rig.cli("vm", "adapter", "add", f"vm{vm}", "--protocol", "v2", "--mac", mac_of(vm, 1))
        rig.up(3, "--adapters", "2")
        for vm in (1, 2, 3):
            cls.add_ipv6(vm)

    @classmethod
    def add_ipv6(cls, vm):
        cls.rig.shell(vm, "".join(f"ip addr add fd77:{nic}::{vm}/64 dev eth{nic} nodad\n" for nic in (0, 1)))
        for nic in (0, 1):
            wait_for("the GID of the IPv6 address", lambda nic=nic: gids_of(vm, nic)["IPv6"] in
                     [entry.gid for entry in gid_table.of(cls.rig, vm, f"vmw_pvrdma{nic}")])

    # ---- what a guest is offered ----

    def driver_log(self, vm):
        return self.rig.shell(vm, "dmesg | grep vmw_pvrdma")

    def test_every_gid_has_the_type_that_its_adapter_speaks(self):
        for (vm, nic), spoken in SPOKEN.items():
            table = gid_table.of(self.rig, vm, f"vmw_pvrdma{nic}")
            self.assertEqual({entry.type for entry in table}, {spoken}, (vm, nic))
            self.assertEqual({entry.gid for entry in table}, set(gids_of(vm, nic).values()), (vm, nic))
            self.assertEqual({entry.netdev for entry in table}, {f"eth{nic}"})

    def test_version_13_is_device_version_17_without_shared_receive_queues(self):
        self.assertIn("device version 17,", self.driver_log(1))
        self.assertRegex(self.rig.guest(1, "ibv_devinfo", "-v", "-d", "vmw_pvrdma0"), r"max_srq:\s+0\n")
        code, text = self.rig.spawn(1, "ibv_srq_pingpong", "-d", "vmw_pvrdma0", "-g", "0").finish(30)
        self.assertNotEqual(code, 0)
        self.assertIn("Couldn't create SRQ", text)

    def test_version_14_is_device_version_20_with_shared_receive_queues(self):
        self.assertIn("device version 20,", self.driver_log(2))
        for nic in (0, 1):
            self.assertNotRegex(self.rig.guest(2, "ibv_devinfo", "-v", "-d", f"vmw_pvrdma{nic}"), r"max_srq:\s+0\n")
            self.ping_pong("ibv_srq_pingpong", (2, nic), (3, nic), "MAC")

    # ---- traffic ----

    def ping_pong(self, tool, server, client, kind, *more):
        """Both ends by the GIDs of one kind; the program's own rendezvous is on the first network."""
        def words(vm, nic):
            entry = gid_table.find(self.rig, vm, gids_of(vm, nic)[kind], f"vmw_pvrdma{nic}")
            return [tool, "-e", "-d", f"vmw_pvrdma{nic}", "-g", str(entry.index), "-p", "18600", "-n", "100", *more]
        exchange = Exchange(self.rig, server=server[0], client=client[0])
        _, text = exchange.run(words(*server), [*words(*client), exchange.address], port=18600)
        self.assertIn("100 iters in", text)

    def test_v1_between_versions_13_and_14_by_every_kind_of_gid(self):
        for kind in ("MAC", "IPv4", "IPv6"):
            with self.subTest(kind=kind):
                self.ping_pong("ibv_rc_pingpong", (1, 0), (2, 0), kind)

    def test_v2_between_two_of_version_14_by_every_kind_of_gid(self):
        for kind in ("MAC", "IPv4", "IPv6"):
            with self.subTest(kind=kind):
                self.ping_pong("ibv_rc_pingpong", (2, 1), (3, 1), kind)

    def test_datagrams_of_both_protocols_by_mac_and_ipv4(self):
        """Not by IPv6: the guest's provider makes no address handle for such an address."""
        for server, client in ((1, 0), (3, 0)), ((2, 1), (3, 1)):
            for kind in ("MAC", "IPv4"):
                with self.subTest(server=server, kind=kind):
                    self.ping_pong("ibv_ud_pingpong", server, client, kind, "-s", "1024")

    def test_rping_over_both_protocols_by_ipv4_and_ipv6(self):
        for server, client in ((1, 0), (3, 0)), ((2, 1), (3, 1)):
            for kind in ("IPv4", "IPv6"):
                with self.subTest(server=server, kind=kind):
                    self.rping(server, client, kind)

    def rping(self, server, client, kind):
        vm, nic = server
        address = f"10.77.{nic}.{vm}" if kind == "IPv4" else f"fd77:{nic}::{vm}"
        exchange = Exchange(self.rig, server=vm, client=client[0])
        exchange.run(["rping", "-s", "-a", address, "-C", "10", "-V"], ["rping", "-c", "-a", address, "-C", "10", "-V"],
                     cm_port=7174)

    def test_v1_and_v2_do_not_reach_each_other(self):
        """On one network, each with the other's address: the requester's retries run out."""
        before = self.rig.stats("vm3", 2)["completion_errors"]
        for server, client in ((1, 1), (3, 1)), ((3, 1), (1, 1)):
            with self.subTest(server=server):
                with self.assertRaisesRegex(Failed, "transport retry counter exceeded|status 12|Failed status"):
                    self.ping_pong("ibv_rc_pingpong", server, client, "IPv4")
        self.assertGreater(self.rig.stats("vm3", 2)["completion_errors"], before)

    # ---- from one version to the other ----

    def test_z_upgraded_from_13_to_14_keeps_v1_and_gains_shared_receive_queues(self):
        refused = self.rig.cli("vm", "set", "vm1", "--hw-version", "14", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertRegex(refused.stderr, "vm1 is attached")
        self.rig.lab("down", "1")
        wait_for("vm1 is detached", lambda: not self.rig.attached("vm1"), 20)
        self.rig.cli("vm", "set", "vm1", "--hw-version", "14")
        self.rig.up(1, "--adapters", "2")
        self.add_ipv6(1)
        self.assertIn("device version 20,", self.driver_log(1))
        self.assertEqual({entry.type for entry in gid_table.of(self.rig, 1)}, {V1})
        self.ping_pong("ibv_srq_pingpong", (1, 0), (2, 0), "IPv4")


if __name__ == "__main__":
    unittest.main()
