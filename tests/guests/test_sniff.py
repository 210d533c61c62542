"""`paravane sniff`: what real guests do, as Wireshark (tshark) reads it."""
import collections
import subprocess
import unittest

import gid_table
import roce_capture
from guests import BUILD
from rig import Exchange, Rig, wait_for
from roce_capture import Sniffing

PORT = "18515"
V1, V2_IPV4, V2_IPV6 = "eth:ethertype:infiniband", "eth:ethertype:ip:udp:infiniband", "eth:ethertype:ipv6:udp:infiniband"

# What each program's traffic has in it, as the one that begins sends it.
OPERATIONS = {
    "ib_write_bw": ({"WRITE First", "WRITE Middle", "WRITE Last", "Acknowledge"}, "-s", "5000"),
    "ib_send_lat": ({"SEND Only", "Acknowledge"}, "-s", "2"),
    "ib_send_bw": ({"SEND First", "SEND Middle", "SEND Last", "Acknowledge"}, "-s", "5000"),
    "ib_read_bw": ({"READ Request", "READ Response First", "READ Response Middle", "READ Response Last"}, "-s", "5000"),
    "ib_read_lat": ({"READ Request", "READ Response Only"}, "-s", "8"),
    "ib_atomic_lat": ({"FetchAdd", "ATOMIC Acknowledge"}, "-A", "FETCH_AND_ADD"),
    "ib_atomic_bw": ({"CmpSwap", "ATOMIC Acknowledge"}, "-A", "CMP_AND_SWAP"),
}


def mac_of(vm, nic):
    return f"52:54:00:77:{nic:02x}:{vm:02x}"


class Sniffed(unittest.TestCase):
    """Two guests with an adapter for RoCE v2 and one for v1."""

    @classmethod
    def setUpClass(cls):
        cls.rig = rig = Rig()
        cls.addClassCleanup(rig.close)
        for vm in (1, 2):
            rig.cli("vm", "add", f"vm{vm}", "--mac", mac_of(vm, 0))
            rig.cli("vm", "adapter", "add", f"vm{vm}", "--protocol", "v1", "--mac", mac_of(vm, 1))
        rig.up(2, "--adapters", "2")
        cls.exchange = Exchange(rig, server=1, client=2)

    def setUp(self):
        self.file = self.rig.folder / f"{self.id().rsplit('.', 1)[-1]}.pcapng"

    def gid_index(self, vm, nic, kind):
        gid = gid_table.made_of_mac(mac_of(vm, nic)) if kind == "MAC" else gid_table.made_of(f"10.77.{nic}.{vm}")
        return str(gid_table.find(self.rig, vm, gid, f"vmw_pvrdma{nic}").index)

    def run_pair(self, tool, *options, nic=0, kind="IPv4", gid_option="-x"):
        def words(vm):
            return [tool, "-d", f"vmw_pvrdma{nic}", gid_option, self.gid_index(vm, nic, kind), "-p", PORT, *options]
        self.exchange.run(words(1), [*words(2), self.exchange.address], port=int(PORT))

    def sniffed(self, run, vm="vm2", options=("-s", "0")):
        """What was seen of a VM while something ran; nothing may be missing."""
        sniffing = Sniffing(self.rig, vm, self.file, *options)
        try:
            run()
        finally:
            said = sniffing.end()
        packets = roce_capture.dissected(self.file)
        self.assertIn(f"{len(packets)} packets captured, 0 dropped", said)
        return packets

    def every_operation(self, nic, kind, protocols):
        for tool, (expected, *options) in OPERATIONS.items():
            with self.subTest(tool=tool):
                packets = self.sniffed(lambda tool=tool, options=options:
                                       self.run_pair(tool, "-F", "-n", "10", "-m", "1024", *options, nic=nic, kind=kind))
                ours = [packet for packet in packets if packet.protocols.startswith(protocols)]
                self.assertEqual(len(ours), len(packets), {packet.protocols for packet in packets})
                self.assertLessEqual(expected, roce_capture.opcodes(packets))
                self.assertEqual({packet.interface for packet in packets}, {"vm2/2" if nic else "vm2"})
                self.assertEqual({packet.outbound for packet in packets}, {True, False})
                self.in_order(packets)
                for frame, original in roce_capture.frames(self.file):
                    self.assertEqual(len(frame), original)
                    self.assertTrue(roce_capture.has_good_icrc(frame), frame.hex())

    def in_order(self, packets):
        """Each requester's packets have the numbers one after the other; a READ has those of its answer."""
        streams = collections.defaultdict(list)
        for packet in packets:
            answers = packet.opcode in (0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12)
            streams[packet.outbound, packet.target, answers, packet.opcode in range(0x0C, 0x11)].append(packet.psn)
        for (_, target, _, reads), numbers in streams.items():
            for before, after in zip(numbers, numbers[1:]):
                step = (after - before) % (1 << 24)
                self.assertTrue(step >= 1 if reads else step in (1, 5), f"qp {target:#x}: {before} {after}")
                self.assertLess(step, 100)

    def test_every_operation_over_v2_and_ipv4(self):
        self.every_operation(0, "IPv4", V2_IPV4)

    def test_every_operation_over_v2_and_ipv6(self):
        self.every_operation(0, "MAC", V2_IPV6)

    def test_every_operation_over_v1(self):
        self.every_operation(1, "IPv4", V1)

    def test_datagrams_over_each(self):
        for nic, kind, protocols in (0, "IPv4", V2_IPV4), (0, "MAC", V2_IPV6), (1, "MAC", V1):
            with self.subTest(nic=nic, kind=kind):
                packets = self.sniffed(lambda nic=nic, kind=kind: self.run_pair(
                    "ibv_ud_pingpong", "-n", "20", "-s", "1000", nic=nic, kind=kind, gid_option="-g"))
                self.assertEqual(roce_capture.opcodes(packets), {"UD SEND Only"})
                self.assertEqual(len(packets), 40)
                self.assertTrue(all(packet.protocols.startswith(protocols) for packet in packets))
                for frame, _ in roce_capture.frames(self.file):
                    self.assertTrue(roce_capture.has_good_icrc(frame))

    def test_both_ends_see_the_same(self):
        server = Sniffing(self.rig, "vm1", self.rig.folder / "vm1.pcapng", "-s", "0")
        of_client = self.sniffed(lambda: self.run_pair("ibv_rc_pingpong", "-n", "20", "-s", "3000", gid_option="-g"))
        server.end()
        of_server = roce_capture.dissected(server.file)
        def seen(packets):
            return sorted((packet.target, packet.psn, packet.opcode, packet.length) for packet in packets)
        self.assertEqual(seen(of_client), seen(of_server))
        self.assertEqual([packet.outbound for packet in of_client].count(True),
                         [packet.outbound for packet in of_server].count(False))
        self.assertEqual({str(roce_capture.address_of(frame)) for frame, _ in roce_capture.frames(server.file)},
                         {"10.77.0.1", "10.77.0.2"})

    def test_the_connection_manager_is_dissected(self):
        packets = self.sniffed(lambda: self.exchange.run(
            ["rping", "-s", "-C", "5"], ["rping", "-c", "-a", self.exchange.address, "-C", "5"], cm_port=7174), options=())
        said = "\n".join(packet.info for packet in packets)
        for message in ("ConnectRequest", "ConnectReply", "ReadyToUse", "DisconnectRequest"):
            self.assertIn(message, said)

    def test_a_part_of_each_packet(self):
        packets = self.sniffed(lambda: self.run_pair("ib_write_bw", "-F", "-n", "10", "-m", "1024", "-s", "4000"), options=("-s", "60"))
        self.assertIn("WRITE First", roce_capture.opcodes(packets))
        self.assertEqual({len(frame) for frame, _ in roce_capture.frames(self.file)}, {60})

    def test_the_defaults_are_readable(self):
        """A capture of large writes without options, in a tshark without options; and so many packets of it."""
        run = ("ib_write_bw", "-F", "-n", "20", "-m", "1024", "-s", "65536")
        packets = self.sniffed(lambda: self.run_pair(*run), options=())
        self.assertGreater(len(packets), 20 * 64)
        summary = roce_capture.run_tshark("-r", self.file)
        self.assertEqual(len(summary.splitlines()), len(packets))
        self.assertNotIn("Malformed", summary)
        self.assertNotIn("Invalid", summary)
        sniffing = Sniffing(self.rig, "vm2", self.file, "-c", "50")
        self.run_pair(*run)
        self.assertIn("50 packets captured, 0 dropped between them; stopped by --count", sniffing.end())
        self.assertEqual(len(roce_capture.dissected(self.file)), 50)
        counted = [body for kind, body in roce_capture.blocks(self.file) if kind == 5]
        self.assertEqual([roce_capture.received(body) for body in counted], [50, 0])

    def test_a_receiver_that_is_not_ready_is_a_nak_and_a_try_again(self):
        self.rig.cli("impair", "set", "--vm", "vm2", "--rnr=20%", "--seed", "7")
        self.addCleanup(self.rig.cli, "impair", "clear")
        packets = self.sniffed(lambda: self.run_pair("ibv_rc_pingpong", "-n", "50", "-s", "64", gid_option="-g"))
        naks = roce_capture.tshark(self.file, "-Y", "infiniband.aeth.syndrome.opcode == 1").splitlines()
        sent = [packet.psn for packet in packets if packet.outbound and packet.opcode == 0x04]
        self.assertGreater(len(naks), 3)
        self.assertEqual(len(sent) - len(set(sent)), len(naks))

    def test_into_a_pipe_and_so_many(self):
        words = [BUILD / "bin" / "paravane", "--socket", self.rig.folder / "api.sock", "sniff", "--vm", "vm2", "-w", "-", "-c", "25"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as sniff:
            wait_for("the capture", lambda: roce_capture.captures(self.rig))
            self.run_pair("ibv_rc_pingpong", "-n", "100", gid_option="-g")
            text = roce_capture.tshark("-", stdin=sniff.stdout)
        self.assertEqual(len(text.splitlines()), 25)
        self.assertEqual(sniff.returncode, 0)
        self.assertEqual(roce_capture.captures(self.rig), [])

    def test_ends_when_its_reader_is_gone(self):
        sniffing = Sniffing(self.rig, "vm2", self.file)
        sniffing.process.kill()
        sniffing.process.communicate()
        again = self.rig.cli("sniff", "--vm", "vm2", "-w", self.file, "--seconds", "1", check=False)
        self.assertEqual(again.returncode, 1)
        self.assertIn("vm vm2 is already being captured", again.stderr)
        wait_for("the capture ends", lambda: "no client reads it" in self.rig.daemon_log(), 15)
        self.rig.cli("sniff", "--vm", "vm2", "-w", self.file, "--seconds", "1")

    def test_refusals(self):
        wrong = self.rig.cli("sniff", "--vm", "vm9", "-w", self.file, check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("vm9", wrong.stderr)
        self.assertFalse(self.file.exists())
        nowhere = self.rig.cli("sniff", "--vm", "vm2", "-w", "/nowhere/x", check=False)
        self.assertEqual(nowhere.returncode, 1)
        self.assertIn("/nowhere/x", nowhere.stderr)
        self.assertEqual(roce_capture.captures(self.rig), [])


if __name__ == "__main__":
    unittest.main()
