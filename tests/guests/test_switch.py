"""A switch where the kernel's bridge filters VLANs, which the host's may not: the keeper's own
way from a plan to bridges and taps, run in a guest."""
import pathlib
import shutil
import unittest

from guests import ROOT
from rig import Rig

HERE = pathlib.Path(__file__).resolve().parent


class VlanSwitch(unittest.TestCase):
    def test_vlans_pass_with_their_tags_between_hosts_and_nowhere_else(self):
        rig = Rig()
        self.addCleanup(rig.close)
        there = rig.overlay / "opt" / "switch"
        there.mkdir(parents=True)
        for file in (ROOT / "tests" / "daemon" / "network.py", HERE / "scenarios" / "vlan_switch.py"):
            shutil.copy(file, there)
        rig.up(1, "--layer", "python", "--layer", "switch", "--memory", "1024")
        rig.guest(1, "modprobe", "-a", "bridge", "veth", "tun", "8021q")
        self.assertEqual(rig.guest(1, "python3", "/opt/switch/vlan_switch.py", timeout=240).split()[-1], "done")


if __name__ == "__main__":
    unittest.main()
