"""paravane-vm@.service under a real systemd: a VM of a cluster's port group, which starts with the host."""

import json
import pathlib
import shutil
import unittest

import booted
import build
from debian import CACHE, Debian, ROOT
from suites import OfEachSuite
from test_paravane import dependencies, wait_for

QEMU = CACHE / "lab" / "qemu"  # lab/prepare makes it; Debian has none that is new enough
ADDRESS = "10.77.0.1"
UNIT = "paravane-vm@db1.service"


def bring_qemu(debian):
    """The lab's, where QEMU's user can read it."""
    folder = debian.root / "opt/qemu"
    folder.mkdir(parents=True)
    shutil.copy(QEMU / "qemu-system-x86_64", folder)
    debian.bind(QEMU / "tree", "opt/qemu/tree")
    (debian.root / "etc/default/paravane-vm").write_text("PARAVANE_QEMU=/opt/qemu/qemu-system-x86_64\n")


class VmUnderSystemd(OfEachSuite):
    """A host that is a cluster of its own, whose VM is in a port group."""

    def setUp(self):
        if booted.unified_hierarchy() is None:
            raise unittest.SkipTest("this machine has no control groups of version 2")
        if not (QEMU / "qemu-system-x86_64").exists():
            raise unittest.SkipTest("lab/prepare has made no QEMU")

    def test_vm_that_starts_with_its_host(self):
        package = build.built(self.suite, "paravane")
        with Debian(self.suite) as debian:
            debian.update()
            debian.install("systemd-sysv", "dbus", "etcd-server")
            debian.run("apt-get", "-q", "-y", "satisfy", dependencies(package))
            bring_qemu(debian)
            (debian.root / "usr/sbin/policy-rc.d").unlink()
            first, = debian.bring(package)
            with booted.Booted(debian, ADDRESS) as system:
                self.make_cluster(system, first)
                self.started_by_hand(system)
                self.stopped_before_it_runs(system)
                self.memory_locked(system)
            self.have_etcd_come_late(debian)
            with booted.Booted(debian, ADDRESS) as system:
                self.started_with_the_host(system)
                self.ended_with_the_host(system)

    def have_etcd_come_late(self, debian):
        """As where the cluster's first host boots more slowly than this one."""
        program = debian.root / "usr/local/bin/late-etcd"
        program.write_text('#!/bin/sh\nsleep 5\nexec /usr/bin/etcd "$@"\n')
        program.chmod(0o755)
        settings = debian.root / "etc/paravane/paravaned.toml"
        settings.write_text(settings.read_text().replace("/usr/bin/etcd", "/usr/local/bin/late-etcd"))

    def row(self, system):
        rows = json.loads(system.run("paravane", "--formatter=json", "vm", "list"))
        return next(row for row in rows if row["name"] == "db1")

    def power(self, system):
        done = system.try_run("paravane", "--formatter=json", "vm", "list")
        rows = json.loads(done.stdout) if done.returncode == 0 else []
        return next((row["power"] for row in rows if row["name"] == "db1"), None)

    def journal(self, system):
        return system.run("journalctl", "--no-pager", "-o", "cat", "-u", UNIT)

    def make_cluster(self, system, package):
        """As docs/cluster.md says."""
        system.run("systemctl", "disable", "--now", "etcd")
        system.run("dpkg", "--install", package)
        with self.subTest("units that systemd finds nothing wrong with"):
            said = system.run("systemd-analyze", "--man=no", "verify", "paravaned.service", UNIT)
            self.assertNotIn("paravane", said)
        settings = system.path("etc/paravane/paravaned.toml")
        text = settings.read_text().replace('[cluster]', f'[cluster]\naddress = "{ADDRESS}"').replace('address = ""\n', "")
        settings.write_text(text)
        system.run("install", "-D", "-m", "0644", "/usr/share/paravane/cluster.conf",
                   "/etc/systemd/system/paravaned.service.d/cluster.conf")
        system.run("systemctl", "daemon-reload")
        with self.subTest("this host's loopback stays closed"):
            denied = system.run("systemctl", "show", "--property=IPAddressDeny", "--value", "paravaned")
            self.assertEqual(sorted(denied.split()), ["127.0.0.0/8", "::1/128"])
        system.run("paravane", "daemon", "stop")
        system.run("systemctl", "start", "paravaned")
        system.run("paravane", "cluster", "init", "--name", "h1")
        system.run("paravane", "vds", "create", "lan")
        system.run("paravane", "vds", "add-host", "lan", "h1")
        system.run("paravane", "portgroup", "create", "rdma", "--vds", "lan")
        system.run("paravane", "vm", "add", "db1", "--memory", "64M", "--accelerator", "tcg", "--port-group", "rdma")

    def started_by_hand(self, system):
        with self.subTest("vm start"):
            system.run("paravane", "vm", "start", "db1")
            self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")
            row = self.row(system)
            self.assertEqual((row["power"], row["state"], row["problem"]), ("running", "attached", ""))
        with self.subTest("QEMU has the user and the limits of its unit"):
            pid = system.run("systemctl", "show", "--property=MainPID", "--value", UNIT).strip()
            self.assertEqual(pid, str(row["pid"]))
            status = system.path(f"proc/{pid}/status").read_text()
            uid = system.run("id", "-u", "paravane-vm").strip()
            self.assertRegex(status, rf"(?m)^Uid:\t{uid}\t{uid}\t{uid}\t{uid}$")
            self.assertRegex(status, r"(?m)^CapEff:\t0+$")
        with self.subTest("what QEMU says has no severity of QEMU's choice"):
            self.assertEqual(system.run("systemctl", "show", "--property=SyslogLevelPrefix", "--value", UNIT).strip(), "no")
        with self.subTest("the host takes nothing of guests by its bridge"):
            self.assertEqual(system.run("cat", "/proc/sys/net/ipv6/conf/pvs-lan/disable_ipv6").strip(), "1")
            switch, = json.loads(system.run("paravane", "--formatter=json", "vds", "list"))
            self.assertNotIn("IPv6", json.dumps(switch))
        with self.subTest("vm stop"):
            system.run("paravane", "vm", "stop", "db1", "--force")
            wait_for(lambda: system.try_run("systemctl", "is-active", UNIT).stdout.strip() == "inactive", "the unit to end")

    def stopped_before_it_runs(self, system):
        with self.subTest("vm stop of a VM that waits for the daemon"):
            system.run("systemctl", "reload", "paravaned")
            system.run("paravane", "daemon", "stop")
            system.run("systemctl", "mask", "--runtime", "paravaned")
            system.run("systemctl", "start", UNIT)
            wait_for(lambda: "waiting up to 600 s for paravaned" in self.journal(system), "the VM to wait")
            system.run("paravane", "vm", "stop", "db1")
            self.assertEqual(system.try_run("systemctl", "is-active", UNIT).stdout.strip(), "inactive")
            system.run("systemctl", "unmask", "--runtime", "paravaned")
            system.run("systemctl", "start", "paravaned")

    def memory_locked(self, system):
        """LimitMEMLOCK, where root may lock as much as it likes."""
        with self.subTest("memory that is locked"):
            system.run("paravane", "vm", "set", "db1", "--lock-memory")
            limit = system.run("sh", "-c", "ulimit -H -l").strip()
            done = system.try_run("paravane", "vm", "start", "db1")
            if limit == "unlimited":
                self.assertEqual(done.returncode, 0, done.stdout)
                status = system.path(f"proc/{self.row(system)['pid']}/status").read_text()
                locked = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmLck"))
                self.assertGreaterEqual(locked, 64 * 1024)
                system.run("paravane", "vm", "stop", "db1", "--force")
            else:
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn("the memlock limit is too low", self.journal(system))
            system.try_run("systemctl", "reset-failed", UNIT)
            system.run("paravane", "vm", "set", "db1", "--no-lock-memory")
            system.run("systemctl", "enable", UNIT)

    def started_with_the_host(self, system):
        with self.subTest("started with the host, whose taps are those that its cluster had last"):
            wait_for(lambda: self.power(system) == "running", f"the VM\n{self.journal(system)}")
            wait_for(lambda: self.row(system)["state"] == "attached", "its adapter")
            self.assertEqual(self.row(system)["problem"], "")
            self.assertEqual(system.run("systemctl", "is-active", UNIT).strip(), "active")

    def ended_with_the_host(self, system):
        """In the order of a shutdown: first the VM, then the daemon."""
        with self.subTest("a VM that does not listen is cut off when its unit is stopped"):
            system.run("systemctl", "stop", "--no-block", UNIT)
            wait_for(lambda: "waiting for the guest to shut down" in self.journal(system), "the power button")
            system.run("systemctl", "kill", UNIT)
            wait_for(lambda: self.power(system) == "off", "QEMU to end")
            self.assertEqual(system.run("systemctl", "is-active", "paravaned").strip(), "active")
