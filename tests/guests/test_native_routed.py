"""RoCE v2 between subnets: what goes through a router does so by the gateway that the guest's own network stack finds."""
import json
import unittest

from guests import Failed, wait_for
from routed_rig import FAR, LAST, NEAR, RoutedRig

VM, MACHINE, OLD, FAR_VM = 1, 2, 3, 4
BOTH_WAYS = ((MACHINE, VM), (VM, MACHINE))  # server, client
IMPATIENT = ["-n", "5", "-s", "64"]
PATIENT = ["-u", "18"]  # a second: a router is one more that wants the processor
RETRIES_EXCEEDED = "transport retry counter exceeded"


class NativeRouted(unittest.TestCase):
    """A machine with Linux's rdma_rxe behind a router."""

    @classmethod
    def setUpClass(cls):
        cls.rig = RoutedRig(VM, MACHINE)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def pingpong(self, server, client, *words):
        self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-c", *words)

    def test_1_messages_go_both_ways_through_the_router(self):
        for server, client in BOTH_WAYS:
            for size in ("1", "4096", "65536"):
                with self.subTest(server=server, size=size):
                    self.pingpong(server, client, "-s", size, "-n", "50")

    def test_2_every_operation_and_datagrams_in_both_roles(self):
        for server, client in BOTH_WAYS:
            for words in (["ib_write_bw", "-s", "65536", "-n", "50"], ["ib_read_bw", "-s", "65536", "-n", "50", "-o", "4"],
                          ["ib_send_bw", "-s", "65536", "-n", "50"], ["ib_atomic_bw", "-n", "50", "-o", "4"],
                          ["ib_send_lat", "-c", "UD", "-s", "512", "-n", "50"]):  # ibv_ud_pingpong has a hop limit of 1
                with self.subTest(server=server, words=words):
                    self.rig.exchange(server, client, words[0], "-x", "1", "-F", *PATIENT, *words[1:])

    def test_3_connections_are_made_by_rdma_cm_in_both_roles(self):
        for server, client in BOTH_WAYS:
            with self.subTest(server=server):
                self.rig.rping(server, client)

    def fails(self, server, client):
        with self.assertRaises(AssertionError) as failed:
            self.pingpong(server, client, *IMPATIENT)
        self.assertIn(RETRIES_EXCEEDED, str(failed.exception))

    def test_4_a_router_that_drops_roce_is_a_silence(self):
        self.rig.router.set_roce(False)
        self.fails(MACHINE, VM)
        self.rig.router.set_roce(True)
        self.pingpong(MACHINE, VM, "-n", "50")

    def test_5_roce_v1_is_never_routed(self):
        self.rig.add_vm(OLD, NEAR, "--port-group", "native", "--protocol", "v1")
        self.fails(MACHINE, OLD)

    # ---- between VMs of two port groups ----

    def set_routed(self, group, word):
        self.rig.lab.hosts[0].paravane("portgroup", "set", group, "--routed", word)

    def wait_reasons(self, what, expected):
        """Until no path has another reason than these."""
        seen = set()

        def are_those():
            seen.clear()
            seen.update(self.rig.paths())
            return seen and seen <= {("roce", one) for one in expected}
        try:
            wait_for(what, are_those, 30)
        except Failed as late:
            raise Failed(f"{late}: {seen}") from None

    def told(self, kind):
        """The events of this type."""
        rows = json.loads(self.rig.lab.hosts[0].paravane("--formatter=json", "events").stdout)
        return [row["fields"] for row in rows if row["type"] == kind]

    def reasons_while(self, act, rounds):
        """Why the paths of a server that waits in the far VM are as they are, once a client has said what its address is."""
        server = self.rig.spawn(FAR_VM, "ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "1", "-n", rounds, timeout=120)
        try:
            self.rig.wait_listening(FAR_VM, 18515)
            client = self.rig.spawn(VM, "ibv_rc_pingpong", "-d", "vmw_pvrdma0", "-g", "1", "-n", rounds,
                                    self.rig.address_of(FAR_VM), timeout=120)
            seen = wait_for("the path is listed", lambda: set(self.rig.paths()), 60)
            act(client)
            return seen
        finally:
            server.end()

    def refused(self, client):
        code, text = client.finish(120)
        self.assertNotEqual(code, 0)
        self.assertIn(RETRIES_EXCEEDED, text)

    def test_6_vms_of_two_port_groups_reach_each_other_where_both_are_routed(self):
        self.rig.lab.hosts[0].paravane("portgroup", "create", "distant", "--vds", "far", "--roce", "native")
        self.rig.add_vm(FAR_VM, FAR, "--port-group", "distant")
        vm_is = f"the peer's GID belongs to vm{VM} in port group native"
        far_is = f"the peer's GID belongs to vm{FAR_VM} in port group distant"
        for near, far, off in ("off", "off", None), ("on", "off", "distant"), ("off", "on", "native"):
            with self.subTest(near=near, far=far):
                self.set_routed("native", near)
                self.set_routed("distant", far)
                seen = self.reasons_while(self.refused, "5")
                self.assertLessEqual(seen, {("roce", f"not through a router: {whose}; port group {group} has routed off")
                                            for whose in (vm_is, far_is) for group in ([off] if off else ["native", "distant"])})
        self.set_routed("native", "on")

        def is_answered(client):
            self.wait_reasons("the router's probes are answered", [f"routed: {whose}" for whose in (vm_is, far_is)])
            client.end()
        self.reasons_while(is_answered, "1000000")

    def test_7_all_goes_between_them_then_and_ends_when_the_operator_or_the_router_says_so(self):
        self.set_routed("native", "on")
        self.set_routed("distant", "on")
        for server, client in (VM, FAR_VM), (FAR_VM, VM):
            with self.subTest(server=server):
                self.pingpong(server, client, "-s", "65536", "-n", "50")
                self.rig.exchange(server, client, "ib_write_bw", "-x", "1", "-F", *PATIENT, "-s", "65536", "-n", "50")
                self.rig.rping(server, client)
        self.rig.router.set_roce(False)
        self.fails(FAR_VM, VM)
        self.rig.router.set_roce(True)
        self.pingpong(FAR_VM, VM, "-n", "50")
        self.set_routed("distant", "off")
        self.fails(FAR_VM, VM)
        self.pingpong(MACHINE, VM, "-n", "50")  # a machine is reached all the same

    def test_8_a_router_that_drops_roce_is_seen_by_a_probe_and_the_connection_outlives_it(self):
        self.set_routed("distant", "on")
        places = [f"vm{VM} in port group native", f"vm{FAR_VM} in port group distant"]
        routed = [f"routed: the peer's GID belongs to {place}" for place in places]
        words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-x", "1", "-F", "-s", "4096", "-D", "40", "-u", "20"]  # 34 seconds
        server = self.rig.spawn(VM, *words, timeout=120)
        self.addCleanup(server.end)
        self.rig.wait_listening(VM, 18515)
        client = self.rig.spawn(FAR_VM, *words, self.rig.address_of(VM), timeout=120)
        self.addCleanup(client.end)
        self.wait_reasons("probes are answered", routed)
        before = len(self.told("path.unanswered")), len(self.told("path.answered"))
        macs = {name: self.rig.shell(name, f"ip neigh show {self.rig.subnet_of[name]}.{LAST}").split()[4] for name in (VM, FAR_VM)}
        self.rig.router.set_roce(False)
        self.wait_reasons("probes are not answered", [
            f"not through the router: {place} has not answered on UDP port 4791 through {mac}"
            for place, mac in zip(places, (macs[FAR_VM], macs[VM]))])
        self.rig.router.set_roce(True)
        self.wait_reasons("probes are answered again", routed)
        client.expect_success(120)
        server.expect_success(30)
        unanswered = self.told("path.unanswered")[before[0]:]
        self.assertEqual({one["vm"] for one in unanswered}, {f"vm{VM}", f"vm{FAR_VM}"})
        self.assertEqual({one["gateway"] for one in unanswered}, set(macs.values()))
        self.assertEqual(len(self.told("path.answered")[before[1]:]), 2)
        self.assertGreater(self.rig.stats(VM)["probes_answered"], 5)


if __name__ == "__main__":
    unittest.main()
