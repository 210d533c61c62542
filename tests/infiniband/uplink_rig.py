"""Two distributed switches of one host, each with an IPoIB uplink of its own, and stations in each.

The only way between the switches is the InfiniBand subnet, which Debian's opensm manages. A station is a network
namespace on a switch's bridge: its ARP, its TCP and its programs are Linux's.
"""
import json

from fabric_rig import FabricTest
from network import Namespace, run
from rig import wait_for

# As in Mellanox's guide, 4.4.2.5, and a partition for each VLAN (4.4.2.4).
PARTITIONS = "Default=0x7fff,ipoib,mtu=5 : ALL=full;\nvlan10=0x800a,ipoib,mtu=5 : ALL=full;\n"


class Station:
    """A network namespace with one NIC, on the bridge of a switch's VLAN."""

    def __init__(self, test, name, bridge, *addresses, mtu=1500):
        self.test = test
        self.network = Namespace(name)
        test.addCleanup(self.network.close)
        far = f"st-{name}"
        run("ip", "link", "add", "eth0", "netns", self.network.name, "mtu", mtu, "type", "veth", "peer", "name", far, "mtu", mtu,
            "netns", test.network.name)
        test.network.ip("link", "set", far, "master", bridge, "up")
        for address in addresses:
            # A second address with the same prefix needs no wait for duplicates.
            self.network.ip("address", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
        self.network.ip("link", "set", "eth0", "up")

    def run(self, *words, check=True):
        return run(*self.network.before(), *words, check=check)

    def pings(self, address, *words):
        """Whether an answer comes; the program's words otherwise."""
        said = self.run("ping", "-c", 1, "-W", 1, *words, address, check=False)
        return " 0% packet loss" in said

    def wait_for(self, address, *words):
        wait_for(lambda: self.pings(address, *words), f"{address} to answer: {self.test.uplinks()} {self.test.log_text()[-2000:]}")

    def neighbour(self, address):
        """The MAC that this station knows for an address; None: none."""
        for entry in json.loads(self.network.ip("-json", "neighbour", "show", address) or "[]"):
            return entry.get("lladdr")
        return None


class UplinkTest(FabricTest):
    """The switches "left" and "right", of vmnic32 and vmnic33."""

    MTU = 1500
    UPLINKS = {"left": ("vmnic32",), "right": ("vmnic33",)}  # of each switch, in failover order
    VLANS = (0, 10)
    PARTITIONS = PARTITIONS
    SETTINGS = ""  # opensm's
    WAITS = True  # until the uplinks have joined their partitions

    def setUp(self):
        self.network = None
        super().setUp()
        self.opensm = self.manager(settings=self.SETTINGS, partitions=self.PARTITIONS)
        self.wait_active()
        for vds, uplinks in self.UPLINKS.items():
            self.cli("vds", "create", vds, "--mtu", str(self.MTU))
            self.cli("vds", "add-host", vds, *[word for uplink in uplinks for word in ("--uplink", uplink)])
            for vlan in self.VLANS:
                self.cli("portgroup", "create", f"{vds}-{vlan}", "--vds", vds, "--vlan", str(vlan))
        if self.WAITS:
            wait_for(self.are_joined, f"the uplinks to join their partitions: {self.log_text()[-2000:]}")

    def write_config(self, text=""):
        super().write_config(text + f"[network]\nuplinks = {json.dumps([one for uplinks in self.UPLINKS.values() for one in uplinks])}\n")

    def start(self, *before, **more):
        if self.network is None:
            self.network = Namespace("host")
            self.addCleanup(self.network.close)
        return super().start(*self.network.before(), *before, **more)

    def uplinks(self):
        """What the daemon says of each uplink, by its name."""
        return {one["name"]: one for one in json.loads(self.cli("infiniband", "uplink", "list", "--json").stdout)}

    def are_joined(self):
        uplinks = [uplink for uplink in self.uplinks().values() if uplink["vds"]]
        return all([one["vlan"] for one in uplink["partitions"] if one["key"]] == list(self.VLANS) for uplink in uplinks)

    def bridge(self, vds, vlan=0):
        """Of Linux, for a VLAN of a switch."""
        bridges = next(one for one in json.loads(self.cli("vds", "list", "--json").stdout) if one["name"] == vds)["bridges"]
        return bridges[self.VLANS.index(vlan)]

    def switch_port_of(self, peer):
        """The LID of the subnet's switch, and its port to `peer`."""
        fabric = json.loads(self.cli("infiniband", "fabric", "list", "--json").stdout)
        return fabric["switch_lid"], next(link["port"] for link in fabric["links"] if link["peer"] == peer)

    def station(self, name, vds, *addresses, vlan=0):
        return Station(self, name, self.bridge(vds, vlan), *addresses, mtu=self.MTU)
