"""What must be so when nothing happens any more: the engines hold what they held, and the logs say nothing that was not expected."""
import re

from holdings import Daemon

# What a daemon's log may say of the mishaps, by those and by the rig.
EXPECTED = [re.compile(text) for text in (
    # hosts and lines that go
    r"^host h\d: no (channel|InfiniBand cable): ",
    r"^the cable to host h\d is down: ",
    r"^(cluster|etcd)\b",
    r"^host h\d has not said whether its VMs wait for this host; going on",
    # strangers and hostile hosts
    r"^channels: a connection was refused: ",
    # engines that are killed
    r"^the engine was killed by signal 9 \(KILL\)",
    r"^a new engine serves, since the one before it was killed by signal 9 \(KILL\)",
    # managers that are killed; ports without a manager, or disabled
    r"^the subnet manager at port \d of InfiniBand adapter \S+ has ended",
    r"^port \d of InfiniBand adapter \S+ is not Active any more: ",
    r"^switch lan: vmnic3\d: it has no link",
    r"^switch lan: uplink vmnic3\d carries the frames instead of vmnic3\d",
    # captures
    r"^vmnic32: (traffic is being captured for an API client|the capture ended, because no client reads it)",
    # stations
    r"^switch lan: pvs-lan(\+10)?: st-\S+ is on this bridge, but was not added by Paravane",
)]
# Of an uplink: what no station and no mishap causes.
NEVER = ("bad_arp", "bad_frames", "bad_neighbours", "bad_reports", "bad_tags", "no_address_room", "no_group_room", "no_vlan_room", "taken_macs", "too_big")
COMPLAINT = re.compile(r"^\S+ \S+ (error|critical|warning): (.*)", re.M)


class Ends:
    """Of a rig that is well."""

    def __init__(self, rig):
        self.rig = rig
        self.daemons = [Daemon(host, f"the daemon of {host.name}") for host in rig.hosts]
        self.adapters = [self.adapters_of(host) for host in rig.hosts]
        self.read = [len(host.log_text()) for host in rig.hosts]

    @staticmethod
    def adapters_of(host):
        return {key: port["guid"] for key, port in host.ports().items()}

    def found(self):
        """Complaints; none is good."""
        lids = {}
        for number in self.rig.managers:
            if self.rig.hosts[number - 1].manager.poll() is not None:
                yield f"the opensm of h{number} has ended"
        for host, daemon, adapters, read in zip(self.rig.hosts, self.daemons, self.adapters, self.read):
            daemon.engine = host.engine()
            yield from daemon.found()
            if self.adapters_of(host) != adapters:
                yield f"{host.name} has the ports {self.adapters_of(host)}, at first {adapters}"
            for uplink in host.uplinks().values():
                if counted := {name: count for name, count in uplink["counters"].items() if count and name in NEVER}:
                    yield f"{host.name} counts at {uplink['name']}: {counted}"
            for level, text in COMPLAINT.findall(host.log_text()[read:]):
                if not any(expected.search(text) for expected in EXPECTED):
                    yield f"{host.name} says: {level}: {text}"
            for key, port in host.ports().items():
                if (other := lids.setdefault(port["lid"], (host.name, key))) != (host.name, key):
                    yield f"{other} and {host.name} {key} have the LID {port['lid']}"
