"""Start, stop, restart, and what must not start."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from rig import BIN, PATIENCE_S, DaemonTest, wait_for
from vmm import attach


def switches(pid):
    """Context switches of all threads of a process."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as status:
            total += sum(int(n) for n in re.findall(r"ctxt_switches:\s+(\d+)", status.read()))
    return total


class Life(DaemonTest):
    def test_what_was_added_survives_a_restart(self):
        daemon = self.start()
        self.cli("vm", "add", "db1", "--mac", "02:50:56:00:00:01", "--limit", "queue_pairs=64")
        self.cli("vm", "add", "db2")
        before = self.vm_rows()
        self.assertEqual(self.stop(daemon), 0, self.log_text())
        self.assertFalse(self.api.exists())
        self.start()
        self.assertEqual(self.vm_rows(), before)

    def test_what_was_added_survives_a_kill(self):
        daemon = self.start()
        for number in range(10):
            self.cli("vm", "add", f"vm{number}")
        self.stop(daemon, signal.SIGKILL)
        self.start()  # replaces the sockets that were left behind
        self.assertEqual(self.vm_names(), [f"vm{n}" for n in range(10)])
        attach(self.vms / "vm9.sock").socket.close()

    def test_stop_names_attached_vms_and_refuses(self):
        daemon = self.start()
        for name in ("a", "b", "c"):
            self.cli("vm", "add", name)
        with attach(self.vms / "a.sock"), attach(self.vms / "c.sock"):
            complaint = self.refused(4, "daemon", "stop")
            self.assertIn("2 VMs are attached: a, c", complaint)
            self.assertIsNone(daemon.poll())
            self.assertIn("these VMs have lost their adapters: a, c\n", self.cli("daemon", "stop", "--force").stderr)
            self.assertEqual(daemon.wait(PATIENCE_S), 0)

    def test_stop_ends_the_daemon(self):
        daemon = self.start()
        self.cli("daemon", "stop")
        self.assertEqual(os.waitid(os.P_PID, daemon.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT).si_status, 0)
        self.assertIn("does not answer", self.refused(3, "status"))

    def test_stop_says_so_when_the_daemon_does_not_end(self):
        daemon = self.start()
        os.kill(daemon.pid, signal.SIGSTOP)  # the keeper; its engine answers and ends
        try:
            self.assertIn(f"process {daemon.pid} is still running after 10 s", self.refused(1, "daemon", "stop"))
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        self.assertEqual(daemon.wait(PATIENCE_S), 0)

    def test_sigterm_names_attached_vms_in_the_log(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            self.assertEqual(self.stop(daemon), 0)
            self.assertTrue(vmm.is_closed())
        self.assertRegex(self.log_text(), r"stopping while VMs are attached.*: db1\n")

    def test_service_manager_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.settimeout(PATIENCE_S)
            daemon = self.start(env={"NOTIFY_SOCKET": str(self.folder / "notify")})
            self.assertEqual(manager.recv(4096), b"READY=1\nSTATUS=0 VMs")
            self.cli("vm", "add", "db1")
            self.assertEqual(manager.recv(4096), b"STATUS=1 VM")
            self.stop(daemon)
            self.assertIn(b"STOPPING=1", manager.recv(4096))

    def test_log_level_is_read_again(self):
        daemon = self.start()
        self.write_config('[log]\nlevel = "error"\n')
        daemon.send_signal(signal.SIGHUP)
        self.cli("status")
        self.write_config("[lug]\n")
        daemon.send_signal(signal.SIGHUP)
        wait_for(lambda: "cannot reload the configuration" in self.log_text(), "a complaint")
        self.assertIn(f"{self.config}:9: lug is not a known setting", self.log_text())
        self.assertIsNone(daemon.poll())

    def wait_quiet(self, pid):
        """Until it has done what it had to: on a busy machine that takes its time."""
        def is_quiet():
            before = switches(pid)
            time.sleep(0.5)
            return switches(pid) == before
        wait_for(is_quiet, "the daemon to have nothing to do")

    def test_idle_vms_cost_no_wake_ups(self):
        daemon = self.start()
        vmms = []
        for number in range(32):
            self.cli("vm", "add", f"vm{number}")
            vmms.append(attach(self.vms / f"vm{number}.sock"))
        engine = self.engine(daemon)
        self.wait_quiet(engine)
        before = switches(engine)
        time.sleep(3)
        self.assertEqual(switches(engine), before)
        for vmm in vmms:
            vmm.socket.close()


class NoStart(DaemonTest):
    def test_broken_configuration_is_named_with_its_line(self):
        for text, place, reason in (("[log]\nlevel = 7\n", 10, "log.level must be a quoted string"),
                                    ("[log]\nlevl = \"info\"\n", 10, "log.levl is not a known setting"),
                                    ("[log\n", 9, "")):
            self.write_config(text)
            status, complaint = self.run_daemon()
            self.assertEqual(status, 3)
            self.assertIn(f"{self.config}:{place}: {reason}", complaint)
            status, again = self.run_daemon(BIN / "paravaned", "--check-config", "--config",
                                            self.config)
            self.assertEqual((status, again), (3, complaint))

    def test_good_configuration_is_said_to_be_good(self):
        status, text = self.run_daemon(BIN / "paravaned", "--check-config", "--config", self.config)
        self.assertEqual((status, text), (0, f"{self.config}: ok\n"))

    def test_missing_directories_are_named(self):
        self.vms.rmdir()
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn(f"vfio_user.socket_directory {self.vms} does not exist", complaint)
        self.assertIn("install -d", complaint)
        self.make_directory(self.vms)
        shutil.rmtree(self.state)
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn(f"state.directory {self.state} does not exist", complaint)
        self.assertEqual(list(self.vms.glob("*.sock")), [])

    def test_directory_that_is_a_file_is_named(self):
        self.vms.rmdir()
        self.vms.write_text("")
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn("is not a directory", complaint)

    def test_second_daemon_is_refused_and_harms_nobody(self):
        self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock"):
            status, complaint = self.run_daemon()
            self.assertEqual(status, 1)
            self.assertIn(f"another paravaned is using {self.state}", complaint)
            self.assertEqual(self.vm_rows()[0]["state"], "attached")

    def test_second_daemon_on_the_same_sockets_is_refused(self):
        self.start()
        other = self.state.with_name("other")
        self.make_directory(other)
        self.config.write_text(self.config.read_text().replace(str(self.state), str(other)))
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn(f"another paravaned is using {self.vms}", complaint)

    def test_socket_of_another_program_is_left_alone(self):
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(self.api))
            self.api.chmod(0o666)
            other.listen()
            status, complaint = self.run_daemon()
            self.assertEqual(status, 1)
            self.assertIn(f"another program is listening on api.socket {self.api}", complaint)
            self.assertTrue(self.api.is_socket())

    def test_file_in_place_of_the_socket_is_left_alone(self):
        self.api.write_text("precious")
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn(str(self.api), complaint)
        self.assertEqual(self.api.read_text(), "precious")

    def test_damaged_state_is_refused_and_kept(self):
        (self.state / "paravane.db").write_bytes(b"x" * 8192)
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn("paravane.db", complaint)
        self.assertIn("damaged", complaint)
        self.assertEqual((self.state / "paravane.db").read_bytes(), b"x" * 8192)

    def test_group_that_does_not_exist_is_named(self):
        self.config.write_text(self.config.read_text().replace(
            "[state]", 'group = "no-such-group"\n[state]'))
        status, complaint = self.run_daemon()
        self.assertEqual(status, 1)
        self.assertIn('api.group: group "no-such-group" does not exist', complaint)

    def test_wrong_command_line_is_status_2(self):
        status, complaint = self.run_daemon(BIN / "paravaned", "--config")
        self.assertEqual(status, 2)
        self.assertIn("--config", complaint)
        done = subprocess.run([BIN / "paravaned", "--help"], capture_output=True, text=True,
                              check=True, timeout=PATIENCE_S)
        self.assertIn("Exit status:", done.stdout)


if __name__ == "__main__":
    unittest.main()
