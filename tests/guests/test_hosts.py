"""Other people's programs between two stock guests on different hosts."""
import contextlib
import json
import os
import signal
import unittest

import by_gid
import test_traffic
from guests import Failed, wait_for
from hosts_rig import HostsRig
from rig import Exchange
from runner import processes


class BetweenTwoHosts(by_gid.EveryKindOfGid, unittest.TestCase):
    """With the distributed switch below: the guests' Ethernets are at its taps."""

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.exchange = Exchange(cls.rig, server=1, client=2)

    def ip(self, vm, *words):
        return processes.run("ip", "-n", self.rig.lab.host_of(vm).space, *words)

    def fdb(self, vm):
        """Behind which port of its switch a host has seen which address."""
        lines = processes.run("bridge", "-n", self.rig.lab.host_of(vm).space, "fdb", "show", "br", "pvs-lan").splitlines()
        return {words[0]: words[2] for words in map(str.split, lines) if "permanent" not in words}

    @contextlib.contextmanager
    def unplugged(self, vm, link):
        """While the daemon's keeper, which would plug it in again, stands still."""
        keeper = processes.recall(self.rig.lab.host_of(vm).pid_file())
        os.kill(keeper, signal.SIGSTOP)
        self.ip(vm, "link", "set", link, "down")
        try:
            yield
        finally:
            self.ip(vm, "link", "set", link, "up")
            os.kill(keeper, signal.SIGCONT)

    def ping(self):
        self.rig.guest(2, "ping", "-c", "1", "-W", "2", "10.77.0.1")

    def ping_until_it_arrives(self):
        """A guest that has asked for an address in vain gives up what it sends for a moment."""
        self.rig.shell(2, "i=0; until ping -c 1 -W 1 10.77.0.1; do i=$((i+1)); [ $i -lt 20 ] || exit 1; done")

    def rping(self):
        """With the neighbour asked for anew."""
        self.rig.shell(2, "ip neigh flush all")
        test_traffic.rping(self.exchange)

    def test_addresses_are_found_through_taps_and_uplinks_of_the_switch_and_nowhere_else(self):
        self.ping_until_it_arrives()
        self.rping()
        macs = "52:54:00:77:00:01", "52:54:00:77:00:02"
        for vm, ports in (1, ("pv-vm1", "eth1")), (2, ("eth1", "pv-vm2")):
            self.assertEqual([self.fdb(vm).get(mac) for mac in macs], [*ports])
        for vm, link in (1, "pv-vm1"), (2, "eth1"):
            with self.subTest(unplugged=link), self.unplugged(vm, link):
                self.assertRaises(Failed, self.ping)
                if link == "pv-vm1":
                    self.assertRaises(Failed, self.rping)
            self.ping_until_it_arrives()
        self.rping()

    def test_a_vm_that_moves_to_another_port_group_is_out_of_reach_at_once(self):
        first, second = self.rig.hosts
        first.cli("portgroup", "create", "apart", "--vds", "lan", "--vlan", "7")
        wait_for("h2 has heard of it", lambda: "apart" in second.cli("portgroup", "list").stdout, 10)
        words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-D", "60"]
        server = self.rig.spawn(1, *words)
        self.rig.wait_listening(1, 18515)
        client = self.rig.spawn(2, *words, "10.77.0.1")
        before = self.rig.stats(2)["sends"]
        wait_for("writes", lambda: self.rig.stats(2)["sends"] > before + 1000 or client.process.poll() is not None, 20)
        second.cli("vm", "set", "vm2", "--port-group", "apart")
        code, text = client.finish(20)
        self.assertNotEqual(code, 0, text)
        self.assertIn("Failed status 12", text)  # IBV_WC_RETRY_EXC_ERR
        self.assertEqual(self.paths(1), [])
        server.end()
        second.cli("vm", "set", "vm2", "--port-group", "rdma")
        self.ping_until_it_arrives()
        self.rping()
        first.cli("portgroup", "delete", "apart")

    def test_path_list_names_the_path_and_why_it_is_that(self):
        words = ["ib_send_lat", "-d", "vmw_pvrdma0", "-F", "-n", "100000", "-p", "18515"]
        ends = [self.rig.spawn(1, *words)]
        try:
            self.rig.wait_listening(1, 18515)
            ends.append(self.rig.spawn(2, *words, "10.77.0.1"))
            for host, peer in (0, "h2"), (1, "h1"):
                path = wait_for("the connection's path", lambda host=host: next(iter(self.paths(host)), None))
                self.assertEqual((path["peer_host"], path["path"], path["why"]), (peer, "tcp", f"on host {peer}; hca: encryption is on"))
        finally:
            for end in ends:
                end.end()

    def test_path_list_and_vm_check_say_why_the_channel_is_closed(self):
        """Of a connection that sleeps meanwhile, and so lives on."""
        words = ["ib_send_lat", "-d", "vmw_pvrdma0", "-F", "-n", "1000000", "-p", "18515"]
        setting = "system", "settings", "advanced", "set", "-o", "/Net/PVRDMAVmknic"
        ruleset = "network", "firewall", "ruleset", "set", "-r", "pvrdma", "-e"
        second = self.rig.hosts[1]
        ends = [self.rig.spawn(1, *words)]
        try:
            self.rig.wait_listening(1, 18515)
            ends.append(self.rig.spawn(2, *words, "10.77.0.1"))
            for host in 0, 1:
                wait_for("the connection's path", lambda host=host: self.paths(host))
            self.signal("STOP")
            for close, reopen, why in (((*ruleset, "false"), (*ruleset, "true"), "the firewall ruleset pvrdma is disabled"),
                                       ((*setting, "-d"), (*setting, "-s", "vmk0"), "/Net/PVRDMAVmknic names no VMkernel interface")):
                second.cli(*close)
                for host, where in (0, "that"), (1, "this"):
                    wait_for(why, lambda host=host, where=where: f"no channel: closed on {where} host: {why}" in
                             self.paths(host)[0]["why"], 10)
                    row = self.check(host)
                    self.assertEqual(row["verdict"], "failed")
                    self.assertIn(f"closed on {where} host: {why}", row["found"])
                    self.assertEqual(row["cure"].endswith("# on h2"), where == "that", row)
                second.cli(*reopen)
                for host, peer in (0, "h2"), (1, "h1"):
                    wait_for("the channel is open", lambda host=host: self.check(host)["verdict"] == "ok", 10)
                    self.assertEqual(self.paths(host)[0]["why"], f"on host {peer}; hca: encryption is on")
        finally:
            self.signal("KILL")
            for end in ends:
                end.end()

    def signal(self, name):
        for vm in 1, 2:
            self.rig.shell(vm, "for p in /proc/[0-9]*; do [ \"$(cat $p/comm 2>/dev/null)\" != ib_send_lat ] || "
                               f"kill -{name} ${{p#/proc/}}; done")

    def check(self, host):
        """The channel to the other host, as vm check sees it."""
        rows = json.loads(self.rig.hosts[host].cli("--formatter=json", "vm", "check", f"vm{host + 1}", check=False).stdout)
        return next(row for row in rows if row["check"] == f"Channel to h{2 - host}")

    def paths(self, host):
        rows = json.loads(self.rig.hosts[host].cli("path", "list", "--formatter=json").stdout)
        return [row for row in rows if row["path"] != "-"]

    def test_vds_list_names_the_form_of_the_switch_and_no_problem(self):
        switch = next(row for row in json.loads(self.rig.hosts[0].cli("vds", "list", "--formatter=json").stdout)
                      if row["host"] == "h1")
        self.assertIn({"host": "h1", "uplink": "eth1"}, switch["hosts"])
        self.assertEqual(switch["problems"], [])
        self.assertIn(switch["form"], ("plain", "vlan-aware"))


test_traffic.add_runs(BetweenTwoHosts)


class BetweenTwoHostsRoceV1(by_gid.EveryKindOfGid, unittest.TestCase):
    """vm1 has hardware version 13, which can nothing else; vm2 a newer one, set to RoCE v1."""

    spoken = by_gid.V1

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(adapters={1: ["--hw-version", "13"], 2: ["--protocol", "v1"]})
        cls.exchange = Exchange(cls.rig, server=1, client=2)


# One of each kind, what travels being the same but for the GIDs; none with shared receives, which version 13 has not.
test_traffic.add_runs(BetweenTwoHostsRoceV1, [
    "rc_pingpong", "C78_ud_pingpong", "C78_rping", "every_operation_byte_by_byte", "C78_rc_pingpong_with_events", "ucmatose",
    "ib_write_bw_connection_manager", "ib_read_bw_64_qps", "ib_send_bw_both_ways", "ib_send_bw_datagrams", "ib_write_lat",
    "C75_ib_atomic_bw_cmp_and_swap", "C75_ib_atomic_lat_fetch_and_add"])


if __name__ == "__main__":
    unittest.main()
