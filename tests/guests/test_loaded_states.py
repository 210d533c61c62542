"""QEMU migrates a VM, or loads a snapshot, without the state of its adapter, and reports success. The daemon notices it, says
so, and names what helps."""
import json
import sys
import time
import unittest

from guests import ROOT, Failed, wait_for
from raw_qemu import Monitor, network, start_twin
from rig import Rig

sys.path.append(str(ROOT / "tests" / "daemon"))
import typed_page  # noqa: E402  (the line above makes it importable)

BLOCKS = typed_page.marked("guests.loaded_states")
NOTICED_S = 5
DRIVER_ENDS_S = 90  # it waits 10 s for each of several answers


class LoadedStates(unittest.TestCase):
    """A guest; vm2 is where it goes."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.cli("vm", "add", "vm2", "--mac", network.guest_mac(2))
        cls.rig.up(1)

    def adapter(self, vm):
        rows = json.loads(self.rig.cli("--formatter=json", "vm", "list").stdout)
        return next(row for row in rows if row["name"] == f"vm{vm}")["adapters"][0]

    def told(self, vm):
        return [event["type"] for event in json.loads(self.rig.cli("events", "--vm", f"vm{vm}", "--formatter=json").stdout)
                if event["type"] in ("adapter.dead", "adapter.revived")]

    def assert_noticed(self, vm, since):
        wait_for(f"vm{vm} is dead", lambda: self.adapter(vm)["state"] == "dead", NOTICED_S)
        self.assertLess(time.monotonic() - since, NOTICED_S)
        self.assertEqual(self.told(vm)[-1], "adapter.dead")
        listed = self.rig.cli("vm", "list")
        self.assertIn("dead", listed.stdout)
        self.assertIn("reboot the guest", listed.stderr)
        self.assertIn("/sys/bus/pci/rescan", listed.stderr)

    def assert_cured(self, vm):
        wait_for(f"vm{vm} is active", lambda: self.adapter(vm)["state"] == "active", 30)
        self.assertEqual(self.adapter(vm)["problem"], "")
        self.assertEqual(self.told(vm)[-2:], ["adapter.dead", "adapter.revived"])
        self.rig.shell(vm, "ibv_devinfo | grep -q PORT_ACTIVE")

    def test_1_boots_and_resets_are_none(self):
        self.rig.lab("reboot", "1", "--hard")
        self.rig.lab("reboot", "1")
        time.sleep(4)
        self.assertEqual(self.adapter(1)["state"], "active")
        self.assertEqual(self.told(1), [])

    def test_2_a_snapshot_is_loaded(self):
        with Monitor(self.rig.folder / "lab" / "vm1") as monitor:
            monitor.add_snapshot_disk(self.rig.folder / "snapshots.qcow2")
            monitor.line("savevm before")
            monitor.line("loadvm before")
            self.assert_noticed(1, time.monotonic())
        [cure] = BLOCKS["vms.md"]
        self.rig.shell(1, "set -e\n" + "\n".join(cure.lines), DRIVER_ENDS_S)
        self.assert_cured(1)

    def test_3_a_guest_has_migrated(self):
        folder = start_twin(self.rig, 1, 2, "-incoming", "unix:../migration.sock")
        with Monitor(folder):
            time.sleep(4)  # longer than is waited for a guest
            self.assertEqual(self.adapter(2)["state"], "attached")
        with Monitor(self.rig.folder / "lab" / "vm1") as monitor:
            monitor.ask("migrate", uri="unix:../migration.sock")
            wait_for("the migration", lambda: self.migrated(monitor), 60, 0.02)
            self.assert_noticed(2, time.monotonic())
            monitor.ask("quit")
        self.rig.lab("reboot", "2")
        self.assert_cured(2)

    def migrated(self, monitor):
        status = monitor.ask("query-migrate").get("status")
        if status in ("failed", "cancelled"):
            raise Failed(f"the migration {status}")
        return status == "completed"


if __name__ == "__main__":
    unittest.main()
