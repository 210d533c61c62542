"""What the package does to its unit, under a real systemd."""

import json
import sys
import unittest

import booted
import build
from debian import Debian, ROOT
from suites import OfEachSuite
from test_paravane import dependencies, wait_for

sys.path.insert(0, str(ROOT / "tests" / "daemon"))
import vmm  # pylint: disable=wrong-import-position

UNIT = "paravaned.service"


class UnderSystemd(OfEachSuite):
    """Installed, upgraded, removed and purged where systemd runs."""

    def setUp(self):
        if booted.unified_hierarchy() is None:
            raise unittest.SkipTest("this machine has no control groups of version 2")

    def test_unit(self):
        package = build.built(self.suite, "paravane")
        with Debian(self.suite) as debian:
            debian.update()
            debian.install("systemd-sysv", "dbus", "procps")
            debian.run("apt-get", "-q", "-y", "satisfy", dependencies(package))
            (debian.root / "usr/sbin/policy-rc.d").unlink()
            first, = debian.bring(package)
            later, = debian.bring(build.newer(package, debian.folder))
            with booted.Booted(debian) as system:
                self.installed(system, first)
                with vmm.attach(system.path("run/paravane/vm/db1.sock")):
                    self.upgraded(system, later)
                    self.seen_by_systemd(system)
                    self.not_stopped(system)
                    self.not_removed(system)
                self.removed_and_purged(system, later)

    def main_process(self, system):
        return system.run("systemctl", "show", "--property=MainPID", "--value", UNIT).strip()

    def installed(self, system, package):
        with self.subTest("installed: enabled and started"):
            system.run("dpkg", "--install", package)
            self.assertEqual(system.run("systemctl", "is-enabled", UNIT).strip(), "enabled")
            self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")
        system.run("paravane", "vm", "add", "db1")

    def upgraded(self, system, later):
        with self.subTest("upgraded: the daemon goes on with the new program, and the operator is told"):
            before = self.main_process(system)
            said = system.run("dpkg", "--install", later)
            self.assertEqual(self.main_process(system), before)
            self.assertRegex(said, r"paravaned changed from \S+ to \S+\. Running VMs stood still for \d+ ms\.\n")
            self.assertIn("attached", system.run("paravane", "vm", "list"))
            self.assertNotIn("refused", said)

    def seen_by_systemd(self, system):
        """The main process, which executes the new program: it keeps what systemd has given it."""
        def last_sign():
            return int(system.run("systemctl", "show", "--property=WatchdogTimestampMonotonic", "--value", UNIT))

        with self.subTest("the keeper is the new program, and systemd hears of it"):
            self.assertRegex(system.run("readlink", f"/proc/{self.main_process(system)}/exe"), r"/usr/sbin/paravaned\n$")
            keeper = json.loads(system.run("paravane", "--formatter=json", "status"))["keeper"]
            self.assertEqual(keeper["cause"], "")
            before = last_sign()
            wait_for(lambda: last_sign() > before, "a sign for the watchdog")
            self.assertEqual(system.run("systemctl", "show", "--property=NRestarts", "--value", UNIT).strip(), "0")

    def not_stopped(self, system):
        with self.subTest("systemctl stop, restart and try-restart are refused"):
            for verb in "stop", "restart", "try-restart":
                done = system.try_run("systemctl", verb, UNIT)
                self.assertNotEqual(done.returncode, 0, verb)
                self.assertIn("refused", done.stdout)
            self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")

    def not_removed(self, system):
        with self.subTest("removal with a VM attached is refused"):
            before = self.main_process(system)
            for how in "--remove", "--purge":
                done = system.try_run("dpkg", how, "paravane")
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn("1 VM is attached: db1", done.stdout)
            self.assertEqual(self.main_process(system), before)
            self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")
            self.assertEqual(system.run("systemctl", "is-enabled", UNIT).strip(), "enabled")

    def removed_and_purged(self, system, later):
        with self.subTest("without a VM: removed, started when installed again, purged"):
            wait_for(lambda: "attached" not in system.run("paravane", "vm", "list"), "the VM to be detached")
            said = system.run("dpkg", "--remove", "paravane")
            self.assertNotIn("refused", said)
            self.assertEqual(system.try_run("pgrep", "paravaned").stdout, "")
            system.run("dpkg", "--install", later)
            self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")
            self.assertIn("db1", system.run("paravane", "vm", "list"))
            system.run("dpkg", "--purge", "paravane")
            self.assertEqual(system.try_run("pgrep", "paravaned").stdout, "")
            self.assertEqual(system.run("systemctl", "list-units", "--failed", "--no-legend").strip(), "")
            self.assertEqual(system.run("sh", "-c", "find /etc /var/lib /run -name '*paravane*' ! -path '*/dpkg/*'"), "")
