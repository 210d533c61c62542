"""The serial line of a guest, at this terminal."""

import contextlib
import os
import select
import socket
import sys
import termios
import tty

from .errors import LabError

LEAVE = b"\x1d"  # Ctrl-]


def print_log(vm):
    try:
        with open(vm.path("console.log"), "rb") as file:
            sys.stdout.buffer.write(file.read().replace(b"\r", b""))
    except FileNotFoundError as error:
        raise LabError(vm.name, "has no console log", "lab/vm list") from error
    return 0


@contextlib.contextmanager
def raw_terminal(descriptor):
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def attach(vm):
    print(f"lab: console of {vm.name}; Ctrl-] leaves", file=sys.stderr)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        folder = os.open(vm.folder, os.O_PATH | os.O_DIRECTORY)
        line.connect(f"/proc/self/fd/{folder}/console.sock")
        os.close(folder)
        line.sendall(b"\n")
        with raw_terminal(0):
            while True:
                ready = select.select([0, line], [], [])[0]
                if line in ready:
                    data = line.recv(4096)
                    if not data:
                        return 0
                    os.write(1, data)
                if 0 in ready:
                    data = os.read(0, 1024)
                    if not data or LEAVE in data:
                        return 0
                    line.sendall(data)
