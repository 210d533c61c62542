"""Runs rdma-core's test suite in a guest and reads its verdicts."""
import json
import os
import pathlib
import re

# A verdict may be pushed to a later line by what a test prints.
CASE = re.compile(r"^(test_\w+) \((\S+)\)(?:\n(?!test_).*?)? \.\.\. (ok|skipped .*|FAIL|ERROR)?", re.MULTILINE)
BAD = re.compile(r"^(?:FAIL|ERROR): (test_\w+) ", re.MULTILINE)
TOTAL = re.compile(r"^Ran (\d+) tests in", re.MULTILINE)

# The network device comes from the GID table, as newer rdma-core finds it: this
# function has none of its own, and the suite would skip the connection manager.
TAKE_NETDEV_FROM_GID = r"""
import pathlib
base = pathlib.Path("/opt/tests/base.py")
text = base.read_text()
old = "'/sys/class/infiniband/{}/device/net/'"
assert text.count(old) == 2, "base.py has changed"
text = text.replace("out = subprocess.check_output(['ls',\n                                       " + old,
                    "out = subprocess.check_output(['cat',\n"
                    "                                       '/sys/class/infiniband/{}/ports/1/gid_attrs/ndevs/0'")
text = text.replace(old, "'/sys/class/infiniband/{}/ports/1/gid_attrs/ndevs/0'")
base.write_text(text)
"""


# The suite draws lots (which flags, which sizes), and skips when the lot is something the
# provider has not: a test's name is the seed, so that it finds the same every time.
SEEDED = """
import random, runpy, sys, unittest
run = unittest.TestCase.run
def seeded(self, result=None):
    random.seed(self.id())
    return run(self, result)
unittest.TestCase.run = seeded
sys.argv = sys.argv[1:]
sys.path.insert(0, "tests")  # as for a program that is run by its name
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(rig, vm, timeout=900, patterns=(), prelude=SEEDED):
    """{test: verdict}; a verdict is "ok", "skipped REASON" or "failed". All tests, or those of `patterns`. `prelude`: runs the suite."""
    chosen = " ".join(f"-k {pattern}" for pattern in patterns)
    text = rig.shell(vm, f"cd /opt && PYTHONPATH=/opt PYTHONHASHSEED=0 python3 -c '{prelude}' tests/run_tests.py "
                         f"--dev vmw_pvrdma0 -v {chosen} 2>&1; true", timeout=timeout)
    total = TOTAL.search(text)
    assert total, text[-3000:]
    bad = set(BAD.findall(text))
    verdicts = {}
    for name, place, verdict in CASE.findall(text):
        case = place if place.endswith(name) else f"{place}.{name}"
        verdicts[case] = "failed" if name in bad else verdict or "ok"
    assert len(verdicts) == int(total[1]), f"{len(verdicts)} of {total[1]} verdicts were understood\n{text[-3000:]}"
    return verdicts


def report(name, how, verdicts):
    """For docs/conformance.md, where the check asks for it."""
    target = os.environ.get("PARAVANE_REPORT")
    if target:
        pathlib.Path(f"{target}-pyverbs-{name}.json").write_text(json.dumps({"how": how, "verdicts": verdicts}, indent=1))


def take_netdev_from_gid(rig, vm):
    rig.guest(vm, "python3", "-c", TAKE_NETDEV_FROM_GID)
