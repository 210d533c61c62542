"""VMs that paravane itself runs: start, stop, reset, console, hot-add."""
import json
import os
import pathlib
import pwd
import resource
import subprocess
import unittest

from guests import wait_for
from power_rig import QEMU_USER, PowerRig


def may_lock_all_memory():
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return True
    except ValueError:
        return False


class RunByParavane(unittest.TestCase):
    """Two guests; vm1 powers down when it is told, vm2 has no ear for that."""

    @classmethod
    def setUpClass(cls):
        cls.rig = PowerRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.add_guest(1, append="test.button")
        cls.rig.add_guest(2)
        for vm in "vm1", "vm2":
            cls.rig.run("vm", "start", vm)
        for vm in "vm1", "vm2":
            cls.rig.wait_booted(vm)

    def setUp(self):
        for vm in "vm1", "vm2":
            if self.rig.row(vm)["state"] != "active":
                self.rig.power_off(vm)
                self.rig.run("vm", "start", vm)
                self.rig.wait_booted(vm)

    def devices(self, vm):
        return self.rig.shell_of(vm, "ls /sys/class/infiniband").split()

    def test_rdma_between_them_with_the_connection_manager(self):
        self.rig.shell_of("vm1", "(rping -s -C 10 >/tmp/rping 2>&1 &)")
        self.rig.shell_of("vm1", "i=0; until rdma resource show cm_id | grep -q LISTEN; do i=$((i+1)); [ $i -lt 100 ]; sleep 0.1; done")
        self.rig.shell_of("vm2", "rping -c -a 10.77.0.1 -C 10 -V >/tmp/rping")

    def test_list_shows_power_and_process_and_qemu_has_no_rights(self):
        row = self.rig.row("vm1")
        self.assertEqual((row["power"], row["state"], row["problem"]), ("running", "active", ""))
        status = pathlib.Path(f"/proc/{row['pid']}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        self.assertEqual(fields["Uid"].split(), [str(pwd.getpwnam(QEMU_USER).pw_uid)] * 4)
        self.assertEqual(int(fields["CapEff"], 16), 0)
        self.assertEqual(fields["NoNewPrivs"], "1")
        self.assertEqual(fields["Seccomp"], "2")

    def test_check_of_a_vm_that_runs_finds_all_of_it_good(self):
        rows = {row["check"]: row for row in json.loads(self.rig.run("--formatter=json", "vm", "check", "vm1"))}
        self.assertEqual([row for row in rows.values() if row["verdict"] != "ok" or row["cure"]], [])
        self.assertIn("with vfio-user-pci", rows["QEMU"]["found"])
        self.assertEqual(rows["QEMU's user"]["found"], QEMU_USER)
        self.assertEqual(rows["Adapter 1: guest driver"]["found"], "the vmw_pvrdma driver has activated the device")
        self.assertIn(f"process {self.rig.row('vm1')['pid']}", rows["Adapter 1: socket"]["found"])

    def test_console_takes_commands_from_a_pipe(self):
        out = self.rig.run("vm", "console", "vm2", "--quiet", "3", text="\necho hel\\lo from $(hostname)\n")
        self.assertIn("hello from vm2", out)

    def test_a_vm_that_runs_is_not_started_again(self):
        complaint = self.rig.run("vm", "start", "vm1", status=1)
        self.assertIn(f"already running (pid {self.rig.row('vm1')['pid']})", complaint)
        complaint = self.rig.run("vm", "run", "vm1", status=1)
        self.assertIn("already", complaint)

    def test_stop_powers_the_guest_down(self):
        self.rig.run("vm", "stop", "vm1", "--timeout", "60")
        wait_for("the daemon saw it", lambda: self.rig.row("vm1")["state"] == "detached", 10)
        row = self.rig.row("vm1")
        self.assertEqual((row["power"], row["pid"]), ("off", 0))
        self.rig.run("vm", "stop", "vm1")  # as it should be
        self.assertIn("the VM is off", self.rig.run("vm", "console", "vm1", status=1))

    def test_stop_ends_a_vm_that_is_being_started(self):
        self.rig.power_off("vm1")
        start = subprocess.Popen(self.rig.words("vm", "start", "vm1"), env=self.rig.environment_of_vms(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("its QEMU has begun", lambda: self.rig.row("vm1")["power"] == "running", 10)
        self.rig.run("vm", "stop", "vm1", "--timeout", "90")
        self.assertEqual(self.rig.row("vm1")["power"], "off")
        start.wait(60)

    def test_stop_says_when_the_guest_does_not_listen(self):
        complaint = self.rig.run("vm", "stop", "vm2", "--timeout", "12", status=1)
        self.assertRegex(complaint, r"waiting for the guest to shut down \(\d+ of 12 s\)")
        self.assertIn("did not shut down within 12 s", complaint)
        self.assertIn("--force", complaint)
        self.assertEqual(self.rig.row("vm2")["power"], "running")

    def test_reset_boots_the_guest_anew_with_its_device(self):
        self.rig.shell_of("vm2", "touch /before")
        pid = self.rig.row("vm2")["pid"]
        self.rig.run("vm", "reset", "vm2")
        self.rig.wait_booted("vm2")
        self.rig.shell_of("vm2", "[ ! -e /before ]")
        self.assertEqual(self.rig.row("vm2")["pid"], pid)

    def test_hot_add_gives_the_guest_one_device_each_and_no_way_back(self):
        self.assertEqual(self.devices("vm2"), ["vmw_pvrdma0"])
        for number in 2, 3:
            self.rig.add_tap(f"pv-vm2.{number}")
            self.rig.run("vm", "adapter", "add", "vm2")
            self.rig.shell_of("vm2", f"i=0; until [ -e /sys/class/net/eth{number - 1} ]; do i=$((i+1)); [ $i -lt 100 ]; sleep 0.1; done; "
                                     f"ip link set eth{number - 1} up; "
                                     f"until ibv_devinfo -d vmw_pvrdma{number - 1} | grep -q PORT_ACTIVE; do sleep 0.2; done")
            self.assertEqual(self.devices("vm2"), [f"vmw_pvrdma{k}" for k in range(number)])
        self.assertEqual([row["state"] for row in self.rig.rows("vm2")], ["active"] * 3)
        complaint = self.rig.run("vm", "adapter", "remove", "vm2", "3", status=4)
        self.assertIn("aborts when a vfio-user device is unplugged", complaint)
        self.assertIn("Shut down the VM first", complaint)
        self.rig.run("vm", "stop", "vm2", "--force")
        for number in 3, 2:
            self.rig.run("vm", "adapter", "remove", "vm2", str(number))

    def test_a_daemon_that_was_started_again_is_missed_and_list_says_so(self):
        self.rig.run("daemon", "stop", "--force")
        self.rig.daemon.wait(20)
        self.rig.start_daemon()
        row = self.rig.row("vm2")
        self.assertEqual((row["power"], row["state"]), ("running", "detached"))
        self.assertIn("the VM runs without this adapter", row["problem"])
        row = next(row for row in self.rig.checked("vm2") if row["check"] == "QEMU runs")
        self.assertEqual((row["verdict"], row["cure"]), ("failed", "paravane vm stop vm2 && paravane vm start vm2"))
        self.assertIn("a reset would make QEMU abort", self.rig.run("vm", "reset", "vm2", status=1))
        self.assertEqual(self.rig.row("vm2")["power"], "running")
        self.rig.run("vm", "stop", "vm2", "--force")
        self.rig.run("vm", "start", "vm2")
        self.rig.wait_booted("vm2")
        self.assertEqual(self.rig.row("vm2")["problem"], "")


class PowerWithoutGuests(unittest.TestCase):
    """VMs that boot nothing."""

    @classmethod
    def setUpClass(cls):
        cls.rig = PowerRig()
        cls.addClassCleanup(cls.rig.close)

    def setUp(self):
        self.rig.run("vm", "add", "cold", "--memory", "64M", "--accelerator", "tcg")
        self.addCleanup(self.rig.run, "vm", "remove", "cold", "--force")
        self.addCleanup(self.rig.power_off, "cold")

    def test_of_two_who_start_one_vm_one_wins_and_the_other_is_told(self):
        starts = [subprocess.Popen(self.rig.words("vm", "start", "cold"), env=self.rig.environment_of_vms(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                  for _ in range(4)]
        ends = [(start.communicate(timeout=120), start.returncode) for start in starts]
        self.assertEqual(sorted(code for _, code in ends), [0, 1, 1, 1], ends)
        for (_, complaint), code in ends:
            if code == 1:
                self.assertIn("already", complaint)
        self.assertEqual(self.rig.row("cold")["power"], "running")

    def test_a_qemu_that_is_killed_is_off_and_can_be_started_again(self):
        self.rig.run("vm", "start", "cold")
        os.kill(self.rig.row("cold")["pid"], 9)
        wait_for("it is off", lambda: self.rig.row("cold")["power"] == "off", 10)
        self.rig.run("vm", "stop", "cold")
        self.rig.run("vm", "start", "cold")

    def test_what_keeps_qemu_from_starting_is_said(self):
        self.assertIn("needs access", self.rig.run("vm", "start", "cold", status=1, PARAVANE_VM_USER="daemon"))
        self.assertIn("which runs QEMU, does not exist", self.rig.run("vm", "start", "cold", status=1, PARAVANE_VM_USER="nosuch"))
        self.assertIn("not run as root", self.rig.run("vm", "start", "cold", status=1, PARAVANE_VM_USER="root"))
        self.assertIn("10.1", self.rig.run("vm", "start", "cold", status=1, PARAVANE_QEMU="/nonexistent"))
        self.rig.run("vm", "set", "cold", "--qemu-arg=-nonsense")
        self.assertIn("nonsense", self.rig.run("vm", "start", "cold", status=1))
        self.rig.run("vm", "set", "cold", "--qemu-arg=none", "--disk", "/nonexistent,,.img")
        self.assertIn("disk /nonexistent,.img: No such file", self.rig.run("vm", "start", "cold", status=1))

    def test_memory_is_locked_when_it_is_reserved(self):
        self.rig.run("vm", "set", "cold", "--lock-memory")
        if not may_lock_all_memory():  # as root in a container
            self.assertIn("the memlock limit is too low", self.rig.run("vm", "start", "cold", status=1))
            return
        self.rig.run("vm", "start", "cold")
        status = pathlib.Path(f"/proc/{self.rig.row('cold')['pid']}/status").read_text()
        locked = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmLck"))
        self.assertGreaterEqual(locked, 64 * 1024)

    def start_in_background(self, *words):
        process = subprocess.Popen(self.rig.words(*words), env=self.rig.environment_of_vms(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_what_systemd_runs_waits_for_the_daemon(self):
        self.rig.run("daemon", "stop")
        self.rig.daemon.wait(20)
        waiting = self.start_in_background("vm", "run", "cold", "--wait", "60")
        self.assertIn("waiting up to 60 s for paravaned", waiting.stderr.readline())
        self.rig.start_daemon()
        wait_for("it runs", lambda: self.rig.row("cold")["power"] == "running", 20)
        self.assertEqual(self.rig.row("cold")["pid"], waiting.pid)

    def test_start_waits_for_the_tap_of_a_port_group_and_says_when_there_is_none(self):
        # The daemon makes it in its own network, which is not that of QEMU here.
        self.rig.run("vds", "create", "lan")
        self.addCleanup(self.rig.run, "vds", "delete", "lan")
        self.rig.run("vds", "add-host", "lan")
        self.rig.run("portgroup", "create", "rdma", "--vds", "lan")
        self.addCleanup(self.rig.run, "portgroup", "delete", "rdma")
        self.rig.run("vm", "set", "cold", "--port-group", "rdma")
        self.addCleanup(self.rig.run, "vm", "set", "cold", "--port-group", "none")
        self.addCleanup(self.rig.power_off, "cold")
        complaint = self.rig.run("vm", "start", "cold", status=1)
        self.assertIn("waiting up to 10 s for tap pv-cold", complaint)
        self.assertIn("tap pv-cold does not exist", complaint)
        waiting = self.start_in_background("vm", "start", "cold")
        self.assertIn(" s for tap pv-cold", waiting.stderr.readline())
        self.rig.add_tap("pv-cold")
        self.assertEqual(waiting.wait(60), 0)

    def test_a_disk_with_an_odd_name_is_a_disk_and_no_option(self):
        disk = self.rig.folder / "a,readonly=on b.img"
        disk.write_bytes(bytes(1 << 20))
        disk.chmod(0o666)
        self.rig.run("vm", "set", "cold", "--disk", str(disk).replace(",", ",,"))
        self.rig.run("vm", "start", "cold")


if __name__ == "__main__":
    unittest.main()
