"""Types the blocks of README.md that say `typed: packages.readme`: on a Debian with git, a clone and nothing else installed."""

import contextlib
import pathlib
import subprocess
import sys

from debian import CACHE, Debian, ROOT
from suites import OfEachSuite
from test_paravane import Daemon

sys.path.append(str(ROOT / "tests" / "daemon"))
import typed_page  # pylint: disable=wrong-import-position

BLOCKS = typed_page.marked("packages.readme")["README.md"]
CLONE = "src/paravane"


class Readme(OfEachSuite):
    """In a clone, as root."""

    def type(self, debian, block):
        """Each command in a shell of its own; apt-get is answered with yes."""
        return [debian.run("sh", "-c", f"cd /{CLONE}\n{one.text}", env={"CCACHE_DIR": "/ccache"}) for one in typed_page.commands(block)]

    @contextlib.contextmanager
    def with_clone(self):
        with Debian(self.suite) as debian:
            subprocess.run(["git", "clone", "-q", ROOT, debian.root / CLONE], check=True)
            debian.bind(CACHE.parent / "ccache", "ccache")
            (debian.root / "etc/apt/apt.conf.d/99yes").write_text('APT::Get::Assume-Yes "true";\n')
            debian.update()
            debian.install("git")
            debian.run("git", "config", "--global", "--add", "safe.directory", f"/{CLONE}")
            yield debian

    def test_demo(self):
        """Guests and their daemon need what a machine has and a chroot has not: its devices, and what is kept of downloads."""
        demo, _ = BLOCKS
        with self.with_clone() as debian:
            debian.bind(pathlib.Path("/dev"), "dev")
            debian.bind(CACHE, "root/.cache/paravane")
            first, kept, stopped, hosts = self.type(debian, demo)
            for shown in first, kept, hosts:
                self.assertRegex(shown, r"(?m)^ +(65536|64 KiB) .* local$")
            self.assertRegex(hosts, r"(?m)^ +(65536|64 KiB) .* tcp$")
            self.assertIn("Ended the daemon and its VMs", stopped)

    def test_packages(self):
        _, package = BLOCKS
        with self.with_clone() as debian:
            self.type(debian, package)
            with Daemon(debian):
                debian.run("paravane", "vm", "add", "db1")
                self.assertIn("db1", debian.run("paravane", "vm", "list"))
