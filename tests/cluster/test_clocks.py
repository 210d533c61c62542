"""A host's clock is wrong for a while, at its boot or while it runs: a minute after it is set the
cluster is as it was, and nothing is said that is not so."""

import time

from hosts import ClusterTest, Host, wait_for

DAY_S = 24 * 3600
CORRECTED_S = 60
OFFSETS = {"200 days ahead": 200 * DAY_S, "200 days behind": -200 * DAY_S, "6 minutes ahead": 360}


class Clocks(ClusterTest):
    def setUp(self):
        super().setUp()
        self.h1, self.h2 = self.cluster(2)
        for host in (self.h1, self.h2):
            host.set_clock(0)
        self.wait_whole()

    def restart(self, host):
        host.end()
        host.start(host.clock_environment())

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
                host.set_clock(offset_s)
                self.restart(host)
                time.sleep(5)
                host.set_clock(0)
                self.wait_whole()
            with self.subTest(host=host.name, clock=name, when="while it runs"):
                host.set_clock(offset_s)
                time.sleep(15)  # longer than from one look at the certificate to the next
                host.set_clock(0)
                self.wait_whole()


class Joining(ClusterTest):
    def test_a_host_whose_clock_is_wrong_keeps_its_token(self):
        h1, h2 = self.cluster(1)[0], Host(self, 2)
        h2.set_clock(0)
        h2.start(h2.clock_environment())
        token = h1.token("h2")
        for offset_s in (-360, 360, -200 * DAY_S):
            h2.set_clock(offset_s)
            self.assertIn("this host's clock shows", h2.refused("cluster", "join", text=token))
        h2.set_clock(0)
        h2.cli("cluster", "join", text=token)


class Authority(Clocks):
    def test_the_authoritys_clock_is_wrong_for_a_while(self):
        self.go_through(self.h1)


class Member(Clocks):
    def test_a_members_clock_is_wrong_for_a_while(self):
        self.go_through(self.h2)
