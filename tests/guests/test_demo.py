"""scripts/demo with real VMs, on one host and on two; what it says when it ends works as typed. What needs no VM is in
tests/checks/test_demo.py."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RATIO = re.compile(r"64 KiB: ([0-9.]+) GB/s, ([0-9.]+) x rdma_rxe")


class Demo(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        self.folder.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.demo, "--stop")

    def demo(self, *words):
        done = subprocess.run([ROOT / "scripts" / "demo", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=400, check=False, env={**os.environ, "PARAVANE_DEMO": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def typed(self, said, *commands):
        """The output of commands in the shell that it says to prepare."""
        exports = re.findall(r"^ +(export .*)$", said, re.MULTILINE)
        self.assertTrue(exports, said)
        for command in commands:
            self.assertIn(f"  {command}\n", said)
        return subprocess.run(["bash", "-ec", "\n".join([*exports, *commands])], cwd=ROOT, capture_output=True, text=True, timeout=120,
                              check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": os.environ.get("HOME", "/")}).stdout

    def check_table(self, said, path):
        rows = re.findall(rf"^ +(\d+ \w+) +(\d+) +[0-9.]+ +{path}$", said, re.MULTILINE)
        self.assertEqual([size for size, _ in rows], ["64 B", "4 KiB", "64 KiB", "1 MiB"], said)
        for _, writes in rows:
            self.assertGreater(int(writes), 0)

    def test_on_one_host(self):
        said = self.demo("--built", "--keep")
        self.check_table(said, "local")
        self.assertGreater(float(RATIO.search(said)[2]), 1, said)
        listed = self.typed(said, "paravane vm list", "lab/vm run 1 -- ibv_devinfo -v")
        self.assertIn("vm2", listed)
        self.assertIn("vmw_pvrdma0", listed)
        self.assertIn("Ended the daemon and its VMs: vm1 vm2", self.demo("--stop"))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_on_two_hosts(self):
        said = self.demo("--built", "--keep", "--hosts", "2")
        within, between = said.split("From host h2")
        self.check_table(within, "local")
        self.check_table(between, "tcp")
        self.assertEqual(len(RATIO.findall(said)), 2, said)
        listed = self.typed(said, "paravane vm list", "paravane cluster status", "lab/cluster run 1 -- ibv_devinfo -v")
        self.assertIn("vm2", listed)
        self.assertIn("h2", listed)
        self.assertIn("Ended the hosts h1 h2, with their VMs", self.demo("--stop"))
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
