#!/usr/bin/env python3
"""The end of a cable for a port that is elsewhere: carries the bytes of a cable, which another host of the cluster dials, to a
socket file and back.

Usage: cable_relay.py ADDRESS CLUSTER_DIRECTORY NAME SOCKET

ADDRESS, CLUSTER_DIRECTORY and NAME are those of a host whose daemon has ended: its certificate is shown, and it stays present in
the inventory. Each connection to SOCKET is one line of the cable; the next one replaces it.
"""
import pathlib
import selectors
import socket
import ssl
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cluster"))
from rogue import HANDSHAKE_S, PORT, stay_present  # noqa: E402  (the line above makes it importable)

PROTOCOL = "paravane-cable/1"
MOST_BYTES = 1 << 18  # that wait in one direction


class Side:
    """A socket that never blocks, and what waits to be sent there."""

    def __init__(self, end):
        end.setblocking(False)
        self.end, self.out = end, bytearray()

    def read(self):
        """Bytes; b"": nothing now; None: it is over."""
        try:
            return self.end.recv(65536) or None
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return b""
        except OSError:
            return None

    def flush(self):
        try:
            while self.out:
                del self.out[:self.end.send(self.out)]
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            pass

    def events(self, other):
        reads = selectors.EVENT_READ if len(other.out) < MOST_BYTES else 0
        return reads | (selectors.EVENT_WRITE if self.out else 0)


def carry(one, other):
    """Until either is over."""
    sides = Side(one), Side(other)
    with selectors.DefaultSelector() as selector:
        for side in sides:
            selector.register(side.end, selectors.EVENT_READ)
        while True:
            for side, far in (sides, sides[::-1]):
                while len(far.out) < MOST_BYTES and (came := side.read()) != b"":
                    if came is None:
                        return
                    far.out += came
                far.flush()
            for side, far in (sides, sides[::-1]):
                selector.modify(side.end, side.events(far) or selectors.EVENT_READ)
            selector.select()


class Relay:
    """One line at a time."""

    def __init__(self, path):
        self.path, self.line, self.turn = path, None, threading.Lock()

    def take(self, connection):
        if self.line:
            try:
                self.line.shutdown(socket.SHUT_RDWR)  # ends carry()
            except OSError:
                pass
        with self.turn:
            self.line = connection
            with connection, socket.socket(socket.AF_UNIX) as port:
                try:
                    port.connect(self.path)
                    print("a line begins", flush=True)
                    carry(connection, port)
                except OSError as error:
                    print(f"a line ends: {error}", flush=True)
            print("a line has ended", flush=True)


def main():
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    address, directory, name, path = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    threading.Thread(target=stay_present, args=(name, directory), daemon=True).start()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(directory / "host.pem")
    context.load_verify_locations(directory / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols([PROTOCOL])
    context.num_tickets = 0
    relay = Relay(path)
    listener = socket.create_server((address, PORT))
    print("ready", flush=True)
    while True:
        plain, _ = listener.accept()
        plain.settimeout(HANDSHAKE_S)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection = context.wrap_socket(plain, server_side=True)
        except (OSError, ssl.SSLError) as error:
            print(f"no handshake: {error}", flush=True)
            continue
        if connection.selected_alpn_protocol() != PROTOCOL:
            connection.close()  # a channel
            continue
        threading.Thread(target=relay.take, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
