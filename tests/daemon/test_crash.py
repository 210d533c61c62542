"""The engine is killed, or the holder, and the daemon goes on."""

import json
import os
import signal
import time
import unittest

from rig import PATIENCE_S, DaemonTest, children_of, holder_of, wait_for
from vmm import attach

MOST_RECOVERIES = 8  # in a row (keeper/succession.h)


class Crash(DaemonTest):
    def kill(self, daemon, number=signal.SIGKILL):
        """Returns the next engine."""
        before = self.engine(daemon)
        os.kill(before, number)

        def next_engine():
            found = [pid for pid in children_of(daemon.pid) if pid != before]
            return found[0] if found else None
        return wait_for(next_engine, "another engine")

    def events(self):
        return [event["type"] for event in json.loads(self.cli("events", "--formatter=json").stdout)]

    def wait_served(self, times):
        wait_for(lambda: self.log_text().count("a new engine serves") == times, "the new engine to serve")

    def test_the_daemon_goes_on_with_what_it_had(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        self.cli("vds", "create", "lab")
        with attach(self.vms / "db1.sock") as vmm:
            self.kill(daemon, signal.SIGSEGV)
            self.wait_served(1)
            self.assertEqual([row["state"] for row in self.vm_rows()], ["attached"])
            self.assertTrue(vmm.answers(), "the VMM was disconnected")
            self.assertIn("lab", self.cli("vds", "list").stdout)
            self.assertIn("daemon.recovered", self.events())
            self.assertIn("the one before it was killed by signal 11 (SEGV)", self.log_text())
        wait_for(lambda: self.vm_rows()[0]["state"] == "detached", "the end of the VMM to be seen")
        self.cli("vm", "add", "db2")
        with attach(self.vms / "db1.sock"), attach(self.vms / "db2.sock"):
            pass
        self.assertEqual(self.stop(daemon), 0)
        self.assertFalse(self.api.exists())
        self.assertEqual(list(self.vms.glob("*.sock")), [])

    def test_clients_that_come_meanwhile_wait(self):
        daemon = self.start()
        engine = self.engine(daemon)
        for _ in range(5):
            os.kill(engine, signal.SIGKILL)
            self.cli("vm", "list")
            engine = wait_for(lambda engine=engine: next((pid for pid in children_of(daemon.pid) if pid != engine), None), "another engine")

    def test_engines_that_end_in_a_row_end_the_daemon(self):
        daemon = self.start()
        for _ in range(MOST_RECOVERIES):
            self.kill(daemon)
        os.kill(self.engine(daemon), signal.SIGKILL)
        self.assertEqual(daemon.wait(PATIENCE_S), 1)
        self.assertIn("engines in a row have ended; giving up", self.log_text())

    def test_a_holder_that_ends_is_replaced(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            os.kill(holder_of(daemon.pid), signal.SIGKILL)
            self.wait_log("the holder was killed by signal 9 (KILL); it is started again")
            time.sleep(0.5)  # the engine puts everything into its hands
            self.kill(daemon)
            self.wait_served(1)
            self.assertTrue(vmm.answers())

    def test_without_a_holder_the_daemon_goes_on_without_vmms(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock"):
            for pid in holder_of(daemon.pid), self.engine(daemon):
                os.kill(pid, signal.SIGKILL)
            self.wait_served(1)
        self.assertEqual([row["state"] for row in self.vm_rows()], ["detached"])
        with attach(self.vms / "db1.sock"):
            self.assertEqual([row["state"] for row in self.vm_rows()], ["attached"])

    def test_a_daemon_that_is_stopped_stays_stopped(self):
        daemon = self.start()
        self.kill(daemon)
        self.wait_served(1)
        self.assertEqual(self.stop(daemon), 0, self.log_text())


if __name__ == "__main__":
    unittest.main()
