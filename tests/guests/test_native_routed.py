"""RoCE v2 between subnets: what goes through a router does so by the gateway that the guest's own network stack finds."""
import unittest

from routed_rig import NEAR, RoutedRig

VM, MACHINE, OLD = 1, 2, 3
BOTH_WAYS = ((MACHINE, VM), (VM, MACHINE))  # server, client
IMPATIENT = ["-n", "5", "-s", "64"]
PATIENT = ["-u", "18"]  # a second: a router is one more that wants the processor
RETRIES_EXCEEDED = "transport retry counter exceeded"


class NativeRouted(unittest.TestCase):
    """A machine with Linux's rdma_rxe behind a router."""

    @classmethod
    def setUpClass(cls):
        cls.rig = RoutedRig(VM, MACHINE)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def pingpong(self, server, client, *words):
        self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-c", *words)

    def test_1_messages_go_both_ways_through_the_router(self):
        for server, client in BOTH_WAYS:
            for size in ("1", "4096", "65536"):
                with self.subTest(server=server, size=size):
                    self.pingpong(server, client, "-s", size, "-n", "50")

    def test_2_every_operation_and_datagrams_in_both_roles(self):
        for server, client in BOTH_WAYS:
            for words in (["ib_write_bw", "-s", "65536", "-n", "50"], ["ib_read_bw", "-s", "65536", "-n", "50", "-o", "4"],
                          ["ib_send_bw", "-s", "65536", "-n", "50"], ["ib_atomic_bw", "-n", "50", "-o", "4"],
                          ["ib_send_lat", "-c", "UD", "-s", "512", "-n", "50"]):  # ibv_ud_pingpong has a hop limit of 1
                with self.subTest(server=server, words=words):
                    self.rig.exchange(server, client, words[0], "-x", "1", "-F", *PATIENT, *words[1:])

    def test_3_connections_are_made_by_rdma_cm_in_both_roles(self):
        for server, client in BOTH_WAYS:
            with self.subTest(server=server):
                self.rig.rping(server, client)

    def fails(self, server, client):
        with self.assertRaises(AssertionError) as failed:
            self.pingpong(server, client, *IMPATIENT)
        self.assertIn(RETRIES_EXCEEDED, str(failed.exception))

    def test_4_a_router_that_drops_roce_is_a_silence(self):
        self.rig.router.set_roce(False)
        self.fails(MACHINE, VM)
        self.rig.router.set_roce(True)
        self.pingpong(MACHINE, VM, "-n", "50")

    def test_5_roce_v1_is_never_routed(self):
        self.rig.add_vm(OLD, NEAR, "--port-group", "native", "--protocol", "v1")
        self.fails(MACHINE, OLD)


if __name__ == "__main__":
    unittest.main()
