"""Who gets a channel between hosts and who does not, and what the operator reads of it."""

import base64
import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import unittest

from etcd_request import ROOT, coded
from hosts import ClusterTest, wait_for
from network import enter

ROGUE = pathlib.Path(__file__).with_name("rogue.py")
LIFETIME_S = 30


class ChannelTest(ClusterTest):
    def wait_channels(self, *hosts):
        for host in hosts:
            for to in hosts:
                if to is not host:
                    wait_for(lambda host=host, to=to: host.channel(to)[0] == "encrypted", f"{host.name} to {to.name}")

    def end_connections(self, host):
        """As a box in the middle would, that forgets its connections."""
        words = host.space.words("ss", "-H", "-n", "-t", "-K", "state", "established", "( dport = :28250 or sport = :28250 )")
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20)
        self.assertIn(":28250", done.stdout)

    def causes(self, host, to):
        return re.findall(f"host {to.name}: no channel: (.*)", host.log_text())

    def assert_named_once(self, host, to, text, since):
        """Of the causes from the one with that index on: what there was before a long channel may come again."""
        causes = self.causes(host, to)[since:]
        self.assertEqual(len([cause for cause in causes if text in cause]), 1, causes)
        self.assertEqual(len(causes), len(set(causes)), causes)


class Expired(ChannelTest):
    def test_an_expired_certificate_gets_no_channel_and_one_that_is_there_stays(self):
        hosts = h1, h2, h3 = self.cluster(3, f"certificate_lifetime_s = {LIFETIME_S}\n")
        self.wait_channels(*hosts)
        self.wire.cut("h1")  # nobody renews anything
        wait_for(lambda: all(host.status()["certificate_left_s"] == 0 for host in (h2, h3)), "the certificates to end")
        time.sleep(1)
        for host, to in (h2, h3), (h3, h2):
            self.assertEqual(host.channel(to), ("encrypted", ""))
            self.assertLessEqual(host.log_text().count("certificate was not renewed"), 6, host.log_text())
        before, made = len(self.causes(h2, h3)), h3.log_text().count("host h2: channel")
        self.end_connections(h2)
        wait_for(lambda: "certificate has expired" in h2.channel(h3)[1], "h2 to see why")
        time.sleep(6)  # it tries again and again
        self.assert_named_once(h2, h3, "certificate verify failed: certificate has expired", before)
        self.assertEqual(h2.channel(h3)[0], "none")
        self.assertEqual(h3.channel(h2)[0], "none")
        self.assertEqual(h3.log_text().count("host h2: channel"), made)


class Restarted(ChannelTest):
    def test_a_host_that_dials_and_is_started_again_is_connected_at_both_ends(self):
        hosts = h1, h2, h3 = self.cluster(3)
        self.wait_channels(*hosts)
        for _ in range(3):  # what it does and what it says of itself reach the others in any order
            h1.end()
            h1.start()
            self.wait_channels(*hosts)

    def test_a_host_publishes_its_channel_only_when_it_listens(self):
        """Release 0.1.0 loses a channel that is made before it reads that the other host's channel is closed."""
        h1, h2 = self.cluster(2)
        self.wait_channels(h1, h2)

        def read(**at):
            return h1.etcd("/v3/kv/range", {"key": coded(f"{ROOT}hosts/h2/info"), **at})

        began = int(read()["header"]["revision"])
        h2.end(kill=True)
        h2.start()
        self.wait_channels(h1, h2)
        published = [base64.b64decode(one["value"]).decode() for at in range(began, int(read()["header"]["revision"]) + 1)
                     for one in read(revision=at).get("kvs", [])]
        self.assertGreater(len(set(published)), 0)
        for info in map(json.loads, published):
            self.assertEqual((info["port"], info.get("closed")), (28250, None), published)


class Marked(ChannelTest):
    ETH_P_ALL = 3
    PORTS = range(28250, 28762)

    def capture(self, host):
        """A socket that gets what the host sends and receives from now on."""
        with open("/proc/thread-self/ns/net", "rb") as home, open(f"/proc/{host.space.holder.pid}/ns/net", "rb") as there:
            enter(there)
            try:
                packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(self.ETH_P_ALL))
            finally:
                enter(home)
        self.addCleanup(packets.close)
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        packets.bind(("eth0", self.ETH_P_ALL))
        packets.setblocking(False)
        return packets

    def classes(self, packets):
        """The types of service of TCP packets: of the channel, by their sender, and of all else."""
        channel, others = {}, set()
        while True:
            try:
                frame = packets.recv(65535)
            except BlockingIOError:
                return channel, others
            ip = frame[14:]
            if frame[12:14] != b"\x08\x00" or ip[9] != socket.IPPROTO_TCP:
                continue
            tcp = ip[4 * (ip[0] & 15):]
            if {int.from_bytes(tcp[at:at + 2], "big") for at in (0, 2)} & set(self.PORTS):
                channel.setdefault(socket.inet_ntoa(ip[12:16]), set()).add(ip[1])
            else:
                others.add(ip[1])

    def exchange(self, more=""):
        h1, h2 = self.cluster(2, more, channels=False)
        packets = self.capture(h1)
        for host in h1, h2:
            host.open_channel()
        self.wait_channels(h1, h2)
        return self.classes(packets)

    def test_packets_of_the_channel_have_dscp_26_from_the_first_on_at_both_ends(self):
        channel, others = self.exchange()
        self.assertEqual(channel, {"10.77.0.1": {26 << 2}, "10.77.0.2": {26 << 2}})
        self.assertEqual(others, {0})  # etcd's

    def test_the_file_names_another_dscp(self):
        self.assertEqual(self.exchange("[channel]\ndscp = 46\n")[0], {"10.77.0.1": {46 << 2}, "10.77.0.2": {46 << 2}})


class Strangers(ChannelTest):
    def test_a_host_of_another_authority_is_turned_away_and_turns_away(self):
        h1, h2 = self.cluster(2)
        self.wait_channels(h1, h2)
        before = len(self.causes(h1, h2))
        h2.end(kill=True)
        # Somebody else at h2's address, whose authority is another one with the same name.
        foreign = h2.folder / "foreign"
        foreign.mkdir()
        for name, words in (
                ("authority", ["-subj", "/CN=paravane", "-days", "2"]),
                ("host", ["-subj", "/", "-days", "2", "-addext",
                          f"subjectAltName=URI:paravane://{h1.status()['cluster']}/host/h2"])):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-keyout", foreign / f"{name}.key", "-out", foreign / f"{name}.crt", *words],
                           check=True, capture_output=True, timeout=20)
        (foreign / "authority.pem").write_text((foreign / "authority.crt").read_text())
        (foreign / "host.pem").write_text((foreign / "host.key").read_text() + (foreign / "host.crt").read_text())
        rogue = subprocess.Popen(h2.space.words(sys.executable, ROGUE, "member", h2.address, foreign),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(rogue.wait)
        self.addCleanup(rogue.kill)
        wait_for(lambda: "certificate verify failed" in h1.channel(h2)[1], "h1 to see why")
        time.sleep(6)
        self.assert_named_once(h1, h2, "certificate verify failed", before)
        rogue.kill()
        rogue.wait()
        h2.start()
        self.wait_channels(h1, h2)  # the right one

    def test_strangers_are_turned_away_and_the_log_stays_short(self):
        h1, h2 = self.cluster(2)
        self.wait_channels(h1, h2)
        before = self.causes(h1, h2)  # it was there before h2 listened
        began = time.monotonic()
        stranger = subprocess.Popen(h2.space.words(sys.executable, ROGUE, "stranger", h1.address),
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        wait_for(lambda: "a connection was refused" in h1.log_text(), "a line")
        time.sleep(12)
        self.assertEqual(h1.channel(h2), ("encrypted", ""))
        self.assertEqual(self.causes(h1, h2), before)
        windows = (time.monotonic() - began) // 10 + 1  # of ten seconds, with three lines each
        self.assertLessEqual(h1.log_text().count("a connection was refused"), 3 * (windows + 1))
        wait_for(lambda: re.search(r"refused: .* \([1-9]\d* lines suppressed\)", h1.log_text()), "what was kept back")
        stranger.kill()
        self.end_connections(h2)  # and the others get in again
        wait_for(lambda: self.causes(h1, h2) != before, "it to be noticed")
        self.wait_channels(h1, h2)


if __name__ == "__main__":
    unittest.main()
