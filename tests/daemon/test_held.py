"""The worker's thread is held for longer than a change waits for it: the change is refused and
was not made, or is made as a whole once the worker goes on."""

import os
import time
import unittest

from held import Held, worker_of
from rig import DaemonTest, wait_for


@unittest.skipIf(os.geteuid() != 0, "only root may hold another user's thread")
class HeldWorker(DaemonTest):
    def worker(self, daemon):
        return worker_of(self.engine(daemon))

    def metrics(self):
        return self.http(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").decode()

    def sockets(self):
        return sorted(path.name for path in self.vms.glob("*.sock"))

    def assert_whole(self, names):
        """Those VMs and no others, each with its sockets, and each can be taken and given again."""
        wait_for(lambda: self.cli("status", check=False).returncode == 0, "the worker to go on")
        self.assertEqual(self.vm_names(), names)
        self.assertEqual(self.sockets(), [f"{name}.sock" for name in names])
        for row in self.vm_rows():
            self.assertEqual((row["state"], row["problem"]), ("detached", ""), row)

    def test_what_is_refused_was_not_done(self):
        worker = self.worker(self.start())
        self.cli("vm", "add", "good")
        began = time.monotonic()
        with Held(worker):
            for words in (("vm", "add", "ghost"), ("vm", "remove", "good")):
                complaint = self.refused(1, *words)
                self.assertIn("did not respond in time", complaint)
                self.assertNotIn("what was done", complaint)
        self.assertGreater(time.monotonic() - began, 5)
        self.assert_whole(["good"])
        self.cli("vm", "add", "ghost")
        self.cli("vm", "remove", "good")
        self.assert_whole(["ghost"])

    def test_it_is_told_and_told_again_when_it_goes_on(self):
        worker = self.worker(self.start())
        self.cli("vm", "add", "good")
        self.assertIn("paravane_worker_held 0", self.metrics())
        with Held(worker):
            self.refused(1, "vm", "add", "ghost")
            wait_for(lambda: "worker.held" in self.cli("events").stdout, "it to be told")
            self.assertIn("paravane_worker_held 1", self.metrics())
            wait_for(lambda: "the worker has been stuck for 5 s: RDMA of all VMs is stalled" in self.log_text(), "its line")
        wait_for(lambda: "worker.turns" in self.cli("events").stdout, "it to be told")
        wait_for(lambda: "the worker is running again, after " in self.log_text(), "its line")
        self.assertIn("paravane_worker_held 0", self.metrics())
        self.assertIn("paravane_worker_holds_total 1", self.metrics())
        self.assert_whole(["good"])

    def test_an_adapter_that_is_taken_out_meanwhile_is_out_afterwards(self):
        worker = self.worker(self.start())
        self.cli("vm", "add", "good")
        with Held(worker):
            complaint = self.refused(1, "vm", "adapter", "disconnect", "good")
            self.assertIn("vm good was changed, but the worker did not respond in time", complaint)
        self.assert_whole(["good"])
        self.assertIn("Connected: false", self.cli("vm", "show", "good").stdout)
