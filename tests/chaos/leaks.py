"""What the daemons hold when all is calm, compared with what they held at the start."""
from rig import Failed, wait_for

# A guest's kernel keeps these for itself while its driver runs.
OBJECTS = ("queue_pairs", "completion_queues", "memory_regions", "protection_domains", "shared_receive_queues")
MORE_KIB = 16384


class Daemon:
    """What one of them held at the start."""

    def __init__(self, host, name):
        self.host, self.name, self.engine = host, name, host.engine()
        self.descriptors, self.anonymous = self.held()

    def held(self):
        status = dict(line.split(":", 1) for line in (self.engine / "status").read_text().splitlines())
        return len(list((self.engine / "fd").iterdir())), int(status["RssAnon"].split()[0])

    def found(self):
        descriptors, anonymous = self.held()
        if descriptors > self.descriptors:
            yield f"{self.name} holds {descriptors} descriptors, at first {self.descriptors}"
        if anonymous > self.anonymous + MORE_KIB:
            yield f"{self.name} holds {anonymous} KiB of memory, at first {self.anonymous}"


class Leaks:
    def __init__(self, rig, vms):
        self.rig, self.vms = rig, vms
        self.daemons = [Daemon(host, f"the daemon of host {number}") for number, host in enumerate(rig.hosts, 1)]
        self.objects = {vm: self.objects_of(vm) for vm in vms}

    def objects_of(self, vm):
        stats = self.rig.host_of(vm).stats(f"vm{vm}")
        return {name: stats[name] for name in OBJECTS}

    def found(self, started_again):
        """Complaints; none is good. `started_again`: the hosts whose daemon is another one now."""
        complaints = []
        for vm in self.vms:
            try:
                wait_for(f"vm{vm} gives back", lambda vm=vm: self.objects_of(vm) == self.objects[vm], 20, 0.3)
            except Failed:
                complaints.append(f"vm{vm} holds {self.objects_of(vm)}, at first {self.objects[vm]}")
        for number, daemon in enumerate(self.daemons, 1):
            if number in started_again:
                continue
            if daemon.host.engine() != daemon.engine:
                complaints.append(f"{daemon.name} is another than it was")
            else:
                complaints += daemon.found()
        return complaints
