"""What the daemons hold when all is calm, compared with what they held at the start."""
from holdings import Daemon
from rig import Failed, wait_for

# A guest's kernel keeps these for itself while its driver runs.
OBJECTS = ("queue_pairs", "completion_queues", "memory_regions", "protection_domains", "shared_receive_queues")


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
