"""A capture of an InfiniBand port by `paravane sniff`, what tshark says of its packets, and their checksums, which tshark does not compare."""
import signal
import struct
import subprocess
import zlib

from rig import BIN, PATIENCE_S, wait_for

ENHANCED_PACKET = 6  # a block of pcapng
ERF_HEADER = 16  # bytes of a record before its packet
LOCAL_ROUTE, GLOBAL_ROUTE = 8, 40  # bytes of these headers
TRANSPORT_NEXT, GLOBAL_ROUTE_NEXT = 2, 3


def invariant_crc(packet):
    """IBTA volume 1, 7.8.1, of a packet up to its padding: what a switch or a router may change counts as ones."""
    masked = bytearray(packet)
    transport = LOCAL_ROUTE
    if packet[1] & 3 == GLOBAL_ROUTE_NEXT:
        transport += GLOBAL_ROUTE
        masked[:LOCAL_ROUTE] = b"\xff" * LOCAL_ROUTE
        masked[LOCAL_ROUTE] |= 0x0f  # traffic class and flow label
        masked[LOCAL_ROUTE + 1:LOCAL_ROUTE + 4] = b"\xff" * 3
        masked[LOCAL_ROUTE + 7] = 0xff  # hop limit
    else:
        masked[0] |= 0xf0  # virtual lane
    masked[transport + 4] = 0xff
    return struct.pack("<I", zlib.crc32(masked))


def variant_crc(packet):
    """7.8.2: x^16 + x^12 + x^3 + x + 1, bit by bit in the order of a wire."""
    crc = 0xffff
    for byte in packet:
        for bit in range(8):
            feedback = (crc >> 15) ^ (byte >> bit & 1)
            crc = (crc << 1 & 0xffff) ^ (0x100b if feedback else 0)
    sent = f"{crc ^ 0xffff:016b}"  # from the left, each byte from its lowest bit
    return bytes(int(sent[at:at + 8][::-1], 2) for at in (0, 8))


class Capture:
    """Of the port that makes an uplink, from now until end()."""

    def __init__(self, test, uplink, *words):
        self.test = test
        self.file = test.folder / f"{uplink}.pcapng"
        self.said = test.folder / f"{uplink}.said"
        with self.said.open("w") as said:
            self.process = subprocess.Popen([BIN / "paravane", "--socket", test.api, "sniff", "--uplink", uplink, "-w", self.file, *words],
                                            stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        wait_for(lambda: "press Ctrl-C to stop" in self.said.read_text() or self.process.poll() is not None, "the capture to begin")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.wait()

    def wait(self):
        """Until it ends."""
        self.test.assertEqual(self.process.wait(PATIENCE_S), 0, self.said.read_text())

    def whole_packets(self):
        """The bytes of each packet that the file has whole, from its local route header to its variant CRC."""
        data = self.file.read_bytes()
        order = "<" if data[8:12] == b"\x4d\x3c\x2b\x1a" else ">"
        packets = []
        at = 0
        while at < len(data):
            kind, length = struct.unpack_from(f"{order}II", data, at)
            if kind == ENHANCED_PACKET:
                kept, original = struct.unpack_from(f"{order}II", data, at + 20)
                if kept == original:
                    packets.append(data[at + 28 + ERF_HEADER:at + 28 + kept])
            at += length
        return packets

    def tshark(self, *words):
        done = subprocess.run(["tshark", "-n", "-r", str(self.file), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
        self.test.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done.stdout

    def packets(self, condition):
        """What tshark says of each packet that meets the condition, in a line."""
        return self.tshark("-Y", condition).splitlines()

    def fields(self, condition, *names):
        """(values of these fields, each a text) of each packet that meets the condition."""
        chosen = [word for name in names for word in ("-e", name)]
        lines = self.tshark("-Y", condition, "-T", "fields", *chosen).splitlines()
        return [tuple(line.split("\t")) for line in lines]

    def text(self, condition):
        """Packets that meet the condition, with everything that tshark says of them."""
        return self.tshark("-Y", condition, "-V")

    def assert_good(self):
        """That it has packets, and that Wireshark finds nothing wrong with one of them."""
        self.test.assertTrue(self.packets("infiniband"))
        self.test.assertEqual(self.packets("not infiniband"), [])
        wrong = "_ws.malformed or _ws.short or _ws.expert.severity == error or frame.drop_count > 0"
        self.test.assertEqual(self.packets(wrong), [], self.said.read_text())
        packets = self.whole_packets()
        self.test.assertEqual(len(packets), len(self.packets("frame")))
        for packet in packets:
            self.test.assertIn(packet[1] & 3, (TRANSPORT_NEXT, GLOBAL_ROUTE_NEXT), packet.hex())
            self.test.assertEqual(packet[-6:-2], invariant_crc(packet[:-6]), f"the invariant CRC of {packet.hex()}")
            self.test.assertEqual(packet[-2:], variant_crc(packet[:-2]), f"the variant CRC of {packet.hex()}")
