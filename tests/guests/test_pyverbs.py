"""rdma-core's own test suite (pyverbs) as the guest's distribution ships it, between
the device's own queue pairs."""
import re
import unittest

from rig import Rig

VERDICT = re.compile(r"^(\w+) \(([\w.]+)\).*?\.\.\. (ok|skipped .*|FAIL|ERROR)$", re.MULTILINE | re.DOTALL)

# As newer rdma-core does: the network device of a GID, where the function has none of its own.
NETDEV_OF_GID = r"""
cd /opt/tests && python3 - <<'PYTHON'
import pathlib, re
base = pathlib.Path("base.py")
text = base.read_text()
print(text[text.index("def get_net_name"):][:900])
PYTHON
"""


class Pyverbs(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(1, "--layer", "python", "--memory", "2048", "--smp", "2")

    def test_suite_as_shipped(self):
        text = self.rig.shell(1, "cd /opt && PYTHONPATH=/opt python3 tests/run_tests.py --dev vmw_pvrdma0 -v 2>&1; true",
                              timeout=900)
        print(text[-6000:])
        self.assertIn("OK (", text)


if __name__ == "__main__":
    unittest.main()
