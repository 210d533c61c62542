"""paravane vm check in a cluster: what stands between a VM and the other hosts, each with the command that cures it."""

import concurrent.futures
import json
import os
import signal
import subprocess
import unittest

from hosts import BIN, ClusterTest, Wire, wait_for

CHANNEL = "Channel to h2"


class VmCheck(ClusterTest):
    """A VM on h1, in a switch with h2; no channel yet."""

    def setUp(self):
        super().setUp()
        self.ethernet = Wire()
        self.addCleanup(self.ethernet.space.close)
        self.h1, self.h2 = self.cluster(2, '[network]\nuplinks = ["eth1"]\n', channels=False)
        for host in self.h1, self.h2:
            self.ethernet.join(host.space, f"u{host.name}", "", inside="eth1")
        self.h1.cli("vds", "create", "lan")
        for host in self.h1, self.h2:
            self.h1.cli("vds", "add-host", "lan", host.name)
        self.h1.cli("portgroup", "create", "rdma", "--vds", "lan")
        self.h1.cli("vm", "add", "db1", "--port-group", "rdma", "--memory", "64M", "--accelerator", "tcg")

    def rows(self, host=None, vm="db1"):
        """By the name of the check; those of QEMU's side are not this test's."""
        done = (host or self.h1).cli("--formatter=json", "vm", "check", vm, check=False)
        return {row["check"]: row for row in json.loads(done.stdout)}

    def row(self, check):
        row = self.rows()[check]
        return row["verdict"], row["found"]

    def paste(self, row, host=None):
        """Runs a cure as an administrator does: in a shell, on the host that it names."""
        host = host or (self.h2 if row["cure"].endswith("# on h2") else self.h1)
        words = host.space.words("sh", "-c", row["cure"])
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PARAVANE_SOCKET": str(host.api)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, f"{row}\n{done.stdout}{done.stderr}")

    def wait_row(self, check, verdict, found):
        def is_so():
            row = self.row(check)
            return row[0] == verdict and found in row[1]
        wait_for(is_so, f"{check}: {verdict}, {found}: {self.row(check)}")

    def test_cures_that_are_pasted_open_the_channel_and_each_step_is_said(self):
        self.assertEqual(self.row("Firewall ruleset"), ("failed", "pvrdma is disabled"))
        self.assertEqual(self.row("VMkernel interface"), ("failed", "/Net/PVRDMAVmknic names none"))
        self.wait_row(CHANNEL, "failed", "closed on this host: the firewall ruleset pvrdma is disabled")
        self.paste(self.rows()["Firewall ruleset"])
        self.wait_row(CHANNEL, "failed", "closed on this host: /Net/PVRDMAVmknic names no VMkernel interface")
        self.paste(self.rows()["VMkernel interface"])
        self.assertEqual(self.row("VMkernel interface")[0], "ok")
        self.wait_row(CHANNEL, "failed", "closed on that host: the firewall ruleset pvrdma is disabled")
        self.paste(self.rows()[CHANNEL])
        self.wait_row(CHANNEL, "failed", "closed on that host: /Net/PVRDMAVmknic names no VMkernel interface")
        self.paste(self.rows()[CHANNEL])
        self.wait_row(CHANNEL, "ok", "open, encrypted")
        self.wait_row("Channel", "ok", "listens at 10.77.0.1:28250")
        self.h2.cli("network", "firewall", "ruleset", "set", "-r", "pvrdma", "-e", "false")
        self.wait_row(CHANNEL, "failed", "closed on that host: the firewall ruleset pvrdma is disabled")

    def test_an_uplink_that_is_none_or_down_is_cured(self):
        check = "Switch lan: uplink"
        self.assertEqual(self.row(check)[0], "warning")
        self.assertEqual(self.rows()[check]["cure"], "paravane vds uplink lan eth1 --host h1")
        self.paste(self.rows()[check])
        self.wait_row(check, "ok", "(eth1) is up")
        self.assertIn("traffic to other hosts uses TCP", self.row("Switch lan: RDMA device")[1])
        self.h1.space.run("ip", "link", "set", "eth1", "down")
        self.wait_row(check, "ok", "(eth1) is up")  # whoever looks mends it
        self.ethernet.space.run("ip", "link", "set", "uh1", "down")
        self.wait_row(check, "failed", "(eth1) has no link")
        self.ethernet.space.run("ip", "link", "set", "uh1", "up")
        self.wait_row(check, "ok", "(eth1) is up")

    def test_a_host_that_is_away_and_a_switch_without_this_host(self):
        self.h2.end(kill=True)
        self.wait_row(CHANNEL, "warning", "host h2 or its network is down")
        self.h1.cli("vm", "set", "db1", "--port-group", "none")
        self.assertEqual(self.rows()["Adapter 1: port group"]["cure"], "paravane vm set db1 --adapter 1 --port-group rdma")
        self.assertIn("not needed", self.row("Channel")[1])
        self.paste(self.rows()["Adapter 1: port group"])
        self.assertEqual(self.row("Adapter 1: port group"), ("ok", "rdma of switch lan"))

    def add_twins(self):
        """A VM on each host with one MAC address: only while neither hears of the other's, and has not noticed
        that etcd stands still."""
        words = "vm", "add", "twin", "--mac", "02:50:56:00:00:77", "--port-group", "rdma"
        for _ in range(10):
            etcd = self.h1.children()["etcd"]
            os.kill(etcd, signal.SIGSTOP)
            try:
                with concurrent.futures.ThreadPoolExecutor() as both:
                    done = list(both.map(lambda host: host.cli(*words, check=False).returncode, (self.h1, self.h2)))
            finally:
                os.kill(etcd, signal.SIGCONT)  # one that stands still does not end either
            if done == [0, 0]:
                return
            wait_for(lambda: self.h1.connected() and self.h2.connected(), "both to be back")
            for host, code in zip((self.h1, self.h2), done):
                if code == 0:
                    host.cli("vm", "remove", "twin")
            wait_for(lambda: all("twin" not in host.cli("vm", "list").stdout for host in (self.h1, self.h2)), "none")
        self.fail("the two were never added")

    def test_an_address_that_another_hosts_vm_has(self):
        self.add_twins()
        check = "Adapter 1: MAC address"

        def loser():
            return next((host for host in (self.h1, self.h2) if check in self.rows(host, "twin")), None)
        host = wait_for(loser, "the claim to be lost")
        other = self.h2 if host is self.h1 else self.h1
        row = self.rows(host, "twin")[check]
        self.assertEqual(row["verdict"], "failed")
        self.assertIn(f"belongs to adapter twin/1 of host {other.name}", row["found"])
        self.assertNotIn(check, self.rows(other, "twin"))
        self.paste(row, host)
        wait_for(lambda: not loser(), "the claims to be good")
        self.assertEqual(self.rows(host, "twin")["Adapter 1: port group"]["verdict"], "ok")


if __name__ == "__main__":
    unittest.main()
