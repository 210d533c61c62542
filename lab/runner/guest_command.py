"""Runs a command in a guest as if it ran here: streams and exit status."""

import os
import signal
import time

from .channel import INPUT_BYTES, PING_EVERY_SECONDS, SILENCE_SECONDS, Channel
from .errors import LabError

EXIT_TIMEOUT = 124
EXIT_NOT_STARTED = 127
KILL_GRACE_SECONDS = 5
LONGEST_COMMAND = 48000  # what fits a line of the channel


class GuestCommand:
    """One run. `stdin` is a descriptor, or None for an empty input."""

    def __init__(self, vm, arguments, timeout=None, stdin=None):
        self.vm = vm
        self.arguments = arguments
        self.stdin = stdin
        self.input_free = True   # the agent took what we sent last
        self.timeout = timeout
        self.timed_out = False
        self.sinks = {b"O": 1, b"E": 2}

    def run(self):
        """Returns the exit status; 128 + N for a signal; 124 after the timeout."""
        vector = b"".join(os.fsencode(word) + b"\0" for word in self.arguments)
        if len(vector) > LONGEST_COMMAND:
            raise LabError("the command", f"{len(vector)} bytes long, at most {LONGEST_COMMAND}",
                           "pass long input with -i")
        with Channel(self.vm) as channel:
            channel.hello()
            channel.send_encoded(b"RUN", vector)
            if self.stdin is None:
                channel.send(b"EOF")
            return self._follow(channel)

    def _follow(self, channel):
        now = time.monotonic()
        heard = pinged = now
        limit = now + self.timeout if self.timeout else None
        while True:
            wake = min(pinged + PING_EVERY_SECONDS, limit or now + 3600)
            watched = [self.stdin] if self.stdin is not None and self.input_free else []
            ready = channel.wait_readable(wake - now, *watched)
            now = time.monotonic()
            if channel.socket in ready:
                heard = now
                channel.receive()
                for kind, payload in channel.frames():
                    status = self._take(channel, kind, payload)
                    if status is not None:
                        return status
            if self.stdin is not None and self.stdin in ready:
                self._forward_input(channel)
            if now - heard > SILENCE_SECONDS:
                raise channel.error(f"silent for {SILENCE_SECONDS} s while a command ran",
                                    f"lab/vm kill {self.vm.index}, then bring it up again")
            if now - pinged >= PING_EVERY_SECONDS:
                channel.send(b"PING")
                pinged = now
            if limit and now >= limit:
                limit = now + KILL_GRACE_SECONDS
                self._end_it(channel)

    def _end_it(self, channel):
        number = signal.SIGKILL if self.timed_out else signal.SIGTERM
        self.timed_out = True
        channel.send(b"KILL %d" % number)

    def _forward_input(self, channel):
        data = os.read(self.stdin, INPUT_BYTES)
        if data:
            channel.send_encoded(b"IN", data)
            self.input_free = False
        else:
            channel.send(b"EOF")
            self.stdin = None

    def _take(self, channel, kind, payload):
        if kind in self.sinks:
            write_all(self.sinks[kind], payload)
        elif kind == b"T":
            self.input_free = True
        elif kind == b"X":
            word, number = payload.split()
            status = int(number) + (128 if word == b"signal" else 0)
            return EXIT_TIMEOUT if self.timed_out else status
        elif kind == b"F":
            write_all(2, b"lab: %s: %s: %s\n" % (self.vm.name.encode(),
                                                os.fsencode(self.arguments[0]), payload))
            return EXIT_NOT_STARTED
        elif kind == b"N":
            raise channel.error("restarted while a command ran", "")
        return None


def write_all(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]
