"""Debian 13's opensm and infiniband-diags, from its unpacked packages, over the same library."""
import os
import pathlib
import re
import shlex
import subprocess
import unittest

from fabric_rig import BIN, PATIENCE_S, FabricTest
from rig import wait_for

# Made by `LAB_GUEST=trixie lab/prepare --layer infiniband`.
TREE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "paravane/lab/guest-trixie/layer-infiniband-packages"
LIBRARY = BIN.parent / "lib/paravane/infiniband"


class Debian13(FabricTest):
    """Programs run in a root of Debian 13, which has the library and the test's folder below /dev."""

    def command(self, *words):
        mounts = [f"mount -t tmpfs none {TREE}/dev", f"mkdir {TREE}/dev/here {TREE}/dev/lib", f"touch {TREE}/dev/null",
                  f"mount --bind /dev/null {TREE}/dev/null", f"mount --bind {self.folder} {TREE}/dev/here",
                  f"mount --bind {LIBRARY} {TREE}/dev/lib"]
        settings = ["LD_LIBRARY_PATH=/dev/lib", f"PARAVANE_UMAD_DOOR=/dev/here/{self.door.name}", "OSM_CACHE_DIR=/dev/here", "OSM_TMP_DIR=/dev/here"]
        program = ["env", *settings, "chroot", TREE, *[str(word).replace(str(self.folder), "/dev/here") for word in words]]
        script = " && ".join(["mount --make-rprivate /", *mounts, "exec " + shlex.join(map(str, program))])
        return ["unshare", "--mount", "sh", "-c", script]

    def test_1_the_library_has_every_symbol_of_debian_13s(self):
        def exports(library):
            told = subprocess.run(["readelf", "--dyn-syms", "--wide", library], capture_output=True, text=True, timeout=PATIENCE_S,
                                  check=True).stdout
            return set(re.findall(r" GLOBAL +DEFAULT +\d+ (umad_\w+@@\w+\.\d+)", told))
        theirs = exports(next((TREE / "usr/lib/x86_64-linux-gnu").glob("libibumad.so.3.*")))
        self.assertEqual(len(theirs), 42)
        self.assertEqual(exports(LIBRARY / "libibumad.so.3"), theirs)

    def test_2_its_opensm_and_diagnostics_agree_with_what_is(self):
        self.manager()
        ports = self.wait_active()
        wait_for(lambda: "SUBNET UP" in self.manager_log(), "SUBNET UP in opensm's log")
        lid = ports["mlx4_0", 2]["lid"]
        self.assertEqual(len(self.links()), 4)
        self.assertEqual(re.findall(r"State: (\w+)", self.tool("ibstat")), ["Active"] * 2)
        self.assertIn("SMINFO_MASTER", self.tool("sminfo"))
        self.assertRegex(self.tool("smpquery", "nodeinfo", lid), r"NodeType:\.+Channel Adapter\n")
        self.assertRegex(self.tool("smpquery", "portinfo", lid, 2), r"LinkState:\.+Active\n")
        self.assertRegex(self.tool("perfquery", lid, 2), r"PortRcvPkts:\.+[1-9]")
        switch = re.search(r"^Switch\t.* lid (\d+) lmc", self.tool("ibnetdiscover"), re.M)[1]
        self.assertIn("mlx4_0", self.tool("ibroute", switch))
        self.assertIn("mlx4_0", self.tool("ibtracert", ports["mlx4_0", 1]["lid"], lid))
        self.assertEqual(len(re.findall("PathRecord dump", self.tool("saquery", "PR"))), 9)


if __name__ == "__main__":
    unittest.main()
