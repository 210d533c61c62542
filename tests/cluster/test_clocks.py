"""A host's clock is wrong for a while, at its boot or while it runs: a minute after it is set the
cluster is as it was, and nothing is said that is not so."""

import os
import pathlib
import struct
import time

from hosts import ClusterTest, wait_for

DAY_S = 24 * 3600
CORRECTED_S = 60
OFFSETS = {"200 days ahead": 200 * DAY_S, "200 days behind": -200 * DAY_S, "6 minutes ahead": 360}


class Clocks(ClusterTest):
    def setUp(self):
        super().setUp()
        self.h1, self.h2 = self.cluster(2)
        for host in (self.h1, self.h2):
            host.clock = host.folder / "clock"
            self.set_clock(host, 0)
        self.wait_whole()

    def set_clock(self, host, offset_s):
        """In place: the daemon has the file mapped."""
        if not host.clock.exists():
            host.clock.write_bytes(struct.pack("q", 0))
            host.clock.chmod(0o644)
        with host.clock.open("r+b") as file:
            file.write(struct.pack("q", offset_s))

    def restart(self, host):
        """With a clock that can be shifted."""
        host.end()
        library = pathlib.Path(os.environ["PARAVANE_CLOCK_OFFSET"])
        host.start({"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(host.clock)})

    def assert_says_the_truth(self, host):
        status = host.status()
        self.assertEqual(status["certificate_left_s"] == 0, status["certificate_problem"] != "", status)

    def is_whole(self):
        for host, to in ((self.h1, self.h2), (self.h2, self.h1)):
            self.assert_says_the_truth(host)
            status = host.status()
            if not status["connected"] or status["certificate_problem"] or host.channel(to)[0] != "encrypted":
                return False
        return True

    def wait_whole(self):
        began = time.monotonic()
        wait_for(self.is_whole, "the cluster to be whole")
        self.assertLess(time.monotonic() - began, CORRECTED_S)

    def go_through(self, host):
        for name, offset_s in OFFSETS.items():
            with self.subTest(host=host.name, clock=name, when="at its start"):
                self.set_clock(host, offset_s)
                self.restart(host)
                time.sleep(5)
                self.set_clock(host, 0)
                self.wait_whole()
            with self.subTest(host=host.name, clock=name, when="while it runs"):
                self.set_clock(host, offset_s)
                time.sleep(15)  # longer than from one look at the certificate to the next
                self.set_clock(host, 0)
                self.wait_whole()


class Authority(Clocks):
    def test_the_authoritys_clock_is_wrong_for_a_while(self):
        self.go_through(self.h1)


class Member(Clocks):
    def test_a_members_clock_is_wrong_for_a_while(self):
        self.go_through(self.h2)
