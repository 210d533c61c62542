"""The engine is killed under a hundred programs of each guest, which have 1,000 queue pairs, and under a mounted disk."""
import time
import unittest

from crash_rig import CrashRig
from rig import wait_for
from test_crash import UNLOAD
from test_kernel_storage import LAYER, NVME_ASK, NVME_CONNECT, NVME_FORGET, NVME_SERVE

PROGRAMS, PAIRS = 100, 1000
MANY = f"paravane-many --programs {PROGRAMS} --pairs {PAIRS // PROGRAMS}"
LOST = f"programs: 0 well, {PROGRAMS} by DEVICE_FATAL, 0 by a request, 0 otherwise"


class CrashedUnderMany(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = CrashRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, *LAYER)

    def test_1_adapters_are_back_at_once(self):
        rig = self.rig
        rig.shell(1, NVME_SERVE)
        rig.shell(2, NVME_CONNECT)
        rig.shell(2, "modprobe ext4 && mkfs.ext4 -q /dev/nvme0n1 && mkdir -p /mnt && mount -t ext4 /dev/nvme0n1 /mnt")
        began = time.monotonic()
        programs = self.start_many()
        for vm in 1, 2:
            rig.shell(vm, "until grep ready /tmp/many; do sleep 0.2; done", timeout=120)
        connected = time.monotonic() - began
        for vm in 1, 2:
            self.assertGreater(rig.stats(f"vm{vm}")["queue_pairs"], PAIRS)
        served = rig.kill_engine()
        began = time.monotonic()
        for program in programs:
            self.assertIn(LOST, program.finish(60)[1])
        ended = time.monotonic() - began
        times = [rig.reload(vm, UNLOAD) for vm in (2, 1)]
        print(f"guests: {2 * PAIRS} queue pairs were connected in {connected:.1f} s; another engine after {served:.2f} s, all programs ended "
              f"{ended:.1f} s later, the adapters back {times} s after modprobe -r", flush=True)
        rig.ping()
        rig.shell(2, NVME_FORGET)

    def test_2_while_they_are_made(self):
        rig = self.rig
        for queue_pairs in PAIRS // 20, PAIRS // 2:
            programs = self.start_many()
            wait_for("some queue pairs", lambda enough=queue_pairs: rig.stats("vm2")["queue_pairs"] > enough, 30)
            rig.kill_engine()
            for program in programs:
                self.assertIn("programs: 0 well, ", program.finish(60)[1])
            for vm in 2, 1:
                rig.reload(vm, UNLOAD)
        rig.ping()

    def test_3_a_connection_that_its_kernel_is_making_fails(self):
        """Its connection manager asks again after some seconds, and is told that it cannot."""
        rig = self.rig
        rig.shell(1, UNLOAD)  # its NIC goes on, so its address is found
        before = rig.stats("vm2")["sends"]
        connecting = rig.spawn(2, "sh", "-c", NVME_ASK)
        wait_for("a request for a connection", lambda: rig.stats("vm2")["sends"] > before, 30)
        rig.kill_engine()
        began = time.monotonic()
        self.assertNotEqual(connecting.finish(60)[0], 0)
        took = time.monotonic() - began
        rig.reload(2, UNLOAD)
        print(f"guests: a connection that was being made failed {took:.1f} s after another engine served", flush=True)
        rig.reload(1, UNLOAD)
        rig.ping()

    def start_many(self):
        rig = self.rig
        return [rig.spawn(1, "sh", "-c", f"{MANY} 20000 2>&1 | tee /tmp/many"),
                rig.spawn(2, "sh", "-c", f"{MANY} 20000 {rig.address_of(1)} 2>&1 | tee /tmp/many")]

    def tearDown(self):
        for vm in 1, 2:
            self.rig.shell(vm, "! dmesg | grep -E 'BUG|WARNING|Oops|use-after-free'")


if __name__ == "__main__":
    unittest.main()
