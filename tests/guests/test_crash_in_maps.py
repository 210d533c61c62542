"""The engine is killed while QEMU shows it the memory of a guest that is reset, and takes it away: in the middle of one of these requests."""
import signal
import unittest
from concurrent.futures import ThreadPoolExecutor

from crash_rig import CrashRig
from rig import wait_for
from watched_worker import DMA_MAP, DMA_UNMAP, RECVMSG, WatchedWorker, socket_of

KILLS = 1, 2, 4, 7  # after so many requests; fewer than those that end the daemon (keeper/succession.h)
PATIENCE_S = 20


class CrashedInMaps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = CrashRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(1)

    def test_qemu_stays_connected_and_the_guest_boots(self):
        rig = self.rig
        vmm, = [adapter["pid"] for adapter in rig.adapters()]
        for number in KILLS:
            before = rig.engine()
            heard = socket_of(int(before.name), rig.folder / "vms" / "vm1.sock")
            worker = WatchedWorker(int(before.name))
            with ThreadPoolExecutor() as beside:
                boots = beside.submit(rig.lab, "reboot", "--hard", "1")

                def is_wanted(call, words, result, heard=heard, worker=worker):
                    return call == RECVMSG and words[0] == heard and result > 0 and worker.command_of(words[1]) in (DMA_MAP, DMA_UNMAP)
                self.assertTrue(worker.stop_after(is_wanted, PATIENCE_S, number), f"fewer than {number}")
                worker.end_by(signal.SIGKILL)
                rig.wait_another(before)
                boots.result()
            wait_for("the adapter", lambda: rig.states() == ["active"], 60)
            self.assertEqual([adapter["pid"] for adapter in rig.adapters()], [vmm], "the VMM was disconnected")
            rig.shell(1, "ibv_devinfo | grep -q PORT_ACTIVE && ! dmesg | grep -E 'BUG|WARNING|Oops'")
        print(f"guests: engines were killed as they had read the {KILLS} of a reset's DMA maps and unmaps", flush=True)
        server = rig.spawn(1, "rping", "-s", "-C", "100", "-S", "65000", "-V")
        rig.wait_cm_listening(1, 7174)
        rig.spawn(1, "rping", "-c", "-a", rig.address_of(1), "-C", "100", "-S", "65000", "-V").expect_success(60)
        server.expect_success(30)


if __name__ == "__main__":
    unittest.main()
