"""A disk in memory that is served over NBD, and programs of others that use it."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.parse

BIN = pathlib.Path(os.environ["PARAVANE_BIN"])
PATIENCE_S = 120
MIB = 1 << 20


def run(*words, may_fail=False):
    """What a program says; it must succeed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0 and not may_fail:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if not may_fail else done


class ServedDisk:
    """`wishes`: as the program's usage says, such as size=4096."""

    def __init__(self, socket, **wishes):
        self.socket = socket
        self.process = subprocess.Popen([BIN / "paravane_nbd_disk", socket, *(f"{name}={value}" for name, value in wishes.items() if name != "also"),
                                         *([f"with={wishes['also']}"] if "also" in wishes else [])],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        if said != "ready\n":
            raise AssertionError(f"the disk is not served: {said}{self.process.stderr.read()}")

    def url(self, export=""):
        return f"nbd+unix:///{export}?socket={urllib.parse.quote(str(self.socket))}"

    def end(self):
        """Its counters, without the lines of its log."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        said, complaints = self.process.communicate(timeout=PATIENCE_S)
        if self.process.returncode != 0:
            raise AssertionError(f"the server ended with {self.process.returncode}: {complaints}")
        return {name: int(value) for name, value in (line.split() for line in said.splitlines() if not line.startswith("["))}

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class DiskTest(unittest.TestCase):
    """Each test has a folder, and as many disks as it serves."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nbd-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.disks = 0

    def serve(self, **wishes):
        self.disks += 1
        disk = ServedDisk(self.folder / f"disk{self.disks}", **wishes)
        self.addCleanup(disk.kill)
        return disk

    def random_file(self, size):
        path = self.folder / "data"
        path.write_bytes(os.urandom(size))
        return path

    def io(self, disk, *commands, export=""):
        """qemu-io's commands, each of which must succeed. Returns what it says."""
        words = [word for command in commands for word in ("-c", command)]
        said = run("qemu-io", "-f", "raw", *words, disk.url(export))
        for sign in ("failed", "error", "mismatch", "Pattern verification"):
            self.assertNotIn(sign, said)
        return said
