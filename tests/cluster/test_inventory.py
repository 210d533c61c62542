"""What hosts know of one another, while all is well and while it is not."""

import json
import os
import re
import signal
import time
import unittest

import etcd_request
from etcd_request import ROOT, coded, gid_of
from hosts import LEASE_S, ClusterTest, wait_for

MOST_KEYS = 20480  # of a host: View::kMaxKeysPerHost
NETWORK = "67f99a94a46b56cc"  # VLAN 10 of switch lan


def put(host, key, value, **who):
    """etcd's answer to a write by a host's own user."""
    return etcd_request.put(host.etcd, key, value, **who)


class Claims(ClusterTest):
    MAC = "02:50:56:00:00:01"

    def test_a_host_writes_below_its_own_prefix_alone(self):
        h1, h2 = self.cluster(2)
        h1.cli("vm", "add", "db1", "--mac", self.MAC)
        wait_for(lambda: h2.status()["hosts"][0]["adapters"] == 1, "the VM")
        for key in ("hosts/h1/info", f"hosts/h1/gids/{NETWORK}/v2/{gid_of(self.MAC)}/db1/1", "hosts/h11/info",
                    "config/switches/s", "elsewhere"):
            self.assertIn("permission denied", put(h2, key, {}).get("error", ""), key)
        erased = h2.etcd("/v3/kv/deleterange", {"key": coded(ROOT), "range_end": coded("/paravane/v10")})
        self.assertIn("permission denied", erased["error"])
        self.assertEqual(h1.status()["hosts"][0]["adapters"], 1)

    def test_a_claim_of_anothers_gid_has_no_effect_and_is_named(self):
        h1, h2 = self.cluster(2)
        h1.cli("vm", "add", "db1", "--mac", self.MAC)
        h2.cli("vm", "add", "thief", "--mac", "02:50:56:00:00:02")
        wait_for(lambda: [host["adapters"] for host in h2.status()["hosts"]] == [1, 1], "the VMs")
        # As an intruder in h2's engine: its own daemon would write what it knows again.
        os.kill(h2.children()["paravaned"], signal.SIGSTOP)
        self.addCleanup(os.kill, h2.children()["paravaned"], signal.SIGCONT)
        answer = put(h2, f"hosts/h2/gids/{NETWORK}/v2/{gid_of(self.MAC)}/thief/1", {})
        self.assertNotIn("error", answer)
        wait_for(lambda: h1.status()["lost"], "the claim")
        self.assertEqual(h1.status()["lost"], [
            f"gids/{NETWORK}/v2/{gid_of(self.MAC)}/thief/1 of host h2: the GID is derived from the MAC address of adapter "
            "db1/1 of host h1"])
        self.assertEqual([host["gids"] for host in h1.status()["hosts"]], [0, 0])

    def test_rubbish_of_one_host_harms_nobody(self):
        h1, h2, h3 = self.cluster(3)
        os.kill(h2.children()["paravaned"], signal.SIGSTOP)
        self.addCleanup(os.kill, h2.children()["paravaned"], signal.SIGCONT)
        for key in ("hosts/h2/x", "hosts/h2/gids/v2/zz", "hosts/h2/adapters/A/1", "hosts/h2/adapters/a/1"):
            self.assertNotIn("error", put(h2, key, {"mac": "x" * 500}))
        wait_for(lambda: h1.status()["odd_keys"] == 4, "the rubbish")
        h3.cli("vm", "add", "db1")
        wait_for(lambda: h1.status()["hosts"][2]["adapters"] == 1, "the VM")

    def test_keys_that_count_for_nothing_do_not_grow_old(self):
        h1, h2 = self.cluster(2)
        os.kill(h2.children()["paravaned"], signal.SIGSTOP)
        self.addCleanup(os.kill, h2.children()["paravaned"], signal.SIGCONT)
        at_once = 100
        self.assertNotEqual(MOST_KEYS % at_once, 0)

        def some(first):
            return {"success": [{"requestPut": {"key": coded(f"{ROOT}hosts/h2/{number}"), "value": coded("{}")}}
                                for number in range(first, first + at_once)]}
        # The last of them is the first that is too many, and the last that is written: what came after the
        # authority has taken all away would stay.
        h2.etcd("/v3/kv/txn", *[some(first) for first in range(0, MOST_KEYS, at_once)])
        left = {"key": coded(f"{ROOT}hosts/h2/"), "range_end": coded(f"{ROOT}hosts/h20"), "count_only": True}
        wait_for(lambda: "count" not in h2.etcd("/v3/kv/range", left), "the authority to take them away")
        h1.wait_log("host h2 exceeded its limit of keys")
        wait_for(lambda: not any("too many" in line for line in h1.status()["lost"]), "all to be read again")

    def test_a_mac_address_is_one_adapters_in_the_whole_cluster(self):
        h1, h2 = self.cluster(2)
        h1.cli("vm", "add", "db1", "--mac", self.MAC)
        wait_for(lambda: h2.status()["hosts"][0]["adapters"] == 1, "the VM")
        self.assertIn(f"MAC address {self.MAC} belongs to adapter db1/1 of host h1",
                      h2.refused("vm", "add", "db2", "--mac", self.MAC))
        self.assertIn("vm db1 is on host h1", h2.refused("vm", "show", "db1"))
        listed = json.loads(h2.cli("vm", "list", "--all-hosts", "--formatter=json").stdout)
        self.assertEqual([(row["host"], row["vm"], row["mac"]) for row in listed], [("h1", "db1", self.MAC)])
        self.assertIn("no VMs on host h2", h2.cli("vm", "list", "--host", "h2").stderr)
        h2.cli("vm", "add", "db1")  # a name is each host's own; it gets another address
        h1.cli("vm", "add", "x1")
        wait_for(lambda: h2.status()["hosts"][0]["adapters"] == 2, "the VM")
        h2.cli("vm", "add", "x1")
        macs = [row["mac"] for host in (h1, h2)
                for row in json.loads(host.cli("vm", "list", "--formatter=json").stdout)]
        self.assertEqual(len(set(macs)), 4)


class Away(ClusterTest):
    def test_etcd_away_and_back(self):
        h1, h2 = self.cluster(2)
        h1.cli("vm", "add", "db1")
        wait_for(lambda: h2.status()["hosts"][0]["adapters"] == 1, "the VM")
        for _ in range(2):
            os.kill(h1.children()["etcd"], signal.SIGSTOP)  # it hangs, then it is gone
            for host in (h1, h2):
                wait_for(lambda host=host: not host.connected(), f"{host.name} to notice")
            status = h2.status()
            self.assertEqual([host["adapters"] for host in status["hosts"]][0], 1)
            self.assertIn("https://10.77.0.1:2379", status["problem"])
            complaint = h2.refused("vm", "add", "db9")
            self.assertIn("the cluster's inventory cannot be reached", complaint)
            self.assertIn("The inventory is unreachable", h2.cli("cluster", "status").stdout)
            os.kill(h1.children()["etcd"], signal.SIGKILL)
            for host in (h1, h2):
                wait_for(host.connected, f"{host.name} to be back")
            # Where h1's lease has ended meanwhile it says all again.
            wait_for(lambda: [host["adapters"] for host in h2.status()["hosts"]] == [1, 0], "all to be seen again")
        h2.cli("vm", "add", "db9")
        wait_for(lambda: [host["adapters"] for host in h1.status()["hosts"]] == [1, 1], "both VMs")

    def test_what_is_taken_away_meanwhile_is_gone_afterwards(self):
        h1, h2 = self.cluster(2)
        h2.cli("vm", "add", "db1")
        wait_for(lambda: h1.status()["hosts"][1]["adapters"] == 1, "the VM")
        self.wire.cut("h2")
        wait_for(lambda: not h2.connected(), "h2 to notice")
        h2.cli("vm", "remove", "db1")
        self.wire.mend("h2")
        wait_for(h2.connected, "h2")
        wait_for(lambda: h1.status()["hosts"][1]["adapters"] == 0, "the VM to be gone")

    def test_a_host_that_is_cut_off_is_away_for_the_others_until_it_is_back(self):
        h1, h2 = self.cluster(2)
        h2.cli("vm", "add", "db1")
        self.wire.cut("h2")
        wait_for(lambda: h1.present() == ["h1"], "its lease to end")
        self.assertIn("h1", h2.present())  # as it was last known
        self.wire.mend("h2")
        wait_for(lambda: h1.present() == ["h1", "h2"], "h2")
        wait_for(lambda: h1.status()["hosts"][1]["adapters"] == 1, "the VM")

    def test_a_daemon_that_is_gone_is_away_when_its_lease_ends(self):
        h1, h2 = self.cluster(2)
        h2.end(kill=True)
        began = time.monotonic()
        wait_for(lambda: h1.present() == ["h1"], "its lease to end")
        self.assertLess(time.monotonic() - began, 3 * LEASE_S)


class Certificates(ClusterTest):
    def test_they_are_renewed_before_they_end_and_nobody_notices(self):
        h1, h2 = self.cluster(2, "certificate_lifetime_s = 30\n")
        for host, to in (h1, h2), (h2, h1):
            wait_for(lambda host=host, to=to: host.channel(to)[0] == "encrypted", "the channel")
        for _ in range(2):
            before = {host.name: host.file("host.pem").read_text() for host in (h1, h2)}
            for host in h1, h2:
                wait_for(lambda host=host: host.file("host.pem").read_text() != before[host.name],
                         f"a new certificate of {host.name}: {host.log_text()}")
        for host in (h1, h2):
            self.assertGreater(host.status()["certificate_left_s"], 0)
            self.assertNotIn("expires in 0 s", host.log_text())
            # A busy machine may be too slow for etcd or for a peer; a certificate is never the reason.
            for line in re.findall("the inventory is unreachable: .*", host.log_text()):
                self.assertNotRegex(line, "(?i)certificate|ssl|tls")
            wait_for(host.connected, f"{host.name} to be connected")
            self.assertNotRegex(host.log_text(), "no channel: .*(key|machine|not a member|no longer a member)")
        # The others know the key that a host has now: it is let in when it comes anew.
        h2.end()
        h2.start()
        for host, to in (h1, h2), (h2, h1):
            wait_for(lambda host=host, to=to: host.channel(to)[0] == "encrypted", "the channel again")

    def test_one_that_has_ended_is_said_to_have(self):
        h1, h2 = self.cluster(2, "certificate_lifetime_s = 30\n")
        h2.end()
        time.sleep(31)
        h2.start()
        wait_for(lambda: "was not renewed and expires in 0 s" in h2.log_text(), "a complaint")
        self.assertFalse(h2.connected())
        h1.cli("cluster", "remove", "h2")
        h2.cli("cluster", "leave", "--force")
        h2.cli("cluster", "join", text=h1.token("h2"))
        wait_for(lambda: h1.present() == ["h1", "h2"], "h2")


if __name__ == "__main__":
    unittest.main()
