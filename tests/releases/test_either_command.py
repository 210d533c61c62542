"""The command of one release at the daemon of another, as after an upgrade that left the daemon running."""

import json

from pair import NOW, VERSION, OfEachRelease
from hosts import PATIENCE_S, ClusterTest, Host

NAMED = '[host]\nname = "h1"\n'
READ = [("status",), ("vm", "list"), ("vm", "show", "db1"), ("vds", "list"), ("portgroup", "list"), ("path", "list"), ("impair", "list"),
        ("stats",), ("events",), ("network", "nic", "list"), ("rdma", "device", "list"), ("network", "ip", "interface", "list"),
        ("network", "firewall", "ruleset", "list"), ("system", "settings", "advanced", "list"), ("cluster", "status")]

# What came after a release.
SINCE = {"0.1.0": [("vds", "repair"), ("cluster", "restore", "--accept", "--yes"), ("vm", "set", "db1", "--limit", "page_list_mib=32"),
                   ("vm", "add", "db2", "--limit", "page_list_mib=32")]}


class EitherCommand(OfEachRelease, ClusterTest):
    def use_every_day(self, daemon, command):
        """What an operator does, with another release's command."""
        host = Host(self, 1, NAMED, daemon).start()

        def cli(*words):
            return host.cli(*words, programs=command).stdout
        cli("vds", "create", "lan")
        cli("vds", "add-host", "lan", "h1")
        cli("portgroup", "create", "rdma", "--vds", "lan", "--vlan", "7")
        cli("vm", "add", "db1", "--port-group", "rdma", "--limit", "gids=8")
        cli("vm", "add", "db2", "--hw-version", "13")
        cli("vm", "set", "db2", "--limit", "queue_pairs=64")
        cli("vm", "adapter", "add", "db2")
        for words in READ:
            with self.subTest(words=words):
                cli(*words)
                json.loads(cli("--formatter=json", *words))
        self.assertEqual(cli("--formatter=csv", "vm", "list"), host.cli("--formatter=csv", "vm", "list").stdout)
        self.assertIn("db1", cli("vm", "list"))
        self.assertIn("db9", host.refused("vm", "show", "db9", programs=command))
        self.assertIn("lan", host.refused("vds", "delete", "lan", programs=command))
        cli("vm", "remove", "db1")
        cli("vm", "remove", "db2")
        cli("portgroup", "delete", "rdma")
        cli("vds", "delete", "lan")
        self.assertEqual(json.loads(cli("--formatter=json", "vm", "list")), [])
        cli("cluster", "init", "--name", "h1")
        self.assertEqual([one["name"] for one in json.loads(cli("--formatter=json", "cluster", "status"))["hosts"]], ["h1"])
        cli("cluster", "token", "h9")
        cli("cluster", "leave")
        cli("daemon", "stop")
        daemon, host.daemon = host.daemon, None
        self.assertEqual(daemon.wait(PATIENCE_S), 0)

    def test_the_older_command_at_the_newer_daemon(self):
        self.use_every_day(NOW, self.old)

    def test_the_newer_command_at_the_older_daemon(self):
        self.use_every_day(self.old, NOW)

    def test_what_an_older_daemon_does_not_know_is_refused_in_words(self):
        host = Host(self, 1, programs=self.old).start()
        host.cli("vm", "add", "db1")
        for words in SINCE.get(self.release.version, []):
            with self.subTest(words=words):
                self.assertIn(f"The daemon is paravaned {self.release.version}, but this program is version {VERSION}",
                              host.refused(*words, programs=NOW))
        self.assertEqual(len(json.loads(host.cli("--formatter=json", "vm", "list").stdout)), 1)
