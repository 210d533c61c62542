"""What passes on a cable, or at an interface, in a network namespace of this machine."""
import socket
import sys

from guests import ROOT

sys.path.append(str(ROOT / "tests" / "daemon"))  # the last: both folders have a rig.py
from network import enter  # noqa: E402  (the line above makes it importable)

ETH_P_ALL = 3
ROCE_PORT = 4791
ETHERTYPES = b"\x08\x00", b"\x86\xdd"  # of IPv4 and IPv6


class CableCapture:
    """Frames from now on."""

    def __init__(self, namespace, interface):
        with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{namespace}", "rb") as there:
            enter(there)
            try:
                self.frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            finally:
                enter(home)
        self.frames.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.frames.bind((interface, ETH_P_ALL))
        self.frames.setblocking(False)

    def close(self):
        self.frames.close()

    def dscps(self, mac):
        """Of the RoCE v2 packets that this MAC address has sent and that have not been read yet: by the version of IP, each
        DSCP that was seen, and how often."""
        own = bytes.fromhex(mac.replace(":", ""))
        seen = {}
        while True:
            try:
                frame = self.frames.recv(65535)
            except BlockingIOError:
                return seen
            ip = frame[14:]
            version = ip[0] >> 4
            header, protocol = (20, ip[9]) if version == 4 else (40, ip[6])
            is_roce = protocol == socket.IPPROTO_UDP and int.from_bytes(ip[header + 2:header + 4], "big") == ROCE_PORT
            if frame[6:12] == own and frame[12:14] in ETHERTYPES and is_roce:
                traffic_class = ip[1] if version == 4 else int.from_bytes(ip[:2], "big") >> 4 & 0xFF
                counts = seen.setdefault(version, {})
                counts[traffic_class >> 2] = counts.get(traffic_class >> 2, 0) + 1
