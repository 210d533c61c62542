"""The package of each of the last releases, upgraded to the one that is here, under a real systemd."""

import csv
import io
import unittest

import booted
import build
from build import history
from debian import Debian
from suites import OfEachSuite
from test_paravane import dependencies
from test_systemd import UNIT

SETTINGS = "/etc/paravane/paravaned.toml"
LISTS = ["vm list", "vds list", "portgroup list", "network firewall ruleset list"]


class FromReleases(OfEachSuite):
    """A host that was set up with a release."""

    uses_releases = True

    def setUp(self):
        if booted.unified_hierarchy() is None:
            raise unittest.SkipTest("this machine has no control groups of version 2")

    def test_upgraded(self):
        package = build.built(self.suite, "paravane")
        for release in history.releases()[-history.COMPARED:]:
            with self.subTest(release.version), Debian(self.suite) as debian:
                debian.update()
                debian.install("systemd-sysv", "dbus", "procps")
                debian.run("apt-get", "-q", "-y", "satisfy", dependencies(package))
                (debian.root / "usr/sbin/policy-rc.d").unlink()
                old, new = debian.bring(release.package(self.suite), package)
                with booted.Booted(debian) as system:
                    system.run("dpkg", "--install", old)
                    before = self.set_up(system)
                    said = system.run("dpkg", "--force-confdef", "--force-confold", "--install", new)
                    self.assertIn("To change to the new program", said)
                    system.run("paravane", "daemon", "stop")
                    system.run("systemctl", "start", UNIT)
                    self.assert_kept(self.kept(system), before)
                    system.run("paravane", "vm", "add", "db2")
                    self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")

    def set_up(self, system):
        settings = system.path(SETTINGS.lstrip("/"))
        changed = settings.read_text().replace('\nname = ""\n', '\nname = "h1"\n')
        self.assertIn('name = "h1"', changed)
        settings.write_text(changed)
        system.run("paravane", "daemon", "stop")
        system.run("systemctl", "start", UNIT)
        for words in ("vds create lan", "vds add-host lan h1", "portgroup create rdma --vds lan --vlan 7",
                      "vm add db1 --port-group rdma --limit gids=8", "network firewall ruleset set -e true -r pvrdma"):
            system.run("paravane", *words.split())
        return self.kept(system)

    def kept(self, system):
        """What its operator sees, and the settings that they have changed."""
        seen = {words: list(csv.DictReader(io.StringIO(system.run("paravane", "--formatter=csv", *words.split()))))
                for words in LISTS}
        return seen, system.path(SETTINGS.lstrip("/")).read_text()

    def assert_kept(self, now, before):
        """Each release has its own columns: those of both, a name among them."""
        self.assertEqual(now[1], before[1])
        for words in LISTS:
            self.assertEqual(len(now[0][words]), len(before[0][words]), words)
            for row, old in zip(now[0][words], before[0][words]):
                both = row.keys() & old.keys()
                self.assertIn("Name", both)
                self.assertEqual({key: row[key] for key in both}, {key: old[key] for key in both}, words)
