"""A guest whose requests end each engine is cut off after three; the other guest goes on."""
import json
import pathlib
import signal
import unittest

from crash_rig import CrashRig
from rig import wait_for
from watched_worker import RECVMSG, WatchedWorker, socket_of

MOST_DEATHS = 3  # of engines, in the turns of a VM (worker/vm_port_state.cc)
PATIENCE_S = 30
# Each time its driver asks the device, which is a message of its VMM's.
ASKS = "while :; do ibv_devinfo; sleep 0.2; done >/dev/null 2>&1"


class Poison(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = CrashRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2)

    def end_engine(self, number):
        """In the turn of vm1, as it has a request of its VMM."""
        rig = self.rig
        before = rig.engine()
        heard = socket_of(int(before.name), rig.folder / "vms" / "vm1.sock")
        worker = WatchedWorker(int(before.name))
        self.assertTrue(worker.stop_after(lambda call, words, result: call == RECVMSG and words[0] == heard and result > 0, PATIENCE_S),
                        "vm1 has asked for nothing")
        worker.end_by(number)
        rig.wait_another(before)

    def events(self, kind):
        return [event for event in json.loads(self.rig.cli("events", "--formatter=json").stdout) if event["type"] == kind]

    def test_1_kills_from_outside_are_no_guests_fault(self):
        asks = self.rig.spawn(1, "sh", "-c", ASKS)
        self.addCleanup(asks.end)
        for _ in range(MOST_DEATHS):
            self.end_engine(signal.SIGKILL)
        self.assertEqual(self.rig.states(), ["lost"] * 2)
        asks.end()
        self.rig.shell(1, "pkill -f '[w]hile :' || true")
        for vm in 1, 2:
            self.rig.reload(vm)
        self.rig.ping()

    def test_2_three_crashes_cut_it_off_and_nothing_else(self):
        rig = self.rig
        vmm = rig.adapters()[0]["pid"]
        asks = rig.spawn(1, "sh", "-c", ASKS)
        self.addCleanup(asks.end)
        for deaths in range(1, MOST_DEATHS + 1):
            self.assertEqual(self.events("adapter.failed"), [])
            self.end_engine(signal.SIGSEGV)
            rig.reload(2)
            self.assertEqual(rig.states()[1], "active", f"after {deaths}")
        failed, = wait_for("vm1 to be cut off", lambda: self.events("adapter.failed"), 10)
        self.assertEqual(failed["fields"]["vm"], "vm1")
        self.assertIn("three engines have ended in its turns", failed["fields"]["reason"])
        self.assertIn("vm1: its VMM is disconnected: three engines have ended in its turns", rig.daemon_log())
        self.assertEqual(rig.states(), ["detached", "active"])
        # Its VMM and the rest of the guest go on, and what it asks of its adapter ends no engine.
        engine = rig.engine()
        asks.end()
        rig.shell(1, "pkill -f '[w]hile :' || true; uptime")
        self.assertNotEqual(rig.spawn(1, "timeout", "20", "ibv_devinfo").finish(40)[0], 0)
        self.assertTrue(pathlib.Path(f"/proc/{vmm}").exists())
        server = rig.spawn(2, "rping", "-s", "-C", "100", "-S", "65000", "-V")
        rig.wait_cm_listening(2, 7174)
        rig.spawn(2, "rping", "-c", "-a", rig.address_of(2), "-C", "100", "-S", "65000", "-V").expect_success(60)
        server.expect_success(30)
        self.assertEqual(rig.engine(), engine)
        self.assertEqual(len(self.events("adapter.failed")), 1)


if __name__ == "__main__":
    unittest.main()
