"""A host on which Paravane is installed, as an administrator finds it: what a page says to type is typed to the letter, with
the paths that it names.

installation.py has what is its own. A script stands in for `systemctl`.
"""

import os
import pathlib
import shutil
import signal
import subprocess

from installation import INSTALL, SYSTEMCTL
from rig import BIN, PATIENCE_S, wait_for
from terminal import at_terminal


class InstalledHost:
    """In a network namespace (network.Namespace) of the caller's. Programs that stand in for others are in `bin`."""

    def __init__(self, folder, name, network):
        self.name, self.network = name, network
        self.folder = pathlib.Path(folder) / name
        self.bin, self.log = self.folder / "bin", self.folder / "log"
        self.bin.mkdir(parents=True)
        for place in self.folder.parent, self.folder, self.bin:
            place.chmod(0o755)  # QEMU's user reads what stands in for it
        self.stand_in("systemctl", SYSTEMCTL)
        installed = self.folder / "installed"
        self.holder = subprocess.Popen(
            [*network.before(), "unshare", "--mount", "--uts", "sh", "-c", INSTALL, "sh", name, installed, BIN],
            stdin=subprocess.DEVNULL)
        wait_for(installed.exists, f"{name} to be installed")

    def stand_in(self, name, text):
        """A program of the test's in place of the machine's: a script, or a copy of a file."""
        if isinstance(text, pathlib.Path):
            shutil.copy(text, self.bin / name)
        else:
            (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def within(self, *words):
        """A command line that runs here."""
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--uts", *map(str, words)]

    def environment(self):
        return {**os.environ, "PATH": f"{self.bin}:{BIN}:{os.environ['PATH']}", "HOST_LOG": str(self.log), "PARAVANE_BUILD": str(BIN.parent),
                "PARAVANE_QEMU": str(self.bin / "qemu-system-x86_64")}

    def type(self, script, answers=(), patience_s=PATIENCE_S):
        """At a terminal, in /srv, as root: what is shown, and the exit status."""
        return at_terminal(self.within("bash", "-c", f"cd /srv\n{script}"), answers, patience_s, self.environment())

    def must(self, script):
        """What must go well, and is not of the page."""
        shown, status = self.type(script)
        if status != 0:
            raise AssertionError(f"{self.name}: {script}: exit status {status}\n{shown}\n{self.log_text()}")
        return shown

    def write(self, path, text):
        subprocess.run(self.within("tee", path), input=text, text=True, stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE_S)

    def log_text(self):
        return self.log.read_text()[-4000:] if self.log.exists() else ""

    def close(self):
        """All that runs in its network ends."""
        for pid in subprocess.run(["ip", "netns", "pids", self.network.name], capture_output=True, text=True,
                                  check=False).stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.holder.kill()
        self.holder.wait(PATIENCE_S)
