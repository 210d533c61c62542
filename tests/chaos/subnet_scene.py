"""Where it happens: hosts with an InfiniBand adapter each in one subnet, under a subnet manager on each of the first two, and a
station in each of two VLANs on each host. What can happen to what, and what two stations stand on.

Things have names: a host's name, a cable ("h1-h3"), a VLAN ("VLAN 10").
"""
import time

from subnet_mishaps import MISHAPS, OF_CABLES, OF_DAEMONS, OF_HOSTS, OF_PEACE, OF_THE_SUBNET, OF_THE_VLAN

KINDS = OF_THE_SUBNET + OF_THE_VLAN, OF_CABLES, OF_HOSTS + OF_DAEMONS, OF_PEACE
STAYS_S = 3
TWO_AT_ONCE = 0.3  # how often

VLANS = 0, 10
DAEMONS_IN_PEACE = 1  # of the first host, which has the cluster's authority: what it holds is compared at the end of the run


def cable(one, other):
    return f"h{min(one, other)}-h{max(one, other)}"


class Subnet:
    mishaps, vlans = MISHAPS, VLANS

    def __init__(self, hosts):
        self.hosts = range(1, hosts + 1)

    def start(self):
        from subnet_rig import SubnetRig  # pylint: disable=import-outside-toplevel  (the choices need no daemon)
        rig = SubnetRig(len(self.hosts))
        try:
            rig.up()
        except BaseException:
            rig.close()
            raise
        return rig

    @staticmethod
    def stands_on(here, there, vlan):
        """A pair of stations."""
        return [f"h{here}", f"h{there}", cable(here, there), f"VLAN {vlan}"]

    def things(self):
        """All of them."""
        return [f"VLAN {vlan}" for vlan in VLANS]

    def settle(self, rig, things):
        """After a mishap: seconds until the subnet is well and what stands on these things is heard again, and stays so: a manager
        writes its tables more than once, and a station that asks for a neighbour asks for three seconds before it gives up."""
        began = time.monotonic()
        rig.wait_well()
        back = began
        while things:
            rig.streams.wait_alive(began, things)
            back = time.monotonic()
            time.sleep(STAYS_S)
            if not rig.streams.dead(began, things):
                break
        return back - began if things else time.monotonic() - began

    def cables_of(self, host):
        return [cable(host, other) for other in self.hosts if other != host]

    def choose(self, chance, mishaps):
        """One of those mishaps, what it happens to, its name, and the things that are touched by it."""
        mishap, = chance.choices(mishaps, [one.weight for one in mishaps])
        return mishap, *self.victim(mishap, chance)

    def beside(self, chance, mishaps, first):
        """Sometimes another happens at the same time, to something else, of another kind: of managers there is one at a time."""
        kind = next(kind for kind in KINDS if first[0] in kind)
        others = [one for one in mishaps if one not in kind]
        if not others or chance.random() >= TWO_AT_ONCE:
            return []
        second = self.choose(chance, others)
        return [second] if second[1:3] != first[1:3] else []

    def victim(self, mishap, chance):
        if mishap in OF_THE_SUBNET:
            return 1, "the subnet", []
        if mishap in OF_THE_VLAN:
            return VLANS[-1], f"VLAN {VLANS[-1]}", [f"VLAN {VLANS[-1]}"]
        host = chance.choice(self.hosts[DAEMONS_IN_PEACE:] if mishap in OF_DAEMONS else self.hosts)
        if mishap in OF_CABLES:
            return host, f"h{host}", self.cables_of(host)
        return host, f"h{host}", [f"h{host}"] if mishap in OF_DAEMONS + OF_HOSTS else []
