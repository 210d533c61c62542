"""The first host is lost: it is restored on another machine from a backup, or another host is
promoted; the others are not touched."""

import contextlib
import itertools
import os
import shutil
import sqlite3
import stat
import subprocess
import time

from hosts import BIN, PATIENCE_S, ClusterTest, Host, wait_for

WHOLE_S = 60
DAY_S = 24 * 3600
KEPT_EVERY_S = 11  # cluster/kept_inventory.h has 10
PASSPHRASE = "correct horse battery staple"


class BackupTest(ClusterTest):
    def setUp(self):
        super().setUp()
        self.h1, self.h2, self.h3 = self.hosts = self.cluster(3)
        self.h1.cli("vds", "create", "lan")
        for host in self.hosts:
            self.h1.cli("vds", "add-host", "lan", host.name)
        self.h1.cli("portgroup", "create", "web", "--vds", "lan", "--vlan", "10")
        self.wait_whole(*self.hosts)
        self.file = self.h2.folder / "cluster.backup"

    def back_up(self):
        self.h1.cli("cluster", "backup", str(self.file), "--passphrase-fd", "0", text=PASSPHRASE + "\n")

    def with_backup(self, host, what, *more, check=True):
        words = ("cluster", what, str(self.file), "--yes", "--passphrase-fd", "0", *more)
        return host.cli(*words, text=PASSPHRASE + "\n", check=check)

    def without_terminal(self, *words, text=""):
        """What h1 refuses to a timer."""
        done = subprocess.run([str(BIN / "paravane"), "--socket", str(self.h1.api), *words], check=False, input=text,
                              capture_output=True, text=True, timeout=PATIENCE_S, start_new_session=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def groups_of(self, host):
        """As they stand on its disk."""
        with sqlite3.connect(host.state / "paravane.db") as database:
            return sorted(name for (name,) in database.execute("select name from port_group"))

    def lose(self, host):
        """All that it had is gone: the next start is another machine's, with the same address."""
        host.end(kill=True)
        shutil.rmtree(host.state)
        host.state.mkdir()
        shutil.chown(host.state, host.folder.owner())

    def wait_whole(self, *hosts):
        """All of them see one another, over channels."""
        names = [host.name for host in hosts]

        def is_whole():
            return all(host.connected() and host.present() == names and
                       all(host.channel(to)[0] == "encrypted" for to in hosts if to is not host) for host in hosts)
        began = time.monotonic()
        wait_for(is_whole, "the cluster to be whole")
        self.assertLess(time.monotonic() - began, WHOLE_S)

    @contextlib.contextmanager
    def untouched_channels(self, *hosts):
        """Those between them are not lost meanwhile."""
        before = {host: len(host.log_text()) for host in hosts}
        yield
        for host, to in itertools.permutations(hosts, 2):
            self.assertNotIn(f"host {to.name}: no channel", host.log_text()[before[host]:])

    def daemons(self, *hosts):
        return [host.daemon.pid for host in hosts]


class Restored(BackupTest):
    def test_on_another_machine(self):
        self.back_up()
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        untouched = self.daemons(self.h2, self.h3)
        self.lose(self.h1)
        self.h1.start()
        done = self.with_backup(self.h1, "restore")
        self.assertIn("members      h1, h2, h3", done.stderr)
        self.assertIn("1, with 1 port groups", done.stderr)
        self.h1.open_channel()
        self.wait_whole(*self.hosts)
        self.assertEqual(self.daemons(self.h2, self.h3), untouched)
        for host in self.hosts:
            self.assertEqual(self.groups_of(host), ["web"])
        # It has the authority.
        self.h1.cli("portgroup", "create", "db", "--vds", "lan", "--vlan", "11")
        wait_for(lambda: self.groups_of(self.h3) == ["db", "web"], "h3 to follow")
        h4 = Host(self, 4).start()
        h4.open_channel()
        h4.cli("cluster", "join", text=self.h1.token("h4") + "\n")
        self.wait_whole(*self.hosts, h4)

    def test_an_older_backup_takes_nothing_from_the_others(self):
        self.back_up()
        self.h1.cli("portgroup", "create", "db", "--vds", "lan", "--vlan", "11")
        wait_for(lambda: self.groups_of(self.h2) == self.groups_of(self.h3) == ["db", "web"], "all to have it")
        self.lose(self.h1)
        self.h1.start()
        self.with_backup(self.h1, "restore")
        self.h1.open_channel()
        wait_for(lambda: "this host has followed generation" in self.h2.status()["problem"], "h2 to see it")
        wait_for(lambda: "Host h2 has generation" in self.h1.cli("cluster", "status").stdout, "h1 to be told")
        self.assertEqual(self.groups_of(self.h2), ["db", "web"])
        self.assertEqual(self.h2.channel(self.h3)[0], "encrypted")
        self.assertIn("--yes", self.without_terminal("cluster", "restore", "--accept"))
        self.assertEqual(self.groups_of(self.h2), ["db", "web"])
        self.h1.cli("cluster", "restore", "--accept", "--yes")
        self.wait_whole(*self.hosts)
        for host in self.hosts:
            self.assertEqual(self.groups_of(host), ["web"])

    def test_only_with_the_passphrase_and_where_the_others_look(self):
        self.back_up()
        self.assertNotIn(b"BEGIN", self.file.read_bytes())
        self.assertIn("already exists", self.h1.refused("cluster", "backup", str(self.file), "--passphrase-fd", "0",
                                                          text=PASSPHRASE + "\n"))
        self.assertIn("has 5", self.h1.refused("cluster", "backup", str(self.file) + "2", "--passphrase-fd", "0",
                                               text="short\n"))
        self.assertFalse(os.path.exists(str(self.file) + "2"))
        self.assertIn("h1", self.h2.refused("cluster", "backup", str(self.file) + "2", "--passphrase-fd", "0",
                                            text=PASSPHRASE + "\n"))
        self.assertIn("no terminal", self.without_terminal("cluster", "backup", str(self.file) + "2"))
        words = ("cluster", "restore", str(self.file), "--passphrase-fd", "0")
        self.assertIn("the passphrase is wrong", self.h1.refused(*words, text="wrong horse battery\n"))
        self.assertIn("--yes", self.without_terminal(*words, text=PASSPHRASE + "\n"))
        h4 = Host(self, 4).start()
        self.assertIn("[cluster] address", self.with_backup(h4, "restore", check=False).stderr)
        self.assertIn("this host is h2", self.with_backup(self.h2, "restore", check=False).stderr)
        self.wait_whole(*self.hosts)


class Promoted(BackupTest):
    def test_in_the_place_of_a_host_that_is_dead_and_comes_back(self):
        self.back_up()
        refused = self.with_backup(self.h2, "promote", check=False)
        self.assertIn("host h1 is the authority and still answers", refused.stderr)
        self.h1.cli("portgroup", "create", "db", "--vds", "lan", "--vlan", "11")  # newer than the backup
        wait_for(lambda: self.groups_of(self.h2) == self.groups_of(self.h3) == ["db", "web"], "all to have it")
        untouched = self.daemons(self.h2, self.h3)
        self.h1.end(kill=True)
        with self.untouched_channels(self.h2, self.h3):
            self.with_backup(self.h2, "promote")
            self.wait_whole(self.h2, self.h3)
        self.assertEqual(self.daemons(self.h2, self.h3), untouched)
        self.assertEqual(self.h3.status()["authority"], "h2")
        self.h2.cli("portgroup", "create", "app", "--vds", "lan", "--vlan", "12")
        wait_for(lambda: self.groups_of(self.h3) == ["app", "db", "web"], "h3 to follow")
        # After a restart of all, too.
        for host in (self.h3, self.h2):
            host.end()
            host.start()
        self.wait_whole(self.h2, self.h3)
        # h1 has all that it needs to sign, and signs nothing.
        self.h1.start()
        wait_for(lambda: "host h2 was promoted" in self.h1.cli("cluster", "status").stdout, "h1 to hear of it")
        wait_for(lambda: "etcd" not in self.h1.children(), "etcd on h1 to end")
        self.assertIn("host h2 was promoted", self.h1.refused("cluster", "token", "h9"))
        self.assertEqual(self.h2.present(), ["h2", "h3"])
        # Nor does it with the backup, nor after another start.
        self.assertIn("host h2 was promoted", self.with_backup(self.h1, "restore", check=False).stderr)
        self.h1.end()
        self.h1.start()
        self.assertIn("host h2 was promoted", self.h1.refused("cluster", "token", "h9"))
        self.assertNotIn("etcd", self.h1.children())
        self.h1.cli("cluster", "leave", "--force")
        self.h1.cli("cluster", "join", text=self.h2.token("h1") + "\n")
        self.wait_whole(*self.hosts)
        self.assertEqual(self.groups_of(self.h1), ["app", "db", "web"])

    def test_a_host_that_was_away_when_the_others_last_saw_it(self):
        self.back_up()
        self.h2.end()
        wait_for(lambda: self.h3.present() == ["h1", "h3"], "h2 to be away")
        time.sleep(KEPT_EVERY_S)
        self.h1.end(kill=True)
        self.h3.end()
        self.h3.start()
        self.h2.start()
        self.with_backup(self.h2, "promote")
        self.wait_whole(self.h2, self.h3)

    def test_a_host_that_was_cut_off_and_runs_is_told(self):
        self.back_up()
        self.wire.cut("h1")
        token = self.h1.token("h9")
        wait_for(lambda: not self.h3.connected(), "h3 to see that h1 is away")
        self.with_backup(self.h2, "promote")
        self.wait_whole(self.h2, self.h3)
        self.wire.mend("h1")
        wait_for(lambda: "host h2 was promoted" in self.h1.cli("cluster", "status").stdout, "h1 to be told")
        wait_for(lambda: "etcd" not in self.h1.children(), "etcd on h1 to end")
        h9 = Host(self, 9).start()
        h9.refused("cluster", "join", text=token + "\n")
        self.assertEqual(self.h2.present(), ["h2", "h3"])


class Refused(BackupTest):
    """A promotion that nothing would take back: h2 stays the member that it was."""

    def files(self, host):
        """Of its cluster, but for what it knew last of the others, which goes on."""
        return {file.name: file.read_bytes() for file in (host.state / "cluster").iterdir()
                if file.is_file() and file.name != "inventory.json"}

    def wait_connected(self, *hosts):
        """Whatever their channels do."""
        names = [host.name for host in hosts]
        wait_for(lambda: all(host.connected() and host.present() == names for host in hosts), f"{names} to be connected")

    def refuse(self, *reasons):
        done = self.with_backup(self.h2, "promote", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        for reason in reasons:
            self.assertIn(reason, done.stderr)
        self.assertEqual(self.h2.status()["authority"], "h1")

    def test_while_another_member_sees_the_authority(self):
        self.back_up()
        were = self.files(self.h2)
        self.h2.space.run("ip", "route", "add", "blackhole", "10.77.0.1/32")
        wait_for(lambda: not self.h2.connected(), "h2 to be cut off from h1")
        self.refuse("host h1 is the authority and still runs", "seen by h3", "Stop the daemon of host h1")
        self.assertTrue(self.h3.connected())
        self.h2.space.run("ip", "route", "del", "blackhole", "10.77.0.1/32")
        self.wait_whole(*self.hosts)
        self.assertEqual(self.files(self.h2), were)
        self.h1.end(kill=True)
        wait_for(lambda: not self.h3.connected(), "h3 to see that h1 is away")
        self.with_backup(self.h2, "promote")
        self.wait_whole(self.h2, self.h3)

    def test_with_a_clock_that_is_not_the_others(self):
        self.back_up()
        self.h1.end(kill=True)
        self.h2.end()
        were = self.files(self.h2)
        self.h2.set_clock(200 * DAY_S)
        self.h2.start(self.h2.clock_environment())
        self.refuse("its certificate is valid from", "timedatectl")
        self.h2.set_clock(30 * DAY_S)
        self.refuse("this host's clock shows", "1 of the 1 hosts that answered", "(h3)", "timedatectl")
        self.h2.set_clock(-30 * DAY_S)
        self.refuse("its certificate is valid from", "timedatectl")
        self.assertEqual(self.files(self.h2), were)
        self.h2.set_clock(0)
        self.with_backup(self.h2, "promote")
        self.wait_whole(self.h2, self.h3)

    def test_without_an_etcd_that_runs(self):
        self.back_up()
        self.h2.end()
        self.h2.write_config('etcd_program = "/nowhere/etcd"\n')
        self.h2.start()
        self.wait_connected(*self.hosts)
        were = self.files(self.h2)
        self.h1.end(kill=True)
        wait_for(lambda: not self.h3.connected(), "h3 to see that h1 is away")
        self.refuse("https://10.77.0.2:2379", "apt install etcd-server", "log")
        self.h2.wait_log("was not completed")
        self.assertEqual(self.files(self.h2), were)
        self.assertNotIn("etcd", self.h2.children())
        # Nor does one that is killed in the middle leave anything.
        words = [str(self.h2.programs / "paravane"), "--socket", str(self.h2.api), "cluster", "promote", str(self.file),
                 "--yes", "--passphrase-fd", "0"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              text=True) as asking:
            asking.stdin.write(PASSPHRASE + "\n")
            asking.stdin.close()
            wait_for(self.h2.file("authority.key").exists, "the promotion to be under way")
            wait_for(lambda: self.h2.file("host.pem").read_bytes() != were["host.pem"], "its new key")
            self.h2.end(kill=True)
            self.assertEqual(asking.wait(PATIENCE_S), 3)  # no daemon answers
        self.h2.start()
        self.assertEqual(self.files(self.h2), were)
        # No host has followed it, and to h1 it is what it was.
        self.assertEqual(self.h3.status()["authority"], "h1")
        self.h1.start()
        self.wait_connected(*self.hosts)
        self.h1.end(kill=True)
        wait_for(lambda: not self.h3.connected(), "h3 to see that h1 is away")
        self.h2.end()
        self.h2.write_config()
        self.h2.start()
        self.with_backup(self.h2, "promote")
        self.wait_connected(self.h2, self.h3)
        self.assertIn("etcd", self.h2.children())
