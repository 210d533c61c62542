"""Hosts of a cluster, with guests, whose switch has a port of an InfiniBand adapter as its uplink on each host: cables between
the hosts are the only way, and Debian's opensm on h1 manages the subnet.
"""
import json
import pathlib
import subprocess

from guests import wait_for
from hosts_rig import HostsRig

UPLINK = "vmnic32"
MTU = 4092  # of the guide's last example (4.4.2.5)
VLANS = (10, 20)
# Mellanox's guide, 4.4.2.5 and 4.4.2.4: all of the subnet, and a partition for each VLAN.
PARTITIONS = ["key0=0x7fff,ipoib,mtu=5 : ALL=full;", *(f"vlan{vlan}={0x8000 + vlan:#x},ipoib,mtu=5 : ALL=full;" for vlan in VLANS)]
PATIENCE_S = 60


class IpoibRig(HostsRig):
    """Its switch `lan` is the lab's, but for its uplinks."""

    def __init__(self, count=2):
        self.manager = None
        super().__init__(count, prepare=self.give_uplink, plug=self.plug, uplink=UPLINK, mtu=MTU)

    @staticmethod
    def give_uplink(host):
        host.uplinks = [UPLINK]
        host.settings = f'[infiniband]\numad_socket = "{host.folder}/umad.sock"\n'

    def plug(self, hosts):
        """An adapter for each host, and the manager on the first."""
        for host in hosts:
            host.paravane("infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428")
        for host in hosts[1:]:
            host.paravane("infiniband", "sm", "add", hosts[0].name)
        folder = pathlib.Path(hosts[0].folder) / "opensm"
        folder.mkdir()
        (folder / "partitions.conf").write_text("\n".join(PARTITIONS) + "\n")
        with (folder / "said").open("wb") as said:
            self.manager = subprocess.Popen(
                ["env", f"OSM_CACHE_DIR={folder}", f"OSM_TMP_DIR={folder}", *self.infiniband(hosts[0], "opensm", "-P", folder / "partitions.conf",
                                                                                            "-f", folder / "log", "-D", "0x43")],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        for host in hosts:
            wait_for(f"the ports of {host.name} to be Active", lambda host=host: self.are_active(host), PATIENCE_S)

    @staticmethod
    def infiniband(host, *words):
        """The words that run a program of InfiniBand on a host."""
        return [host.program("paravane"), "--socket", host.api, "infiniband", "run", "--", *map(str, words)]

    @staticmethod
    def are_active(host):
        adapters = json.loads(host.paravane("infiniband", "adapter", "list", "--json").stdout)
        links = json.loads(host.paravane("infiniband", "fabric", "list", "--json").stdout)["links"]
        cables = [link for link in links if link["peer"].startswith("host ")]
        return (all(port["state"] == "Active" for adapter in adapters for port in adapter["ports"]) and
                cables and all(cable["state"] == "Active" for cable in cables))

    @staticmethod
    def counters(host):
        """Of the host's uplink."""
        return json.loads(host.paravane("infiniband", "uplink", "list", "--json").stdout)[0]["counters"]

    def close(self):
        if self.manager:
            self.manager.terminate()
            self.manager.wait(PATIENCE_S)
        super().close()
