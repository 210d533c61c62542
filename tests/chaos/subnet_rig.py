"""Hosts of a cluster with an InfiniBand adapter each and cables between them, two subnet managers, and stations in two VLANs,
as tests/infiniband has them."""
import contextlib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "infiniband"))
from cable_rig import PARTITIONS, CableTest, FabricHost, Station  # noqa: E402  pylint: disable=wrong-import-position
from network import enter  # noqa: E402  pylint: disable=wrong-import-position
from rig import PATIENCE_S, wait_for  # noqa: E402  pylint: disable=wrong-import-position

VLANS = 0, 10
UPLINK, STANDBY = "vmnic32", "vmnic33"
PRIORITIES = {1: 9, 2: 1}  # of the managers, by host
WELL_S = 120
ENTERED = "Setting IS_SM on port"  # what opensm says when it has a port
NO_ANSWER = AssertionError, ValueError, subprocess.SubprocessError  # of a daemon that something happens to


class SubnetHost(FabricHost):
    """May have a subnet manager, which goes and comes."""

    def __init__(self, test, number, cluster=""):
        self.number, self.manager, self.begun, self.partitions = number, None, 0, PARTITIONS
        super().__init__(test, number, cluster)

    def start_manager(self):
        """Without a daemon opensm ends at once, and is started again, as by its unit."""
        self.manager = None

        def runs():
            if self.manager is None or self.manager.poll() is not None:
                self.begun = self.opensm_log().count(ENTERED)
                self.manager = self.opensm(PRIORITIES[self.number], self.partitions)
            return self.opensm_log().count(ENTERED) > self.begun and self.manager.poll() is None
        wait_for(runs, f"opensm of {self.name} to run")

    def end_manager(self, number):
        """With that signal."""
        self.manager.send_signal(number)
        self.manager.wait(PATIENCE_S)

    def set_partitions(self, text):
        self.partitions = text
        (self.folder / "opensm" / "partitions.conf").write_text(text)

    def engine_pid(self):
        return self.children()["paravaned"]

    def engine(self):
        return pathlib.Path(f"/proc/{self.engine_pid()}")

    @contextlib.contextmanager
    def entered(self):
        """What this thread opens meanwhile, it opens in here."""
        with open("/proc/thread-self/ns/net", "rb") as home, open(f"/proc/{self.space.holder.pid}/ns/net", "rb") as there:
            enter(there)
            try:
                yield
            finally:
                enter(home)

    def station(self, name, vlan, *addresses):
        station = Station(self, name, self.bridges("lan")[VLANS.index(vlan)], *addresses)
        station.vlan, plain = vlan, [address.partition("/")[0] for address in addresses]
        station.addresses, station.asked_addresses = plain[:2], plain[2:]
        return station


class SubnetRig(CableTest):
    """Ends with close(). hosts, and stations by (host's number, VLAN)."""

    HOST = SubnetHost
    managers, partitions = tuple(PRIORITIES), PARTITIONS  # those of the highest priority first
    wait_for = staticmethod(wait_for)

    def __init__(self, hosts):
        super().__init__("close")
        self.HOSTS = hosts  # pylint: disable=invalid-name  (CableTest's)

    def up(self):
        """All reach one another."""
        self.setUp()
        for host in self.hosts:
            for number in PRIORITIES:
                if number != host.number:
                    host.cli("infiniband", "sm", "add", f"h{number}")
        for number in PRIORITIES:
            self.hosts[number - 1].start_manager()
        self.wait_active()
        self.wait_linked()
        self.make_switch()
        first, last = self.hosts[0], self.hosts[-1]
        first.cli("vds", "uplink", "lan", *self.uplinks_of(last), "--host", last.name)
        # The same addresses in both VLANs: a frame that strays finds a taker there.
        self.stations = {(host.number, vlan): host.station(f"{host.name}v{vlan}", vlan, *(
            address.format(number) for number in (host.number, 100 + host.number) for address in ("192.0.2.{}/24", "2001:db8::{}/64")))
                         for host in self.hosts for vlan in VLANS}
        self.wait_well()

    def close(self):
        self.doCleanups()

    def uplinks_of(self, host):
        """Of a host's switch, in the order of failover."""
        return [UPLINK, STANDBY] if host is self.hosts[-1] else [UPLINK]

    def unwell(self):
        """What is not as it should be, in words; "": nothing."""
        try:
            return self.illness()
        except NO_ANSWER as error:
            return f"a daemon does not answer: {error!r}"

    def illness(self):
        for host in self.hosts:
            ports = host.ports()
            if sick := {key: port["state"] for key, port in ports.items() if port["state"] != "Active"}:
                return f"ports of {host.name}: {sick}"
            for other in self.hosts:
                if other is not host and ((link := host.link_to(other)) is None or link["state"] != "Active" or link["problem"]):
                    return f"the cable of {host.name} to {other.name}: {link}"
            for uplink in host.uplinks().values():
                if not uplink["vds"]:
                    continue
                problems = [uplink["problem"], *(one["problem"] for one in uplink["partitions"])]
                if any(problems) or [one["vlan"] for one in uplink["partitions"] if one["key"]] != list(VLANS):
                    return f"uplink of {host.name}: {uplink}"
        return ""

    def witness(self):
        """What is so now, in words: routes, links, uplinks and neighbours."""
        lids = [host.fabric()["switch_lid"] for host in self.hosts]
        for host in self.hosts:
            yield f"--- {host.name} now"
            for words in ("fabric", "list"), ("adapter", "list"), ("uplink", "list"):
                yield host.cli("infiniband", *words, check=False).stdout
            yield f"{[(one['name'], {name: count for name, count in one['counters'].items() if count}) for one in host.uplinks().values()]}"
            for lid in lids:
                yield host.tool("ibroute", lid, check=False).stdout
        for station in self.stations.values():
            yield f"{station.network.name}: {station.network.ip('neighbour', 'show', check=False)}"

    def is_connected(self):
        """All hosts to the cluster's inventory."""
        try:
            return all(host.connected() for host in self.hosts)
        except NO_ANSWER:
            return False

    def wait_well(self):
        last = []

        def is_well():
            last[:] = [self.unwell()]
            return not last[0]
        try:
            wait_for(is_well, "the subnet to be well", WELL_S)
        except AssertionError as failed:
            raise AssertionError(f"{failed}: {last}") from None

    def master(self):
        """The number of the host whose port all ports take for the manager's; None: they do not agree, or not on one of ours, or do not answer."""
        try:
            return self.agreed_master()
        except NO_ANSWER:
            return None

    def agreed_master(self):
        told = {port["sm_lid"] for host in self.hosts for port in host.ports().values()}
        for number in PRIORITIES:
            if told == {self.hosts[number - 1].ports()["mlx4_0", 1]["lid"]}:
                return number
        return None
