"""Where it happens: VMs of one host, or of several with a cable to each. Who is left in peace,
what can happen to what, and what a talk of two VMs stands on.

Things have names: a VM its number, a host's cable ("h3's cable").
"""
from cluster_mishaps import OF_THE_CLUSTER, keep_copy
from clock import Clock
from host_mishaps import OF_ALL_HOSTS, OF_UNLUCKY_HOSTS, cut_cable
from hosts_rig import HostsRig
from link_mishaps import OF_LINKS
from rig import Rig
from runner.host import PORT_GROUP
from runner.hosts import SWITCH
from vm_mishaps import MEMORY_MIB, OF_VMS, QUOTAS

VMS_PER_HOST = 2
HOSTS_IN_PEACE = 2  # the first; h1 has the authority and etcd
DISK_MIB = 384      # etcd takes 128 for its log before it has written anything, and its copy as much


def quotas():
    return [word for quota in QUOTAS for word in ("--limit", quota)]


class OneHost:
    mishaps = OF_VMS
    port_groups = switches = host_names = ()

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
            rig.up(len(self.vms), "--memory", MEMORY_MIB)
        except BaseException:
            rig.close()
            raise
        return rig

    def beside(self, _chance, _mishaps, _first):
        """What happens at the same time: as choose() gives it."""
        return []

    def settle(self, _rig, _things):
        """After a mishap: seconds that it took beyond what the mishap waited for."""
        return 0

    def stands_on(self, server, client):
        return [server, client]

    def choose(self, chance, mishaps):
        """One of those mishaps, what it happens to, and the things that are touched by it."""
        mishap, = chance.choices(mishaps, [one.weight for one in mishaps])
        return mishap, *self.victim(mishap, chance)

    def victim(self, _mishap, chance):
        vm = chance.choice([vm for vm in self.vms if vm not in self.in_peace])
        return vm, f"vm{vm}", [vm]


class ManyHosts(OneHost):
    """In peace: the first two hosts, and the first VM of each. What VMs do not hear of happens to these hosts too."""

    mishaps = OF_VMS + OF_UNLUCKY_HOSTS + OF_ALL_HOSTS + OF_LINKS + OF_THE_CLUSTER
    port_groups, switches = [PORT_GROUP], [SWITCH]

    def __init__(self, hosts):
        super().__init__(hosts * VMS_PER_HOST)
        self.hosts = range(1, hosts + 1)
        self.host_names = [f"h{host}" for host in self.hosts]
        self.in_peace = tuple(self.vms_of(host)[0] for host in self.hosts[:HOSTS_IN_PEACE])
        self.largest, self.pings = 65537, 1000  # they go through more processes here

    def start(self):
        clocks = {}

        def give_clock(host):
            clocks[host.number] = Clock(host)
        rig = HostsRig(len(self.hosts), vms_per_host=VMS_PER_HOST, disk_mib=DISK_MIB, prepare=give_clock)
        try:
            rig.clocks = clocks
            rig.up("--memory", MEMORY_MIB, adapters={vm: quotas() for vm in self.vms if vm not in self.in_peace})
            keep_copy(rig.lab.hosts[0])
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

    def victim(self, mishap, chance):
        if mishap in OF_VMS:
            return super().victim(mishap, chance)
        if mishap in OF_THE_CLUSTER:
            return 1, "the cluster", []
        if mishap not in OF_UNLUCKY_HOSTS:
            host = chance.choice(self.hosts)
            return host, f"h{host}", []
        host = chance.choice(self.hosts[HOSTS_IN_PEACE:])
        return host, f"h{host}", [self.cable_of(host)] if mishap is cut_cable else [*self.vms_of(host)]
