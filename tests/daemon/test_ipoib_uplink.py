"""IPoIB uplinks of distributed switches, as an operator sets them: the taps that are made, and that the engine has open."""

import unittest

from rig import wait_for
from test_switch import SwitchTest


class IpoibUplink(SwitchTest):
    def make(self, uplinks=("nic", "vmnic32", "vmnic33")):
        self.host = self.make_host(uplinks=uplinks, more=f'[infiniband]\numad_socket = "{self.folder}/umad.sock"\n')
        self.host.start()
        self.host.cli("infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428")

    def taps(self):
        """Those that a program has open: only such a tap has a carrier."""
        return {name for name, link in self.host.links().items()
                if name.startswith("vmnic") and "LOWER_UP" in link["flags"] and "NO-CARRIER" not in link["flags"]}

    def wanted(self):
        """In the plain form each VLAN has a tap of its own."""
        return {"vmnic32"} if self.host.vds()["form"] == "vlan-aware" else {"vmnic32", "vmnic32+10"}

    def wait_open(self):
        wanted = self.wanted()
        wait_for(lambda: self.taps() == wanted, f"the engine to have {wanted} open")

    def test_a_switch_has_the_taps_while_it_has_the_uplink(self):
        self.make()
        self.host.make_lan("vmnic32")
        self.wait_open()
        self.assertEqual(self.host.vds()["problems"], [])
        self.assertEqual(self.host.vds()["uplink"], "vmnic32")
        link = self.host.links()["vmnic32"]
        self.assertEqual((link["master"], link["mtu"]), ("pvs-lan", 1500))
        self.assertTrue(link["ifalias"].endswith(":uplink:vmnic32"), link["ifalias"])
        self.assertEqual(link["linkinfo"]["info_data"]["user"], "root")
        self.assertFalse(link["linkinfo"]["info_data"]["vnet_hdr"])
        self.host.cli("vds", "set", "lan", "--mtu", "2044")
        self.wait_open()
        self.assertEqual(self.host.links()["vmnic32"]["mtu"], 2044)
        self.assertEqual(self.host.vds()["problems"], [])
        self.assertIn("is the uplink of switch lan", self.host.refused("infiniband", "adapter", "remove", "mlx4_0"))
        self.host.cli("vds", "uplink", "lan", "none")
        self.assertFalse([name for name in self.host.links() if name.startswith("vmnic")])
        self.host.cli("infiniband", "adapter", "remove", "mlx4_0")

    def test_is_made_again_where_another_program_deletes_it(self):
        self.make()
        self.host.make_lan("vmnic32")
        self.wait_open()
        before = self.host.links()["vmnic32"]["ifindex"]
        self.host.network.ip("link", "delete", "vmnic32")
        self.host.soon(lambda: self.host.links().get("vmnic32", {}).get("ifindex", before) != before, "the tap to be made again")
        self.wait_open()

    def test_an_engine_that_follows_has_the_taps(self):
        self.make()
        self.host.make_lan("vmnic32")
        self.wait_open()
        self.host.stop()
        self.assertEqual(self.taps(), set())
        self.host.start()
        self.wait_open()
        self.host.cli("daemon", "upgrade")
        self.wait_open()
        wait_for(lambda: self.host.vds()["problems"] == [], "the switch to have no problem")
        # And lets them go, which a tap that was left open in the keeper would not show.
        self.host.cli("vds", "uplink", "lan", "none")
        self.host.cli("vds", "uplink", "lan", "vmnic32")
        self.wait_open()

    def test_is_not_used_unless_the_operators_file_lists_it(self):
        self.make(uplinks=["nic"])
        self.host.cli("vds", "create", "lan")
        self.assertIn("vmnic32 may not be used by switches on this host", self.host.refused("vds", "add-host", "lan", "--uplink", "vmnic32"))

    def test_one_that_no_adapter_makes_is_refused(self):
        self.make()
        self.host.cli("vds", "create", "lan")
        self.assertIn("vmnic34 is not an IPoIB uplink of this host", self.host.refused("vds", "add-host", "lan", "--uplink", "vmnic34"))


if __name__ == "__main__":
    unittest.main()
