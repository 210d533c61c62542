"""docs/guides/mellanox-infiniband.md, Mellanox's guide retold for Paravane, typed block by block, and what is shown compared.

Its host h1 is as after an installation (tests/daemon/installed_host.py). A VM of it is made by the daemon as any other; in place of QEMU and a
guest, a network namespace with the NIC eth1 is then on the bridge of the VM's tap. A script stands in for systemd, and starts opensm as
paravane-opensm.service does.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "daemon"), str(ROOT / "tests" / "guests")]
import guide_text  # noqa: E402  (the line above makes it importable)
from guide_follower import Follower  # noqa: E402
from installation import SYSTEMCTL  # noqa: E402
from installed_host import InstalledHost  # noqa: E402
from network import Namespace, run  # noqa: E402
from rig import BIN, PATIENCE_S, wait_for  # noqa: E402

GUIDE = ROOT / "docs" / "guides" / "mellanox-infiniband.md"
NAMES = "/usr/share/paravane/bin"

# As systemd would, of what the unit says: directories, user, environment, program.
SYSTEMCTL_OF_OPENSM = """#!/bin/sh
set -e
case "$*" in
  "enable --now paravane-opensm" | "restart paravane-opensm") ;;
  *) exec systemctl-paravaned "$@" ;;
esac
if [ -e /run/opensm.pid ]; then
  kill "$(cat /run/opensm.pid)"
  while kill -0 "$(cat /run/opensm.pid)" 2>/dev/null; do sleep 0.05; done
fi
install -d -o paravane-sm -g paravane-sm /var/lib/paravane-opensm /run/paravane-opensm /var/log/paravane-opensm
setsid env -i PATH=/usr/bin:/bin {environment} setpriv --reuid=paravane-sm --regid=paravane-sm --init-groups --no-new-privs --bounding-set=-all \\
  {command} </dev/null >>/srv/opensm.out 2>&1 &
echo $! >/run/opensm.pid
"""


def unit_of_opensm():
    """Its environment and its command line."""
    unit = (ROOT / "packaging" / "paravane-opensm.service.in").read_text()
    places = {"@PARAVANE_BINDIR@": str(BIN), "@PARAVANE_CONFIG_DIR@": "/etc/paravane"}

    def value(key):
        return re.sub("@[A-Z_]+@", lambda place: places[place[0]], re.search(f"^{key}=(.*)$", unit, re.M)[1])
    return {"environment": value("Environment"), "command": value("ExecStart")}


class GuideHost(InstalledHost):
    """h1; its root's shell has the second names first in PATH: one of them is ibstat."""

    def __init__(self, folder, network):
        super().__init__(folder, "h1", network)
        self.stand_in("systemctl-paravaned", SYSTEMCTL)
        self.stand_in("systemctl", SYSTEMCTL_OF_OPENSM.format(**unit_of_opensm()))

    def start(self):
        # What opensm's package has, the machine's packages, and logs of this host's own.
        self.must("mount -t tmpfs tmpfs /var/log; rm -rf /etc/opensm; mkdir -p /etc/opensm /var/lib/dpkg/info /var/lib/dpkg/updates")
        self.write("/var/lib/dpkg/status", pathlib.Path("/var/lib/dpkg/status").read_text(encoding="utf-8"))
        self.must("systemctl start paravaned")

    def environment(self):
        inherited = super().environment()
        return {**inherited, "PATH": f"{NAMES}:{inherited['PATH']}"}

    def run(self, script):
        done = subprocess.run(self.within("bash", "-c", f"cd /srv; {script}"), env=self.environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        return done.returncode, done.stdout


class Typed:
    """A command of a VM that has ended."""

    def __init__(self, status, text):
        self.result = status, text

    def finish(self, _):
        return self.result


class GuideRig:
    """One host, and namespaces that stand for its VMs, each by its number."""

    def __init__(self, folder, network):
        self.network = network
        self.host = GuideHost(folder, network)
        self.vms = {}

    def machine(self, name):
        assert name == "h1", name
        return self.host

    @staticmethod
    def number(name):
        return int(name.removeprefix("vm"))

    def spawn(self, vm, *words):
        done = subprocess.run([*self.attached(vm).before(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE_S, check=False)
        return Typed(done.returncode, done.stdout)

    def attached(self, vm):
        """The namespace of a VM; it and the others are on the bridges that their taps are on now."""
        if vm not in self.vms:
            self.vms[vm] = Namespace(f"vm{vm}")
            run("ip", "link", "add", "eth1", "netns", self.vms[vm].name, "type", "veth", "peer", "name", f"st-vm{vm}", "mtu", 9000,
                "netns", self.network.name)
            self.vms[vm].ip("link", "set", "eth1", "up")
        for number in self.vms:
            bridge = wait_for(lambda number=number: self.bridge_of(number), f"the tap of vm{number} to be on a bridge")
            self.network.ip("link", "set", f"st-vm{number}", "master", bridge, "up")
        return self.vms[vm]

    def bridge_of(self, vm):
        taps = json.loads(self.network.ip("-json", "link", "show", f"pv-vm{vm}", check=False) or "[{}]")
        return taps[0].get("master")

    def daemon_log(self):
        return self.host.log_text() + self.host.run("tail -n 20 /var/log/paravane-opensm/opensm.log")[1]

    def close(self):
        self.host.close()
        for network in self.vms.values():
            network.close()


@unittest.skipUnless(os.geteuid() == 0, "only root can make namespaces")
class Guide(unittest.TestCase):
    """Each section once, in their order."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="paravane-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        network = Namespace("guide")
        self.addCleanup(network.close)
        network.ip("link", "add", "eth1", "type", "veth", "peer", "name", "far-eth1")
        self.rig = GuideRig(folder, network)
        self.addCleanup(self.rig.close)
        self.rig.host.start()

    def test_every_block_shows_what_the_guide_shows(self):
        Follower(self.rig).follow(GUIDE)


class Conventions(unittest.TestCase):
    """Without a host."""

    def test_every_block_says_where_it_is_typed(self):
        for step in guide_text.steps(GUIDE):
            self.assertTrue(step.commands or step.reason_not_to_run or "file" in step.attributes, step.place)


if __name__ == "__main__":
    unittest.main()
