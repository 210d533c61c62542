"""Faults between hosts, each more than once, under real guests: what a fabric would show them is what
they see, nothing is lost or done twice, and the operator reads the cause once.
"""
import contextlib
import time
import unittest

from fault_rig import MANNERS, SILENCE_S, SLACK_S, FaultRig, own_time
from guests import wait_for
from etcd_request import gid_of  # fault_rig makes this and the next importable
from runner.network import guest_mac
from rig import Exchange
from test_traffic import verified_data

NETWORK = "d24368ec551f71e7"  # VLAN 0 of switch lan (docs/cluster.md)
RETRIES_EXCEEDED = "transport retry counter exceeded"


class HostFaults(unittest.TestCase):
    """The cable of h2 is at fault; vm1 and vm3, on h1 and h3, are the bystanders."""

    @classmethod
    def setUpClass(cls):
        cls.rig = FaultRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.exchange = Exchange(cls.rig, server=1, client=2)

    def setUp(self):
        self.rig.cable.order("up")  # whatever became of the test before
        for number, to in (1, "h2"), (2, "h3"), (1, "h3"):
            self.rig.wait_channel(number, to)
        self.log = self.rig.mark()

    def connections_work(self):
        """New ones, over the connection manager and without."""
        self.exchange.run(["rping", "-s", "-C", "10", "-V"], ["rping", "-c", "-a", self.exchange.address, "-C", "10", "-V"],
                          cm_port=7174)
        words = ["ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "0", "-n", "100"]
        self.exchange.run(words, [*words, self.exchange.address], port=18515)

    # ---- the link ----

    def test_link_down_for_a_second(self):
        there, back = self.rig.tally(1, 2, 6, timeout=18), self.rig.tally(2, 1, 6, timeout=18)
        for _ in range(2):
            self.rig.cable.order("down")
            time.sleep(1)
            self.rig.cable.order("up")
            time.sleep(1.5)
        for ended in there.end(), back.end():
            self.assertEqual(ended.code, 0, ended.text)
            self.assertGreater(ended.longest, 0.9, ended.text)
        # No channel was lost, so there is nothing to say.
        for number in 1, 2, 3:
            self.assertEqual(self.log.lines(number, "no channel"), [])

    def cut_off(self, seconds, patient):
        """A host is cut off for so long. `patient`: that one's queue pairs wait for longer."""
        waits = 15  # 1.1 s, counted from when the channel is lost
        bystanders = self.rig.tally(1, 3, seconds + 2)
        survivor = self.rig.tally(2, 1, seconds + 4, timeout=20) if patient else None
        doomed = self.rig.tally(1, 2, seconds + 4, timeout=waits), self.rig.tally(2, 3, seconds + 4, timeout=waits)
        down = time.monotonic()
        self.rig.cable.order("down")
        for ended in doomed[0].end(), doomed[1].end():
            self.assertEqual(ended.failed[0], RETRIES_EXCEEDED, ended.text)
            self.assertGreater(ended.failed[1], own_time(waits), ended.text)
            self.assertLess(ended.failed[1], own_time(waits) + SILENCE_S + SLACK_S, ended.text)
        self.assert_no_channel(1, "h2", "vm1" if patient else None)
        time.sleep(max(0, down + seconds - time.monotonic()))
        self.rig.cable.order("up")
        if patient:
            ended = survivor.end()
            self.assertEqual(ended.code, 0, ended.text)
            self.assertGreater(ended.longest, seconds - 1, ended.text)
        ended = bystanders.end()
        self.assertEqual(ended.code, 0, ended.text)
        self.assertLess(ended.longest, 1.5, ended.text)

    def assert_no_channel(self, number, host, vm):
        """What the operator sees, meanwhile. `vm`: has a connection that waits."""
        seen = next(one for one in self.rig.status(number)["hosts"] if one["name"] == host)
        if not seen["present"]:
            return  # for so long that its lease has ended
        self.assertEqual(seen["channel"], "none", seen)
        self.assertRegex(seen["channel_problem"], "nothing was received from the host|cannot connect")
        if vm:
            why = [row["why"] for row in self.rig.paths(number) if row["vm"] == vm and row["peer_host"] == host]
            self.assertRegex(" ".join(why), "no channel: (nothing was received from the host|cannot connect)")

    def causes(self, number, host):
        """Why there is no channel to a host, as another has logged it."""
        return [line.split(": no channel: ")[1] for line in self.log.lines(number, f"host {host}: no channel: ")]

    def assert_named_once(self, number, host, outages):
        """Each cause of an outage, and the channel's return."""
        lines, causes = self.log.lines(number, f"host {host}: "), self.causes(number, host)
        self.assertIn("nothing was received from the host for 3000 ms", causes)
        for cause in causes:
            self.assertLessEqual(causes.count(cause), outages, lines)
        self.assertLessEqual(len(lines), 4 * outages, lines)

    def test_a_host_is_cut_off_and_comes_back(self):
        for _ in range(2):
            self.cut_off(5, patient=True)
        self.assert_named_once(1, "h2", outages=2)
        self.assertEqual(self.log.lines(1, "host h3"), [])
        self.connections_work()

    def test_link_down_for_a_minute(self):
        for _ in range(2):
            self.log = self.rig.mark()
            self.cut_off(60, patient=False)
            wait_for("h2 is there again", lambda: self.rig.present(1) == ["h1", "h2", "h3", "h4"], 30)
            self.rig.wait_known()
            self.rig.wait_channel(1, "h2")
            self.connections_work()
            self.assert_named_once(1, "h2", outages=1)

    # ---- frames ----

    def under(self, **properties):
        """Traffic while the wire has these."""
        for name, value in properties.items():
            self.rig.cable.order(f"{name.replace('_', '-')} {value}")
        try:
            tally = self.rig.tally(1, 2, 2, timeout=20)
            self.exchange.run(["rping", "-s", "-C", "5", "-V"], ["rping", "-c", "-a", self.exchange.address, "-C", "5", "-V"],
                              cm_port=7174)
            ended = tally.end()
        finally:
            for name in properties:
                self.rig.cable.order(f"{name.replace('_', '-')} 0")
        self.assertEqual(ended.code, 0, ended.text)
        self.assertGreater(ended.rounds, 2, ended.text)

    def test_frames_are_lost(self):
        before = self.rig.cable.counts()["a_to_b"]["lost"]
        self.under(loss="1%")
        self.under(loss="10%")
        self.assertGreater(self.rig.cable.counts()["a_to_b"]["lost"], before + 20)

    def test_frames_are_late_and_in_another_order(self):
        before = self.rig.cable.counts()["a_to_b"]["reordered"]
        self.under(delay="20ms", reorder="5%")
        self.assertGreater(self.rig.cable.counts()["a_to_b"]["reordered"], before)

    def test_every_operation_byte_by_byte_over_a_bad_wire(self):
        properties = {"loss": "1%", "reorder": "5%", "delay": "1ms"}
        for name, value in properties.items():
            self.rig.cable.order(f"{name} {value}")
        try:
            verified_data(self.exchange)
        finally:
            for name in properties:
                self.rig.cable.order(f"{name} 0")

    # ---- the connection ----

    def test_the_connection_is_reset_every_second(self):
        there, back = self.rig.tally(1, 2, 5, timeout=18), self.rig.tally(2, 1, 5, timeout=18)
        for _ in range(4):
            self.assertGreater(self.rig.reset_channels(1), 0)
            time.sleep(1)
        for ended in there.end(), back.end():
            self.assertEqual(ended.code, 0, ended.text)
        for number, host in (1, "h2"), (2, "h1"):
            causes = self.causes(number, host)
            self.assertEqual(len(causes), len(set(causes)), self.log.lines(number))
            self.assertTrue(any("the connection failed" in cause for cause in causes), self.log.lines(number))
            self.assertLessEqual(len(self.log.lines(number, f"host {host}: ")), 6, self.log.lines(number))

    # ---- daemons ----

    def test_a_daemon_is_killed_and_started_again(self):
        for _ in range(2):
            self.log = self.rig.mark()
            bystanders, doomed = self.rig.tally(1, 3, 5), self.rig.tally(2, 1, 30)
            self.rig.host(2).kill()
            ended = doomed.end()
            self.assertEqual(ended.failed[0], RETRIES_EXCEEDED, ended.text)
            self.assertGreater(ended.failed[1], own_time(14), ended.text)
            self.assertLess(ended.failed[1], own_time(14) + SLACK_S, ended.text)
            self.rig.host(2).start()
            self.assertFalse(self.rig.hosts[1].attached("vm2"))  # until it restarts
            self.rig.restart_guest(2)
            ended = bystanders.end()
            self.assertEqual(ended.code, 0, ended.text)
            self.rig.wait_known()
            self.rig.wait_channel(1, "h2")
            self.connections_work()
            causes = self.log.lines(1, "host h2: no channel")
            self.assertIn(len(causes), (1, 2, 3), causes)
            self.assertEqual(self.log.lines(1, "host h3"), [])

    def test_etcd_is_killed_and_restored_under_traffic(self):
        for hangs_first in True, False:
            self.log = self.rig.mark()
            through = self.rig.tally(1, 2, 12 if hangs_first else 5)
            kill = self.rig.stop_etcd()
            with contextlib.ExitStack() as restored:
                if hangs_first:
                    restored.callback(kill)
                else:
                    kill()
                for number in 1, 2:
                    wait_for("it is noticed", lambda n=number: not self.rig.status(n)["connected"])
                if hangs_first:
                    self.connections_work()
                for number, words in (1, ("vm", "add", "late")), (2, ("vm", "add", "late")), (
                        1, ("portgroup", "create", "late", "--vds", "lan")):
                    refused = self.rig.hosts[number - 1].cli(*words, check=False)
                    self.assertNotEqual(refused.returncode, 0, words)
                    self.assertIn("the cluster's inventory cannot be reached", refused.stderr)
            for number in 1, 2:
                wait_for("it is back", lambda n=number: self.rig.status(n)["connected"])
            self.rig.hosts[1].cli("vm", "add", "late")
            wait_for("all know of it", lambda: self.rig.status(1)["hosts"][1]["adapters"] == 2)
            self.rig.hosts[1].cli("vm", "remove", "late")
            ended = through.end()
            self.assertEqual(ended.code, 0, ended.text)
            self.assertLess(ended.longest, SLACK_S, ended.text)
            for number in 1, 2:
                away = [line.split("unreachable: ")[1] for line in self.log.lines(number, "the inventory is unreachable: ")]
                self.assertGreater(len(away), 0)
                self.assertEqual(len(away), len(set(away)), away)
                # h4 has no guest, and may still be on its way back from the test before.
                self.assertEqual([line for line in self.log.lines(number, "no channel") if "host h4" not in line], [])

    def test_a_host_that_goes_bad_harms_nobody(self):
        traffic = self.rig.tally(1, 2, 14), self.rig.tally(3, 1, 14)
        self.rig.host(4).kill()
        member = self.rig.rogue(4, "member", self.rig.host(4).address, self.rig.cluster_directory(4), "h4")
        mac = guest_mac(1)
        for key in (f"adapters/thief/1/mac/{mac}", "adapters/thief/1/portgroup/rdma",
                    f"gids/{NETWORK}/v2/{gid_of(mac)}/thief/1"):
            self.assertNotIn("error", self.rig.put(4, f"hosts/h4/{key}", {}))
        stranger = self.rig.rogue(4, "stranger", self.rig.host(1).address)
        wait_for("it has been bad in every way", lambda: all(manner in member.said() for manner in MANNERS), 120)
        time.sleep(1)
        lost = self.rig.status(1)["lost"]
        for rogue in member, stranger:
            rogue.end()
        self.rig.host(4).start()
        for tally in traffic:
            ended = tally.end()
            self.assertEqual(ended.code, 0, ended.text)
            self.assertLess(ended.longest, SLACK_S, ended.text)
        self.assertEqual(len([claim for claim in lost if "of host h4" in claim]), 2, lost)
        for number in 1, 2, 3:
            causes = self.causes(number, "h4")
            # It may have been away for the others in between.
            self.assertLessEqual(max(causes.count(cause) for cause in causes), 2, causes)
            self.assertLessEqual(len(self.log.lines(number)), 40, self.log.lines(number))
        self.assertLessEqual(len(self.log.lines(1, "a connection was refused")), 9)
        self.connections_work()


if __name__ == "__main__":
    unittest.main()
