"""A subnet with Debian's opensm: adapters of each model, ports that become Active, and what is said
without a manager."""
import json
import pathlib
import re
import unittest

from fabric_rig import FabricTest
from rig import wait_for

# Table 2 of Mellanox's guide, with what its chapters 4.4.2.4 and 4.4.2.5 say: ports, Gbit/s, MTU, partitions.
MODELS = {"MT25408": (2, 10, 4096, 128), "MT25418": (2, 20, 4096, 128), "MT26418": (2, 20, 4096, 128), "MT26428": (2, 40, 4096, 128),
          "MT25204": (1, 20, 2048, 64), "MT25208": (2, 20, 2048, 64), "MT25208-MF": (2, 20, 2048, 64)}


class Adapters(FabricTest):
    """Guide, 2: each model of table 2."""

    ADAPTERS = {f"hca{number}": model for number, model in enumerate(MODELS)}

    def test_M2_M4_4_4_M7_each_model_has_its_ports_rate_mtu_and_partitions(self):
        self.manager(partitions="Default=0x7fff,ipoib,mtu=4 : ALL=full;\n")
        active = self.wait_active()
        told = self.tool("ibstat")
        for name, model in self.ADAPTERS.items():
            ports, rate, mtu, partitions = MODELS[model]
            self.assertEqual(len([key for key in active if key[0] == name]), ports, model)
            block = told.split(f"CA '{name}'")[1].split("CA '")[0]
            self.assertIn(f"CA type: {model}\n", block)
            self.assertIn(f"Number of ports: {ports}\n", block)
            self.assertEqual(re.findall(r"Rate: (\d+)", block), [str(rate)] * ports, model)
            for number in range(1, ports + 1):
                port = active[name, number]
                info = self.tool("smpquery", "portinfo", port["lid"], number)
                self.assertRegex(info, rf"MtuCap:\.+{mtu}\n")
                self.assertRegex(info, rf"NeighborMTU:\.+{mtu}\n")
                node = self.tool("smpquery", "nodeinfo", port["lid"])
                self.assertRegex(node, rf"PartCap:\.+{partitions}\n")
                self.assertRegex(node, rf"NumPorts:\.+{ports}\n")

    def test_1_they_are_found_again_by_a_daemon_that_starts_anew(self):
        before = {name: port["guid"] for name, port in self.ports().items()}
        self.stop(self.daemon)
        self.daemon = self.start()
        self.assertEqual({name: port["guid"] for name, port in self.ports().items()}, before)

    def test_3_one_that_is_removed_is_gone_from_the_subnet(self):
        self.manager()
        self.wait_active("hca0")
        self.cli("infiniband", "adapter", "remove", "hca1")
        self.assertNotIn("hca1", self.tool("ibstat", "-l"))
        wait_for(lambda: not any("hca1" in end[0] for link in self.links() for end in link), "the adapter to leave the subnet")
        for name in list(self.ADAPTERS):
            self.cli("infiniband", "adapter", "remove", name, check=False)
        self.assertFalse(self.door.exists())
        self.assertNotIn("subnet", self.threads())

    def threads(self):
        engine = self.engine(self.daemon)
        return {(entry / "comm").read_text().strip() for entry in pathlib.Path(f"/proc/{engine}/task").iterdir()}


class WithoutAdapters(FabricTest):
    ADAPTERS = {}

    def test_a_program_is_told_that_there_is_no_adapter_and_runs(self):
        told = self.tool("ibstat", check=False).stderr
        self.assertIn("paravane: this host has no InfiniBand adapter; see: paravane infiniband adapter add --help\n", told)
        self.assertIn("add an InfiniBand adapter (paravane infiniband adapter add)", told)
        self.assertEqual(self.tool("echo", "hello"), "hello\n")
        self.cli("infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428")
        self.assertNotIn("no InfiniBand adapter", self.tool("ibstat", check=False).stderr)


class SubnetUp(FabricTest):
    """Guide, 4.4.1: the subnet needs a manager."""

    def test_M4_4_1_without_a_manager_nothing_is_up_and_the_table_says_what_to_do(self):
        for port in self.ports().values():
            self.assertEqual((port["state"], port["lid"]), ("Initializing", 0))
            self.assertIn("no subnet manager has set this port up: start opensm", port["problem"])
        told = self.tool("ibstat")
        self.assertEqual(re.findall(r"State: (\w+)", told), ["Initializing"] * 2)
        self.assertNotEqual(self.tool("sminfo", check=False).returncode, 0)

    def test_M4_4_1_opensm_brings_it_up(self):
        manager = self.manager()
        ports = self.wait_active()
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "SUBNET UP in opensm's log")
        self.assertTrue(all(port["lid"] > 0 and not port.get("problem") for port in ports.values()), ports)
        self.assertEqual({port["sm_lid"] for port in ports.values()}, {ports["mlx4_0", 1]["lid"]})
        self.assertTrue(ports["mlx4_0", 1]["is_sm"])
        self.assertIsNone(manager.poll())
        page = self.http(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").decode()
        for port in (1, 2):
            self.assertRegex(page, rf'(?m)^paravane_infiniband_port_active{{adapter="mlx4_0",port="{port}"}} 1')
            self.assertRegex(page, rf'(?m)^paravane_infiniband_port_manager{{adapter="mlx4_0",port="{port}"}} {2 - port}')

    def test_3_a_port_that_is_disabled_and_enabled_comes_back(self):
        self.manager()
        ports = self.wait_active()
        switch = re.search(r'"S-(\w+)"\t.*lid (\d+)', self.tool("ibnetdiscover"))[2]
        self.tool("ibportstate", switch, 2, "disable")
        wait_for(lambda: self.ports()["mlx4_0", 2]["state"] == "Down", "the port to be down")
        self.assertEqual(self.ports()["mlx4_0", 2]["problem"],
                         "the link is down, since port 2 of this host's switch is disabled. "
                         f"Enable it with: paravane infiniband run -- ibportstate {switch} 2 enable")
        self.assertIn("this port of the switch is disabled", self.link_problem("mlx4_0 port 2"))
        self.tool("ibportstate", switch, 2, "enable")
        again = self.wait_active()
        self.assertEqual(again["mlx4_0", 2]["lid"], ports["mlx4_0", 2]["lid"])
        second = {"adapter": "mlx4_0", "port": "2"}
        wait_for(lambda: [(kind, fields) for kind, fields in self.link_events() if fields.items() >= second.items()] == [
            ("infiniband.port.up", second), ("infiniband.port.down", second | {"reason": "the link is down"}),
            ("infiniband.port.up", second)], f"it to be told: {self.link_events()}")

    def link_problem(self, peer):
        links = json.loads(self.cli("infiniband", "fabric", "list", "--json").stdout)["links"]
        return next(link["problem"] for link in links if link["peer"] == peer)

    def test_3_what_is_told_of_an_adapters_disabled_port_enables_it(self):
        self.manager()
        self.wait_active()
        self.tool("ibportstate", "-C", "mlx4_0", "-P", 2, "-D", 0, 2, "disable")
        wait_for(lambda: self.ports()["mlx4_0", 2]["state"] == "Down", "the port to be down")
        command = " paravane infiniband run -- "
        told = self.ports()["mlx4_0", 2]["problem"]
        self.assertIn("the port is disabled", told)
        self.assertEqual(self.link_problem("mlx4_0 port 2").split(command)[1], told.split(command)[1])
        self.tool(*told.split(command)[1].split())
        self.wait_active()

    def test_4_opensm_lives_on_when_the_daemon_starts_anew(self):
        manager = self.manager()
        self.wait_active()
        self.stop(self.daemon)
        self.daemon = self.start()
        self.wait_active()
        self.assertIsNone(manager.poll())

    def test_5_opensm_lives_on_when_the_engine_is_replaced(self):
        manager = self.manager()
        self.wait_active()
        self.cli("daemon", "upgrade")
        self.wait_active()
        wait_for(lambda: self.ports()["mlx4_0", 1]["is_sm"], "the manager to be connected again")
        self.tool("sminfo")
        self.assertIsNone(manager.poll())
        self.assertEqual(self.link_events(), [], "nothing has come or gone")

    def test_6_a_restart_of_infiniband_brings_all_ports_up_again(self):
        self.manager()
        self.wait_active()
        self.cli("infiniband", "restart")
        self.assertFalse([port for port in self.ports().values() if "start opensm" in port.get("problem", "")])
        wait_for(lambda: self.ports()["mlx4_0", 1]["is_sm"], "opensm to be connected again")
        for port in self.ports().values():
            if port["state"] == "Initializing":
                self.assertIn("yet: the one at mlx4_0 port 1 does", port["problem"])
        self.wait_active()


class Managers(FabricTest):
    """Two managers at two ports: one is the master, the other takes over."""

    ADAPTERS = {"mlx4_0": "MT26428", "mlx4_1": "MT26428"}
    # What paravane's own opensm.conf has.
    QUICK = "sminfo_polling_timeout 1000\npolling_retry_number 2\n"

    def test_1_the_other_is_master_when_the_master_is_killed(self):
        ports = self.ports()
        first = self.manager("first", int(ports["mlx4_0", 1]["guid"], 16), 5, self.QUICK)
        self.wait_active()
        self.manager("second", int(ports["mlx4_1", 1]["guid"], 16), 3, self.QUICK)
        wait_for(lambda: "STANDBY" in self.manager_log("second"), "the second to be a standby")
        self.assertIn("SMINFO_MASTER", self.tool("sminfo"))
        first.kill()
        lid = self.ports()["mlx4_1", 1]["lid"]
        wait_for(lambda: all(port["sm_lid"] == lid for port in self.ports().values()), "the second to be the master", 8)
        told = self.tool("sminfo")
        self.assertIn("SMINFO_MASTER", told)
        self.assertIn(f"sm lid {lid} ", told)
        self.assertFalse(self.ports()["mlx4_0", 1]["is_sm"])
        self.wait_active()
        one, other = ({"adapter": adapter, "port": "1"} for adapter in self.ADAPTERS)
        self.assertEqual([(kind, fields) for kind, fields in self.link_events() if ".manager." in kind], [
            ("infiniband.manager.started", one), ("infiniband.manager.started", other), ("infiniband.manager.ended", one)])

    def test_2_one_with_a_higher_priority_takes_over(self):
        ports = self.ports()
        self.manager("first", int(ports["mlx4_0", 1]["guid"], 16), 3, self.QUICK)
        self.wait_active()
        self.manager("second", int(ports["mlx4_1", 1]["guid"], 16), 9, self.QUICK)
        lid = self.ports()["mlx4_1", 1]["lid"]
        wait_for(lambda: f"sm lid {lid} " in self.tool("sminfo"), "the second to be the master")
        self.wait_active()

    def test_3_a_management_key_guards_the_subnet_and_traps_are_repressed(self):
        key = 0x0250_5600_0000_1234
        self.manager("guarded", priority=5, settings=self.QUICK + f"m_key {key:#x}\nm_key_protection_level 2\nsweep_interval 0\n")
        ports = self.wait_active()
        lid = ports["mlx4_1", 1]["lid"]
        self.assertNotEqual(self.tool("smpquery", "-t", 100, "portinfo", lid, 1, check=False).returncode, 0)
        told = self.tool("smpquery", "-y", hex(key), "portinfo", lid, 1)
        self.assertRegex(told, r"ProtectBits:\.+2\n")
        self.assertRegex(told, r"MkeyViolations:\.+[1-9]")
        # Without sweeps the manager hears of it by the switch's trap alone, which carries no key.
        self.cli("infiniband", "adapter", "add", "mlx4_2", "--device", "MT26428")
        self.wait_active()
        lid = self.ports()["mlx4_2", 1]["lid"]
        self.assertNotEqual(self.tool("smpquery", "-t", 100, "nodeinfo", lid, check=False).returncode, 0)


if __name__ == "__main__":
    unittest.main()
