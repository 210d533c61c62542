#!/usr/bin/env python3
"""A host that has gone bad: speaks with others at their channel ports, as a stranger or as a member.

Usage: rogue.py member ADDRESS CLUSTER_DIRECTORY [NAME]    waits to be dialed, with that host's certificate
       rogue.py stranger ADDRESS                           dials, without one, until it is ended

With a NAME it keeps that host present in the inventory. As a member it is another kind of bad to
each that dials: MANNERS, in turn. Prints a line for each.
"""
import functools
import itertools
import os
import pathlib
import socket
import ssl
import struct
import sys
import threading
import time

from etcd_request import ask_etcd, keep_alive, lease_of

PORT = 28250
HEAD_BYTES, HEADER_BYTES = 128, 32
HELLO_KIND, HELLO_MAGIC = 1, 0x314C4E4843525650
STRANGERS = 80  # more than get a handshake at a time
HANDSHAKE_S = 10
KEEP_EVERY_S = 3  # a fifth of a host's lease


def head(block_bytes, direct_bytes=0, block=b""):
    """Of a record (src/wire/record.h)."""
    return (struct.pack("<IIQ", block_bytes, direct_bytes, 0) + bytes(16) + block).ljust(HEAD_BYTES, b"\0")


def hello():
    frame = struct.pack("<HBBQHHIQ", 28, HELLO_KIND, 0, HELLO_MAGIC, 1, 1, 0, 7)
    return head(HEAD_BYTES - HEADER_BYTES, 0, frame)


# What it says after the handshake, and whether it reads.
MANNERS = {
    "nothing": (b"", True),
    "garbage": (os.urandom(65536), True),
    "half a record": (hello() + head(4096), True),
    "a huge length": (hello() + head(0xFFFFFFFF, 0xFFFFFFFF), True),
    "an unknown frame": (hello() + head(HEAD_BYTES - HEADER_BYTES, 0, struct.pack("<HBB", 8, 99, 0)), True),
    "hello, and never reads": (hello(), False),
}


def misbehave(connection, manner):
    says, reads = MANNERS[manner]
    try:
        connection.sendall(says)
        while reads and connection.recv(65536):
            continue
        if not reads:
            time.sleep(10)
    except OSError:
        pass
    finally:
        connection.close()


def stay_present(name, directory):
    """On the lease of the daemon that was there: hosts dial none that is away."""
    ask = functools.partial(ask_etcd, [], directory)
    lease = lease_of(ask, f"hosts/{name}/")
    while True:
        keep_alive(ask, lease)
        time.sleep(KEEP_EVERY_S)


def member(address, directory):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(directory / "host.pem")
    context.load_verify_locations(directory / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["paravane/1"])
    context.num_tickets = 0
    listener = socket.create_server((address, PORT))
    print("ready", flush=True)
    for manner in itertools.cycle(MANNERS):
        plain, peer = listener.accept()
        plain.settimeout(HANDSHAKE_S)  # the next one waits for it
        try:
            connection = context.wrap_socket(plain, server_side=True)
        except (OSError, ssl.SSLError) as error:
            print(f"{peer[0]}: no handshake: {error}", flush=True)
            continue
        print(f"{peer[0]}: {manner}", flush=True)
        threading.Thread(target=misbehave, args=(connection, manner), daemon=True).start()


def stranger(address):
    """As many as get no further than the door: garbage, half a handshake, nothing."""
    half_a_hello = bytes([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]) + os.urandom(32)
    print("ready", flush=True)
    held = []
    for says in itertools.cycle((os.urandom(4096), half_a_hello, b"")):
        try:
            connection = socket.create_connection((address, PORT), timeout=2)
            connection.sendall(says)
            held.append(connection)
        except OSError:
            pass
        while len(held) > STRANGERS:
            held.pop(0).close()
        time.sleep(0.02)


def main():
    if len(sys.argv) in (4, 5) and sys.argv[1] == "member":
        directory = pathlib.Path(sys.argv[3])
        for name in sys.argv[4:]:
            threading.Thread(target=stay_present, args=(name, directory), daemon=True).start()
        member(sys.argv[2], directory)
    elif len(sys.argv) == 3 and sys.argv[1] == "stranger":
        stranger(sys.argv[2])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
