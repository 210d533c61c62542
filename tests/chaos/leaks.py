"""What the daemon holds when all is calm, compared with what it held at the start."""
from rig import Failed, wait_for

# A guest's kernel keeps these for itself while its driver runs.
OBJECTS = ("queue_pairs", "completion_queues", "memory_regions", "protection_domains", "shared_receive_queues")


class Leaks:
    def __init__(self, rig, vms):
        self.rig, self.vms = rig, [f"vm{number}" for number in range(1, vms + 1)]
        self.engine = rig.engine()
        self.objects = {vm: self.objects_of(vm) for vm in self.vms}
        self.descriptors, self.anonymous = self.held()

    def objects_of(self, vm):
        stats = self.rig.stats(vm)
        return {name: stats[name] for name in OBJECTS}

    def held(self):
        status = dict(line.split(":", 1) for line in (self.engine / "status").read_text().splitlines())
        return len(list((self.engine / "fd").iterdir())), int(status["RssAnon"].split()[0])

    def found(self):
        """Complaints; none is good."""
        if self.rig.engine() != self.engine:
            return ["the daemon is another than it was"]
        complaints = []
        for vm in self.vms:
            try:
                wait_for(f"{vm} gives back", lambda vm=vm: self.objects_of(vm) == self.objects[vm], 20, 0.3)
            except Failed:
                complaints.append(f"{vm} holds {self.objects_of(vm)}, at first {self.objects[vm]}")
        descriptors, anonymous = self.held()
        if descriptors > self.descriptors:
            complaints.append(f"the daemon holds {descriptors} descriptors, at first {self.descriptors}")
        if anonymous > self.anonymous + 16384:
            complaints.append(f"the daemon holds {anonymous} KiB of memory, at first {self.anonymous}")
        return complaints
