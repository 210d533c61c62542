"""The guides of docs/guides, followed to the letter: each block is typed where it says, on hosts and in guests that begin
empty, and shows what the guide shows."""
import itertools
import sys
import unittest

import guide_text
from guests import ROOT
from guide_follower import Follower
from guide_hosts import GuideHosts

sys.path.insert(0, str(ROOT / "tools"))
from check_blocks import GUIDES_OF_OTHERS  # noqa: E402  (the line above makes it importable)

GUIDES = ROOT / "docs" / "guides"


class GuideTest:
    """For a guide of that name with so many hosts."""

    guide, hosts, followed = "", 0, False

    @classmethod
    def setUpClass(cls):
        cls.rig = GuideHosts(cls.hosts)
        cls.addClassCleanup(cls.rig.close)

    @classmethod
    def follow_once(cls):
        if not cls.followed:
            Follower(cls.rig).follow(GUIDES / cls.guide)
            cls.followed = True

    def test_every_block_shows_what_the_guide_shows(self):
        self.follow_once()


class ConceptsGuide(GuideTest, unittest.TestCase):
    """As VMware's overview."""

    guide, hosts = "concepts.md", 1


class TwoHostsGuide(GuideTest, unittest.TestCase):
    """As Lenovo's LP0759."""

    guide, hosts = "two-hosts.md", 2


class VerbsAndLimitsGuide(GuideTest, unittest.TestCase):
    """As VMware's KB 2147694."""

    guide, hosts = "verbs-and-limits.md", 1


class NativeEndpointsGuide(GuideTest, unittest.TestCase):
    """As VMware's native endpoints."""

    guide, hosts = "native-endpoints.md", 1


class FourHostsGuide(GuideTest, unittest.TestCase):
    """As Mellanox's guide; and its last command between each pair of VMs."""

    guide, hosts = "four-hosts.md", 4

    def test_every_block_shows_what_the_guide_shows(self):
        super().test_every_block_shows_what_the_guide_shows()
        for server, client in itertools.combinations(range(1, 5), 2):
            with self.subTest(server=server, client=client):
                self.write_bandwidth(server, client)

    def test_every_pair_the_other_way(self):
        self.follow_once()
        for client, server in itertools.combinations(range(1, 5), 2):
            with self.subTest(server=server, client=client):
                self.write_bandwidth(server, client)

    def write_bandwidth(self, server, client):
        words = "ib_write_bw -x 0 -F -d vmw_pvrdma0 --report_gbits".split()
        listening = self.rig.spawn(server, *words)
        try:
            self.rig.wait_listening(server, 18515)
            text = self.rig.guest(client, *words, f"192.168.11.{50 + server}", timeout=120)
            listening.expect_success(30)
        finally:
            listening.end()
        self.assertRegex(text, r"(?m)^ *65536 +5000 +[\d.]+ +[\d.]*[1-9]")


class Conventions(unittest.TestCase):
    """Without hosts: what the convention of docs/guides/README.md catches."""

    def test_every_guide_is_followed_and_every_block_says_where(self):
        followed = {one.guide for one in GuideTest.__subclasses__()}
        self.assertEqual({file.name for file in GUIDES.glob("*.md")} - {"README.md", *GUIDES_OF_OTHERS}, followed)
        for guide in GUIDES.glob("*.md"):
            for step in guide_text.steps(guide):
                self.assertTrue(step.commands or step.reason_not_to_run or "file" in step.attributes, step.place)

    def test_a_block_that_nobody_could_follow_is_refused(self):
        for info, lines in [("", ["# ls"]), ("console", ["# ls"]), ("console host=h1 vm=vm1", ["# ls"]), ("console host=h1", []),
                            ("console host=h1", ["ls"]), ("console host=h1 unless=x", ["# ls"]), ("toml host=h1", ["[a]"]),
                            ("toml vm=vm1 file=/etc/a", ["[a]"]), ("console host=h1 not-run=", ["ls"])]:
            with self.subTest(info=info, lines=lines), self.assertRaises(guide_text.Unconventional):
                guide_text.Step("here", info, lines)
        self.assertEqual(guide_text.Step("here", "text not-run='an example'", ["any"]).reason_not_to_run, "an example")

    def test_what_is_shown_may_differ_in_numbers_and_in_nothing_else(self):
        table = ["Name  MAC Address        Host", "----  -----------------  ----", "vm1   02:50:56:33:c7:9e  h1"]
        self.assertEqual(guide_text.without_remarks("Correlation coefficient r^2: 0.477 < 0.9\nTitle\n"), "Title\n")
        self.assertTrue(guide_text.same_shape(table, ["Name  MAC Address  Host", "---  --  --", "vm1  02:50:56:33:c7:9f  h1", ""]))
        for wrong in ([*table, table[2]], table[:2], [table[0].replace("Host", "Hosts"), *table[1:]], [*table[:2], "vm1  h1"],
                      [*table[:2], "vm2   02:50:56:33:c7:9e  h1"], [*table[:2], "vm1   02:50:56:33:c7:9e  h2"]):
            self.assertFalse(guide_text.same_shape(table, wrong), wrong)
        self.assertTrue(guide_text.same_shape(["...", "a ... 1.5 s"], ["x", "y", "a b c 2 s"]))
        self.assertFalse(guide_text.same_shape([], ["x"]))
        self.assertEqual(guide_text.titles(table), guide_text.titles(table[:2]))


if __name__ == "__main__":
    unittest.main()
