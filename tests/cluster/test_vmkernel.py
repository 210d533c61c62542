"""The channel between hosts is where an operator says, as in vSphere: at the VMkernel interface that is tagged for it,
while the firewall ruleset pvrdma is enabled. In esxcli's words, and read back."""

import json
import re
import subprocess
import unittest

from hosts import BIN, ClusterTest, Wire, wait_for

TAG = "system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic"
RULESET = "network", "firewall", "ruleset", "set", "-r", "pvrdma", "-e"


class VmkernelTest(ClusterTest):
    def wait_channel(self, host, to, state, problem=""):
        def is_so():
            seen = host.channel(to)
            return seen[0] == state and problem in seen[1]
        wait_for(is_so, f"{host.name} to {to.name}: {state}, {problem}")

    def rows(self, host, *words):
        return json.loads(host.cli("--formatter=json", *words).stdout)

    def listening(self, host):
        words = host.space.words("ss", "-H", "-l", "-n", "-t")
        lines = subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()
        return [line.split()[3] for line in lines if re.search(r":28[2-7]\d\d ", line) and ":28249 " not in line]


class TheChannel(VmkernelTest):
    def test_is_closed_until_it_is_tagged_and_let_through(self):
        h1, h2 = self.cluster(2, channels=False)
        self.assertEqual(self.listening(h1), [])
        self.wait_channel(h1, h2, "none", "closed on this host: the firewall ruleset pvrdma is disabled")
        h1.open_channel()
        self.wait_channel(h1, h2, "none", "closed on that host: the firewall ruleset pvrdma is disabled")
        wait_for(lambda: self.listening(h1) == ["10.77.0.1:28250"], "its socket")
        h2.cli(*RULESET, "true")
        self.wait_channel(h2, h1, "none", "/Net/PVRDMAVmknic names no VMkernel interface")
        h2.cli(*TAG, "-s", "vmk0")
        self.wait_channel(h1, h2, "encrypted")
        self.wait_channel(h2, h1, "encrypted")

    def test_is_read_back_and_closed_again(self):
        h1, h2 = self.cluster(2)
        self.wait_channel(h2, h1, "encrypted")
        self.assertEqual(self.rows(h1, "network", "firewall", "ruleset", "list"), [{"Name": "pvrdma", "Enabled": True}])
        setting = self.rows(h1, "system", "settings", "advanced", "list", "-o", "/Net/PVRDMAVmknic")[0]
        self.assertEqual((setting["StringValue"], setting["DefaultStringValue"]), ("vmk0", ""))
        h1.cli(*RULESET, "false")
        self.wait_channel(h1, h2, "none", "closed on this host")
        self.wait_channel(h2, h1, "none", "closed on that host")
        self.assertEqual(self.listening(h1), [])
        h1.end()
        h1.start()  # as it was
        self.assertEqual(self.rows(h1, "network", "firewall", "ruleset", "list")[0]["Enabled"], False)
        h1.cli(*RULESET, "true")
        self.wait_channel(h2, h1, "encrypted")

    def test_takes_the_first_free_port(self):
        h1 = self.cluster(1, channels=False)[0]
        taken = subprocess.Popen(h1.space.words("python3", "-c", "import socket, time; s = socket.create_server(('10.77.0.1', 28250));"
                                                                 " print('listening', flush=True); time.sleep(600)"), stdout=subprocess.PIPE)
        self.addCleanup(taken.stdout.close)
        self.addCleanup(taken.wait)
        self.addCleanup(taken.kill)
        taken.stdout.readline()
        h1.open_channel()
        wait_for(lambda: "10.77.0.1:28251" in self.listening(h1), "the next port")

    def test_refuses_what_is_not_there(self):
        h1 = self.cluster(1, channels=False)[0]
        self.assertIn("VMkernel interface vmk7 does not exist", h1.refused(*TAG, "-s", "vmk7"))
        self.assertIn("only one VMkernel interface per host", h1.refused(*TAG, "-s", "vmk0,vmk1"))
        self.assertIn("Do you mean /Net/PVRDMAVmknic?", h1.refused("system", "settings", "advanced", "set", "-o",
                                                                   "/Net/PVRDMAvmknic", "-s", "vmk0"))
        self.assertIn("Do you mean pvrdma?", h1.refused("network", "firewall", "ruleset", "set", "-r", "pvdrma", "-e", "true"))


class VmkernelInterfaces(VmkernelTest):
    """Two hosts, whose uplinks meet elsewhere than their management network."""

    def setUp(self):
        super().setUp()
        self.ethernet = Wire()
        self.addCleanup(self.ethernet.space.close)
        self.hosts = self.cluster(2, '[network]\nuplinks = ["eth1"]\n', channels=False)
        for host in self.hosts:
            self.ethernet.join(host.space, f"u{host.name}", "", inside="eth1")
        first = self.hosts[0]
        first.cli("vds", "create", "lan")
        for host in self.hosts:
            first.cli("vds", "add-host", "lan", host.name, "--uplink", "eth1")
        first.cli("portgroup", "create", "vg-rdma", "--vds", "lan")
        for host in self.hosts:
            wait_for(lambda host=host: "vg-rdma" in host.cli("portgroup", "list").stdout, "the port group")

    def add(self, host, address):
        host.cli("network", "ip", "interface", "add", "-i", "vmk1", "-p", "vg-rdma")
        host.cli("network", "ip", "interface", "ipv4", "set", "-i", "vmk1", "-t", "static", "-I", address, "-N", "255.255.255.0")

    def neighbour(self, host, address):
        words = host.space.words("ip", "-json", "neigh", "show", address)
        return json.loads(subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout)[0]["lladdr"]

    def mac(self, host):
        return next(one["MACAddress"] for one in self.rows(host, "network", "ip", "interface", "list") if one["Name"] == "vmk1")

    def test_carry_the_channel_over_the_switch(self):
        h1, h2 = self.hosts
        for host, address in (h1, "192.168.9.1"), (h2, "192.168.9.2"):
            self.add(host, address)
            host.cli(*TAG, "-s", "vmk1")
            host.cli(*RULESET, "true")
        self.wait_channel(h1, h2, "encrypted")
        self.wait_channel(h2, h1, "encrypted")
        wait_for(lambda: self.listening(h1) == ["192.168.9.1:28250"], "its socket")
        self.assertEqual(self.neighbour(h1, "192.168.9.2"), self.mac(h2))  # not the bridge below, whose own changes
        row = next(one for one in self.rows(h1, "network", "ip", "interface", "list") if one["Name"] == "vmk1")
        self.assertEqual((row["Portgroup"], row["VDSName"], row["MTU"], row["PVRDMA"], row["Problem"]),
                         ("vg-rdma", "lan", 1500, True, "N/A"))
        ipv4 = next(one for one in self.rows(h1, "network", "ip", "interface", "ipv4", "get") if one["Name"] == "vmk1")
        self.assertEqual((ipv4["IPv4Address"], ipv4["IPv4Netmask"], ipv4["IPv4Broadcast"]),
                         ("192.168.9.1", "255.255.255.0", "192.168.9.255"))
        self.assertIn("tagged for PVRDMA", h1.refused("network", "ip", "interface", "remove", "-i", "vmk1"))
        h1.cli(*TAG, "-d")
        self.wait_channel(h2, h1, "none", "closed on that host")
        h1.cli("network", "ip", "interface", "remove", "-i", "vmk1")
        names = subprocess.run(h1.space.words("ip", "-br", "link"), capture_output=True, text=True, check=True, timeout=20).stdout
        self.assertNotIn("vmk1", names)

    def test_are_there_again_after_a_start(self):
        h1 = self.hosts[0]
        self.add(h1, "192.168.9.1")
        h1.end(kill=True)
        h1.space.run("ip", "link", "delete", "vmk1")
        h1.start()
        wait_for(lambda: "192.168.9.1" in h1.cli("network", "ip", "interface", "ipv4", "get").stdout
                 and self.rows(h1, "network", "ip", "interface", "list")[1]["Problem"] == "N/A", "vmk1")
        shown = subprocess.run(h1.space.words("ip", "-br", "address", "show", "vmk1"), capture_output=True, text=True, check=True, timeout=20)
        self.assertIn("192.168.9.1/24", shown.stdout)

    def test_take_no_network_that_another_interface_has(self):
        h1 = self.hosts[0]
        h1.cli("network", "ip", "interface", "add", "-i", "vmk1", "-p", "vg-rdma")
        set_ipv4 = "network", "ip", "interface", "ipv4", "set", "-i", "vmk1", "-t", "static", "-N", "255.255.255.0", "-I"
        self.assertIn("is already used by eth0", h1.refused(*set_ipv4, "10.77.0.99"))
        done = h1.cli(*set_ipv4, "8.8.8.8", check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("only addresses in private networks", done.stderr)
        self.assertIn("vmk1 is in port group vg-rdma", h1.refused("portgroup", "delete", "vg-rdma"))

    def test_are_shown_as_esxcfg_vmknic_did(self):
        h1 = self.hosts[0]
        self.add(h1, "192.168.9.1")
        link = h1.folder / "esxcfg-vmknic"
        link.symlink_to(BIN / "paravane")
        done = subprocess.run([str(link), "-l", "--socket", str(h1.api)], capture_output=True, text=True, check=True, timeout=20)
        self.assertRegex(done.stdout, r"(?m)^vmk1 +vg-rdma +IPv4 +192\.168\.9\.1 +255\.255\.255\.0 +192\.168\.9\.255 ")


if __name__ == "__main__":
    unittest.main()
