"""Types the blocks of README.md and docs/ that say `typed: daemon.pages`: those for which a host without guests is enough.

Each page is typed on a host of its own that has just been installed (installed_host.py), with what the page takes as given.
tests/daemon/stand_in_qemu.py stands in for QEMU and its guest, and scripts for virsh and wireshark; tests/guests has the
real ones.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import typed_page
from installed_host import InstalledHost
from network import Namespace

HERE = pathlib.Path(__file__).resolve().parent
BLOCKS = typed_page.marked("daemon.pages")

# As libvirt: a domain that cannot be read is refused.
VIRSH = """#!/bin/sh
case $1 in
  define) python3 -c 'import sys, xml.dom.minidom as dom; dom.parse(sys.argv[1])' "$2" ;;
  start) ;;
  qemu-monitor-command) ;;
  *) exit 1 ;;
esac
"""
WIRESHARK = "#!/bin/sh\nexec cat >/dev/null\n"
LEAVE_CONSOLE = ("Ctrl-] to exit", "\x1d")


@unittest.skipUnless(os.geteuid() == 0, "only root can make namespaces")
class Pages(unittest.TestCase):
    """A method for each page."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.network = Namespace("page")
        self.addCleanup(self.network.close)
        self.host = InstalledHost(self.folder, "h1", self.network)
        self.addCleanup(self.host.close)
        self.host.stand_in("qemu-system-x86_64", HERE / "stand_in_qemu.py")
        shutil.copy(HERE / "vmm.py", self.host.bin)
        self.host.stand_in("virsh", VIRSH)
        self.host.stand_in("wireshark", WIRESHARK)

    def blocks(self, page, count):
        """Those of a page, of which the test knows how many there are: what each takes as given stands here."""
        found = BLOCKS[page]
        self.assertEqual(len(found), count, f"blocks of {page} that say typed: daemon.pages")
        return found

    def start(self, settings=""):
        """The daemon; more settings than those that are installed."""
        if settings:
            self.host.must(f"cat >/etc/paravane/paravaned.toml <<'EOF'\n{settings}EOF")
        self.host.must("systemctl start paravaned")

    def type(self, block, answers=(), statuses=None, folder="/srv"):
        """Types a block; `statuses`: of commands, by their number, that do not end with 0. Returns what each shows."""
        if typed_page.is_settings(block):
            self.host.write("/srv/page.toml", "\n".join(block.lines) + "\n")
            return self.host.must("paravaned --check-config --config page.toml")
        typed = typed_page.commands(block)
        text, _ = self.host.type(f"cd '{folder}'\n" + typed_page.script_of(typed), answers)
        shown = typed_page.results(text, typed)
        for number, (one, (lines, status)) in enumerate(zip(typed, shown), 1):
            where = f"{block.page.name}:{block.line}: {one.text}\n" + "\n".join(lines) + "\n" + self.host.log_text()
            self.assertEqual(status, (statuses or {}).get(number, 0), where)
            if one.shown:
                self.assertTrue(typed_page.is_shown(one.shown, lines), where)
        return ["\n".join(lines) for lines, _ in shown]

    def make_disk(self):
        self.host.must("truncate -s 1M db1.qcow2; chown paravane-vm: db1.qcow2")

    def test_readme(self):
        vm, script = self.blocks("README.md", 2)
        self.start()
        self.make_disk()
        self.type(vm, [LEAVE_CONSOLE])
        self.type(script)

    def test_api(self):
        self.start()
        self.type(*self.blocks("api.md", 1))

    def test_compared_with_vsphere(self):
        self.start()
        self.type(*self.blocks("compared-with-vsphere.md", 1))

    def test_configuration(self):
        wrong, group, host, cluster, debug = self.blocks("configuration.md", 5)
        self.host.write("/srv/bad.toml", "[api]\nsokcet = \"x\"\n")
        self.type(wrong, statuses={1: 3})
        self.type(group)
        self.assertIn('group = "paravane-vmm"', self.host.must("paravaned --check-config; grep ^group /etc/paravane/paravaned.toml"))
        for block in host, cluster, debug:
            self.type(block)

    def test_esxcli(self):
        self.start()
        self.type(*self.blocks("esxcli.md", 1))

    def test_events(self):
        self.start()
        self.host.must("paravane vm add db1; paravane vm start db1; paravane vm stop db1")
        self.type(*self.blocks("events.md", 1))

    def test_impair(self):
        self.start()
        self.host.must("paravane vm add db1; paravane vm add db2")
        self.type(*self.blocks("impair.md", 1))

    def test_lab(self):
        self.host.must("ip netns add h1; ip netns add h2")
        self.type(*self.blocks("lab.md", 1), folder=typed_page.ROOT)

    def test_metrics(self):
        ask, settings, unit, prometheus = self.blocks("metrics.md", 4)
        self.start()
        self.host.must("paravane vm add db1; paravane vm start db1")
        self.type(ask)
        self.type(settings)
        self.type(unit)
        if shutil.which("promtool"):
            self.host.write("/srv/prometheus.yml", "\n".join(prometheus.lines) + "\n")
            self.host.must("promtool check config prometheus.yml")

    def test_roce(self):
        self.start()
        self.host.must("paravane vds create lan; paravane vds add-host lan; paravane portgroup create storage --vds lan --vlan 10")
        self.host.must("paravane vm add db1 --port-group storage")
        native, routed = self.blocks("roce.md", 2)
        self.type(native)
        self.type(routed)

    def test_sniff(self):
        self.start()
        self.host.must("paravane vm add db1; paravane vm start db1")
        self.type(*self.blocks("sniff.md", 1))

    def test_switch(self):
        self.network.ip("link", "add", "eth1", "type", "veth", "peer", "name", "other")
        self.start('[network]\nuplinks = ["eth1"]\n')
        self.type(*self.blocks("switch.md", 1))

    def test_vms(self):
        power, console, hot_add, libvirt = self.blocks("vms.md", 4)
        self.start()
        self.make_disk()
        self.host.must("paravane vds create lan; paravane vds add-host lan; paravane portgroup create rdma --vds lan --vlan 10")
        self.type(power, [LEAVE_CONSOLE])
        self.host.must("paravane vm start db1")
        self.type(console)
        self.host.must("paravane vm stop db1; paravane vm adapter add db1")
        self.type(hot_add)
        self.type(libvirt)

    def test_every_page_is_typed(self):
        """A page that says daemon.pages and that no method here names would never be typed."""
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.assertEqual([page for page in BLOCKS if f'self.blocks("{page}", ' not in text], [])


if __name__ == "__main__":
    unittest.main()
