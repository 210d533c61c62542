"""A daemon with virtual InfiniBand adapters, Debian's opensm and infiniband-diags over it.

The programs are as Debian ships them; `paravane infiniband run` gives them the library of ours.
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "daemon"))
from rig import BIN, DaemonTest, PATIENCE_S, wait_for  # noqa: E402  (the line above makes it importable)

# The guide's own line (4.4.2.5) has another name for it.
PARTITIONS = "Default=0x7fff,ipoib,mtu=5 : ALL=full;\n"


class FabricTest(DaemonTest):
    """Starts the daemon with the adapters named in ADAPTERS, and ends what is left of it."""

    ADAPTERS = {"mlx4_0": "MT26428"}  # name: device

    def setUp(self):
        super().setUp()
        self.door = self.folder / "programs.sock"  # not beside the API by its usual name
        self.write_config(f'[infiniband]\numad_socket = "{self.door}"\n')
        self.daemon = self.start()
        for number, (name, device) in enumerate(self.ADAPTERS.items()):
            self.cli("infiniband", "adapter", "add", name, "--device", device, "--bus", str(13 + number))

    # ---- Programs ----

    def command(self, *words):
        return [str(BIN / "paravane"), "--socket", str(self.api), "infiniband", "run", "--", *map(str, words)]

    def tool(self, *words, check=True):
        """What one of infiniband-diags prints."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              stdin=subprocess.DEVNULL)
        if check:
            self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}\n{self.log_text()}")
        return done.stdout if check else done

    def manager(self, name="opensm", guid=None, priority=None, settings="", partitions=PARTITIONS):
        """opensm, at the first port or the one with this GUID, until the test ends."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "opensm.conf").write_text("force_log_flush TRUE\n" + settings)
        (folder / "partitions.conf").write_text(partitions)
        words = ["opensm", "-F", folder / "opensm.conf", "-P", folder / "partitions.conf", "-f", folder / "log", "-D", "0x43"]
        words += ["-g", hex(guid)] if guid else []
        words += ["-p", str(priority)] if priority is not None else []
        where = ["env", f"OSM_CACHE_DIR={folder}", f"OSM_TMP_DIR={folder}"]  # Debian's own folders are the machine's
        return self.spawn(*where, *self.command(*words))

    def manager_log(self, name="opensm"):
        log = self.folder / name / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    # ---- What is so ----

    def link_events(self):
        return link_events_in(self.cli("events", "--formatter=json").stdout)

    def adapters(self):
        return json.loads(self.cli("infiniband", "adapter", "list", "--json").stdout)

    def ports(self):
        """(adapter, number) -> what the daemon says of each port."""
        return {(adapter["name"], port["number"]): port for adapter in self.adapters() for port in adapter["ports"]}

    def wait_active(self, *names):
        """Until the ports of these adapters, or all, are Active."""
        def are_active():
            ports = {key: port for key, port in self.ports().items() if not names or key[0] in names}
            return ports if all(port["state"] == "Active" for port in ports.values()) else None
        return wait_for(are_active, f"ports to be Active: {self.manager_log()[-2000:]}")

    def links(self):
        """{((node, port), (node, port))} that ibnetdiscover sees, by the nodes' descriptions."""
        return links_in(self.tool("ibnetdiscover"))


def link_events_in(text):
    """[(type, fields)] of ports, managers and cables, of all events as JSON, in their order."""
    return [(one["type"], one["fields"]) for one in json.loads(text)
            if re.match(r"infiniband\.(port\.(up|down)|manager\.|cable\.)", one["type"])]


def links_in(text):
    """The links that ibnetdiscover prints, each both ways, by the nodes' descriptions."""
    names = dict(re.findall(r'^(?:Switch|Ca)\t\d+ "([^"]+)"\t+# "([^"]+)"', text, re.M))
    links, node = set(), None
    for line in text.splitlines():
        if head := re.match(r'(?:Switch|Ca)\t\d+ "([^"]+)"', line):
            node = names[head[1]]
        elif link := re.match(r'\[(\d+)\](?:\(\w+\))?\s+"([^"]+)"\[(\d+)\]', line):
            links.add(((node, int(link[1])), (names[link[2]], int(link[3]))))
    return links
