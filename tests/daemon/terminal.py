"""A command at a terminal of its own, whose questions are answered."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

ROWS, COLUMNS = 50, 240  # no table is cut


def at_terminal(words, answers=(), patience_s=60, environment=None):
    """What it prints there, and its exit status. `answers`: pairs of what it asks and what is typed then."""
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and programs would inherit that
        os.execvpe(words[0], words, environment if environment is not None else os.environ)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    seen, answered = "", 0
    late = time.monotonic() + patience_s
    while time.monotonic() < late:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break  # the last that had it open is gone
        if not piece:
            break
        seen += piece.decode(errors="replace")
        for prompt, answer in answers:
            end = seen.find(prompt, answered)
            if end >= 0:
                answered = end + len(prompt)
                os.write(terminal, answer.encode())
    else:
        os.kill(child, signal.SIGKILL)
    # Before the terminal is closed, which hangs up a program that has closed its output and not ended yet.
    status = os.waitpid(child, 0)[1]
    os.close(terminal)
    return seen.replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)
