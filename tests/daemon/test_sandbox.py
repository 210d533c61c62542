"""What is left of the engine's rights, and what becomes of the two processes."""

import os
import pathlib
import pwd
import re
import signal
import subprocess
import unittest

from rig import ENGINE_USER, PATIENCE_S, DaemonTest, is_alive, wait_for
from vmm import attach

NOTHING = "0" * 16  # as /proc/PID/status shows a set of capabilities
# Sanitizers make system calls of their own, so their builds filter none.
SECCOMP = "0" if os.environ.get("PARAVANE_SANITIZE") else "2"


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


class Sandbox(DaemonTest):
    def test_engine_has_no_rights(self):
        daemon = self.start()
        engine = self.engine(daemon)
        for task in os.listdir(f"/proc/{engine}/task"):  # threads have rights of their own
            status = status_of(f"{engine}/task/{task}")
            for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
                self.assertEqual(status[kind], NOTHING, kind)
            self.assertEqual(status["NoNewPrivs"], "1")
            if os.geteuid() == 0:
                user = pwd.getpwnam(ENGINE_USER)
                self.assertEqual(status["CapBnd"], NOTHING)
                self.assertEqual(status["Uid"].split(), [str(user.pw_uid)] * 4)
                self.assertEqual(status["Gid"].split(), [str(user.pw_gid)] * 4)
                self.assertEqual(status["Groups"], "")

    def test_engine_has_filters_of_system_calls(self):
        """The second one, when it serves: no more connections."""
        engine = self.engine(self.start())
        for task in os.listdir(f"/proc/{engine}/task"):
            status = status_of(f"{engine}/task/{task}")
            self.assertEqual(status["Seccomp"], SECCOMP)
            self.assertEqual(status["Seccomp_filters"], SECCOMP)

    def test_filter_can_be_left_out(self):
        self.write_config('system_calls = "all"\n')
        self.assertEqual(status_of(self.engine(self.start()))["Seccomp"], "0")

    @unittest.skipUnless(os.geteuid() == 0, "only root can choose groups")
    def test_engine_is_in_the_groups_of_its_sockets(self):
        self.config.write_text(self.config.read_text().replace("[vfio_user]", '[vfio_user]\ngroup = "daemon"'))
        daemon = self.start()
        self.cli("vm", "add", "db1")
        self.assertEqual((self.vms / "db1.sock").group(), "daemon")
        self.assertEqual(status_of(self.engine(daemon))["Groups"], "1")

    @unittest.skipUnless(os.geteuid() == 0, "only root can choose a user")
    def test_user_that_does_not_exist_is_named(self):
        self.config.write_text(self.config.read_text().replace(ENGINE_USER, "no-such-user"))
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn('sandbox.user: user "no-such-user" does not exist', complaint)
        self.assertIn("useradd", complaint)

    @unittest.skipUnless(os.geteuid() == 0, "only root can choose a user")
    def test_root_is_no_user_for_the_engine(self):
        self.config.write_text(self.config.read_text().replace(ENGINE_USER, "root"))
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn('sandbox.user: "root" is root', complaint)

    def test_keeper_has_no_door(self):
        """Nothing that is not the operator's reaches the process that has rights."""
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock"):
            held = pathlib.Path(f"/proc/{daemon.pid}/fd")
            sockets = [fd for fd in held.iterdir() if os.readlink(fd).startswith("socket:")]
            self.assertEqual(len(sockets), 2)  # the lines to the engine and to the holder

    def test_engine_ends_with_the_keeper(self):
        daemon = self.start()
        engine = self.engine(daemon)
        daemon.kill()
        daemon.wait(PATIENCE_S)
        wait_for(lambda: not is_alive(engine), "the engine's end")

    def test_keeper_says_how_the_engine_ended(self):
        daemon = self.start()
        os.kill(self.engine(daemon), signal.SIGALRM)
        self.wait_log("the engine was killed by signal 14 (ALRM)")

    def test_keeper_says_so_of_a_signal_without_a_name(self):
        daemon = self.start()
        os.kill(self.engine(daemon), signal.SIGRTMIN + 1)
        self.wait_log(f"the engine was killed by signal {signal.SIGRTMIN + 1} (RT)")

    def test_keeper_ends_though_its_parent_ignores_children(self):
        daemon = self.start(prepare=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.cli("daemon", "stop")
        self.assertEqual(daemon.wait(PATIENCE_S), 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root has capabilities to lose")
    def test_keeper_without_cap_kill_stops_the_engine(self):
        daemon = self.start("setpriv", "--bounding-set=-kill")
        self.assertEqual(self.stop(daemon), 0, self.log_text())

    def test_descriptors_that_were_handed_down_are_closed(self):
        with open("/etc/passwd", encoding="utf-8") as handed_down:
            number = handed_down.fileno()
            daemon = self.start(prepare=lambda: os.set_inheritable(number, True), close_fds=False)
            for pid in (daemon.pid, self.engine(daemon)):
                links = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()]
                self.assertNotIn("/etc/passwd", links)

    def test_nothing_takes_the_place_of_a_closed_stream(self):
        """The log is written to descriptor 2, whatever that is."""
        daemon = self.start(prepare=lambda: os.closerange(0, 3))
        for pid in (daemon.pid, self.engine(daemon)):
            for number in range(3):
                self.assertEqual(os.readlink(f"/proc/{pid}/fd/{number}"), "/dev/null")

    def test_interrupt_from_a_terminal_reaches_both_and_ends_them_once(self):
        daemon = self.start()
        for pid in (self.engine(daemon), daemon.pid):
            os.kill(pid, signal.SIGINT)
        self.assertEqual(daemon.wait(PATIENCE_S), 0)
        self.assertEqual(len(re.findall("received signal SIGINT, stopping", self.log_text())), 1)


if __name__ == "__main__":
    unittest.main()
