"""Commands that a signal may interrupt (docs/programs.md): the guest's driver takes a signal
that finds it waiting for a time-out."""
import re
import unittest

from rig import Rig, wait_for

MILLISECOND = "1000"


class Signals(unittest.TestCase):
    """One guest, whose program makes objects under a timer."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(1, "--memory", "768")

    def make(self, kind, count, interval):
        """How many could not be made, and how many signals came."""
        before = self.objects()
        text = self.rig.guest(1, "paravane-interrupted", kind, str(count), interval, timeout=120)
        made, failed, signals = map(int, re.match(r"made (\d+) failed (\d+) signals (\d+)\n", text).groups())
        self.assertEqual(made + failed, count)
        if failed:
            self.assertIn("Connection timed out", text)  # and nothing else is the reason
        print(f"guests: signals: {kind}, a timer of {interval} us: {failed} of {count} not made, {signals} signals", flush=True)
        wait_for("all of it is given back, what the guest does not know of too", lambda: self.objects() == before, 10)
        return failed, signals

    def objects(self):
        stats = self.rig.stats("vm1")
        return {name: stats[name] for name in ("contexts", "queue_pairs", "completion_queues", "memory_regions")}

    def test_without_a_signal_all_are_made(self):
        self.assertEqual(self.make("qp", 300, "0"), (0, 0))
        self.assertEqual(self.make("mr=64", 20, "0"), (0, 0))

    def test_what_a_signal_costs_is_given_back(self):
        """How many it costs is QEMU's doing where there is no KVM: the device's interrupt waits for the processor's own
        accesses to registers, and the driver's wait may begin before it."""
        for kind, count in ("qp", 300), ("cq", 300), ("mr=64", 50):
            with self.subTest(kind=kind):
                failed, signals = self.make(kind, count, MILLISECOND)
                self.assertGreater(signals, 10)
                self.assertLessEqual(failed, signals)  # an object each, and never more


if __name__ == "__main__":
    unittest.main()
