"""What a guest's program is told when its VM's quota ends, by pyverbs."""
import json
import re
import unittest

from rig import Exchange, Failed, Rig, wait_for

# What the guest's kernel has of each for itself is part of the quota. Of queue pairs one
# more is: handle 0 is none.
LIMITS = {"contexts": 8, "protection_domains": 12, "completion_queues": 10, "queue_pairs": 9, "memory_regions": 14,
          "shared_receive_queues": 5}
KERNELS_OWN = {"contexts": 1, "protection_domains": 1, "completion_queues": 1, "queue_pairs": 2, "memory_regions": 1,
               "shared_receive_queues": 0}

# Makes objects of each kind until one is refused, frees them, and does it once more.
PROGRAM = """
import json
from pyverbs.addr import *
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import *
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

def fill(make):
    made = []
    try:
        while len(made) < 1000:
            made.append(make())
    except PyverbsRDMAError as error:
        return {"made": len(made), "errno": error.error_code}
    finally:
        for one in reversed(made):
            one.close()

context = Context(name="vmw_pvrdma0")
pd = PD(context)
cq = CQ(context, 16)
capacity = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
makers = {
    "contexts": lambda: Context(name="vmw_pvrdma0"),
    "protection_domains": lambda: PD(context),
    "completion_queues": lambda: CQ(context, 16),
    "queue_pairs": lambda: QP(pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=cq, rcq=cq, cap=capacity)),
    "memory_regions": lambda: MR(pd, 4096, IBV_ACCESS_LOCAL_WRITE),
    "shared_receive_queues": lambda: SRQ(pd, SrqInitAttr(SrqAttr(max_wr=16))),
}
print(json.dumps([{name: fill(make) for name, make in makers.items()} for _ in range(2)]))
"""
# Held by the program while it fills up the others.
PROGRAMS_OWN = {"contexts": 1, "protection_domains": 1, "completion_queues": 1}
ENOMEM, EFAULT = 12, 14
# Most are counted by the guest's driver, which refuses by itself. What the device refuses
# is EFAULT to it, whatever the reason.
OF_THE_DEVICE = ("queue_pairs", "memory_regions")
ERRNO = {name: EFAULT if name in OF_THE_DEVICE else ENOMEM for name in LIMITS}


class Quotas(unittest.TestCase):
    """vm1 has quotas, vm2 has none."""

    @classmethod
    def setUpClass(cls):
        cls.rig = Rig()
        cls.addClassCleanup(cls.rig.close)
        cls.rig.cli("vm", "add", "vm1", "--mac", "52:54:00:77:00:01")
        cls.rig.cli("vm", "set", "vm1", *(word for name, value in LIMITS.items() for word in ("--limit", f"{name}={value}")))
        cls.rig.up(2, "--layer", "python", "--memory", "1024")

    def test_1_each_ends_with_an_error_and_can_be_used_up_again(self):
        rounds = json.loads(self.rig.guest(1, "python3", "-c", PROGRAM).splitlines()[-1])
        for found in rounds:
            for name, limit in LIMITS.items():
                with self.subTest(quota=name):
                    left = limit - KERNELS_OWN[name] - PROGRAMS_OWN.get(name, 0)
                    self.assertEqual(found[name], {"made": left, "errno": ERRNO[name]})
        self.assertEqual(self.rig.stats("vm1")["quota_refusals"], len(rounds) * len(OF_THE_DEVICE))
        self.assertEqual(self.rig.stats("vm2")["quota_refusals"], 0)

    def test_2_the_log_says_which_and_does_not_grow_with_every_refusal(self):
        self.rig.guest(1, "python3", "-c", PROGRAM)
        lines = [line for line in self.rig.daemon_log().splitlines() if "refused" in line]
        self.assertIn("vm1: CREATE_QP refused: too many queue pairs", lines[0])
        self.assertIn("vm1: CREATE_MR refused: too many memory regions", lines[1])
        self.assertLess(len(lines), self.rig.stats("vm1")["quota_refusals"])

    def test_3_ibv_devinfo_shows_them(self):
        text = self.rig.guest(1, "ibv_devinfo", "-v")
        for word, name in (("max_qp", "queue_pairs"), ("max_cq", "completion_queues"), ("max_mr", "memory_regions"),
                           ("max_pd", "protection_domains"), ("max_srq", "shared_receive_queues")):
            self.assertRegex(text, rf"{word}:\s+{LIMITS[name]}\n")

    def test_4_perftest_says_what_failed_and_a_smaller_run_passes(self):
        exchange = Exchange(self.rig, server=2, client=1)
        words = ["ib_write_bw", "-d", "vmw_pvrdma0", "-F", "-n", "100", "-q"]
        with self.assertRaisesRegex(Failed, "(?i)(couldn't|unable to|failed to) create QP"):
            exchange.run([*words, "64"], [*words, "64", exchange.address], port=18515)
        exchange.run([*words, "4"], [*words, "4", exchange.address], port=18515)


class Thousands(unittest.TestCase):
    """More than vSphere gives, where the quota says so."""

    def test_one_program_has_eight_thousand_queue_pairs_and_64_k_memory_regions(self):
        rig = Rig()
        self.addCleanup(rig.close)
        rig.cli("vm", "add", "vm1", "--mac", "52:54:00:77:00:01", "--limit", "queue_pairs=8192", "--limit", "memory_regions=65600",
                "--limit", "completion_queues=1024", "--limit", "protection_domains=1024")
        rig.up(1, "--memory", "1024")
        text = rig.guest(1, "paravane-hoard", timeout=280)
        made = dict(re.findall(r"^(.+): (\d+), then ", text, re.MULTILINE))
        self.assertGreater(int(made["queue pairs"]), 8000, text)
        self.assertGreaterEqual(int(made["memory regions"]), 65536, text)
        wait_for("all of it is given back", lambda: rig.stats("vm1")["memory_regions"] <= 1, 60, 0.5)
        rig.guest(1, "ibv_devinfo")


if __name__ == "__main__":
    unittest.main()
