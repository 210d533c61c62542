"""WatchedWorker: the thread of an engine that serves VMs, whose system calls are seen as they are made, and which is ended at one of them. All of it by
one thread of the test, as root."""
import ctypes
import os
import pathlib
import signal
import socket
import time

SEIZE, INTERRUPT, CONT, SYSCALL, DETACH, SYSCALL_INFO = 0x4206, 0x4207, 7, 24, 17, 0x420E
TRACESYSGOOD = 1  # tells stops of system calls from signals
OF_SYSCALL = signal.SIGTRAP | 0x80
ENTRY, EXIT = 1, 2
WAIT_FOR_THREAD = 0x40000000  # __WALL

# Of x86-64.
RECVMSG, PIDFD_GETFD = 47, 438
DMA_MAP, DMA_UNMAP = 2, 3  # commands of vfio-user

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


class SyscallInfo(ctypes.Structure):
    """struct ptrace_syscall_info."""
    _fields_ = [("op", ctypes.c_uint8), ("padding", ctypes.c_uint8 * 3), ("arch", ctypes.c_uint32), ("ip", ctypes.c_uint64), ("sp", ctypes.c_uint64),
                ("words", ctypes.c_uint64 * 8)]  # at entry the number and its arguments, at exit the result


def ptrace(request, thread, address=None, data=None):
    if LIBC.ptrace(request, thread, address, data) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def worker_of(engine):
    for task in (pathlib.Path("/proc") / str(engine) / "task").iterdir():
        if (task / "comm").read_text().strip() == "worker":
            return int(task.name)
    raise AssertionError("no thread is called worker")


def socket_of(engine, path):
    """The descriptor by which an engine hears the VMM at the socket of that path. (That socket is in the VMM's network namespace, where ss would find it.)"""
    process = os.pidfd_open(engine)
    try:
        for link in (pathlib.Path("/proc") / str(engine) / "fd").iterdir():
            if not os.readlink(link).startswith("socket:"):
                continue
            with socket.socket(fileno=copy_of(process, int(link.name))) as one:
                listens = one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                if one.family == socket.AF_UNIX and not listens and one.getsockname() == str(path):
                    return int(link.name)
    finally:
        os.close(process)
    raise AssertionError(f"no VMM is attached at {path}")


def copy_of(process, descriptor):
    found = LIBC.syscall(PIDFD_GETFD, process, descriptor, 0)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


class WatchedWorker:
    def __init__(self, engine):
        self.engine, self.thread = engine, worker_of(engine)
        ptrace(SEIZE, self.thread, None, TRACESYSGOOD)
        ptrace(INTERRUPT, self.thread)
        os.waitpid(self.thread, WAIT_FOR_THREAD)

    def stop_after(self, is_wanted, seconds, enough=1):
        """Stops it where it has made so many system calls that are wanted: by number, arguments and result. False: it has not in this time, and goes on unwatched."""
        end, call = time.monotonic() + seconds, None
        while enough > 0:
            ptrace(SYSCALL, self.thread)
            if not self.wait_stop(end):
                ptrace(DETACH, self.thread)
                return False
            info = SyscallInfo()
            ptrace(SYSCALL_INFO, self.thread, ctypes.sizeof(info), ctypes.addressof(info))
            if info.op == ENTRY:
                call = info.words[0], list(info.words)[1:7]
            elif info.op == EXIT and call:
                enough -= bool(is_wanted(*call, ctypes.c_int64(info.words[0]).value))
        return True

    def wait_stop(self, end):
        """At a system call."""
        while True:
            pid, status = os.waitpid(self.thread, WAIT_FOR_THREAD | os.WNOHANG)
            if pid == 0:
                if time.monotonic() > end:
                    ptrace(INTERRUPT, self.thread)
                    os.waitpid(self.thread, WAIT_FOR_THREAD)
                    return False
                time.sleep(0.0001)
            elif not os.WIFSTOPPED(status):
                raise AssertionError(f"the engine ended by itself: {status:#x}")
            elif os.WSTOPSIG(status) == OF_SYSCALL:
                return True
            else:
                passed_on = os.WSTOPSIG(status) if status >> 16 == 0 else 0
                ptrace(SYSCALL, self.thread, None, passed_on)

    def end_by(self, number):
        """Where it stands, as if it had been its own fault, unless that is SIGKILL."""
        if number == signal.SIGKILL:
            os.kill(self.engine, number)
        else:
            ptrace(CONT, self.thread, None, int(number))
        while not os.WIFSIGNALED(os.waitpid(self.thread, WAIT_FOR_THREAD)[1]):
            ptrace(CONT, self.thread, None, int(number))

    def command_of(self, message):
        """Of the vfio-user header that recvmsg() has put into the first piece of this struct msghdr."""
        with open(f"/proc/{self.engine}/mem", "rb", buffering=0) as memory:
            def number(at, size):
                memory.seek(at)
                return int.from_bytes(memory.read(size), "little")
            return number(number(number(message + 16, 8), 8) + 2, 2)
