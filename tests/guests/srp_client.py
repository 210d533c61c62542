"""A VM that paravane runs with a LUN as its disk: fio in it, and what its host tells of the LUN's paths meanwhile."""
import datetime
import re

from guests import Failed, wait_for
from srp_rig import DISK, FIO, FIO_MIB, PATIENCE_S

PATH_WAIT_S = 15  # docs/srp.md: so long commands wait for a path, then they fail
UNREACHABLE, FAILING, PATH_BACK = "storage.device.unreachable", "storage.device.failing", "storage.path.active"


class LunClient:
    """vmN of a SrpPowerRig; `name`: the LUN's."""

    def __init__(self, rig, vm, name):
        self.rig, self.vm, self.name = rig, f"vm{vm}", name
        self.storage = rig.storage
        rig.start_with(vm, name)

    # ---- in the guest ----

    def written(self):
        """Sectors that its disk has taken."""
        return int(self.rig.shell_of(self.vm, f"cat /sys/block/{DISK.removeprefix('/dev/')}/stat").split()[6])

    def wait_written(self, what="fio to go on"):
        before = self.written()
        wait_for(what, lambda: self.written() > before, PATIENCE_S)

    def begin_fio(self):
        """Returns when it writes, which it does until it is stopped or fails."""
        self.rig.begin_in(self.vm, f"{FIO}3600")
        self.wait_written("fio to write")

    def fio_goes_on(self):
        return self.rig.goes_on_in(self.vm)

    def check_fio_is_right(self):
        """It goes on; then it is stopped. It has read blocks that it wrote, and each was as it had written it."""
        self.wait_written()
        self.rig.shell_of(self.vm, "kill -INT $(pidof fio)")
        said = self.rig.end_in(self.vm)
        read = re.search(r"issued rwts: total=(\d+),", said)
        if "ENDED-128" not in said or "err= 0" not in said or is_other_data(said) or not read or read[1] == "0":
            raise Failed(f"{said}\n{self.rig.daemon_log()[-3000:]}")

    def check_fio_fails(self):
        """By an error of its disk, and not since a block is another than it has written."""
        said = self.rig.end_in(self.vm)
        if "ENDED-1\n" not in said or "error=Input/output error" not in said or is_other_data(said):
            raise Failed(f"{said}\n{self.rig.daemon_log()[-3000:]}")

    def check_fio_during(self, act, *states):
        """fio goes on once `act` is over, in which its paths end; or it had to fail, since no path worked for too long, and the host tells so.
        Afterwards the states of its paths are these."""
        lost, failing = (len(self.storage.events(kind)) for kind in (UNREACHABLE, FAILING))
        self.begin_fio()
        moved = self.moved()
        act()
        before = self.written()
        wait_for("fio to go on or to end", lambda: not self.fio_goes_on() or self.written() > before, 2 * PATIENCE_S)
        self.wait_paths(*states)
        gaps = [self.seconds_to(PATH_BACK, one) for one in self.storage.events(UNREACHABLE)[lost:]]
        had_to_fail = any(gap >= PATH_WAIT_S for gap in gaps)
        if had_to_fail:
            self.check_fio_fails()
        else:
            self.check_fio_is_right()
        told = self.storage.events(FAILING)[failing:]
        if bool(told) != had_to_fail or self.moved() == moved:
            raise Failed(f"without a path for {gaps} s, and it is told: {told}; {self.moved() - moved} commands were under way when a path ended")

    def check_a_read_fails(self):
        self.rig.shell_of(self.vm, f"! dd if={DISK} of=/dev/null bs=4k count=1 iflag=direct 2>/tmp/why && grep -q 'Input/output error' /tmp/why")

    def sum(self):
        """Of the bytes that fio has written, which are the first ones."""
        return self.rig.shell_of(self.vm, f"dd if={DISK} bs=256k count={FIO_MIB * 4} iflag=direct 2>/dev/null | sha256sum", 2 * PATIENCE_S).split()[0]

    def sum_of_ram(self):
        """Of the same bytes, of a RAM disk of vm1."""
        return self.rig.shell(1, f"echo 3 >/proc/sys/vm/drop_caches; head -c {FIO_MIB << 20} /dev/ram0 | sha256sum").split()[0]

    # ---- on its host ----

    def device(self):
        return self.storage.device(self.name)

    def moved(self):
        """How many commands were under way when their path ended, so far."""
        return self.storage.counters(self.name)["moved"]

    def working_path(self):
        return next(one for one in self.storage.json("storage", "nmp", "device", "list") if one["Device"] == self.name)["WorkingPaths"]

    def target_of(self, path):
        """The GID of the target's port that a path leads to, by its runtime name."""
        path = next(one for one in self.storage.paths() if one["RuntimeName"] == path)
        return next(one["address"] for one in self.storage.targets() if (one["vmhba"], one["number"]) == (path["Adapter"], path["Target"]))

    def states(self):
        """Runtime name -> state, of the paths to it."""
        return {one["RuntimeName"]: one["State"] for one in self.storage.paths() if one["Device"] == self.name}

    def wait_states(self, what, is_so):
        """Until the states of its paths are so."""
        try:
            wait_for(what, lambda: is_so(self.states()), PATIENCE_S, interval=0.2)
        except Failed as late:
            raise Failed(f"{late}\n{self.storage.paths()}\n{self.storage.targets()}\n{self.rig.daemon_log()[-3000:]}") from None

    def wait_paths(self, *states):
        """Until those of its paths are these, in any order."""
        self.wait_states(f"paths to be {states}", lambda found: sorted(found.values()) == sorted(states))

    def seconds_to(self, kind, lost):
        """From an event, the loss of all paths, to the first one of this type after it."""
        then = next(one for one in self.storage.events(kind) if one["number"] > lost["number"])
        return (time_of(then) - time_of(lost)).total_seconds()


def is_other_data(said):
    """Whether fio has read a block that was another than it had written."""
    return "verify: bad" in said or "verify failed" in said


def time_of(event):
    return datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
