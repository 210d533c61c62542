"""Switches and port groups that hosts share: made on the authority's host, known on all."""

import base64
import json
import os
import shutil
import signal
import subprocess
import unittest

from hosts import PATIENCE_S, ClusterTest, wait_for
from test_inventory import put


def names(host, kind):
    rows = json.loads(host.cli(kind, "list", "--formatter=json").stdout)
    return list(dict.fromkeys(row["name"] for row in rows if row["name"]))


def has(host, kind, *expected):
    wait_for(lambda: names(host, kind) == list(expected), f"{kind} {expected} on {host.name}: {host.log_text()}")


def bridges(host, kind="bridge"):
    """What Linux has of a kind in a host's namespace."""
    words = host.space.words("ip", "-o", "link", "show", "type", kind)
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


class Network(ClusterTest):
    def lan(self, hosts):
        first = hosts[0]
        first.cli("vds", "create", "lan", "--mtu", "9000")
        for host in hosts:
            first.cli("vds", "add-host", "lan", host.name)
        first.cli("portgroup", "create", "db", "--vds", "lan", "--vlan", "10")

    def test_what_the_authoritys_host_makes_is_on_all_and_goes_with_delete(self):
        hosts = h1, h2, h3 = self.cluster(3)
        self.lan(hosts)
        for host in hosts:
            has(host, "vds", "lan")
            has(host, "portgroup", "db")
            wait_for(lambda host=host: "pvs-lan" in bridges(host), f"a bridge on {host.name}")
        for words in (("vds", "create", "dmz"), ("vds", "delete", "lan"), ("vds", "add-host", "lan", "h2"),
                      ("portgroup", "create", "x", "--vds", "lan"), ("portgroup", "set", "db", "--roce", "native"),
                      ("portgroup", "delete", "db")):
            complaint = h2.refused(*words)
            self.assertIn("switches and port groups can be changed only on host h1", complaint)
            self.assertIn("Run the same command on host h1", complaint)
        self.assertIn("permission denied", put(h2, "config/vds/dmz", {"name": "dmz"})["error"])
        h3.cli("vm", "add", "db1", "--port-group", "db")
        wait_for(lambda: h1.status()["hosts"][2]["adapters"] == 1, "the VM")
        h1.cli("portgroup", "set", "db", "--roce", "native")
        wait_for(lambda: "pvr-db1" in bridges(h3, "tun"), "the RoCE port on h3")
        h1.cli("portgroup", "set", "db", "--roce", "off")
        wait_for(lambda: "pvr-db1" not in bridges(h3, "tun"), "no RoCE port on h3")
        self.assertIn("db1 of host h3 is in port group db", h1.refused("portgroup", "delete", "db"))
        self.assertIn("db1 (port group db) is on switch lan at host h3",
                      h1.refused("vds", "remove-host", "lan", "h3"))
        h3.cli("vm", "remove", "db1")
        wait_for(lambda: h1.status()["hosts"][2]["adapters"] == 0, "the VM to be gone")
        h1.cli("portgroup", "delete", "db")
        h1.cli("vds", "delete", "lan")
        for host in hosts:
            has(host, "portgroup")
            has(host, "vds")
            wait_for(lambda host=host: "pvs-lan" not in bridges(host), f"no bridge on {host.name}")

    def test_a_host_that_nobody_knows_is_refused_with_the_nearest_name(self):
        h1, _ = self.cluster(2)
        h1.cli("vds", "create", "lan")
        complaint = h1.refused("vds", "add-host", "lan", "h22")
        self.assertIn("host h22 is not in the cluster", complaint)
        self.assertIn("Do you mean h2?", complaint)
        h1.cli("vds", "add-host", "lan", "h2")
        self.assertIn("Do you mean h2?", h1.refused("vds", "uplink", "lan", "eth1", "--host", "hh2"))

    def test_it_outlives_etcd_and_the_daemons(self):
        hosts = h1, h2 = self.cluster(2)
        self.lan(hosts)
        has(h2, "portgroup", "db")
        h2.cli("vm", "add", "db1", "--port-group", "db")
        os.kill(h1.children()["etcd"], signal.SIGSTOP)
        wait_for(lambda: not h1.connected(), "h1 to notice")
        self.assertIn("the cluster's inventory cannot be reached", h1.refused("vds", "create", "dmz"))
        h2.end()
        h2.start()  # it has what it knew last
        self.assertEqual(names(h2, "portgroup"), ["db"])
        self.assertIn("pvs-lan", bridges(h2))
        os.kill(h1.children()["etcd"], signal.SIGKILL)
        for host in hosts:
            wait_for(host.connected, f"{host.name} to be back")
        h1.cli("portgroup", "create", "web", "--vds", "lan", "--vlan", "20")
        has(h2, "portgroup", "db", "web")
        self.assertEqual(names(h1, "vds"), ["lan"])

    def test_what_a_host_had_comes_along_or_is_in_the_way(self):
        h1, h2 = self.cluster(2)
        h2.cli("cluster", "leave")
        h2.cli("vds", "create", "lan")
        h2.cli("portgroup", "create", "db", "--vds", "lan", "--vlan", "30")
        self.lan([h1])
        h2.cli("vds", "create", "dmz")
        token = h1.token("h2")
        complaint = h2.refused("cluster", "join", text=token)
        self.assertIn("in the cluster: port group db, switch dmz, switch lan\n", complaint)
        self.assertIn("in this order: paravane portgroup delete db, paravane vds delete dmz, paravane vds delete lan. "
                      "Then join with the same token.\n", complaint)
        self.assertEqual(h1.present(), ["h1"])
        self.assertFalse((h2.state / "cluster").exists())
        h2.cli("portgroup", "delete", "db")
        h2.cli("vds", "delete", "dmz")
        h2.cli("vds", "delete", "lan")
        h2.cli("cluster", "join", text=token)
        has(h2, "portgroup", "db")
        h2.cli("cluster", "leave")
        self.assertEqual(names(h2, "portgroup"), ["db"])  # its VMs go on
        h2.cli("cluster", "join", text=h1.token("h2"))
        h2.cli("cluster", "leave")
        h2.cli("cluster", "init", "--name", "h2")  # a cluster of its own
        documents = h2.etcd("/v3/kv/range", {"key": "L3BhcmF2YW5lL3YxL2NvbmZpZy8=",
                                             "range_end": "L3BhcmF2YW5lL3YxL2NvbmZpZzA="})
        kinds = [base64.b64decode(one["key"]).decode().removeprefix("/paravane/v1/config/").split("/")[0]
                 for one in documents["kvs"]]
        self.assertEqual(kinds, ["cluster", "members", "portgroups", "vds"])

    def test_files_that_are_left_over_are_in_the_way_before_the_token_is_used(self):
        h1, h2 = self.cluster(2)
        h2.cli("cluster", "leave")
        token = h1.token("h2")
        left = [h2.state / "cluster" / name for name in ("authority.pem", "host.pem")]
        left[0].parent.mkdir()
        for path in left:
            path.write_text("left over")
        shutil.chown(left[0].parent, h2.folder.owner())
        complaint = h2.refused("cluster", "join", text=token)
        self.assertIn("exist: authority.pem, host.pem", complaint)
        for path in left:
            path.unlink()
        h2.cli("cluster", "join", text=token)

    def test_rubbish_among_the_documents_is_passed_by(self):
        h1, h2 = self.cluster(2)
        self.lan([h1])
        has(h2, "vds", "lan")
        for key, value in (("vds/dmz", {"name": "other"}), ("vds/dmz", {"name": "dmz", "mtu": 1}),
                           ("portgroups/x", {"name": "x", "vds": "nowhere"}), ("portgroups/y", [])):
            self.assertNotIn("error", put(h1, f"config/{key}", value))
        h1.cli("vds", "create", "web")
        has(h2, "vds", "lan", "web")
        self.assertEqual(names(h2, "portgroup"), ["db"])


if __name__ == "__main__":
    unittest.main()
