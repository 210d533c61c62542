"""Packets that are merged before they come to a RoCE port (docs/roce.md, "The merging receiver"). The kernel of the machine that tests
run on may lack what that needs, so a guest plays the host, with the keeper's own way from a plan to interfaces and rules."""
import pathlib
import shutil
import tempfile
import unittest

import guest_facts
from guests import ROOT, Guests, make_overlay

HERE = pathlib.Path(__file__).resolve().parent


class NativeMerging(unittest.TestCase):
    def test_packets_of_a_flow_come_as_one_frame_whole_and_in_order(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        self.addCleanup(shutil.rmtree, folder)
        guests = Guests(folder, make_overlay(folder))
        (folder / "paravaned.log").touch()  # it has no daemon
        there = guests.overlay / "opt" / "merging"
        there.mkdir(parents=True)
        for file in (ROOT / "tests" / "daemon" / "network.py", HERE / "scenarios" / "merged_roce.py"):
            shutil.copy(file, there)
        self.addCleanup(guests.lab, "down")
        options = ("--no-rdma", "--layer", "python", "--layer", "switch", "--layer", "traffic", "--memory", "1024")
        guests.lab("up", "1", "--overlay", str(guests.overlay), *options)
        guest_facts.note(guests, options)
        guests.guest(1, "modprobe", "-a", "bridge", "veth", "tun")
        said = guests.guest(1, "python3", "/opt/merging/merged_roce.py", timeout=400)
        self.assertEqual(said.split()[-1], "done", said)


if __name__ == "__main__":
    unittest.main()
