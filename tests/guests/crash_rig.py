"""CrashRig: a daemon whose engine is killed under two guests."""
import json
import os
import signal
import time

from guests import Failed
from rig import Rig, wait_for

BACK_S = 10  # from modprobe -r to a device that works


class CrashRig(Rig):
    def kill_engine(self, number=signal.SIGKILL):
        """Returns the seconds until another one serves."""
        before = self.engine()
        began = time.monotonic()
        os.kill(int(before.name), number)
        self.wait_another(before)
        return time.monotonic() - began

    def wait_another(self, before):
        wait_for("another engine", lambda: self.engine_if_any() not in (None, before), 10)
        wait_for("the API", lambda: self.cli("status", check=False).returncode == 0, 10)

    def engine_if_any(self):
        try:
            return self.engine()
        except (StopIteration, FileNotFoundError, ProcessLookupError):
            return None

    def adapters(self):
        return [vm["adapters"][0] for vm in json.loads(self.cli("vm", "list", "--formatter=json").stdout)]

    def states(self):
        return [adapter["state"] for adapter in self.adapters()]

    def reload(self, vm, unload="modprobe -r vmw_pvrdma"):
        """The driver. Returns the seconds until the device works."""
        began = time.monotonic()
        try:
            self.shell(vm, unload, timeout=60)
            self.shell(vm, "modprobe vmw_pvrdma && until ibv_devinfo 2>/dev/null | grep -q PORT_ACTIVE; do sleep 0.05; done", timeout=60)
        except Failed as failure:
            known = self.shell(vm, "echo w >/proc/sysrq-trigger; dmesg | tail -120; for p in /proc/[0-9]*; do grep -qE 'rdma|nvme|ib_|cm_' $p/stack 2>/dev/null && cat $p/comm $p/stack; done; cat /proc/modules; ibv_devinfo || true")
            raise Failed(f"{failure}\n{self.adapters()}\n{known}\ndaemon: {self.daemon_log()[-4000:]}") from None
        took = time.monotonic() - began
        assert took < BACK_S, f"vm{vm} was back after {took:.1f} s"
        return round(took, 1)

    def ping(self):
        """A connection between the guests, whose bytes are compared."""
        server = self.spawn(1, "rping", "-s", "-C", "100", "-S", "65000", "-V")
        self.wait_cm_listening(1, 7174)
        self.spawn(2, "rping", "-c", "-a", self.address_of(1), "-C", "100", "-S", "65000", "-V").expect_success(60)
        server.expect_success(30)
