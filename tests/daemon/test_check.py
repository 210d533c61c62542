"""paravane vm check, and the settings with vSphere's values, against a daemon."""

import json
import unittest

from rig import DaemonTest, run_cli
from vmm import attach

SETTINGS = "system", "settings", "advanced"
OF_THE_DAEMON = ["Hardware version", "Adapters", "Memory reservation", "Adapter 1: port group", "Adapter 1: socket",
                 "Adapter 1: guest driver", "Channel"]


class Settings(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()

    def listed(self, path):
        row, = json.loads(self.cli("--formatter=json", *SETTINGS, "list", "-o", path).stdout)
        return row["Type"], row["IntValue"], row["DefaultIntValue"], row["MinValue"], row["MaxValue"]

    def test_are_listed_with_their_bounds_as_esxcli_does(self):
        self.assertEqual(self.listed("/Net/PVRDMAMaxAdapters"), ("integer", 8, 8, 1, 8))
        self.assertEqual(self.listed("/Net/PVRDMAMaxUDQueuePairs"), ("integer", 0, 0, 0, 65535))
        for path, standard in (("/Net/PVRDMAAtomics", 1), ("/Net/PVRDMAUplinkEditNeedsPowerOff", 0),
                               ("/Mem/PVRDMARequireReservation", 0)):
            self.assertEqual(self.listed(path), ("integer", standard, standard, 0, 1))
        self.assertIn("a number from 1 to 8", self.refused(2, *SETTINGS, "set", "-o", "/Net/PVRDMAMaxAdapters", "-i", "9"))

    def test_a_text_is_no_number_and_does_not_untag(self):
        said = self.refused(2, *SETTINGS, "set", "-o", "/Net/PVRDMAVmknic", "-i", "1")
        self.assertIn("/Net/PVRDMAVmknic is a text: --string-value", said)
        said = self.refused(2, *SETTINGS, "set", "-o", "/Net/PVRDMAMaxAdapters", "-s", "1")
        self.assertIn("/Net/PVRDMAMaxAdapters is a number: --int-value", said)

    def test_the_management_interface_is_the_one_with_the_clusters_address(self):
        said = self.refused(1, *SETTINGS, "set", "-o", "/Net/PVRDMAVmknic", "-s", "vmk0")
        self.assertIn("VMkernel interface vmk0 does not exist on this host", said)
        self.assertIn("[cluster] address of paravaned.toml", said)

    def test_one_adapter_for_each_vm_as_vsphere_has_it(self):
        self.cli(*SETTINGS, "set", "-o", "/Net/PVRDMAMaxAdapters", "-i", "1")
        self.stop(self.daemon)
        self.daemon = self.start()
        self.assertEqual(self.listed("/Net/PVRDMAMaxAdapters")[1], 1)
        self.cli("vm", "add", "db1")
        complaint = self.refused(1, "vm", "adapter", "add", "db1")
        self.assertIn("vm db1 would have 2 PVRDMA adapters, but /Net/PVRDMAMaxAdapters is 1", complaint)
        self.cli(*SETTINGS, "set", "-o", "/Net/PVRDMAMaxAdapters", "-d")
        self.cli("vm", "adapter", "add", "db1")


class VmCheck(DaemonTest):
    """On a host that is in no cluster; of QEMU's side, one that is not there."""

    def setUp(self):
        super().setUp()
        self.daemon = self.start()
        self.cli("vm", "add", "db1")

    def check(self, *words, formatter="json"):
        done = run_cli(self.api, f"--formatter={formatter}", "vm", "check", *words)
        return done.returncode, done.stdout

    def row(self, name):
        return next(row for row in json.loads(self.check("db1")[1]) if row["check"] == name)

    def test_tells_what_is_so_and_what_is_missing(self):
        status, text = self.check("db1")
        listed = json.loads(text)
        # What the daemon knows, then what the host has for QEMU.
        self.assertEqual([(row["check"], row["verdict"]) for row in listed[:len(OF_THE_DAEMON)]],
                         [(name, "ok") for name in OF_THE_DAEMON])
        rows = {row["check"]: row for row in listed}
        self.assertEqual(len(rows), len(listed), "each check has one row")
        self.assertEqual(rows["Adapter 1: socket"]["found"], f"{self.vms}/db1.sock, free")
        self.assertEqual(rows["Channel"]["found"], "not in a cluster: only VMs on this host are reachable")
        # Without its user, QEMU is not tried.
        tried = {"QEMU"} if rows["QEMU's user"]["verdict"] == "ok" else set()
        self.assertLessEqual({"Boot", "Memory"} | tried, set(rows))
        self.assertEqual(rows["Boot"]["verdict"], "warning")
        self.assertEqual(status, 1 if any(row["verdict"] == "failed" for row in listed) else 0)
        self.assertEqual([row for row in listed if row["verdict"] == "failed" and not row["cure"]], [])

    def test_a_vm_that_runs(self):
        with attach(self.vms / "db1.sock"):
            self.assertIn("in use by the running VM (process", self.row("Adapter 1: socket")["found"])
            self.assertEqual(self.row("Adapter 1: guest driver")["cure"], "modprobe vmw_pvrdma   # in the guest")

    def test_all_vms_in_each_format(self):
        self.cli("vm", "add", "db2")
        rows = json.loads(self.check("--all")[1])
        self.assertEqual({row["vm"] for row in rows}, {"db1", "db2"})
        self.assertTrue(self.check("--all", formatter="csv")[1].startswith("VM,Check,Verdict,Found,Cure\n"))
        self.assertRegex(self.check("db1", formatter="table")[1], r"^Check +Verdict +Found +Cure *\n")

    def test_refuses_what_it_cannot_check(self):
        self.assertIn("vm db9 does not exist", self.refused(1, "vm", "check", "db9"))
        self.assertIn("specify one VM, or use --all", self.refused(2, "vm", "check"))
        self.assertIn("specify one VM, or use --all", self.refused(2, "vm", "check", "db1", "--all"))
        self.assertIn("a name must be", self.refused(2, "vm", "check", "DB1"))

    def test_memory_that_must_be_reserved_is_not_started_without(self):
        self.cli(*SETTINGS, "set", "-o", "/Mem/PVRDMARequireReservation", "-i", "1")
        row = self.row("Memory reservation")
        self.assertEqual((row["verdict"], row["cure"]), ("failed", "paravane vm set db1 --lock-memory"))
        for command in "start", "run":
            complaint = self.refused(1, "vm", command, "db1")
            self.assertIn("vm db1: Memory reservation: not reserved, although /Mem/PVRDMARequireReservation is 1", complaint)
            self.assertIn("\n  paravane vm set db1 --lock-memory\n", complaint)
        self.cli("vm", "set", "db1", "--lock-memory")
        self.assertEqual(self.row("Memory reservation")["verdict"], "ok")


if __name__ == "__main__":
    unittest.main()
