"""VMs and a machine that is none: a guest with vmw_pvrdma, and one with Linux's rdma_rxe on its own NIC, which knows
nothing of Paravane. Both are in one Ethernet; the port group of the first has native RoCE."""
import re
import unittest

from cable_capture import CableCapture
from guests import wait_for
from native_rig import THERE, NativeRig
from runner.host import guest_mac

VM, MACHINE = 1, 2
BOTH_WAYS = ((MACHINE, VM), (VM, MACHINE))  # server, client
PATIENT = ["-u", "18"]  # a second: a guest that gets no processor for half of one is no lost peer


class NativeEndpoint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = NativeRig(VM, MACHINE)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def test_1_messages_go_both_ways_while_ping_goes_on(self):
        ping = self.rig.spawn(VM, "ping", "-i", "0.2", f"10.77.0.{MACHINE}", timeout=90)
        for server, client in BOTH_WAYS:
            for size in ("1", "4096", "65536"):
                with self.subTest(server=server, size=size):
                    self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-c", "-s", size, "-n", "50")
        self.rig.guest(VM, "pkill", "-INT", "ping")
        _, output = ping.finish(30)
        sent, received = (int(number) for number in re.search(r"(\d+) packets transmitted, (\d+) received", output).groups())
        self.assertLessEqual(sent - received, 1, output)  # one may be under way
        self.assertGreater(received, 5, output)

    def test_2_the_path_says_why(self):
        server = self.rig.spawn(MACHINE, "ibv_rc_pingpong", "-d", "rxe0", "-g", "1", "-n", "1000000", timeout=120)
        self.rig.wait_listening(MACHINE, 18515)
        client = self.rig.spawn(VM, "ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "1", "-n", "1000000", f"10.77.0.{MACHINE}", timeout=120)
        try:
            self.assertEqual(wait_for("the path is listed", self.rig.paths), [("roce", "no adapter of the cluster has the peer's GID")])
        finally:
            client.end()
            server.end()

    def test_3_every_operation_in_both_roles(self):
        for server, client in BOTH_WAYS:
            for words in (["ib_write_bw", "-s", "65536", "-n", "50"], ["ib_read_bw", "-s", "65536", "-n", "50", "-o", "4"],
                          ["ib_send_bw", "-s", "65536", "-n", "50"], ["ib_atomic_bw", "-n", "50", "-o", "4"], ["ib_send_lat", "-n", "50"]):
                with self.subTest(server=server, words=words):
                    self.rig.exchange(server, client, words[0], "-x", "1", "-F", *PATIENT, *words[1:])

    def test_4_datagrams_small_packets_and_link_local_addresses(self):
        for server, client in BOTH_WAYS:
            for words in (["ibv_ud_pingpong", "-g", "1", "-c", "-n", "50", "-s", "1000"], ["ibv_rc_pingpong", "-g", "0", "-c", "-n", "50"],
                          *(["ibv_rc_pingpong", "-g", "1", "-m", mtu, "-c", "-n", "50"] for mtu in ("256", "512", "1024"))):
                with self.subTest(server=server, words=words):
                    self.rig.exchange(server, client, *words)

    def test_5_connections_are_made_by_rdma_cm_in_both_roles(self):
        for server, client in BOTH_WAYS:
            with self.subTest(server=server):
                self.rig.rping(server, client)

    def test_6_packets_have_dscp_26_on_the_cable(self):
        cable = CableCapture(self.rig.lab.ethernet.name, THERE)
        self.addCleanup(cable.close)
        for server, client in BOTH_WAYS:
            for gid in "0", "1":
                self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", gid, "-c", "-n", "20")
            self.rig.exchange(server, client, "ibv_ud_pingpong", "-g", "1", "-c", "-n", "20", "-s", "1000")
        seen = cable.dscps(guest_mac(VM))
        self.assertEqual({version: set(counts) for version, counts in seen.items()}, {4: {26}, 6: {26}})


if __name__ == "__main__":
    unittest.main()
