"""A VM and Linux's rdma_rxe over a wire that loses, repeats, reorders and damages frames of both directions, by a seed: nothing is
lost or done twice, and every byte is right."""
import unittest

from fault_rig import Ended
from native_rig import NativeRig
from rig import Exchange
from test_native_endpoint import BOTH_WAYS, MACHINE, VM

FAULTS = {"loss": "lost", "duplicate": "duplicated", "reorder": "reordered", "damage": "damaged"}  # and how they are counted
WAYS = "a_to_b", "b_to_a"
# Only RoCE's own headers and what follows them are damaged: Linux's rdma_rxe panics where the length of a UDP datagram says that it is
# shorter than RoCE's first header, since it looks at a queue pair that it has not looked up yet (seen in Linux 6.1).
AFTER_UDP = 62  # over IPv6, for the programs use link-local GIDs


class NativeFaults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = NativeRig(VM, MACHINE)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(wire=("--seed", "20261126", "--damage-from", str(AFTER_UDP)))

    def set_all(self, share):
        for fault in FAULTS:
            self.rig.wire.order(f"{fault} {share}")

    def hits(self):
        counts = self.rig.wire.counts()
        return {(way, name): counts[way][name] for way in WAYS for name in FAULTS.values()}

    def traffic(self, server, client, share, seconds=8):
        """Requests of each kind while that share of the frames has each of the faults. Returns what Linux counted of it."""
        before, hits = self.rig.rxe_counters(), self.hits()
        rounds = self.rig.tally(server, client, seconds)
        self.set_all(share)
        try:
            self.assertEqual([path for path, _ in self.rig.paths()], ["roce"])
            self.assertTrue(rounds.goes_on(), "the faults came too late")
            ended: Ended = rounds.end()
        finally:
            self.set_all("0")
        self.assertEqual(ended.code, 0, ended.text)
        self.assertGreater(ended.rounds, 5, ended.text)
        for fault, count in self.hits().items():
            self.assertGreater(count, hits[fault], fault)
        after = self.rig.rxe_counters()
        return {name: after[name] - before[name] for name in after}

    def test_1_of_a_hundred_frames_one_has_each_fault(self):
        self.both_roles("1%")

    def test_2_of_ten_frames_one_has_each_fault(self):
        self.both_roles("10%")

    def both_roles(self, share):
        with self.subTest("the VM asks"):
            counted = self.traffic(MACHINE, VM, share)
            # What came after a packet that was missing was dropped, and was sent again.
            self.assertGreater(counted["out_of_seq_request"], 0, counted)
            self.assertGreater(counted["duplicate_request"], 0, counted)
        with self.subTest("the VM answers"):
            counted = self.traffic(VM, MACHINE, share)
            self.assertGreater(counted["rcvd_seq_err"] + counted["completer_retry_err"], 0, counted)

    def test_3_every_operation_byte_by_byte_where_one_of_a_hundred_frames_has_each_fault(self):
        self.verified("1%", longest=65537)

    def test_4_every_operation_byte_by_byte_where_one_of_ten_frames_has_each_fault(self):
        self.verified("10%", longest=4097)

    def test_5_long_reads_of_the_vm_byte_by_byte_where_one_of_a_hundred_frames_has_each_fault(self):
        """The VM asks for what is missing in parts, so that the machine sends no multiple of the data (docs/roce.md)."""
        longest = 1048579
        before = self.rig.rxe_counters()["sent_pkts"]
        self.verified("1%", longest, ways=[(MACHINE, VM)], only="RDMA READ")
        packets = self.rig.rxe_counters()["sent_pkts"] - before
        data = 4 * (2 * 262144 + 2 * 1048576) // 1024  # of the four long ones, at each of four places; the rest is little
        self.assertGreater(packets, data)
        self.assertLess(packets, 4 * data)

    def verified(self, share, longest, ways=BOTH_WAYS, only=None):
        """`longest`: of the messages; what is lost of a READ makes Linux ask for all the rest of it again (docs/roce.md)."""
        words = ["paravane-verify", *(["--only", only] if only else []), "--up-to", str(longest), "18700"]
        for server, client in ways:
            exchange = Exchange(self.rig, server=server, client=client)
            hits = self.hits()
            self.set_all(share)
            try:
                texts = exchange.run(words, [*words, exchange.address, "--lossy"], port=18700, timeout=540)
            finally:
                self.set_all("0")
            for name in FAULTS.values():  # a READ sends little in one of the directions
                self.assertGreater(sum(self.hits()[way, name] for way in WAYS), sum(hits[way, name] for way in WAYS), name)
            for text in texts:
                self.assertIn(f"{only or 'UD SEND'}: ", text)
                self.assertNotIn("wrong bytes", text)


if __name__ == "__main__":
    unittest.main()
