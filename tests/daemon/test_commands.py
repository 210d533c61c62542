"""The commands of paravane against a daemon."""

import json
import subprocess
import unittest

from rig import BIN, PATIENCE_S, DaemonTest
from vmm import Refused, Vmm, attach


class VmCommands(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()

    def test_added_vm_is_listed_with_its_socket(self):
        self.cli("vm", "add", "db1", "--mac", "02:50:56:00:00:01", "--version", "18",
                 "--doorbells", "trapped")
        row, = self.vm_rows()
        self.assertEqual(row["Name"], "db1")
        self.assertEqual(row["State"], "detached")
        self.assertEqual(row["MACAddress"], "02:50:56:00:00:01")
        self.assertEqual(row["Version"], 18)
        self.assertEqual(row["Doorbells"], "trapped")
        self.assertEqual(row["Socket"], str(self.vms / "db1.sock"))
        self.assertTrue((self.vms / "db1.sock").is_socket())

    def test_removed_vm_is_gone(self):
        self.cli("vm", "add", "db1")
        self.cli("vm", "remove", "db1")
        self.assertEqual(self.vm_names(), [])
        self.assertFalse((self.vms / "db1.sock").exists())

    def test_name_that_exists_is_refused(self):
        self.cli("vm", "add", "db1")
        complaint = self.refused(1, "vm", "add", "db1")
        self.assertIn("vm db1 exists already", complaint)
        self.assertIn("Choose another name", complaint)

    def test_mac_that_exists_is_refused(self):
        self.cli("vm", "add", "db1", "--mac", "02:50:56:00:00:01")
        self.assertIn("02:50:56:00:00:01 belongs to another VM",
                      self.refused(1, "vm", "add", "db2", "--mac", "02:50:56:00:00:01"))

    def test_bad_names_are_refused(self):
        for name in ("DB1", "a/b", "..", "a b", "x" * 64, ""):
            self.assertIn("a name is", self.refused(2, "vm", "add", name))
        self.assertEqual(self.vm_names(), [])

    def test_unknown_vm_is_named(self):
        for words in (("vm", "remove", "db9"), ("vm", "qemu-args", "db9"),
                      ("vm", "libvirt-xml", "db9"), ("stats", "--vm", "db9")):
            self.assertIn("there is no vm db9", self.refused(1, *words))

    def test_attached_vm_is_removed_by_force_only(self):
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            self.assertEqual(self.vm_rows()[0]["State"], "attached")
            complaint = self.refused(4, "vm", "remove", "db1")
            self.assertIn("vm db1 is attached", complaint)
            self.assertIn("--force", complaint)
            self.assertEqual(self.vm_names(), ["db1"])
            self.cli("vm", "remove", "db1", "--force")
            self.assertTrue(vmm.is_closed())
        self.assertEqual(self.vm_names(), [])

    def test_qemu_arguments_in_three_forms(self):
        self.cli("vm", "add", "db1")
        lines = self.cli("vm", "qemu-args", "db1", "--tap", "tap0").stdout.splitlines()
        words = json.loads(self.cli("vm", "qemu-args", "db1", "--tap", "tap0", "--json").stdout)
        shell = self.cli("vm", "qemu-args", "db1", "--tap", "tap0", "--shell").stdout
        self.assertEqual(lines, words)
        split = subprocess.run(["sh", "-c", f"printf '%s\\n' {shell}"], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        self.assertEqual(split, words)
        device = json.loads(words[-1])
        self.assertEqual(device["driver"], "vfio-user-pci")
        self.assertEqual(device["socket"]["path"], str(self.vms / "db1.sock"))

    def test_statistics_count_the_messages_of_a_vmm(self):
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock"):
            rows = json.loads(self.cli("stats", "--counters", "--formatter=json").stdout)
            values = {(row["Subject"], row["Counter"]): row["Value"] for row in rows}
            self.assertEqual(values["db1", "vfio_user_messages"], 1)
            self.assertEqual(values["db1", "attaches"], 1)
            self.assertGreater(values["daemon", "rounds"], 0)

    def test_watch_prints_again(self):
        self.cli("vm", "add", "db1")
        text = self.cli("--formatter=csv", "stats", "--watch", "--count", "2").stdout
        self.assertEqual(text.count("VM,Path,"), 2)

    def test_second_vmm_is_turned_away(self):
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as first:
            with Vmm(self.vms / "db1.sock") as second:
                with self.assertRaises((Refused, ConnectionResetError, BrokenPipeError)):
                    second.negotiate()
            first.socket.setblocking(False)
            with self.assertRaises(BlockingIOError):
                first.socket.recv(1)


class Completion(DaemonTest):
    def test_bash_completes_commands_options_and_vms(self):
        self.start()
        self.cli("vm", "add", "db1")

        def complete(*words):
            script = subprocess.run([BIN / "paravane", "completion", "bash"], capture_output=True,
                                    text=True, check=True).stdout
            quoted = " ".join(f"'{word}'" for word in ("paravane", *words))
            done = subprocess.run(
                ["bash", "-c", script + f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; "
                 "_paravane; echo ${COMPREPLY[@]}"],
                env={"PATH": f"{BIN}:/usr/bin:/bin", "PARAVANE_SOCKET": str(self.api)},
                capture_output=True, text=True, timeout=PATIENCE_S, check=True)
            return done.stdout.split()

        self.assertEqual(complete("v"), ["vm"])
        self.assertEqual(complete("vm", "q"), ["qemu-args"])
        self.assertIn("--netdev", complete("vm", "qemu-args", "--"))
        self.assertEqual(complete("vm", "remove", "d"), ["db1"])
        self.assertEqual(complete("stats", "--vm", "d"), ["db1"])
        self.assertEqual(complete("--formatter", "j"), ["json"])


if __name__ == "__main__":
    unittest.main()
