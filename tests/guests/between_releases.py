"""Traffic of stock guests between a host of what is here and one of the release PARAVANE_OLD_VERSION, whose programs are in
the folder PARAVANE_OLD. tests/releases/run runs it for each release.
"""
import os
import unittest

import test_traffic
from hosts_rig import HostsRig
from rig import Exchange

OLD = os.path.join(os.environ.get("PARAVANE_OLD", ""), "paravane")
KNOWS_NO_SEALS = os.environ.get("PARAVANE_OLD_VERSION") == "0.1.0"  # but the one that is called "frames" since
FRAMES = 'seal = "frames"\n'
PROGRAMS = ("every_operation_byte_by_byte", "rc_pingpong", "C78_ud_pingpong", "C78_srq_pingpong", "C78_rping", "ib_write_bw_64_qps",
            "ib_send_bw_datagrams", "C75_ib_atomic_bw_fetch_and_add")


class BetweenReleases:
    """Of two hosts the one with number `old` is of the other release. The first dials, and has the authority."""

    old, encryption, channel = 1, "on", {}

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2, others={cls.old: OLD}, channel=cls.channel, encryption=cls.encryption)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        versions = [host.paravane("--formatter=csv", "status").stdout.splitlines()[1].split(",")[0] for host in cls.rig.lab.hosts]
        assert versions[cls.old - 1] == os.environ.get("PARAVANE_OLD_VERSION") != versions[2 - cls.old], versions

    def test_programs_there_and_back(self):
        for server, client in (1, 2), (2, 1):
            exchange = Exchange(self.rig, server=server, client=client)
            for name in PROGRAMS:
                with self.subTest(server=server, program=name):
                    test_traffic.RUNS[name](exchange)
        for host in self.rig.lab.hosts:
            log = self.rig.hosts[host.number - 1].daemon_log()
            self.assertNotIn("protocol:", log)


class OlderHasTheAuthority(BetweenReleases, unittest.TestCase):
    pass


class NewerHasTheAuthority(BetweenReleases, unittest.TestCase):
    old = 2


class SealedAsTheOlderKnows(BetweenReleases, unittest.TestCase):
    encryption, channel = "off", {1: "" if KNOWS_NO_SEALS else FRAMES, 2: FRAMES}


if __name__ == "__main__":
    unittest.main()
