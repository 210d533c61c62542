"""Where it happens: VMs of one host, or of several with a cable to each. Who is left in peace,
what can happen to what, and what a talk of two VMs stands on.

Things have names: a VM its number, a host's cable ("h3's cable").
"""
import mishaps
from hosts_rig import HostsRig
from rig import Rig

VMS_PER_HOST = 2
HOSTS_IN_PEACE = 2  # the first; h1 has the authority and etcd


def quotas():
    return [word for quota in mishaps.QUOTAS for word in ("--limit", quota)]


class OneHost:
    def __init__(self, vms):
        self.vms, self.in_peace = range(1, vms + 1), (1, 2)
        self.largest, self.pings = None, 5000

    def start(self):
        """The VMs; each that things happen to has a quota that a guest can come to the end of."""
        rig = Rig()
        try:
            for vm in self.vms:
                limits = quotas() if vm not in self.in_peace else []
                rig.cli("vm", "add", f"vm{vm}", "--mac", f"52:54:00:77:00:{vm:02x}", *limits)
            rig.up(len(self.vms), "--memory", mishaps.MEMORY_MIB)
        except BaseException:
            rig.close()
            raise
        return rig

    def stands_on(self, server, client):
        return [server, client]

    def choose(self, chance):
        """A mishap, what it happens to, and the things that are touched by it."""
        vm = chance.choice([vm for vm in self.vms if vm not in self.in_peace])
        return chance.choice(mishaps.OF_VMS), vm, f"vm{vm}", [vm]


class ManyHosts(OneHost):
    """In peace: the first two hosts, and the first VM of each."""

    def __init__(self, hosts):
        super().__init__(hosts * VMS_PER_HOST)
        self.hosts = range(1, hosts + 1)
        self.in_peace = tuple(self.vms_of(host)[0] for host in self.hosts[:HOSTS_IN_PEACE])
        self.largest, self.pings = 65537, 1000  # they go through more processes here

    def start(self):
        rig = HostsRig(len(self.hosts), vms_per_host=VMS_PER_HOST)
        try:
            rig.up("--memory", mishaps.MEMORY_MIB, adapters={vm: quotas() for vm in self.vms if vm not in self.in_peace})
        except BaseException:
            rig.close()
            raise
        return rig

    @staticmethod
    def vms_of(host):
        return range((host - 1) * VMS_PER_HOST + 1, host * VMS_PER_HOST + 1)

    @staticmethod
    def cable_of(host):
        return f"h{host}'s cable"

    def stands_on(self, server, client):
        hosts = {(vm - 1) // VMS_PER_HOST + 1 for vm in (server, client)}
        return [server, client, *(self.cable_of(host) for host in sorted(hosts) if len(hosts) > 1)]

    def choose(self, chance):
        unlucky = [*self.hosts[HOSTS_IN_PEACE:]]
        if not unlucky or chance.random() < 0.5:
            return super().choose(chance)
        host = chance.choice(unlucky)
        if chance.random() < 0.6:
            return mishaps.cut_cable, host, f"h{host}", [self.cable_of(host)]
        return mishaps.kill_daemon, host, f"h{host}", [*self.vms_of(host)]
