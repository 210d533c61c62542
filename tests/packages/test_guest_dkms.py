"""The package paravane-guest-dkms: the driver is built for the Debian's kernels."""

import re

import build
from debian import Debian
from suites import OfEachSuite

MODULE = "lib/modules/{kernel}/updates/dkms"


class GuestDriver(OfEachSuite):
    """The Debian is a guest; nothing boots, DKMS only builds."""

    def test_driver_is_built_for_each_kernel(self):
        with Debian(self.suite, "guest") as debian:
            kernel, = [path.name for path in (debian.root / "lib/modules").iterdir()]
            said = debian.install(*debian.bring(build.built(self.suite, "paravane-guest-dkms")))
            with self.subTest("built when the package is installed"):
                self.driver_is_there(debian, kernel, said)
            with self.subTest("a kernel that comes later, without its source"):
                self.later_kernel(debian, kernel)
            with self.subTest("removed"):
                debian.run("apt-get", "-q", "-y", "purge", "paravane-guest-dkms")
                self.assertEqual(list((debian.root / "lib/modules").glob("*/updates/dkms/vmw_pvrdma*")), [])
                self.assertEqual(list((debian.root / "usr/src").glob("paravane-guest*")), [])
                self.assertFalse((debian.root / "var/lib/dkms/paravane-guest").exists())

    def driver_is_there(self, debian, kernel, said):
        found = list((debian.root / MODULE.format(kernel=kernel)).glob("vmw_pvrdma.ko*"))
        self.assertEqual(len(found), 1, said)
        told = debian.run("modinfo", "/" + str(found[0].relative_to(debian.root)))
        self.assertRegex(told, rf"vermagic: +{re.escape(kernel)} SMP")
        # The adapter's PCI identity, by which udev loads the driver.
        self.assertIn("pci:v000015ADd00000820", told)
        self.assertIn("ib_core", told)

    def later_kernel(self, debian, kernel):
        """DKMS is asked for a kernel of a series whose source is not installed."""
        later = "99.1.0-1-amd64"
        modules = debian.root / "lib/modules"
        (modules / later).mkdir()
        (modules / later / "build").symlink_to(debian.run("readlink", f"/lib/modules/{kernel}/build").strip())
        done = debian.try_run("dkms", "autoinstall", "-k", later)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        # Debian 12's DKMS shows what it says; Debian 13's names the log that has it.
        logs = [path.read_text() for path in (debian.root / "var/lib/dkms/paravane-guest").rglob("make.log")]
        self.assertIn("apt-get install linux-source-99.1", done.stdout + "".join(logs))
        # With it, the same command builds: here from the source that there is.
        sources = debian.root / "usr/src"
        archive = next(sources.glob("linux-source-*.tar.xz"))
        (sources / "linux-source-99.1.tar.xz").symlink_to(archive.name)
        done = debian.try_run("dkms", "autoinstall", "-k", later)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(len(list((modules / later / "updates/dkms").glob("vmw_pvrdma.ko*"))), 1, done.stdout)
