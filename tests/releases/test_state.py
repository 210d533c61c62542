"""The state directory of one release under the daemon of another."""

import hashlib
import json
import subprocess

from pair import NOW, OfEachRelease, except_with, only_with
from hosts import PATIENCE_S, ClusterTest, Host, wait_for

ONE_WAY = ["0.1.0"]  # releases that cannot use a state directory that was used here
NAMED = '[host]\nname = "h1"\n'
LISTS = [("vm", "list"), ("vds", "list"), ("portgroup", "list"), ("network", "ip", "interface", "list"),
         ("network", "firewall", "ruleset", "list"), ("system", "settings", "advanced", "list")]


def digest_of(folder):
    """Of each file its contents, owner and mode; sockets and locks of what runs are none."""
    files = {}
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        text = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        files[str(path.relative_to(folder))] = (seen.st_mode, seen.st_uid, text)
    return files


class State(OfEachRelease, ClusterTest):
    def fill(self, host):
        host.cli("vds", "create", "lan", "--mtu", "9000")
        host.cli("vds", "add-host", "lan", host.name)
        host.cli("portgroup", "create", "rdma", "--vds", "lan", "--vlan", "7")
        host.cli("vm", "add", "db1", "--port-group", "rdma", "--limit", "gids=8")
        host.cli("vm", "add", "db2", "--hw-version", "13")
        host.cli("vm", "adapter", "add", "db2")
        host.cli("vm", "set", "db2", "--memory", "2048")
        host.cli("network", "ip", "interface", "add", "-i", "vmk1", "-p", "rdma")
        host.cli("system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic", "-s", "vmk1")
        host.cli("network", "firewall", "ruleset", "set", "-e", "true", "-r", "pvrdma")

    def kept(self, host):
        """What its operator sees, by the same command whatever its daemon."""
        return {words: json.loads(host.cli("--formatter=json", *words, programs=NOW).stdout) for words in LISTS}

    def refused_as_newer(self, host):
        """What the older daemon says of the newer's state."""
        done = subprocess.run(host.space.words(self.old / "paravaned", "--config", host.config), capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("was written by a newer version", done.stderr + done.stdout)
        self.assertNotIn("damaged", done.stderr + done.stdout)

    @except_with(*ONE_WAY)
    def test_a_host_alone_is_taken_over_and_given_back(self):
        host = Host(self, 1, NAMED, self.old).start()
        self.fill(host)
        for name, programs in ("by-newer", NOW), ("by-older", self.old):
            before = self.kept(host)
            self.assertEqual(host.end(), 0, host.log_text())
            host.programs = programs
            host.start()
            self.assertEqual(self.kept(host), before)
            host.cli("vm", "add", name)

    @only_with(*ONE_WAY)
    def test_a_host_alone_is_taken_over_and_there_is_no_way_back(self):
        host = Host(self, 1, NAMED, self.old).start()
        self.fill(host)
        before = self.kept(host)
        self.assertEqual(host.end(), 0, host.log_text())
        host.programs = NOW
        host.start()
        self.assertEqual(self.kept(host), before)
        host.cli("vm", "add", "db3")
        after = self.kept(host)
        self.assertEqual(host.end(), 0, host.log_text())
        files = digest_of(host.state)
        self.refused_as_newer(host)
        self.assertEqual(digest_of(host.state), files)
        host.start()
        self.assertEqual(self.kept(host), after)

    def test_one_that_was_killed_is_taken_over(self):
        host = Host(self, 1, NAMED, self.old).start()
        self.fill(host)
        before = self.kept(host)
        host.end(kill=True)
        host.programs = NOW
        host.start()
        self.assertEqual(self.kept(host), before)

    def cluster(self):
        """Of two, by the older programs."""
        h1, h2 = hosts = [Host(self, number, programs=self.old).start() for number in (1, 2)]
        h1.cli("cluster", "init", "--name", "h1")
        h2.cli("cluster", "join", text=h1.token("h2"))
        h1.cli("vds", "create", "lan")
        for host in hosts:
            h1.cli("vds", "add-host", "lan", host.name)
        h1.cli("portgroup", "create", "rdma", "--vds", "lan")
        for host in hosts:
            wait_for(lambda host=host: "rdma" in host.cli("portgroup", "list").stdout, "the port group")
            host.cli("vm", "add", f"vm-{host.name}", "--port-group", "rdma")
        return hosts

    def change_programs(self, hosts, programs):
        cluster = hosts[0].status()["cluster"]
        for host in hosts:
            self.assertEqual(host.end(), 0, host.log_text())
            host.programs = programs
            host.start()
            self.assertEqual(host.status()["cluster"], cluster)
        for host in hosts:
            wait_for(lambda host=host: [one["adapters"] for one in host.status()["hosts"]] == [1, 1], "the VMs")

    @except_with(*ONE_WAY)
    def test_a_cluster_is_taken_over_and_given_back(self):
        hosts = self.cluster()
        for programs in NOW, self.old:
            self.change_programs(hosts, programs)

    @only_with(*ONE_WAY)
    def test_a_cluster_is_taken_over_and_there_is_no_way_back(self):
        hosts = self.cluster()
        self.change_programs(hosts, NOW)
        for host in hosts:
            # Its key is recorded from its first start in this version on.
            wait_for(lambda host=host: not any(one["by_name"] for one in host.status()["hosts"]), "the keys")
        for host in reversed(hosts):
            self.assertEqual(host.end(), 0, host.log_text())
            files = digest_of(host.state)
            self.refused_as_newer(host)
            self.assertEqual(digest_of(host.state), files)
        for host in hosts:
            host.start()
        for host in hosts:
            wait_for(lambda host=host: host.present() == ["h1", "h2"], "all to be back")
