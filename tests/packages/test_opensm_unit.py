"""paravane-opensm.service under a real systemd: Debian's opensm as a user of its own, who has the daemon's socket for programs and
nothing else of it; and the package is not removed while one of its uplinks is in a switch."""

import json
import re
import unittest

import booted
import build
from debian import Debian
from suites import OfEachSuite
from test_paravane import dependencies, wait_for

UNIT = "paravane-opensm.service"
PARTITIONS = "key0=0x7fff,ipoib,mtu=5 : ALL=full;\n"  # as in Mellanox's guide, 4.4.2.5


class OpensmUnderSystemd(OfEachSuite):
    """A host with an InfiniBand adapter."""

    def setUp(self):
        if booted.unified_hierarchy() is None:
            raise unittest.SkipTest("this machine has no control groups of version 2")

    def test_M4_2_M4_4_1_opensm_manages_the_host_s_ports(self):
        package = build.built(self.suite, "paravane")
        with Debian(self.suite) as debian:
            debian.update()
            debian.install("systemd-sysv", "dbus", "procps", "opensm", "infiniband-diags")
            debian.run("apt-get", "-q", "-y", "satisfy", dependencies(package))
            (debian.root / "usr/sbin/policy-rc.d").unlink()
            first, = debian.bring(package)
            with booted.Booted(debian) as system:
                self.installed(system, first)
                self.enabled(system)
                self.confined(system)
                self.restarted(system)
                self.not_removed(system)
                self.removed_and_purged(system)

    def ports(self, system):
        adapters = json.loads(system.run("paravane", "--formatter=json", "infiniband", "adapter", "list"))
        return [port for adapter in adapters for port in adapter["ports"]]

    def wait_active(self, system):
        def are_active():
            ports = self.ports(system)
            return ports and all(port["state"] == "Active" for port in ports)
        wait_for(are_active, "the ports to be Active")

    def installed(self, system, package):
        with self.subTest("installed: the unit is off"):
            system.run("dpkg", "--install", package)
            self.assertEqual(system.try_run("systemctl", "is-enabled", UNIT).stdout.strip(), "disabled")
            self.assertEqual(system.try_run("systemctl", "is-active", UNIT).stdout.strip(), "inactive")
            self.assertNotIn("paravane", system.run("systemd-analyze", "--man=no", "verify", UNIT))
        settings = system.path("etc/paravane/paravaned.toml")
        settings.write_text(settings.read_text().replace("uplinks = []", 'uplinks = ["vmnic32"]', 1))
        system.run("paravane", "daemon", "stop")
        system.run("systemctl", "start", "paravaned")
        system.run("systemctl", "disable", "--now", "opensm")
        system.path("etc/opensm").mkdir(exist_ok=True)
        system.path("etc/opensm/partitions.conf").write_text(PARTITIONS)
        system.run("paravane", "infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428")

    def enabled(self, system):
        with self.subTest("enabled: the ports become Active, with the partition of the file"):
            system.run("systemctl", "enable", "--now", UNIT)
            self.wait_active(system)
            said = system.run("paravane", "infiniband", "run", "--", "saquery", "-g")
            self.assertRegex(said, r"Mtu\.+0x[08]5\n")
            self.assertIn("OpenSM", system.path("var/log/paravane-opensm/opensm.log").read_text())

    def main_process(self, system):
        return system.run("systemctl", "show", "--property=MainPID", "--value", UNIT).strip()

    def confined(self, system):
        with self.subTest("its user has the socket for programs alone"):
            status = system.run("cat", f"/proc/{self.main_process(system)}/status")
            self.assertRegex(status, r"\nCapBnd:\t0+\n")
            self.assertEqual(system.run("stat", "-c", "%U", f"/proc/{self.main_process(system)}").strip(), "paravane-sm")
            as_it = ["setpriv", "--reuid=paravane-sm", "--regid=paravane-sm", "--init-groups"]
            self.assertEqual(system.run("stat", "-c", "%G %a", "/run/paravane/umad.sock").strip(), "paravane-sm 660")
            system.run(*as_it, "paravane", "infiniband", "run", "--", "sminfo")
            done = system.try_run(*as_it, "paravane", "vm", "list")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("/run/paravane/api.sock", done.stdout)
            interfaces = system.run("cat", f"/proc/{self.main_process(system)}/net/dev")
            self.assertEqual(re.findall(r"^ *(\S+):", interfaces, re.M), ["lo"])

    def restarted(self, system):
        with self.subTest("restarted, and killed: it comes back, and ports keep their LIDs"):
            before = [port["lid"] for port in self.ports(system)]
            system.run("systemctl", "restart", UNIT)
            self.wait_active(system)
            old = self.main_process(system)
            system.run("kill", "-KILL", old)
            wait_for(lambda: self.main_process(system) not in (old, "0"), "systemd to start opensm again")
            system.run("paravane", "infiniband", "restart")
            self.wait_active(system)
            self.assertEqual([port["lid"] for port in self.ports(system)], before)

    def not_removed(self, system):
        with self.subTest("removal is refused while a switch has an uplink of InfiniBand"):
            system.run("paravane", "vds", "create", "lan")
            system.run("paravane", "vds", "add-host", "lan", "--uplink", "vmnic32")
            for how in "--remove", "--purge":
                done = system.try_run("dpkg", how, "paravane")
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertIn("uplinks of distributed switches on this host: vmnic32 (lan)", done.stdout)
                self.assertIn("paravane vds uplink SWITCH none", done.stdout)
            self.assertEqual(system.run("systemctl", "is-active", "paravaned.service", UNIT).split(), ["active", "active"])

    def removed_and_purged(self, system):
        with self.subTest("without it: removed and purged, opensm's files too"):
            system.run("paravane", "vds", "uplink", "lan", "none")
            system.run("dpkg", "--purge", "paravane")
            for name in "paravaned", "opensm":
                self.assertEqual(system.try_run("pgrep", name).stdout, "")
            self.assertEqual(system.run("sh", "-c", "find /etc /var/lib /var/log /run -name '*paravane*' ! -path '*/dpkg/*' ! -path '*/apt/*'"), "")
