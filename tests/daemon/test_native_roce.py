"""Native RoCE of port groups, as an operator sets it: what is made on the host, and what is said of it."""

import json
import subprocess
import unittest

from rig import adapters, wait_for
from test_switch import SwitchTest
from vmm import attach

PORT = "pvr-a"  # the RoCE port of VM a
FEATURE = "tx-udp-segmentation"


class NativeRoce(SwitchTest):
    def setUp(self):
        super().setUp()
        self.host = self.make_host()

    def start(self):
        self.host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        self.host.start()
        self.host.make_lan()
        self.host.cli("vm", "add", "a", "--port-group", "vms")

    def roce(self, vm="a"):
        return next(one for one in self.host.rows("vm", "list") if one["name"] == vm)["roce"]

    def group(self, name="vms"):
        return next(one for one in self.host.rows("portgroup", "list") if one["name"] == name)

    def check(self, check, vm="a"):
        """That row of `vm check`; None: there is none."""
        done = self.host.cli("--formatter=json", "vm", "check", vm, check=False)
        return next((row for row in json.loads(done.stdout) if row["check"] == check), None)

    def counters(self):
        return {row["name"]: row["value"] for row in self.host.rows("stats", "--counters")
                if row["vm"] == "a" and row["group"] == "roce"}

    def uplink_cuts_udp(self):
        words = [*self.host.network.before(), "ethtool", "-k", "nic"]
        line, = [line for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
                 if line.startswith(FEATURE)]
        return line.split()[1] == "on"

    def wait_open(self, is_open=True):
        wait_for(lambda: self.roce()["open"] == is_open, f"the RoCE port: open {is_open}")

    def wait_metric(self, value):
        """Metrics are up to a second old."""
        wait_for(lambda: self.host.metric("paravane_adapter_roce_open") == value, f"the metric to be {value}")

    def test_is_set_and_taken_back_while_a_vm_is_attached(self):
        self.start()
        self.assertEqual(self.group()["roce"], "off")
        self.assertEqual(self.roce(), {"open": False, "superframes": False, "closed": "port group vms has RoCE off", "unmerged": ""})
        with attach(self.host.folder / "vms" / "a.sock"):
            self.assertIn("native", self.host.cli("portgroup", "set", "vms", "--roce", "native").stdout)
            self.assertIn(PORT, self.host.links())
            self.wait_open()
            self.assertEqual("pvm-a" in self.host.links(), self.roce()["unmerged"] == "", "a pair that merges, or why there is none")
            self.assertEqual(self.group()["roce"], "native")
            self.assertEqual(self.group("storage")["roce"], "off")
            self.wait_metric(1)
            self.assertEqual(self.counters()["icrc_errors"], 0)
            self.host.cli("portgroup", "set", "vms", "--roce", "off")
            self.assertFalse({PORT, "pvm-a", "pvf-a"} & set(self.host.links()))
            self.assertEqual(self.roce(), {"open": False, "superframes": False, "closed": "port group vms has RoCE off", "unmerged": ""})
            self.assertEqual(self.counters(), {})
            self.wait_metric(0)
            self.host.cli("portgroup", "set", "vms", "--roce", "native")
            self.wait_open()
        self.assertEqual(self.host.events("portgroup.changed"), 3 * [{"portgroup": "vms"}])
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.assertEqual(len(self.host.events("portgroup.changed")), 3, "what is set to what it is already is no event")

    def test_what_it_is_set_to_outlives_the_daemon(self):
        self.start()
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.wait_open()
        self.host.stop()
        self.host.start()
        self.wait_open()
        self.host.cli("portgroup", "set", "vms", "--roce", "off")
        self.assertNotIn(PORT, self.host.links())

    def test_routed_is_set_apart_from_roce(self):
        self.start()
        self.assertEqual(self.group()["routed"], "off")
        self.host.cli("portgroup", "set", "vms", "--routed", "on", "--roce", "native")
        self.host.cli("portgroup", "set", "vms", "--roce", "off")
        self.assertEqual((self.group()["roce"], self.group()["routed"]), ("off", "on"))
        self.assertEqual(self.group("storage")["routed"], "off")
        self.host.cli("portgroup", "set", "vms", "--routed", "off")
        self.assertEqual(self.group()["routed"], "off")

    def test_refuses_what_it_does_not_know(self):
        self.start()
        self.assertIn("native or off", self.host.cli("portgroup", "set", "vms", "--roce", "on", check=False).stderr)
        self.assertIn("on or off", self.host.cli("portgroup", "set", "vms", "--routed", "native", check=False).stderr)
        self.assertIn("port group vm does not exist", self.host.refused("portgroup", "set", "vm", "--roce", "native"))
        self.assertIn("specify --roce or --routed", self.host.cli("portgroup", "set", "vms", check=False).stderr)

    def test_below_hardware_version_18_an_adapter_has_none_and_vm_check_cures_it(self):
        self.start()
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.host.cli("vm", "set", "a", "--hw-version", "17")
        self.assertNotIn(PORT, self.host.links())
        self.assertIn("pv-a", self.host.links())
        self.assertEqual(self.roce()["closed"], "hardware version 17 has no native endpoints")
        row = self.check("Adapter 1: native RoCE")
        self.assertEqual((row["verdict"], row["cure"]), ("warning", "paravane vm set a --hw-version 18"))
        self.host.cli(*row["cure"].split()[1:])
        self.wait_open()
        self.assertEqual(self.check("Adapter 1: native RoCE")["verdict"], "ok")

    def test_an_adapter_that_moves_has_it_where_its_port_group_has(self):
        self.start()
        self.host.cli("portgroup", "set", "storage", "--roce", "native")
        self.assertNotIn(PORT, self.host.links())
        with attach(self.host.folder / "vms" / "a.sock"):
            self.host.cli("vm", "set", "a", "--port-group", "storage")
            self.wait_open()
            self.host.cli("vm", "set", "a", "--port-group", "vms")
            self.assertNotIn(PORT, self.host.links())

    def test_vm_check_names_the_path_mtu_and_an_uplink_that_carries_less(self):
        self.start()
        self.assertIsNone(self.check("Switch lan: path MTU"))
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.assertEqual(self.check("Switch lan: path MTU")["found"], "up to 1024 to native endpoints: the switch has MTU 1500")
        self.host.cli("vds", "set", "lan", "--mtu", "4200")
        row = self.check("Switch lan: path MTU")
        self.assertEqual(row["verdict"], "warning", row)
        self.assertIn("nic has MTU 1500, but the switch has 4200", row["found"].replace(" (nic)", "").replace("vmnic0", "nic"))
        self.host.network.ip(*row["cure"].split()[1:])
        wait_for(lambda: self.check("Switch lan: path MTU")["verdict"] == "ok", "the uplink's MTU to be seen")
        self.assertIn("up to 4096", self.check("Switch lan: path MTU")["found"])

    def test_an_uplink_cuts_no_udp_apart_while_a_switch_has_roce_ports(self):
        self.start()
        if not self.uplink_cuts_udp():
            self.skipTest("this kernel's veth does not")
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.assertFalse(self.uplink_cuts_udp())
        subprocess.run([*self.host.network.before(), "ethtool", "-K", "nic", FEATURE, "on"], check=True, stdout=subprocess.DEVNULL)
        self.host.soon(lambda: not self.uplink_cuts_udp(), "the feature is off again")
        self.host.soon(lambda: [one for one in self.host.events("switch.mended") if "nic" in one["interfaces"]], "an event of it")

    def test_an_uplink_that_the_operator_vouches_for_does(self):
        self.host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        if not self.uplink_cuts_udp():
            self.skipTest("this kernel's veth does not")
        config = self.host.folder / "paravaned.toml"
        config.write_text(config.read_text().replace('uplinks = ["nic"]', 'uplinks = ["nic"]\nuso_uplinks = ["nic"]'))
        self.host.start()
        self.host.make_lan()
        self.host.cli("vm", "add", "a", "--port-group", "vms")
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.wait_open()
        self.assertTrue(self.uplink_cuts_udp())

    def test_a_port_whose_name_is_taken_is_said_where_the_operator_looks(self):
        self.start()
        self.host.network.ip("link", "add", PORT, "type", "bridge")
        self.host.cli("portgroup", "set", "vms", "--roce", "native")
        self.assertIn(PORT, self.roce()["closed"])
        row = self.check("Adapter 1: native RoCE")
        self.assertEqual(row["verdict"], "failed")
        self.assertIn(PORT, row["found"])
        self.assertIn(PORT, adapters(self.host.rows("vm", "list"))[0]["problem"])


if __name__ == "__main__":
    unittest.main()
