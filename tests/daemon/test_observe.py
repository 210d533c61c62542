"""Metrics and events: what an operator's tools see of a daemon."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest

from metric_names import PACKAGING, named_by_dashboard, names_in
from network import Namespace
from rig import BIN, PATIENCE_S, DaemonTest, connect, wait_for
from vmm import attach

# Of what only a cluster, or guests at work, have; tests/guests/test_observe.py sees them.
ELSEWHERE = re.compile(r"paravane_(cluster_(?!member)|channel_|path_connections$|impairment_)")
CONTENT_TYPE = b"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"


class Metrics(DaemonTest):
    def page(self):
        head, _, body = self.http(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"HTTP/1.1 200 "), head)
        self.assertIn(CONTENT_TYPE, head + b"\r\n")
        return body.decode()

    def test_the_api_has_a_page_with_every_vm(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vm", "adapter", "add", "db1")
        page = self.page()
        self.assertRegex(page, r'(?m)^paravane_adapter_attached\{vm="db1",adapter="2"\} 0')
        self.assertRegex(page, r'(?m)^node_infiniband_state_id\{device="db1/2",port="1"\} 1')
        self.assertRegex(page, r'(?m)^paravane_api_requests_total\{code="201"\} 2')

    def test_promtool_finds_nothing_wrong_with_it(self):
        if shutil.which("promtool") is None:
            self.skipTest("promtool is not installed")
        self.start()
        self.cli("vm", "add", "db1")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.page(), capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        done = subprocess.run(["promtool", "check", "rules", PACKAGING / "prometheus" / "paravane.rules.yml"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_dashboard_and_alerts_ask_for_is_there(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vds", "create", "lan")
        self.cli("vds", "add-host", "lan")
        asked = {name for name in named_by_dashboard() if not ELSEWHERE.match(name)}
        self.assertGreater(len(asked), 20)
        self.assertEqual(asked - names_in(self.page()), set())

    def test_askers_within_a_second_get_the_same_values(self):
        self.start()
        first = self.page()
        self.cli("vm", "add", "late")
        if 'vm="late"' in self.page():
            self.skipTest("a second has passed")
        wait_for(lambda: 'vm="late"' in self.page(), "new values")
        self.assertNotIn('vm="late"', first)


class MetricsPort(DaemonTest):
    AT = ("127.0.0.1", 9719)

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("makes a network namespace")
        self.net = Namespace("metrics")
        self.addCleanup(self.net.close)
        self.write_config('[metrics]\nlisten = "127.0.0.1:9719"\n')
        # start() would give it a network without a loopback interface.
        self.daemon = self.spawn(*self.net.before(), BIN / "paravaned", "--config", self.config)
        wait_for(lambda: self.cli("status", check=False).returncode == 0, "the daemon to answer")
        wait_for(lambda: "metrics: listening at http://127.0.0.1:9719/metrics" in self.log_text(), "the port")

    def ask(self, data):
        with self.net.entered():
            client = socket.create_connection(self.AT, PATIENCE_S)
        with client:
            client.sendall(data)
            answer = b""
            try:
                while piece := client.recv(65536):
                    answer += piece
            except ConnectionResetError:
                pass
            return answer

    def test_serves_metrics_and_nothing_else(self):
        answer = self.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer[:200])
        self.assertIn(CONTENT_TYPE, answer)
        self.assertIn(b"paravane_daemon_info{", answer)
        for method, path in ("GET", "/v1/vms"), ("GET", "/"), ("POST", "/v1/daemon/stop"), ("DELETE", "/v1/vms/db1"):
            answer = self.ask(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
            self.assertTrue(answer.startswith(b"HTTP/1.1 404 "), answer[:200])
        answer = self.ask(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 405 "), answer[:200])
        self.ask(b"\x00" * 100_000)
        self.assertIsNone(self.daemon.poll())

    def test_slow_clients_hold_up_neither_metrics_nor_the_api(self):
        clients = []
        with self.net.entered():
            for _ in range(100):
                client = socket.create_connection(self.AT, PATIENCE_S)
                client.send(b"GET /met")
                clients.append(client)
        began = time.monotonic()
        self.cli("status")
        self.assertTrue(self.ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 200 "))
        self.assertLess(time.monotonic() - began, 5)
        for client in clients:
            client.close()

    def test_an_address_that_cannot_be_had_stops_nothing_else(self):
        self.stop(self.daemon)
        self.write_config('[metrics]\nlisten = "192.0.2.77:9719"\n')
        self.daemon = self.spawn(*self.net.before(), BIN / "paravaned", "--config", self.config)
        wait_for(lambda: self.cli("status", check=False).returncode == 0, "the daemon to answer")
        wait_for(lambda: "metrics: cannot listen at 192.0.2.77:9719" in self.log_text(), "its complaint")

    def test_a_port_that_is_somebody_elses_is_taken_when_it_is_free(self):
        self.stop(self.daemon)
        with self.net.entered():
            other = socket.create_server(self.AT)
        with other:
            self.daemon = self.spawn(*self.net.before(), BIN / "paravaned", "--config", self.config)
            wait_for(lambda: "metrics: cannot listen at 127.0.0.1:9719: " in self.log_text(), "its complaint")
            time.sleep(1.5)  # for a second try
        wait_for(lambda: self.log_text().count("metrics: listening at http://127.0.0.1:9719/metrics") == 2, "the port")
        self.assertEqual(self.log_text().count("cannot listen"), 1)


class Events(DaemonTest):
    def events(self, *words):
        return json.loads(self.cli("events", "--formatter=json", *words).stdout)

    def follow(self, *words):
        """paravane events --follow, and the events that it prints, one by one."""
        process = subprocess.Popen([BIN / "paravane", "--socket", self.api, "events", "--follow", "--formatter=json", *words],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process, (json.loads(line) for line in process.stdout)

    def test_changes_are_events(self):
        daemon = self.start()
        self.cli("vm", "add", "db1")
        self.cli("vm", "adapter", "add", "db1")
        self.cli("vm", "adapter", "disconnect", "db1", "2")
        self.cli("vds", "create", "lan")
        self.cli("portgroup", "create", "rdma", "--vds", "lan")
        self.cli("vm", "remove", "db1")
        events = self.events()
        types = [event["type"] for event in events]
        for wanted in ("daemon.started", "vm.added", "adapter.added", "adapter.disconnected", "switch.created",
                       "portgroup.created", "vm.removed"):
            self.assertIn(wanted, types)
        self.assertEqual([event["number"] for event in events], list(range(1, len(events) + 1)))
        self.assertTrue(all(event["fields"]["vm"] == "db1" for event in self.events("--vm", "db1")))
        self.assertEqual(self.events("--since", str(len(events))), [])
        self.assertEqual(self.stop(daemon), 0)

    def test_what_changed_is_named_and_what_did_not_is_no_event(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.cli("vm", "adapter", "add", "db1")
        self.cli("vds", "create", "lan")
        self.cli("vds", "add-host", "lan")
        self.cli("portgroup", "create", "rdma", "--vds", "lan")
        for again in range(2):
            last = self.events()[-1]["number"]
            self.cli("vm", "set", "db1", "--memory", "2G", "--cpus", "2")
            self.cli("vm", "set", "db1", "--adapter", "2", "--port-group", "rdma")
            self.cli("vm", "adapter", "disconnect", "db1", "2")
            self.cli("network", "firewall", "ruleset", "set", "-e", "true", "-r", "pvrdma")
            self.cli("system", "settings", "advanced", "set", "-o", "/Net/PVRDMAMaxAdapters", "-i", "3")
            if not again:
                first = {event["type"]: event["fields"] for event in self.events("--since", str(last))}
        self.assertEqual(first["vm.changed"], {"vm": "db1", "changed": "cpus,memory_mib"})
        self.assertEqual(first["adapter.moved"], {"vm": "db1", "adapter": "2", "portgroup": "rdma", "before": ""})
        self.assertEqual(len(first), 5)
        self.assertEqual(self.events("--since", str(last)), [])

    def test_a_vm_that_nobody_knows_is_refused_and_one_that_is_gone_is_not(self):
        self.start()
        self.cli("vm", "add", "db1")
        self.assertEqual(len(self.events("--vm", "db1")), 1)
        self.assertEqual(self.events("--vm", "db1", "--since", str(self.events()[-1]["number"])), [])
        self.cli("vm", "remove", "db1")
        self.assertEqual(len(self.events("--vm", "db1")), 2)
        self.assertEqual(self.events("--vm", "db1", "--since", str(self.events()[-1]["number"])), [])
        self.cli("vm", "add", "db2")
        said = self.refused(1, "events", "--vm", "dbb2")
        self.assertIn("vm dbb2 does not exist", said)
        self.assertIn("Do you mean db2?", said)

    def test_a_vmm_that_comes_and_goes_is_told_of(self):
        self.start()
        self.cli("vm", "add", "db1")
        _, events = self.follow("--vm", "db1")
        self.assertEqual(next(events)["type"], "vm.added")
        with attach(self.vms / "db1.sock"):
            self.assertEqual(next(events)["type"], "vm.attached")
        self.assertEqual(next(events)["type"], "vm.detached")

    def test_following_goes_on_over_a_restart_and_says_so(self):
        daemon = self.start()
        process, events = self.follow()
        self.assertEqual(next(events)["type"], "daemon.started")
        self.stop(daemon)
        self.start()
        self.cli("vm", "add", "db1")
        types = []
        while "vm.added" not in types:
            types.append(next(events)["type"])
        self.assertIn("daemon.started", types)
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        self.assertIn("the daemon was restarted", process.stderr.read())

    def test_those_who_wait_use_up_no_thread_that_others_need(self):
        self.start()
        last = self.events()[-1]["number"]
        waiting = []
        for _ in range(20):  # more than there are threads
            client = connect(self.api)
            client.sendall(f"GET /v1/events?after={last}&wait_s=30 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            waiting.append(client)
        began = time.monotonic()
        self.cli("status")
        self.assertLess(time.monotonic() - began, 5)
        self.cli("vm", "add", "db1")
        for client in waiting:
            self.assertIn(b"200 OK", client.recv(65536))
            client.close()
        self.assertLess(time.monotonic() - began, 20)

    def test_a_daemon_ends_though_somebody_waits(self):
        daemon = self.start()
        self.follow()
        began = time.monotonic()
        self.assertEqual(self.stop(daemon), 0)
        self.assertLess(time.monotonic() - began, 10)


if __name__ == "__main__":
    unittest.main()
