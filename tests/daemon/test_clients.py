"""paravane against a daemon that is down, slow, older or newer; without rights; and two administrators at once."""

import concurrent.futures
import json
import os
import re
import signal
import socket
import threading
import time
import unittest

from rig import DaemonTest, connect, run_cli

STRANGER = "daemon"  # a user of every Debian, in no group of ours
LISTS = [("vm", "list"), ("vds", "list"), ("portgroup", "list"), ("path", "list"), ("impair", "list"), ("status",), ("stats",),
         ("network", "nic", "list"), ("rdma", "device", "list"), ("network", "ip", "interface", "list"),
         ("network", "firewall", "ruleset", "list"), ("system", "settings", "advanced", "list"), ("events",)]


class Down(DaemonTest):
    def test_every_command_says_so_and_how_to_start_it(self):
        for words in LISTS + [("vm", "add", "a"), ("vds", "create", "lan"), ("cluster", "status"), ("daemon", "stop")]:
            with self.subTest(words=words):
                said = self.refused(3, *words)
                self.assertIn(f"paravaned does not answer at {self.api}: No such file or directory\n", said)
                self.assertIn("systemctl start paravaned", said)

    def test_what_a_daemon_that_died_left_behind_is_not_one(self):
        daemon = self.start()
        self.stop(daemon, signal.SIGKILL)
        self.assertTrue(self.api.exists())
        self.assertIn("Connection refused", self.refused(3, "vm", "list"))

    def test_without_rights(self):
        self.start()
        done = run_cli(self.api, "vm", "list", user=STRANGER)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("Permission denied", done.stderr)
        self.assertIn("Run the command as root, or join the group that [api] group names", done.stderr)


class Slow(DaemonTest):
    def test_one_that_is_held_is_waited_for(self):
        daemon = self.start()
        server = self.engine(daemon)  # which has the API
        os.kill(server, signal.SIGSTOP)
        self.addCleanup(os.kill, server, signal.SIGCONT)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            asked = pool.submit(self.cli, "vm", "list")
            time.sleep(2)
            self.assertFalse(asked.done())
            os.kill(server, signal.SIGCONT)
            self.assertEqual(asked.result().returncode, 0)


class OtherDaemon:
    """Stands before a daemon and makes its answers those of another version."""

    def __init__(self, door, behind, change):
        self.behind, self.change = behind, change
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(door))
        self.listener.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client:
                self.answer(client)

    def read_request(self, client):
        request = b""
        while True:
            head, end, body = request.partition(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            if end and len(body) >= (int(length[1]) if length else 0):
                return request
            piece = client.recv(65536)
            if not piece:
                return b""
            request += piece

    def answer(self, client):
        request = self.read_request(client)
        if not request:
            return  # it only looked whether somebody is there
        with connect(self.behind) as daemon:
            daemon.sendall(request)
            answer = b""
            while piece := daemon.recv(65536):
                answer += piece
        head, _, body = answer.partition(b"\r\n\r\n")
        status, body = self.change(request.split(b" ")[1].decode(), int(head.split(b" ")[1]), json.loads(body))
        body = json.dumps(body).encode()
        client.sendall(b"HTTP/1.1 %d X\r\nServer: paravaned/9.9.9\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                       b"Connection: close\r\n\r\n" % (status, len(body)) + body)


class OtherVersions(DaemonTest):
    def start_other(self, change):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vds", "create", "lan")
        self.cli("portgroup", "create", "rdma", "--vds", "lan")
        behind, self.api = self.api, self.folder / "other.sock"
        other = OtherDaemon(self.api, behind, change)
        self.addCleanup(other.listener.close)

    def gids(self):
        """The limit of db1."""
        _, _, body = self.http(b"GET /v1/vms/db1 HTTP/1.1\r\n\r\n").partition(b"\r\n\r\n")
        return json.loads(body)["limits"]["gids"]

    def test_a_newer_one_says_more(self):
        def with_more(_path, status, body):
            def wider(value):
                if isinstance(value, dict):
                    return {**{key: wider(one) for key, one in value.items()}, "colour": "blue", "shades": [{"of": 1}]}
                return [wider(one) for one in value] if isinstance(value, list) else value
            # An object whose keys are data has no others in any version.
            return status, {key: wider(one) if isinstance(one, list) else one for key, one in body.items()} | {"colour": "blue"}
        self.start_other(with_more)
        for words in LISTS:
            with self.subTest(words=words):
                self.cli(*words)
        self.assertEqual(self.vm_names(), ["db1"])
        self.cli("vm", "set", "db1", "--limit", "gids=8")
        self.assertEqual(self.gids(), 8)

    def test_a_newer_one_says_what_nobody_knew(self):
        def with_another_state(path, status, body):
            if path == "/v1/vms":
                body["vms"][0]["adapters"][0]["state"] = "dreaming"
            return status, body
        self.start_other(with_another_state)
        said = self.refused(1, "vm", "list")
        self.assertIn("the daemon's answer was not understood", said)
        self.assertIn("The daemon is paravaned 9.9.9, this program is of version", said)

    def test_an_older_one_does_not_know_a_request(self):
        def without_it(path, status, body):
            if path.startswith("/v1/host"):
                return 404, {"error": {"code": "unknown_path", "message": f"there is nothing at {path}", "remedy": "See."}}
            return status, body
        self.start_other(without_it)
        said = self.refused(1, "network", "nic", "list")
        self.assertIn("there is nothing at /v1/host/nics", said)
        self.assertIn("The daemon is paravaned 9.9.9, this program is of version", said)
        self.cli("vm", "list")

    def test_an_older_one_has_no_revisions(self):
        def without_it(_path, status, body):
            body.pop("revision", None)
            return status, body
        self.start_other(without_it)
        self.cli("vm", "set", "db1", "--limit", "gids=8")
        self.assertEqual(self.gids(), 8)


class Names(DaemonTest):
    def test_the_nearest_name_is_suggested(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vds", "create", "lan")
        self.cli("portgroup", "create", "rdma", "--vds", "lan")
        for words, meant in ((("vm", "remove", "bd1"), "db1"), (("vm", "set", "db11", "--limit", "gids=8"), "db1"),
                             (("vds", "delete", "lam"), "lan"), (("portgroup", "delete", "rmda"), "rdma"),
                             (("stats", "--vm", "dv1"), "db1")):
            with self.subTest(words=words):
                said = self.refused(1, *words)
                self.assertIn(f"Do you mean {meant}? List the ", said)
        for another in ("entirely-another", "db2"):
            self.assertNotIn("Do you mean", self.refused(1, "vm", "remove", another))

    def test_a_filter_that_names_nothing_is_refused(self):
        self.start()
        said = self.refused(1, "network", "firewall", "ruleset", "list", "-r", "pvdrma")
        self.assertIn("there is no firewall ruleset pvdrma", said)
        self.assertIn("Do you mean pvrdma? List them", said)
        self.assertIn("there is no vmk5 on this host", self.refused(1, "network", "ip", "interface", "ipv4", "get", "-i", "vmk5"))


class TwoAdministrators(DaemonTest):
    """At the same moment."""

    ROUNDS = 12

    def setUp(self):
        super().setUp()
        self.start()
        pool = concurrent.futures.ThreadPoolExecutor(2)
        self.addCleanup(pool.shutdown)
        self.pool = pool

    def both(self, first, second):
        """Two commands; their exit statuses and what they said."""
        asked = [self.pool.submit(self.cli, *words, check=False) for words in (first, second)]
        return [one.result() for one in asked]

    def test_who_comes_second_to_a_name_is_told(self):
        for number in range(self.ROUNDS):
            done = self.both(("vm", "add", f"vm{number}", "--hw-version", "13"), ("vm", "add", f"vm{number}", "--hw-version", "14"))
            self.assertEqual(sorted(one.returncode for one in done), [0, 1], done)
            loser = next(one for one in done if one.returncode == 1)
            self.assertIn(f"vm vm{number} exists already", loser.stderr)
            winner = 13 + done.index(next(one for one in done if one.returncode == 0))
            row = next(row for row in self.vm_rows() if row["Name"] == f"vm{number}")
            self.assertEqual(row["Hardware"], winner)

    def test_no_change_of_a_vm_is_lost_and_who_was_too_late_is_told(self):
        self.cli("vm", "add", "db1")
        told = 0
        for number in range(self.ROUNDS):
            changes = {"gids": str(8 + number), "contexts": str(64 << (number % 2))}
            done = self.both(*[("vm", "set", "db1", "--limit", f"{limit}={value}") for limit, value in changes.items()])
            kept = json.loads(self.http(b"GET /v1/vms/db1 HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")[2])["limits"]
            for one, (limit, value) in zip(done, changes.items()):
                if one.returncode == 0:
                    self.assertEqual(kept[limit], int(value))
                else:
                    told += 1
                    self.assertIn("vm db1 was changed by another in the meantime; this was not done", one.stderr)
            self.assertIn(0, [one.returncode for one in done])
        print(f"too late {told} of {2 * self.ROUNDS} times")

    def test_adapters_of_two_are_two(self):
        self.cli("vm", "add", "db1")
        for one in self.both(("vm", "adapter", "add", "db1"), ("vm", "adapter", "add", "db1")):
            self.assertEqual(one.returncode, 0, one.stderr)
        row = json.loads(self.http(b"GET /v1/vms/db1 HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")[2])
        self.assertEqual([adapter["number"] for adapter in row["adapters"]], [1, 2, 3])

    def test_a_switch_is_not_deleted_under_a_new_port_group(self):
        for number in range(self.ROUNDS):
            self.cli("vds", "create", f"s{number}")
            made, deleted = self.both(("portgroup", "create", f"p{number}", "--vds", f"s{number}"), ("vds", "delete", f"s{number}"))
            self.assertEqual(sorted((made.returncode, deleted.returncode)), [0, 1], (made, deleted))
            self.assertRegex(made.stderr + deleted.stderr, f"there is no switch s{number}|switch s{number} has port group")
            switches = [row["Name"] for row in json.loads(self.cli("vds", "list", "--formatter=json").stdout)]
            self.assertEqual(f"s{number}" in switches, made.returncode == 0)


if __name__ == "__main__":
    unittest.main()
