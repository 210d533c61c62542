"""An etcd that comes back from a copy, or without its data: nothing that was acknowledged goes, and
no host that was taken out comes back."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from etcd_request import ROOT, coded
from hosts import ClusterTest, wait_for

WHOLE_S = 60
POINTS = 10  # in time, of which copies are made


class Restored(ClusterTest):
    def setUp(self):
        super().setUp()
        self.h1, self.h2, self.h3 = self.hosts = self.cluster(3)
        self.h1.cli("vds", "create", "lan")
        for host in self.hosts:
            self.h1.cli("vds", "add-host", "lan", host.name)
        self.groups = []

    def add_group(self, name):
        self.h1.cli("portgroup", "create", name, "--vds", "lan", "--vlan", str(len(self.groups) + 1))
        self.groups.append(name)

    def groups_of(self, host):
        """As they stand on its disk."""
        with sqlite3.connect(host.state / "paravane.db") as database:
            return sorted(name for (name,) in database.execute("select name from port_group"))

    def copy_etcd(self, name):
        """As a backup of a running machine's disk has it."""
        etcd = self.h1.children()["etcd"]
        os.kill(etcd, signal.SIGSTOP)
        subprocess.run(["cp", "-a", self.h1.file("etcd"), self.h1.folder / name], check=True)
        os.kill(etcd, signal.SIGCONT)

    def put_back(self, name):
        """While nothing runs; without a name the data are lost."""
        self.h1.end()
        shutil.rmtree(self.h1.file("etcd"))
        if name:
            subprocess.run(["cp", "-a", self.h1.folder / name, self.h1.file("etcd")], check=True)
        self.h1.start()

    def wait_whole(self, *hosts):
        """All of them see one another, over channels."""
        names = [host.name for host in hosts]

        def is_whole():
            return all(host.connected() and host.present() == names and
                       all(host.channel(to)[0] == "encrypted" for to in hosts if to is not host) for host in hosts)
        began = time.monotonic()
        wait_for(is_whole, "the cluster to be whole")
        self.assertLess(time.monotonic() - began, WHOLE_S)

    def try_login(self, host):
        """Whether etcd lets in a host with what its own files have."""
        try:
            host.etcd("/v3/kv/range", {"key": coded(ROOT)})
        except (KeyError, subprocess.CalledProcessError):
            return False
        return True

    def test_port_groups_stay_and_hosts_that_were_taken_out_stay_out(self):
        self.wait_whole(*self.hosts)
        self.copy_etcd("copy0")
        for point in range(1, POINTS):
            if point == POINTS // 2:
                self.h1.cli("cluster", "remove", "h3")
            self.add_group(f"g{point}")
            self.copy_etcd(f"copy{point}")
        self.add_group("last")
        wait_for(lambda: self.groups_of(self.h2) == sorted(self.groups), "h2 to have them")
        for point in range(POINTS):
            with self.subTest(point=point):
                self.put_back(f"copy{point}")
                self.wait_whole(self.h1, self.h2)
                for host in (self.h1, self.h2):
                    self.assertEqual(self.groups_of(host), sorted(self.groups))
                    self.assertNotIn("h3", [one["name"] for one in host.status()["hosts"]])
                self.assertFalse(self.try_login(self.h3))
                self.assertFalse(self.h3.connected())
        self.assertNotIn("deleted", self.h2.log_text())

    def test_while_the_daemon_runs(self):
        self.copy_etcd("copy")
        self.add_group("web")
        etcd = self.h1.children()["etcd"]
        os.kill(etcd, signal.SIGKILL)
        wait_for(lambda: not os.path.exists(f"/proc/{etcd}"), "etcd to end")
        shutil.rmtree(self.h1.file("etcd"))
        subprocess.run(["cp", "-a", self.h1.folder / "copy", self.h1.file("etcd")], check=True)
        wait_for(lambda: "which is older than generation" in self.h1.log_text(), "the authority to see it")
        self.wait_whole(*self.hosts)
        for host in self.hosts:
            self.assertEqual(self.groups_of(host), ["web"])

    def test_etcd_without_its_data_is_made_anew_and_listens_to_no_stranger(self):
        self.add_group("web")
        self.wait_whole(*self.hosts)
        # What a host that was taken out has: a certificate that is still in force.
        url = self.h3.status()["etcd"][0]
        own = self.h3.state / "cluster"
        words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}\n", "--cacert", own / "authority.pem", "--cert", own / "host.pem",
                 "--key", own / "host.pem", "-d", f'{{"key":"{coded(ROOT + "config/x")}","value":"e30="}}', url + "/v3/kv/put"]
        loop = "while :; do " + " ".join(f"'{word}'" for word in words) + "; done"
        with (self.h3.folder / "intruder").open("w") as seen, \
                subprocess.Popen(self.h3.space.words("bash", "-c", loop), stdout=seen) as intruder:
            self.put_back(None)
            self.wait_whole(*self.hosts)
            intruder.kill()
        answers = (self.h3.folder / "intruder").read_text().split()
        self.assertGreater(len(answers), 10)
        self.assertNotIn("200", answers, "an etcd that lets in everybody was reached")
        for host in self.hosts:
            self.assertEqual(self.groups_of(host), ["web"])
        self.assertIn("because its data was lost", self.h1.log_text())

    def test_a_host_that_is_restored_as_a_whole_is_followed_when_its_operator_says_so(self):
        self.add_group("old")
        self.wait_whole(*self.hosts)
        self.h1.end()
        copy = self.h1.folder / "state.copy"
        subprocess.run(["cp", "-a", self.h1.state, copy], check=True)
        self.h1.start()
        # The second time the others follow what was accepted the first time, of which the copy knows nothing.
        for newer in ("web", "db"):
            with self.subTest(newer=newer):
                self.wait_whole(*self.hosts)
                self.add_group(newer)
                wait_for(lambda: self.groups_of(self.h2) == self.groups_of(self.h3) == sorted(["old", newer]), "all to have it")
                self.put_back_host(copy)
                self.accept(newer)

    def put_back_host(self, copy):
        self.h1.end()
        shutil.rmtree(self.h1.state)
        subprocess.run(["cp", "-a", copy, self.h1.state], check=True)
        self.h1.start()

    def accept(self, newer):
        wait_for(lambda: "is older than the one of this host" in self.h2.status()["problem"], "h2 to see it")
        self.assertRegex(self.h2.status()["problem"], r"etcd has generation \d+ at revision \d+, and this host has followed generation \d+ at revision \d+")
        self.assertEqual(self.groups_of(self.h2), sorted(["old", newer]))
        self.assertEqual(self.h2.channel(self.h3)[0], "encrypted")
        wait_for(lambda: "Host h2 has generation" in self.h1.cli("cluster", "status").stdout, "h1 to be told")
        self.assertIn("--accept", self.h1.cli("cluster", "restore", check=False).stderr)
        self.assertIn("h1", self.h2.refused("cluster", "restore", "--accept", "--yes"))
        known = re.search(r"Host h2 has generation (\d+)", self.h1.cli("cluster", "status").stdout)[1]
        done = self.h1.cli("cluster", "restore", "--accept", "--yes")
        self.assertIn(f"  h2           generation {known}\n  h3           generation {known}\n", done.stderr)
        self.assertIn("Hosts that follow: h2, h3\n", done.stderr)
        self.wait_whole(*self.hosts)
        for host in self.hosts:
            self.assertGreater(host.status()["generation"], int(known))
            self.assertEqual(self.groups_of(host), ["old"])


class FirstHostAway(ClusterTest):
    def test_channels_come_back_from_what_was_known_last(self):
        h1, h2, h3 = self.cluster(3)
        wait_for(lambda: h2.channel(h3)[0] == h3.channel(h2)[0] == "encrypted", "a channel")
        wait_for(lambda: all(other.address in host.file("inventory.json").read_text() for host, other in ((h2, h3), (h3, h2))),
                 "what is known to be kept")
        h1.end(kill=True)
        for host in (h2, h3):
            host.end(kill=True)
            host.start()
        wait_for(lambda: h2.channel(h3)[0] == h3.channel(h2)[0] == "encrypted", "a channel without the first host")
        self.assertFalse(h2.connected())
