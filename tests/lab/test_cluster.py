"""lab/cluster whose daemons do not start: nothing is left but their logs, which its error names."""
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@unittest.skipUnless(os.geteuid() == 0, "only root can make network namespaces")
class ClusterTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.place = pathlib.Path(holder.name)
        self.state = self.place / "cluster"
        for name, text in (("paravane", "exit 3"), ("paravaned", "echo this daemon does not start; exit 1")):
            (self.place / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.place / name).chmod(0o755)

    def up(self):
        done = subprocess.run([ROOT / "lab" / "cluster", "--state", self.state, "--paravane", self.place / "paravane", "up", "1"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 125, done.stderr)
        return done.stderr

    def test_the_log_that_its_error_names_is_there(self):
        log = pathlib.Path(re.search(r"remedy: see (\S+)", self.up())[1])
        self.assertEqual(log.read_text(), "this daemon does not start\n")
        self.assertEqual([path for path in self.state.rglob("*") if path.is_file()], [log])
        # Another attempt is not refused, and has a log of its own.
        self.up()
        self.assertEqual(log.read_text(), "this daemon does not start\n")
        mark = "pvc-" + hashlib.sha256(os.path.realpath(self.state).encode()).hexdigest()[:6]
        self.assertFalse([name for name in os.listdir("/run/netns") if name.startswith(mark)])


if __name__ == "__main__":
    unittest.main()
