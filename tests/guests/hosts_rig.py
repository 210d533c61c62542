"""Hosts of a cluster with guests, as lab/cluster makes them; each guest is asked for by its number,
whatever host it is on.
"""
import pathlib
import shutil
import sys
import tempfile

import guest_facts
from guests import BUILD, ROOT, Guests, engine_of, make_overlay

sys.path.insert(0, str(ROOT / "lab"))
from runner import processes  # noqa: E402  (the line above makes it importable)
from runner.errors import LabError  # noqa: E402,F401  (what it fails with)
from runner.hosts import Hosts  # noqa: E402


class HostGuests(Guests):
    """Those of one of the hosts."""

    def __init__(self, host, overlay):
        super().__init__(pathlib.Path(host.folder), overlay, {"LAB_NETNS": host.space})
        self.host = host

    def engine(self):
        return engine_of(processes.recall(self.host.pid_file()))


class HostsRig:
    """Hosts 1, 2, ... each with a daemon; looks like a Rig whose guests are spread over them."""

    def __init__(self, count=2, others=None, channel=None, **more):
        """`others`, `channel`: as of Hosts; `more`: as of Hosts.add()."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="paravane-test-"))
        self.overlay = make_overlay(self.folder)
        self.lab = Hosts(self.folder / "cluster", str(BUILD / "bin" / "paravane"), others, channel)
        try:
            self.folder.chmod(0o755)
            self.lab.add(count, **more)
        except BaseException:
            self.close()
            raise
        self.hosts = [HostGuests(host, self.overlay) for host in self.lab.hosts]

    def up(self, *options, adapters=None):
        self.lab.up(["--overlay", str(self.overlay), *options], adapters)
        guest_facts.note(self, options)

    def wait_known(self):
        self.lab.wait_known()

    def set_link(self, number, up):
        """Pulls a host's cable to the others, or puts it back. Its switch has another."""
        self.lab.wire.set_link(f"h{number}", up)

    def host_of(self, vm):
        return self.hosts[self.lab.host_of(vm).number - 1]

    # ---- as a Rig ----

    def address_of(self, vm):
        return f"10.77.0.{vm}"

    def spawn(self, vm, *words, **more):
        return self.host_of(vm).spawn(vm, *words, **more)

    def guest(self, vm, *words, **more):
        return self.host_of(vm).guest(vm, *words, **more)

    def shell(self, vm, script, **more):
        return self.host_of(vm).shell(vm, script, **more)

    def wait_listening(self, vm, *ports):
        self.host_of(vm).wait_listening(vm, *ports)

    def wait_cm_listening(self, vm, port):
        self.host_of(vm).wait_cm_listening(vm, port)

    def daemon_log(self):
        return "\n".join(f"--- h{number}\n{host.daemon_log()}" for number, host in enumerate(self.hosts, 1))

    def stats(self, vm, **more):
        return self.host_of(vm).stats(f"vm{vm}", **more)

    def sends(self, vm):
        """How many requests a guest's device has carried out."""
        return self.stats(vm)["sends"]

    def close(self):
        self.lab.remove()
        shutil.rmtree(self.folder, ignore_errors=True)
