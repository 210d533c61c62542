"""lab/wire between two network namespaces."""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "daemon"))

from network import PATIENCE_S, TEST_ETHERTYPE, Namespace  # noqa: E402  (the line above makes it importable)

PACKET_IGNORE_OUTGOING, SOL_PACKET, SO_RCVBUFFORCE = 23, 263, 33


class Station:
    """A host at one end of the wire, that sends and gets raw frames."""

    def __init__(self, namespace):
        self.namespace = namespace
        with namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(TEST_ETHERTYPE))
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        self.socket.bind(("eth1", TEST_ETHERTYPE))

    def send(self, number, size=100):
        head = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack(">HI", TEST_ETHERTYPE, number)
        self.socket.send(head.ljust(size, b"\0"))

    def receive(self, seconds=PATIENCE_S):
        """The next number; None: none came in that time."""
        self.socket.settimeout(seconds)
        try:
            return struct.unpack(">I", self.socket.recv(65536)[14:18])[0]
        except TimeoutError:
            return None


@unittest.skipUnless(os.geteuid() == 0, "only root can make network namespaces")
class WireTest(unittest.TestCase):
    def setUp(self):
        self.ends = [Namespace("left"), Namespace("right")]
        for end in self.ends:
            self.addCleanup(end.close)
            # Nothing is to count as a frame but what the test sends.
            with end.entered(), open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w", encoding="utf-8") as off:
                off.write("1")

    def start(self, *options):
        """A wire, and a station at each end."""
        wire = subprocess.Popen([ROOT / "lab" / "wire", *(f"eth1@{end.name}" for end in self.ends), *options],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, wire)
        self.assertEqual(wire.stdout.readline(), "ready\n")
        stations = [Station(end) for end in self.ends]
        for station in stations:
            self.addCleanup(station.socket.close)
        return wire, *stations

    def end(self, wire):
        if wire.poll() is None:
            wire.kill()
        wire.communicate()

    def order(self, wire, line):
        wire.stdin.write(line + "\n")
        wire.stdin.flush()
        return wire.stdout.readline().strip()

    def counts(self, wire):
        return json.loads(self.order(wire, "counts"))

    def wait_frames(self, wire, count):
        """Until the wire has seen so many from left to right, and handed on or dropped all."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            way = self.counts(wire)["a_to_b"]
            done = way["delivered"] + way["lost"] + way["queue_full"] + way["while_down"] + way["refused"]
            if way["frames"] == count and done == count + way["duplicated"]:
                return way
            time.sleep(0.01)
        raise AssertionError(f"waited in vain for {count} frames: {way}")

    def drain(self, station):
        numbers = []
        while (number := station.receive(0.2)) is not None:
            numbers.append(number)
        return numbers

    def what_arrives(self, count, *options):
        """The numbers that arrive of so many frames, in their order, and the counts."""
        wire, left, right = self.start(*options)
        for number in range(count):
            left.send(number)
            if number % 100 == 99:  # a NIC queues a few hundred
                self.wait_frames(wire, number + 1)
        way = self.wait_frames(wire, count)
        arrived = self.drain(right)
        wire.terminate()
        self.assertEqual(wire.wait(PATIENCE_S), 0)
        return arrived, way

    def test_carries_frames_both_ways(self):
        wire, left, right = self.start()
        for number in range(100):
            left.send(number)
            self.assertEqual(right.receive(), number)
            right.send(number)
            self.assertEqual(left.receive(), number)
        counts = self.counts(wire)
        self.assertEqual([counts[way]["delivered"] for way in ("a_to_b", "b_to_a")], [100, 100])

    def test_loses_a_share_and_the_seed_says_which(self):
        first, way = self.what_arrives(2000, "--loss", "10%", "--seed", "7")
        again, _ = self.what_arrives(2000, "--loss", "10%", "--seed", "7")
        other, _ = self.what_arrives(2000, "--loss", "10%", "--seed", "8")
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertTrue(130 < way["lost"] < 270, way)
        self.assertEqual(len(first), 2000 - way["lost"])

    def test_repeats_all_faults_together(self):
        options = ("--loss", "5%", "--duplicate", "5%", "--reorder", "10%", "--reorder-by", "1ms", "--seed", "3")
        (first, way), (again, _) = self.what_arrives(1000, *options), self.what_arrives(1000, *options)
        self.assertEqual(sorted(first), sorted(again))
        self.assertTrue(20 < way["lost"] < 90 and 20 < way["duplicated"] < 90 and 60 < way["reordered"] < 150, way)

    def test_duplicates(self):
        arrived, way = self.what_arrives(500, "--duplicate", "100%")
        self.assertEqual(arrived, [number for number in range(500) for _ in range(2)])
        self.assertEqual(way["duplicated"], 500)

    def test_reorders(self):
        arrived, way = self.what_arrives(500, "--reorder", "20%", "--reorder-by", "20ms")
        self.assertEqual(sorted(arrived), list(range(500)))
        self.assertNotEqual(arrived, list(range(500)))
        self.assertGreater(way["reordered"], 50)

    def test_damages_one_bit(self):
        wire, left, right = self.start("--damage", "100%", "--seed", "5")
        sent = b"\xff" * 6 + b"\x02\0\0\0\0\1" + struct.pack(">H", TEST_ETHERTYPE) + bytes(1400)
        places, hidden = [], 0
        for number in range(50):
            left.socket.send(sent)
            self.wait_frames(wire, number + 1)
            try:
                right.socket.settimeout(0.05)
                arrived = right.socket.recv(65536)
            except TimeoutError:  # the bit was one of the frame's type or destination
                hidden += 1
                continue
            different = [at for at, (before, after) in enumerate(zip(sent, arrived)) if before != after]
            self.assertEqual(len(arrived), len(sent))
            self.assertEqual([(sent[at] ^ arrived[at]).bit_count() for at in different], [1])
            places += different
        self.assertGreater(len(set(places)), 40)
        self.assertLess(hidden, 5)
        self.assertEqual(self.counts(wire)["a_to_b"]["damaged"], 50)
        self.assertEqual(self.order(wire, "damage-from 1400"), "ok")
        for _ in range(20):
            left.socket.send(sent)
            arrived = right.socket.recv(65536)
            self.assertEqual(arrived[:1400], sent[:1400])
            self.assertNotEqual(arrived, sent)
        self.assertEqual(self.order(wire, "damage 0"), "ok")
        left.socket.send(sent)
        self.assertEqual(right.socket.recv(65536), sent)

    def test_delays_and_keeps_the_order(self):
        wire, left, right = self.start("--delay", "200ms")
        began = time.monotonic()
        for number in range(50):
            left.send(number)
        self.assertEqual([right.receive() for _ in range(50)], list(range(50)))
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        self.assertEqual(self.order(wire, "delay 0"), "ok")
        left.send(50)
        self.assertEqual(right.receive(), 50)

    def test_has_a_rate_and_a_queue(self):
        wire, left, right = self.start("--rate", "1mbit", "--queue", "10")
        began = time.monotonic()
        for number in range(30):
            left.send(number, 1000)
        way = self.wait_frames(wire, 30)
        self.assertEqual(self.drain(right), list(range(way["delivered"])))
        self.assertGreater(way["queue_full"], 0)
        self.assertGreaterEqual(time.monotonic() - began, 0.08)  # ten frames of 1024 bytes

    def test_takes_the_link_away_and_gives_it_back(self):
        wire, left, right = self.start()
        self.assertIn("LOWER_UP", self.ends[0].links()["eth1"]["flags"])
        self.assertEqual(self.order(wire, "down"), "ok")
        for end in self.ends:
            self.assertNotIn("LOWER_UP", end.links()["eth1"]["flags"])
        self.assertEqual(self.order(wire, "up"), "ok")
        end = time.monotonic() + PATIENCE_S
        while right.receive(0.1) is None:  # the kernel takes a moment
            self.assertLess(time.monotonic(), end)
            left.send(1)

    def test_takes_the_link_away_at_intervals(self):
        wire, _, _ = self.start("--down-every", "100ms", "--down-for", "100ms")
        seen = set()
        end = time.monotonic() + PATIENCE_S
        while len(seen) < 2 and time.monotonic() < end:
            seen.add("LOWER_UP" in self.ends[0].links()["eth1"]["flags"])
        self.assertEqual(seen, {True, False})
        self.assertIsNone(wire.poll())

    def test_leaves_nothing_behind(self):
        wire, left, right = self.start()
        left.socket.close()
        right.socket.close()
        wire.terminate()
        wire.wait(PATIENCE_S)
        for end in self.ends:
            self.assertEqual(set(end.links()), {"lo"})

    def test_carries_a_stream_of_tcp_whole_at_speed(self):
        wire, _, _ = self.start()
        for number, end in enumerate(self.ends):
            end.ip("address", "add", f"192.0.2.{number + 1}/24", "dev", "eth1")
        data = os.urandom(1 << 20)
        with self.ends[1].entered():
            server = socket.create_server(("192.0.2.2", 0))
        with self.ends[0].entered():
            client = socket.socket()
        server.settimeout(PATIENCE_S)
        client.settimeout(PATIENCE_S)
        rounds = 100

        def send():
            with client:
                client.connect(server.getsockname())
                for _ in range(rounds):
                    client.sendall(data)
        sender = threading.Thread(target=send)
        sender.start()
        with server, server.accept()[0] as receiver:
            receiver.settimeout(PATIENCE_S)
            began = time.monotonic()
            for _ in range(rounds):
                got = bytearray()
                while len(got) < len(data) and (piece := receiver.recv(len(data) - len(got))):
                    got += piece
                self.assertEqual(got, data)
        seconds = time.monotonic() - began
        sender.join()
        print(f"{rounds * len(data) * 8 / seconds / 1e9:.2f} Gbit/s", file=sys.stderr)
        self.assertGreater(self.counts(wire)["a_to_b"]["frames"], rounds * len(data) / 1500)  # no long segments

    def test_refuses_what_it_does_not_know(self):
        wire, _, _ = self.start()
        self.assertIn("error", self.order(wire, "loss 2"))
        self.assertIn("error", self.order(wire, "loss"))
        self.assertIn("error", self.order(wire, "speed 1"))
        for words in ([], ["a"], ["a@x", "b@x", "--loss", "2"], ["a@x", "b@x", "--delay", "1d"], ["a", "b", "--seed", "x"]):
            done = subprocess.run([ROOT / "lab" / "wire", *words], capture_output=True, check=False)
            self.assertEqual(done.returncode, 2, words)
        done = subprocess.run([ROOT / "lab" / "wire", "a@no-such-namespace", "b"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a@no-such-namespace: cannot enter the namespace", done.stderr)


if __name__ == "__main__":
    unittest.main()
