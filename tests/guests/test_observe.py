"""Metrics and events of a host whose guests do something."""
import json
import pathlib
import re
import socket
import sys
import unittest

from guests import ROOT, wait_for
from hosts_rig import HostsRig
from rig import Exchange, Rig

sys.path.append(str(ROOT / "tests" / "daemon"))
from metric_names import named_by_dashboard, names_in  # noqa: E402  (the line above makes it importable)

SIZE, COUNT = 65536, 500


def page_of(guests):
    """The page of metrics of a host's daemon."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(30)
        client.connect(str(pathlib.Path(guests.folder) / "api.sock"))
        client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    return answer.partition(b"\r\n\r\n")[2].decode()


def value(page, name, **labels):
    """Of the series that has these labels; 0: there is none."""
    for line in page.splitlines():
        if line.startswith(name + "{") and all(f'{key}="{text}"' in line for key, text in labels.items()):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def write_bw(exchange):
    words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-x", "0", "-F", "-p", "18515", "-s", str(SIZE), "-n", str(COUNT)]
    _, text = exchange.run(words, [*words, exchange.address], port=18515)
    assert re.search(rf"^ {SIZE} +{COUNT} ", text, re.M), text


class Observed(unittest.TestCase):
    """Two guests of one host."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2)

    def events(self):
        return [(event["type"], event["fields"].get("vm")) for event in
                json.loads(self.rig.cli("events", "--formatter=json").stdout)]

    def test_counters_move_by_what_ib_write_bw_moved(self):
        before = page_of(self.rig)
        write_bw(Exchange(self.rig, server=1, client=2))
        moved = SIZE * COUNT

        def grown(name, device):
            labels = {"device": device, "port": "1"}
            return value(page_of(self.rig), name, **labels) - value(before, name, **labels)
        # The page may be a second old. The program itself sends little besides.
        wait_for("what was written is counted",
                 lambda: grown("node_infiniband_port_data_received_bytes_total", "vm1/1") >= moved, 5)
        for device, name in (("vm1/1", "received"), ("vm2/1", "transmitted")):
            bytes_moved = grown(f"node_infiniband_port_data_{name}_bytes_total", device)
            self.assertGreaterEqual(bytes_moved, moved)
            self.assertLess(bytes_moved, moved * 1.01 + 100_000)
        self.assertGreaterEqual(grown("node_infiniband_rx_write_requests_total", "vm1/1"), COUNT)
        page = page_of(self.rig)
        self.assertEqual(value(page, "node_infiniband_state_id", device="vm1/1"), 4)
        self.assertGreaterEqual(value(page, "paravane_path_bytes_total", path="local"), moved)

    def test_who_attaches_and_detaches_is_told_of(self):
        write_bw(Exchange(self.rig, server=1, client=2))
        for vm in "vm1", "vm2":
            for event in "vm.attached", "port.up", "path.made", "path.ended":
                self.assertIn((event, vm), self.events())
        self.rig.lab("down")
        wait_for("the VMMs are gone", lambda: {("vm.detached", "vm1"), ("vm.detached", "vm2")} <= set(self.events()))
        self.rig.up(2)


class ObservedHosts(unittest.TestCase):
    """A guest on each of two hosts."""

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.rig.wait_known()

    def test_what_dashboard_and_alerts_ask_for_is_there(self):
        self.rig.hosts[0].cli("impair", "set", "--vm", "vm1", "--delay", "1us")
        server = self.rig.spawn(1, "ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "0", "-p", "18600", "-n", "100000")
        try:
            self.rig.wait_listening(1, 18600)
            client = self.rig.spawn(2, "ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "0", "-p", "18600", "-n", "100000", "10.77.0.1")
            try:
                wait_for("all of it is in a page",
                         lambda: named_by_dashboard() <= names_in(page_of(self.rig.hosts[0])), 20)
            finally:
                client.end()
        finally:
            server.end()

    def test_hosts_and_channels_are_events(self):
        types = [event["type"] for event in json.loads(self.rig.hosts[0].cli("events", "--formatter=json").stdout)]
        for wanted in "cluster.member", "cluster.host_joined", "channel.open", "cluster.connected":
            self.assertIn(wanted, types)


if __name__ == "__main__":
    unittest.main()
