"""IPoIB uplinks of distributed switches, as an operator sets them: the taps that are made, and that the engine has open."""

import contextlib
import pathlib
import re
import unittest

from rig import children_of, wait_for
from test_switch import SwitchTest


class IpoibUplink(SwitchTest):
    def make(self, uplinks=("nic", "vmnic32", "vmnic33")):
        self.host = self.make_host(uplinks=uplinks, more=f'[infiniband]\numad_socket = "{self.folder}/umad.sock"\n')
        self.host.start()
        self.host.cli("infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428")

    def taps(self):
        """Those that the engine has open. Their carrier is the link of the port, which no subnet manager sets up here."""
        names = set()
        for engine in children_of(self.host.daemon.pid):
            for file in pathlib.Path(f"/proc/{engine}/fdinfo").glob("*"):
                with contextlib.suppress(OSError):  # closed meanwhile
                    names |= set(re.findall(r"^iff:\t(vmnic\S+)", file.read_text(), re.M))
        return names

    def wanted(self):
        """In the plain form each VLAN has a tap of its own."""
        return {"vmnic32"} if self.host.vds()["form"] == "vlan-aware" else {"vmnic32", "vmnic32+10"}

    def wait_open(self):
        wanted = self.wanted()
        wait_for(lambda: self.taps() == wanted, f"the engine to have {wanted} open")

    def wait_for_no_link(self):
        """All that the switch has to say: no subnet manager has set the port up."""
        lines = ["vmnic32: it has no link, so no frame passes it. See why with: paravane infiniband uplink list"]
        wait_for(lambda: self.host.vds()["problems"] == lines, "the uplink's lack of a link, and nothing else, to be told")

    def test_a_switch_has_the_taps_while_it_has_the_uplink(self):
        self.make()
        self.host.make_lan("vmnic32")
        self.wait_open()
        self.wait_for_no_link()
        self.assertEqual(self.host.vds()["uplink"], "vmnic32")
        link = self.host.links()["vmnic32"]
        self.assertEqual((link["master"], link["mtu"]), ("pvs-lan", 1500))
        self.assertTrue(link["ifalias"].endswith(":uplink:vmnic32"), link["ifalias"])
        self.assertEqual(link["linkinfo"]["info_data"]["user"], "root")
        self.assertFalse(link["linkinfo"]["info_data"]["vnet_hdr"])
        self.host.cli("vds", "set", "lan", "--mtu", "2044")
        self.wait_open()
        self.assertEqual(self.host.links()["vmnic32"]["mtu"], 2044)
        self.wait_for_no_link()
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
        self.wait_for_no_link()
        # And lets them go, which a tap that was left open in the keeper would not show.
        self.host.cli("vds", "uplink", "lan", "none")
        self.host.cli("vds", "uplink", "lan", "vmnic32")
        self.wait_open()

    def test_restarts_right_after_each_other_open_it_again_without_a_problem(self):
        self.make()
        self.host.make_lan("vmnic32")
        self.wait_open()
        for _ in range(5):
            self.host.cli("infiniband", "restart")
            self.host.cli("infiniband", "restart")
            self.wait_open()
        told = [event["problem"] for event in self.host.events("switch.problem")]
        self.assertFalse([problem for problem in told if "cannot open the tap" in problem], told)

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
