"""RDMA adapters as uplinks: hosts that are guests, whose adapter is Linux's rdma_rxe (adapter_hosts.py)."""
import json
import unittest

from adapter_hosts import DEVICE, AdapterHosts, Traffic
from guests import wait_for

MIB = 32  # each way
PATH = "tcp"  # between hosts that both have an adapter
SOME = 40  # requests


class HcaTrunk(unittest.TestCase):
    """Of transport/hca alone: both ends in one process of one host."""

    @classmethod
    def setUpClass(cls):
        cls.rig = AdapterHosts(1)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.boot()

    def trunk(self, *words):
        said = json.loads(self.rig.program(1, "paravane-trunk", *words, DEVICE, str(MIB)))
        print(f"HcaTrunk: {' '.join(['paravane-trunk', *words])}: {said}", flush=True)
        self.assertEqual((said["bytes"], said["wrong"]), (2 * MIB << 20, 0))
        return said

    def test_1_it_carries_every_byte_both_ways_and_wakes_who_waits(self):
        self.trunk()

    def test_2_it_is_made_and_used_in_the_engines_sandbox(self):
        self.assertTrue(self.trunk("--sandboxed")["confined"])


class HcaTrunkBetweenTwoHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = AdapterHosts()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.boot()
        cls.rig.make_cluster(encryption="off")  # payload over an adapter can be read on the wire

    def traffic(self, seconds):
        traffic = Traffic(self.rig, seconds=seconds)
        self.addCleanup(traffic.cut_short)
        return traffic

    def wait_more(self, traffic):
        """Until some more requests are done."""
        before = traffic.has_done()
        wait_for("the requests go on", lambda: traffic.has_done() >= before + SOME, 60, 0.2)
        self.assertTrue(traffic.goes_on())

    def end(self, traffic):
        ended = traffic.end()
        print(f"HcaTrunk: {self.id().split('.')[-1]}: {ended}", flush=True)
        self.assertIsNone(ended["failed"], ended)
        self.assertGreater(ended["rounds"], 0)
        return ended

    def test_1_the_hosts_have_their_adapters(self):
        for host in self.rig.numbers:
            self.assertIn(DEVICE, self.rig.paravane(host, "rdma", "device", "list"))

    def test_2_every_operation_and_the_path_between_them(self):
        traffic = self.traffic(15)
        for host in self.rig.numbers:
            self.rig.wait_path(host, PATH)
        self.wait_more(traffic)
        self.end(traffic)
        for server, client in ((1, 2), (2, 1)):
            with self.subTest(server=server):
                for said in self.rig.exchange(server, client, "paravane-vm-verify", "--up-to", "262145"):
                    self.assertNotRegex(said, "[1-9][0-9]* (wrong|lost)")

    def test_3_an_adapter_that_goes_and_comes_back_loses_nothing(self):
        traffic = self.traffic(40)
        self.rig.wait_path(2, PATH)
        self.rig.remove_adapter(1)
        self.rig.wait_path(2, "tcp")
        self.wait_more(traffic)
        self.rig.add_adapter(1)
        self.rig.wait_path(2, PATH)
        self.wait_more(traffic)
        self.end(traffic)

    def test_4_with_encryption_the_channel_goes_over_tcp(self):
        for host in self.rig.numbers:
            self.rig.start_again(host, encryption="on")
        self.rig.wait_known()
        self.assertEqual(self.rig.channels(1)["h2"], ("encrypted", ""))
        traffic = self.traffic(10)
        self.rig.wait_path(2, "tcp")
        self.end(traffic)


if __name__ == "__main__":
    unittest.main()
