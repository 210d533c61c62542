"""Types the blocks of README.md and docs/ that say `typed: cluster.pages`: those of two hosts that come into a cluster.

The hosts have just been installed (tests/daemon/installed_host.py). eth0 is a host's own, 10.77.0.N; eth1 has no address and
is for its VMs. What a page takes as given stands in its method.
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))

import typed_page  # noqa: E402  (the line above makes it importable)
from installed_host import InstalledHost  # noqa: E402
from network import Namespace, join  # noqa: E402

BLOCKS = typed_page.marked("cluster.pages")
SETTINGS = '[cluster]\naddress = "{address}"\n\n[network]\nuplinks = ["eth1"]\n'
PATIENCE_S = 30  # until what a page shows is so
PASTE = "Paste the token or password here, then press Enter: "


@unittest.skipUnless(os.geteuid() == 0, "only root can make namespaces")
class Pages(unittest.TestCase):
    """A method for each page."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.hosts, self.token = {}, ""
        networks = [Namespace("page"), Namespace("page")]
        for number, network in enumerate(networks, 1):
            self.addCleanup(network.close)
            self.hosts[f"h{number}"] = InstalledHost(self.folder, f"h{number}", network)
            self.addCleanup(self.hosts[f"h{number}"].close)
        for nic in "eth0", "eth1":
            join(networks[0], nic, networks[1], nic)
        for number, network in enumerate(networks, 1):
            network.ip("address", "add", f"10.77.0.{number}/24", "dev", "eth0")

    def start(self):
        for number, host in enumerate(self.hosts.values(), 1):
            host.write("/etc/paravane/paravaned.toml", SETTINGS.format(address=f"10.77.0.{number}"))
            host.must("systemctl start paravaned")

    def blocks(self, page, count):
        found = BLOCKS[page]
        self.assertEqual(len(found), count, f"blocks of {page} that say typed: cluster.pages")
        return found

    def type(self, block, names=(), **more):
        """On the hosts of the prompts; a block without their names, on each of those named."""
        for one in typed_page.commands(block):
            for name in [one.host] if one.host else names:
                self.type_one(block, one, self.hosts[name], **more)

    def type_one(self, block, one, host, status=0, only_some=False):
        """Again, if it only asks, until it shows what the page does."""
        end = time.monotonic() + PATIENCE_S
        while True:
            text, _ = host.type(typed_page.script_of([one]), [(PASTE, self.token + "\n")])
            (lines, ended), = typed_page.results(text, [one])
            where = f"{block.page.name}:{block.line}: {host.name}# {one.text}\n" + "\n".join(lines) + "\n" + host.log_text()
            self.assertEqual(ended, status, where)
            if token := re.search(r"^pvt1\.\S+", "\n".join(lines), re.MULTILINE):
                self.token = token[0]
            if not one.shown or typed_page.is_shown(one.shown, lines, only_some):
                return
            self.assertIn(" status", one.text, where)
            self.assertLess(time.monotonic(), end, where)
            time.sleep(0.2)

    def test_readme(self):
        self.start()
        self.type(*self.blocks("README.md", 1))

    def make_switch(self, portgroup):
        """On h1, which has the authority."""
        self.hosts["h1"].must("paravane vds create lan; paravane vds add-host lan h1 --uplink eth1; "
                              f"paravane vds add-host lan h2 --uplink eth1; {portgroup}")

    def test_vms(self):
        self.start()
        self.hosts["h1"].must("paravane cluster init")
        self.token = self.hosts["h1"].must("paravane cluster token h2")
        self.assertEqual(self.hosts["h2"].type("paravane cluster join", [(PASTE, self.token)])[1], 0)
        self.make_switch("paravane portgroup create rdma --vds lan --vlan 10")
        self.hosts["h1"].must("paravane vm add db1 --port-group rdma")
        self.type(*self.blocks("vms.md", 1), names=["h1"], status=1, only_some=True)

    def test_cluster(self):
        settings, unit, first, second, channel, vmkernel = self.blocks("cluster.md", 6)
        h1 = self.hosts["h1"]
        h1.write("/etc/paravane/page.toml", "\n".join(settings.lines) + "\n")
        h1.must("paravaned --check-config --config /etc/paravane/page.toml")
        self.type(unit, ["h1"])
        self.start()
        self.type(first)
        self.type(second)
        self.type(channel, ["h1", "h2"])
        self.make_switch("paravane portgroup create vg-rdma --vds lan")
        self.type(vmkernel, ["h1"])

    def test_every_page_is_typed(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.assertEqual([page for page in BLOCKS if f'self.blocks("{page}", ' not in text], [])


if __name__ == "__main__":
    unittest.main()
