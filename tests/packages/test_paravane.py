"""The package paravane: what is in it, installed, upgraded, removed and purged."""

import json
import re
import subprocess
import sys
import time

import build
from debian import Debian, ROOT
from suites import OfEachSuite

sys.path.insert(0, str(ROOT / "tests" / "daemon"))
import vmm  # pylint: disable=wrong-import-position

SOCKETS = "run/paravane/vm"

# As needrestart reads its settings, and asks for a unit: the first pattern that matches decides.
DEFERRED = r"""
our %nrconf = (override_rc => { qr(^dbus) => 0 });
eval do { local (@ARGV, $/) = "/etc/needrestart/conf.d/paravane.conf"; <> };
die $@ if $@;
for my $unit (@ARGV) {
  my $restart = 1;
  for my $pattern (keys %{$nrconf{override_rc}}) {
    next unless $unit =~ /$pattern/;
    $restart = $nrconf{override_rc}->{$pattern};
    last;
  }
  print "$unit\n" unless $restart;
}
"""


def wait_for(condition, what, patience_s=60):
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience_s} s for {what}")
        time.sleep(0.05)


class Daemon:
    """paravaned in a Debian without systemd, as its unit would start it."""

    def __init__(self, debian):
        for owner, mode, folder in [("root", "0755", "/run/paravane"), ("paravane", "0755", "/run/paravane/vm"),
                                    ("paravane", "0700", "/var/lib/paravane")]:
            debian.run("install", "-d", "-o", owner, "-g", owner, "-m", mode, folder)
        debian.run("chown", "paravane:", "/run/paravane")
        with (debian.folder / "daemon.log").open("ab") as log:
            # In a network of its own: what it makes there goes with it.
            self.process = subprocess.Popen(["unshare", "--net", "--", *debian.words("/usr/sbin/paravaned")],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: debian.try_run("paravane", "status").returncode == 0, "the daemon to answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)

    def runs(self):
        return self.process.poll() is None


def dependencies(package):
    """What apt installs with it."""
    fields = [subprocess.run(["dpkg-deb", "--field", package, field], check=True, capture_output=True,
                             text=True).stdout.strip() for field in ("Depends", "Recommends")]
    return ", ".join(fields)


class Installed(OfEachSuite):
    """One installation, looked at, then purged."""

    def test_M4_1_M4_2_installed_looked_at_and_purged(self):
        package = build.built(self.suite, "paravane")
        with Debian(self.suite) as debian:
            debian.update()
            debian.run("apt-get", "-q", "-y", "satisfy", dependencies(package))
            before = debian.files()
            debian.install(*debian.bring(package))
            self.everything_is_there(debian)
            self.it_runs(debian)
            debian.run("apt-get", "-q", "-y", "purge", "paravane")
            debian.run("sh", "-c", "rm -r /packages")
            self.assertEqual(sorted(debian.files() ^ before), [])

    def everything_is_there(self, debian):
        with self.subTest("what cmake --install installs, and nothing of tests"):
            places = {"usr/share/zsh/site-functions/": "usr/share/zsh/vendor-completions/",
                      "lib/systemd/system/": "usr/lib/systemd/system/"}

            def settled(path):
                for here, there in places.items():
                    path = re.sub("^" + here, there, path.strip("/"))
                return path.removesuffix(".gz")
            ours = {settled(path) for path in debian.run("dpkg", "-L", "paravane").split("\n")
                    if path and not (debian.root / path.strip("/")).is_dir()}
            wanted = {settled(path) for path in
                      (build.BUILT / self.suite / "installed").read_text().split("\n") if path}
            self.assertEqual(sorted(wanted - ours), [])
            self.assertEqual([path for path in sorted(ours - wanted) if not path.startswith("usr/share/doc/paravane/")], [])
        with self.subTest("manual pages"):
            for page in "man1/paravane.1", "man8/paravaned.8", "man5/paravaned.toml.5":
                self.assertIn(".Sh NAME", debian.run("zcat", f"/usr/share/man/{page}.gz"))
        with self.subTest("completion"):
            said = debian.run("bash", "-c", ". /usr/share/bash-completion/completions/paravane && complete -p paravane")
            self.assertIn("paravane", said)
        with self.subTest("every library is there"):
            self.assertNotIn("not found", debian.run("ldd", "/usr/sbin/paravaned", "/usr/bin/paravane"))
        with self.subTest("esxcli and its like, where no PATH looks"):
            self.assertIn("network", debian.run("/usr/share/paravane/bin/esxcli", "--help"))
        with self.subTest("esxupdate, which asks dpkg"):
            self.assertRegex(debian.run("/usr/share/paravane/bin/esxupdate", "query"), r"\nparavane +\d{4}-\S+Z +\S+ +RDMA for virtual machines")
            self.assertIn("Status: install ok installed", debian.run("/usr/share/paravane/bin/esxupdate", "-b", "paravane", "info"))
        with self.subTest("settings"):
            debian.run("paravaned", "--check-config")
            self.assertIn("/etc/paravane/paravaned.toml", debian.run("dpkg-query", "-W", "-f", "${Conffiles}", "paravane"))
        with self.subTest("needrestart restarts neither the daemon nor a VM"):
            said = debian.run("perl", "-e", DEFERRED, "--", "paravaned.service", "paravane-vm@db1.service", "ssh.service")
            self.assertEqual(said, "paravaned.service\nparavane-vm@db1.service\n")
        with self.subTest("the engine's user"):
            self.assertIn("paravane", debian.run("id", "paravane"))

    def it_runs(self, debian):
        with self.subTest("the daemon starts and answers"), Daemon(debian) as daemon:
            self.assertEqual(json.loads(debian.run("paravane", "--formatter=json", "status"))["vms"], 0)
            debian.run("paravane", "vm", "add", "db1")
            self.without_qemu(debian)
            said = debian.run("dpkg", "--remove", "paravane")
            self.assertNotIn("not removed", said)
            wait_for(lambda: not daemon.runs(), "the daemon to end with its package")
            debian.install(*debian.bring(build.built(self.suite, "paravane")))
            self.assertTrue((debian.root / "var/lib/paravane/paravane.db").exists())

    def without_qemu(self, debian):
        with self.subTest("a VM without QEMU: what to do is said"):
            done = debian.try_run("paravane", "vm", "start", "db1")
            self.assertEqual(done.returncode, 1)
            self.assertIn("/usr/bin/qemu-system-x86_64: No such file", done.stdout)
            self.assertIn("10.1 or later is required", done.stdout)


class WithVmAttached(OfEachSuite):
    """An installation whose daemon serves a VM."""

    def test_upgrade_and_removal_leave_the_vm_alone(self):
        package = build.built(self.suite, "paravane")
        with Debian(self.suite) as debian:
            debian.update()
            debian.install(*debian.bring(package))
            with Daemon(debian) as daemon:
                debian.run("paravane", "vm", "add", "db1")
                debian.run("paravane", "vm", "add", "idle")
                with vmm.attach(debian.root / SOCKETS / "db1.sock"):
                    self.upgrade(debian, daemon, build.newer(package, debian.folder))
                    self.refused_removal(debian, daemon)
            self.purge_by_force(debian)

    def upgrade(self, debian, daemon, later):
        with self.subTest("an upgrade"):
            said = debian.install(*debian.bring(later))
            self.assertTrue(daemon.runs())
            self.assertIn("still runs the program from before this upgrade", said)
            self.assertRegex(said, r"would lose their RDMA adapter if it ended now: db1\n")
            self.assertIn("attached", debian.run("paravane", "vm", "list"))

    def refused_removal(self, debian, daemon):
        with self.subTest("a removal"):
            done = debian.try_run("apt-get", "-q", "-y", "purge", "paravane")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("1 VM is attached: db1", done.stdout)
            self.assertIn("paravane daemon stop --force", done.stdout)
            self.assertTrue(daemon.runs())
            self.assertTrue((debian.root / "usr/sbin/paravaned").exists())
            self.assertIn("install ok installed", debian.run("dpkg-query", "-W", "-f", "${Status}", "paravane"))

    def purge_by_force(self, debian):
        with self.subTest("a removal by force"), Daemon(debian) as daemon:
            with vmm.attach(debian.root / SOCKETS / "db1.sock"):
                debian.run("paravane", "daemon", "stop", "--force")
                wait_for(lambda: not daemon.runs(), "the daemon to stop")
                debian.run("apt-get", "-q", "-y", "purge", "paravane")
            for left in "var/lib/paravane", "run/paravane", "etc/paravane":
                self.assertFalse((debian.root / left).exists(), left)
