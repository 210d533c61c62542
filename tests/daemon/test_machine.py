"""What a host has, and the rules of uplinks, by a daemon in a network namespace."""

import json
import subprocess
import unittest

from network import join
from rig import BIN, wait_for
from test_switch import SwitchTest

NIC_COLUMNS = ["Name", "PCIDevice", "Driver", "AdminStatus", "LinkStatus", "Speed", "Duplex", "MACAddress", "MTU",
               "Description"]


class MachineTest(SwitchTest):
    def make_wired_host(self, uplinks=("nic", "spare")):
        host, other = self.make_host("h1", uplinks=uplinks), self.make_host("h2")
        for nic in uplinks:
            join(host.network, nic, other.network, nic)
        # Linux tells of a link up to a second after it is there.
        wait_for(lambda: all(host.network.links()[nic]["operstate"] == "UP" for nic in uplinks), "the links")
        host.start()
        return host

    def run_as(self, host, name, *words):
        """The program under another name."""
        link = self.folder / name
        if not link.exists():
            link.symlink_to(BIN / "paravane")
        return subprocess.run([link, "--socket", host.folder / "api.sock", *words], capture_output=True, text=True,
                              check=False, timeout=30)


class Lists(MachineTest):
    def test_nics_are_those_that_are_given_and_their_numbers_stay(self):
        host = self.make_wired_host()
        nics = host.rows("network", "nic", "list")
        self.assertEqual([list(nic) for nic in nics], [NIC_COLUMNS] * 2)
        self.assertEqual([(nic["Name"], nic["PCIDevice"], nic["Driver"], nic["LinkStatus"], nic["Speed"], nic["Duplex"],
                           nic["Description"]) for nic in nics],
                         [("vmnic0", "Pseudo", "veth", "Up", 10000, "Full", "veth (nic)"),
                          ("vmnic1", "Pseudo", "veth", "Up", 10000, "Full", "veth (spare)")])
        host.network.ip("link", "del", "nic")
        host.stop()
        host.start()
        self.assertEqual([nic["Name"] for nic in host.rows("network", "nic", "list")], ["vmnic1"])

    def test_a_host_without_rdma_lists_nothing(self):
        host = self.make_wired_host()
        self.assertEqual(host.rows("rdma", "device", "list"), [])
        self.assertEqual(host.rows("rdma", "device", "protocol", "list"), [])
        self.assertEqual(host.cli("rdma", "device", "list").stdout.split("\n")[0],
                         "Name  Driver  State  MTU  Speed  Paired Uplink  Description  Used By")
        self.assertIn("RDMA device vmrdma0 does not exist", host.refused("rdma", "device", "stats", "get", "-d", "vmrdma0"))
        self.assertIn("vmrdma0, vmrdma1", host.cli("rdma", "device", "stats", "get", "-d", "mlx5_0", check=False).stderr)

    def test_a_driver_without_pause_frames_or_dcb_is_said(self):
        host = self.make_wired_host()
        rows = host.rows("network", "nic", "pauseParams", "list")
        self.assertEqual([(row["NIC"], row["PauseParamsSupported"], row["PauseRX"]) for row in rows],
                         [("vmnic0", False, False), ("vmnic1", False, False)])
        for name in "vmnic1", "spare":
            self.assertEqual([row["NIC"] for row in host.rows("network", "nic", "pauseParams", "list", "-n", name)], ["vmnic1"])
        self.assertIn("this host has no NIC vmnic7", host.refused("network", "nic", "pauseParams", "list", "-n", "vmnic7"))
        self.assertIn("vmnic1 (spare): its driver veth does not support Data Center Bridging",
                      host.refused("network", "nic", "dcb", "status", "get", "-n", "spare"))
        self.assertIn("Do you mean vmnic1?", host.refused("network", "nic", "dcb", "status", "get", "-n", "vmnic11"))
        self.assertEqual(host.cli("network", "nic", "dcb", "status", "get", "-n", "a/b", check=False).returncode, 2)

    def test_switches_are_listed_as_this_host_sees_them(self):
        host = self.make_wired_host()
        host.make_lan()
        host.cli("vm", "add", "db1", "--port-group", "storage")
        lan = host.rows("network", "vswitch", "dvs", "vmware", "list")[0]
        self.assertEqual((lan["Name"], lan["MTU"], lan["Uplinks"], lan["UsedPorts"]), ("lan", 1500, ["vmnic0"], 2))
        self.assertEqual([port["Client"] for port in lan["DVPort"]], ["vmnic0", "db1.eth0"])
        text = host.cli("network", "vswitch", "dvs", "vmware", "list", "-v", "lan").stdout
        self.assertTrue(text.startswith("lan\n   Name: lan\n   VDS ID: "), text)
        self.assertIn("Do you mean lan?", host.refused("network", "vswitch", "dvs", "vmware", "list", "-v", "lam"))


class Names(MachineTest):
    def test_the_guides_command_lines_work_to_the_letter(self):
        host = self.make_wired_host()
        for words in (["rdma", "device", "list"], ["rdma", "device", "protocol", "list"], ["network", "nic", "list"],
                      ["network", "nic", "pauseParams", "list"], ["--formatter=csv", "network", "nic", "list"], ["network", "vswitch", "dvs", "vmware", "list"]):
            done = self.run_as(host, "esxcli", *words)
            self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        self.assertEqual(json.loads(self.run_as(host, "esxcli", "--formatter=json", "network", "nic", "list").stdout),
                         host.rows("network", "nic", "list"))

    def test_it_calls_itself_by_its_name_and_has_no_other_commands(self):
        host = self.make_wired_host()
        self.assertIn("Usage: esxcli", self.run_as(host, "esxcli", "--help").stdout)
        self.assertEqual(self.run_as(host, "esxcli", "vm", "list").stderr,
                         "esxcli: there is no command vm\n  See: esxcli --help\n")
        self.assertTrue(self.run_as(host, "esxcli", "rdma", "device", "stats", "get", "-d", "vmrdma3").stderr
                        .startswith("esxcli: RDMA device vmrdma3 does not exist\n"))

    def test_esxcfg_nics(self):
        host = self.make_wired_host()
        header, first, *_ = self.run_as(host, "esxcfg-nics", "-l").stdout.split("\n")
        self.assertEqual(header.split(), ["Name", "PCI", "Driver", "Link", "Speed", "Duplex", "MAC", "Address", "MTU",
                                          "Description"])
        self.assertEqual(first.split()[:6], ["vmnic0", "Pseudo", "veth", "Up", "10000Mbps", "Full"])
        self.assertEqual(self.run_as(host, "esxcfg-nics").returncode, 2)


class Rules(MachineTest):
    def test_an_uplink_has_two_names(self):
        host = self.make_wired_host()
        host.make_lan("vmnic1")
        self.assertEqual(host.vds()["uplink"], "spare")
        host.cli("vds", "uplink", "lan", "vmnic0")
        self.assertEqual(host.vds()["uplink"], "nic")
        refused = host.refused("vds", "uplink", "lan", "vmnic7")
        self.assertIn("this host has no NIC vmnic7", refused)
        self.assertNotIn("Do you mean", refused)
        self.assertIn("Do you mean vmnic1?", host.refused("vds", "uplink", "lan", "vmnic11"))

    def test_each_uplink_of_a_team_is_named_separately(self):
        host = self.make_wired_host()
        host.cli("vds", "create", "lan")
        done = host.cli("vds", "add-host", "lan", "--uplink", "nic,spare", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Name each uplink of a team separately", done.stderr)
        self.assertIn("uplink nic is named twice", host.refused("vds", "add-host", "lan", "--uplink", "nic", "--uplink", "vmnic0"))
        host.cli("vds", "add-host", "lan", "--uplink", "vmnic0", "--uplink", "vmnic1")
        self.assertEqual(host.vds()["hosts"][0]["standby"], ["spare"])

    def test_guests_tag_vlans_without_rdma(self):
        host = self.make_wired_host()
        host.cli("vds", "create", "lan")
        for vlan in ("trunk", "1-100", "10,20"):
            done = host.cli("portgroup", "create", "a", "--vds", "lan", "--vlan", vlan, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("or 4095 for guest VLAN tagging", done.stderr)
        done = host.cli("portgroup", "create", "a", "--vds", "lan", "--vlan", "4095", "--roce", "native", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("only for adapters without RDMA", done.stderr)
        self.assertIn("a whole number", host.cli("portgroup", "create", "a", "--vds", "lan", "--vlan", "x", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
