"""Cables between the switches of hosts: one subnet over several hosts of a cluster, under Debian's opensm."""
import json
import os
import signal
import subprocess
import time
import unittest

from cable_rig import CableTest, Station
from rig import BIN, PATIENCE_S, wait_for
import typed_page  # in the folder of rig, which cable_rig makes importable

BLOCKS = typed_page.marked("infiniband.cables")

IPERF_BYTES = 64 * 1024 * 1024


class TwoHosts(CableTest):
    """Plan, 3.1."""

    def setUp(self):
        super().setUp()
        self.h1, self.h2 = self.hosts
        self.h1.opensm()

    def test_two_managers_of_which_neither_hears_the_other_are_told_at_both_hosts(self):
        self.h2.opensm()
        for one, other in ((self.h1, self.h2), (self.h2, self.h1)):
            wait_for(one.are_active, "the ports of each host to be Active, by its own manager")
            wait_for(lambda one=one, other=other: (link := one.link_to(other)) and "both may give the same LIDs" in link["problem"], "it to be told")
        self.assertRegex(self.h1.link_to(self.h2)["problem"],
                         "here with: paravane infiniband sm add h2, and on h2 with: paravane infiniband sm add h1; then restart opensm")

    def test_3_3_a_manager_is_heard_only_where_it_was_named(self):
        wait_for(self.h1.are_active, "the ports of h1 to be Active")
        # It sees the other host, and may not set anything there.
        wait_for(lambda: "h2 mlx4_0" in self.h1.tool("ibnetdiscover"), "the other host to be seen")
        wait_for(lambda: "paravane infiniband sm add h1" in self.h2.link_to(self.h1)["problem"], "the command to be told")
        for port in self.h2.ports().values():
            self.assertRegex(port["problem"], "host h1 is not heard as one: .* paravane infiniband sm add h1$")
        self.assertFalse(self.h2.are_active())
        self.assertEqual(self.h2.fabric()["switch_lid"], 0)
        self.let_manage()
        self.wait_active()
        self.wait_linked()
        self.assertEqual([one.link_to(other)["problem"] for one, other in ((self.h1, self.h2), (self.h2, self.h1))], ["", ""])
        # No longer named: what it sets is refused again.
        self.h2.cli("infiniband", "sm", "remove", "h1")
        dropped = self.h2.link_to(self.h1)["management_dropped"]
        port = self.h2.link_to(self.h1)["port"]
        self.h1.tool("ibportstate", self.h2.fabric()["switch_lid"], port, "disable", check=False)
        self.assertGreater(self.h2.link_to(self.h1)["management_dropped"], dropped)
        self.assertEqual(self.h2.link_to(self.h1)["state"], "Active")

    def test_M1_M4_4_2_4_stations_of_two_hosts_reach_each_other(self):
        self.let_manage()
        self.wait_active()
        self.make_switch()
        one = Station(self.h1, "a", self.h1.bridges("lan")[0], "192.0.2.1/24", "2001:db8::1/64")
        two = Station(self.h2, "b", self.h2.bridges("lan")[0], "192.0.2.2/24", "2001:db8::2/64")
        one.wait_for("192.0.2.2")
        two.wait_for("2001:db8::1")
        third = Station(self.h1, "c", self.h1.bridges("lan")[1], "192.0.2.3/24")
        fourth = Station(self.h2, "d", self.h2.bridges("lan")[1], "192.0.2.4/24")
        third.wait_for("192.0.2.4")
        self.assertFalse(third.pings("192.0.2.2"))
        self.assertFalse(fourth.pings("192.0.2.1"))
        server = subprocess.Popen([*two.network.before(), "iperf3", "--server", "--one-off"], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait, PATIENCE_S)
        self.addCleanup(server.kill)
        wait_for(lambda: ":5201" in two.run("ss", "-ltn"), "iperf3 to listen")
        arrived = one.network.stream_to("192.0.2.2", IPERF_BYTES)
        self.assertGreater(arrived, IPERF_BYTES // 2)
        self.assertGreater(self.h1.link_to(self.h2)["sent_bytes"], arrived)
        self.assertGreater(self.h2.link_to(self.h1)["received_bytes"], arrived)

    def test_1_4_the_tools_see_both_hosts(self):
        self.let_manage()
        self.wait_active()
        for host in self.hosts:
            seen = host.tool("ibnetdiscover")
            for node in ("h1 switch", "h2 switch", "h1 mlx4_0", "h2 mlx4_0"):
                self.assertIn(f'"{node}"', seen)
        lid = self.h2.ports()["mlx4_0", 1]["lid"]
        self.assertIn("h2 mlx4_0", self.h1.tool("ibtracert", self.h1.ports()["mlx4_0", 1]["lid"], lid))
        self.assertIn("h1", self.h2.tool("sminfo") and self.h2.tool("smpquery", "nodedesc", self.h2.ports()["mlx4_0", 1]["sm_lid"]))


    def test_the_page_is_typed(self):
        block, = BLOCKS["infiniband.md"]
        home = self.h2.folder / "bin"
        home.mkdir()
        (home / "paravane").write_text(f'#!/bin/sh\nexec {BIN}/paravane --socket {self.h2.api} "$@"\n')
        (home / "paravane").chmod(0o755)
        typed = typed_page.commands(block)
        done = subprocess.run(["bash", "-c", typed_page.script_of(typed)], env=os.environ | {"PATH": f"{home}:{os.environ['PATH']}"},
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
        for one, (lines, status) in zip(typed, typed_page.results(done.stdout, typed)):
            self.assertEqual(status, 0, f"{one.text}: {lines}\n{done.stderr}")
        self.assertEqual([one["host"] for one in json.loads(self.h2.cli("infiniband", "sm", "list", "--json").stdout)], ["h2"])


class Mishaps(CableTest):
    """Plan, 6.3: what goes away and comes back under traffic."""

    def setUp(self):
        super().setUp()
        self.h1, self.h2 = self.hosts
        self.h1.opensm()
        self.let_manage()
        self.wait_active()
        self.make_switch()
        self.one = Station(self.h1, "a", self.h1.bridges("lan")[0], "192.0.2.1/24")
        self.two = Station(self.h2, "b", self.h2.bridges("lan")[0], "192.0.2.2/24")
        self.one.wait_for("192.0.2.2")

    def test_a_cable_is_out_and_in(self):
        told = {host.name: len(host.link_events()) for host in self.hosts}
        self.wire.cut("h2")
        wait_for(lambda: self.h1.is_linked(self.h2, "Down") and self.h2.is_linked(self.h1, "Down"), "both ends to be Down")
        self.assertNotEqual(self.h1.link_to(self.h2)["problem"], "")
        self.assertFalse(self.one.pings("192.0.2.2"))
        self.wire.mend("h2")
        self.wait_linked()
        for host, other in ((self.h1, self.h2), (self.h2, self.h1)):
            def are_told(host=host):
                events = host.link_events()[told[host.name]:]
                return events if len(events) >= 2 else None
            (down, at_loss), (up, at_return) = wait_for(are_told, "both to be told")
            self.assertEqual((down, at_loss["host"]), ("infiniband.cable.down", other.name))
            self.assertNotEqual(at_loss["reason"], "")
            self.assertEqual((up, at_return), ("infiniband.cable.up", {"host": other.name}))
        self.one.wait_for("192.0.2.2")

    def test_a_host_is_killed_and_comes_back(self):
        self.h2.end(kill=True)
        wait_for(lambda: self.h1.is_linked(self.h2, "Down") or self.h1.link_to(self.h2) is None, "the end at h1 to be Down")
        self.h2.start()
        self.wait_linked()
        self.wait_active()
        self.one.wait_for("192.0.2.2")

    def test_an_engine_is_killed(self):
        os.kill(self.h2.children()["paravaned"], signal.SIGKILL)
        self.wait_active()
        self.wait_linked()
        self.one.wait_for("192.0.2.2")

    def test_6_an_upgrade_keeps_the_link(self):
        """The connection is made anew; if that takes less than the three seconds of grace, no port of the cable is ever down."""
        upgrade = subprocess.Popen([str(BIN / "paravane"), "--socket", str(self.h2.api), "daemon", "upgrade"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(upgrade.wait, PATIENCE_S)
        states, began, lost_s = set(), time.monotonic(), 0
        lost_at = None  # when the line was seen to be lost
        while upgrade.poll() is None or time.monotonic() < began + 8:
            link, now = self.h1.link_to(self.h2), time.monotonic()
            states.add(link["state"])
            if link["problem"]:
                lost_at = lost_at or now
                lost_s = now - lost_at
        self.assertEqual(upgrade.returncode, 0)
        self.wait_active()
        self.wait_linked()
        self.assertTrue(self.h1.is_linked(self.h2) and self.h2.is_linked(self.h1))
        if lost_s < 2:
            self.assertEqual(states, {"Active"}, f"without a line for {lost_s} s")
        self.one.wait_for("192.0.2.2")

    def test_infiniband_of_a_host_is_restarted(self):
        self.h2.cli("infiniband", "restart")
        self.wait_active()
        self.wait_linked()
        self.one.wait_for("192.0.2.2")


class TwoManagers(CableTest):
    """Plan, 1.5, with managers on two hosts."""

    def test_1_5_the_master_s_host_is_killed_and_the_other_is_master(self):
        h1, h2 = self.hosts
        h1.opensm(priority=9)
        h1.cli("infiniband", "sm", "add", "h2")
        h2.cli("infiniband", "sm", "add", "h1")
        self.wait_active()
        h2.opensm(priority=1)
        wait_for(lambda: "Entering STANDBY" in h2.opensm_log() or "STANDBY" in h2.opensm_log(), "the second manager to stand by")
        h1.end(kill=True)
        began = time.monotonic()
        wait_for(lambda: "MASTER" in h2.opensm_log(), "the second manager to be master")
        self.assertLess(time.monotonic() - began, 20)
        wait_for(h2.are_active, "the ports of h2 to be Active")


if __name__ == "__main__":
    unittest.main()
