"""The commands of paravane against a daemon."""

import json
import sqlite3
import subprocess
import unittest

from rig import BIN, DaemonTest, PATIENCE_S, give, wait_for
from vmm import Refused, Vmm, attach


class VmCommands(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()

    def test_an_empty_list_says_what_to_do(self):
        for words, advice in ((("vm", "list"), "paravane vm add NAME"), (("vds", "list"), "paravane vds create NAME"),
                              (("portgroup", "list"), "paravane portgroup create NAME"), (("path", "list"), "paravane events"),
                              (("impair", "list"), "paravane impair set --help")):
            self.assertIn(advice, self.cli(*words).stderr)
            self.assertEqual(self.cli(*words, "--json").stderr, "")

    def test_added_vm_is_listed_with_its_socket(self):
        self.cli("vm", "add", "db1", "--mac", "02:50:56:00:00:01", "--version", "18",
                 "--doorbells", "trapped")
        row, = self.vm_rows()
        self.assertEqual(row["name"], "db1")
        self.assertEqual(row["state"], "detached")
        self.assertEqual(row["mac"], "02:50:56:00:00:01")
        self.assertEqual(row["version"], 18)
        self.assertEqual(row["doorbells"], "trapped")
        self.assertEqual(row["socket"], str(self.vms / "db1.sock"))
        self.assertTrue((self.vms / "db1.sock").is_socket())

    def test_hardware_version_decides_the_device(self):
        self.cli("vm", "add", "old", "--hw-version", "13")
        self.cli("vm", "add", "new")
        self.cli("vm", "add", "v1", "--hw-version", "14", "--protocol", "v1")
        self.assertEqual({row["name"]: (row["hw_version"], row["version"], row["protocol"])
                          for row in self.vm_rows()},
                         {"old": (13, 17, "v1"), "new": (21, 20, "v2"), "v1": (14, 20, "v1")})

    def test_contradicting_versions_are_refused(self):
        for words, reason in ((("--hw-version", "13", "--version", "20"), "only 17"),
                              (("--hw-version", "14", "--version", "17"), "only 18 to 20"),
                              (("--hw-version", "13", "--protocol", "v2"), "RoCE v1 only"),
                              (("--hw-version", "12"), "13 to 21")):
            self.assertIn(reason, self.refused(2, "vm", "add", "db1", *words))
        self.assertEqual(self.vm_names(), [])

    def test_removed_vm_is_gone(self):
        self.cli("vm", "add", "db1")
        self.cli("vm", "remove", "db1")
        self.assertEqual(self.vm_names(), [])
        self.assertFalse((self.vms / "db1.sock").exists())

    def test_name_that_exists_is_refused(self):
        self.cli("vm", "add", "db1")
        complaint = self.refused(1, "vm", "add", "db1")
        self.assertIn("vm db1 already exists", complaint)
        self.assertIn("Choose another name", complaint)

    def test_mac_that_exists_is_refused(self):
        self.cli("vm", "add", "db1", "--mac", "02:50:56:00:00:01")
        self.assertIn("02:50:56:00:00:01 belongs to another VM",
                      self.refused(1, "vm", "add", "db2", "--mac", "02:50:56:00:00:01"))

    def test_bad_names_are_refused(self):
        for name in ("DB1", "a/b", "..", "a b", "x" * 64, ""):
            self.assertIn("a name must be", self.refused(2, "vm", "add", name))
        self.assertEqual(self.vm_names(), [])

    def test_unknown_vm_is_named(self):
        for words in (("vm", "remove", "db9"), ("vm", "qemu-args", "db9"),
                      ("vm", "libvirt-xml", "db9"), ("stats", "--vm", "db9")):
            self.assertIn("vm db9 does not exist", self.refused(1, *words))

    def test_attached_vm_is_removed_by_force_only(self):
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            self.assertEqual(self.vm_rows()[0]["state"], "attached")
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
            values = {(row["vm"], row["adapter"], row["name"]): row["value"] for row in rows}
            self.assertEqual(values["db1", 1, "vfio_user_messages"], 1)
            self.assertEqual(values["db1", 1, "attaches"], 1)
            self.assertGreater(values[None, None, "rounds"], 0)

    def test_metrics_are_printed_as_prometheus_reads_them(self):
        text = self.cli("metrics").stdout
        self.assertIn("# TYPE paravane_left_out gauge\nparavane_left_out 0\n", text)

    def test_watch_prints_again(self):
        self.cli("vm", "add", "db1")
        text = self.cli("--formatter=csv", "stats", "--watch", "--count", "2").stdout
        self.assertEqual(text.count("VM,Path,QPs,Sent MB/s,Received MB/s,Messages/s,Errors/s\n"), 2)
        self.assertEqual(text.count("db1,-,0,0.0,0.0,0.0,0.0\n"), 2)
        for line in self.cli("--json", "stats", "--watch", "--count", "2").stdout.splitlines():
            self.assertEqual(json.loads(line)["rates"], [{"vm": "db1", "adapter": 1, "sent_bytes_per_s": 0, "received_bytes_per_s": 0,
                                                          "messages_per_s": 0, "errors_per_s": 0}])

    def test_second_vmm_is_turned_away(self):
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as first:
            with Vmm(self.vms / "db1.sock") as second:
                with self.assertRaises((Refused, ConnectionResetError, BrokenPipeError)):
                    second.negotiate()
            first.socket.setblocking(False)
            with self.assertRaises(BlockingIOError):
                first.socket.recv(1)


class Changes(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()

    def row(self, name="db1", adapter=1):
        row, = (row for row in self.vm_rows() if (row["name"], row["number"]) == (name, adapter))
        return row

    def test_upgrade_keeps_roce_v1_and_survives_a_restart(self):
        self.cli("vm", "add", "db1", "--hw-version", "13")
        self.cli("vm", "set", "db1", "--hw-version", "14")
        row = self.row()
        self.assertEqual((row["hw_version"], row["version"], row["protocol"]), (14, 20, "v1"))
        self.cli("vm", "set", "db1", "--protocol", "v2")
        self.assertEqual(self.row()["protocol"], "v2")
        before = self.vm_rows()
        self.assertEqual(self.stop(self.daemon), 0)
        self.daemon = self.start()
        self.assertEqual(self.vm_rows(), before)

    def test_downgrade_of_roce_v2_needs_its_protocol(self):
        self.cli("vm", "add", "db1")
        complaint = self.refused(1, "vm", "set", "db1", "--hw-version", "13")
        self.assertIn("adapter 1 cannot use RoCE v2", complaint)
        self.assertIn("protocol v1", complaint)
        self.assertEqual(self.row()["hw_version"], 21)
        self.cli("vm", "set", "db1", "--hw-version", "13", "--protocol", "v1")
        self.assertEqual((self.row()["hw_version"], self.row()["version"]), (13, 17))

    def test_attached_vm_is_not_changed(self):
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock"):
            for words in (("--hw-version", "14"), ("--protocol", "v1"), ("--limit", "gids=8")):
                complaint = self.refused(4, "vm", "set", "db1", *words)
                self.assertIn("vm db1 is attached", complaint)
                self.assertIn("Shut down the VM", complaint)
            self.assertEqual(self.row()["state"], "attached")
        wait_for(lambda: self.row()["state"] == "detached", "the VMM to be gone")
        self.cli("vm", "set", "db1", "--hw-version", "14")
        attach(self.vms / "db1.sock").socket.close()

    def test_limits_are_set_and_taken_away(self):
        self.cli("vm", "add", "db1", "--limit", "gids=16")
        self.cli("vm", "set", "db1", "--limit", "queue_pairs=64", "--limit", "gids=default")
        body = json.loads(self.http(b"GET /v1/vms/db1 HTTP/1.1\r\nHost: x\r\n\r\n")
                          .partition(b"\r\n\r\n")[2])
        self.assertEqual(body["limits"], {"queue_pairs": 64})
        self.assertIn("1 to 256", self.refused(2, "vm", "set", "db1", "--limit", "gids=257"))
        self.assertIn("queue_pair_requests",
                      self.refused(1, "vm", "set", "db1", "--limit", "queue_pair_requests=2"))
        attach(self.vms / "db1.sock").socket.close()

    def test_nothing_to_change_is_a_wrong_command_line(self):
        self.cli("vm", "add", "db1")
        self.assertIn("no change given", self.refused(2, "vm", "set", "db1"))
        self.assertIn("vm db9 does not exist",
                      self.refused(1, "vm", "set", "db9", "--hw-version", "14"))


class Adapters(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()
        self.cli("vm", "add", "db1")

    def numbers(self):
        return [row["number"] for row in self.vm_rows()]

    def test_up_to_eight_each_with_its_own_socket_and_address(self):
        for number in range(2, 9):
            self.cli("vm", "adapter", "add", "db1")
            self.assertTrue((self.vms / f"db1.{number}.sock").is_socket())
        self.assertIn("vm db1 already has 8 adapters", self.refused(1, "vm", "adapter", "add", "db1"))
        rows = self.vm_rows()
        self.assertEqual(self.numbers(), list(range(1, 9)))
        self.assertEqual(len({row["mac"] for row in rows}), 8)
        self.assertEqual(self.stop(self.daemon), 0)
        self.daemon = self.start()
        self.assertEqual(self.vm_rows(), rows)
        vmms = [attach(row["socket"]) for row in rows]
        self.assertEqual({row["state"] for row in self.vm_rows()}, {"attached"})
        self.assertIn("1 VM is attached: db1", self.refused(4, "daemon", "stop"))
        for vmm in vmms:
            vmm.socket.close()

    def test_protocol_is_each_adapters_own(self):
        self.cli("vm", "adapter", "add", "db1", "--protocol", "v1", "--mac", "02:50:56:00:00:09")
        self.assertEqual([row["protocol"] for row in self.vm_rows()], ["v2", "v1"])
        self.assertEqual(self.vm_rows()[1]["mac"], "02:50:56:00:00:09")
        self.cli("vm", "set", "db1", "--protocol", "v1", "--adapter", "1")
        self.cli("vm", "set", "db1", "--protocol", "v2", "--adapter", "2")
        self.assertEqual([row["protocol"] for row in self.vm_rows()], ["v1", "v2"])
        self.assertIn("adapter 2 cannot use RoCE v2",
                      self.refused(1, "vm", "set", "db1", "--hw-version", "13"))
        self.assertIn("has no adapter 3",
                      self.refused(1, "vm", "set", "db1", "--protocol", "v1", "--adapter", "3"))

    def test_removed_adapter_is_gone_and_its_number_free(self):
        self.cli("vm", "adapter", "add", "db1")
        self.cli("vm", "adapter", "add", "db1")
        self.cli("vm", "adapter", "remove", "db1", "2")
        self.assertEqual(self.numbers(), [1, 3])
        self.assertFalse((self.vms / "db1.2.sock").exists())
        self.cli("vm", "adapter", "add", "db1")
        self.assertEqual(self.numbers(), [1, 2, 3])
        self.assertIn("cannot be removed without the VM", self.refused(1, "vm", "adapter", "remove", "db1", "1"))
        self.cli("vm", "remove", "db1")
        self.assertEqual(list(self.vms.glob("*.sock")), [])

    def test_attached_adapter_is_removed_by_force_only(self):
        self.cli("vm", "adapter", "add", "db1")
        with attach(self.vms / "db1.2.sock") as vmm:
            self.assertIn("--force", self.refused(4, "vm", "adapter", "remove", "db1", "2"))
            self.cli("vm", "adapter", "remove", "db1", "2", "--force")
            self.assertTrue(vmm.is_closed())
        self.assertEqual(self.numbers(), [1])

    def test_arguments_hold_all_of_them(self):
        self.cli("vm", "adapter", "add", "db1")
        words = json.loads(self.cli("vm", "qemu-args", "db1", "--json").stdout)
        devices = [json.loads(word) for word in words if word.startswith("{")]
        self.assertEqual([device["addr"] for device in devices], ["10.1", "11.1"])
        self.assertEqual([device["socket"]["path"] for device in devices],
                         [row["socket"] for row in self.vm_rows()])
        nics = [word for word in words if word.startswith("vmxnet3,")]
        for nic, row, slot in zip(nics, self.vm_rows(), ("10", "11"), strict=True):
            self.assertIn(f"mac={row['mac']},addr={slot}.0", nic)
        self.assertIn("the VM has 2 adapters",
                      self.refused(2, "vm", "qemu-args", "db1", "--tap", "tap0"))
        self.cli("vm", "qemu-args", "db1", "--tap", "tap0", "--tap", "tap1")
        xml = self.cli("vm", "libvirt-xml", "db1").stdout
        for row in self.vm_rows():
            self.assertIn(row["mac"], xml)
            self.assertIn(row["socket"], xml)

    def test_statistics_name_the_adapter(self):
        self.cli("vm", "adapter", "add", "db1")
        with attach(self.vms / "db1.2.sock"):
            rows = json.loads(self.cli("stats", "--counters", "--formatter=json").stdout)
            values = {(row["vm"], row["adapter"], row["name"]): row["value"] for row in rows}
            self.assertEqual((values["db1", 1, "attaches"], values["db1", 2, "attaches"]), (0, 1))

    def test_socket_of_another_vm_is_not_taken(self):
        self.cli("vm", "add", "db1.2")
        self.assertIn("db1.2.sock is already the socket of vm db1.2",
                      self.refused(1, "vm", "adapter", "add", "db1"))


class OldState(DaemonTest):
    def test_state_of_schema_1_is_brought_up_to_date(self):
        with sqlite3.connect(self.state / "paravane.db") as database:
            database.execute("CREATE TABLE vm(name TEXT PRIMARY KEY NOT NULL, mac TEXT UNIQUE NOT "
                             "NULL, spec TEXT NOT NULL) WITHOUT ROWID")
            for name, version in (("a", 20), ("b", 17)):
                mac = f"02:50:56:00:00:{version}"
                spec = {"name": name, "mac": mac, "version": version, "doorbells": "mapped",
                        "limits": {"gids": 16}}
                database.execute("INSERT INTO vm VALUES(?, ?, ?)", (name, mac, json.dumps(spec)))
            database.execute("PRAGMA user_version=1")
        database.close()
        give(self.state / "paravane.db")
        self.start()
        self.assertEqual([(row["name"], row["hw_version"], row["version"], row["protocol"],
                           row["mac"]) for row in self.vm_rows()],
                         [("a", 21, 20, "v2", "02:50:56:00:00:20"),
                          ("b", 13, 17, "v1", "02:50:56:00:00:17")])
        self.assertIn("belongs to another VM",
                      self.refused(1, "vm", "add", "c", "--mac", "02:50:56:00:00:17"))


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

        self.assertEqual(sorted(complete("v")), ["vds", "version", "vm"])
        self.assertEqual(complete("vm", "q"), ["qemu-args"])
        self.assertIn("--netdev", complete("vm", "qemu-args", "--"))
        self.assertEqual(complete("vm", "remove", "d"), ["db1"])
        self.assertEqual(complete("stats", "--vm", "d"), ["db1"])
        self.cli("vm", "adapter", "add", "db1")
        self.assertEqual(complete("vm", "remove", "d"), ["db1"])
        self.assertEqual(complete("vm", "adapter", "remove", "d"), ["db1"])
        self.assertEqual(complete("vm", "adapter", "a"), ["add"])
        self.assertEqual(complete("vm", "set", "db1", "--pro"), ["--protocol"])
        self.assertEqual(complete("vm", "add", "x", "--protocol", ""), ["v1", "v2"])
        self.assertEqual(complete("--formatter", "j"), ["json"])
        self.cli("vds", "create", "lan")
        self.cli("vds", "add-host", "lan")
        self.cli("portgroup", "create", "storage", "--vds", "lan")
        self.assertEqual(complete("vds", "delete", "l"), ["lan"])
        self.assertEqual(complete("portgroup", "create", "x", "--vds", "l"), ["lan"])
        self.assertEqual(complete("portgroup", "delete", "s"), ["storage"])
        self.assertEqual(complete("vm", "add", "x", "--port-group", "s"), ["storage"])
        self.assertEqual(complete("vm", "add", "x", "--port-group", "=", "s"), ["storage"])
        self.assertEqual(complete("vm", "adapter", "remove", "db1", ""), ["1", "2"])
        self.assertEqual(complete("vm", "adapter", "remove", "--force", "db1", "2"), ["2"])
        self.assertEqual(complete("vm", "set", "db1", "--memory", "1G", "--adapter", ""), ["1", "2"])
        self.assertEqual(complete("vm", "remove", "db1", ""), [])
        self.assertEqual(complete("vm", "set", "db1", "--memory", ""), [])
        self.assertEqual(complete("vm", "add", "x", "--limit", "queue_pairs"), ["queue_pairs="])
        self.assertEqual(complete("vm", "add", "x", "--limit", "queue_pairs", "="), [])
        self.assertEqual(complete("vds", "uplink", "lan", ""), ["none"])
        self.assertEqual(complete("network", "firewall", "ruleset", "set", "-r", ""), ["pvrdma"])
        self.assertEqual(complete("network", "firewall", "ruleset", "set", "-e", ""), ["true", "false"])
        setting = ("system", "settings", "advanced", "set", "-o")
        self.assertEqual(complete(*setting, "/Net/PVRDMAV"), ["/Net/PVRDMAVmknic"])
        self.assertEqual(complete(*setting, "/Net/PVRDMAVmknic", "-s", ""), [])
        self.cli("network", "ip", "interface", "add", "-i", "vmk1", "-p", "storage")
        self.assertEqual(complete(*setting, "/Net/PVRDMAVmknic", "-s", ""), ["vmk1"])
        self.assertEqual(complete(*setting, "/Net/PVRDMAVmknic", "-i", ""), [])
        self.assertEqual(complete("network", "ip", "interface", "ipv4", "set", "-i", "v"), ["vmk1"])


class ImpairCommands(DaemonTest):
    def test_impairments_are_set_shown_and_cleared(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vm", "add", "db2")
        self.cli("impair", "set", "--vm", "db1", "--peer", "db2", "--loss", "0.1%", "--delay", "20us",
                 "--reorder", "--rnr", "--seed", "7")
        row, = json.loads(self.cli("impair", "list", "--formatter=json").stdout)
        self.assertEqual((row["vm"], row["peer"], row["loss_ppm"], row["delay_us"], row["reorder_ppm"], row["rnr_ppm"], row["seed"]),
                         ("db1", "db2", 1000, 20, 250000, 10000, 7))
        status = json.loads(self.cli("status", "--formatter=json").stdout)
        self.assertEqual(status["impairments"], 1)
        self.assertIn("impaired db1 to db2", self.cli("stats", "--counters").stdout)
        self.refused(1, "impair", "set", "--vm", "db3", "--loss", "1%")
        self.assertIn("::ffff:10.77.0.1", self.refused(1, "impair", "set", "--vm", "db1", "--peer", "db3", "--loss", "1%"))
        self.assertIn("vm db3 does not exist", self.refused(1, "impair", "clear", "--vm", "db3"))
        self.refused(2, "impair", "set", "--vm", "db1", "--loss", "1%", "--seed", "-1")
        for peer in ("fe80::1", "FE80:0:0:0:0:0:0:1", "10.77.0.1", "::ffff:a4d:1"):
            self.cli("impair", "set", "--vm", "db1", "--peer", peer, "--loss", "1%")
        self.assertEqual([one["peer"] for one in json.loads(self.cli("impair", "list", "--formatter=json").stdout)],
                         ["db2", "fe80::1", "::ffff:10.77.0.1"])
        self.cli("impair", "clear", "--vm", "db1")
        self.assertEqual(json.loads(self.cli("impair", "list", "--formatter=json").stdout), [])


if __name__ == "__main__":
    unittest.main()
