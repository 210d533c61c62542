"""RDMA adapters as uplinks: hosts that are guests, whose adapter is Linux's rdma_rxe (adapter_hosts.py)."""
import json
import unittest

from adapter_hosts import DEVICE, AdapterHosts, Traffic
from guests import wait_for
from host_programs import FOLDER

MIB = 32  # each way
PATH = "hca"  # between hosts that both have an adapter
SOME = 40  # requests
PATIENCE_S = 8  # of a trunk whose peer is gone, which takes half a second on a machine that has time


class HcaTrunk(unittest.TestCase):
    """Of transport/hca alone: two hosts without a daemon."""

    @classmethod
    def setUpClass(cls):
        cls.rig = AdapterHosts(nic="eth1")
        cls.addClassCleanup(cls.rig.close)
        cls.rig.boot()

    def judge(self, text):
        said = json.loads(text)
        print(f"HcaTrunk: {self.id().split('.')[-1]}: {said}", flush=True)
        self.assertEqual((said["bytes"], said["wrong"]), (2 * MIB << 20, 0))
        return said

    def test_1_it_carries_every_byte_both_ways_and_wakes_who_waits(self):
        self.judge(self.rig.program(1, "paravane-trunk", DEVICE, str(MIB)))

    def test_2_it_is_made_and_used_in_the_engines_sandbox(self):
        said = self.judge(self.rig.program(1, "paravane-trunk", "--sandboxed", DEVICE, str(MIB)))
        self.assertTrue(said["confined"])

    def test_3_it_carries_every_byte_between_two_hosts(self):
        for text in self.rig.exchange(1, 2, "paravane-trunk", "--sandboxed", DEVICE, str(MIB)):
            self.assertTrue(self.judge(text)["confined"])

    def without_end(self, port):
        """Of both hosts, the one that listens first."""
        words = str(FOLDER / "paravane-trunk"), DEVICE, "100000", str(port)
        ends = self.rig.spawn(1, *words), self.rig.spawn(2, *words, self.rig.address_of(1))
        for end in ends:
            self.addCleanup(end.end)
        before = self.rig.packets(2)
        wait_for("the trunk carries something", lambda: self.rig.packets(2) > before + 2000, 60, 0.2)
        return ends

    def test_4_a_peer_that_is_gone_is_found_out(self):
        one, other = self.without_end(19010)
        one.end()
        self.assertEqual(other.finish(PATIENCE_S), (1, "paravane-trunk: rxe0: transport retry counter exceeded\n"))

    def test_5_a_port_that_goes_down_ends_both(self):
        one, other = self.without_end(19011)
        self.rig.set_link(1, up=False)
        for end in one, other:
            code, said = end.finish(PATIENCE_S)
            self.assertRegex(said, "rxe0: (local QP operation error|transport retry counter exceeded)")
            self.assertEqual(code, 1)
        self.rig.set_link(1, up=True)
        self.rig.exchange(1, 2, "paravane-trunk", DEVICE, "1", port=19012)

    def test_6_an_adapter_that_is_removed_serves_who_has_it_open(self):
        """So its user has to find out, by other means, and let it go."""
        one, other = self.without_end(19013)
        self.rig.remove_adapter(1)
        before = self.rig.packets(2)
        wait_for("it goes on", lambda: self.rig.packets(2) > before + 500, 60, 0.2)
        for end in one, other:
            end.end()
        self.rig.add_adapter(1)
        self.rig.exchange(1, 2, "paravane-trunk", DEVICE, "1", port=19014)


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

    def test_4_an_adapter_whose_packets_do_not_arrive_loses_nothing(self):
        """TCP's do."""
        traffic = self.traffic(60)
        self.rig.wait_path(2, PATH)
        self.rig.cut_adapter(1)
        why = self.rig.wait_path(2, "tcp")
        self.assertIn("on host h1; hca: ", why[0])
        self.wait_more(traffic)
        self.rig.mend_adapter(1)
        self.rig.wait_path(2, PATH, 60)
        self.wait_more(traffic)
        self.end(traffic)

    def test_5_with_encryption_the_channel_goes_over_tcp(self):
        for host in self.rig.numbers:
            self.rig.start_again(host, encryption="on")
        self.rig.wait_known()
        self.assertEqual(self.rig.channels(1)["h2"], ("encrypted", ""))
        traffic = self.traffic(10)
        self.rig.wait_path(2, "tcp")
        self.end(traffic)


if __name__ == "__main__":
    unittest.main()
