"""Clients of the API that do not behave."""

import json
import os
import random
import time
import unittest

from rig import DaemonTest, connect, wait_for

HOST = b"Host: localhost\r\n"


def request(method, path, body=b"", headers=b""):
    length = f"Content-Length: {len(body)}\r\n".encode() if body else b""
    return f"{method} {path} HTTP/1.1\r\n".encode() + HOST + headers + length + b"\r\n" + body


class Api(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start()

    def tearDown(self):
        # Whatever was sent, the daemon works on and ends well.
        self.assertIn(b"HTTP/1.1 200 ", self.http(request("GET", "/v1/status")))
        self.assertEqual(self.stop(self.daemon), 0, self.log_text())

    def answer(self, data):
        head, _, body = self.http(data).partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), json.loads(body)

    def test_answers_as_documented(self):
        status, vm = self.answer(request("POST", "/v1/vms", b'{"name":"db1"}'))
        self.assertEqual((status, vm["name"], vm["state"]), (201, "db1", "detached"))
        status, vms = self.answer(request("GET", "/v1/vms"))
        self.assertEqual((status, len(vms["vms"])), (200, 1))
        status, error = self.answer(request("POST", "/v1/vms", b'{"name":"db1"}'))
        self.assertEqual((status, error["error"]["code"]), (409, "exists"))
        status, _ = self.answer(request("DELETE", "/v1/vms/db1"))
        self.assertEqual(status, 200)

    def test_refuses_what_is_too_large(self):
        status, error = self.answer(request("POST", "/v1/vms", b" " * 70_000))
        self.assertEqual((status, error["error"]["code"]), (413, "too_large"))
        self.http(request("POST", "/v1/vms", b" " * 50_000_000))

    def test_survives_garbage(self):
        generator = random.Random(4711)
        for size in (0, 1, 10, 1000, 100_000):
            self.http(generator.randbytes(size))
        self.http(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000)
        self.http(b"\r\n" * 10_000)
        self.http(request("POST", "/v1/vms", b"[" * 60_000))
        self.http(b"POST /v1/vms HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n")

    def test_slow_clients_do_not_shut_others_out_for_long(self):
        clients = []
        for _ in range(100):  # more than there are threads, and than are waited for
            client = connect(self.api)
            client.send(b"GET /v1/sta")
            clients.append(client)
        began = time.monotonic()
        self.assertIn(b"HTTP/1.1 200 ", self.http(request("GET", "/v1/status")))
        # Far less than what one of them may take for its request.
        self.assertLess(time.monotonic() - began, 4)
        for client in clients:
            client.close()

    def test_clients_that_hang_up_leave_nothing_behind(self):
        for _ in range(300):
            with connect(self.api) as client:
                client.send(b"GET /v1/stats HTTP/1.1\r\n\r\n")
        self.http(request("GET", "/v1/status"))
        engine = self.engine(self.daemon)
        wait_for(lambda: len(os.listdir(f"/proc/{engine}/fd")) < 40, "what they held to be given back")

    def test_socket_is_not_for_everybody(self):
        self.assertEqual(self.api.stat().st_mode & 0o777, 0o660)
        self.cli("vm", "add", "db1")
        self.assertEqual((self.vms / "db1.sock").stat().st_mode & 0o777, 0o660)

    def test_one_vmm_that_sends_garbage_harms_nobody(self):
        self.cli("vm", "add", "db1")
        self.cli("vm", "add", "db2")
        generator = random.Random(1)
        for _ in range(50):
            with connect(self.vms / "db1.sock") as client:
                try:
                    client.sendall(generator.randbytes(generator.randrange(1, 4096)))
                except (BrokenPipeError, ConnectionResetError):
                    pass
        self.assertEqual([row["state"] for row in self.vm_rows()], ["detached", "detached"])


if __name__ == "__main__":
    unittest.main()
