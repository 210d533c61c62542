"""After an upgrade the keeper is the new program, too, in the same process; or it goes on as it was, and says why."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import unittest

from held import HeldWhenExecuting
from rig import PATIENCE_S, DaemonTest, holder_of, is_alive, name_of, wait_for
from test_sandbox import status_of
from test_switch import Host
from test_upgrade import APART_S, Upgrade, descriptors
from vmm import attach

REPLACED = "the keeper was replaced"

# A new engine of its own kind: it takes everything over, says which form of the keeper's record its program reads, serves
# nothing, and keeps what the keeper says. One that is a script cannot be executed by its descriptor.
HEIR = """#!/usr/bin/python3
import os, socket, sys
keeper, estate = socket.socket(fileno=os.dup(3)), socket.socket(fileno=os.dup(4))
keeper.setblocking(True)
estate.setblocking(True)
READY, CAN_TAKE, TAKEN, GO, TOLD = 1, 16, 18, 21, 26
keeper.send(bytes([CAN_TAKE]) + b"9.9.9 {facts} {form}")
estate.recv(1 << 20)  # something has come
keeper.send(bytes([TAKEN]))
while True:
    said = keeper.recv(1 << 17)
    if not said:
        break
    if said[0] == GO:
        keeper.send(bytes([READY]) + b"serves")
    if said[0] == TOLD:
        with open("{told}", "ab") as told:
            told.write(said[1:] + b"\\n")
"""


def file_of(pid):
    """The program that it runs."""
    return pathlib.Path(f"/proc/{pid}/exe").stat().st_ino


def number_in(header, name):
    """A constant of the source's."""
    source = pathlib.Path(__file__).resolve().parents[2] / "src" / header
    return re.search(rf"\b{name} = (\d+);", source.read_text())[1]


@unittest.skipUnless(os.geteuid() == 0, "only root may look at the engine")
class NextKeeper(Upgrade):
    def keeper_status(self):
        return json.loads(self.cli("status", "--formatter=json").stdout)["keeper"]

    def wait_replaced(self, times=1):
        wait_for(lambda: self.log_text().count(REPLACED) == times, "the keeper to be replaced")

    def replace(self, times=1):
        """By another file with the same name. Returns its number."""
        self.bring_program_back()
        self.assertEqual(self.upgrade()["state"], "done")
        self.wait_replaced(times)
        return self.program.stat().st_ino

    def wait_served(self, times=1):
        wait_for(lambda: self.log_text().count("a new engine serves") == times, "another engine")

    def end(self, daemon):
        """Orderly, with all that it had."""
        left = [self.engine(daemon), holder_of(daemon.pid)]
        self.assertEqual(self.stop(daemon), 0, self.log_text())
        self.assertFalse(self.api.exists())
        for pid in left:
            wait_for(lambda pid=pid: not is_alive(pid), "the processes to end")


class Replaced(NextKeeper):
    def test_both_are_the_new_file(self):
        daemon = self.start()
        old = file_of(daemon.pid)
        new = self.replace()
        self.assertNotEqual(new, old)
        self.assertEqual([file_of(pid) for pid in (daemon.pid, self.engine(daemon))], [new, new])
        self.assertEqual([name_of(pid) for pid in (daemon.pid, self.engine(daemon))], ["paravaned", "paravaned"])
        self.assertEqual(os.readlink(f"/proc/{daemon.pid}/exe"), str(self.program))
        version = json.loads(self.cli("status", "--formatter=json").stdout)["version"]
        self.assertEqual(self.keeper_status(), {"version": version, "cause": ""})
        self.assertIn(f"{REPLACED}: {version} by {version}\n", self.log_text())
        self.end(daemon)

    def test_it_is_the_file_that_the_engine_runs_whatever_has_its_name(self):
        daemon = self.start()
        self.bring_program_back()
        new = self.program.stat().st_ino
        heir = self.begin()
        wait_for(lambda: file_of(heir) == new, "the new engine to be executed")
        self.replace_program("#!/bin/sh\nexit 2\n")
        self.wait_end("done")
        self.wait_replaced()
        self.assertEqual([file_of(pid) for pid in (daemon.pid, heir)], [new, new])
        self.assertEqual(os.readlink(f"/proc/{daemon.pid}/exe"), f"{self.program} (deleted)")
        # Its program is the one with the name of old, not one that is called so.
        time.sleep(APART_S)
        self.fails(f"{self.program} exited with status 2")
        newest = self.replace(2)
        self.assertEqual(file_of(daemon.pid), newest)
        self.end(daemon)

    def test_vms_notice_nothing_and_are_recovered_afterwards(self):
        daemon = self.start()
        for vm in "db1", "db2":
            self.cli("vm", "add", vm)
        with attach(self.vms / "db1.sock") as one, attach(self.vms / "db2.sock") as other:
            self.replace()
            engine = self.engine(daemon)
            self.assertTrue(one.answers() and other.answers())
            os.kill(engine, signal.SIGKILL)
            self.wait_served()
            self.assertNotEqual(self.engine(daemon), engine)
            self.assertTrue(one.answers() and other.answers())
            time.sleep(APART_S)
            self.replace(2)
            self.assertTrue(one.answers() and other.answers())
            self.assertEqual([row["state"] for row in self.vm_rows()], ["attached", "attached"])
        self.end(daemon)

    def test_engines_that_end_in_a_row_are_counted_on(self):
        daemon = self.start()
        for times in range(1, 6):
            os.kill(self.engine(daemon), signal.SIGKILL)
            self.wait_served(times)
        self.replace()
        for times in range(6, 9):
            os.kill(self.engine(daemon), signal.SIGKILL)
            self.wait_served(times)
        os.kill(self.engine(daemon), signal.SIGKILL)
        self.assertEqual(daemon.wait(PATIENCE_S), 1)
        self.assertIn("engines in a row have ended; giving up", self.log_text())

    def test_the_limit_of_upgrades_goes_on(self):
        self.start()
        began = time.monotonic()
        self.replace()
        self.replace(2)
        self.assertGreater(time.monotonic() - began, APART_S - 1)

    def test_settings_are_read_again_and_stay(self):
        daemon = self.start()
        self.replace()
        self.write_config('[log]\nlevel = "debug"\n')
        daemon.send_signal(signal.SIGHUP)
        self.wait_log("log level set to debug")
        self.replace(2)
        os.kill(self.engine(daemon), signal.SIGKILL)
        self.wait_served()
        wait_for(lambda: self.log_text().count("log level set to debug") == 3, "the level to be told to each engine")
        self.end(daemon)

    def test_rights_are_as_before(self):
        for words in ((), ("setpriv", "--no-new-privs", "--bounding-set=-sys_admin,-net_raw"),
                      ("setpriv", "--inh-caps=-all,+net_admin", "--ambient-caps=-all,+net_admin", "--bounding-set=-sys_time")):
            daemon = self.start(*words)
            self.processes = [daemon]
            before, log = status_of(daemon.pid), len(self.log_text())
            mask = before["SigBlk"]
            self.bring_program_back()
            self.assertEqual(self.upgrade()["state"], "done")
            wait_for(lambda log=log: REPLACED in self.log_text()[log:], "the keeper to be replaced")
            after = status_of(daemon.pid)
            for what in ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "SigBlk",
                         "SigIgn", "Umask", "PPid", "NSpid"):
                self.assertEqual(after[what], before[what], what)
            self.assertNotEqual(int(mask, 16), 0)
            engine = status_of(self.engine(daemon))
            self.assertEqual((engine["CapPrm"], engine["CapBnd"], engine["NoNewPrivs"]), ("0" * 16, "0" * 16, "1"))
            self.assertEqual(self.stop(daemon), 0)

    def test_it_has_the_same_descriptors_and_none_is_for_programs(self):
        daemon = self.start()
        before = sorted(os.readlink(fd) for fd in pathlib.Path(f"/proc/{daemon.pid}/fd").iterdir())
        self.replace()
        wait_for(lambda: descriptors(daemon.pid) == len(before), "no more descriptors than before")
        for fd in pathlib.Path(f"/proc/{daemon.pid}/fdinfo").iterdir():
            if int(fd.name) > 2:
                self.assertTrue(int(fd.read_text().split("flags:")[1].split()[0], 8) & os.O_CLOEXEC, fd)
        links = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{daemon.pid}/fd").iterdir()]
        self.assertFalse([link for link in links if "paravaned" in link])
        self.assertEqual(len([link for link in links if link.startswith("socket:")]), 2)

    def test_the_service_manager_hears_on(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.settimeout(PATIENCE_S)
            daemon = self.start(env={"NOTIFY_SOCKET": str(self.folder / "notify"), "WATCHDOG_USEC": "3000000"})
            self.replace()
            signs, words = 0, []
            end = time.monotonic() + 3
            while time.monotonic() < end:
                words.append(manager.recv(4096))
            after = []
            for _ in range(3):
                began = time.monotonic()
                while manager.recv(4096) != b"WATCHDOG=1":
                    pass
                after.append(time.monotonic() - began)
            self.assertLess(max(after), 2, "a third of the limit, and what a busy machine takes")
            self.assertEqual([word for word in words if word.startswith(b"READY")], [b"READY=1\nSTATUS=0 VMs"])
            self.cli("vm", "add", "db1")
            while manager.recv(4096) != b"STATUS=1 VM":
                signs += 1
            # The watch is the new keeper's.
            engine = self.engine(daemon)
            os.kill(engine, signal.SIGSTOP)
            self.wait_log("a new engine serves, since the one before it hung, and was killed")
            self.assertEqual(self.stop(daemon), 0)

    def test_a_holder_that_ends_is_replaced(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        with attach(self.vms / "db1.sock") as vmm:
            holder = holder_of(daemon.pid)
            new = self.replace()
            self.assertEqual(holder_of(daemon.pid), holder, "it goes on")
            os.kill(holder, signal.SIGKILL)
            self.wait_log("it is started again")
            time.sleep(0.5)  # the engine puts everything into its hands
            self.assertEqual(file_of(holder_of(daemon.pid)), new)
            os.kill(self.engine(daemon), signal.SIGKILL)
            self.wait_served()
            self.assertTrue(vmm.answers())
        self.end(daemon)


class AtThatMoment(NextKeeper):
    """What comes between two programs."""

    def hold(self, act):
        """Holds the keeper where the new program has not run a single instruction."""
        daemon = self.start()
        self.cli("vm", "add", "db1")
        vmm = self.enterContext(attach(self.vms / "db1.sock"))
        self.bring_program_back()
        with HeldWhenExecuting(daemon.pid) as held:
            self.cli("daemon", "upgrade", "--no-wait")
            held.wait_held()
            self.assertNotIn(REPLACED, self.log_text())
            act(daemon)
        return daemon, vmm

    def test_an_engine_that_is_killed_is_followed(self):
        killed = []

        def kill(daemon):
            killed.append(self.engine(daemon))
            os.kill(killed[0], signal.SIGKILL)
            wait_for(lambda: not is_alive(killed[0]), "its end")
        daemon, vmm = self.hold(kill)
        self.wait_served()
        self.wait_replaced()
        self.assertNotEqual(self.engine(daemon), killed[0])
        self.assertTrue(vmm.answers())
        self.end(daemon)

    def test_a_holder_that_is_killed_is_replaced(self):
        daemon, vmm = self.hold(lambda daemon: os.kill(holder_of(daemon.pid), signal.SIGKILL))
        self.wait_log("the holder was killed by signal 9 (KILL); it is started again")
        time.sleep(0.5)
        os.kill(self.engine(daemon), signal.SIGKILL)
        self.wait_served()
        self.assertTrue(vmm.answers())
        self.end(daemon)

    def test_a_signal_to_stop_stops(self):
        daemon, _ = self.hold(lambda daemon: daemon.send_signal(signal.SIGTERM))
        self.assertEqual(daemon.wait(PATIENCE_S), 0)
        self.assertFalse(self.api.exists())

    def test_a_signal_to_read_settings_is_heard(self):
        self.write_config('[log]\nlevel = "info"\n')

        def ask(daemon):
            self.write_config('[log]\nlevel = "debug"\n')
            daemon.send_signal(signal.SIGHUP)
        daemon, _ = self.hold(ask)
        self.wait_log("log level set to debug")
        self.end(daemon)

    def test_what_the_engine_asks_for_is_answered(self):
        daemon, _ = self.hold(lambda daemon: time.sleep(1))
        self.cli("vds", "create", "lab")
        self.assertEqual(json.loads(self.cli("vds", "list", "--formatter=json").stdout)[0]["problems"], [])
        self.end(daemon)


class Stays(NextKeeper):
    """Nothing is lost where the new program cannot be the keeper."""

    def take_over_by_script(self, form):
        """By an engine that serves nothing. What the keeper told it."""
        daemon = self.start()
        schema, state = number_in("store/store.h", "kStoreVersion"), number_in("state/image.h", "kFormat")
        told = self.folder / "told"
        self.replace_program(HEIR.format(facts=f"{schema} {state}", form=form, told=told))
        old = file_of(daemon.pid)
        checked = self.cli("daemon", "upgrade", "--check", "--formatter=json")
        self.assertEqual(json.loads(checked.stdout)["state"], "checked")
        self.assertEqual("the keeper would not be replaced" in checked.stderr, form != 1, checked.stderr)
        self.cli("daemon", "upgrade", "--no-wait")
        self.wait_log("the keeper stays paravaned")
        wait_for(lambda: told.exists() and told.read_text(), "the keeper to say so")
        self.assertEqual(file_of(daemon.pid), old)
        version, cause = told.read_text().splitlines()[-1].split(" ", 1)
        # It goes on: as the watch of an engine that ends, and as what starts the next one.
        self.bring_program_back()
        os.kill(self.engine(daemon), signal.SIGKILL)
        self.wait_served()
        self.assertEqual(self.keeper_status(), {"version": version, "cause": cause})
        self.assertIn(f"none: the keeper was not replaced: {cause}", self.cli("--formatter=csv", "status").stdout)
        time.sleep(APART_S)
        new = self.replace()
        self.assertEqual([file_of(pid) for pid in (daemon.pid, self.engine(daemon))], [new, new])
        self.assertEqual(self.keeper_status()["cause"], "")
        self.end(daemon)
        return cause

    def test_a_program_that_reads_another_form(self):
        self.assertEqual(self.take_over_by_script(7), "paravaned 9.9.9 reads another form of what the keeper leaves (7; this one writes 1)")

    def test_a_program_that_cannot_be_executed(self):
        self.assertEqual(self.take_over_by_script(1), f"cannot execute {self.program}: No such file or directory")

    def test_a_program_that_refuses_the_record_goes_back(self):
        daemon = self.start()
        self.cli("vds", "create", "lab")
        self.cli("vds", "add-host", "lab")
        self.cli("portgroup", "create", "vms", "--vds", "lab")
        self.cli("vm", "add", "db1")
        old = file_of(daemon.pid)
        # One that knows another form of plans: its engine serves, and it cannot read the keeper's plan.
        text = self.program.read_bytes()
        self.assertIn(b"paravane-switch-plan 1", text)
        new = self.folder / "new"
        new.write_bytes(text.replace(b"paravane-switch-plan 1", b"paravane-switch-plan 2"))
        new.chmod(0o755)
        new.rename(self.program)
        with attach(self.vms / "db1.sock") as vmm:
            engine = self.engine(daemon)
            self.assertEqual(self.upgrade()["state"], "done")
            self.wait_log("the keeper stays paravaned")
            self.assertNotEqual(self.engine(daemon), engine)
            self.assertEqual([file_of(daemon.pid), file_of(self.engine(daemon))], [old, self.program.stat().st_ino])
            self.assertEqual(name_of(daemon.pid), "paravaned")
            self.assertIn("the state is refused: 13", self.keeper_status()["cause"])
            self.assertTrue(vmm.answers())
            time.sleep(APART_S)
            newest = self.replace()
            self.assertEqual([file_of(pid) for pid in (daemon.pid, self.engine(daemon))], [newest, newest])
            self.assertTrue(vmm.answers())
        self.end(daemon)

    def test_by_hand_it_says_what_it_is_for(self):
        status, complaint = self.run_daemon(self.program, "--keeper-record", "3")
        self.assertEqual(status, 2)
        self.assertIn("paravane daemon upgrade", complaint)
        self.assertNotIn("--keeper", subprocess.run([self.program, "--help"], capture_output=True, text=True, check=True,
                                                    timeout=PATIENCE_S).stdout)


@unittest.skipUnless(os.geteuid() == 0, "only root can make network namespaces")
class Switches(DaemonTest):
    def test_the_plan_is_followed_on(self):
        host = Host(self, "h1")
        host.configure()
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.start()
        host.cli("vds", "create", "lan")
        host.cli("vds", "add-host", "lan", "--uplink", "nic")
        host.cli("portgroup", "create", "vms", "--vds", "lan")
        host.cli("vm", "add", "a", "--port-group", "vms")
        # A NIC that is known by what was seen of it under the name that it had.
        host.network.ip("link", "set", "nic", "down")
        host.network.ip("link", "set", "nic", "name", "ens5")
        host.soon(lambda: host.links()["ens5"].get("master") == "pvs-lan", "the NIC to be back")
        host.cli("daemon", "upgrade")
        wait_for(lambda: REPLACED in self.log_text(), "the keeper to be replaced")
        for broken, link, is_well in (("link set ens5 nomaster", "ens5", lambda nic: nic.get("master") == "pvs-lan"),
                                      ("link set pv-a down", "pv-a", lambda tap: "UP" in tap["flags"]),
                                      ("link del pvs-lan", "ens5", lambda nic: nic.get("master") == "pvs-lan")):
            with self.subTest(broken):
                host.network.ip(*broken.split())
                host.soon(lambda link=link, is_well=is_well: link in host.links() and is_well(host.links()[link]), "it to be mended")
        host.stop()


if __name__ == "__main__":
    unittest.main()
