"""paravane against an older daemon and a newer one."""

import json
import re
import socket
import threading
import unittest

from rig import LISTS, DaemonTest, connect


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
        self.assertIn("cannot parse the daemon's response", said)
        self.assertIn("The daemon is paravaned 9.9.9, but this program is version", said)

    def test_an_older_one_does_not_know_a_request(self):
        def without_it(path, status, body):
            if path.startswith("/v1/host"):
                return 404, {"error": {"code": "unknown_path", "message": f"unknown path {path}", "remedy": "See."}}
            return status, body
        self.start_other(without_it)
        said = self.refused(1, "network", "nic", "list")
        self.assertIn("unknown path /v1/host/nics", said)
        self.assertIn("The daemon is paravaned 9.9.9, but this program is version", said)
        self.cli("vm", "list")

    def test_an_older_one_has_no_revisions(self):
        def without_it(_path, status, body):
            body.pop("revision", None)
            return status, body
        self.start_other(without_it)
        self.cli("vm", "set", "db1", "--limit", "gids=8")
        self.assertEqual(self.gids(), 8)


if __name__ == "__main__":
    unittest.main()
