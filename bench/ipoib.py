#!/usr/bin/env python3
"""IPoIB between two hosts, beside a plain relay: two daemons in network namespaces with a cable between their switches, under
Debian's opensm, and a station (a network namespace) on an uplink of each.

The relay (paravane_tap_relay) is between two more stations of the same two hosts: tap, TLS connection of the same settings, tap. Both
are measured in turns at MTU 4092: one TCP stream of iperf3, ping there and back, and frames of 64 bytes that iperf3 sends as fast as
it can (UDP, 18 bytes each; those that arrive are counted). Then what an idle cable wakes up, and how long the subnet takes after
`paravane infiniband restart` of a host, among two hosts and among sixteen.

Usage: bench/ipoib.py [--repetitions N] [--seconds S] [--json FILE]; needs root
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("PARAVANE_BIN", str(ROOT / "build" / "release" / "bin"))
sys.path.insert(0, str(ROOT / "tests" / "infiniband"))
from cable_rig import SETTINGS, CableTest, Station  # noqa: E402  (the line above makes it importable)
from floor_figures import AT_LEAST, AT_MOST, figure, show, status_of  # noqa: E402  (of this folder)
from rig import BIN, PATIENCE_S, children_of, wait_for  # noqa: E402

MTU = 4092  # of IPoIB in a partition of mtu=5
SMALL_PAYLOAD = 18  # with headers and checksum a frame of 64 bytes
PINGS = 300
IDLE_WINDOWS, IDLE_WINDOW_S, SETTLE_S = 3, 30, 20
MANY_HOSTS = 16  # with a cable from each to each
RESTARTS = 5  # opensm ignores more than ten traps of a switch in a row
RELAY = "paravane_tap_relay over the same two hosts: tap, TLS, tap"


class TwoHosts(CableTest):
    """Not a test: the rig of those for cables, with the relay beside the cable."""

    def setUp(self):
        super().setUp()
        h1, h2 = self.hosts
        self.opensm = h1.opensm()
        self.let_manage()
        self.wait_active()
        self.make_switch(MTU)
        self.uplinks = Path(self, [host.bridges("lan")[0] for host in self.hosts], "a", "192.0.2")
        self.relays = Path(self, [self.relay_bridge(host) for host in self.hosts], "r", "198.51.100")
        self.start_relay(h1, "listen", h1.address)
        self.start_relay(h2, "dial", h1.address)
        for path in self.uplinks, self.relays:
            path.near.wait_for(path.far_address)

    def relay_bridge(self, host):
        host.space.run("ip", "link", "add", "relay", "type", "bridge", "mcast_snooping", "0")
        host.space.run("ip", "tuntap", "add", "dev", "relay-tap", "mode", "tap")
        host.space.run("ip", "link", "set", "relay-tap", "mtu", MTU, "master", "relay", "up")
        host.space.run("ip", "link", "set", "relay", "up")
        return "relay"

    def start_relay(self, host, role, address):
        words = host.space.words(BIN / "paravane_tap_relay", "relay-tap", role, address, host.file("host.pem"), host.file("authority.pem"))
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.kill)
        if role == "listen":
            wait_for(lambda: f"{address}:7472" in subprocess.run(host.space.words("ss", "-ltn"), capture_output=True, text=True,
                                                                 check=True).stdout, "the relay to listen")


class Path:
    """A station of each host, and the way between them."""

    def __init__(self, rig, bridges, name, prefix):
        self.rig, self.far_address = rig, f"{prefix}.2"
        self.near, self.far = (Station(host, f"{name}{number}", bridge, f"{prefix}.{number}/24", mtu=MTU)
                               for number, (host, bridge) in enumerate(zip(rig.hosts, bridges), 1))

    def iperf(self, *words):
        """What the receiving end says."""
        for tries_left in (2, 1, 0):
            try:
                return self.run_iperf(*words)
            except (AssertionError, subprocess.TimeoutExpired) as error:  # a lost first datagram of UDP is not sent again
                if not tries_left:
                    raise
                print(f"ipoib: iperf3 is tried again: {error}", file=sys.stderr)

    def run_iperf(self, *words):
        server = subprocess.Popen([*self.far.network.before(), "iperf3", "--server", "--one-off"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            wait_for(lambda: ":5201" in self.far.run("ss", "-ltn"), "iperf3 to listen")
            return json.loads(self.near.run("iperf3", "--client", self.far_address, "--json", *words))["end"]
        finally:
            server.kill()
            server.wait(PATIENCE_S)

    def stream(self, seconds):
        """MB/s."""
        return self.iperf("--time", seconds)["sum_received"]["bits_per_second"] / 8e6

    def small_frames(self, seconds):
        """Thousands per second that arrive."""
        end = self.iperf("--udp", "--bitrate", 0, "--length", SMALL_PAYLOAD, "--time", seconds)["sum"]
        return (end["packets"] - end["lost_packets"]) / end["seconds"] / 1000

    def there_and_back(self, _):
        """Microseconds; the next one goes when the last one is back."""
        said = self.near.run("ping", "-A", "-c", PINGS, self.far_address)
        return 1000 * statistics.median(map(float, re.findall(r"time=([\d.]+) ms", said)))


# Name, unit, method of Path, how many pairs for one repetition, what is demanded of the ratio.
QUESTIONS = [
    ("IPoIB, one TCP stream, MTU 4092", "MB/s", Path.stream, 1, AT_LEAST, 0.7),
    ("IPoIB, ping there and back", "us", Path.there_and_back, 5, AT_MOST, 1.5),  # short, and disturbed the most by other programs
    ("IPoIB, frames of 64 B", "k/s", Path.small_frames, 1, AT_LEAST, 0.6),
]


def beside_relay(rig, repetitions, seconds):
    for name, unit, method, times, sense, limit in QUESTIONS:
        print(f"ipoib: {name}", file=sys.stderr)
        # The first pair warms up.
        pairs = [(method(rig.relays, seconds), method(rig.uplinks, seconds)) for _ in range(times * repetitions + 1)][1:]
        floor, ours = zip(*pairs)
        yield figure(name, unit, ours, sense, limit, floor, RELAY)


def subnet_wakeups(host):
    """Of the thread of its subnet: how often it has slept. Other programs that take its processor are not its wake-ups."""
    engine = children_of(host.daemon.pid)[0]
    for task in pathlib.Path(f"/proc/{engine}/task").iterdir():
        if (task / "comm").read_text().strip() == "subnet":
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.M)[1])
    sys.exit(f"{sys.argv[0]}: {host.name} has no thread of a subnet")


def idle(rig):
    """A subnet of one cable, with uplinks, whose manager answers them, and asks for nothing itself: that would be work."""
    print("ipoib: wake-ups of an idle cable", file=sys.stderr)
    rig.opensm.kill()
    rig.opensm.wait(PATIENCE_S)
    rig.opensm = rig.hosts[0].opensm(settings=SETTINGS + "sweep_interval 0\n")
    rig.wait_active()
    time.sleep(SETTLE_S)
    counts = []
    for _ in range(IDLE_WINDOWS):
        before = [subnet_wakeups(host) for host in rig.hosts]
        time.sleep(IDLE_WINDOW_S)
        counts += [(subnet_wakeups(host) - was) / IDLE_WINDOW_S for host, was in zip(rig.hosts, before)]
    return figure("IPoIB, idle, one cable, at each of its ends", "wake-ups/s", counts, AT_MOST, 1)


class ManyHosts(CableTest):
    """Not a test either."""

    HOSTS = MANY_HOSTS

    def setUp(self):
        super().setUp()
        self.hosts[0].opensm()
        self.let_manage()
        self.wait_active()
        self.wait_linked()


def restarts(rig, hosts):
    """Until the ports of the host and its end of each cable are Active again."""
    print(f"ipoib: the subnet of {hosts} hosts after a restart of one", file=sys.stderr)
    host, links = rig.hosts[1], {f"host {other.name}" for other in rig.hosts if other is not rig.hosts[1]}

    def is_up():
        return host.are_active() and links <= {link["peer"] for link in host.fabric()["links"] if link["state"] == "Active"}
    took = []
    for _ in range(RESTARTS):
        wait_for(is_up, f"the subnet of {host.name}")
        began = time.monotonic()
        host.cli("infiniband", "restart")
        wait_for(is_up, f"the subnet of {host.name}")
        took.append(time.monotonic() - began)
    return figure(f"IPoIB, {hosts} hosts, subnet up after a restart of one", "s", took, AT_MOST, 3)


@contextlib.contextmanager
def made(kind):
    rig = kind()
    try:
        rig.setUp()
        yield rig
    finally:
        rig.doCleanups()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5, help="pairs of relay and uplink, of pings five times as many (%(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="of each run of iperf3 (%(default)s)")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    with made(TwoHosts) as rig:
        figures = [*beside_relay(rig, options.repetitions, options.seconds), idle(rig)]
        rig.opensm.kill()
        rig.opensm.wait(PATIENCE_S)
        rig.opensm = rig.hosts[0].opensm()
        figures.append(restarts(rig, len(rig.hosts)))
    with made(ManyHosts) as rig:
        figures.append(restarts(rig, len(rig.hosts)))
    show(figures)
    if options.json:
        options.json.write_text(json.dumps({"repetitions": options.repetitions, "figures": figures}, indent=2) + "\n")
    return status_of(figures)


if __name__ == "__main__":
    sys.exit(main())
