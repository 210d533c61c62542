"""What root's commands make of the answers of a daemon that was broken into."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from rig import BIN, DaemonTest, PATIENCE_S, wait_for
from test_versions import OtherDaemon

SHELL_HOME = "/usr/bin:/bin"
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "debian"


class BrokenEngine(DaemonTest):
    def start_broken(self, change):
        """A daemon with the VM db1, whose answers `change` changes."""
        self.start()
        self.cli("vm", "add", "db1")
        behind, self.api = self.api, self.folder / "broken.sock"
        other = OtherDaemon(self.api, behind, change)
        self.addCleanup(other.listener.close)

    def shell(self, script):
        """What bash says to it, with the daemon as its own."""
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              env={"PATH": f"{BIN}:{SHELL_HOME}", "PARAVANE_SOCKET": str(self.api)}, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_completion_carries_no_name_out(self):
        def with_another_name(path, status, body):
            if path == "/v1/vms":
                body["vms"][0]["name"] = name
            return status, body
        self.start_broken(with_another_name)
        script = self.cli("completion", "bash").stdout
        for name in ("$(touch${IFS}done)", "`touch${IFS}done`", "x\n$(touch${IFS}done)", "a*", "db1"):
            with self.subTest(name=name):
                said = self.shell(script + "\nCOMP_WORDS=(paravane vm remove ''); COMP_CWORD=3; _paravane; "
                                  "printf '%s\\n' \"${COMPREPLY[@]}\"")
                self.assertFalse((self.folder / "done").exists())
                self.assertEqual(said.split(), ["db1"] if name == "db1" else [])

    def test_words_for_qemu_stay_what_they_are(self):
        def with_another_socket(_path, status, body):
            if "adapters" in body:
                body["adapters"][0]["socket"] = socket
            return status, body
        self.start_broken(with_another_socket)
        for socket in ("/x -incoming exec:id /db1.sock", "/tmp/*/db1.sock", "/x\n-S\n/db1.sock", "/x\t-S\t/db1.sock"):
            with self.subTest(socket=socket):
                words = json.loads(self.cli("vm", "qemu-args", "db1", "--json").stdout)
                self.assertEqual(json.loads(words[-1])["socket"]["path"], socket)
                for command in "eval set -- $(paravane vm qemu-args db1 --shell)", "set -- $(paravane vm qemu-args db1)":
                    said = self.shell(f"{command}; for word; do printf '%s\\0' \"$word\"; done")
                    self.assertIn(said.split("\0")[:-1], (words, []))
        socket = "/x -incoming exec:id /db1.sock"
        self.assertIn("Use --shell or --json", self.refused(1, "vm", "qemu-args", "db1"))
        socket = "/run/db2.sock"
        self.assertIn("a socket does not belong to the VM", self.refused(2, "vm", "qemu-args", "db1"))

    def test_a_complaint_says_nothing_to_the_terminal(self):
        def with_escapes(path, status, body):
            if path == "/v1/status":
                return 409, {"error": {"code": "busy", "message": "a\033]0;b\u009b2J", "remedy": "c\033[2J\n  d"}}
            return status, body
        self.start_broken(with_escapes)
        self.assertEqual(self.refused(1, "status"), "paravane: a?]0;b?2J\n  c?[2J\n  d\n")

    def test_an_upgrade_says_nothing_to_the_terminal(self):
        program = self.folder / "old"
        shutil.copy("/bin/sleep", program)
        old = self.spawn(program, "1000")
        wait_for(lambda: os.readlink(f"/proc/{old.pid}/exe") == str(program), "it to run")
        program.unlink()

        def with_escapes(path, status, body):
            if path == "/v1/daemon/upgrade" and refuses:
                return 409, {"error": {"code": "busy", "message": "a\033[2J\\033[2J", "remedy": "b\033[2J"}}
            if path == "/v1/status":
                body |= {"version": "1\033[2J\\033[2J", "pid": old.pid, "keeper": {"version": "3\033[2J", "cause": "c\033[2J"}}
                body["upgrade"] |= {"from": "1\033[2J\\033[2J", "to": "2\033[2J"}
            elif path == "/v1/vms":
                vm, = body["vms"]
                vm["name"] = "db1\033[2J\\033[2J"
                vm["adapters"][0]["state"] = "attached"
            return status, body
        self.start_broken(with_escapes)
        for refuses in True, False:
            with self.subTest(refuses=refuses):
                said = self.shell(f"sh {SCRIPTS}/paravane.postinst configure 0.1")
                self.assertNotIn("\033", said)
                if refuses:
                    self.assertIn("a?[2J\\033[2J\n", said)
                    self.assertIn("paravaned 1[2J\\033[2J (keeper 3[2J) ", said)
                    self.assertIn(f") (process {old.pid}) still runs", said)
                    self.assertIn("if it ended now: db1[2J\\033[2J\n", said)
                else:
                    self.assertIn("changed from 1[2J\\033[2J to 2[2J.", said)

    def test_a_removal_says_nothing_to_the_terminal(self):
        def with_escapes(path, status, body):
            if path == "/v1/daemon/stop":
                return 409, {"error": {"code": "vms_attached", "message": "a\\033[2J", "remedy": "b\\033[2J"}}
            return status, body
        self.start_broken(with_escapes)
        said = self.shell(f"sh {SCRIPTS}/paravane.prerm remove 2>&1 || true")
        self.assertIn("paravane: a\\033[2J\n  b\\033[2J\n  To remove the package all the same", said)


if __name__ == "__main__":
    unittest.main()
