"""The engine of a daemon is replaced under running guests, which must notice nothing: no request is lost or done twice, no
connection breaks, no interrupt is missed, and no program gets an error."""
import contextlib
import datetime
import json
import os
import re
import signal
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from fault_rig import Tally
from hosts_rig import HostsRig
from native_rig import NativeRig
from rig import Rig, wait_for
from roce_capture import Sniffing, dissected
from runner import processes  # hosts_rig makes it importable
from test_kernel_storage import LAYER, NVME_CONNECT, NVME_SERVE
from test_native_endpoint import BOTH_WAYS, MACHINE, VM

DEVICE = ["-d", "vmw_pvrdma0"]
PATIENT = 18  # the timeout of a queue pair that waits a second a try, as those of rdma_cm do
WRITES = "-x", "1", "-F", "-s", "4096", "-D", "45", "-u", str(PATIENT)
LONGEST_PAUSE_S = 2  # that a program may see, on a machine whose processors all guests share
APART_S = 10  # between the beginnings of two upgrades (keeper/succession.h)
# What rping says is too much to be kept: how often it has said it, and how it ended.
COUNT_PINGS = """awk '/ping data/ { n++ } /ended/ { end = $0 } n % 10 == 0 || end { print n, end >"/tmp/pings"; close("/tmp/pings") }'"""


class Upgrades:
    """Of the daemon that serves these guests."""

    def __init__(self, guests):
        self.guests, self.gaps = guests, []

    def next(self):
        """Replaces the engine. Notes how long the guests stood still, in milliseconds."""
        before = self.guests.engine()
        done = json.loads(self.guests.cli("daemon", "upgrade", "--formatter=json").stdout)
        assert done["state"] == "done", done
        assert self.guests.engine() != before, "the engine is the same"
        self.gaps.append(done["gap_ms"])

    def tell(self):
        print(f"guests: {len(self.gaps)} upgrades, guests stood still for {self.gaps} ms", flush=True)


def pings_of(rig, guest):
    return int((rig.shell(guest, "cat /tmp/pings 2>/dev/null || true").split() or [0])[0])


class Upgraded(unittest.TestCase):
    """Two guests of one host, and upgrades one after the other."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.upgrades = Upgrades(cls.rig)
        cls.addClassCleanup(cls.upgrades.tell)
        cls.rig.up(2, *LAYER)

    def setUp(self):
        for vm in 1, 2:
            self.rig.shell(vm, "dmesg -c >/dev/null")

    def tearDown(self):
        for vm in 1, 2:
            said = self.rig.shell(vm, "dmesg | grep -iE 'vmw_pvrdma|infiniband|nvme' | grep -iE 'error|failed|timeout|timed out|lost' || true")
            self.assertEqual(said.strip(), "", f"vm{vm}")
        self.assertEqual([vm["adapters"][0]["state"] for vm in json.loads(self.rig.cli("vm", "list", "--formatter=json").stdout)],
                         ["active"] * 2)

    def test_1_requests_are_done_once_and_in_order(self):
        tally = Tally(self.rig, 1, 2)
        while tally.goes_on() and len(self.upgrades.gaps) < 3:
            self.upgrades.next()
        ended = tally.stop()
        self.assertEqual(ended.code, 0, ended.text)
        self.assertGreater(ended.rounds, 100, ended.text)
        print(f"guests: {ended.rounds} rounds across three upgrades, the longest took {ended.longest} s", flush=True)

    def test_2_programs_and_disks_go_on(self):
        """What the programs verify themselves: rping its data, fio its blocks, ib_write_bw its completions."""
        rig = self.rig
        rig.shell(1, NVME_SERVE)
        rig.shell(2, NVME_CONNECT)
        rig.shell(2, "echo 0 >/tmp/pings")
        address = rig.address_of(1)
        server = rig.spawn(1, "sh", "-c", "rping -s -v -S 65000 >/dev/null", timeout=300)
        rig.wait_cm_listening(1, 7174)
        client = rig.spawn(2, "sh", "-c", f"(rping -c -a {address} -v -V -S 65000 -C 1000000; echo ended $?) | {COUNT_PINGS}", timeout=300)
        words = ["ib_write_bw", *DEVICE, "-F", "-D", "70", "-q", "4"]
        writes = rig.spawn(1, *words, timeout=300)
        rig.wait_listening(1, 18515)
        writer = rig.spawn(2, *words, address, timeout=300)
        fio = rig.spawn(2, "fio", "--name=verify", "--filename=/dev/nvme0n1", "--size=64M", "--rw=randwrite", "--bsrange=4k-128k", "--direct=1",
                        "--ioengine=io_uring", "--iodepth=8", "--verify=crc32c", "--verify_fatal=1", "--time_based", "--runtime=50",
                        timeout=300)
        sent = rig.stats("vm2")["sends"]
        wait_for("the traffic", lambda: rig.stats("vm2")["sends"] > sent + 1000, 60)
        for _ in range(3):
            pings = pings_of(rig, 2)
            self.upgrades.next()
            wait_for("more pings", lambda pings=pings: pings_of(rig, 2) > pings + 30, 30)
        code, text = fio.finish(200)
        self.assertEqual(code, 0, text)
        code, text = writer.finish(200)
        self.assertEqual(code, 0, text)
        writes.expect_success(60)
        self.assertNotIn("ended", rig.shell(2, "cat /tmp/pings"))
        for program in client, server:
            program.end()

    def test_3_what_is_new_works_too(self):
        """Programs that begin after an upgrade, and a driver that is unloaded and loaded again."""
        rig = self.rig
        self.upgrades.next()
        time.sleep(0.5)
        words = ["ib_send_bw", *DEVICE, "-F", "-n", "500", "-e"]
        server = rig.spawn(1, *words)
        rig.wait_listening(1, 18515)
        code, text = rig.spawn(2, *words, rig.address_of(1)).finish(120)
        self.assertEqual(code, 0, text)
        server.expect_success(30)
        rig.shell(2, "nvme disconnect -n disk 2>/dev/null || echo 1 >/sys/class/nvme/nvme0/delete_controller 2>/dev/null || true")
        rig.shell(2, "rmmod nvme-rdma 2>/dev/null; modprobe -r vmw_pvrdma && modprobe vmw_pvrdma && ibv_devinfo | grep -q PORT_ACTIVE")
        objects = rig.stats("vm2")
        self.assertEqual(objects["contexts"], 0)
        self.assertEqual(objects["queue_pairs"], 1)
        self.upgrades.next()
        rig.shell(2, "ibv_devinfo | grep -q PORT_ACTIVE")

    def test_4_a_thousand_idle_queue_pairs(self):
        """Of 100 programs in each guest, beside one that counts. Each of them is used once more at the end."""
        rig = self.rig
        many = "paravane-many --programs 100 --pairs 10 --every 0 20000"
        ends = [rig.spawn(1, "sh", "-c", f"{many} 2>&1 | tee /tmp/many"),
                rig.spawn(2, "sh", "-c", f"{many} {rig.address_of(1)} 2>&1 | tee /tmp/many")]
        for vm in 1, 2:
            rig.shell(vm, "until grep ready /tmp/many; do sleep 0.2; done", timeout=120)
            self.assertGreater(rig.stats(f"vm{vm}")["queue_pairs"], 1000)
        gaps = len(self.upgrades.gaps)
        tally = Tally(rig, 1, 2)
        while tally.goes_on() and len(self.upgrades.gaps) < gaps + 2:
            self.upgrades.next()
        ended = tally.stop()
        self.assertEqual(ended.code, 0, ended.text)
        self.assertLess(ended.longest, LONGEST_PAUSE_S, ended.text)
        rig.shell(2, "pkill -INT -x paravane-many")
        for end in ends:
            self.assertIn("programs: 100 well", end.finish(60)[1])
        print(f"guests: with 1,000 queue pairs each, guests stood still for {self.upgrades.gaps[gaps:]} ms, and the longest of {ended.rounds} rounds "
              f"took {ended.longest} s", flush=True)

    def test_5_captures_and_impairments_end(self):
        """What was captured until then can be read, and the client says that it ended. The impairment is gone, and nothing is lost."""
        rig = self.rig
        rig.cli("impair", "set", "--vm", "vm2", "--peer", "vm1", "--loss", "1%", "--seed", "7")
        tally = Tally(rig, 1, 2)
        file = rig.folder / "upgrade.pcapng"
        sniffing = Sniffing(rig, "vm2", file, "-s", "128")
        time.sleep(1)
        self.upgrades.next()
        _, said = sniffing.process.communicate(timeout=20)
        self.assertEqual(sniffing.process.returncode, 1, said)
        self.assertIn("A capture ends when the daemon is upgraded", said)
        self.assertGreater(len(dissected(file)), 100)
        self.assertEqual(json.loads(rig.cli("impair", "list", "--formatter=json").stdout), [])
        self.assertTrue(tally.goes_on())
        ended = tally.stop()
        self.assertEqual(ended.code, 0, ended.text)


class UpgradedAmongMishaps(unittest.TestCase):
    """Twenty upgrades, with something that happens to the host between each two. Nothing may be lost."""

    UPGRADES = int(os.environ.get("PARAVANE_UPGRADES", "20"))

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.upgrades = Upgrades(cls.rig)
        cls.addClassCleanup(cls.upgrades.tell)
        cls.rig.up(2)

    def impair(self):
        self.rig.cli("impair", "set", "--vm", "vm2", "--peer", "vm1", "--loss", "1%", "--delay", "100us", "--seed", "7")

    def clear(self):
        self.rig.cli("impair", "set", "--vm", "vm1", "--peer", "vm2", "--loss", "1%", "--seed", "7")
        time.sleep(1)
        self.rig.cli("impair", "clear")

    def sniff(self):
        sniffing = Sniffing(self.rig, "vm2", self.rig.folder / "mishap.pcapng", "-s", "128")
        self.addCleanup(sniffing.process.kill)

    def change_vms(self):
        self.rig.cli("vm", "add", "another")
        self.rig.cli("vm", "remove", "another")

    def stop_the_engine(self):
        engine = int(self.rig.engine().name)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(1)
        os.kill(engine, signal.SIGCONT)

    def stop_the_keeper(self):
        os.kill(self.rig.daemon.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(self.rig.daemon.pid, signal.SIGCONT)

    def test_nothing_is_lost(self):
        rig = self.rig
        rig.shell(2, "echo 0 >/tmp/pings")
        server = rig.spawn(1, "sh", "-c", "rping -s -v -S 65000 >/dev/null", timeout=600)
        rig.wait_cm_listening(1, 7174)
        client = rig.spawn(2, "sh", "-c", f"(rping -c -a {rig.address_of(1)} -v -V -S 65000 -C 1000000; echo ended $?) | {COUNT_PINGS}", timeout=600)
        for program in server, client:
            self.addCleanup(program.end)
        tallies = [Tally(rig, *ends, timeout=PATIENT) for ends in ((1, 2), (2, 1))]
        mishaps = self.impair, self.clear, self.sniff, self.change_vms, self.stop_the_engine, self.stop_the_keeper
        for number in range(self.UPGRADES):
            mishaps[number % len(mishaps)]()
            pings = pings_of(rig, 2)
            self.upgrades.next()
            wait_for("more pings", lambda pings=pings: pings_of(rig, 2) > pings + 10, 30)
            for tally in tallies:
                self.assertTrue(tally.goes_on(), f"after {number + 1} upgrades")
        for tally in tallies:
            ended = tally.stop()
            self.assertEqual(ended.code, 0, f"{ended.text}\n{rig.daemon_log()[-3000:]}")
            print(f"guests: {ended.rounds} rounds, the longest took {ended.longest} s", flush=True)
        self.assertNotIn("ended", rig.shell(2, "cat /tmp/pings"))


def open_again_ms(log):
    """How long after each upgrade the VM's RoCE port was open again, as the daemon's log has it."""
    times = re.findall(r"^\S+ (\S+) info: (?:(took over) from|vm\d+: (reaches) native)", log, re.MULTILINE)
    clock = [(datetime.datetime.strptime(at, "%H:%M:%S.%f"), took) for at, took, _ in times]
    return [round((after - before) / datetime.timedelta(milliseconds=1)) for (before, took), (after, _) in zip(clock, clock[1:]) if took]


class UpgradedBesideANativeEndpoint(unittest.TestCase):
    """A VM, and a machine with Linux's rdma_rxe whose connections know nothing of upgrades: their packets have numbers, which
    the next engine must go on with."""

    @classmethod
    def setUpClass(cls):
        cls.rig = NativeRig(VM, MACHINE)
        cls.addClassCleanup(cls.rig.close)
        cls.upgrades = Upgrades(cls.rig.hosts[0])
        cls.addClassCleanup(cls.upgrades.tell)
        cls.rig.up()

    def test_1_connections_go_on(self):
        """All three programs verify themselves: paravane-tally that each request is done once and in order, in both roles, rping its
        data, ib_write_bw its completions."""
        rig = self.rig
        for guest in VM, MACHINE:
            rig.shell(guest, "dmesg -c >/dev/null")
        writes = rig.spawn(MACHINE, "ib_write_bw", "-d", rig.devices[MACHINE], *WRITES, timeout=200)
        rig.wait_listening(MACHINE, 18515)
        writer = rig.spawn(VM, "ib_write_bw", "-d", rig.devices[VM], *WRITES, rig.address_of(MACHINE), timeout=200)
        server = rig.spawn(VM, "sh", "-c", "rping -s -v -S 5000 >/dev/null", timeout=200)
        self.addCleanup(server.end)
        rig.wait_cm_listening(VM, 7174)
        client = rig.spawn(MACHINE, "sh", "-c", f"(rping -c -a {rig.address_of(VM)} -v -V -S 5000 -C 1000000; echo ended $?) | {COUNT_PINGS}",
                           timeout=200)
        self.addCleanup(client.end)
        tallies = [rig.tally(server, client, timeout=PATIENT) for server, client in BOTH_WAYS]
        for _ in range(3):
            pings = pings_of(rig, MACHINE)
            self.upgrades.next()
            wait_for("more pings", lambda pings=pings: pings_of(rig, MACHINE) > pings + 20, 30)
        for tally in tallies:
            ended = tally.stop()
            self.assertEqual(ended.code, 0, ended.text)
            print(f"guests: {ended.rounds} rounds across three upgrades, the longest took {ended.longest} s", flush=True)
        code, text = writer.finish(100)
        self.assertEqual(code, 0, text)
        writes.expect_success(60)
        self.assertNotIn("ended", rig.shell(MACHINE, "cat /tmp/pings"))
        for program in client, server:
            program.end()
        for guest in VM, MACHINE:
            said = rig.shell(guest, "dmesg | grep -iE 'vmw_pvrdma|rxe|infiniband' | grep -iE 'error|failed|timeout|timed out|lost' || true")
            self.assertEqual(said.strip(), "", f"guest {guest}")

    def test_2_what_is_new_works_too(self):
        opened = open_again_ms(self.rig.daemon_log())
        self.assertEqual(len(opened), len(self.upgrades.gaps))
        print(f"guests: RoCE ports were open again {opened} ms after the VM went on", flush=True)
        for server, client in BOTH_WAYS:
            self.rig.exchange(server, client, "ibv_rc_pingpong", "-g", "1", "-c", "-n", "50")
            self.rig.rping(server, client)


class UpgradedBetweenTwoHosts(unittest.TestCase):
    """A guest on each of two hosts, whose engines are replaced one after the other, and at once. The queue pairs try for 8 ms
    alone (timeout 10, one retry), so they live only if their hosts wait for one another."""

    PATIENCE = {"timeout": 10, "retries": 1}
    STANDS_STILL_S = 2.5

    @classmethod
    def setUpClass(cls):
        cls.rig = HostsRig(2)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.gaps = []

    @classmethod
    def tearDownClass(cls):
        print(f"guests: upgrades between hosts, a host's guests stood still for {cls.gaps} ms", flush=True)

    def host(self, number):
        return self.rig.hosts[number - 1]

    def upgrade(self, number):
        done = json.loads(self.host(number).cli("daemon", "upgrade", "--formatter=json").stdout)
        self.assertEqual(done["state"], "done", f"{done}\n{self.rig.daemon_log()}")
        self.gaps.append(done["gap_ms"])

    def engine(self, number):
        return int(self.host(number).engine().name)

    def events(self, number, kind):
        return [event for event in json.loads(self.host(number).cli("events", "--formatter=json").stdout) if event["type"] == kind]

    @contextlib.contextmanager
    def traffic(self):
        """In both directions at once; nothing may be lost, done twice, or fail."""
        tallies = [Tally(self.rig, server, client, **self.PATIENCE) for server, client in ((1, 2), (2, 1))]
        yield
        for tally in tallies:
            ended = tally.stop()
            self.assertEqual(ended.code, 0, f"{ended.text}\n{self.rig.daemon_log()}")
            self.assertGreater(ended.rounds, 100, ended.text)
            print(f"guests: {ended.rounds} rounds, the longest took {ended.longest} s", flush=True)

    def test_1_requests_are_done_once_and_in_order(self):
        etcd = processes.children(processes.recall(self.rig.lab.hosts[0].pid_file()), "etcd")
        self.rig.shell(2, "echo 0 >/tmp/pings")
        server = self.rig.spawn(1, "sh", "-c", "rping -s -v -S 65000 >/dev/null", timeout=300)
        self.rig.wait_cm_listening(1, 7174)
        client = self.rig.spawn(2, "sh", "-c", f"(rping -c -a 10.77.0.1 -v -V -S 65000 -C 1000000; echo ended $?) | {COUNT_PINGS}", timeout=300)
        with self.traffic():
            self.upgrade(1)
            self.upgrade(2)
            with ThreadPoolExecutor() as both:
                list(both.map(self.upgrade, (1, 2)))
            pings = self.pings()
            wait_for("more pings", lambda: self.pings() > pings + 30, 30)
        self.assertNotIn("ended", self.rig.shell(2, "cat /tmp/pings"))
        for program in client, server:
            program.end()
        self.assertEqual(processes.children(processes.recall(self.rig.lab.hosts[0].pid_file()), "etcd"), etcd)

    def pings(self):
        return int(self.rig.shell(2, "cat /tmp/pings").split()[0] or 0)

    def test_2_an_engine_that_takes_long_is_waited_for(self):
        """The new engine of a host stands still, before it has taken over or right after."""
        for number in 1, 2:
            with self.subTest(host=number), self.traffic():
                self.upgrade_slowly(number)
            self.assertIn(f"h{number}", [event["fields"]["host"] for event in self.events(3 - number, "channel.held")])
            self.assertEqual(self.events(3 - number, "channel.hold_over"), [])

    def upgrade_slowly(self, number):
        keeper = processes.recall(self.rig.lab.hosts[number - 1].pid_file())
        engine = self.engine(number)
        began = len(self.host(number).daemon_log())
        self.host(number).cli("daemon", "upgrade", "--no-wait")

        def heir():
            if "handing over" not in self.host(number).daemon_log()[began:]:
                return None
            return next((pid for pid in processes.children(keeper, "paravaned") if pid != engine), None)
        new = wait_for("the engines hand over", heir, APART_S + 10, interval=0.001)
        os.kill(new, signal.SIGSTOP)
        time.sleep(self.STANDS_STILL_S)
        os.kill(new, signal.SIGCONT)
        wait_for("the upgrade is done", lambda: self.engine(number) == new, 10)

    def test_3_a_crash_is_not_waited_for(self):
        """Its channels end without a word, so the other host's queue pairs have their own time alone."""
        held = len(self.events(1, "channel.held"))
        tally = Tally(self.rig, 2, 1, **self.PATIENCE)
        os.kill(self.engine(2), signal.SIGKILL)
        code, text = tally.client.finish(15)
        self.assertEqual(code, 3, text)
        self.assertIn("retry", text)
        self.assertEqual(len(self.events(1, "channel.held")), held)
        tally.server.end()


if __name__ == "__main__":
    unittest.main()
