"""The service manager's watchdog: it hears of a daemon whose worker turns, and a worker that hangs costs its engine."""

import contextlib
import json
import os
import shutil
import signal
import socket
import time
import unittest

from held import Held, worker_of
from rig import BIN, PATIENCE_S, DaemonTest, children_of, wait_for
from vmm import attach

LIMIT_S = 6  # the keeper is to tell the service manager within it
SIGN = b"WATCHDOG=1"


class Watchdog(DaemonTest):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "paravaned"
        shutil.copy(BIN / "paravaned", self.program)
        self.program.chmod(0o755)
        self.folder.chmod(0o755)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(str(self.folder / "notify"))

    def start(self, limit_s=LIMIT_S, pid=None):
        more = {"WATCHDOG_USEC": str(limit_s * 1_000_000)} if limit_s else {}
        if pid:
            more["WATCHDOG_PID"] = str(pid)
        daemon = self.spawn("unshare", "--net", "--", self.program, "--config", self.config,
                            env={**os.environ, "NOTIFY_SOCKET": str(self.folder / "notify"), **more})
        wait_for(lambda: daemon.poll() is not None or self.cli("status", check=False).returncode == 0, "the daemon to answer")
        self.assertIsNone(daemon.poll(), self.log_text())
        self.heard()
        return daemon

    def heard(self):
        """What has come since."""
        words = []
        self.manager.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                words.append(self.manager.recv(4096))
        return words

    def signs_of(self, seconds):
        """When each came, in seconds from now on."""
        began, came = time.monotonic(), []
        while (left := began + seconds - time.monotonic()) > 0:
            self.manager.settimeout(left)
            try:
                if self.manager.recv(4096) == SIGN:
                    came.append(time.monotonic() - began)
            except TimeoutError:
                break
        return came

    def wait_sign(self):
        self.manager.settimeout(PATIENCE_S)
        while self.manager.recv(4096) != SIGN:
            pass

    def next_engine(self, daemon, engine):
        return wait_for(lambda: next((pid for pid in children_of(daemon.pid) if pid != engine), None), "another engine")

    def test_it_hears_of_a_worker_with_nothing_to_do(self):
        daemon = self.start()
        came = self.signs_of(2 * LIMIT_S)
        self.assertIn(len(came), (5, 6, 7), came)
        engine = self.engine(daemon)
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            self.assertTrue(self.signs_of(LIMIT_S / 2))
            self.assertTrue(vmm.answers())
        self.assertEqual(self.engine(daemon), engine)
        self.assertEqual(self.stop(daemon), 0)

    def test_without_a_watchdog_it_hears_nothing(self):
        for options in ({"limit_s": 0}, {"pid": 1}):  # the second: of another process
            daemon = self.start(**options)
            engine = self.engine(daemon)
            os.kill(engine, signal.SIGSTOP)
            self.assertEqual(self.signs_of(LIMIT_S + 1), [])
            os.kill(engine, signal.SIGCONT)
            self.cli("vm", "list")
            self.assertEqual(self.engine(daemon), engine)
            self.assertEqual(self.stop(daemon), 0)

    def test_a_short_hold_costs_nothing(self):
        daemon = self.start()
        engine = self.engine(daemon)
        for _ in range(2):
            self.wait_sign()
            os.kill(engine, signal.SIGSTOP)
            time.sleep(LIMIT_S / 2)
            os.kill(engine, signal.SIGCONT)
        self.wait_sign()
        self.assertEqual(self.engine(daemon), engine)
        # The whole daemon, for as long as it takes.
        os.kill(daemon.pid, signal.SIGSTOP)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(LIMIT_S + 1)
        os.kill(daemon.pid, signal.SIGCONT)
        time.sleep(0.3)
        os.kill(engine, signal.SIGCONT)
        self.heard()
        self.wait_sign()
        self.assertEqual(self.engine(daemon), engine)

    def test_an_engine_that_hangs_is_replaced_under_its_vms(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            engine = self.engine(daemon)
            self.wait_sign()
            began = time.monotonic()
            os.kill(engine, signal.SIGSTOP)
            self.wait_sign()
            held = time.monotonic() - began
            self.assertLess(held, LIMIT_S, "the service manager would have ended the daemon")
            self.assertGreater(held, LIMIT_S / 2)
            self.wait_log("the engine hangs: its worker has given no sign for 3 s more than it may")
            self.wait_log("a new engine serves, since the one before it hung, and was killed")
            self.assertNotEqual(self.next_engine(daemon, engine), engine)
            self.assertTrue(vmm.answers(), "the VMM was disconnected")
        self.assertIn("daemon.recovered", [event["type"] for event in json.loads(self.cli("events", "--formatter=json").stdout)])
        self.heard()
        self.assertGreaterEqual(len(self.signs_of(LIMIT_S)), 2, "of the new engine's worker")
        self.assertEqual(self.stop(daemon), 0)

    def test_a_heir_that_hangs_costs_neither_engine(self):
        daemon = self.start()
        engine = self.engine(daemon)
        new = self.folder / "new"
        new.write_text("#!/bin/sh\nexec sleep 1000\n")
        new.chmod(0o755)
        new.rename(self.program)
        self.heard()
        self.assertIn("was not ready after 10 s", self.refused(1, "daemon", "upgrade"))
        self.assertGreaterEqual(self.heard().count(SIGN), 4)
        self.assertGreaterEqual(len(self.signs_of(LIMIT_S)), 2)
        self.assertEqual(children_of(daemon.pid), [engine])

    def test_an_engine_that_took_over_is_watched(self):
        daemon = self.start()
        old = self.engine(daemon)
        self.assertEqual(json.loads(self.cli("daemon", "upgrade", "--formatter=json").stdout)["state"], "done")
        new = self.engine(daemon)
        self.assertNotEqual(new, old)
        self.heard()
        self.assertGreaterEqual(len(self.signs_of(LIMIT_S)), 2)
        os.kill(new, signal.SIGSTOP)
        self.next_engine(daemon, new)
        self.wait_log("a new engine serves")

    @unittest.skipIf(os.geteuid() != 0, "only root may hold another user's thread")
    def test_a_control_thread_that_is_held_alone_is_not_the_workers(self):
        """A disk that stalls holds whoever asks for something, and no VM."""
        daemon = self.start()
        engine = self.engine(daemon)
        self.wait_sign()
        with Held(engine):  # its first thread
            self.assertGreaterEqual(len(self.signs_of(LIMIT_S + 1)), 3)
        self.cli("vm", "list")
        self.assertEqual(self.engine(daemon), engine)

    @unittest.skipIf(os.geteuid() != 0, "only root may hold another user's thread")
    def test_a_worker_that_is_held_alone_is_noticed(self):
        daemon = self.start()
        engine = self.engine(daemon)
        self.wait_sign()
        with Held(worker_of(engine)) as held:
            self.assertEqual([when for when in self.signs_of(LIMIT_S / 2 + 1) if when < 1.5], [])
            held.wait_end()
        self.wait_log("a new engine serves, since the one before it hung, and was killed")
        self.assertNotEqual(self.engine(daemon), engine)


if __name__ == "__main__":
    unittest.main()
