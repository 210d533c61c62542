"""paravane against a daemon that is down or slow, without rights, and with names that do not exist."""

import concurrent.futures
import os
import signal
import time
import unittest

from rig import LISTS, DaemonTest, run_cli

STRANGER = "daemon"  # a user of every Debian, in no group of ours


class Down(DaemonTest):
    def test_every_command_says_so_and_how_to_start_it(self):
        for words in LISTS + [("vm", "add", "a"), ("vds", "create", "lan"), ("cluster", "status"), ("daemon", "stop")]:
            with self.subTest(words=words):
                said = self.refused(3, *words)
                self.assertIn(f"paravaned does not answer at {self.api}: No such file or directory\n", said)
                self.assertIn("systemctl start paravaned", said)

    def test_what_a_daemon_that_died_left_behind_is_not_one(self):
        daemon = self.start()
        # Or it may see that the keeper is gone before it is killed itself, and remove its socket.
        os.kill(self.engine(daemon), signal.SIGSTOP)
        self.stop(daemon, signal.SIGKILL)
        self.assertTrue(self.api.exists())
        self.assertIn("Connection refused", self.refused(3, "vm", "list"))

    def test_without_rights(self):
        self.start()
        done = run_cli(self.api, "vm", "list", user=STRANGER)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertIn("Run the command as root, or join the group that [api] group names", done.stderr)


class Slow(DaemonTest):
    def test_one_that_is_held_is_waited_for(self):
        daemon = self.start()
        server = self.engine(daemon)  # which has the API
        os.kill(server, signal.SIGSTOP)
        self.addCleanup(os.kill, server, signal.SIGCONT)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = pool.submit(self.cli, "vm", "list")
            time.sleep(2)
            self.assertFalse(asked.done())
            os.kill(server, signal.SIGCONT)
            self.assertEqual(asked.result().returncode, 0)


class Names(DaemonTest):
    def test_the_nearest_name_is_suggested(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vds", "create", "lan")
        self.cli("portgroup", "create", "rdma", "--vds", "lan")
        for words, meant in ((("vm", "remove", "bd1"), "db1"), (("vm", "set", "db11", "--limit", "gids=8"), "db1"),
                             (("vds", "delete", "lam"), "lan"), (("portgroup", "delete", "rmda"), "rdma"),
                             (("stats", "--vm", "dv1"), "db1")):
            with self.subTest(words=words):
                said = self.refused(1, *words)
                self.assertIn(f"Do you mean {meant}? List the ", said)
        for another in ("entirely-another", "db2"):
            self.assertNotIn("Do you mean", self.refused(1, "vm", "remove", another))

    def test_a_filter_that_names_nothing_is_refused(self):
        self.start()
        said = self.refused(1, "network", "firewall", "ruleset", "list", "-r", "pvdrma")
        self.assertIn("there is no firewall ruleset pvdrma", said)
        self.assertIn("Do you mean pvrdma? List the rulesets", said)
        self.assertIn("there is no vmk5 on this host", self.refused(1, "network", "ip", "interface", "ipv4", "get", "-i", "vmk5"))


if __name__ == "__main__":
    unittest.main()
