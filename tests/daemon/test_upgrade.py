"""The engine is replaced while the daemon runs, or goes on as before if it cannot be."""

import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import unittest

from held import HeldWhenThreadsBegin
from rig import BIN, PATIENCE_S, RELEASER, DaemonTest, all_children_of, children_of, is_alive, name_of, wait_for
from vmm import attach

POSTINST = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "debian" / "paravane.postinst"
APART_S = 10  # between the beginnings of two upgrades (keeper/succession.h)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Upgrade(DaemonTest):
    def setUp(self):
        super().setUp()
        # A program of the test's own, which it may replace.
        self.program = self.folder / "paravaned"
        shutil.copy(BIN / "paravaned", self.program)
        self.program.chmod(0o755)
        self.folder.chmod(0o755)

    def start(self, *before, env=None, prepare=None, **more):
        daemon = self.spawn("unshare", "--net", "--", *before, self.program, "--config", self.config,
                            env={**os.environ, **(env or {})}, preexec_fn=prepare, **more)
        wait_for(lambda: daemon.poll() is not None or self.cli("status", check=False).returncode == 0, "the daemon to answer")
        self.assertIsNone(daemon.poll(), self.log_text())
        return daemon

    def replace_program(self, text, mode=0o755):
        """As a package does: another file with the same name."""
        new = self.folder / "new"
        new.write_text(text)
        new.chmod(mode)
        new.rename(self.program)

    def install(self, program):
        new = self.folder / "new"
        shutil.copy(program, new)
        new.chmod(0o755)
        new.rename(self.program)

    def bring_program_back(self):
        self.install(BIN / "paravaned")

    def upgrade_status(self):
        return json.loads(self.cli("status", "--formatter=json").stdout)["upgrade"]

    def upgrade(self):
        return json.loads(self.cli("daemon", "upgrade", "--formatter=json").stdout)

    def fails(self, why):
        complaint = self.refused(1, "daemon", "upgrade")
        self.assertIn(why, complaint)
        self.assertEqual(self.upgrade_status()["state"], "failed")
        return complaint

    def begin(self):
        """Asks for an upgrade, and returns its heir as soon as there is one."""
        daemon = self.processes[0]
        before = children_of(daemon.pid)
        self.cli("daemon", "upgrade", "--no-wait")

        def heir():
            new = [pid for pid in children_of(daemon.pid) if pid not in before]
            return new[0] if new else None
        return wait_for(heir, "a new engine", APART_S + 10)

    def wait_end(self, state):
        def has_ended():
            done = self.cli("status", "--formatter=json", check=False)
            if done.returncode != 0:
                return None
            upgrade = json.loads(done.stdout)["upgrade"]
            return upgrade if upgrade["state"] != "under_way" else None
        upgrade = wait_for(has_ended, "the end of the upgrade")
        self.assertEqual(upgrade["state"], state, f"{upgrade}\n{self.log_text()}")
        return upgrade


class Succeeds(Upgrade):
    def test_another_engine_serves(self):
        daemon = self.start()
        self.cli("vds", "create", "lab")
        old = self.engine(daemon)
        self.assertEqual(self.upgrade_status()["state"], "none")
        done = self.upgrade()
        self.assertEqual(done["state"], "done")
        self.assertLess(done["gap_ms"], 5000)
        self.assertNotEqual(self.engine(daemon), old)
        self.assertEqual(len(children_of(daemon.pid)), 1)
        self.assertFalse(is_alive(old))
        wait_for(lambda: RELEASER not in map(name_of, all_children_of(daemon.pid)), "the end of the process that released the engine's memory")
        self.assertEqual(self.upgrade_status(), done)
        self.assertIn("lab", self.cli("vds", "list").stdout)
        events = json.loads(self.cli("events", "--formatter=json").stdout)
        self.assertIn("daemon.upgraded", [event["type"] for event in events])
        self.cli("vm", "add", "db1")
        self.assertTrue((self.vms / "db1.sock").is_socket())
        self.assertEqual(self.stop(daemon), 0)
        self.assertFalse(self.api.exists())

    def test_a_replaced_file_is_what_is_started(self):
        daemon = self.start()
        old = self.program.stat().st_ino
        self.bring_program_back()
        self.upgrade()
        self.assertNotEqual(pathlib.Path(f"/proc/{self.engine(daemon)}/exe").stat().st_ino, old)

    def test_a_check_replaces_nothing(self):
        daemon = self.start()
        old = self.engine(daemon)
        checked = json.loads(self.cli("daemon", "upgrade", "--check", "--formatter=json").stdout)
        self.assertEqual((checked["state"], checked["from"]), ("checked", checked["to"]))
        self.assertEqual(children_of(daemon.pid), [old])

    def test_settings_are_those_of_the_start(self):
        daemon = self.start()
        self.write_config("[lug]\n")
        self.upgrade()
        self.write_config('[log]\nlevel = "debug"\n')
        daemon.send_signal(signal.SIGHUP)
        self.wait_log("log level set to debug")

    def test_the_service_manager_is_told_once(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.settimeout(PATIENCE_S)
            self.start(env={"NOTIFY_SOCKET": str(self.folder / "notify")})
            self.assertEqual(manager.recv(4096), b"READY=1\nSTATUS=0 VMs")
            self.upgrade()
            self.assertEqual(manager.recv(4096), b"STATUS=0 VMs")

    def test_no_request_of_the_api_is_lost(self):
        self.start()
        over = threading.Event()
        failures = []

        def ask():
            while not over.is_set():
                done = self.cli("vds", "list", check=False)
                if done.returncode != 0:
                    failures.append(done.stderr)
        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        try:
            self.assertEqual(self.upgrade()["state"], "done")
        finally:
            over.set()
            for asker in askers:
                asker.join()
        self.assertEqual(failures, [])

    def test_a_reader_of_events_goes_on(self):
        self.start()
        reader = subprocess.Popen([BIN / "paravane", "--socket", self.api, "events", "--follow"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(reader.stdout.close)
        self.addCleanup(reader.stderr.close)
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)
        self.upgrade()
        for line in reader.stdout:
            if "took over" in line:
                return
        self.fail(reader.stderr.read())

    def test_twenty_in_a_row(self):
        daemon = self.start()
        self.upgrade()
        time.sleep(1)  # the command's own connection is closed by then
        keeper, engine = descriptors(daemon.pid), descriptors(self.engine(daemon))
        for _ in range(int(os.environ.get("PARAVANE_UPGRADES", "3"))):
            self.assertEqual(self.upgrade()["state"], "done")
            self.cli("vm", "list")
        self.assertEqual(descriptors(daemon.pid), keeper)
        wait_for(lambda: descriptors(self.engine(daemon)) == engine, "no more descriptors than before")
        self.assertTrue(self.api.is_socket())
        self.assertEqual(self.stop(daemon), 0)


class Fails(Upgrade):
    def test_wrong_programs_are_named(self):
        daemon = self.start()
        engine = self.engine(daemon)
        for text, mode, why in (("", 0o755, f"cannot execute {self.program}: Exec format error"),
                                ("#!/bin/sh\nexit 0\n", 0o644, f"cannot execute {self.program}: Permission denied"),
                                ("#!/bin/sh\nexit 2\n", 0o755, f"{self.program} exited with status 2"),
                                ("#!/bin/sh\nkill -9 $$\n", 0o755, f"{self.program} was killed by signal 9")):
            self.replace_program(text, mode)
            self.fails(why)
            self.assertEqual(children_of(daemon.pid), [engine])
        self.program.unlink()
        self.fails(f"cannot execute {self.program}: No such file")
        self.bring_program_back()
        self.assertEqual(self.upgrade()["state"], "done")

    def test_a_program_that_says_nothing_is_ended(self):
        daemon = self.start()
        engine = self.engine(daemon)
        self.replace_program("#!/bin/sh\nexec sleep 1000\n")
        self.fails("was not ready after 10 s")
        self.assertEqual(children_of(daemon.pid), [engine])
        self.assertIn("daemon.upgrade_failed", self.cli("events").stdout)

    def test_an_heir_that_dies_changes_nothing(self):
        daemon = self.start()
        engine = self.engine(daemon)
        for wait_s in (0, 0.002, 0.005, 0.01, 0.015, 0.02):
            heir = self.begin()
            time.sleep(wait_s)
            os.kill(heir, signal.SIGKILL)

            def has_ended():
                done = self.cli("status", "--formatter=json", check=False)
                return done.returncode == 0 and json.loads(done.stdout)["upgrade"]["state"] != "under_way"
            wait_for(has_ended, "the end of the upgrade")
            if any(words in self.log_text() for words in ("after it had taken over", "the engine was killed by signal 9")):
                # The engine had ended, or was ending, at the kill: the heir's death is a crash.
                self.wait_log("a new engine serves")
                self.assertNotIn(self.engine(daemon), (engine, heir))
                self.cli("vm", "list")
                return
            self.assertEqual(children_of(daemon.pid), [engine], self.log_text())

    def test_held_processes(self):
        daemon = self.start()
        heir = self.begin()
        os.kill(heir, signal.SIGSTOP)
        status = self.wait_end("failed") if self.engine(daemon) != heir else None
        if status:
            self.assertIn("after", status["cause"])
        os.kill(self.engine(daemon), signal.SIGCONT)
        # The engine: it is told what was decided when it runs again.
        engine = self.engine(daemon)
        time.sleep(APART_S)
        self.begin()
        os.kill(engine, signal.SIGSTOP)
        time.sleep(6)
        for pid in children_of(daemon.pid):
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        wait_for(lambda: len(children_of(daemon.pid)) == 1, "one engine")
        self.cli("vm", "list")
        # The keeper.
        self.begin()
        os.kill(daemon.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(daemon.pid, signal.SIGCONT)
        self.wait_end("done")
        self.assertEqual(len(children_of(daemon.pid)), 1)

    def test_the_adapter_that_has_the_most_is_named_when_time_is_up(self):
        self.start()
        for name in ("db1", "web"):
            self.cli("vm", "add", name)
        with attach(self.vms / "web.sock") as web:
            # It begins a moment later, so that it can be held in time.
            self.replace_program(f'#!/bin/sh\nsleep 1\nexec {BIN / "paravaned"} "$@"\n')
            with HeldWhenThreadsBegin(self.begin()) as heir:
                heir.wait_held(lambda: "handing over to another engine" in self.log_text())
                heir.wait_end()
            cause = self.wait_end("failed")["cause"]
            self.assertRegex(cause, r"not done after 5 s; of all adapters web has the most to hand over, 0\.\d MiB$")
            self.assertTrue(web.answers())

    def test_a_daemon_that_is_stopped_meanwhile_stops(self):
        for wait_s in (0, 0.005, 0.015, 0.03):
            daemon = self.start()
            self.processes = [daemon]
            self.begin()
            time.sleep(wait_s)
            self.assertEqual(self.stop(daemon), 0, self.log_text())
            self.assertFalse(self.api.exists())

    def test_both_end_with_the_keeper(self):
        daemon = self.start()
        engine = self.engine(daemon)
        heir = self.begin()
        daemon.kill()
        daemon.wait(PATIENCE_S)
        wait_for(lambda: not is_alive(engine) and not is_alive(heir), "both engines to end")
        self.start()

    def test_one_at_a_time(self):
        self.start()
        self.replace_program("#!/bin/sh\nexec sleep 1000\n")
        self.begin()
        self.assertIn("an upgrade is under way", self.refused(1, "daemon", "upgrade"))

    def test_another_schema_needs_a_restart(self):
        self.start()
        with sqlite3.connect(self.state / "paravane.db") as store:
            store.execute("PRAGMA user_version=4")
        self.assertIn("schema 4", self.fails("Restart paravaned"))

    def test_a_vm_that_is_refused_is_named(self):
        daemon = self.start()
        old = self.engine(daemon)
        for name in ("db1", "web"):
            self.cli("vm", "add", name)
        with attach(self.vms / "db1.sock") as refused, attach(self.vms / "web.sock") as other:
            # The new engine makes another device than the one that the VMM has.
            with sqlite3.connect(self.state / "paravane.db") as store:
                spec = json.loads(store.execute("SELECT spec FROM vm WHERE name='db1'").fetchone()[0])
                spec["limits"]["contexts"] = 64
                store.execute("UPDATE vm SET spec=? WHERE name='db1'", (json.dumps(spec, separators=(",", ":")),))
            complaint = self.fails("vm db1, adapter 1: doorbell pages: not a file of this adapter's")
            self.assertIn("shut this VM down and upgrade again", complaint)
            self.assertEqual(self.engine(daemon), old)
            self.assertTrue(refused.answers() and other.answers())
        self.upgrade()
        self.assertNotEqual(self.engine(daemon), old)

    def test_by_hand_it_says_what_it_is_for(self):
        status, complaint = self.run_daemon(self.program, "--heir", "1", "--config", self.config)
        self.assertEqual(status, 2)
        self.assertIn("paravane daemon upgrade", complaint)
        self.assertNotIn("--heir", subprocess.run([self.program, "--help"], capture_output=True, text=True, check=True,
                                                  timeout=PATIENCE_S).stdout)


class AfterACrash(Upgrade):
    def test_the_program_that_ran_serves_if_the_one_on_disk_does_not(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            for text, said in ((None, f"cannot execute {self.program}: No such file or directory; the program that ran before is started instead"),
                               ("", "Exec format error"), ("#!/bin/sh\nexit 2\n", "exited with status 2")):
                if text is None:
                    self.program.unlink()
                else:
                    self.replace_program(text)
                engine = self.engine(daemon)
                os.kill(engine, signal.SIGKILL)
                wait_for(lambda old=engine: not is_alive(old) and self.cli("status", check=False).returncode == 0, "another engine")
                self.assertIn(said, self.log_text())
                self.assertTrue(vmm.answers())
            self.bring_program_back()
            self.assertEqual(self.upgrade()["state"], "done")


class ByPackage(Upgrade):
    """What the package does when it has installed another program: tests/packages installs it."""

    def configure(self, *paths):
        done = subprocess.run(["sh", POSTINST, "configure", "0.2.0-1"], capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                              env={"PATH": ":".join(map(str, [*paths, BIN, "/usr/bin", "/bin"])), "PARAVANE_SOCKET": str(self.api)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_the_daemon_changes_under_its_vms(self):
        daemon = self.start()
        old = self.engine(daemon)
        self.cli("vm", "add", "db1")
        self.assertEqual(self.configure(), "", "the program is the same")
        with attach(self.vms / "db1.sock") as vmm:
            self.bring_program_back()
            self.assertRegex(self.configure(), r"^paravane: paravaned changed from \S+ to \S+\. Running VMs stood still for \d+ ms\.\n$")
            self.assertNotEqual(self.engine(daemon), old)
            self.assertTrue(vmm.answers())
        self.assertEqual(self.configure(), "")

    def test_what_the_upgrade_warns_of_is_said(self):
        """Such as a keeper that could not be replaced."""
        self.start()
        warning = "paravane: the keeper was not replaced: it cannot be executed"
        warns = self.folder / "warns" / "paravane"
        warns.parent.mkdir()
        warns.write_text(f'#!/bin/sh\n{BIN}/paravane "$@" || exit\ncase "$*" in *upgrade) echo "{warning}" >&2 ;; esac\n')
        warns.chmod(0o755)
        self.bring_program_back()
        self.assertRegex(self.configure(warns.parent), rf"^paravane: paravaned changed from .* ms\.\n{warning}\n$")

    def test_a_daemon_that_cannot_change_goes_on(self):
        daemon = self.start()
        old = self.engine(daemon)
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock"):
            self.replace_program("#!/bin/sh\nexit 2\n")
            said = self.configure()
            self.assertIn(f"{self.program} exited with status 2", said)
            self.assertIn(f"(process {old}) still runs the program from before this upgrade", said)
            self.assertIn("if it ended now: db1\n", said)
            self.assertIn("paravane daemon stop && systemctl start paravaned", said)
        self.assertEqual(self.engine(daemon), old)

    def test_a_policy_that_forbids_restarts_is_kept(self):
        daemon = self.start()
        old = self.engine(daemon)
        policy = self.folder / "policy" / "policy-rc.d"
        policy.parent.mkdir()
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        self.bring_program_back()
        self.assertIn("To change to the new program while VMs run: paravane daemon upgrade\n", self.configure(policy.parent))
        self.assertEqual(self.engine(daemon), old)

    def test_without_a_daemon_nothing_is_said(self):
        self.assertEqual(self.configure(), "")


if __name__ == "__main__":
    unittest.main()
