"""Distributed switches on hosts: bridges, taps, uplinks, and the frames that pass."""

import grp
import json
import os
import pathlib
import signal
import time
import unittest

from network import Namespace, Tap, is_cut_off, join, may_open, reaches
from rig import BIN, ENGINE_USER, PATIENCE_S, DaemonTest, adapters, connect, kill_daemon, run_cli, wait_for
from vmm import attach


MENDED_S = 2  # what others change is mended or told within


class Host:
    """A daemon in a network namespace of its own."""

    def __init__(self, test, name):
        self.test, self.name = test, name
        self.network = Namespace(name)
        test.addCleanup(self.network.close)
        self.folder = test.folder / name
        for folder in (self.folder, self.folder / "state", self.folder / "vms"):
            test.make_directory(folder)
        self.daemon = None

    def configure(self, uplinks=("nic",), more=""):
        (self.folder / "paravaned.toml").write_text(
            f'[api]\nsocket = "{self.folder}/api.sock"\n[state]\ndirectory = "{self.folder}/state"\n'
            f'[vfio_user]\nsocket_directory = "{self.folder}/vms"\n{more}\n[sandbox]\nuser = "{ENGINE_USER}"\n'
            f'[host]\nname = "{self.name}"\n[network]\nuplinks = {json.dumps(uplinks)}\n')

    def start(self, *before):
        self.daemon = self.test.spawn(*self.network.before(), *before, BIN / "paravaned", "--config",
                                      self.folder / "paravaned.toml")
        wait_for(lambda: self.cli("status", check=False).returncode == 0, "the daemon to answer")

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait(PATIENCE_S)

    def cli(self, *words, check=True):
        return self.test.check_cli(run_cli(self.folder / "api.sock", *words), words, check)

    def refused(self, *words):
        done = self.cli(*words, check=False)
        self.test.assertEqual(done.returncode, 1, f"{words}: {done.stderr}")
        return done.stderr

    def rows(self, *words):
        return json.loads(self.cli(*words, "--formatter=json").stdout)

    def vds(self):
        vds = self.rows("vds", "list")[0]
        uplink = next((one["uplink"] for one in vds["hosts"] if one["host"] == vds["host"]), "")
        return {**vds, "uplink": uplink, "problem": "; ".join(vds["problems"])}

    def adapters(self):
        return adapters(self.rows("vm", "list"))

    def links(self):
        return {name: link for name, link in self.network.links().items() if name != "lo"}

    def soon(self, condition, what):
        """Waits for it, and no longer than it may take the daemon by itself."""
        start = time.monotonic()
        wait_for(condition, what)
        self.test.assertLess(time.monotonic() - start, MENDED_S, what)

    def events(self, kind):
        return [event["fields"] for event in self.rows("events") if event["type"] == kind]

    def metric(self, name):
        """The value of the only series that begins so."""
        with connect(self.folder / "api.sock") as client:
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            page = b"".join(iter(lambda: client.recv(65536), b"")).decode()
        value, = [line.split()[-1] for line in page.splitlines() if line.startswith(name)]
        return float(value)

    def make_lan(self, uplink="nic"):
        """A switch with an untagged port group, and one with a VLAN."""
        self.cli("vds", "create", "lan")
        self.cli("vds", "add-host", "lan", "--uplink", uplink)
        self.cli("portgroup", "create", "vms", "--vds", "lan")
        self.cli("portgroup", "create", "storage", "--vds", "lan", "--vlan", "10")


@unittest.skipUnless(os.geteuid() == 0, "only root can make network namespaces")
class SwitchTest(DaemonTest):
    def make_host(self, name="h1", **settings):
        host = Host(self, name)
        host.configure(**settings)
        return host

    def make_two_hosts(self):
        hosts = [self.make_host("h1"), self.make_host("h2")]
        join(hosts[0].network, "nic", hosts[1].network, "nic")
        for host in hosts:
            host.start()
            host.make_lan()
        return hosts


class Frames(SwitchTest):
    def test_pass_between_hosts_within_a_port_group_only(self):
        one, two = self.make_two_hosts()
        for host in (one, two):
            for vm, group in (("a", "vms"), ("b", "vms"), ("c", "storage"), ("d", "storage")):
                host.cli("vm", "add", vm, "--port-group", group)
        with Tap(one.network, "pv-a") as a, Tap(one.network, "pv-b") as b, Tap(one.network, "pv-c") as c, \
                Tap(one.network, "pv-d") as d, Tap(two.network, "pv-a") as far, Tap(two.network, "pv-c") as far_c:
            self.assertTrue(reaches(a, b))
            self.assertTrue(reaches(c, d))
            self.assertTrue(reaches(a, far))
            self.assertTrue(reaches(far, b))
            self.assertTrue(is_cut_off(c, a, b))
            self.assertTrue(is_cut_off(a, c, d))
            self.assertTrue(is_cut_off(c, a, far))
            self.assertTrue(is_cut_off(far_c, a, b))
            # Where bridges filter VLANs, those have the uplink too, and a tag of a guest's own leads nowhere.
            if one.vds()["form"] == "vlan-aware":
                self.assertTrue(reaches(c, far_c))
                self.assertTrue(is_cut_off(a, c, far_c, tag=10))
            else:
                self.assertIn("VLAN 10 has no uplink", one.vds()["problem"])
                self.assertTrue(is_cut_off(far_c, c, d))

    def test_follow_an_adapter_to_another_port_group_while_its_vm_runs(self):
        host = self.make_host()
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        host.start()
        host.make_lan()
        for vm, group in (("a", "vms"), ("b", "vms"), ("c", "storage")):
            host.cli("vm", "add", vm, "--port-group", group)
        with attach(host.folder / "vms" / "a.sock"), Tap(host.network, "pv-a") as a, Tap(host.network, "pv-b") as b, \
                Tap(host.network, "pv-c") as c:
            self.assertTrue(reaches(b, a))
            host.cli("vm", "set", "a", "--port-group", "storage")
            self.assertTrue(reaches(c, a))
            self.assertTrue(is_cut_off(b, c, a))
            # Its tap came with its port group, and goes with it.
            done = host.cli("vm", "set", "a", "--port-group", "none", check=False)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertTrue(reaches(c, a))
        host.cli("vm", "set", "a", "--port-group", "none")
        self.assertNotIn("pv-a", host.links())


class Life(SwitchTest):
    def test_deleting_it_leaves_nothing(self):
        host = self.make_host()
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        before = set(host.links())
        host.start()
        host.make_lan()
        host.cli("vm", "add", "a", "--port-group", "vms")
        host.cli("vm", "adapter", "add", "a", "--port-group", "storage")
        links = host.links()
        self.assertLessEqual({"pvs-lan", "pv-a", "pv-a.2"}, set(links))
        self.assertEqual(links["nic"]["master"], "pvs-lan")
        self.assertIn("a is in port group vms", host.refused("portgroup", "delete", "vms"))
        self.assertIn("has port group", host.refused("vds", "delete", "lan"))
        self.assertIn("a (port group vms), a/2 (port group storage) are on switch lan", host.refused("vds", "remove-host", "lan"))
        host.cli("vm", "adapter", "remove", "a", "2")
        self.assertNotIn("pv-a.2", host.links())
        host.cli("vm", "remove", "a")
        host.cli("portgroup", "delete", "vms")
        host.cli("portgroup", "delete", "storage")
        host.cli("vds", "delete", "lan")
        self.assertEqual(set(host.links()), before)
        self.assertNotIn("master", host.links()["nic"])

    def test_taps_outlive_the_daemon_and_are_mended_by_the_next(self):
        host = self.make_host()
        host.start()
        host.cli("vds", "create", "lan")
        host.cli("vds", "add-host", "lan")
        host.cli("portgroup", "create", "vms", "--vds", "lan")
        for vm in ("a", "b"):
            host.cli("vm", "add", vm, "--port-group", "vms")
        index = host.links()["pv-a"]["ifindex"]
        kill_daemon(host.daemon)
        self.assertLessEqual({"pvs-lan", "pv-a", "pv-b"}, set(host.links()))
        host.network.ip("link", "delete", "pv-b")
        host.start()
        links = host.links()
        self.assertEqual(links["pv-a"]["ifindex"], index)  # whoever has it open keeps it
        self.assertEqual(links["pv-b"]["master"], "pvs-lan")

    def test_mtu_is_that_of_bridge_and_taps(self):
        host = self.make_host()
        host.start()
        host.cli("vds", "create", "lan", "--mtu", "9000")
        host.cli("vds", "add-host", "lan")
        host.cli("portgroup", "create", "vms", "--vds", "lan")
        host.cli("vm", "add", "a", "--port-group", "vms")
        self.assertEqual([host.links()[name]["mtu"] for name in ("pvs-lan", "pv-a")], [9000, 9000])
        host.cli("vds", "set", "lan", "--mtu", "1500")
        self.assertEqual([host.links()[name]["mtu"] for name in ("pvs-lan", "pv-a")], [1500, 1500])


class Followed(SwitchTest):
    """What others do to interfaces of a switch. Nothing here asks the daemon to look."""

    def make_lan(self, name="h1"):
        """A switch that is well in either form: without a VLAN."""
        host = self.make_host(name)
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        host.start()
        host.cli("vds", "create", "lan")
        host.cli("vds", "add-host", "lan", "--uplink", "nic")
        host.cli("portgroup", "create", "vms", "--vds", "lan")
        host.cli("vm", "add", "a", "--port-group", "vms")
        return host

    def test_whatever_is_taken_apart_is_together_again_within_two_seconds(self):
        host = self.make_lan()
        for broken, link, is_well in (
                ("link set nic nomaster", "nic", lambda nic: nic.get("master") == "pvs-lan"),
                ("link set nic down", "nic", lambda nic: "UP" in nic["flags"]),
                ("link set pvs-lan down", "pvs-lan", lambda bridge: "UP" in bridge["flags"]),
                ("link set pv-a nomaster", "pv-a", lambda tap: tap.get("master") == "pvs-lan"),
                ("link set pv-a down", "pv-a", lambda tap: "UP" in tap["flags"]),
                ("link del pv-a", "pv-a", lambda tap: tap.get("master") == "pvs-lan"),
                ("link del pvs-lan", "nic", lambda nic: nic.get("master") == "pvs-lan")):
            with self.subTest(broken):
                before = len(host.events("switch.mended"))
                host.network.ip(*broken.split())
                host.soon(lambda link=link, is_well=is_well: link in host.links() and is_well(host.links()[link]), broken)
                wait_for(lambda before=before: len(host.events("switch.mended")) > before, f"an event of: {broken}")
                self.assertIn(broken.split()[2], host.events("switch.mended")[-1]["interfaces"].split(","))
        self.assertGreaterEqual(host.metric("paravane_switch_mended_total"), 7)
        self.assertEqual(host.metric("paravane_switch_problems"), 0)
        self.wait_log("pvs-lan: it was missing and was created again")

    def test_rules_of_a_roce_port_that_are_flushed_are_made_again_within_two_seconds(self):
        host = self.make_lan()
        host.cli("portgroup", "create", "native", "--vds", "lan", "--roce", "native")
        host.cli("vm", "add", "b", "--port-group", "native")
        rules = ("filter", "show", "dev", "pv-b", "egress")
        host.soon(lambda: "pvr-b" in host.links() and "bpf" in host.network.tc(*rules), "rules of the port")
        for broken in (("filter", "del", "dev", "pv-b", "egress"), ("qdisc", "del", "dev", "pv-b", "clsact"),
                       ("qdisc", "del", "dev", "pvr-b", "clsact")):
            with self.subTest(" ".join(broken)):
                host.network.tc(*broken)
                device = broken[3]
                host.soon(lambda device=device: "bpf" in host.network.tc(
                    "filter", "show", "dev", device, "egress" if device == "pv-b" else "ingress"), f"rules of {device}")
        host.network.ip("link", "del", "pvr-b")
        host.soon(lambda: "pvr-b" in host.links() and "bpf" in host.network.tc(
            "filter", "show", "dev", "pvr-b", "ingress"), "the port and its rules")

    def test_uplink_that_goes_is_told_and_taken_when_it_is_back(self):
        host = self.make_lan()
        host.network.ip("link", "del", "nic")
        host.soon(lambda: host.events("switch.problem"), "an event")
        self.assertIn("nic: no such NIC on this host", host.events("switch.problem")[-1]["problem"])
        wait_for(lambda: host.metric("paravane_switch_problems") == 1, "the metric")
        self.assertIn("no such NIC", host.vds()["problem"])
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        host.soon(lambda: host.links()["nic"].get("master") == "pvs-lan", "the NIC to be taken")
        host.soon(lambda: host.events("switch.problem_over"), "the problem to be over")

    def test_uplink_that_is_renamed_stays_in_its_switch_and_the_remedy_is_told(self):
        host = self.make_lan()
        host.network.ip("link", "set", "nic", "nomaster")
        host.network.ip("link", "set", "nic", "down")
        host.network.ip("link", "set", "nic", "name", "ens5")
        host.soon(lambda: "UP" in host.links()["ens5"]["flags"] and host.links()["ens5"].get("master") == "pvs-lan",
                  "the NIC to be back")
        host.soon(lambda: host.events("switch.problem"), "an event")
        self.assertIn("it was renamed to ens5", host.events("switch.problem")[-1]["problem"])
        self.assertIn("[network] uplinks", host.vds()["problem"])

    def test_uplink_that_another_program_has_taken_is_left_to_it_and_told(self):
        host = self.make_lan()
        host.network.ip("link", "add", "br0", "type", "bridge")
        host.network.ip("link", "set", "nic", "master", "br0")
        host.soon(lambda: host.events("switch.problem"), "an event")
        self.assertIn("it belongs to br0", host.events("switch.problem")[-1]["problem"])
        self.assertEqual(host.links()["nic"]["master"], "br0")

    def test_a_program_that_takes_it_apart_again_and_again_is_told_of(self):
        host = self.make_lan()

        def is_told():
            if "master" in host.links()["nic"]:
                host.network.ip("link", "set", "nic", "nomaster")
            return any("keeps changing it" in event["problem"] for event in host.events("switch.problem"))
        wait_for(is_told, "the quarrel to be told of")
        self.assertIn("another program on this host", host.vds()["problem"])

    def test_a_question_mends_nothing_and_a_repair_says_what_it_did(self):
        host = self.make_lan()
        keeper = host.daemon.pid
        self.assertEqual(host.rows("vds", "repair")["mended"], [])
        # A keeper that is held follows nothing, so that what is asked meanwhile would be all that mends.
        os.kill(keeper, signal.SIGSTOP)
        try:
            host.network.ip("link", "set", "nic", "nomaster")
            for words in (("vds", "list"), ("vm", "list"), ("network", "ip", "interface", "list")):
                host.cli(*words)
            self.assertNotIn("master", host.links()["nic"])
        finally:
            os.kill(keeper, signal.SIGCONT)
        host.soon(lambda: host.links()["nic"].get("master") == "pvs-lan", "the NIC to be back")

        def repaired():
            host.network.ip("link", "set", "nic", "nomaster")
            return host.rows("vds", "repair")["mended"]
        row, = wait_for(repaired, "a repair to be first")
        self.assertEqual((row["vds"], row["interface"]), ("lan", "nic"))

    def test_a_host_at_rest_wakes_neither_process(self):
        host = self.make_lan()

        def wake_ups():
            return [sum(int(line.split()[-1]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                        for line in (task / "status").read_text().splitlines() if "ctxt_switches" in line)
                    for pid in (host.daemon.pid, self.engine(host.daemon))]

        def is_at_rest():
            before = wake_ups()
            time.sleep(1.5)
            return wake_ups() == before
        wait_for(is_at_rest, "both to have nothing to do")
        before = wake_ups()
        time.sleep(3)
        # The keeper looks once in 30 s, which may be now.
        keeper, engine = (now - then for now, then in zip(wake_ups(), before, strict=True))
        self.assertEqual(engine, 0)
        self.assertLess(keeper, 20)


class Refusals(SwitchTest):
    def test_foreign_bridge_of_this_name_is_left_alone(self):
        host = self.make_host()
        host.network.ip("link", "add", "pvs-lan", "mtu", "1300", "type", "bridge")
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        before = host.links()["pvs-lan"]
        host.start()
        host.make_lan()
        host.cli("vm", "add", "a", "--port-group", "vms")
        self.assertIn("pvs-lan: an interface that Paravane did not create has this name", host.vds()["problem"])
        self.assertEqual(host.links()["pvs-lan"], before)
        self.assertNotIn("master", host.links()["nic"])
        self.assertNotIn("master", host.links()["pv-a"])
        host.cli("vm", "remove", "a")
        for words in (("portgroup", "delete", "vms"), ("portgroup", "delete", "storage"), ("vds", "delete", "lan")):
            host.cli(*words)
        self.assertEqual(host.links()["pvs-lan"], before)
        self.assertNotIn("pv-a", host.links())

    def test_nic_that_was_not_given_is_not_taken(self):
        host = self.make_host(uplinks=["other"])
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        host.start()
        host.cli("vds", "create", "lan")
        self.assertIn("[network] uplinks", host.refused("vds", "add-host", "lan", "--uplink", "nic"))
        self.assertNotIn("master", host.links()["nic"])

    def test_uplink_is_changed_while_vms_run_unless_vsphere_s_rule_is_set(self):
        host = self.make_host(uplinks=["nic", "other"])
        for name in "nic", "other":
            host.network.ip("link", "add", name, "type", "veth", "peer", "name", f"far-{name}")
        host.start()
        host.make_lan()
        host.cli("vm", "add", "a", "--port-group", "vms")
        setting = "system", "settings", "advanced", "set", "-o", "/Net/PVRDMAUplinkEditNeedsPowerOff"
        with attach(host.folder / "vms" / "a.sock"):
            host.cli("vds", "uplink", "lan", "other")
            host.cli(*setting, "-i", "1")
            done = host.cli("vds", "uplink", "lan", "nic", check=False)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("/Net/PVRDMAUplinkEditNeedsPowerOff is 1", done.stderr)
            self.assertIn("attached: a", done.stderr)
            self.assertEqual(host.vds()["uplink"], "other")
        wait_for(lambda: host.adapters()[0]["state"] == "detached", "the VM to be off")
        host.cli("vds", "uplink", "lan", "nic")

    def test_uplink_that_is_missing_is_named_and_taken_when_it_comes(self):
        host = self.make_host()
        host.start()
        host.make_lan()
        self.assertIn("nic: no such NIC on this host", host.vds()["problem"])
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        host.soon(lambda: host.links()["nic"].get("master") == "pvs-lan", "the NIC to be taken")
        wait_for(lambda: "no such NIC" not in host.vds()["problem"], "the problem to be over")

    def test_address_that_the_host_would_lose_is_named(self):
        host = self.make_host()
        host.network.ip("link", "add", "nic", "type", "veth", "peer", "name", "far")
        host.network.ip("link", "set", "far", "up")
        host.network.ip("address", "add", "192.0.2.1/24", "dev", "nic")
        host.start()
        host.make_lan()
        self.assertIn("nic: it has this host's address 192.0.2.1", host.vds()["problem"])
        self.assertIn("192.0.2.1/24", host.network.ip("address", "show", "dev", "nic"))

    def test_keeper_without_rights_says_so_and_all_else_works(self):
        host = self.make_host()
        host.start("setpriv", "--bounding-set=-net_admin")
        host.make_lan()
        host.cli("vm", "add", "a", "--port-group", "vms")
        self.assertIn("not permitted", host.vds()["problem"])
        row = host.adapters()[0]
        self.assertEqual((row["state"], row["port_group"]), ("detached", "vms"))
        self.assertIn("not permitted", row["problem"])
        self.assertEqual(set(host.links()), set())

    def test_tap_is_for_the_group_of_the_sockets(self):
        host = self.make_host(more='group = "daemon"')
        host.start()
        host.make_lan("none")
        host.cli("vm", "add", "a", "--port-group", "vms")
        self.assertTrue(may_open(host.network, "pv-a", grp.getgrnam("daemon").gr_gid))
        self.assertFalse(may_open(host.network, "pv-a", grp.getgrnam("games").gr_gid))
        words = host.cli("vm", "qemu-args", "a").stdout.split()
        self.assertIn("tap,id=paravane-net,ifname=pv-a,script=no,downscript=no", words)

    def test_tap_is_roots_without_such_a_group(self):
        host = self.make_host()
        host.start()
        host.make_lan("none")
        host.cli("vm", "add", "a", "--port-group", "vms")
        self.assertFalse(may_open(host.network, "pv-a", 0))
        with Tap(host.network, "pv-a"):
            pass


if __name__ == "__main__":
    unittest.main()
