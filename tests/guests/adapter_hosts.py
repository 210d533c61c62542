"""AdapterHosts: guests that play hosts, each with an RDMA adapter, which is Linux's rdma_rxe on its NIC. What they run is of
this machine (host_programs.py)."""
import pathlib
import shutil
import tempfile

import host_programs
from guests import BUILD, Guests, make_overlay

DEVICE = "rxe0"
NOBODY = 65534


class AdapterHosts(Guests):
    """Hosts 1, 2, ... at 10.77.0.1, 10.77.0.2, ..."""

    def __init__(self, count=2):
        self.count = count
        folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        super().__init__(folder, make_overlay(folder))
        (self.folder / "paravaned.log").touch()  # this machine has no daemon
        programs = host_programs.folder_in(self.overlay)
        for program in (BUILD / "guest" / "host").iterdir():
            host_programs.put_program(program, programs)
        host_programs.put_rxe(self.overlay)
        host_programs.put_users(self.overlay, nobody=NOBODY)

    def boot(self, *options):
        """With the rules for files that the engine's sandbox has, which guests are without otherwise."""
        self.up(self.count, "--no-rdma", "--memory", "1024", "--append", "lsm=landlock", *options)
        for host in range(1, self.count + 1):
            self.shell(host, "modprobe rdma_rxe")
            self.add_adapter(host)

    def add_adapter(self, host):
        self.guest(host, "rdma", "link", "add", DEVICE, "type", "rxe", "netdev", "eth0")

    def remove_adapter(self, host):
        self.guest(host, "rdma", "link", "delete", DEVICE)

    def program(self, host, name, *words, timeout=120):
        """Runs one of this machine's in a host; returns what it says, and fails unless it succeeds."""
        return self.guest(host, str(host_programs.FOLDER / name), *words, timeout=timeout)

    def close(self):
        self.lab("down")
        shutil.rmtree(self.folder, ignore_errors=True)
