"""Five guests of one host at once, and eight of four hosts."""
import unittest

import crowd
from hosts_rig import HostsRig
from rig import Rig

MEMORY = ("--memory", "384")
LONGEST = "65537"  # a guest without KVM takes long to compare megabytes


def sends(port):
    return ["ib_send_bw", "-F", "-e", "-s", "65536", "-n", "300", "-p", str(port)]


def verified(*more):
    return lambda port: ["paravane-verify", *more, str(port)]


class FiveGuests(unittest.TestCase):
    """Every guest serves every other at the same time."""

    vms = range(1, 6)

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(5, *MEMORY)

    def test_all_pairs_talk_at_once(self):
        for text in crowd.talk_at_once(self.rig, crowd.all_pairs(self.vms), sends):
            self.assertIn("#bytes", text)

    def test_verified_data_around_a_ring_of_five(self):
        for text in crowd.talk_at_once(self.rig, crowd.ring(self.vms), verified()):
            self.assertIn(", 0 wrong", text)


class EightGuestsOfFourHosts(unittest.TestCase):
    """Two guests on each host; every byte that arrives is compared."""

    vms = range(1, 9)

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(4, vms_per_host=2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(*MEMORY)

    def test_all_pairs_talk_at_once(self):
        pairs = crowd.all_pairs(self.vms)
        self.assertEqual(len(pairs), 28)
        for text in crowd.talk_at_once(self.rig, pairs, verified("--up-to", LONGEST)):
            self.assertIn("UD SEND: ", text)
            self.assertIn(", 0 wrong", text)

    def test_all_pairs_talk_at_once_in_messages_of_a_megabyte_too(self):
        for text in crowd.talk_at_once(self.rig, crowd.all_pairs(self.vms), verified(), timeout=900):
            self.assertIn(", 0 wrong", text)


if __name__ == "__main__":
    unittest.main()
