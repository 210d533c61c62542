"""IPoIB uplinks: what Linux stations of two switches exchange over the InfiniBand subnet."""
import re
import unittest

from uplink_rig import UplinkTest
from rig import wait_for

IPERF_BYTES = 64 * 1024 * 1024


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

    def test_2_1_a_stream_of_tcp(self):
        left = self.station("a", "left", "192.0.2.1/24")
        right = self.station("b", "right", "192.0.2.2/24")
        left.wait_for("192.0.2.2")
        self.spawn(*right.network.before(), "iperf3", "--server", "--one-off")
        wait_for(lambda: ":5201" in right.run("ss", "-ltn"), "iperf3 to listen")
        said = left.run("iperf3", "--client", "192.0.2.2", "--bytes", IPERF_BYTES)
        self.assertRegex(said, r"receiver")
        self.assertGreater(self.uplinks()["vmnic32"]["counters"]["bytes_sent"], IPERF_BYTES)


if __name__ == "__main__":
    unittest.main()
