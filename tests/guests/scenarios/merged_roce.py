"""In a guest, whose kernel has what merges packets before a RoCE port, or is too old for it: a host with a switch and VMs a and b,
of which a has a RoCE port, and a stranger at the other end of the host's wire. What comes to the port is compared with what the
stranger sent, packet by packet with its CRC. Ends with "done"."""

import contextlib
import fcntl
import os
import platform
import re
import select
import socket
import struct
import subprocess
import time
import zlib

from network import IFF_NO_PI, IFF_TAP, IFF_VNET_HDR, TUNSETIFF, Namespace, join, run

TUNSETOFFLOAD, TUNSETVNETHDRSZ = 0x400454D0, 0x400454D8
OFFLOADS = 0x01 | 0x20 | 0x40  # checksums, UDP over IPv4 and over IPv6
VNET, NEEDS_CHECKSUM, GSO_NONE, GSO_UDP = struct.Struct("<BBHHHH"), 1, 0, 5
OURS, THEIRS, OTHERS = bytes.fromhex("025056000009"), bytes.fromhex("020000000001"), bytes.fromhex("025056000008")
ROCE_UDP, ROCE_V1 = 4791, 0x8915
HEAD, PLAN = "paravane-switch-plan 1;", "switch lan 1500 nic 0;tap a 1 lan 0;tap b 1 lan 0;"
PORT = "roce a 1 02:50:56:00:00:09 1;"
MERGES = tuple(int(part) for part in platform.release().split(".")[:2]) >= (6, 10)


def make(host, plan):
    done = subprocess.run(["ip", "netns", "exec", host.name, "paravane-switch", "nic"], input=HEAD + plan, capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def changes_nothing(host, plan):
    """Whether a look at a pair that is as it should be makes no news of it and its rules."""
    ears = [subprocess.Popen([program, "-n", host.name, "monitor", *what], stdout=subprocess.PIPE, text=True)
            for program, *what in (("ip", "link"), ("tc",))]
    time.sleep(2)
    make(host, plan)
    time.sleep(1)
    for ear in ears:
        ear.terminate()
    news = "".join(ear.communicate()[0] for ear in ears)
    return not re.search("pv[mf]-a", news) or news


# ---- packets ----

def sum16(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def ipv4(udp_bytes, identification, dont_fragment=True):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + udp_bytes, identification, 0x4000 * dont_fragment, 64, 17, 0,
                       bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return head[:10] + struct.pack(">H", sum16(head) ^ 0xFFFF) + head[12:]


def ipv6(udp_bytes, *_):
    return struct.pack(">IHBB", 6 << 28, udp_bytes, 17, 64) + b"\xfe\x80" + bytes(13) + b"\1" + b"\xfe\x80" + bytes(13) + b"\2"


def icrc(network, udp, transport):
    """Of the headers as they are sent and what follows UDP's, without the CRC."""
    masked = bytearray(network)
    if network[0] >> 4 == 4:
        masked[1], masked[8], masked[10:12] = 0xFF, 0xFF, b"\xff\xff"
    else:
        masked[0:4], masked[7] = bytes([network[0] | 0x0F, 0xFF, 0xFF, 0xFF]), 0xFF
    covered = b"\xff" * 8 + bytes(masked) + udp[:6] + b"\xff\xff" + transport[:4] + b"\xff" + transport[5:]
    return struct.pack("<I", zlib.crc32(covered))


def udp_header(port, transport_bytes, check=0):
    return struct.pack(">HHHH", port, ROCE_UDP, 8 + transport_bytes, check)


def packet(psn, payload, port=0xC000, network=ipv4, identification=0, checksum=False, to=OURS):
    """A frame of RoCE v2 and its part from the base header to the CRC."""
    transport = struct.pack(">BBHII", 0x07, 0, 0xFFFF, 0x11, psn) + bytes((psn * 7 + i) & 0xFF for i in range(payload))
    head, udp = network(8 + len(transport) + 4, identification), udp_header(port, len(transport) + 4)
    transport += icrc(head, udp, transport)
    if checksum:
        pseudo = head[12:20] if head[0] >> 4 == 4 else head[8:40]
        sum_all = sum16(pseudo + struct.pack(">HH", 17, 8 + len(transport)) + udp + transport) ^ 0xFFFF
        udp = udp_header(port, len(transport), sum_all or 0xFFFF)
    return to + THEIRS + (b"\x08\0" if head[0] >> 4 == 4 else b"\x86\xdd") + head + udp + transport, transport


# ---- ends ----

class Stranger:
    """Sends what gathers until release() at once, as a NIC hands over what has come."""

    def __init__(self, host):
        self.host = host
        host.tc("qdisc", "add", "dev", "far", "root", "netem", "slot", "300ms", "300ms", "limit", "4000")
        with host.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.socket.bind(("far", 0))

    def send(self, frames):
        for frame in frames:
            self.socket.send(frame)


class Port:
    """The engine's end of the RoCE port."""

    def __init__(self, host, name):
        with host.entered():
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        if MERGES:
            fcntl.ioctl(self.fd, TUNSETOFFLOAD, OFFLOADS)
        fcntl.ioctl(self.fd, TUNSETVNETHDRSZ, struct.pack("i", VNET.size))

    def receive(self, count, seconds=10):
        """Frames with this many packets in all, each as (segment size or 0, frame)."""
        frames = []
        while sum(len(split(*frame)) for frame in frames) < count:
            assert select.select([self.fd], [], [], seconds)[0], (count, [(size, len(frame)) for size, frame in frames])
            data = os.read(self.fd, 1 << 17)
            _, kind, _, size, _, _ = VNET.unpack(data[:VNET.size])
            assert kind in (GSO_NONE, GSO_UDP), kind
            frames.append((size if kind == GSO_UDP else 0, data[VNET.size:]))
        return frames

    def is_silent(self):
        return not select.select([self.fd], [], [], 1)[0]


def forwarded_from(send, port):
    """A port of a bridge takes frames a moment after it is up."""
    first = packet(0, 16)[0]
    for _ in range(60):
        send(first)
        if select.select([port.fd], [], [], 0.5)[0]:
            break
    while not port.is_silent():
        os.read(port.fd, 1 << 17)


def network_bytes(frame):
    return 20 if frame[12:14] == b"\x08\0" else 40


def split(size, frame):
    """From base header to CRC, of each packet."""
    if frame[12:14] == struct.pack(">H", ROCE_V1):
        return [frame[14:]]
    at = 14 + network_bytes(frame) + 8
    end = 14 + network_bytes(frame) + struct.unpack(">H", frame[at - 4:at - 2])[0]
    whole = frame[at:end]
    return [whole[i:i + size] for i in range(0, len(whole), size)] if size else [whole]


def has_good_crcs(size, frame):
    """Each with the headers that its packet had: identifications count up from the frame's, or are all the same."""
    length = network_bytes(frame)
    first = struct.unpack(">H", frame[18:20])[0] if length == 20 else 0
    for number, one in enumerate(split(size, frame)):
        udp = frame[14 + length:14 + length + 2] + udp_header(0, len(one))[2:]
        heads = [(ipv4 if length == 20 else ipv6)(8 + len(one), (first + step * number) & 0xFFFF) for step in (1, 0)]
        if one[-4:] not in [icrc(head, udp, one[:-4]) for head in heads]:
            return False
    return True


def exchange(stranger, port, packets):
    """Sends them in one batch. Returns how many packets each frame had in which they came: all, in order, with their CRCs."""
    stranger.send([frame for frame, _ in packets])
    frames = port.receive(len(packets))
    came = [one for frame in frames for one in split(*frame)]
    assert came == [transport for _, transport in packets], "other packets, or in another order"
    assert all(has_good_crcs(*frame) for frame in frames)
    return [len(split(*frame)) for frame in frames]


def expect_merged(counts, packets):
    """In as few frames as 64 KiB hold, of packets with 1 KiB, and one or two more for the batch's ends."""
    assert sum(counts) == packets
    assert (len(counts) <= packets // 40 + 3) == MERGES, counts


# ---- what is shown ----

def check_flows(stranger, port):
    count = 120
    for name, packets in {
            "identifications that count up": [packet(i, 1024, identification=(65500 + i) & 0xFFFF) for i in range(count)],
            "identifications that are 0": [packet(i, 1024) for i in range(count)],
            "IPv6": [packet(i, 1024, network=ipv6) for i in range(count)],
            "checksums": [packet(i, 1024, identification=i, checksum=True) for i in range(count)],
            "checksums now and then": [packet(i, 1024, identification=i, checksum=i % 3 == 0) for i in range(count)]}.items():
        counts = exchange(stranger, port, packets)
        print(name, counts, flush=True)
        expect_merged(counts, count)
    # None of these can be put together again, so each comes alone.
    counts = exchange(stranger, port, [packet(i, 1024, identification=i * 40503 & 0xFFFF) for i in range(count)])
    print("identifications at random", counts, flush=True)
    assert counts == [1] * count, counts


def check_company(stranger, port):
    """Acknowledgements and messages of other lengths of the same flow, other flows, and RoCE v1, which goes another way."""
    lengths = [1024] * 20 + [4] + [1024] * 10 + [4] * 30 + [512] * 10 + [16] + [1024] * 5
    counts = exchange(stranger, port, [packet(i, length, identification=i) for i, length in enumerate(lengths)])
    print("lengths", counts, flush=True)
    assert not MERGES or len(counts) < len(lengths) / 3
    flows = {source: [packet(i, 256, port=source, identification=i) for i in range(30)] for source in (0xC000, 0xC001, 0xFFFF)}
    v1 = OURS + THEIRS + struct.pack(">H", ROCE_V1) + bytes(range(80))
    frames = [one[i][0] for i in range(30) for one in flows.values()]
    stranger.send(frames[:45] + [v1] + frames[45:])
    came = {source: [] for source in (*flows, None)}
    for size, frame in port.receive(91):
        source = struct.unpack(">H", frame[34:36])[0] if frame[12:14] == b"\x08\0" else None
        assert source is None or has_good_crcs(size, frame)
        came[source] += split(size, frame)
    assert came[None] == [v1[14:]], came[None]
    for source, packets in flows.items():
        assert came[source] == [transport for _, transport in packets], source


def check_wall(host, stranger, port):
    """What is not for the adapter does not come, by the host's wire or by the ends of the pair."""
    good, transport = packet(1, 64)
    other = packet(2, 64, to=OTHERS)[0]
    no_roce = good[:36] + struct.pack(">H", 4792) + good[38:]
    stranger.send([other, no_roce, good])
    assert [one for frame in port.receive(1) for one in split(*frame)] == [transport]
    if MERGES:
        with host.entered():
            inside = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        for end in ("pvm-a", "pvf-a"):
            inside.bind((end, 0))
            for frame in (other, no_roce, THEIRS + good[6:]):
                inside.send(frame)
        inside.close()
    assert port.is_silent()


def received(host, link):
    return int(re.search(r"RX:.*\n\s+\d+\s+(\d+)", host.ip("-s", "link", "show", "dev", link))[1])


def check_guest(host, port):
    """A guest's frame of many packets without a checksum is cut apart before one is filled in."""
    if not MERGES:
        return
    size, packets = 100, 5
    head, udp = ipv4(8 + size * packets, 7), udp_header(0xC000, size * packets)
    frame = OURS + OTHERS + b"\x08\0" + head + udp + bytes(range(250)) * 2
    with contextlib.closing(os.fdopen(Port(host, "pv-b").fd, "wb", buffering=0)) as guest:
        forwarded_from(lambda one: guest.write(bytes(VNET.size) + one), port)
        before = received(host, "pvf-a")
        guest.write(VNET.pack(NEEDS_CHECKSUM, GSO_UDP, 42, size, 34, 6) + frame)
        came = [one for frame in port.receive(packets) for one in split(*frame)]
    assert came == [frame[42 + i * size:42 + (i + 1) * size] for i in range(packets)]
    assert received(host, "pvf-a") == before + packets


def check_life(host, stranger, port):
    def merges():
        expect_merged(exchange(stranger, port, [packet(i, 1024, identification=i) for i in range(60)]), 60)
    if MERGES:
        for words in ("qdisc del dev pvf-a clsact", "qdisc del dev pvm-a clsact", "qdisc del dev pv-a clsact"):
            host.tc(*words.split())
            assert "unmerged" not in make(host, PLAN + PORT)
            merges()
        host.ip("link", "del", "pvf-a")
        make(host, PLAN + PORT)
        merges()
        host.ip("link", "set", "pvm-a", "down")
        make(host, PLAN + PORT)
        merges()
        make(host, PLAN.replace("1500", "9000") + PORT)
        assert all(host.links()[name]["mtu"] == 9000 for name in ("pvm-a", "pvf-a", "pvr-a"))
        merges()
    make(host, PLAN)
    assert not [name for name in host.links() if name.startswith(("pvr", "pvm", "pvf", "pvP"))], host.links()
    make(host, "")
    assert not [name for name in host.links() if name.startswith("pv")], host.links()


def main():
    host, far = Namespace("host"), Namespace("far")
    join(host, "nic", far, "far")
    report = make(host, PLAN + PORT)
    print(report, flush=True)
    assert ("unmerged a 1" in report) != MERGES, report
    assert ("pvm-a" in host.links()) == MERGES
    assert (news := changes_nothing(host, PLAN + PORT)) is True, news
    guest, port = Port(host, "pv-a"), Port(host, "pvr-a")
    run("dmesg", "-c", check=False)
    stranger = Stranger(far)
    forwarded_from(lambda one: stranger.send([one]), port)
    check_flows(stranger, port)
    check_company(stranger, port)
    check_wall(host, stranger, port)
    check_guest(host, port)
    check_life(host, stranger, port)
    os.close(guest.fd)
    log = run("dmesg", check=False)
    assert not re.search("WARNING|BUG|Oops|bad offload", log), log
    print("done")


main()
