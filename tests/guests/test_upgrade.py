"""The engine of a daemon is replaced under running guests, which must notice nothing: no request is lost or done twice, no
connection breaks, no interrupt is missed, and no program gets an error."""
import json
import time
import unittest

from fault_rig import Tally
from rig import Rig, wait_for
from test_kernel_storage import LAYER, NVME_CONNECT, NVME_SERVE

DEVICE = ["-d", "vmw_pvrdma0"]
APART_S = 10  # between the beginnings of two upgrades (keeper/succession.h)
# What rping says is too much to be kept: how often it has said it, and how it ended.
COUNT_PINGS = """awk '/ping data/ { n++ } /ended/ { end = $0 } n % 10 == 0 || end { print n, end >"/tmp/pings"; close("/tmp/pings") }'"""


class UpgradeRig(Rig):
    def __init__(self):
        super().__init__()
        self.gaps = []

    def upgrade(self):
        """Replaces the engine. Returns how long the guests stood still, in milliseconds."""
        before = self.engine()
        done = json.loads(self.cli("daemon", "upgrade", "--formatter=json").stdout)
        assert done["state"] == "done", done
        assert self.engine() != before, "the engine is the same"
        self.gaps.append(done["gap_ms"])
        return done["gap_ms"]


class Upgraded(unittest.TestCase):
    """Two guests of one host, and upgrades one after the other."""

    @classmethod
    def setUpClass(cls):
        cls.rig = UpgradeRig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up(2, *LAYER)

    @classmethod
    def tearDownClass(cls):
        print(f"guests: {len(cls.rig.gaps)} upgrades, guests stood still for {cls.rig.gaps} ms", flush=True)

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
        tally = Tally(self.rig, 1, 2, seconds=45)
        while tally.goes_on() and len(self.rig.gaps) < 3:
            self.rig.upgrade()
        self.assertTrue(tally.goes_on(), "the program ended before three upgrades")
        ended = tally.end()
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
            pings = self.pings()
            rig.upgrade()
            wait_for("more pings", lambda pings=pings: self.pings() > pings + 30, 30)
        code, text = fio.finish(200)
        self.assertEqual(code, 0, text)
        code, text = writer.finish(200)
        self.assertEqual(code, 0, text)
        writes.expect_success(60)
        self.assertNotIn("ended", rig.shell(2, "cat /tmp/pings"))
        for program in client, server:
            program.end()

    def pings(self):
        return int(self.rig.shell(2, "cat /tmp/pings").split()[0] or 0)

    def test_3_what_is_new_works_too(self):
        """Programs that begin after an upgrade, and a driver that is unloaded and loaded again."""
        rig = self.rig
        rig.upgrade()
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
        rig.upgrade()
        rig.shell(2, "ibv_devinfo | grep -q PORT_ACTIVE")


if __name__ == "__main__":
    unittest.main()
