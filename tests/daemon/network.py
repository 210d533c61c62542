"""Network namespaces as hosts, wires between them, and programs at the other end of a tap."""

import contextlib
import ctypes
import fcntl
import json
import os
import select
import struct
import subprocess
import time

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 2, 0x1000, 0x4000
VNET_HEADER = bytes(10)  # nothing left to do
TEST_ETHERTYPE = 0x88B5  # for local experiments
PATIENCE_S = 30


def run(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                          stdin=subprocess.DEVNULL)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


class Namespace:
    """A network namespace until close()."""

    count = 0

    def __init__(self, what):
        Namespace.count += 1
        self.name = f"paravane-{os.getpid()}-{Namespace.count}-{what}"
        run("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")

    def close(self):
        run("ip", "netns", "delete", self.name, check=False)

    def ip(self, *words, check=True):
        return run("ip", "-n", self.name, *words, check=check)

    def tc(self, *words):
        return run("tc", "-n", self.name, *words)

    def links(self):
        """name -> what ip(8) knows of it."""
        return {link["ifname"]: link for link in json.loads(self.ip("-details", "-json", "link", "show") or "[]")}

    def before(self):
        """Words in front of a command that shall run in here."""
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    @contextlib.contextmanager
    def entered(self):
        """What this thread opens meanwhile, it opens in here."""
        with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{self.name}", "rb") as there:
            enter(there)
            try:
                yield
            finally:
                enter(home)

    def stream_to(self, address, count):
        """Sends bytes by TCP to an iperf3 that listens there; returns how many arrived.

        iperf3 ends when the sender's kernel has taken all bytes, so the last of them may never leave it.
        """
        return json.loads(run(*self.before(), "iperf3", "--json", "--client", address, "--bytes", count))["end"]["sum_received"]["bytes"]


def enter(namespace):
    if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def join(left, left_nic, right, right_nic):
    """A wire between two hosts."""
    run("ip", "link", "add", left_nic, "netns", left.name, "type", "veth", "peer", "name", right_nic, "netns", right.name)
    for host, nic in ((left, left_nic), (right, right_nic)):
        host.ip("link", "set", nic, "up")


class Tap:
    """The end of a tap that a VMM has, with the frames that it sends and gets."""

    count = 0  # of questions whether a frame arrives

    def __init__(self, host, name):
        with host.entered():
            self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
        except OSError:
            os.close(self.fd)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def send(self, text, tag=None):
        """A broadcast frame, with a VLAN's tag if one is named."""
        vlan = b"" if tag is None else struct.pack(">HH", 0x8100, tag)
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + vlan + struct.pack(">H", TEST_ETHERTYPE) + text.encode().ljust(64, b"\0")
        os.write(self.fd, VNET_HEADER + frame)

    def receive(self, seconds):
        """The text of the next frame of ours; None: there was none in that time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                return None
            frame = os.read(self.fd, 65536)[len(VNET_HEADER):]
            if frame[12:14] == b"\x81\0":
                frame = frame[:12] + frame[16:]
            if struct.unpack(">H", frame[12:14])[0] == TEST_ETHERTYPE:
                return frame[14:].rstrip(b"\0").decode()
        return None


def may_open(host, name, group):
    """Whether somebody who is nobody but a member of this group can be a tap's other end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with host.entered():  # nobody may open the file itself where udev has not been
                tap = os.open("/dev/net/tun", os.O_RDWR)
            os.setgroups([group])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
            status = 0
        except PermissionError:
            pass
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def reaches(sender, receiver):
    """Sends until a frame has arrived, for a port takes a moment to come up. True when it has."""
    end = time.monotonic() + PATIENCE_S
    number = 0
    while time.monotonic() < end:
        number += 1
        sender.send(f"wanted {number}")
        if (receiver.receive(0.2) or "").startswith("wanted"):
            return True
    return False


def is_cut_off(stranger, friend, receiver, tag=None):
    """Whether nothing of a stranger's has arrived when a friend's later frame has."""
    Tap.count += 1
    strange, last = f"stranger {Tap.count}", f"last {Tap.count}"
    stranger.send(strange, tag)
    friend.send(last)
    while text := receiver.receive(PATIENCE_S):
        if text == strange:
            return False
        if text == last:
            return True
    raise AssertionError("not even the friend's frame arrives")
