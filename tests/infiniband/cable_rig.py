"""Hosts of a cluster, each with an InfiniBand adapter, and cables between their switches; Debian's opensm on one of
them. Each host is a daemon in a network namespace of its own, and so is each station."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cluster"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from fabric_rig import link_events_in  # noqa: E402  pylint: disable=wrong-import-position
from hosts import ClusterTest, Host  # noqa: E402  pylint: disable=wrong-import-position
from network import Namespace, run  # noqa: E402  pylint: disable=wrong-import-position
from rig import BIN, PATIENCE_S, wait_for  # noqa: E402  pylint: disable=wrong-import-position

PARTITIONS = "Default=0x7fff,ipoib,mtu=5 : ALL=full;\nvlan10=0x800a,ipoib,mtu=5 : ALL=full;\n"
# A standby manager looks for the master each second, and takes over after two questions without an answer.
SETTINGS = "force_log_flush TRUE\nsminfo_polling_timeout 1000\npolling_retry_number 2\n"


class FabricHost(Host):
    """A host with an InfiniBand adapter of two ports, when it has been added."""

    def write_config(self, cluster="", address=True):
        super().write_config(cluster, address)
        self.door = self.folder / "umad.sock"
        with self.config.open("a") as config:
            config.write(f'[infiniband]\numad_socket = "{self.door}"\n[network]\nuplinks = ["vmnic32", "vmnic33"]\n')

    def command(self, *words):
        return [str(BIN / "paravane"), "--socket", str(self.api), "infiniband", "run", "--", *map(str, words)]

    def tool(self, *words, check=True):
        """What one of infiniband-diags prints."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
        if check:
            self.test.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}\n{self.log_text()}")
        return done.stdout if check else done

    def opensm(self, priority=1, partitions=PARTITIONS, settings=SETTINGS):
        """The subnet manager of Debian at the host's first port, until the test ends."""
        folder = self.folder / "opensm"
        folder.mkdir(exist_ok=True)
        (folder / "opensm.conf").write_text(settings)
        (folder / "partitions.conf").write_text(partitions)
        process = subprocess.Popen(["env", f"OSM_CACHE_DIR={folder}", f"OSM_TMP_DIR={folder}", *self.command(
            "opensm", "-F", folder / "opensm.conf", "-P", folder / "partitions.conf", "-f", folder / "log", "-D", "0x43", "-p", priority)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait(PATIENCE_S)
        self.test.addCleanup(end)
        return process

    def opensm_log(self):
        log = self.folder / "opensm" / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def fabric(self):
        return json.loads(self.cli("infiniband", "fabric", "list", "--json").stdout)

    def link_events(self):
        return link_events_in(self.cli("events", "--formatter=json").stdout)

    def link_to(self, host):
        """What the daemon says of the cable to a host; None: there is none."""
        return next((link for link in self.fabric()["links"] if link["peer"] == f"host {host.name}"), None)

    def is_linked(self, host, state="Active"):
        link = self.link_to(host)
        return link is not None and link["state"] == state

    def ports(self):
        return {(adapter["name"], port["number"]): port
                for adapter in json.loads(self.cli("infiniband", "adapter", "list", "--json").stdout) for port in adapter["ports"]}

    def are_active(self):
        return all(port["state"] == "Active" for port in self.ports().values())

    def uplinks(self):
        return {one["name"]: one for one in json.loads(self.cli("infiniband", "uplink", "list", "--json").stdout)}

    def bridges(self, vds):
        """Of Linux, one for each VLAN of a switch."""
        return next(one for one in json.loads(self.cli("vds", "list", "--json").stdout) if one["name"] == vds)["bridges"]


class Station:
    """A network namespace with one NIC, on a bridge of a host."""

    def __init__(self, host, name, bridge, *addresses, mtu=1500):
        self.host = host
        self.network = Namespace(name)
        host.test.addCleanup(self.network.close)
        far = f"st-{name}"
        run("ip", "link", "add", "eth0", "netns", self.network.name, "mtu", mtu, "type", "veth", "peer", "name", far, "mtu", mtu,
            "netns", host.space.holder.pid)
        host.space.run("ip", "link", "set", far, "master", bridge, "up")
        for address in addresses:
            self.network.ip("address", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
        self.network.ip("link", "set", "eth0", "up")

    def run(self, *words, check=True):
        return run(*self.network.before(), *words, check=check)

    def pings(self, address, *words):
        return " 0% packet loss" in self.run("ping", "-c", 1, "-W", 1, *words, address, check=False)

    def wait_for(self, address):
        wait_for(lambda: self.pings(address), f"{address} to answer: {self.host.uplinks()} {self.host.log_text()[-2000:]}")


class CableTest(ClusterTest):
    """Hosts h1, h2 and so on, of one cluster, with an adapter each."""

    HOST = FabricHost
    HOSTS = 2

    def setUp(self):
        super().setUp()
        self.hosts = self.cluster(self.HOSTS)
        for host in self.hosts:
            host.cli("infiniband", "adapter", "add", "mlx4_0", "--device", "MT26428")

    def wait_linked(self, state="Active"):
        def are_linked():
            return all(one.is_linked(other, state) for one in self.hosts for other in self.hosts if one is not other)
        wait_for(are_linked, f"the cables to be {state}")

    def let_manage(self):
        """The subnet manager of h1, on all hosts."""
        for host in self.hosts[1:]:
            host.cli("infiniband", "sm", "add", "h1")

    def wait_active(self):
        for host in self.hosts:
            wait_for(host.are_active, f"the ports of {host.name} to be Active")

    def make_switch(self, mtu=1500):
        """`lan` on all hosts, with the uplink of their first ports, and a port group of VLAN 10."""
        first = self.hosts[0]
        first.cli("vds", "create", "lan", "--mtu", str(mtu))
        for host in self.hosts:
            first.cli("vds", "add-host", "lan", host.name, "--uplink", "vmnic32")
        first.cli("portgroup", "create", "lan-0", "--vds", "lan")
        first.cli("portgroup", "create", "lan-10", "--vds", "lan", "--vlan", "10")
        for host in self.hosts:
            def is_joined(host=host):
                return len(host.bridges("lan")) == 2 and all(one["key"] for one in host.uplinks()["vmnic32"]["partitions"])
            wait_for(is_joined, f"the uplink of {host.name} to join its partitions")
