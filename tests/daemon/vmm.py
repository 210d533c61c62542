"""A VMM that says hello over vfio-user and does nothing else."""

import socket
import struct

HELLO = (b'{"capabilities": {"pgsizes": 4096, "max_msg_fds": 16, "max_dma_maps": 65535, '
         b'"max_data_xfer_size": 1048576, "migration": {"max_bitmap_size": 268435456, '
         b'"pgsize": 4096}, "write_multiple": true}}\0')


class Refused(Exception):
    """The server answered with an error, or hung up."""


class Vmm:
    """Attached to a VM's socket while it lives."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(str(path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def negotiate(self):
        """The server's answer to VERSION: its JSON text."""
        payload = struct.pack("=HH", 0, 0) + HELLO
        self.socket.sendall(struct.pack("=HHIII", 1, 1, 16 + len(payload), 0, 0) + payload)
        _, command, size, flags, error = struct.unpack("=HHIII", self.read(16))
        if command != 1 or flags != 1:
            raise Refused(f"command {command}, flags {flags:#x}, error {error}")
        return self.read(size - 16)[4:]

    def answers(self):
        """Asks for the device's properties."""
        self.socket.sendall(struct.pack("=HHIII", 2, 4, 32, 0, 0) + struct.pack("=IIII", 16, 0, 0, 0))
        number, command, size, flags, _ = struct.unpack("=HHIII", self.read(16))
        self.read(size - 16)
        return (number, command, flags) == (2, 4, 1)

    def read(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise Refused("the server closed the connection")
            data += piece
        return data

    def is_closed(self):
        """Waits for the server's end; False if it sends something instead."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def attach(path):
    vmm = Vmm(path)
    vmm.negotiate()
    return vmm
