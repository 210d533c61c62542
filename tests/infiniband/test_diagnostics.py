"""Debian's diagnostics tell the truth about the subnet, and the same as over ibsim, which is not ours."""
import collections
import json
import re
import subprocess
import unittest

from fabric_rig import FabricTest, links_in
from network import Namespace
from rig import PATIENCE_S, wait_for

PARTITIONS = "Default=0x7fff,ipoib,mtu=5 : ALL=full;\nvlan10=0x800a,ipoib,mtu=5 : ALL=full;\nhalf=0x0014 : ALL=limited;\n"


class Diagnostics(FabricTest):
    ADAPTERS = {f"mlx4_{number}": "MT26428" for number in range(16)}

    def setUp(self):
        super().setUp()
        self.manager(partitions=PARTITIONS)
        self.active = self.wait_active()
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "SUBNET UP in opensm's log")

    def fabric(self):
        return json.loads(self.cli("infiniband", "fabric", "list", "--json").stdout)

    def test_1_who_is_there(self):
        fabric = self.fabric()
        links = self.links()
        self.assertEqual(len(links), 2 * 32)
        for link in fabric["links"]:
            name, _, number = link["peer"].partition(" port ")
            ends = (f"{fabric['host']} {name}", int(number)), (f"{fabric['host']} switch", link["port"])
            self.assertIn(ends, links)
            self.assertIn(ends[::-1], links)
        for port in self.active.values():
            self.assertRegex(self.tool("smpquery", "nodeinfo", port["lid"]), r"NodeType:\.+Channel Adapter\n")
        self.assertRegex(self.tool("smpquery", "nodeinfo", fabric["switch_lid"]), r"NodeType:\.+Switch\n")
        hosts = self.tool("ibhosts")
        self.assertEqual(len(hosts.splitlines()), 16, hosts)

    def test_2_what_the_manager_wrote(self):
        for (_, number), port in list(self.active.items())[:4]:
            info = self.tool("smpquery", "portinfo", port["lid"], number)
            self.assertRegex(info, rf"Lid:\.+{port['lid']}\n")
            self.assertRegex(info, rf"SMLid:\.+{port['sm_lid']}\n")
            self.assertRegex(info, r"LinkState:\.+Active\n")
            keys = re.findall(r"0x[0-9a-f]{4}", self.tool("smpquery", "pkeys", port["lid"], number))
            self.assertEqual(set(keys) - {"0x0000"}, {"0xffff", "0x800a", "0x0014"})
            self.assertEqual(set(port["partitions"]), {"0xffff", "0x800a", "0x0014"})
        fabric = self.fabric()
        routes = dict(re.findall(r"^0x([0-9a-f]{4}) (\d+)", self.tool("ibroute", fabric["switch_lid"]), re.M))
        for link in fabric["links"]:
            name, _, number = link["peer"].partition(" port ")
            self.assertEqual(int(routes[f"{self.active[name, int(number)]['lid']:04x}"]), link["port"])
        ends = [self.active["mlx4_0", 1]["lid"], self.active["mlx4_9", 2]["lid"]]
        trace = self.tool("ibtracert", *ends)
        self.assertIn(f"lid {fabric['switch_lid']}-", trace)
        self.assertIn('"' + fabric["host"] + ' mlx4_9"', trace)

    def test_3_counters_move_and_are_cleared(self):
        lid = self.active["mlx4_3", 2]["lid"]

        def packets():
            return int(re.search(r"PortRcvPkts:\.+(\d+)", self.tool("perfquery", lid, 2))[1])
        before = packets()
        for _ in range(5):
            self.tool("smpquery", "nodeinfo", lid)
        self.assertGreaterEqual(packets(), before + 5)
        self.tool("perfquery", "-R", lid, 2)
        self.assertLess(packets(), before + 5)
        extended = self.tool("perfquery", "-x", lid, 2)
        self.assertGreater(int(re.search(r"PortUnicastRcvPkts:\.+(\d+)", extended)[1]), 0)
        self.assertRegex(self.tool("perfquery", self.fabric()["switch_lid"], 1), r"PortXmitPkts:\.+[1-9]")
        wrong = self.tool("ibqueryerrors", check=False)
        self.assertNotIn("PortRcvErrors", wrong.stdout, wrong.stdout)

    def test_4_tables_that_come_in_many_segments_are_whole(self):
        nodes = self.tool("saquery", "NR")
        self.assertEqual(len(re.findall("NodeRecord dump", nodes)), 33, "a record for each port of an adapter, and the switch's")
        # A path from each end to each: 33 times 33 rows, more than 300 segments.
        paths = self.tool("saquery", "PR")
        rows = collections.Counter(re.findall(r"slid\.+(\d+)\s+dlid\.+(\d+)|dlid\.+(\d+)\s+slid\.+(\d+)", paths))
        self.assertGreaterEqual(len(rows), 200)
        self.assertEqual(len(re.findall("PathRecord dump", paths)), 33 * 33)
        self.assertEqual(max(rows.values()), 1, "a row came twice")

    def test_5_ibping_reaches_every_port(self):
        server = self.spawn(*self.command("ibping", "-S", "-C", "mlx4_7", "-P", "2"))
        lid = self.active["mlx4_7", 2]["lid"]

        def answers():
            self.assertIsNone(server.poll())
            return "1 received" in self.tool("ibping", "-c", 1, lid, check=False).stdout
        wait_for(answers, "ibping to be answered")
        self.assertIn("10 packets transmitted, 10 received", self.tool("ibping", "-f", "-c", 10, lid))

    def test_6_what_is_not_there_is_said(self):
        self.assertNotEqual(self.tool("smpquery", "nodeinfo", 999, check=False).returncode, 0)
        self.assertNotEqual(self.tool("ibstat", "mlx4_99", check=False).returncode, 0)
        wrong = self.tool("smpquery", "portinfo", self.active["mlx4_0", 1]["lid"], 9, check=False)
        self.assertNotEqual(wrong.returncode, 0, wrong.stdout)


class Simulated:
    """The same topology in ibsim, until close(). Its sockets are in a network of their own."""

    LIBRARY = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so"

    def __init__(self, test, links):
        self.test = test
        self.namespace = Namespace("ibsim")
        test.addCleanup(self.namespace.close)
        net = test.folder / "topology"
        net.write_text(self.topology(links))
        # It reads commands, and would look for them without a pause where there are none.
        simulator = subprocess.Popen([*self.namespace.before(), "ibsim", "-s", net], stdin=subprocess.PIPE, cwd=test.folder,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        test.addCleanup(simulator.wait)
        test.addCleanup(simulator.kill)
        test.addCleanup(simulator.stdin.close)

    @staticmethod
    def topology(links):
        """In ibsim's words: the node whose port the manager has, first."""
        nodes = collections.defaultdict(dict)
        for (node, port), end in links:
            nodes[node][port] = end
        text = ""
        for node in sorted(nodes, key=lambda name: (" switch" in name, name)):
            kind, ports = ("Switch", 64) if " switch" in node else ("Hca", 2)
            text += f'{kind}\t{ports} "{node}"\n'
            text += "".join(f'[{port}]\t"{end[0]}"[{end[1]}]\n' for port, end in sorted(nodes[node].items())) + "\n"
        return text

    def words(self, *words):
        return [*self.namespace.before(), "env", f"LD_PRELOAD={self.LIBRARY}", *map(str, words)]

    def tool(self, *words):
        return subprocess.run(self.words(*words), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL, cwd=self.test.folder).stdout


class SecondOpinion(FabricTest):
    """The same topology in ibsim: the same graph, routes and partitions by the same opensm. GUIDs, LIDs, counters and capability bits
    are each simulator's own."""

    ADAPTERS = {f"mlx4_{number}": "MT26428" for number in range(4)}

    def routes(self, tool):
        """By description: {end: the port of the switch that leads there}, by the switch's own table."""
        drawn = tool("ibnetdiscover")
        ends = {guid.lstrip("0"): (name, int(port)) for port, guid, name in self.adapter_ports(drawn)}
        lid = re.search(r'^Switch\t.* lid (\d+) lmc', drawn, re.M)[1]
        found = re.findall(r"^0x[0-9a-f]{4} (\d+) : \(Channel Adapter portguid 0x([0-9a-f]+):", tool("ibroute", lid), re.M)
        return {ends[guid.lstrip("0")]: int(port) for port, guid in found}

    @staticmethod
    def adapter_ports(drawn):
        """(number, GUID, the node's description) of each adapter's port."""
        node = None
        for line in drawn.splitlines():
            if head := re.match(r'Ca\t\d+ "[^"]+"\t+# "([^"]+)"', line):
                node = head[1]
            elif line.startswith("Switch"):
                node = None
            elif node and (port := re.match(r"\[(\d+)\]\((\w+)\)", line)):
                yield port[1], port[2], node

    def keys(self, tool):
        """{end: its partition keys}"""
        drawn = tool("ibnetdiscover")
        keys, node = {}, None
        for line in drawn.splitlines():
            if head := re.match(r'Ca\t\d+ "[^"]+"\t+# "([^"]+)"', line):
                node = head[1]
            elif line.startswith("Switch"):
                node = None
            elif node and (port := re.match(r"\[(\d+)\].* lid (\d+) lmc", line)):
                told = tool("smpquery", "pkeys", port[2], port[1])
                keys[node, int(port[1])] = set(re.findall(r"0x[0-9a-f]{4}", told)) - {"0x0000"}
        return keys

    def test_ibsim_agrees(self):
        self.manager(partitions=PARTITIONS)
        self.wait_active()
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "SUBNET UP in opensm's log")
        links = self.links()
        other = Simulated(self, links)
        folder = self.folder / "simulated"
        folder.mkdir()
        (folder / "partitions.conf").write_text(PARTITIONS)
        (folder / "opensm.conf").write_text("force_log_flush TRUE\n")
        wait_for(lambda: "Switch" in other.tool("ibnetdiscover"), "ibsim to answer")
        self.spawn(*other.words("env", f"OSM_CACHE_DIR={folder}", f"OSM_TMP_DIR={folder}", "opensm", "-F", folder / "opensm.conf",
                                "-P", folder / "partitions.conf", "-f", folder / "log", "-D", "0x43"), cwd=self.folder)
        wait_for(lambda: (folder / "log").exists() and "SUBNET UP" in (folder / "log").read_text(errors="replace"),
                 "SUBNET UP over ibsim")
        self.assertEqual(links_in(other.tool("ibnetdiscover")), links)
        ours = self.routes(self.tool)
        self.assertEqual(len(ours), 8)
        self.assertEqual(self.routes(other.tool), ours)
        keys = self.keys(self.tool)
        self.assertEqual(set(map(frozenset, keys.values())), {frozenset({"0xffff", "0x800a", "0x0014"})})
        self.assertEqual(self.keys(other.tool), keys)


if __name__ == "__main__":
    unittest.main()
