"""The engine of a daemon is killed under running guests. QEMU stays connected, the guest's commands fail at once, and its adapter
is back as soon as its driver is loaded again, or the guest boots again."""
import time
import unittest

from crash_rig import CrashRig
from rig import wait_for
from test_kernel_storage import LAYER, NVME_CONNECT, NVME_SERVE

DEVICE = ["-d", "vmw_pvrdma0"]
# A command of the driver that is not answered takes it 10 s.
AT_ONCE_S = 5
# It fails where a module below it is in use.
UNLOAD = "modprobe -r vmw_pvrdma; ! grep ^vmw_pvrdma /proc/modules"
FIND_DEVICE = "function=$(basename $(readlink -f /sys/class/infiniband/vmw_pvrdma0/device))"


class Crashed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = CrashRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, *LAYER)

    def test_1_programs_end_and_the_driver_is_loaded_again(self):
        rig = self.rig
        words = ["ib_write_bw", *DEVICE, "-F", "-D", "300", "-q", "50"]
        programs = []
        for port in range(18515, 18519):
            server = rig.spawn(1, *words, "-p", str(port), timeout=400)
            rig.wait_listening(1, port)
            programs += [server, rig.spawn(2, *words, "-p", str(port), rig.address_of(1), timeout=400)]
        wait_for("all queue pairs", lambda: rig.stats("vm2")["queue_pairs"] > 200, 60)
        pids = [adapter["pid"] for adapter in rig.adapters()]
        took = rig.kill_engine()
        self.assertEqual([adapter["pid"] for adapter in rig.adapters()], pids, "a VMM was disconnected")
        self.assertEqual(rig.states(), ["lost"] * 2)
        for vm in 1, 2:
            began = time.monotonic()
            code, text = rig.spawn(vm, "ib_write_bw", *DEVICE, "-F", "-n", "1").finish(60)
            self.assertNotEqual(code, 0, text)
            self.assertLess(time.monotonic() - began, AT_ONCE_S, text)
        for program in reversed(programs):
            program.end()
        for vm in 1, 2:
            rig.shell(vm, "while pgrep ib_write_bw >/dev/null; do sleep 0.05; done", timeout=60)
        times = [rig.reload(vm) for vm in (1, 2)]
        self.assertEqual(rig.states(), ["active"] * 2)
        rig.ping()
        print(f"guests: another engine after {took:.2f} s, the adapters back {times} s after modprobe -r", flush=True)

    def test_2_unbound_and_bound_again(self):
        self.rig.kill_engine()
        for vm in 1, 2:
            self.rig.reload(vm, f"{FIND_DEVICE}; echo $function >/sys/bus/pci/drivers/vmw_pvrdma/unbind && "
                                "echo $function >/sys/bus/pci/drivers/vmw_pvrdma/bind")
        self.rig.ping()

    def test_3_time_and_again(self):
        """Also while the driver is being loaded: QEMU stays connected, and it can be loaded afterwards."""
        for delay in 0.0, 0.03, 0.1, 0.3:
            job = self.rig.spawn(1, "sh", "-c", "modprobe -r vmw_pvrdma; modprobe vmw_pvrdma", timeout=100)
            time.sleep(delay)
            self.rig.kill_engine()
            job.finish(60)
            self.rig.reload(1)
        self.rig.reload(2)
        self.rig.ping()

    def test_4_what_the_kernels_have_under_way_ends(self):
        """A disk over NVMe-oF is mounted and written to, and both drivers are unloaded under it."""
        rig = self.rig
        rig.shell(1, NVME_SERVE)
        rig.shell(2, NVME_CONNECT)
        rig.shell(2, "modprobe ext4 && mkfs.ext4 -q /dev/nvme0n1 && mkdir -p /mnt && mount -t ext4 /dev/nvme0n1 /mnt")
        writes = rig.spawn(2, "sh", "-c", "while dd if=/dev/zero of=/mnt/file bs=1M count=16 conv=fsync 2>/dev/null; do :; done; exit 1", timeout=200)
        rig.shell(2, "until [ -s /mnt/file ]; do sleep 0.1; done; sleep 1", timeout=30)
        rig.kill_engine()
        self.assertNotEqual(writes.finish(60)[0], 0)
        times = [rig.reload(vm, UNLOAD) for vm in (2, 1)]
        print(f"guests: the adapters back {times} s after modprobe -r under NVMe-oF", flush=True)
        rig.ping()
        for vm in 1, 2:
            rig.shell(vm, "! dmesg | grep -E 'BUG|WARNING|Oops|use-after-free'")

    def test_5_a_guest_boots_again(self):
        rig = self.rig
        rig.kill_engine()
        for vm in 1, 2:
            rig.lab("reboot", "--hard", str(vm))
        wait_for("both adapters", lambda: rig.states() == ["active"] * 2, 60)
        rig.ping()


if __name__ == "__main__":
    unittest.main()
