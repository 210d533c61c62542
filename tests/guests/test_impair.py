"""Fault injection: what real guests see of a path that was made worse on purpose."""
import json
import re
import unittest

from hosts_rig import HostsRig
from rig import Exchange, Rig
from test_traffic import pingpong, rping

VERIFY = ["paravane-verify", "18700"]


class ImpairedPath:
    """Server in one guest, client in the other, and something set between them. `peer_names`: as whom
    each is known to the other's host."""

    def setUp(self):
        for cli in self.hosts():
            self.addCleanup(cli, "impair", "clear")

    def impair(self, *words):
        """What both guests send to each other is impaired from now on."""
        for vm, peer in (1, 2), (2, 1):
            self.cli_of(vm)("impair", "set", "--vm", f"vm{vm}", "--peer", self.peer_names[peer], *words)

    def set_there(self):
        return [row for cli in self.hosts() for row in json.loads(cli("impair", "list", "--formatter=json").stdout)]

    def done(self):
        """What was done to messages, by its name, both ways together."""
        rows = self.set_there()
        self.assertEqual(len(rows), 2)
        return {name: sum(row[name] for row in rows)
                for name in ("messages", "lost", "answers_lost", "delayed", "reordered", "rnr")}

    def test_every_byte_is_right_however_much_is_lost_and_late(self):
        self.impair("--loss", "3%", "--delay", "20us", "--reorder", "--seed", "7")
        server, client = self.exchange.run(VERIFY, [*VERIFY, self.exchange.address, "--lossy"], port=18700,
                                           timeout=240)
        self.assertNotIn("wrong bytes", server + client)
        self.assertEqual(client.count(" 0 wrong"), 8, client)
        done = self.done()
        for name in ("lost", "answers_lost", "delayed", "reordered"):
            self.assertGreater(done[name], 5, done)
        # Of datagrams alone does a program hear nothing.
        self.assertEqual([int(n) for n in re.findall(r"([0-9]+) lost", client)][:-1], [0] * 7, client)
        self.assertGreater(self.stats_of(2)["retries"], 5)
        self.assertIn(f"impaired vm2 to {self.peer_names[1]}", self.cli_of(2)("stats", "--counters").stdout)
        shown = [json.loads(cli("status", "--formatter=json").stdout)["impairments"] for cli in self.hosts()]
        self.assertEqual(sum(shown), 2)

    def test_programs_do_not_notice_some_loss(self):
        self.impair("--loss", "0.5%", "--delay", "20us", "--reorder", "--seed", "3")
        words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-x", "0", "-F", "-p", "18515", "-n", "500"]
        _, text = self.exchange.run(words, [*words, self.exchange.address], port=18515)
        self.assertIn("#bytes", text)
        rping(self.exchange)
        self.assertGreater(self.done()["lost"], 0)

    def test_loss_of_everything_is_retry_exceeded(self):
        self.impair("--loss", "100%")
        words = ["ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "0", "-p", "18600"]
        server = self.rig.spawn(1, *words)
        try:
            self.rig.wait_listening(1, 18600)
            code, text = self.rig.spawn(2, *words, self.exchange.address).finish()
            self.assertNotEqual(code, 0)
            self.assertIn("transport retry counter exceeded", text)
            self.assertEqual(self.done()["messages"], 8)  # once, and seven retries
        finally:
            server.process.kill()
            server.process.communicate()

    def test_datagrams_are_lost_without_a_word(self):
        self.impair("--loss", "100%")
        words = ["ibv_ud_pingpong", "-d", "vmw_pvrdma0", "-g", "0", "-p", "18600"]
        before = self.stats_of(2)["completion_errors"]
        server = self.rig.spawn(1, *words)
        client = None
        try:
            self.rig.wait_listening(1, 18600)
            client = self.rig.spawn(2, *words, self.exchange.address)
            self.rig.shell(2, "sleep 1")
            self.assertIsNone(client.process.poll())  # it waits for an answer, and hears of no error
            self.assertEqual(self.stats_of(2)["completion_errors"], before)
            self.assertGreater(self.done()["lost"], 0)
        finally:
            for one in (server, client):
                if one:
                    one.process.kill()
                    one.process.communicate()

    def test_a_receiver_that_is_not_ready_is_waited_for(self):
        before = self.stats_of(2)["rnr_waits"]
        self.impair("--rnr=5%", "--seed", "7")
        pingpong("ibv_rc_pingpong")(self.exchange)
        self.assertGreater(self.done()["rnr"], 10)
        self.assertGreater(self.stats_of(2)["rnr_waits"], before + 5)

    def test_what_is_cleared_is_gone(self):
        self.impair("--loss", "100%")
        self.cli_of(1)("impair", "clear", "--vm", "vm1")
        self.cli_of(2)("impair", "clear")
        self.assertEqual(self.set_there(), [])
        pingpong("ibv_rc_pingpong")(self.exchange)


class Impaired(ImpairedPath, unittest.TestCase):
    """On one host."""

    peer_names = {1: "vm1", 2: "vm2"}

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2)
        cls.exchange = Exchange(cls.rig, server=1, client=2)

    def hosts(self):
        return [self.rig.cli]

    def cli_of(self, _vm):
        return self.rig.cli

    def stats_of(self, vm):
        return self.rig.stats(f"vm{vm}")


class ImpairedBetweenTwoHosts(ImpairedPath, unittest.TestCase):
    """Each host impairs what its own guest sends; the other's is known by the GID of its MAC address."""

    peer_names = {1: "fe80::5054:ff:fe77:1", 2: "fe80::5054:ff:fe77:2"}

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.exchange = Exchange(cls.rig, server=1, client=2)

    def hosts(self):
        return [host.cli for host in self.rig.hosts]

    def cli_of(self, vm):
        return self.rig.host_of(vm).cli

    def stats_of(self, vm):
        return self.rig.stats(vm)


if __name__ == "__main__":
    unittest.main()
