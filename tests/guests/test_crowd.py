"""Five guests at once, all pairs talking."""
import itertools
import unittest

from rig import Failed, Rig


class FiveGuests(unittest.TestCase):
    """Every guest serves every other at the same time."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(5, "--memory", "384")

    def test_all_pairs_talk_at_once(self):
        pairs = list(itertools.combinations(range(1, 6), 2))
        servers, clients = [], []
        for number, (server, client) in enumerate(pairs):
            port = 19000 + number
            servers.append(self.rig.spawn(server, "ib_send_bw", "-F", "-e", "-s", "65536", "-n", "300", "-p", str(port)))
        for number, (server, client) in enumerate(pairs):
            port = 19000 + number
            self.rig.wait_listening(server, port)
            clients.append(self.rig.spawn(client, "ib_send_bw", "-F", "-e", "-s", "65536", "-n", "300", "-p", str(port),
                                          f"10.77.0.{server}"))
        for one in clients + servers:
            self.assertIn("#bytes", one.expect_success(180))

    def test_verified_data_around_a_ring_of_five(self):
        ring = [(i, i % 5 + 1) for i in range(1, 6)]
        servers = [self.rig.spawn(server, "paravane-verify", "18700") for server, _ in ring]
        for server, _ in ring:
            self.rig.wait_listening(server, 18700)
        clients = [self.rig.spawn(client, "paravane-verify", "18700", f"10.77.0.{server}") for server, client in ring]
        for one in clients + servers:
            text = one.expect_success(290)
            if ", 0 wrong" not in text:
                raise Failed(text)


if __name__ == "__main__":
    unittest.main()
