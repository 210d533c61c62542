"""RDMA adapters as uplinks: hosts that are guests, whose adapter is Linux's rdma_rxe (adapter_hosts.py)."""
import json
import unittest

from adapter_hosts import DEVICE, IWARP, REMOVE_ADAPTER, WAIT_REMOVED, AdapterHosts, Traffic
from guests import Failed, wait_for
from host_programs import FOLDER

MIB = 32  # each way
PATH = "hca"  # between hosts that both have an adapter
SOME = 40  # requests
FRAMES = 'seal = "frames"'
BESIDES = ", and the memory of VMs that send long messages"
ROUNDS = "40"
PACKETS = 20  # of a trunk, each way
REMAPPED_LOOKS = 4  # at requests that go on while memory is mapped anew
REMAPPED_SOME = 128  # requests: twice those of 8 rounds, after which memory may be mapped anew
NEIGHBOURS = 17, 18  # VMs of h1 and h2
TO_TCP_S = 15  # a second on a machine that has time
PATIENCE_S = 30  # of a trunk whose peer is gone, which takes half a second on a machine that has time


class HcaTrunk(unittest.TestCase):
    """Of transport/hca alone: two hosts without a daemon."""

    @classmethod
    def setUpClass(cls):
        cls.rig = AdapterHosts(nic="eth1")
        cls.addClassCleanup(cls.rig.close)
        cls.rig.boot()

    def judge(self, text):
        said = json.loads(text)
        print(f"HcaTrunk: {self.id().split('.')[-1]}: {said}", flush=True)
        self.assertEqual((said["bytes"], said["wrong"]), (2 * MIB << 20, 0))
        return said

    def test_1_it_carries_every_byte_both_ways_and_wakes_who_waits(self):
        self.judge(self.rig.program(1, "paravane-trunk", DEVICE, str(MIB)))

    def test_2_it_is_made_and_used_in_the_engines_sandbox(self):
        said = self.judge(self.rig.program(1, "paravane-trunk", "--sandboxed", DEVICE, str(MIB)))
        self.assertTrue(said["confined"])

    def test_3_it_carries_every_byte_between_two_hosts(self):
        for text in self.rig.exchange(1, 2, "paravane-trunk", "--sandboxed", DEVICE, str(MIB)):
            self.assertTrue(self.judge(text)["confined"])

    def without_end(self, port):
        """Of both hosts, the one that listens first."""
        words = str(FOLDER / "paravane-trunk"), DEVICE, "100000", str(port)
        ends = self.rig.spawn(1, *words), self.rig.spawn(2, *words, self.rig.address_of(1))
        for end in ends:
            self.addCleanup(end.end)
        before = self.rig.packets(2)
        wait_for("the trunk carries something", lambda: self.rig.packets(2) > before + 2000, 60, 0.2)
        return ends

    def wait_no_packets(self):
        seen = [0]

        def is_still():
            seen.append(self.rig.packets(2))
            return seen[-1] == seen[-2]
        wait_for("no packet comes for a second", is_still, 120, 1)

    def test_4_a_peer_that_is_gone_is_found_out(self):
        """As soon as it is sent something. An end whose peer has acknowledged everything, and has no room for more, sends nothing:
        the channel's pings find that out. So this one is held until its peer has filled its buffers, and has room to announce."""
        one, other = self.without_end(19010)
        self.rig.shell(2, "pkill -STOP -f '[p]aravane-trunk'")
        self.addCleanup(self.rig.shell, 2, "pkill -CONT -f '[p]aravane-trunk' || true")
        self.wait_no_packets()
        self.rig.shell(1, "pkill -KILL -f '[p]aravane-trunk' && while pgrep -f '[p]aravane-trunk'; do sleep 0.1; done")
        one.finish(PATIENCE_S)
        self.rig.shell(2, "pkill -CONT -f '[p]aravane-trunk'")
        self.assertEqual(other.finish(PATIENCE_S), (1, "paravane-trunk: rxe0: transport retry counter exceeded\n"))

    def test_5_a_port_that_goes_down_ends_both(self):
        one, other = self.without_end(19011)
        self.rig.set_link(1, up=False)
        for end in one, other:
            code, said = end.finish(PATIENCE_S)
            self.assertRegex(said, "rxe0: (local QP operation error|transport retry counter exceeded)")
            self.assertEqual(code, 1)
        self.rig.set_link(1, up=True)
        self.rig.exchange(1, 2, "paravane-trunk", DEVICE, "1", port=19012)

    def test_6_an_adapter_that_is_removed_serves_who_has_it_open(self):
        """So its user has to find out, by other means, and let it go."""
        one, other = self.without_end(19013)
        self.rig.remove_adapter(1)
        before = self.rig.packets(2)
        wait_for("it goes on", lambda: self.rig.packets(2) > before + 500, 60, 0.2)
        for end in one, other:
            end.end()
        self.rig.add_adapter(1)
        self.rig.exchange(1, 2, "paravane-trunk", DEVICE, "1", port=19014)


    # What a queue pair that allows nothing answers, before it looks at the key (check_op_valid() of Linux's rdma_rxe), and one that
    # allows READ and WRITE and is given a key that is none for the peer.
    REFUSED = "remote invalid request error"
    NO_KEY = "remote access error"

    def rob(self, port, *opened):
        """A program of host 2, which is the peer, tries every key that root of host 1 can read, while another trunk carries
        traffic."""
        self.without_end(port)
        prey = self.rig.spawn(1, str(FOLDER / "paravane-trunk-prey"), DEVICE, str(port + 1), *opened)
        self.addCleanup(prey.end)
        self.rig.wait_listening(1, port + 1)
        remote, local = self.rig.keys(1)
        thief = json.loads(self.rig.guest(2, "paravane-thief", DEVICE, "own", str(port + 1), self.rig.address_of(1),
                                          *map(hex, sorted({*remote, *local}))))
        found = json.loads(prey.expect_success())
        print(f"HcaTrunk: {self.id().split('.')[-1]}: rkeys {remote}, lkeys {local}\n  {thief}\n  {found}", flush=True)
        self.assertGreaterEqual(len(local), 2)  # of this trunk, and of the other's end
        self.assertEqual(thief["tries"], found["tries"])
        return remote, thief, found

    def test_7_the_peer_reads_and_writes_nothing_with_any_key(self):
        remote, thief, found = self.rob(19015)
        self.assertEqual(remote, [0])
        self.assertEqual(found["queue_pairs_allow"], 0)
        self.assertEqual({how.split(": ")[1] for how in thief["ended"]}, {self.REFUSED})
        self.assertEqual((thief["learned"], found["changed"]), (0, 0))

    def test_8_nor_would_it_if_the_queue_pairs_allowed_it(self):
        """The memory has no key for the peer."""
        remote, thief, found = self.rob(19017, "queue-pairs")
        self.assertEqual(remote, [0])
        self.assertNotEqual(found["queue_pairs_allow"], 0)
        self.assertEqual({how.split(": ")[1] for how in thief["ended"]}, {self.NO_KEY})
        self.assertEqual((thief["learned"], found["changed"]), (0, 0))

    def test_9_a_key_for_the_peer_would_be_found_and_used(self):
        """So what the two before show is not the program's inability."""
        remote, thief, found = self.rob(19019, "all")
        self.assertEqual(len(remote), 2)
        self.assertEqual((thief["learned"], thief["ended"]["READ: success"]), (1, 1))
        self.assertEqual((found["changed"] > 0, thief["ended"]["WRITE: success"]), (True, 1))

    def test_iwarp_is_refused_with_that_reason(self):
        self.rig.add_iwarp(1)
        self.addCleanup(self.rig.guest, 1, "rdma", "link", "delete", IWARP)
        for words in ([], ["--sandboxed"]):
            with self.subTest(words=words):
                with self.assertRaisesRegex(Failed, f"exit status 1\nparavane-trunk: {IWARP} is iWARP\n"):
                    self.rig.program(1, "paravane-trunk", *words, IWARP, "1")


class TwoHosts(unittest.TestCase):
    rig = None

    @classmethod
    def boot(cls, **more):
        cls.rig = AdapterHosts(**more)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.boot()
        # Payload over an adapter can be read on the wire, and replaced, so that long messages need no copy.
        cls.rig.make_cluster(encryption="off", channel=FRAMES)

    def traffic(self, **more):
        traffic = Traffic(self.rig, **more)
        self.addCleanup(traffic.cut_short)
        return traffic

    def wait_more(self, traffic, some=SOME):
        """Until some more requests are done."""
        before = traffic.has_done()
        try:
            wait_for("the requests go on", lambda: traffic.has_done() >= before + some or not traffic.goes_on(), 60, 0.2)
        except Failed as late:
            raise Failed(f"{late}: {traffic.has_done() - before} of {some}\n{traffic.end()}\n{self.rig.told()}") from None
        if not traffic.goes_on():
            self.fail(f"{traffic.end()}\n{self.rig.told()}")

    def end(self, traffic):
        ended = traffic.end()
        print(f"HcaTrunk: {self.id().split('.')[-1]}: {ended}", flush=True)
        self.assertIsNone(ended["failed"], ended)
        self.assertGreater(ended["rounds"], 0)
        return ended

    def take_away(self, host, act):
        """The adapter, in this way; says how long it took until connections went over TCP."""
        taking, seconds = self.rig.seconds_to_tcp(host, act)
        print(f"HcaTrunk: {self.id().split('.')[-1]}: TCP {seconds} s after the adapter was gone, for which Linux took {taking} s", flush=True)
        self.assertLess(seconds, TO_TCP_S)


class HcaTrunkBetweenTwoHosts(TwoHosts):
    @classmethod
    def setUpClass(cls):
        cls.boot()

    def test_1_the_hosts_have_their_adapters(self):
        for host in self.rig.numbers:
            self.assertIn(DEVICE, self.rig.paravane(host, "rdma", "device", "list"))

    def test_2_every_operation_and_the_path_between_them(self):
        traffic = self.traffic()
        for host in self.rig.numbers:
            self.rig.wait_path(host, PATH)
        self.wait_more(traffic)
        self.end(traffic)
        for server, client in ((1, 2), (2, 1)):
            with self.subTest(server=server):
                for said in self.rig.exchange(server, client, "paravane-vm-verify", "--up-to", "262145", "--timeout", "20"):
                    self.assertNotRegex(said, "[1-9][0-9]* (wrong|lost)")
        for host, peer in ((1, "h2"), (2, "h1")):
            counters = self.rig.trunk_counters(host, peer)
            print(f"HcaTrunk: h{host}: {counters}", flush=True)
            self.assertGreater(counters["lane_sent_bytes"], 1 << 20)
            self.assertGreater(counters["lane_received_bytes"], 1 << 20)

    def test_2_memory_that_is_taken_back_stays_as_it_is(self):
        """A queue pair that is reset while messages come by a lane: the adapter writes no more when the command is answered.
        Two other VMs go on meanwhile by their own lane."""
        for host, number in enumerate(NEIGHBOURS, 1):
            self.rig.add_vm(host, number)
        neighbours = self.traffic(numbers=NEIGHBOURS)
        self.rig.exchange(1, 2, "paravane-vm-retake", "3")  # memory is registered, lanes are open
        self.wait_more(neighbours)
        growth, done = self.rig.trunk_growth(1, "h2"), neighbours.has_done()
        taken_back, _ = self.rig.exchange(1, 2, "paravane-vm-retake", ROUNDS)
        grown = growth()
        print(f"HcaTrunk: {self.id().split('.')[-1]}: {taken_back.strip()}; {grown}; the neighbours have done "
              f"{neighbours.has_done() - done} meanwhile", flush=True)
        self.assertGreater(neighbours.has_done(), done)
        self.end(neighbours)
        self.assertIn("bytes changed after a reset: 0", taken_back)
        self.assertGreater(grown.get("lanes_closed", 0), 0)
        self.assertGreater(grown.get("lane_received_bytes", 0), 0)

    def test_2_memory_that_is_mapped_anew_under_traffic_loses_nothing(self):
        """All memory of the VM that is acted upon leaves the DMA map and comes back. Its registration at the adapter ends each
        time, and each message has the right bytes, by a lane or not."""
        growth = self.rig.trunk_growth(1, "h2")
        traffic = self.traffic(server_words=("--map-anew", "500"))
        self.rig.wait_path(2, PATH)
        for _ in range(REMAPPED_LOOKS + 1):
            self.wait_more(traffic, REMAPPED_SOME)
        wait_for("messages come by lanes", lambda: growth().get("lane_received_bytes", 0) > 0, 120, 0.2)
        ended = self.end(traffic)
        print(f"HcaTrunk: {self.id().split('.')[-1]}: {growth()}; {[self.rig.trunk_events(host) for host in self.rig.numbers]}", flush=True)
        self.assertGreater(ended["mapped_anew"], REMAPPED_LOOKS)

    def dscps(self):
        """Of the packets that a trunk's ends send: by host, what is on the cable."""
        cables = {host: self.rig.captured(host) for host in self.rig.numbers}
        for cable, _ in cables.values():
            self.addCleanup(cable.close)
        traffic = self.traffic()
        seen = {host: {} for host in cables}

        def has_enough():
            for host, (cable, mac) in cables.items():
                for dscp, count in cable.dscps(mac).get(4, {}).items():
                    seen[host][dscp] = seen[host].get(dscp, 0) + count
            return all(sum(counts.values()) >= PACKETS for counts in seen.values())
        wait_for("each host has sent packets of RoCE v2", has_enough, 60, 0.2)
        self.end(traffic)
        print(f"HcaTrunk: {self.id().split('.')[-1]}: packets by host and DSCP: {seen}", flush=True)
        return {host: set(counts) for host, counts in seen.items()}

    def test_2_packets_of_a_trunk_have_dscp_26_on_the_cable(self):
        self.assertEqual(self.dscps(), {1: {26}, 2: {26}})

    def test_5_dscp_is_what_the_file_names(self):
        self.rig.start_again(2, encryption="off", channel=f"{FRAMES}\ndscp = 46")
        self.rig.wait_known()
        self.assertEqual(self.dscps(), {1: {26}, 2: {46}})

    def test_1_it_is_said_what_the_adapters_are_used_for(self):
        for host, peer in ((1, "h2"), (2, "h1")):
            wait_for("there is a trunk", lambda host=host, peer=peer: ("hca.trunk.up", peer, DEVICE, "") in self.rig.trunk_events(host), 60, 0.5)
            self.assertEqual(self.rig.used_by(host), f"trunk {peer}")

    def test_3_an_adapter_that_goes_and_comes_back_loses_nothing(self):
        traffic = self.traffic()
        for host in self.rig.numbers:
            self.rig.wait_path(host, PATH)
        self.take_away(1, f"{REMOVE_ADAPTER}\n{WAIT_REMOVED}")
        self.rig.wait_path(2, "tcp")
        self.assertEqual(self.rig.used_by(2), "-")
        self.assertEqual(self.rig.trunk_events(1)[-1], ("hca.trunk.down", "h2", DEVICE, f"{DEVICE} was removed"))
        self.assertEqual(self.rig.trunk_events(2)[-1][:3], ("hca.trunk.down", "h1", DEVICE))
        print(f"HcaTrunk: h2 says {self.rig.trunk_events(2)[-1]}", flush=True)
        self.wait_more(traffic)
        self.rig.add_adapter(1)
        self.rig.wait_path(2, PATH)
        self.wait_more(traffic)
        self.end(traffic)

    def test_4_an_adapter_whose_packets_do_not_arrive_loses_nothing(self):
        """TCP's do."""
        traffic = self.traffic()
        self.rig.wait_path(2, PATH)
        self.rig.cut_adapter(1)
        why = self.rig.wait_path(2, "tcp")
        self.assertIn("on host h1; hca: ", why[0])
        self.wait_more(traffic)
        self.rig.mend_adapter(1)
        self.rig.wait_path(2, PATH, 60)
        self.wait_more(traffic)
        self.end(traffic)

    def pairs(self, host):
        """Of the trunks: the number of the queue pair, that of the packet it expects next, and where its memory may be."""
        pairs = []
        for pair in self.rig.resources(host, "qp"):
            if pair.get("type") != "RC":
                continue
            maps = self.rig.shell(host, f"cat /proc/{pair['pid']}/maps").splitlines()
            places = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in maps if " rw-p 00000000 00:00 0" in line]
            begin = min((end - begin, begin) for begin, end in places if end - begin > 4 << 20)[1]
            pairs.append((pair["lqpn"], pair["rq-psn"], begin + (1 << 20)))
        return pairs

    def forge(self):
        """A program of host 2, beside its daemon: with each key and number of a queue pair that root of host 1 can read."""
        remote, local = self.rig.keys(1)
        pairs = self.pairs(1)
        self.assertTrue(pairs and local, "there is no trunk")
        self.assertEqual(remote, [0])
        for number, packet, at in pairs:
            thief = json.loads(self.rig.guest(2, "paravane-thief", DEVICE, "forged", self.rig.address_of(1), str(number), str(packet),
                                              hex(at), *map(hex, sorted({*remote, *local}))))
            print(f"HcaTrunk: {self.id().split('.')[-1]}: queue pair {number}, packet {packet}: {thief}", flush=True)
            self.assertEqual((thief["learned"], [how for how in thief["ended"] if "success" in how]), (0, []))

    def test_5_forged_requests_of_the_peers_host_get_nothing_and_lose_nothing(self):
        """With packets that the trunk's own queue pair might have sent: what the answer to them ends is the trunk."""
        traffic = self.traffic()
        self.rig.wait_path(2, PATH)
        for _ in range(2):
            self.forge()
            self.wait_more(traffic)
            self.rig.wait_path(2, PATH, 60)
        self.end(traffic)
        for _ in range(2):  # its packets have stopped, so the number is the one that is expected
            wait_for("there is a trunk", lambda: self.pairs(1), 60, 0.5)
            self.forge()
        traffic = self.traffic()
        self.rig.wait_path(2, PATH, 60)
        self.end(traffic)

    def test_6_vm_check_knows_what_is_locked_and_what_may_be(self):
        check = "Channel: locked memory"
        self.rig.start_again(2, encryption="off", channel=FRAMES, locked_kib=64)
        self.rig.wait_known()
        verdict, found, cure = self.rig.check_vm(2)[check]
        self.assertEqual(verdict, "warning")
        self.assertIn(f"{DEVICE} needs 4 MiB for channels to 1 other host, but paravaned may lock 64 KiB", found)
        self.assertIn("LimitMEMLOCK=infinity", cure)
        self.assertEqual(self.rig.used_by(2), "-")
        for locked_kib, limit, copied in ((4096, "the limit is 4 MiB", "; long messages are copied: memory cannot be registered"),
                                          ("unlimited", "no limit", "")):
            self.rig.start_again(2, encryption="off", channel=FRAMES, locked_kib=locked_kib)
            row = ("ok", f"4 MiB for channels over {DEVICE} to 1 of 1 other host{BESIDES}; {limit}", "")
            wait_for(f"the trunk is open; {limit}", lambda row=row: self.rig.check_vm(2).get(check) == row, 60, 0.5)
            traffic = self.traffic()
            self.rig.wait_path(2, PATH, 60)
            self.rig.wait_why(2, f"on host h1; over {DEVICE}{copied}")
            self.end(traffic)

    def test_6_memory_that_is_being_registered_is_said(self):
        """The daemon's thread that registers memory gets no processor."""
        traffic = self.traffic()
        self.rig.wait_path(2, PATH)  # there is a trunk
        self.wait_more(traffic)
        self.end(traffic)
        self.rig.freeze_thread(2, "trunks")
        self.addCleanup(self.rig.thaw_thread, 2)
        traffic = self.traffic()
        self.rig.wait_path(2, PATH)
        self.rig.wait_why(2, f"on host h1; over {DEVICE}; long messages are copied: memory is being registered")
        self.wait_more(traffic)
        self.rig.thaw_thread(2)
        self.rig.wait_why(2, f"on host h1; over {DEVICE}")
        self.wait_more(traffic)
        self.end(traffic)

    def test_7_with_encryption_the_channel_goes_over_tcp(self):
        for host in self.rig.numbers:
            self.rig.start_again(host, encryption="on")
        self.rig.wait_known()
        self.assertEqual(self.rig.channels(1)["h2"], ("encrypted", ""))
        traffic = self.traffic()
        for host, peer in ((1, "h2"), (2, "h1")):
            self.rig.wait_path(host, "tcp")
            self.rig.wait_why(host, f"on host {peer}; hca: encryption is on")
        self.end(traffic)

    def test_7_one_host_alone_that_gives_encryption_up_does_not_go_over_its_adapter(self):
        self.rig.start_again(1, encryption="on")
        self.rig.start_again(2, encryption="on", channel='hca = "clear"')
        self.rig.wait_known()
        traffic = self.traffic()
        for host in self.rig.numbers:
            self.rig.wait_path(host, "tcp")
        self.rig.wait_why(1, "on host h2; hca: encryption is on")
        self.rig.wait_why(2, "on host h1; hca: h1 has encryption on")
        self.end(traffic)

    def test_7_hosts_that_seal_in_two_ways_do_not_go_over_their_adapters(self):
        """The channel over TCP is encrypted, and so has no seal in which they could differ."""
        self.rig.start_again(1, encryption="on", channel='hca = "clear"')
        self.rig.start_again(2, encryption="on", channel=f'hca = "clear"\n{FRAMES}')
        self.rig.wait_known()
        traffic = self.traffic()
        for host, peer in ((1, "h2"), (2, "h1")):
            self.rig.wait_why(host, f"on host {peer}; hca: {peer} has another [channel] seal")
        self.end(traffic)

    def test_8_a_host_that_has_it_off_is_reached_over_tcp(self):
        self.rig.start_again(1, encryption="off", channel=FRAMES)
        self.rig.start_again(2, encryption="off", channel=f'{FRAMES}\nhca = "off"')
        self.rig.wait_known()
        traffic = self.traffic()
        self.rig.wait_path(1, "tcp")
        self.rig.wait_why(1, "on host h2; hca: h2 has it off by policy")
        self.rig.wait_why(2, "on host h1; hca: off by policy")
        self.assertEqual([self.rig.used_by(host) for host in self.rig.numbers], ["-", "-"])
        self.end(traffic)

    def test_9_iwarp_is_refused_with_that_reason(self):
        self.rig.stop_daemon(1)
        self.rig.remove_adapter(1)
        self.rig.add_iwarp(1)
        self.rig.configure(1, encryption="off", channel=FRAMES)
        self.rig.start_daemon(1)
        self.rig.start_again(2, encryption="off", channel=FRAMES)
        self.rig.wait_known()
        traffic = self.traffic()
        self.rig.wait_why(1, f"on host h2; hca: {IWARP} is iWARP")
        self.rig.wait_why(2, "on host h1; hca: h1 has iWARP")  # once h2 has found its own adapter, too
        self.end(traffic)


class HcaTrunkOnANicOfItsOwn(TwoHosts):
    """TCP goes over another."""

    @classmethod
    def setUpClass(cls):
        cls.boot(detour=True)

    def start(self):
        traffic = self.traffic()
        for host in self.rig.numbers:
            self.rig.wait_path(host, PATH)
        return traffic

    def go_back(self, traffic):
        for host in self.rig.numbers:
            self.rig.wait_path(host, PATH, 60)
        self.wait_more(traffic)
        self.end(traffic)

    def test_1_a_port_that_is_down_is_said_and_loses_nothing(self):
        traffic = self.start()
        self.addCleanup(self.rig.set_link, 1, up=True)
        self.take_away(1, f"ip link set {self.rig.nic} down")
        whys = self.rig.wait_path(1, "tcp")
        print(f"HcaTrunk: port down: {whys}", flush=True)
        for why in whys:  # as the adapter said it, or as the daemon found it when it looked again
            self.assertRegex(why, rf"^on host h2; hca: port 1 of {DEVICE}(: port error| is not active \(down\))$")
        self.rig.wait_why(2, "on host h1; hca: h1 has its port down")
        self.wait_more(traffic)
        self.rig.set_link(1, up=True)
        self.go_back(traffic)

    def test_2_a_nic_that_is_unbound_takes_its_adapter_along_and_loses_nothing(self):
        """Linux lets neither go before the daemon has."""
        traffic = self.start()
        place, driver = self.rig.driver_of(1)
        self.take_away(1, f"echo {place} >{driver}/unbind &\n{WAIT_REMOVED}")
        wait_for("the NIC is gone", lambda: self.rig.nic not in self.rig.guest(1, "ls", "/sys/class/net"), 30, 0.5)
        whys = {host: self.rig.wait_path(host, "tcp") for host in self.rig.numbers}
        print(f"HcaTrunk: unbound: {whys}, h1 says {self.rig.trunk_events(1)[-1]}", flush=True)
        self.assertEqual(self.rig.trunk_events(1)[-1][:3], ("hca.trunk.down", "h2", DEVICE))
        self.assertIn(DEVICE, self.rig.trunk_events(1)[-1][3])
        self.rig.wait_why(1, "on host h2; hca: keep has no RDMA adapter")
        self.rig.wait_why(2, "on host h1; hca: h1 has no usable adapter")
        self.wait_more(traffic)
        self.rig.bind(1, place, driver)
        self.go_back(traffic)


if __name__ == "__main__":
    unittest.main()
