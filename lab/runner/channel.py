"""One command in a guest, over one of its virtio-serial ports.

The words are described in lab/agent/protocol.h. A port carries one command at a
time and belongs to whoever holds its lock file; the lock goes with the process,
so nothing has to be cleaned up after one that was killed.
"""

import base64
import fcntl
import os
import select
import socket
import struct
import time

from .errors import LabError
from .places import tail
from .qemu_command import AGENT_PORTS

HEADER = struct.Struct("<cI")
PORT_WAIT_SECONDS = 60
HELLO_SECONDS = 60
# A guest that answers no ping for this long is dead or was restarted.
SILENCE_SECONDS = 60
PING_EVERY_SECONDS = 5
INPUT_BYTES = 32768


class Channel:
    """A locked, connected port. Use as a context manager."""

    def __init__(self, vm):
        self.vm = vm
        self.lock = None
        self.socket = None
        self.received = b""

    def __enter__(self):
        limit = time.monotonic() + PORT_WAIT_SECONDS
        while not self._take_free_port():
            if time.monotonic() > limit:
                raise self.error(f"all {AGENT_PORTS} command ports are busy",
                                 "let a running command end first")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        if self.socket is not None:
            self.socket.close()
        if self.lock is not None:
            os.close(self.lock)

    def error(self, cause, remedy):
        return LabError(self.vm.name, cause, remedy, tail(self.vm.path("console.log")))

    def _take_free_port(self):
        for port in range(1, AGENT_PORTS + 1):
            lock = os.open(self.vm.path(f"port{port}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            self.lock = lock
            self._connect(f"port{port}.sock")
            return True
        return False

    def _connect(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(self.vm.folder, os.O_PATH | os.O_DIRECTORY)
        try:
            # By way of the descriptor: the path itself may be too long for a socket.
            self.socket.connect(f"/proc/self/fd/{folder}/{name}")
        except OSError as error:
            raise self.error(f"its QEMU does not answer ({error.strerror})",
                             f"lab/vm list; then lab/vm up --first {self.vm.index} 1") from error
        finally:
            os.close(folder)

    def hello(self, seconds=HELLO_SECONDS):
        """Waits until the agent answers us, dropping what an earlier client left."""
        nonce = os.urandom(8).hex().encode()
        expected = HEADER.pack(b"H", len(nonce)) + nonce
        self.send(b"\nHELLO " + nonce)
        limit = time.monotonic() + seconds
        while expected not in self.received:
            self.received = self.received[-len(expected):]
            if not self.wait_readable(limit - time.monotonic()):
                raise self.error(f"its agent did not answer within {seconds} s",
                                 "look at the console: lab/vm console " + str(self.vm.index))
            self.receive()
        self.received = self.received.partition(expected)[2]

    def send(self, line):
        self.socket.settimeout(SILENCE_SECONDS)
        try:
            self.socket.sendall(line + b"\n")
        except OSError as error:
            raise self.error(f"lost while sending ({error})", "lab/vm list") from error

    def send_encoded(self, word, data):
        self.send(word + b" " + base64.b64encode(data))

    def wait_readable(self, seconds, *others):
        """The ready ones among the port and `others`."""
        return select.select([self.socket, *others], [], [], max(0, seconds))[0]

    def receive(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            raise self.error("its QEMU ended while a command ran", "lab/vm list")
        self.received += data

    def frames(self):
        """The whole frames that have arrived, as (type, payload)."""
        while len(self.received) >= HEADER.size:
            kind, length = HEADER.unpack_from(self.received)
            end = HEADER.size + length
            if len(self.received) < end:
                return
            payload = self.received[HEADER.size:end]
            self.received = self.received[end:]
            yield kind, payload
