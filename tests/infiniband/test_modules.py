"""The guide's administration: modules, port types and several uplinks of a port, typed as the guide types them.

A name of a test has the section of Mellanox's guide that it follows (docs/compared-with-vsphere.md).
"""
import json
import subprocess
import unittest

from fabric_rig import BIN, PATIENCE_S, FabricTest
from network import Namespace
from rig import wait_for
from uplink_rig import PARTITIONS, Station

NAMES = ("connectx_port_config", "esxcfg-advcfg", "esxcfg-module", "esxcfg-nics", "mgmt-mlx", "vicfg-module", "vmkload_mod")


class GuideTest(FabricTest):
    """A host whose shell has the second names of paravane, as docs/esxcli.md puts them into PATH."""

    NICS = ()  # of the host's namespace

    def setUp(self):
        self.network = Namespace("guide")
        self.addCleanup(self.network.close)
        for nic in self.NICS:
            self.network.ip("link", "add", nic, "type", "veth", "peer", "name", f"far-{nic}")
        super().setUp()
        self.names = self.folder / "names"
        self.names.mkdir()
        for name in NAMES:
            (self.names / name).symlink_to(BIN / "paravane")

    def write_config(self, text=""):
        uplinks = ", ".join(f'"{name}"' for name in (*self.NICS, *(f"vmnic{number}" for number in range(32, 48))))
        super().write_config(text + f"[network]\nuplinks = [{uplinks}]\n")

    def start(self, *before, **more):
        return super().start(*self.network.before(), *before, **more)

    def type(self, line, status=0, answers=""):
        """What a line of the guide prints, typed in a shell."""
        where = f"export PATH={self.names}:{BIN}:$PATH PARAVANE_SOCKET={self.api}\n"
        done = subprocess.run(["bash", "-c", where + line], input=answers, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, status, f"{line}: {done.stdout}{done.stderr}\n{self.log_text()}")
        return done.stdout if status == 0 else done.stderr

    def reboot(self):
        self.type("paravane infiniband restart")

    def module(self, name):
        return next(one for one in json.loads(self.cli("infiniband", "module", "list", "--json").stdout) if one["name"] == name)

    def uplinks(self):
        return json.loads(self.cli("infiniband", "uplink", "list", "--json").stdout)

    def ports_of_uplinks(self):
        return [(one["adapter"], one["port"]) for one in self.uplinks()]

    def types(self):
        return {key: port["type"] for key, port in self.ports().items()}

    def nic_rows(self):
        """Name -> the rest of its line of esxcfg-nics."""
        return dict(line.split(None, 1) for line in self.type("esxcfg-nics -l").splitlines()[1:])


class Modules(GuideTest):
    def test_M4_2_1_modules_are_enabled_and_disabled_in_both_orders(self):
        for line, enabled in (("esxcfg-module -d ib_ipoib", False), ("esxcfg-module -e ib_ipoib", True), ("esxcfg-module ib_ipoib -d", False)):
            self.type(line)
            self.assertEqual(self.module("ib_ipoib")["enabled"], enabled, line)
        self.assertEqual(len(self.uplinks()), 2, "until the restart")
        self.reboot()
        self.assertEqual(self.uplinks(), [])
        self.assertRegex(self.type("mgmt-mlx status"), r"\nib_ipoib +disabled ")

    def test_M3_2_ibstat_says_when_there_is_no_interface_of_ipoib(self):
        self.assertEqual(self.tool("ibstat", "-l", check=False).stderr, "")
        self.type("esxcfg-module ib_ipoib -d")
        self.reboot()
        said = self.tool("ibstat", check=False)
        self.assertIn("Number of ports: 2", said.stdout)
        self.assertRegex(said.stderr, r"^ibwarn: .*the adapters make no IPoIB uplink\. .*module enable ib_ipoib")

    def test_M4_2_1_without_mlx4_en_or_ib_basic_the_protocols_do_not_load(self):
        for module in ("mlx4_en", "ib_basic"):
            self.type(f"esxcfg-module -d {module}")
            self.reboot()
            self.assertEqual(self.uplinks(), [])
            said = self.type("mgmt-mlx status")
            for protocol in ("ib_ipoib", "ib_srp"):
                self.assertRegex(said, rf"\n{protocol} +not loaded .*module {module} is not loaded")
            self.type(f"esxcfg-module -e {module}")
        self.reboot()
        self.assertEqual(len(self.uplinks()), 2)

    def test_M4_3_the_status_and_the_help_of_mgmt_mlx(self):
        self.assertIn("no subnet manager has set this port up", self.type("mgmt-mlx status"))
        self.manager()
        self.wait_active()
        said = self.type("mgmt-mlx status")
        guid = self.ports()["mlx4_0", 1]["guid"]
        self.assertRegex(said, rf"\nmlx4_en +loaded +mlx4_0: ib ib")
        self.assertRegex(said, r"\nib_ipoib +loaded +2 uplinks")
        self.assertRegex(said, rf"\nSM +master +LID \d+, {guid}")
        self.assertEqual(said, self.cli("infiniband", "status").stdout)
        done = subprocess.run([self.names / "mgmt-mlx"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertIn("mgmt-mlx status", done.stdout)

    def test_M4_4_2_1_parameters_are_listed_shown_and_set(self):
        said = self.type("vmkload_mod ib_ipoib -s")
        for parameter in ("ipoib_uplink_num", "UplinkNum", "RxQueueSize", "TxQueueSize", "NetQueue"):
            self.assertIn(f"\n  {parameter}: ", said)
        self.assertEqual(self.type("esxcfg-module ib_ipoib -g"), "ib_ipoib enabled = 1 options = ''\n")
        self.type("esxcfg-module ib_ipoib -s 'RxQueueSize=4096,4096'")
        self.assertEqual(self.type("esxcfg-module ib_ipoib -g"), "ib_ipoib enabled = 1 options = 'RxQueueSize=4096,4096'\n")
        self.assertIn("esxcfg-module", self.type("esxcfg-module --help"))

    def test_M4_4_2_1_a_wrong_word_is_named_and_nothing_is_kept(self):
        self.type("esxcfg-module ib_ipoib -s 'ipoib_uplink_num=2'")
        for options, named in (("ipoib_uplink_num=0", "'0' is not a number from 1 to 16"), ("UplinkNum=1,1,1", "3 numbers"),
                               ("RxQueuesize=64", "do you mean RxQueueSize?"), ("ipoib_uplink_num=1 x", "'x'"), ("NetQueue=1,,1", "''")):
            self.assertIn(named, self.type(f"esxcfg-module ib_ipoib -s '{options}'", status=1))
        self.assertIn("do you mean ib_ipoib?", self.type("esxcfg-module ib_ipob -d", status=1))
        self.assertEqual(self.module("ib_ipoib")["options"], "ipoib_uplink_num=2")

    def test_M4_4_2_2_uplink_num_is_a_list_by_port(self):
        self.type("esxcfg-module ib_ipoib -s 'UplinkNum=4,6'")
        self.reboot()
        rows = self.nic_rows()
        self.assertEqual([f"vmnic{number}" for number in range(32, 42)], sorted(name for name in rows if " ib_ipoib " in rows[name]))
        self.assertEqual(self.ports_of_uplinks(), [("mlx4_0", 1)] * 4 + [("mlx4_0", 2)] * 6)
        self.assertEqual(self.type("paravane network nic list --formatter=csv").count(",ib_ipoib,"), 10)

    def test_M4_4_2_2_ipoib_uplink_num_is_of_each_port_and_stays(self):
        self.type("esxcfg-module ib_ipoib -s 'ipoib_uplink_num=2'")
        self.assertEqual(len(self.uplinks()), 2)
        self.reboot()
        self.assertEqual(self.ports_of_uplinks(), [("mlx4_0", 1)] * 2 + [("mlx4_0", 2)] * 2)
        names = [one["name"] for one in self.uplinks()]
        self.assertEqual(self.stop(self.daemon), 0)
        self.daemon = self.start()
        self.assertEqual([one["name"] for one in self.uplinks()], names)

    def test_M4_4_2_2_a_port_has_eight_uplinks_and_a_host_sixteen(self):
        self.type("esxcfg-module ib_ipoib -s 'UplinkNum=9,16'")
        self.reboot()
        self.assertEqual(len(self.uplinks()), 16)
        said = self.type("mgmt-mlx status")
        self.assertIn("mlx4_0 port 1: 8 of the 9 uplinks that are set are made: a port has at most 8", said)
        self.cli("infiniband", "adapter", "add", "mlx4_1", "--device", "MT26428")
        self.assertEqual(len(self.uplinks()), 16)
        self.assertIn("a host has at most 16", self.type("mgmt-mlx status"))

    def test_M4_4_2_3_net_queue_is_enabled_as_in_the_guide(self):
        net_queue = self.folder / "net/ipoib/vmnic32/NetQueue"
        self.assertEqual(net_queue.read_text(), "1\n", "as in vSphere 4")
        self.type("esxcfg-advcfg -k FALSE netNetqueueEnabled")
        self.reboot()
        self.assertEqual(net_queue.read_text(), "0\n")
        self.type("esxcfg-advcfg -k TRUE netNetqueueEnabled")
        self.type("esxcfg-module ib_basic -s '--export-ksyms=linux mlx4_msi_x=1'")
        self.type("esxcfg-module ib_ipoib -s 'NetQueue=1,1'")
        self.reboot()
        self.assertEqual(self.type(f"cat {net_queue}"), "1\n")
        self.assertTrue(self.uplinks()[0]["net_queue"])
        self.type("esxcfg-module ib_ipoib -s 'NetQueue=0,1'")
        self.reboot()
        self.assertEqual((net_queue.read_text(), (net_queue.parent.parent / "vmnic33/NetQueue").read_text()), ("0\n", "1\n"))


class PortTypes(GuideTest):
    ADAPTERS = {}
    NICS = ("eth1",)

    def add(self, name, bus, *words, device="MT26428"):
        self.cli("infiniband", "adapter", "add", name, "--device", device, "--bus", str(bus), *words)

    def test_M4_2_2_M4_2_3_2_all_ports_are_infiniband_by_default(self):
        self.add("mlx4_0", 13)
        self.type('esxcfg-module -s "port_type_default=1" mlx4_en')
        self.reboot()
        self.assertEqual(self.types(), {("mlx4_0", 1): "ib", ("mlx4_0", 2): "ib"})
        self.type('vicfg-module -s "port_type_default=2" mlx4_en')
        self.reboot()
        self.assertEqual(self.types(), {("mlx4_0", 1): "eth", ("mlx4_0", 2): "eth"})

    def test_M4_2_3_2_a_port_of_ethernet_is_a_nic(self):
        self.add("mlx4_0", 13, "--ethernet", "2=eth1")
        self.type('esxcfg-module -s "port_types=13,1,1,13,2,2" mlx4_en')
        self.reboot()
        self.assertEqual(self.types(), {("mlx4_0", 1): "ib", ("mlx4_0", 2): "eth"})
        self.assertEqual(self.ports()["mlx4_0", 2]["nic"], "eth1")
        rows = self.nic_rows()
        self.assertIn("vmnic32", rows)
        self.assertNotIn("vmnic33", rows)
        self.assertRegex(rows["vmnic13.p2"], r"veth .*MT26428 .*eth1")
        self.cli("vds", "create", "lan")
        self.cli("vds", "add-host", "lan", "--uplink", "vmnic13.p2")
        self.assertIn('"eth1"', self.cli("vds", "list", "--json").stdout)
        # opensm and ibstat see one port of InfiniBand.
        self.manager()
        self.wait_active_port("mlx4_0", 1)
        said = self.tool("ibstat")
        self.assertRegex(said, r"Port 2:(?:\n\t\t.*)*Link layer: Ethernet")
        self.assertRegex(said, r"Port 1:\n\t\tState: Active")
        self.assertEqual(len(self.links()), 2, "one link, both ways")

    def wait_active_port(self, adapter, port):
        wait_for(lambda: self.ports()[adapter, port]["state"] == "Active", f"the port to be Active: {self.manager_log()[-2000:]}")

    def test_M4_2_3_2_ports_of_two_adapters(self):
        self.add("a", 9)
        self.add("b", 17)
        self.type('esxcfg-module -s "port_types=9,1,1,9,2,1,17,1,1,17,2,2" mlx4_en')
        self.reboot()
        self.assertEqual(self.types(), {("a", 1): "ib", ("a", 2): "ib", ("b", 1): "ib", ("b", 2): "eth"})
        self.assertEqual(self.ports_of_uplinks(), [("a", 1), ("a", 2), ("b", 1)])
        self.assertIn("stands for no NIC", self.ports()["b", 2]["problem"])

    def test_M4_2_3_1_the_script_asks(self):
        self.add("mlx4_0", 13)
        self.type("connectx_port_config", answers="1\n2\n")
        self.assertEqual(self.module("mlx4_en")["options"], "port_types=13,1,1,13,2,2")
        self.assertIn("port 1: ib  port 2: eth", self.type("connectx_port_config -s"))
        self.assertIn("is not allowed", self.type("connectx_port_config", status=1, answers="2\n1\n"))
        self.type("connectx_port_config -c ib,ib")
        self.assertEqual(self.module("mlx4_en")["options"], "port_types=13,1,1,13,2,1")

    def test_M4_2_3_what_cannot_be_is_refused(self):
        self.add("mlx4_0", 13)
        for options, named in (("port_types=13,1,2,13,2,1", "port 1 ETH and port 2 IB is not allowed"), ("port_types=13,1", "triplets"),
                               ("port_types=14,1,1", "PCI bus 14"), ("port_types=13,3,1", "'3'"), ("port_types=13,1,3", "'3'")):
            self.assertIn(named, self.type(f'esxcfg-module -s "{options}" mlx4_en', status=1))
        self.assertEqual(self.module("mlx4_en")["options"], "")

    def test_M4_2_3_an_adapter_without_vpi_starts_with_what_it_can(self):
        self.add("old", 3, device="MT25208")
        self.type('esxcfg-module -s "port_types=3,2,2" mlx4_en')
        self.reboot()
        self.assertEqual(set(self.types().values()), {"ib"})
        self.assertIn("adapter old (MT25208) is not capable of VPI", self.type("mgmt-mlx status"))
        self.wait_log("adapter old (MT25208) is not capable of VPI")
        events = self.cli("events", "--json").stdout
        self.assertIn("infiniband.port_types", events)


class SharedPort(GuideTest):
    """Guide, 4.4.2.2: several uplinks of one port, each with a switch of its own."""

    ADAPTERS = {"mthca0": "MT25204"}  # one port

    def setUp(self):
        super().setUp()
        self.type("esxcfg-module ib_ipoib -s 'ipoib_uplink_num=3'")
        self.reboot()
        self.manager(partitions=PARTITIONS.replace("mtu=5", "mtu=4"))
        self.wait_active()

    def add_switch(self, vds, uplink):
        self.cli("vds", "create", vds)
        self.cli("vds", "add-host", vds, "--uplink", uplink)
        self.cli("portgroup", "create", vds, "--vds", vds)

    def is_joined(self, uplink):
        return any(partition["key"] for one in self.uplinks() if one["name"] == uplink for partition in one["partitions"])

    def station(self, name, vds, *addresses):
        bridge = next(one for one in json.loads(self.cli("vds", "list", "--json").stdout) if one["name"] == vds)["bridges"][0]
        return Station(self, name, bridge, *addresses)

    def test_M4_4_2_2_switches_at_uplinks_of_one_port_reach_each_other(self):
        for vds, uplink in (("left", "vmnic32"), ("right", "vmnic33"), ("third", "vmnic34")):
            self.add_switch(vds, uplink)
            wait_for(lambda: self.is_joined(uplink), f"{uplink} to join: {self.uplinks()}")
        left = self.station("a", "left", "192.0.2.1/24", "2001:db8::1/64")
        right = self.station("b", "right", "192.0.2.2/24", "2001:db8::2/64")
        third = self.station("c", "third", "192.0.2.3/24")
        for station, address in ((left, "192.0.2.2"), (right, "2001:db8::1"), (third, "192.0.2.1"), (right, "192.0.2.3")):
            station.wait_for(address)
        # One that goes takes the port's membership from no other.
        self.cli("vds", "uplink", "third", "none")
        wait_for(lambda: not self.is_joined("vmnic34"), f"vmnic34 to leave: {self.uplinks()}")
        left.network.ip("neighbour", "flush", "all")
        right.network.ip("neighbour", "flush", "all")
        left.wait_for("192.0.2.2")
        self.assertFalse(left.pings("192.0.2.3"))


if __name__ == "__main__":
    unittest.main()
