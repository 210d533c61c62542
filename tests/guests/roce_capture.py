"""What `paravane sniff` wrote: as Wireshark reads it, and byte by byte."""
import collections
import ipaddress
import json
import pathlib
import signal
import struct
import subprocess
import zlib

from guests import BUILD, Failed, wait_for

Packet = collections.namedtuple("Packet", "protocols opcode psn target interface outbound length info")

FIELDS = ["frame.protocols", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp", "frame.interface_name",
          "frame.packet_flags_direction", "frame.len", "_ws.col.Info"]

NAMES = {0x00: "SEND First", 0x01: "SEND Middle", 0x02: "SEND Last", 0x04: "SEND Only", 0x06: "WRITE First", 0x07: "WRITE Middle",
         0x08: "WRITE Last", 0x0A: "WRITE Only", 0x0C: "READ Request", 0x0D: "READ Response First", 0x0E: "READ Response Middle",
         0x0F: "READ Response Last", 0x10: "READ Response Only", 0x11: "Acknowledge", 0x12: "ATOMIC Acknowledge", 0x13: "CmpSwap",
         0x14: "FetchAdd", 0x64: "UD SEND Only", 0x65: "UD SEND Only with Immediate"}


class Sniffing:
    """A capture under way."""

    def __init__(self, rig, vm, file, *options):
        self.file = pathlib.Path(file)
        self.file.unlink(missing_ok=True)  # one of before would say that this capture has begun
        self.process = subprocess.Popen([BUILD / "bin" / "paravane", "--socket", rig.folder / "api.sock", "sniff", "--vm", vm,
                                         "-w", self.file, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        wait_for("the capture has begun", lambda: self.process.poll() is not None or
                 (self.file.exists() and self.file.stat().st_size > 0))

    def end(self):
        """As with Ctrl-C; what it said."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        if self.process.returncode != 0:
            raise Failed(f"paravane sniff: exit status {self.process.returncode}\n{said}")
        return said


def tshark(file, *words, stdin=None):
    # RoCE over IPv6 has no UDP checksum (RFC 6936), and not each short send is an RPC: Wireshark must be told.
    return run_tshark("-o", "udp.ignore_ipv6_zero_checksum:TRUE", "--disable-protocol", "rpcordma", "-r", str(file), *words, stdin=stdin)


def run_tshark(*words, stdin=None):
    done = subprocess.run(["tshark", *words], capture_output=True, text=True, timeout=60, check=False, stdin=stdin)
    if done.returncode != 0:
        raise Failed(f"tshark: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def dissected(file):
    """Every packet as Wireshark has it; fails where it finds a fault."""
    faults = tshark(file, "-Y", "_ws.malformed || _ws.expert.severity >= 6291456")
    if faults:
        raise Failed(f"Wireshark finds faults:\n{faults[:2000]}")
    text = tshark(file, "-T", "fields", "-E", "separator=|", *[word for field in FIELDS for word in ("-e", field)])
    packets = []
    for line in text.splitlines():
        protocols, opcode, psn, target, interface, direction, length, info = line.split("|", 7)
        packets.append(Packet(protocols, int(opcode or -1), int(psn or -1), int(target or "0", 0), interface,
                              direction.endswith("2"), int(length), info))
    return packets


def opcodes(packets):
    return {NAMES.get(packet.opcode, hex(packet.opcode)) for packet in packets}


def blocks(file):
    data, at = pathlib.Path(file).read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if struct.unpack_from("<I", data, at + length - 4)[0] != length:
            raise Failed(f"{file}: a block at {at} does not end as it begins")
        yield kind, data[at + 8:at + length - 4]
        at += length


def frames(file):
    """Pairs: what was kept of a packet, and its length on the wire."""
    for kind, body in blocks(file):
        if kind == 6:
            kept, original = struct.unpack_from("<II", body, 12)
            yield body[20:20 + kept], original


def received(statistics):
    """How many packets a statistics block says there were."""
    at = 12
    while at + 4 <= len(statistics):
        code, length = struct.unpack_from("<HH", statistics, at)
        if code == 4:
            return struct.unpack_from("<Q", statistics, at + 4)[0]
        at += 4 + (length + 3) // 4 * 4
    raise Failed("a statistics block does not say how many packets there were")


def has_good_icrc(frame):
    """By the specification and another implementation of the CRC than the daemon's."""
    kind, body = frame[12:14], bytearray(frame[14:-4])
    if kind == b"\x08\x00":
        base = 28
        for masked in (1, 8, 10, 11, 26, 27):
            body[masked] = 0xFF
    else:
        base = 48 if kind == b"\x86\xdd" else 40
        body[0] |= 0x0F
        for masked in (1, 2, 3, 7, *((46, 47) if base == 48 else ())):
            body[masked] = 0xFF
    body[base + 4] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(body))) == frame[-4:]


def address_of(frame):
    """The sender's."""
    if frame[12:14] == b"\x08\x00":
        return ipaddress.IPv4Address(frame[26:30])
    return ipaddress.IPv6Address(frame[22:38])


def captures(rig):
    """What the daemon has under way."""
    done = subprocess.run(["curl", "-s", "--unix-socket", rig.folder / "api.sock", "http://localhost/v1/captures"],
                          capture_output=True, text=True, timeout=20, check=True)
    return json.loads(done.stdout)["captures"]
