"""IPoIB uplinks: what Linux stations of two switches exchange over the InfiniBand subnet."""
import json
import os
import random
import select
import signal
import socket
import subprocess
import unittest

from uplink_rig import PARTITIONS, UplinkTest
from rig import PATIENCE_S, wait_for

IPERF_BYTES = 64 * 1024 * 1024
COMPARED = 50_000  # frames each way
SEED = 4391


class FirstPing(UplinkTest):
    """Guide, 4.4.2: an uplink looks like Ethernet."""

    def test_2_1_stations_of_two_switches_reach_each_other(self):
        left = self.station("a", "left", "192.0.2.1/24", "2001:db8::1/64")
        right = self.station("b", "right", "192.0.2.2/24", "2001:db8::2/64")
        left.wait_for("192.0.2.2")
        right.wait_for("2001:db8::1")
        # A MAC made of a queue pair and a LID stands for the station of the other side.
        lids = {number: port["lid"] for (_, number), port in self.ports().items()}
        for station, address, port in ((left, "192.0.2.2", 2), (right, "192.0.2.1", 1), (left, "2001:db8::2", 2)):
            mac = station.neighbour(address)
            self.assertRegex(mac, rf"^02:..:..:..:{lids[port] >> 8:02x}:{lids[port] & 255:02x}$")
        uplink = self.uplinks()["vmnic32"]
        self.assertEqual((uplink["vds"], uplink["problem"], uplink["addresses"]), ("left", "", 1))
        self.assertGreater(uplink["counters"]["frames_sent"], 0)
        self.assertEqual(uplink["counters"]["bad_packets"], 0)

    def test_4_4_2_4_vlans_keep_apart(self):
        left = self.station("a", "left", "192.0.2.1/24", vlan=10)
        right = self.station("b", "right", "192.0.2.2/24", vlan=10)
        other = self.station("c", "right", "192.0.2.3/24")
        left.wait_for("192.0.2.2")
        self.assertFalse(left.pings("192.0.2.3"))
        self.assertFalse(other.pings("192.0.2.1"))

    def test_4_4_2_4_an_arping_of_the_guide_is_answered(self):
        left = self.station("a", "left", "192.0.2.1/24", vlan=10)
        self.station("b", "right", "192.0.2.2/24", vlan=10)
        wait_for(lambda: "Received 1 response" in left.run("arping", "-I", "eth0", "192.0.2.2", "-c", 1, check=False) or
                 "1 packets received" in left.run("arping", "-i", "eth0", "192.0.2.2", "-c", 1, check=False), "an answer to arping")

    def test_2_1_a_stream_of_tcp(self):
        left = self.station("a", "left", "192.0.2.1/24")
        right = self.station("b", "right", "192.0.2.2/24")
        left.wait_for("192.0.2.2")
        self.spawn(*right.network.before(), "iperf3", "--server", "--one-off")
        wait_for(lambda: ":5201" in right.run("ss", "-ltn"), "iperf3 to listen")
        self.assertRegex(left.run("iperf3", "--client", "192.0.2.2", "--bytes", IPERF_BYTES), r"receiver")
        self.assertGreater(self.uplinks()["vmnic32"]["counters"]["bytes_sent"], IPERF_BYTES)

    def test_2_1_datagrams_of_every_size_arrive_as_they_were(self):
        stations = [self.station("a", "left", "192.0.2.1/24", "2001:db8::1/64"), self.station("b", "right", "192.0.2.2/24", "2001:db8::2/64")]
        stations[0].wait_for("192.0.2.2")
        stations[1].wait_for("2001:db8::1")
        for family, addresses, most in ((socket.AF_INET, ("192.0.2.1", "192.0.2.2"), 1472), (socket.AF_INET6, ("2001:db8::1", "2001:db8::2"), 1452)):
            ends = []
            for station, address in zip(stations, addresses):
                with station.network.entered():
                    end = socket.socket(family, socket.SOCK_DGRAM)
                self.addCleanup(end.close)
                end.bind((address, 7))
                ends.append(end)
            for sender, receiver, to in ((ends[0], ends[1], addresses[1]), (ends[1], ends[0], addresses[0])):
                self.exchange(sender, receiver, (to, 7), most)

    def exchange(self, sender, receiver, to, most):
        """Sends datagrams of every size up to `most`, a few at a time, and compares each."""
        chance = random.Random(SEED)
        pending = []
        for number in range(COMPARED // 4):
            data = number.to_bytes(4, "big") + chance.randbytes(number % (most - 3))
            sender.sendto(data, to)
            pending.append(data)
            if len(pending) < 32:
                continue
            for wanted in pending:
                if not select.select([receiver], [], [], PATIENCE_S)[0]:
                    self.fail(f"datagram {number} to {to}: {self.uplinks()} {self.cli('infiniband', 'fabric', 'list').stdout}")
                self.assertEqual(receiver.recv(65536), wanted)
            pending = []


class Dhcp(UplinkTest):
    """A client without an address: a server's answer finds it."""

    def test_2_3_a_client_gets_an_address(self):
        server = self.station("server", "right", "192.0.2.1/24")
        client = self.station("client", "left")
        script = self.folder / "bound"
        script.write_text('#!/bin/sh\n[ "$1" = bound ] && ip address add "$ip/24" dev eth0\nexit 0\n')
        script.chmod(0o755)
        self.spawn(*server.network.before(), "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--port=0", "--interface=eth0",
                   "--user=root", "--dhcp-range=192.0.2.100,192.0.2.110,1h", f"--dhcp-leasefile={self.folder}/leases", "--bind-interfaces",
                   "--no-ping", f"--pid-file={self.folder}/dnsmasq.pid")
        for broadcast in ([], ["-B"]):  # without the flag, the server answers to a MAC that is on no wire
            client.network.ip("address", "flush", "dev", "eth0", "scope", "global")
            said = subprocess.run([*client.network.before(), "udhcpc", "-i", "eth0", "-f", "-q", "-n", "-t", "8", "-T", "1", "-s", str(script), *broadcast],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
            self.assertEqual(said.returncode, 0, f"{said.stderr} {self.uplinks()} {self.log_text()[-2000:]}")
            self.assertRegex(client.network.ip("address", "show", "dev", "eth0"), r"inet 192\.0\.2\.10\d/24")
            client.wait_for("192.0.2.1")


class JumboFrames(UplinkTest):
    """Guide, 4.4.2.5: key0=0x7fff,ipoib,mtu=5 : ALL=full;"""

    MTU = 4092
    VLANS = (0,)

    def test_4_4_2_5_4092_bytes_pass_and_no_more(self):
        left = self.station("a", "left", "192.0.2.1/24")
        self.station("b", "right", "192.0.2.2/24")
        left.wait_for("192.0.2.2")
        self.assertTrue(left.pings("192.0.2.2", "-M", "do", "-s", 4064))
        self.assertFalse(left.pings("192.0.2.2", "-M", "do", "-s", 4065))


class TooBig(UplinkTest):
    """A switch whose MTU is above the partition's."""

    MTU = 9000
    VLANS = (0,)

    def test_13_senders_are_told_and_tcp_finds_its_way(self):
        left = self.station("a", "left", "192.0.2.1/24", "2001:db8::1/64")
        right = self.station("b", "right", "192.0.2.2/24", "2001:db8::2/64")
        left.wait_for("192.0.2.2")
        left.wait_for("2001:db8::2")
        self.assertIn("below the switch's of 9000", self.uplinks()["vmnic32"]["partitions"][0]["problem"])
        self.assertRegex(left.run("ping", "-c", 1, "-W", 2, "-M", "do", "-s", 5000, "192.0.2.2", check=False), r"mtu ?= ?4092")
        self.assertRegex(left.run("ping", "-c", 1, "-W", 2, "-M", "do", "-s", 5000, "2001:db8::2", check=False), r"mtu ?= ?4092")
        # Both know it now; a third station does not.
        other = self.station("c", "left", "192.0.2.3/24")
        other.wait_for("192.0.2.2")
        self.spawn(*right.network.before(), "iperf3", "--server", "--one-off")
        wait_for(lambda: ":5201" in right.run("ss", "-ltn"), "iperf3 to listen")
        self.assertRegex(other.run("iperf3", "--client", "192.0.2.2", "--bytes", IPERF_BYTES // 16), r"receiver")
        self.assertGreater(self.uplinks()["vmnic32"]["counters"]["too_big"], 0)


class Partitions(UplinkTest):
    """Guide, 4.4.2.4, and what is said where the subnet lacks something."""

    VLANS = (0,)

    def test_13_a_vlan_without_a_partition_works_when_the_line_is_added(self):
        for vds in ("left", "right"):
            self.cli("portgroup", "create", f"{vds}-20", "--vds", vds, "--vlan", "20")

        def lacks():
            return [one["problem"] for one in self.uplinks()["vmnic32"]["partitions"] if one["vlan"] == 20 and one["key"] is None]
        wait_for(lacks, "the uplink to say what VLAN 20 lacks")
        problem, = lacks()
        self.assertRegex(problem, r"^VLAN 20: this port has no such partition\.")
        line = problem.split("restart opensm: ")[1]
        self.assertEqual(line, "vlan20=0x8014, ipoib, mtu=5 : ALL=full;")
        self.opensm.terminate()
        self.opensm.wait(PATIENCE_S)
        self.opensm = self.manager(partitions=PARTITIONS + line + "\n")
        wait_for(lambda: all(one["key"] for uplink in self.uplinks().values() for one in uplink["partitions"]),
                 f"VLAN 20 to be joined: {self.manager_log()[-3000:]}")
        self.VLANS = (0, 20)
        left = self.station("a", "left", "192.0.2.1/24", vlan=20)
        self.station("b", "right", "192.0.2.2/24", vlan=20)
        left.wait_for("192.0.2.2")


class SmallAdapters(UplinkTest):
    """InfiniHost adapters, whose MTU is 2048."""

    ADAPTERS = {"mthca0": "MT25208"}
    VLANS = (0,)
    PARTITIONS = "Default=0x7fff,ipoib,mtu=5 : ALL=full;\n"
    WAITS = False

    def test_13_a_partition_of_4096_is_refused_in_words(self):
        def problems():
            return [one["problem"] for one in self.uplinks()["vmnic32"]["partitions"] if "MTU or rate" in one["problem"]]
        wait_for(problems, f"the uplink to say why it cannot join: {self.uplinks()}")
        self.assertIn("mtu=4", problems()[0])


class Mishaps(UplinkTest):
    """What goes away and comes back under traffic."""

    def setUp(self):
        super().setUp()
        self.left = self.station("a", "left", "192.0.2.1/24")
        self.right = self.station("b", "right", "192.0.2.2/24")
        self.left.wait_for("192.0.2.2")

    def test_6_3_frames_pass_without_a_subnet_manager(self):
        self.opensm.kill()
        self.opensm.wait(PATIENCE_S)
        self.assertTrue(self.left.pings("192.0.2.2"))
        self.opensm = self.manager(partitions=PARTITIONS)
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "the new manager")
        self.left.wait_for("192.0.2.2")

    def test_6_3_a_port_is_disabled_and_enabled(self):
        lid = self.ports()["mlx4_0", 2]["lid"]
        switch, number = self.switch_port_of("mlx4_0 port 2")
        self.tool("ibportstate", switch, number, "disable")
        wait_for(lambda: self.ports()["mlx4_0", 2]["state"] == "Down", "the port to be down")
        self.assertFalse(self.left.pings("192.0.2.2"))
        self.assertEqual(self.uplinks()["vmnic33"]["rate_gbps"], 0)
        self.tool("ibportstate", switch, number, "enable")
        wait_for(lambda: self.ports()["mlx4_0", 2]["state"] == "Active", "the port to be Active")
        self.assertEqual(self.ports()["mlx4_0", 2]["lid"], lid)
        self.left.wait_for("192.0.2.2")

    def switch_port_of(self, peer):
        fabric = json.loads(self.cli("infiniband", "fabric", "list", "--json").stdout)
        return fabric["switch_lid"], next(link["port"] for link in fabric["links"] if link["peer"] == peer)

    def test_6_3_infiniband_is_restarted(self):
        self.cli("infiniband", "restart")
        self.wait_active()
        self.left.wait_for("192.0.2.2")

    def test_6_daemon_upgrade(self):
        self.cli("daemon", "upgrade")
        self.wait_active()
        self.left.wait_for("192.0.2.2")

    def test_6_the_engine_is_killed(self):
        os.kill(self.engine(self.daemon), signal.SIGKILL)
        self.wait_active()
        self.left.wait_for("192.0.2.2")


if __name__ == "__main__":
    unittest.main()
